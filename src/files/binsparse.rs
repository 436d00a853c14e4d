//! The names that Binsparse gives to storages and to their arrays (version 0.1 of its specification).
//!
//! In: a layout. Out: the format's name if Binsparse has one, and which array is called what. SciPy has
//! names for some of these, too; what its archives hold is not repeated here.

use serde_json::{Map, Value, json};

use super::known::{Known, Model, known};
use crate::diagnostic::Result;
use crate::layout::Layout;
use crate::tensor::{Tensor, ValueType};

const VERSION: &str = "0.1";

const MODELS: [Model; 5] = [
    (
        "DVEC",
        r#"
name = "values"
dims = ["i"]
relation = "{ [p] -> [i] : 0 <= p < I and i = p }"
value = "values(p)"
"#,
    ),
    (
        "DMATR",
        r#"
name = "values"
dims = ["i", "j"]
relation = "{ [p, q] -> [i, j] : 0 <= p < I and i = p and 0 <= q < J and j = q }"
value = "values(p, q)"
"#,
    ),
    (
        "DMATC",
        r#"
name = "values"
dims = ["i", "j"]
relation = "{ [q, p] -> [i, j] : 0 <= q < J and j = q and 0 <= p < I and i = p }"
value = "values(q, p)"
"#,
    ),
    (
        "DCSR",
        r#"
name = "indices_0, pointers_to_1, indices_1, values"
dims = ["i", "j"]
relation = """{ [r, p] -> [i, j] : pointers_to_0(0) <= r < pointers_to_0(1) and i = indices_0(r)
  and pointers_to_1(r) <= p < pointers_to_1(r + 1) and j = indices_1(p) }"""
value = "values(p)"
[index.pointers_to_0]
domain = "0 <= u <= 1"
range = "0 <= pointers_to_0(u) <= M"
[index.indices_0]
domain = "0 <= r < M"
range = "0 <= indices_0(r) < I"
[index.pointers_to_1]
domain = "0 <= r <= M"
range = "0 <= pointers_to_1(r) <= N"
[index.indices_1]
domain = "0 <= p < N"
range = "0 <= indices_1(p) < J"
[params]
M = "count"
N = "count"
"#,
    ),
    (
        "DCSC",
        r#"
name = "indices_0, pointers_to_1, indices_1, values"
dims = ["i", "j"]
relation = """{ [c, p] -> [i, j] : pointers_to_0(0) <= c < pointers_to_0(1) and j = indices_0(c)
  and pointers_to_1(c) <= p < pointers_to_1(c + 1) and i = indices_1(p) }"""
value = "values(p)"
[index.pointers_to_0]
domain = "0 <= u <= 1"
range = "0 <= pointers_to_0(u) <= M"
[index.indices_0]
domain = "0 <= c < M"
range = "0 <= indices_0(c) < J"
[index.pointers_to_1]
domain = "0 <= c <= M"
range = "0 <= pointers_to_1(c) <= N"
[index.indices_1]
domain = "0 <= p < N"
range = "0 <= indices_1(p) < I"
[params]
M = "count"
N = "count"
"#,
    ),
];

/// The layout in Binsparse's terms, if it has some.
///
/// # Errors
/// Those of the models, which is a defect.
pub(super) fn storage(layout: &Layout) -> Result<Option<Known>> {
    known(layout, &MODELS)
}

/// Binsparse's descriptor of a tensor.
pub(super) fn descriptor(tensor: &Tensor, known: &Known) -> String {
    let mut types: Map<String, Value> =
        known.model.arrays.keys().map(|member| (member.to_string(), json!("int64"))).collect();
    types.insert(known.model.value.name.to_string(), json!(type_name(tensor.value_type())));
    let descriptor = json!({
        "version": VERSION,
        "format": known.format,
        "shape": tensor.dims(),
        "number_of_stored_values": tensor.stored(),
        "data_types": types,
    });
    format!("{:#}\n", json!({ "binsparse": descriptor }))
}

fn type_name(value_type: ValueType) -> &'static str {
    match value_type {
        ValueType::F64 => "float64",
        ValueType::F32 => "float32",
        ValueType::I64 => "int64",
        ValueType::I32 => "int32",
        ValueType::U8 => "uint8",
        ValueType::Bool => "bint8",
    }
}
