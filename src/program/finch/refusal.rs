//! How a program is refused: with the place in its text.

use crate::diagnostic::{Code, Diagnostic};
use crate::program::ir::Span;

/// A program that is wrong at a place.
pub(super) fn wrong(message: impl Into<String>, span: &Span) -> Box<Diagnostic> {
    Diagnostic::new(Code::Program, message).at(span.0.clone(), "here")
}

/// A program that the interpreter runs, and kernels do not.
pub(super) fn not_compiled(what: &str, place: std::ops::Range<usize>) -> Box<Diagnostic> {
    Diagnostic::new(Code::Program, format!("{what} is not compiled yet"))
        .at(place, "the interpreter runs it, kernels do not")
        .help("kernels are made from updates of elements whose order does not matter, or is kept by one of them")
}
