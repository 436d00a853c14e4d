//! Numbers, and what kinds of types they have.

pub use crate::tensor::{Value, promote};

use crate::tensor::ValueType;

/// Whether a type holds whole numbers; `bool` does not count.
pub(super) fn is_integer(t: ValueType) -> bool {
    matches!(t, ValueType::I64 | ValueType::I32 | ValueType::U8)
}
