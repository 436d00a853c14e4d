//! `lexicographic`: several arrays move together (SPF's co-vary), the first is most significant.
//!
//! `0 <= p < q < N => a(p) < a(q) or a(p) = a(q) and b(p) < b(q)`

use super::guard::Subject;
use crate::formula::Formula;

pub(super) fn formula(subject: &Subject<'_>) -> Result<Formula, String> {
    subject.refuses_segments()?;
    let pair = subject.ordered_pair()?;
    Ok(Formula::and(pair.guard).implies(subject.values_in_order(&pair.p, &pair.q)))
}
