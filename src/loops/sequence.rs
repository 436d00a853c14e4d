//! Statements that run one after the other: the loops that they share, and where temporaries begin.
//!
//! Before → after, for `T[i] = A[i,j] * x[j]; y[i] = T[i] * T[i]`:
//!
//! ```text
//! piece                                           for pA0 in 0..I
//!   for pA0 in 0..I                                 let i = pA0
//!     let i = pA0                                   begin val_T[] = 0.0
//!     for pA1 in pos_A(pA0)..pos_A(pA0 + 1)         piece
//!       let j = crd_A(pA1)                     →      for pA1 in pos_A(pA0)..pos_A(pA0 + 1)
//!       val_T[i] += val_A[pA1] * val_x[j]                let j = crd_A(pA1)
//! piece                                                  val_T[] += val_A[pA1] * val_x[j]
//!   for i in 0..I                                   piece
//!     val_y[i] += val_T[i] * val_T[i]                 val_y[i] += val_T[] * val_T[]
//! ```
//! A temporary begins in the innermost block that holds all that is done with it, with the dimensions that
//! still differ there.

use super::statement::Statement;
use crate::formula::{Arith, Name};
use crate::operators::Value;

/// How statements follow each other.
#[derive(Clone, Debug, Default)]
pub struct Sequence {
    /// For every statement but the first, the outer loops that it shares with the one before, as that calls
    /// them.
    pub shared: Vec<Vec<Name>>,
    pub temporaries: Vec<Temporary>,
}

/// A tensor that lives in the kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Temporary {
    pub tensor: Name,
    /// Its values.
    pub array: Name,
    pub shape: Vec<Arith>,
    /// What all elements are before anything is combined into them.
    pub value: Value,
}

/// The statements of each step, in their order.
pub fn steps(statements: &[Statement]) -> Vec<&[Statement]> {
    statements.chunk_by(|a, b| a.space.step == b.space.step).collect()
}
