//! `monotonic`: values move one way over the whole domain; argument tuples compare
//! lexicographically.
//!
//! `0 <= p < q and q <= I => pos(p) <= pos(q)`

use super::guard::Subject;
use crate::formula::Formula;

pub(super) fn formula(subject: &Subject<'_>) -> Result<Formula, String> {
    subject.single()?;
    subject.refuses_segments()?;
    let pair = subject.ordered_pair()?;
    Ok(Formula::and(pair.guard).implies(subject.values_in_order(&pair.p, &pair.q)))
}
