//! `permutation`: injective, and into its own domain; the domain is finite, so also onto.
//!
//! `(0 <= p < N and 0 <= q < N and p != q => f(p) != f(q)) and (0 <= p < N => 0 <= f(p) < N)`

use super::guard::{Subject, conjunction, domain_at};
use super::injective;
use crate::formula::Formula;

pub(super) fn formula(subject: &Subject<'_>) -> Result<Formula, String> {
    subject.refuses_segments()?;
    let array = subject.single()?;
    if array.args.len() != 1 {
        return Err("needs an array with one argument".to_string());
    }
    let p = subject.tuple("p");
    let inside = conjunction(domain_at(array, &p));
    let into = conjunction(domain_at(array, &subject.values(&p)));
    Ok(Formula::and([injective::formula(subject)?, inside.implies(into)]))
}
