//! Why a layout, or these entries in it, cannot be packed.

use crate::diagnostic::{Code, Diagnostic};
use crate::layout::Layout;

/// An error about `layout`.
pub(super) fn refused(layout: &Layout, what: impl std::fmt::Display) -> Box<Diagnostic> {
    Diagnostic::new(
        Code::NotPackable,
        format!("layout `{}` cannot be packed from its declaration: {what}", layout.name),
    )
}
