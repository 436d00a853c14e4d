//! Scanning, and the proof that nothing was lost or added.

use std::borrow::Cow;

use rustc_hash::FxHashSet;

use super::differences::Differences;
use super::near::{Context, framed};
use super::scanner::Scanner;
use super::{Assumptions, Nest};
use crate::diagnostic::{Diagnostic, Result};
use crate::formula::{Affine, Call, Constraint, Formula, Name};
use crate::iterspace::Space;
use crate::prover::Prover;
use crate::schedule::Schedule;

/// Scans `space` in the order of `schedule`.
///
/// # Errors
/// [`Code::LoopOrder`](crate::diagnostic::Code::LoopOrder) if a dimension has no bounds in this
/// order; an internal diagnostic if the nest is not exact, which is proved of every nest.
pub fn scan(space: &Space, schedule: &Schedule, prover: &mut dyn Prover) -> Result<Nest> {
    let dims = schedule.dims();
    let space = &*with_extents_of_lists(space);
    let mut assumptions = Assumptions::derive(space, &dims, prover);
    let scanner = Scanner::new(space, &dims, &assumptions);
    if !scanner.is_empty() {
        return exact(&scanner);
    }
    // Contradictory properties imply every condition. No data obeys them, but the kernel must not
    // lose its bounds over it: nothing is assumed then.
    assumptions.facts.clear();
    let scanner = Scanner::new(space, &dims, &assumptions);
    match scanner.is_empty() {
        true => Ok(Nest::nothing(&dims)),
        false => exact(&scanner),
    }
}

/// The loops of [`scan`] for an estimate of what they cost: that they are exact is not proved. Without a prover, some may
/// go round more often, and have conditions that are known to hold.
///
/// # Errors
/// As [`scan`].
pub fn outline(
    space: &Space,
    schedule: &Schedule,
    prover: Option<&mut dyn Prover>,
) -> Result<Nest> {
    let dims = schedule.dims();
    let space = &*with_extents_of_lists(space);
    let assumptions = match prover {
        Some(prover) => Assumptions::derive(space, &dims, prover),
        None => Assumptions::plain(space, &dims),
    };
    let scanner = Scanner::new(space, &dims, &assumptions);
    match scanner.is_empty() {
        true => Ok(Nest::nothing(&dims)),
        false => scanner.run(),
    }
}

/// The space, and that positions which are visited as one list are among those at which their index arrays are read.
/// That follows from the positions around them, but these may be visited later.
fn with_extents_of_lists(space: &Space) -> Cow<'_, Space> {
    if space.fused.is_empty() {
        return Cow::Borrowed(space);
    }
    let assumptions = Assumptions::plain(space, &space.dimensions());
    let known =
        Differences::of(space.constraints.iter().chain(&space.facts).chain(&assumptions.facts));
    let mut out = space.clone();
    for position in space.fused.iter().flatten() {
        let at_it = |call: &&Call| call.args == [Affine::var(position.clone())];
        let calls = assumptions.calls.iter().map(|(call, _)| call);
        for c in calls.filter(at_it).flat_map(|call| space.domain_of(call)) {
            if !out.constraints.contains(&c) && known.implies(&Formula::Constraint(c.clone())) {
                out.constraints.push(c);
            }
        }
    }
    Cow::Owned(out)
}

/// Scans the positions of a lookup within the first `depth` levels of `outer`: the dimensions of `space`
/// are those of these levels and then its own, its constraints what the levels establish and then its
/// own. The nest is that of all levels, with what must hold before its own are visited; `None` if there
/// is never anything to find.
///
/// # Errors
/// As [`scan`].
pub fn scan_within(
    space: &Space,
    dims: &[Name],
    outer: &Nest,
    depth: usize,
    prover: &mut dyn Prover,
) -> Result<Option<(Nest, Vec<Constraint>)>> {
    let mut assumptions = Assumptions::derive_within(space, dims, outer, depth, prover);
    if Scanner::new(space, dims, &assumptions).is_empty() {
        // As in [`scan`].
        assumptions.facts.clear();
        if Scanner::new(space, dims, &assumptions).is_empty() {
            return Ok(None);
        }
    }
    let scanner = Scanner::new(space, dims, &assumptions);
    let (nest, guards) = scanner.run_within(outer, depth)?;
    verify(&scanner, &nest)?;
    Ok(Some((nest, guards)))
}

fn exact(scanner: &Scanner<'_>) -> Result<Nest> {
    let nest = scanner.run()?;
    verify(scanner, &nest)?;
    Ok(nest)
}

