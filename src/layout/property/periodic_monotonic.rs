//! `periodic-monotonic`: values move one way inside each segment.
//!
//! `0 <= u < I and pos(u) <= p < q and q < pos(u + 1) => crd(p) < crd(q)`

use super::guard::Subject;
use crate::formula::Formula;

pub(super) fn formula(subject: &Subject<'_>) -> Result<Formula, String> {
    subject.single()?;
    subject.needs_segments()?;
    let pair = subject.ordered_pair()?;
    Ok(Formula::and(pair.guard).implies(subject.values_in_order(&pair.p, &pair.q)))
}
