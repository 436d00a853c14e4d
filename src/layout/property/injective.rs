//! `injective`: no value occurs twice; with `segments`, not twice in one segment.
//!
//! `0 <= p < N and 0 <= q < N and p != q => f(p) != f(q)`

use super::guard::{Subject, add_new};
use crate::formula::Formula;

pub(super) fn formula(subject: &Subject<'_>) -> Result<Formula, String> {
    let array = subject.single()?;
    if subject.segments.is_some() {
        let pair = subject.ordered_pair()?;
        let (a, b) = (subject.values(&pair.p), subject.values(&pair.q));
        return Ok(Formula::and(pair.guard).implies(Formula::ne(a[0].clone(), b[0].clone())));
    }
    let (p, q) = (subject.tuple("p"), subject.tuple("q"));
    if array.args.is_empty() {
        return Err("needs an array with arguments".to_string());
    }
    let mut guard = subject.domain(&p);
    add_new(&mut guard, subject.domain(&q));
    let differ = Formula::or(p.iter().zip(&q).map(|(x, y)| Formula::ne(x.clone(), y.clone())));
    let guard = Formula::and(guard.into_iter().map(Formula::from).chain([differ]));
    let (a, b) = (subject.values(&p), subject.values(&q));
    Ok(guard.implies(Formula::ne(a[0].clone(), b[0].clone())))
}
