//! How a program is refused: with the place in its text.

use crate::diagnostic::{Code, Diagnostic};
use crate::program::ir::Span;

/// A program that is wrong at a place.
pub(super) fn wrong(message: impl Into<String>, span: &Span) -> Box<Diagnostic> {
    Diagnostic::new(Code::Program, message).at(span.0.clone(), "here")
}
