//! `disjoint`: half-open intervals `left(p) .. right(p)` follow each other without overlap; with
//! `segments`, inside each segment. `strict`: none is empty.
//!
//! `(0 <= p < N => left(p) <= right(p)) and (0 <= p < q < N => right(p) <= left(q))`

use super::guard::{Subject, conjunction};
use crate::formula::Formula;

pub(super) fn formula(subject: &Subject<'_>) -> Result<Formula, String> {
    if subject.arrays.len() != 2 {
        return Err(format!("is about two arrays, not {}", subject.arrays.len()));
    }
    let pair = subject.ordered_pair()?;
    let (at_p, at_q) = (subject.values(&pair.p), subject.values(&pair.q));
    let (left, right) = (at_p[0].clone(), at_p[1].clone());
    let interval = match subject.strict {
        true => Formula::lt(left, right),
        false => Formula::le(left, right),
    };
    let one = conjunction(subject.domain(&pair.p)).implies(interval);
    let apart = match subject.decreasing {
        false => Formula::le(at_p[1].clone(), at_q[0].clone()),
        true => Formula::le(at_q[1].clone(), at_p[0].clone()),
    };
    Ok(Formula::and([one, Formula::and(pair.guard).implies(apart)]))
}
