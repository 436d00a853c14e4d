//! `periodic-lexicographic`: several arrays move together inside each segment.
//!
//! ```text
//! 0 <= u < I and pos(u) <= p < q and q < pos(u + 1)
//!     => a(p) < a(q) or a(p) = a(q) and b(p) < b(q)
//! ```

use super::guard::Subject;
use crate::formula::Formula;

pub(super) fn formula(subject: &Subject<'_>) -> Result<Formula, String> {
    subject.needs_segments()?;
    let pair = subject.ordered_pair()?;
    Ok(Formula::and(pair.guard).implies(subject.values_in_order(&pair.p, &pair.q)))
}
