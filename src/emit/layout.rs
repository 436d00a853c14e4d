//! Plain-data structs for layouts in generated code.

use crate::formula::{Arith, Name};
use crate::layout::Layout;
use crate::layout::checks::admits_negative;
use crate::tensor::ValueType;

use super::IndexWidth;
use super::rust_expr::ident;

/// A struct of the generated module.
#[derive(Clone, Debug, PartialEq)]
pub struct StructCode {
    pub name: String,
    pub rank: usize,
    /// `(field, element type)` of each index array.
    pub arrays: Vec<(String, String)>,
    /// Size parameters that no array length gives.
    pub counts: Vec<String>,
    pub value: String,
    pub value_type: &'static str,
}

/// `bcsr(4,4)` → `Bcsr4x4`, `dense(i), compressed(j)` → `DenseICompressedJ`.
pub fn struct_name(layout: &Layout) -> String {
    let base = layout.name.rsplit('/').next().unwrap_or(&layout.name);
    let base = base.strip_suffix(".toml").unwrap_or(base).replace(".toml(", "(");
    let mut out = String::new();
    let mut upper = true;
    let mut last_digit = false;
    for c in base.chars() {
        if c.is_ascii_alphanumeric() {
            // Neighbouring numbers stay apart: 4,4 -> 4x4.
            if upper && c.is_ascii_digit() && last_digit {
                out.push('x');
            }
            out.push(if upper { c.to_ascii_uppercase() } else { c });
            upper = false;
            last_digit = c.is_ascii_digit();
        } else {
            upper = true;
        }
    }
    if out.is_empty() || out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert_str(0, "Layout");
    }
    out
}

/// Size parameters that must be a field: not defined, and not the length of an array.
pub fn counted_fields(layout: &Layout) -> Vec<Name> {
    layout
        .params
        .iter()
        .filter(|(name, definition)| definition.is_none() && length_source(layout, name).is_none())
        .map(|(name, _)| name.clone())
        .collect()
}

/// The array (or the values) whose length is the parameter `name`.
pub fn length_source(layout: &Layout, name: &Name) -> Option<Name> {
    let is_it = |len: &Arith| matches!(len, Arith::Var(n) if n == name);
    layout
        .arrays
        .values()
        .find(|a| is_it(&a.len))
        .map(|a| a.name.clone())
        .or_else(|| is_it(&layout.value.len).then(|| layout.value.name.clone()))
}

/// Element type of an index array.
pub fn index_type(layout: &Layout, array: &Name, width: IndexWidth) -> &'static str {
    let signed = admits_negative(&layout.arrays[array]);
    if signed { width.signed() } else { width.unsigned() }
}

impl StructCode {
    pub fn new(layout: &Layout, name: String, width: IndexWidth, values: ValueType) -> StructCode {
        StructCode {
            name,
            rank: layout.rank(),
            arrays: layout
                .arrays
                .keys()
                .map(|a| (ident(a), index_type(layout, a, width).to_string()))
                .collect(),
            counts: counted_fields(layout).iter().map(|n| ident(&n.to_lowercase())).collect(),
            value: ident(&layout.value.name),
            value_type: values.rust_name(),
        }
    }

    /// The struct's definition. A tensor that is written has mutable values.
    pub fn definition(&self, doc: &str, mutable: bool) -> String {
        let mut out = format!("/// {doc}\n");
        let name = self.rust_name(mutable);
        out.push_str(&format!("pub struct {name}<'a> {{\n"));
        out.push_str(&format!("pub dims: [usize; {}],\n", self.rank));
        for c in &self.counts {
            out.push_str(&format!("pub {c}: usize,\n"));
        }
        for (field, element) in &self.arrays {
            out.push_str(&format!("pub {field}: &'a [{element}],\n"));
        }
        let reference = if mutable { "&'a mut" } else { "&'a" };
        out.push_str(&format!("pub {}: {reference} [{}],\n}}\n", self.value, self.value_type));
        out
    }

    pub fn rust_name(&self, mutable: bool) -> String {
        if mutable { format!("{}Mut", self.name) } else { self.name.clone() }
    }
}
