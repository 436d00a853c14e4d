//! What makes a declaration unusable, asked by whoever uses one.
//!
//! In: a layout. Out: nothing, or the reason to refuse it: properties that contradict each other, or a
//! legal tensor for which the relation reads an index array outside its domain, or has a value outside the
//! value array; and index arrays that may have no element somewhere in their domains.

use super::access;
use super::declared::Declared;
use super::refuse_contradiction;
use super::report::{Finding, Verdict};
use super::room;
use super::shared_prover::with_prover;
use super::small::SmallTensors;
use super::value;
use crate::diagnostic::Result;
use crate::layout::Layout;
use crate::layout::memory::Memory;

/// Whether all is proved, where nothing is refuted.
static KNOWN: Memory<Result<bool>> = Memory::new();

/// Refuses a layout that [`check`](super::check) finds at fault. The answer is remembered.
///
/// # Errors
/// [`Code::Contradiction`](crate::diagnostic::Code::Contradiction) as [`refuse_contradiction`];
/// [`Code::OutOfDomain`](crate::diagnostic::Code::OutOfDomain) with what is read and a counterexample.
pub fn refuse_unsound(layout: &Layout) -> Result<()> {
    refuse_contradiction(layout)?;
    known(layout).map(|_| ())
}

/// Whether it is proved that a tensor which keeps the properties is nowhere read outside. Else each position must be tried.
/// Remembered.
pub fn is_proved_sound(layout: &Layout) -> bool {
    matches!(known(layout), Ok(true))
}

fn known(layout: &Layout) -> Result<bool> {
    KNOWN.answer(layout, || {
        let declared = Declared::new(layout);
        let mut small = SmallTensors::new(&declared);
        with_prover(|prover| {
            let mut findings = access::findings(&declared, &mut small, prover);
            let rooms = room::findings(&declared, &mut small, prover);
            room::refuse_unknown(&rooms, &layout.name)?;
            findings.extend(rooms);
            // After a read that may be anything, values may be anywhere.
            if !findings.iter().any(Finding::is_fault) {
                findings.push(value::inside(&declared, &mut small, prover));
            }
            let fault = findings.iter().find_map(|finding| finding.fault(&layout.name));
            let is_proved = |finding: &Finding| finding.verdict == Verdict::Proved;
            fault.map_or_else(|| Ok(findings.iter().all(is_proved)), Err)
        })
    })
}
