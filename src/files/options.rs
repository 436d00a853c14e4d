//! What a caller may ask of reading.

use crate::tensor::{Value, ValueType};

/// How to read a file.
#[derive(Clone, Default)]
pub struct ReadOptions<'a> {
    /// The extents, for formats that do not hold them (`.tns`). For the others a check; one extent
    /// makes a matrix of one row or column a vector.
    pub dims: Option<Vec<usize>>,
    /// The type to read values as; by default what the file has (`.mtx`: `f64`, or `i64` for
    /// `integer`; `.tns`: `f64`).
    pub value_type: Option<ValueType>,
    /// What elements are that the file does not store; only PyData's say so, and are refused if it is
    /// something else. Zero if nothing is said here.
    pub fill: Option<Value>,
    /// Called now and then with the bytes of the file read so far, and their total.
    pub progress: Option<&'a dyn Fn(u64, u64)>,
}
