//! `formula`: any formula over the declared arrays and sizes; other names are universally
//! quantified, guards are the author's.
//!
//! `pos(0) = 0`

use super::guard::Subject;
use crate::formula::Formula;

pub(super) fn formula(
    subject: &Subject<'_>,
    declared: Option<&Formula>,
) -> Result<Formula, String> {
    subject.refuses_segments()?;
    declared.cloned().ok_or_else(|| "needs the formula".to_string())
}
