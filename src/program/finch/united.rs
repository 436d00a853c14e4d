//! Parts of a program that may be one kernel, since they run through the same loops: several outputs of one nest.
//!
//! Before → after:
//!
//! ```text
//! D_2[d] = D[d];                                  D_2[d] = D[d];
//! D_2[i] min= _D[j] + A[i,j]                      D_2[i] min= _D[j] + A[i,j];
//!                                            ⟼    F[i] or= _D[j] + A[i,j] < _D[i]
//! F[i] or= _D[j] + A[i,j] < _D[i]
//! ```
//! The statement with the most indices is the one that takes time: these come next to each other, so that their loops
//! are shared. Nothing of one part needs what another one computes, so that any order of statements is right.

use std::ops::Range;

use indexmap::IndexSet;

use super::statements::{Part, Statement, Step};
use crate::formula::Name;
use crate::program::ir::Access;

/// Which parts, the steps of all of them, and what is kept.
pub(super) fn united(parts: &[Part<'_>]) -> Vec<(Range<usize>, Vec<Step>, Vec<Name>)> {
    let mut out = Vec::new();
    let mut from = 0;
    while from < parts.len() {
        let mut to = from + 1;
        while to < parts.len() && joins(&parts[from..to], &parts[to]) {
            to += 1;
        }
        if to > from + 1 {
            let kept = parts[from..to].iter().flat_map(|(_, kept)| kept).cloned().collect();
            out.push((from..to, together(&parts[from..to]), kept));
        }
        from = to;
    }
    out
}

/// Whether the next part may be of the kernel of others.
fn joins(others: &[Part<'_>], next: &Part<'_>) -> bool {
    let (steps, kept) = next;
    let Some((main, at)) = longest(steps) else { return false };
    // What is read again would be no result, but a temporary.
    let read = |tensor: &Name, steps: &[Step]| {
        steps.iter().filter_map(Step::statement).any(|s| s.reads(tensor))
    };
    let independent = |(other, own): &Part<'_>| {
        let needs = |step: &Step| {
            let written = other.iter().filter_map(Step::statement).map(|s| &s.output.tensor);
            written.into_iter().any(|tensor| step.needs(tensor))
        };
        !steps.iter().any(needs)
            && !own.iter().any(|tensor| read(tensor, other))
            && !kept.iter().any(|tensor| read(tensor, other))
    };
    let alike = |(other, _): &Part<'_>| {
        let is_last = |at: usize| at + 1 == other.len();
        longest(other).is_some_and(|(o, at)| is_last(at) && same_loops(o, main))
    };
    let begins = steps[..at].iter().all(|step| step.locate().is_none());
    begins
        && !kept.iter().any(|tensor| read(tensor, steps))
        && others.iter().all(independent)
        && others.iter().all(alike)
}

/// The statement with the most indices, the last of several, and where it is.
fn longest(steps: &[Step]) -> Option<(&Statement, usize)> {
    let all = steps.iter().enumerate().filter_map(|(k, step)| Some((step.statement()?, k)));
    all.max_by_key(|(s, k)| (indices(s).len(), *k))
}

fn indices(s: &Statement) -> IndexSet<Name> {
    let accesses = s.value.accesses().into_iter().chain([&s.output]);
    let mut out = IndexSet::new();
    for subscript in accesses.flat_map(|a| &a.subscripts) {
        subscript.visit_vars(&mut |name| {
            out.insert(name.clone());
        });
    }
    out
}

/// Whether both have the same indices, and read something at the same place.
fn same_loops(a: &Statement, b: &Statement) -> bool {
    let same = |x: &&Access| {
        b.value.accesses().iter().any(|y| x.tensor == y.tensor && x.subscripts == y.subscripts)
    };
    let (of_a, of_b) = (indices(a), indices(b));
    !of_a.is_empty()
        && of_a.len() == of_b.len()
        && of_a.is_subset(&of_b)
        && a.value.accesses().iter().any(same)
}

/// The steps of all parts: what comes before the longest statements, these, and what comes behind the last.
fn together(parts: &[Part<'_>]) -> Vec<Step> {
    let cut = |steps: &[Step]| longest(steps).map_or(0, |(_, at)| at);
    let before = parts.iter().flat_map(|(steps, _)| &steps[..cut(steps)]);
    let longest = parts.iter().map(|(steps, _)| &steps[cut(steps)]);
    let (last, _) = &parts[parts.len() - 1];
    before.chain(longest).chain(&last[cut(last) + 1..]).cloned().collect()
}
