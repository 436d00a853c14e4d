//! Windows: a part of a dimension, from one end to the other in steps, as if it were a dimension.
//!
//! ```text
//! A[(2:10)(i)]       ⟼   A[i + 2], with 8 values of i
//! A[(0:n:2)(i)]      ⟼   A[2*i], with 10 values of i                 (n = 20)
//! A[(9:-1:-1)(i)]    ⟼   A[9 - i], with 10 values of i: backwards
//! ```
//! Ends are half-open and count from 0; they are numbers, or names that are given. Without a first end a
//! window begins at 0, without a last one the tensor ends it.

use std::fmt;

use crate::formula::{Affine, Name};

/// A subscript that is a window.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Which subscript it is.
    pub dimension: usize,
    /// The index that runs along it.
    pub index: Name,
    /// The first place.
    pub from: i64,
    /// The place before which it ends; `None`: where the tensor does.
    pub to: Option<i64>,
    /// Not 0.
    pub step: i64,
}

impl Window {
    /// The number of places; `None` if the tensor decides it.
    pub fn extent(&self) -> Option<usize> {
        let (from, to, step) = (i128::from(self.from), i128::from(self.to?), i128::from(self.step));
        let length = if step > 0 { to - from } else { from - to };
        let places = length.max(0).unsigned_abs().div_ceil(step.unsigned_abs());
        Some(usize::try_from(places).unwrap_or(usize::MAX))
    }

    /// The last place that its tensor has to have, if it says where it ends and has places.
    pub fn last(&self) -> Option<i64> {
        let to = self.to.filter(|_| self.extent() != Some(0))?;
        Some(self.from.max(to - 1))
    }

    /// The subscript.
    pub fn affine(&self) -> Affine {
        Affine::var(self.index.clone()) * self.step + Affine::constant(self.from)
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}:", self.from)?;
        if let Some(to) = self.to {
            write!(f, "{to}")?;
        }
        if self.step != 1 {
            write!(f, ":{}", self.step)?;
        }
        write!(f, ")({})", self.index)
    }
}
