//! Orders of loops in which statements share more of them.
//!
//! ```text
//! T[i,k] = A[i,j] * B[j,k]; y[k] = T[i,k]     the second, by itself, has the loops k, i;
//!                                             in the order i, k it shares i, and T is one row
//! ```
//! Another order is taken if it needs no more searches.

use std::rc::Rc;

use super::request::Request;
use crate::diagnostic::Result;
use crate::formula::{Affine, Name};
use crate::iterspace::{Role, Space};
use crate::loops::{Statement, sharing};
use crate::prover::Prover;
use crate::schedule::schedule;
use crate::synth::Template;

/// Gives the statements of steps below `steps` the order in which earlier ones write what they
/// read, where they then share more loops.
///
/// # Errors
/// Those of [`Statement::new`].
pub(super) fn fit(
    statements: &mut Vec<Statement>,
    steps: usize,
    request: &Request,
    templates: &[Rc<Template>],
    prover: &mut dyn Prover,
) -> Result<()> {
    let mut numbers: Vec<usize> = statements.iter().map(|s| s.space.step).collect();
    numbers.dedup();
    for step in numbers.into_iter().skip(1).filter(|step| *step < steps) {
        let mut fitted = statements.clone();
        let mut changed = false;
        for k in (0..statements.len()).filter(|k| statements[*k].space.step == step) {
            let own = &statements[k];
            let wish = order_of_reads(&statements[..k], &own.space);
            let Ok(other) = schedule(&own.space, &wish) else { continue };
            if wish.is_empty() || other == own.schedule || own.space.merges {
                continue;
            }
            let space = own.space.clone();
            let other = Statement::new(space, other, templates, &request.sizes, prover)?;
            changed |= other.finds.len() <= own.finds.len();
            fitted[k] = other;
        }
        let searches = |all: &[Statement]| all.iter().map(|s| s.finds.len()).sum::<usize>();
        if !changed || searches(&fitted) > searches(statements) {
            continue;
        }
        let mut shared =
            |all: &[Statement]| -> usize { sharing(all, prover).iter().map(Vec::len).sum() };
        if shared(&fitted) > shared(statements) {
            *statements = fitted;
        }
    }
    Ok(())
}

/// The indices of `space` along temporaries, in the order in which `earlier` statements bind theirs.
fn order_of_reads(earlier: &[Statement], space: &Space) -> Vec<Name> {
    let mut out: Vec<Name> = Vec::new();
    let temporary = space.operands.iter().enumerate();
    for (_, read) in temporary.filter(|(k, o)| o.role == Role::Temporary && space.reads(*k)) {
        let writes = |s: &&Statement| s.space.written().any(|o| o.tensor == read.tensor);
        let Some(writer) = earlier.iter().rev().find(writes) else { continue };
        let written = &writer.space.output().subscripts;
        for dim in writer.schedule.dims() {
            let at = written.iter().position(|s| *s == Affine::var(dim.clone()));
            let index = at.and_then(|d| read.subscripts[d].as_var());
            out.extend(index.filter(|index| !out.contains(index)).cloned());
        }
    }
    out
}
