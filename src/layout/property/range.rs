//! `range`: values stay within bounds. Every array that declares a range has it.
//!
//! `0 <= p1 < NNZ => 0 <= crd(p1) < J`

use super::guard::{Subject, conjunction};
use crate::formula::Formula;

pub(super) fn formula(subject: &Subject<'_>) -> Result<Formula, String> {
    subject.refuses_segments()?;
    let array = subject.single()?;
    if array.range.is_empty() {
        return Err(format!("needs the range of `{}`", array.name));
    }
    Ok(conjunction(array.domain.clone()).implies(conjunction(array.range.clone())))
}
