//! Claims as equations between uses of an operator: `f(f(a, b), c) = f(a, f(b, c))`.

use std::ops::Range;

use super::operator::Operator;
use super::schema::Number;

/// One side of an equation about an operator.
#[derive(Clone, Debug)]
pub(super) enum Side<'a> {
    Variable(usize),
    /// A value that argument `k` has, or the result (`None`).
    Value(Number, Option<usize>),
    Call(Vec<Side<'a>>),
    /// A use of another operator.
    Other(&'a Operator, Vec<Side<'a>>),
}

pub(super) struct Claim<'a> {
    pub text: String,
    pub place: Range<usize>,
    pub variables: usize,
    pub left: Side<'a>,
    pub right: Side<'a>,
    /// Floats are sampled with small whole numbers, which no operation rounds.
    pub exact: bool,
    /// NaN and infinities are sampled, too.
    pub ieee: bool,
}

/// The name of a variable of a claim.
pub(super) fn variable(op: &Operator, k: usize) -> String {
    match op.arguments.get(k) {
        Some(argument) => argument.name.clone(),
        None => {
            let free = ["c", "d", "x", "y"]
                .into_iter()
                .filter(|n| op.arguments.iter().all(|a| a.name != *n));
            free.into_iter().nth(k - op.arity()).unwrap_or("z").to_string()
        }
    }
}