/// The scanned set equals the space.
///
/// Both are conjunctions that share most of their parts, so what is left to prove is that each implies
/// the parts of the other that it lacks.
fn verify(scanner: &Scanner<'_>, nest: &Nest) -> Result<()> {
    let space = scanner.space;
    let emitted = nest.known_before(nest.levels.len());
    let assumed: Vec<&Constraint> = space.facts.iter().chain(&nest.assumptions).collect();
    let frame = &scanner.frames[scanner.dims.len()];
    let context = |known: Vec<Constraint>| Context::of_everything(frame, known, scanner.is_large());

    let written: FxHashSet<&Constraint> =
        space.constraints.iter().chain(assumed.iter().copied()).collect();
    let mut new = emitted.iter().filter(|c| !written.contains(c)).peekable();
    if new.peek().is_some() {
        let known = context(scanner.all.clone());
        if let Some(c) = new.find(|c| !known.implies(c) && !scanner.full().implies(c)) {
            return Err(inexact(nest, format!("it misses points where `{c}` does not hold")));
        }
    }
    let tested: FxHashSet<&Constraint> = emitted.iter().chain(assumed.iter().copied()).collect();
    let mut left = space.constraints.iter().filter(|c| !tested.contains(c)).peekable();
    if left.peek().is_some() {
        let all: Vec<Constraint> = emitted.iter().chain(assumed.iter().copied()).cloned().collect();
        let known = context(all.clone());
        if let Some(c) = left.find(|c| !known.implies(c) && !framed(frame, &all).implies(c)) {
            return Err(inexact(nest, format!("it visits points where `{c}` does not hold")));
        }
    }
    let placed = |g: &&Formula| nest.levels.iter().any(|l| l.restrictions.contains(g));
    match space.guards.iter().find(|g| !placed(g)) {
        Some(g) => Err(inexact(nest, format!("it does not test `{g}`"))),
        None => Ok(()),
    }
}

fn inexact(nest: &Nest, why: String) -> Box<Diagnostic> {
    Diagnostic::defect("the loop nest does not visit exactly the iteration space")
        .note(why)
        .note(format!("the nest is\n{nest}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use indexmap::IndexMap;

    use super::*;
    use crate::diagnostic::Code;
    use crate::formula::Affine;
    use crate::iterspace::compose;
    use crate::layout::Layout;
    use crate::program::Program;
    use crate::prover::Z3Prover;
    use crate::scan::Bind;
    use crate::schedule::schedule;

    /// What `verify` says of the nest of SpMSpV after `spoil`.
    fn verdict(spoil: impl FnOnce(&mut Nest)) -> Result<()> {
        let program = Program::parse("y[i] += A[i,j] * x[j] if i != j").unwrap();
        let layouts: IndexMap<Name, Arc<Layout>> = [("A", "csr"), ("x", "sparse"), ("y", "dense")]
            .into_iter()
            .zip([2, 1, 1])
            .map(|((n, l), rank)| {
                (Name::from(n), Arc::new(Layout::named_for_rank(l, rank).unwrap()))
            })
            .collect();
        let space = compose(&program, &layouts, None).unwrap().remove(0);
        let dims = schedule(&space, &[]).unwrap().dims();
        let assumptions = Assumptions::derive(&space, &dims, &mut Z3Prover::new());
        let scanner = Scanner::new(&space, &dims, &assumptions);
        let mut nest = scanner.run().unwrap();
        spoil(&mut nest);
        verify(&scanner, &nest)
    }

    fn refused(spoil: impl FnOnce(&mut Nest)) -> String {
        let e = verdict(spoil).unwrap_err();
        assert_eq!(e.code, Code::Internal);
        e.notes[0].clone()
    }

    #[test]
    fn a_nest_as_scanned_is_exact() {
        verdict(|_| {}).unwrap();
    }

    #[test]
    fn a_nest_without_a_condition_is_refused() {
        let why = refused(|nest| {
            nest.levels.iter_mut().for_each(|l| l.conditions.clear());
        });
        assert_eq!(why, "it visits points where `j = crd_x(px)` does not hold");
    }

    #[test]
    fn a_nest_with_narrower_bounds_is_refused() {
        let why = refused(|nest| {
            let loops = nest.levels.iter_mut().find_map(|l| match &mut l.bind {
                Bind::Loop(range) => Some(&mut range.lower),
                Bind::Let(_) => None,
            });
            loops.unwrap()[0] = Affine::constant(1);
        });
        assert!(why.starts_with("it misses points where `pA0 >= 1`"), "{why}");
    }

    #[test]
    fn a_nest_that_forgets_a_restriction_is_refused() {
        let why = refused(|nest| {
            nest.levels.iter_mut().for_each(|l| l.restrictions.clear());
        });
        assert_eq!(why, "it does not test `i != j`");
    }
}
