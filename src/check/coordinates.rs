//! What the relation is as a map: a function, one-to-one, and monotonic in which order.
//!
//! Each claim is about two entries, of any two pieces of the relation.

use super::declared::{Declared, Which};
use super::report::{Counterexample, Entry, Finding, Question, Verdict, tuple};
use super::small::SmallTensors;
use crate::formula::{Affine, Formula, Name};
use crate::prover::Prover;

/// With more dimensions, only the order of storage is tried.
const MOST_PERMUTED: usize = 4;

pub(super) fn findings(
    declared: &Declared<'_>,
    small: &mut SmallTensors<'_>,
    prover: &mut dyn Prover,
) -> Vec<Finding> {
    vec![
        single_valued(declared, small, prover),
        injective(declared, small, prover),
        ordered(declared, small, prover),
    ]
}

pub(super) fn differ(a: &[Affine], b: &[Affine]) -> Formula {
    Formula::or(a.iter().zip(b).map(|(x, y)| Formula::ne(x.clone(), y.clone())))
}

pub(super) fn equal(a: &[Affine], b: &[Affine]) -> Vec<Formula> {
    a.iter().zip(b).map(|(x, y)| Formula::eq(x.clone(), y.clone())).collect()
}

/// Every pair of pieces, and the facts of an entry of each.
pub(super) fn pairs(declared: &Declared<'_>) -> Vec<(usize, usize, Vec<Formula>)> {
    let pieces = declared.layout.relation.pieces.len();
    let mut out = Vec::new();
    for first in 0..pieces {
        for second in 0..pieces {
            let mut facts = declared.entry(first, Which::First);
            facts.extend(declared.entry(second, Which::Second));
            out.push((first, second, facts));
        }
    }
    out
}

/// A proof of `claim` about any two entries, or a tensor for which it fails, with the pieces of the
/// relation that its entries belong to.
pub(super) enum Decision {
    Proved,
    Refuted { pieces: (usize, usize), counterexample: Box<Counterexample> },
    Unknown { reason: String },
}

/// Decides whether two entries for which `given` holds satisfy `claim`. `only_small` are facts for
/// the search of a counterexample; `shows` words the failure.
pub(super) fn decide(
    declared: &Declared<'_>,
    given: &[Formula],
    claim: &Formula,
    only_small: &[Formula],
    shows: &dyn Fn(&Entry, &Entry) -> String,
    small: &mut SmallTensors<'_>,
    prover: &mut dyn Prover,
) -> Decision {
    let mut open = false;
    for (first, second, mut facts) in pairs(declared) {
        facts.extend(given.iter().cloned());
        if declared.proves(&facts, claim, prover) {
            continue;
        }
        open = true;
        facts.push(claim.clone().not());
        facts.extend(only_small.iter().cloned());
        if let Some(found) = small.find(&facts) {
            let (a, b) = (found.entry(Which::First), found.entry(Which::Second));
            let text = shows(&a, &b);
            let entries = if a == b { vec![a] } else { vec![a, b] };
            let counterexample = found.showing(entries, text);
            return Decision::Refuted { pieces: (first, second), counterexample };
        }
    }
    match open {
        false => Decision::Proved,
        true => Decision::Unknown { reason: small.describe() },
    }
}

fn single_valued(
    declared: &Declared<'_>,
    small: &mut SmallTensors<'_>,
    prover: &mut dyn Prover,
) -> Finding {
    let same = equal(&declared.positions(Which::First), &declared.positions(Which::Second));
    let claim =
        differ(&declared.coordinates(Which::First), &declared.coordinates(Which::Second)).not();
    let shows = |a: &Entry, b: &Entry| {
        let (i, j) = (tuple(a.coordinate.values()), tuple(b.coordinate.values()));
        format!("position {} stands for {i} and {j}", tuple(a.position.values()))
    };
    let question = Question::SingleValued;
    let decision = decide(declared, &same, &claim, &[], &shows, small, prover);
    let (verdict, says) = match decision {
        Decision::Proved => (Verdict::Proved, "a position has one coordinate".to_string()),
        Decision::Refuted { pieces, counterexample } => {
            let says = match pieces.0 == pieces.1 {
                true => "a position stands for a run of coordinates",
                false => "a position stands for one coordinate in each piece of the union",
            };
            (Verdict::Refuted { counterexample }, says.to_string())
        }
        Decision::Unknown { reason } => {
            (Verdict::Unknown { reason }, "has a position one coordinate?".to_string())
        }
    };
    Finding::new(question, verdict, says).at(&declared.layout.places.relation)
}

