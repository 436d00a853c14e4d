//! Where a value at a point comes from: the leaves of what a statement computes.

use std::fmt;

use crate::formula::Name;
use crate::operators::{Region, Tree};

/// A leaf of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The operand with this number in its space.
    Operand(usize),
    /// The value of an index, or of an extent; an `i64`.
    Index(Name),
}

/// The numbers of the operands of a value, from left to right, each as often as it is read.
pub fn operands(value: &Tree<Source>) -> Vec<usize> {
    let operand = |source: &Source| match source {
        Source::Operand(k) => Some(*k),
        Source::Index(_) => None,
    };
    value.leaves().into_iter().filter_map(operand).collect()
}

/// The numbers of the operands of which a value asks whether they are stored.
pub fn asked(value: &Tree<Source>) -> Vec<usize> {
    let sources = value.regions().into_iter().flat_map(Region::operands);
    let operand = |source: Source| match source {
        Source::Operand(k) => Some(k),
        Source::Index(_) => None,
    };
    sources.filter_map(operand).collect()
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Operand(k) => write!(f, "{k}"),
            Source::Index(index) => f.write_str(index),
        }
    }
}
