//! Whether coordinates stay within their extents by themselves.
//!
//! Points of the relation beyond the extents are not entries: loops and packing leave them out. That may
//! be meant (a diagonal goes on beyond the matrix), or a mistake in an index array's range.

use super::declared::{Declared, Which};
use super::report::{Finding, Question, Verdict, tuple};
use super::small::SmallTensors;
use crate::formula::Formula;
use crate::prover::Prover;

pub(super) fn finding(
    declared: &Declared<'_>,
    small: &mut SmallTensors<'_>,
    prover: &mut dyn Prover,
) -> Finding {
    let layout = declared.layout;
    let claim = Formula::and(layout.within_extents().into_iter().map(Formula::Constraint));
    let finding = |verdict, says: &str| {
        Finding::new(Question::WithinExtents, verdict, says).at(&layout.places.relation)
    };
    let mut open = false;
    for piece in 0..layout.relation.pieces.len() {
        let piece = declared.piece(piece, Which::First).into_iter();
        let mut facts: Vec<Formula> = piece.map(Formula::Constraint).collect();
        if claim.is_true() || declared.proves(&facts, &claim, prover) {
            continue;
        }
        open = true;
        facts.push(claim.clone().not());
        let Some(found) = small.find(&facts) else { continue };
        let entry = found.entry(Which::First);
        let shows = format!(
            "position {} would have the coordinates {}",
            tuple(entry.position.values()),
            tuple(entry.coordinate.values())
        );
        let counterexample = found.showing(vec![entry], shows);
        return finding(
            Verdict::Refuted { counterexample },
            "positions may lie beyond the extents: these hold no entry",
        );
    }
    match open {
        false => finding(Verdict::Proved, "every position has its coordinates within the extents"),
        true => finding(
            Verdict::Unknown { reason: small.describe() },
            "do coordinates stay within the extents?",
        ),
    }
}
