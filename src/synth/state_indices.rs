//! State indices and the place of the state (SPF Appendix A.3).
//!
//! State that is kept per value of too many indices is correct but forgets too much; the smallest
//! sufficient set is found by elimination from the inside out. Reduced indices (values read from
//! index arrays) stand right before the loop that defines them, so the loop goes first and the
//! value, which says less, stays.

use super::session::Session;
use super::vocabulary::Vocabulary;
use super::{Obligation, Placement, StateIndex, Template};
use crate::diagnostic::Result;
use crate::formula::{Affine, Formula, Name};
use crate::scan::{Bind, Nest};

/// Eliminates state indices from the inside out while every obligation still holds.
pub(super) fn minimal_state(
    session: &mut Session,
    vocabulary: &mut Vocabulary,
    obligations: &[&Obligation],
) -> Result<Vec<Name>> {
    let mut kept = vocabulary.arguments.state.clone();
    for name in kept.clone().iter().rev() {
        let without: Vec<Name> = kept.iter().filter(|n| *n != name).cloned().collect();
        vocabulary.arguments.state = without.clone();
        if all_hold(session, vocabulary, obligations)? {
            kept = without;
        }
    }
    vocabulary.arguments.state = kept.clone();
    Ok(kept)
}

fn all_hold(
    session: &mut Session,
    vocabulary: &Vocabulary,
    obligations: &[&Obligation],
) -> Result<bool> {
    for o in obligations {
        if session.fails(o, vocabulary)?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The place of a state that also belongs to loops, to as few as give it one, from the outermost in. It begins anew where
/// the values that it belongs to are read again, which is as often if each is read once.
pub(super) fn placement_in_loops(
    session: &mut Session,
    template: &Template,
    vocabulary: &mut Vocabulary,
    obligations: &[&Obligation],
) -> Result<Option<Placement>> {
    let own = vocabulary.arguments.state.clone();
    for around in session.problem.loops.iter().filter(|l| !own.contains(l)) {
        vocabulary.arguments.state.push(around.clone());
        vocabulary.arguments.state.sort_by_key(|n| session.nest.level_of(n));
        let Ok(found) = placement(session, template, vocabulary)? else { continue };
        if all_hold(session, vocabulary, obligations)? {
            return Ok(Some(found));
        }
        break;
    }
    vocabulary.arguments.state = own;
    Ok(None)
}

/// The place of a state that belongs to what a group has in common: right before the find, which is once for each group
/// as the loops are made.
pub(super) fn placement_in_groups(
    session: &Session,
    template: &Template,
    vocabulary: &Vocabulary,
) -> Option<Placement> {
    let (problem, nest) = (session.problem, session.nest);
    let grouped = nest.grouped.as_ref()?;
    let of_group = |n: &Name| match nest.level_of(n) {
        Some(level) => *n == problem.position || nest.is_of_group(level, grouped),
        None => true,
    };
    // What an entry does before it would be done before each state.
    let mut all = problem.level == grouped.end
        && template.placements.iter().any(|p| p == "prefix")
        && nest.is_range_of_group(problem.level, grouped)
        && vocabulary.arguments.state.iter().all(of_group);
    for part in &vocabulary.arguments.key {
        part.inner.visit_vars(&mut |n| all &= of_group(n));
    }
    all.then_some(Placement::Prefix { before: problem.level })
}

/// Where the state is declared, or why the template cannot place it.
pub(super) fn placement(
    session: &mut Session,
    template: &Template,
    vocabulary: &Vocabulary,
) -> Result<std::result::Result<Placement, String>> {
    let problem = session.problem;
    let state = &vocabulary.arguments.state;
    let level_of = |n: &Name| session.nest.level_of(n).unwrap_or(problem.level);
    // What has one match at most goes round once: the state is set up where there is one.
    let goes_round = |l: &&Name| !state.contains(l) && !session.unique.contains(l);
    let before = problem.loops.iter().find(goes_round).map_or(problem.level, level_of);
    let inner: Vec<Name> = state.iter().filter(|n| level_of(n) > before).cloned().collect();
    let allowed = |kind: &str| template.placements.iter().any(|p| p == kind);

    let available = |a: &Affine| {
        let mut ok = true;
        a.visit_vars(&mut |n| ok &= !problem.outer.contains(n) || level_of(n) < before);
        ok
    };
    // What the initialisation reads: the range, and the values entered under their keys.
    let keys = vocabulary.arguments.key.iter().map(|k| &k.inner);
    let known = problem.lower.iter().chain(&problem.upper).chain(keys).all(available);
    if inner.is_empty() && known && allowed("prefix") {
        return Ok(Ok(Placement::Prefix { before }));
    }
    if allowed("reset") && consecutive(session, vocabulary, &inner)? {
        return Ok(Ok(Placement::Reset { before, indices: inner }));
    }
    if allowed("array")
        && !inner.is_empty()
        && let Some(indices) = bounded(session, vocabulary, &inner)
    {
        return Ok(Ok(Placement::Array { before, indices }));
    }
    let names: Vec<&str> = inner.iter().map(|n| &**n).collect();
    Ok(Err(format!("it would keep one state for each value of {}", names.join(", "))))
}

/// Each of `inner` as an index of an array of states: below the number that ends its loop, or some size.
fn bounded(
    session: &mut Session,
    vocabulary: &Vocabulary,
    inner: &[Name],
) -> Option<Vec<StateIndex>> {
    let sizes = session.problem.theory.parameters.iter().map(|size| Affine::var(size.clone()));
    let sizes: Vec<Affine> = sizes.collect();
    inner
        .iter()
        .map(|name| {
            let mut extents = numbers_above(session.nest, name);
            extents.extend(sizes.iter().cloned());
            let n = vocabulary.instance(&Affine::var(name.clone()), 0, 0);
            let extent = extents.into_iter().find(|extent| {
                let inside = Formula::and([
                    Formula::le(Affine::zero(), n.clone()),
                    Formula::lt(n.clone(), extent.clone()),
                ]);
                session.known.excludes(&[inside.not()])
            })?;
            Some(StateIndex { name: name.clone(), extent })
        })
        .collect()
}

/// The numbers among the ends of a loop.
fn numbers_above(nest: &Nest, name: &Name) -> Vec<Affine> {
    let bind = nest.level_of(name).map(|d| &nest.levels[d].bind);
    let Some(Bind::Loop(range)) = bind else { return Vec::new() };
    range.upper.iter().filter(|u| u.as_constant().is_some_and(|c| c > 0)).cloned().collect()
}

/// Equal values of `inner` are consecutive: within equal outer state they never decrease.
fn consecutive(session: &mut Session, vocabulary: &Vocabulary, inner: &[Name]) -> Result<bool> {
    if inner.is_empty() {
        return Ok(true);
    }
    let mut outer = vocabulary.arguments.clone();
    outer.state.retain(|n| !inner.contains(n));
    let outer = Vocabulary { problem: session.problem, arguments: outer };
    let pair = |name: &str| {
        outer.expand(&Formula::Predicate(name.into(), vec![Affine::var("I"), Affine::var("J")]))
    };
    let tuple = |i: usize| -> Vec<Affine> {
        inner.iter().map(|n| outer.instance(&Affine::var(n.clone()), 0, i)).collect()
    };
    let decreases = Formula::lex_lt(&tuple(1), &tuple(0));
    let query = Formula::and([pair("earlier")?, pair("same_state")?, decreases]);
    Ok(session.known.excludes(&[query]))
}
