//! Which loops statements share that run one after the other.
//!
//! Two of them share a loop if it is proved that what the one reads or writes of an element that the other
//! writes happens in the same iteration, or if both only add to it, in any order:
//!
//! ```text
//! for pA0 in 0..I                                 for pA0 in 0..I
//!   for pA1 in pos_A(pA0)..pos_A(pA0 + 1)           for pA1 in pos_A(pA0)..pos_A(pA0 + 1)
//!     val_y[i] += val_A[pA1] * val_x[j]       →       val_y[i] += val_A[pA1] * val_x[j]
//! for pA0 in 1..I                                     if pA0 >= 1 and crd_A(pA1) < j
//!   search pA1 in … where crd_A(pA1) < j                val_y[j] += val_A[pA1] * val_x[i]
//!     val_y[j] += val_A[pA1] * val_x[i]
//! ```

use super::build::joined;
use super::join::{is_part, nested_loops};
use super::sequence::steps;
use super::statement::Statement;
use crate::formula::Name;
use crate::iterspace::{Keyed, Operand, Space, in_one_iteration};
use crate::prover::Prover;
use crate::scan::Range;

/// The loops that each step shares with the one before: as many as proofs allow.
pub fn sharing(statements: &[Statement], prover: &mut dyn Prover) -> Vec<Vec<Name>> {
    let steps = steps(statements);
    let mut out: Vec<Vec<Name>> = Vec::new();
    for k in 1..steps.len() {
        // What those before share among themselves is shared by all of them.
        let first = (0..k).rev().find(|m| *m == 0 || out[m - 1].is_empty()).unwrap_or(0);
        let around = (first..k - 1).map(|m| out[m].len()).min().unwrap_or(usize::MAX);
        let mut depth = 0;
        while depth < around && (first..k).all(|m| may_share(steps[m], steps[k], depth + 1, prover))
        {
            depth += 1;
        }
        let shared = outer_loops(steps[first], depth).unwrap_or_default();
        out.push(shared.into_iter().map(|(name, _)| name).collect());
    }
    out
}

/// Whether two steps may share so many outer loops.
fn may_share(
    earlier: &[Statement],
    later: &[Statement],
    depth: usize,
    prover: &mut dyn Prover,
) -> bool {
    let (Some(own), Some(others)) = (outer_loops(earlier, depth), outer_loops(later, depth)) else {
        return false;
    };
    let together = |((var, range), (other_var, other)): (&(Name, Range), &(Name, Range))| {
        range == other || var == other_var && (is_part(range, other) || is_part(other, range))
    };
    if !own.iter().zip(&others).all(together) {
        return false;
    }
    let names = |loops: &[(Name, Range)]| loops.iter().map(|(n, _)| n.clone()).collect();
    let (own, others): (Vec<Name>, Vec<Name>) = (names(&own), names(&others));
    earlier.iter().all(|a| {
        a.space.written().all(|target| {
            let key = target.subscripts.clone();
            let from = Keyed { space: &a.space, loops: own.clone(), key };
            later.iter().all(|b| {
                let alike = combine_alike(&a.space, &b.space, target);
                let touched = b.space.operands.iter().enumerate().filter(|(k, o)| {
                    let writes = b.space.writes(*k) && !alike;
                    o.tensor == target.tensor && (b.space.reads(*k) || writes)
                });
                touched.map(|(_, o)| o).all(|o| {
                    let (loops, key) = (others.clone(), o.subscripts.clone());
                    in_one_iteration(&from, &Keyed { space: &b.space, loops, key }, prover)
                })
            })
        })
    })
}

/// Whether what two statements do with an element is to combine more into it, in an order that does not matter.
fn combine_alike(a: &Space, b: &Space, target: &Operand) -> bool {
    let is_output = |s: &Space| s.output().tensor == target.tensor && s.elsewhere.is_none();
    is_output(a)
        && is_output(b)
        && a.op.name() == b.op.name()
        && a.op.is_reduction()
        && !(target.value_type.is_float() && (a.strict_fp || b.strict_fp))
}

/// The outer loops of a step, if all its statements have them.
fn outer_loops(step: &[Statement], depth: usize) -> Option<Vec<(Name, Range)>> {
    let loops = joined(step, false);
    let found = nested_loops(&loops, depth)?;
    let dims: Vec<Vec<Name>> = step.iter().map(|s| s.space.dimensions()).collect();
    let everywhere = |n: &Name| dims.iter().all(|dims| dims.contains(n));
    found.iter().all(|(n, _)| everywhere(n)).then_some(found)
}
