//! What makes a declaration unusable, asked by whoever uses one.
//!
//! In: a layout. Out: nothing, or the reason to refuse it: properties that contradict each other, or a
//! legal tensor for which the relation reads an index array outside its domain, or has a value outside the
//! value array.

use super::access;
use super::declared::Declared;
use super::refuse_contradiction;
use super::report::Finding;
use super::shared_prover::with_prover;
use super::small::SmallTensors;
use super::value;
use crate::diagnostic::Result;
use crate::layout::Layout;
use crate::layout::memory::Memory;

static KNOWN: Memory<Result<()>> = Memory::new();

/// Refuses a layout that [`check`](super::check) finds at fault. The answer is remembered.
///
/// # Errors
/// [`Code::Contradiction`](crate::diagnostic::Code::Contradiction) as [`refuse_contradiction`];
/// [`Code::OutOfDomain`](crate::diagnostic::Code::OutOfDomain) with what is read and a counterexample.
pub fn refuse_unsound(layout: &Layout) -> Result<()> {
    refuse_contradiction(layout)?;
    KNOWN.answer(layout, || {
        let declared = Declared::new(layout);
        let mut small = SmallTensors::new(&declared);
        with_prover(|prover| {
            let mut findings = access::findings(&declared, &mut small, prover);
            // After a read that may be anything, values may be anywhere.
            if !findings.iter().any(Finding::is_fault) {
                findings.extend(value::inside(&declared, &mut small, prover));
            }
            findings.iter().find_map(|finding| finding.fault(&layout.name)).map_or(Ok(()), Err)
        })
    })
}
