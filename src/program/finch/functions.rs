//! The functions of Julia, and which operators they are.

use std::sync::Arc;

use super::refusal::wrong;
use crate::diagnostic::Result;
use crate::operators::{Operator, Operators};
use crate::program::ir::Span;

/// Names and symbols whose operator has another name.
const SPELLINGS: [(&str, &str); 23] = [
    ("+", "add"),
    ("-", "sub"),
    ("*", "mul"),
    ("/", "div"),
    ("÷", "quot"),
    ("%", "rem"),
    ("^", "pow"),
    ("&", "band"),
    ("|", "bor"),
    ("⊻", "bxor"),
    ("<<", "shl"),
    (">>", "shr"),
    ("&&", "and"),
    ("||", "or"),
    ("==", "eq"),
    ("!=", "ne"),
    ("<", "lt"),
    ("<=", "le"),
    (">", "gt"),
    (">=", "ge"),
    ("!", "not"),
    // By name, where Julia's is another operator's here.
    ("div", "quot"),
    ("xor", "bxor"),
];

/// Functions of the language that are no operators.
pub(super) const BUILT_IN: [&str; 4] = ["identity", "tuple", "first", "last"];

/// The operator that a function or symbol is.
pub(super) fn operator(name: &str, operators: &Operators, span: &Span) -> Result<Arc<Operator>> {
    let spelt = SPELLINGS.iter().find(|(own, _)| *own == name).map_or(name, |(_, op)| op);
    operators.named(spelt).cloned().map_err(|e| {
        let mut out = wrong(format!("there is no function `{name}`"), span);
        if let Some(help) = e.help {
            out = out.help(help);
        }
        out
    })
}