fn injective(
    declared: &Declared<'_>,
    small: &mut SmallTensors<'_>,
    prover: &mut dyn Prover,
) -> Finding {
    let same = equal(&declared.coordinates(Which::First), &declared.coordinates(Which::Second));
    let claim = differ(&declared.positions(Which::First), &declared.positions(Which::Second)).not();
    let shows = |a: &Entry, b: &Entry| {
        let (p, q) = (tuple(a.position.values()), tuple(b.position.values()));
        format!("positions {p} and {q} both hold {}", tuple(a.coordinate.values()))
    };
    let question = Question::Injective;
    let (verdict, says) = match decide(declared, &same, &claim, &[], &shows, small, prover) {
        Decision::Proved => (Verdict::Proved, "no coordinate is stored twice"),
        Decision::Refuted { counterexample, .. } => {
            (Verdict::Refuted { counterexample }, "a coordinate may be stored twice")
        }
        Decision::Unknown { reason } => {
            (Verdict::Unknown { reason }, "is a coordinate stored at most once?")
        }
    };
    Finding::new(question, verdict, says).at(&declared.layout.places.relation)
}

/// An order of the dimensions.
fn ordered(
    declared: &Declared<'_>,
    small: &mut SmallTensors<'_>,
    prover: &mut dyn Prover,
) -> Finding {
    let question = Question::Ordered;
    let before =
        [Formula::lex_lt(&declared.positions(Which::First), &declared.positions(Which::Second))];
    let dims = &declared.layout.relation.coordinates;
    // Two entries in storage order, with coordinates in the order `by`, must be in that order.
    let claim = |by: &[usize], decreasing: bool, strict: bool| {
        let take = |which| {
            let all = declared.coordinates(which);
            by.iter().map(|&d| all[d].clone()).collect::<Vec<Affine>>()
        };
        let (mut a, mut b) = (take(Which::First), take(Which::Second));
        if decreasing {
            std::mem::swap(&mut a, &mut b);
        }
        match strict {
            true => Formula::lex_lt(&a, &b),
            false => Formula::lex_lt(&b, &a).not(),
        }
    };
    let facts: Vec<Vec<Formula>> = pairs(declared)
        .into_iter()
        .map(|(.., facts)| facts.into_iter().chain(before.iter().cloned()).collect())
        .collect();
    for decreasing in [false, true] {
        for by in permutations(dims.len()) {
            let mut holds =
                |claim: Formula| facts.iter().all(|facts| declared.proves(facts, &claim, prover));
            // Weak order fails more often than it holds, and strict order implies it.
            if !holds(claim(&by, decreasing, false)) {
                continue;
            }
            let strict = holds(claim(&by, decreasing, true));
            let by: Vec<Name> = by.iter().map(|&d| dims[d].clone()).collect();
            let direction = if decreasing { "descending " } else { "" };
            let manner = if strict { "strictly" } else { "equal coordinates side by side" };
            let says = format!("by {direction}({}), {manner}", by.join(", "));
            return Finding::new(question, Verdict::Proved, says);
        }
    }
    let shows = |a: &Entry, b: &Entry| {
        let at = |e: &Entry| (tuple(e.position.values()), tuple(e.coordinate.values()));
        let ((p, i), (q, j)) = (at(a), at(b));
        format!("position {p} before {q} holds {i} after {j}")
    };
    let storage: Vec<usize> = (0..dims.len()).collect();
    let claim = claim(&storage, false, false);
    let (verdict, says) = match decide(declared, &before, &claim, &[], &shows, small, prover) {
        Decision::Refuted { counterexample, .. } => (
            Verdict::Refuted { counterexample },
            match dims.len() {
                0 | 1 => "positions are not in the order of coordinates".to_string(),
                2..=MOST_PERMUTED => "by no order of the dimensions".to_string(),
                _ => format!("not by ({})", dims.join(", ")),
            },
        ),
        Decision::Unknown { reason } => {
            (Verdict::Unknown { reason }, "are positions ordered by their coordinates?".into())
        }
        Decision::Proved => (Verdict::Proved, format!("by ({})", dims.join(", "))),
    };
    Finding::new(question, verdict, says).at(&declared.layout.places.relation)
}

/// All orders of `n` dimensions, the given one first; only that one when there are many.
fn permutations(n: usize) -> Vec<Vec<usize>> {
    let identity: Vec<usize> = (0..n).collect();
    if n > MOST_PERMUTED {
        return vec![identity];
    }
    let mut out = vec![Vec::new()];
    for _ in 0..n {
        out = out
            .into_iter()
            .flat_map(|chosen: Vec<usize>| {
                let left: Vec<usize> = (0..n).filter(|d| !chosen.contains(d)).collect();
                left.into_iter().map(move |d| {
                    let mut chosen = chosen.clone();
                    chosen.push(d);
                    chosen
                })
            })
            .collect();
    }
    out
}
