//! Why a layout, or these entries in it, cannot be packed.

use crate::diagnostic::{Code, Diagnostic};
use crate::formula::{Atom, Call};
use crate::layout::Layout;
use crate::tensor::Scope;

/// An error about `layout`.
pub(super) fn refused(layout: &Layout, what: impl std::fmt::Display) -> Box<Diagnostic> {
    Diagnostic::new(
        Code::NotPackable,
        format!("layout `{}` cannot be packed from its declaration: {what}", layout.name),
    )
}

/// An error about a size that `scope` gives no value: the declaration does not say it, unless the extents are so large
/// that no 64 bits hold it.
pub(super) fn without_value(
    layout: &Layout,
    scope: &Scope<'_>,
    what: &str,
    remedy: &str,
) -> Box<Diagnostic> {
    let product: f64 = scope.sizes.values().map(|&size| (size as f64).abs().max(1.0)).product();
    if product < 2f64.powi(62) {
        return refused(layout, format!("{what} is not known")).help(remedy);
    }
    Diagnostic::new(
        Code::Memory,
        format!("{what} is more than 2^63 in layout `{}` with these extents", layout.name),
    )
    .help("choose a layout that stores entries only, or state smaller extents")
}

/// What no coordinate says.
pub(super) fn undetermined(layout: &Layout, call: &Call) -> Box<Diagnostic> {
    let array = &call.array;
    refused(
        layout,
        format!(
            "index array `{array}` is neither a coordinate, nor a count, nor otherwise determined \
             by the coordinates"
        ),
    )
    .note(format!("`{}` has no unique value for given coordinates", Atom::Call(call.clone())))
    .help(format!(
        "relate `{array}` to a coordinate by an equation, or use it as `{array}(u) <= p < {array}(u + 1)`"
    ))
}
