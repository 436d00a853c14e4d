//! Whether the properties can hold together, of a tensor that stores something.
//!
//! No tensor may be empty for the reason that its properties forbid everything else: then every
//! proof about it would be vacuous. A contradiction is a proof, valid for all sizes, that no tensor
//! with one entry (or no tensor with two) keeps the properties; a smallest clashing set of them is
//! found by leaving out one after the other.

use super::clash::Clash;
use super::declared::{Declared, Which};
use super::report::{Finding, Question, Verdict, tuple};
use super::shared_prover::with_prover;
use super::small::SmallTensors;
use crate::diagnostic::Result;
use crate::formula::Formula;
use crate::layout::memory::Memory;
use crate::layout::{Layout, PropertyKind};
use crate::prover::Prover;

static KNOWN: Memory<Option<Clash>> = Memory::new();

/// Refuses a layout whose properties contradict each other. The answer is remembered, so this is
/// cheap to ask again.
///
/// # Errors
/// [`Code::Contradiction`](crate::diagnostic::Code::Contradiction), naming a smallest set of properties that clash.
pub fn refuse_contradiction(layout: &Layout) -> Result<()> {
    let clash = KNOWN.answer(layout, || {
        let declared = Declared::new(layout);
        with_prover(|prover| find_clash(&declared, prover))
    });
    match clash {
        None => Ok(()),
        Some(clash) => Err(clash.refusal(&layout.name)),
    }
}

/// The finding about [`Question::Consistent`], with an example of two entries, or else of one.
pub(super) fn finding(
    declared: &Declared<'_>,
    small: &mut SmallTensors<'_>,
    prover: &mut dyn Prover,
) -> Finding {
    let question = Question::Consistent;
    let places = &declared.layout.places;
    if let Some(clash) = find_clash(declared, prover) {
        let mut at: Vec<String> = places.relation.iter().cloned().collect();
        if !clash.numbers.is_empty() {
            let lines = clash.numbers.iter().filter_map(|&k| places.properties.get(k));
            at = lines.flatten().cloned().collect();
        }
        let stores = clash.stored();
        let says = match clash.properties.len() {
            0 => "the relation holds no position, whatever the extents".to_string(),
            1 => format!("no tensor that stores {stores} has this property"),
            _ => format!("no tensor that stores {stores} has all of these properties"),
        };
        return Finding::new(question, Verdict::Vacuous(clash), says).at(&at);
    }
    for facts in [two_entries(declared), vec![stored(declared, Which::First)]] {
        let Some(found) = small.find(&facts) else { continue };
        let mut stored = vec![found.entry(Which::First)];
        if facts.len() > 1 {
            stored.push(found.entry(Which::Second));
        }
        let positions: Vec<String> = stored.iter().map(|e| tuple(e.position.values())).collect();
        let shows = match positions.as_slice() {
            [one] => format!("position {one} is stored"),
            _ => format!("positions {} are stored", positions.join(" and ")),
        };
        let mut finding = Finding::new(question, Verdict::Proved, "the properties hold together");
        finding.example = Some(found.showing(stored, shows));
        return finding;
    }
    let reason = "no contradiction was found, and no small tensor that stores an entry".into();
    Finding::new(question, Verdict::Unknown { reason }, "do the properties hold together?")
        .at(&places.relation)
}

/// Two entries are stored, at different positions.
fn two_entries(declared: &Declared<'_>) -> Vec<Formula> {
    let pairs = declared.positions(Which::First).into_iter().zip(declared.positions(Which::Second));
    let differ = Formula::or(pairs.map(|(p, q)| Formula::ne(p, q)));
    vec![stored(declared, Which::First), stored(declared, Which::Second), differ]
}

fn stored(declared: &Declared<'_>, which: Which) -> Formula {
    let pieces = 0..declared.layout.relation.pieces.len();
    Formula::or(pieces.map(|k| Formula::and(declared.entry(k, which))))
}

/// A contradiction, if one is proved.
///
/// That no *two* entries can be stored may be meant (`NNZ <= 1`), so it counts only when several
/// properties clash that are neither ranges nor about sizes alone.
fn find_clash(declared: &Declared<'_>, prover: &mut dyn Prover) -> Option<Clash> {
    let properties = &declared.layout.properties;
    let all: Vec<usize> = (0..properties.len()).collect();
    // First without the extents: then a declared range is part of the answer, not the loops' bounds.
    let pieces = 0..declared.layout.relation.pieces.len();
    let anywhere = Formula::or(pieces.map(|k| {
        Formula::and(declared.piece(k, Which::First).into_iter().map(Formula::Constraint))
    }));
    for facts in [anywhere, stored(declared, Which::First)] {
        if let Some(core) = clashing(declared, &[facts], &[], &all, prover) {
            return Some(clash(declared, &core, 1));
        }
    }
    let (mild, strong): (Vec<usize>, Vec<usize>) = all.into_iter().partition(|&k| {
        let property = &properties[k];
        let mut calls = false;
        property.formula.visit_calls(&mut |_| calls = true);
        property.kind == PropertyKind::Range || !calls
    });
    if strong.len() < 2 {
        return None;
    }
    let core = clashing(declared, &two_entries(declared), &mild, &strong, prover)?;
    (core.len() > 1).then(|| clash(declared, &core, 2))
}

fn clash(declared: &Declared<'_>, core: &[usize], entries: usize) -> Clash {
    let shown = |&k: &usize| {
        let p = &declared.layout.properties[k];
        format!("{} of {}: {}", p.kind, p.arrays.join(", "), p.formula)
    };
    Clash { properties: core.iter().map(shown).collect(), numbers: core.to_vec(), entries }
}

/// A smallest part of `suspects` that excludes `facts` together with the properties `given`.
fn clashing(
    declared: &Declared<'_>,
    facts: &[Formula],
    given: &[usize],
    suspects: &[usize],
    prover: &mut dyn Prover,
) -> Option<Vec<usize>> {
    let mut excluded = |kept: &[usize]| {
        let keep = |k: Option<usize>| k.is_none_or(|k| given.contains(&k) || kept.contains(&k));
        let instances = declared.theory.closure(facts, &|law| keep(law.property));
        let mut all = facts.to_vec();
        all.extend(declared.theory.base.iter().cloned());
        all.extend(instances);
        prover.is_unsat(&all)
    };
    if !excluded(suspects) {
        return None;
    }
    let mut core = suspects.to_vec();
    for k in suspects {
        let rest: Vec<usize> = core.iter().copied().filter(|other| other != k).collect();
        if excluded(&rest) {
            core = rest;
        }
    }
    Some(core)
}
