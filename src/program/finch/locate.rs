//! Computed places, which later statements go to.

use std::ops::Range;

use super::operations::NOWHERE;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;

/// Places that are computed, as a tensor that is true at them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locate {
    /// The tensor: its dimensions are those of `from`, and one more.
    pub tensor: Name,
    /// The computed tensor of whole numbers that says where.
    pub from: Name,
    /// Of the last dimension.
    pub extent: usize,
    /// The access that goes there, in the program's text.
    pub place: Range<usize>,
}

impl Locate {
    /// The place that a number is; none where nothing is accessed.
    ///
    /// # Errors
    /// [`Code::Shape`]: it lies outside, and the program stops.
    pub fn at(&self, number: i64) -> Result<Option<usize>> {
        if number == NOWHERE {
            return Ok(None);
        }
        match usize::try_from(number) {
            Ok(place) if place < self.extent => Ok(Some(place)),
            _ => Err(Diagnostic::new(
                Code::Shape,
                format!("subscript {} is outside of 1:{}", i128::from(number) + 1, self.extent),
            )
            .at(self.place.clone(), "a value decides it")
            .help("write `~` before the subscript if it may lie outside")),
        }
    }
}
