//! What a caller may ask of reading.

use super::npy_header::bad;
use crate::diagnostic::Result;
use crate::tensor::{Value, ValueType, Values};

/// How to read a file.
#[derive(Clone, Default)]
pub struct ReadOptions<'a> {
    /// The extents, for formats that do not hold them (`.tns`). For the others a check; one extent
    /// makes a matrix of one row or column a vector.
    pub dims: Option<Vec<usize>>,
    /// The type to read values as; by default what the file has (`.mtx`: `f64`, or `i64` for
    /// `integer`; `.tns`: `f64`).
    pub value_type: Option<ValueType>,
    /// What elements are that the file does not store; archives may say so, and are refused if it
    /// is something else. Zero if nothing is said here.
    pub fill: Option<Value>,
    /// Called now and then with the bytes of the file read so far, and their total.
    pub progress: Option<&'a dyn Fn(u64, u64)>,
}

/// Refuses a file that says that what it does not store is something else than `wanted`, or than zero.
pub(super) fn refuse_other_fill(name: &str, said: &Values, wanted: Option<Value>) -> Result<()> {
    if said.len() != 1 {
        return Err(bad(name, "`fill_value` is no number")
            .help("write the file again with the library that made it"));
    }
    let fill = Value::element(said, 0);
    let wanted = wanted.map_or(Value::zero(fill.value_type()), |w| w.cast(fill.value_type()));
    match fill.same(wanted) {
        true => Ok(()),
        false => Err(bad(name, format!("elements that are not stored are {fill}"))
            .help(format!("say so where it is computed with: `siskin run … --fill NAME={fill}`"))),
    }
}
