//! What the formats of tensors state of their values: `Dense(SparseList(Element(0.0)))` has values of type
//! `f64`, and what it does not store is 0.
//!
//! In: a request. Out: the request with these types and fills, or a refusal if it says something else.

use super::request::Request;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;
use crate::layout::{Layout, LayoutSpec};
use crate::operators::Value;
use crate::program::Program;

impl Request {
    /// The request with the types and fills that formats state.
    ///
    /// # Errors
    /// [`Code::Data`] if a tensor has another type or fill than its format; those of the formats.
    pub(super) fn with_leaves(&self, program: &Program) -> Result<Request> {
        let mut out = self.clone();
        for (tensor, text) in &self.layouts {
            let fill = match self.declared.get(tensor) {
                Some(layout) => layout.fill,
                None if text.trim().starts_with("shares(") => None,
                None => LayoutSpec::parse(text)?.fill(),
            };
            let Some(fill) = fill.map(Value::from) else { continue };
            let ty = fill.value_type();
            match self.types.own.get(tensor) {
                Some(own) if *own != ty => {
                    return Err(differs(tensor, text, &format!("values of type {ty}"), own));
                }
                _ => drop(out.types.own.insert(tensor.clone(), ty)),
            }
            if program.writes(tensor) {
                // Computed: what it begins with is compared when that is known.
                continue;
            }
            match self.fills.get(tensor) {
                Some(own) if !own.cast(ty).same(fill) => {
                    return Err(differs(tensor, text, &format!("the fill {fill}"), own));
                }
                Some(_) => {}
                None if fill.same(Value::zero(ty)) => {}
                None => drop(out.fills.insert(tensor.clone(), fill)),
            }
        }
        Ok(out)
    }
}

fn differs(
    tensor: &Name,
    text: &str,
    states: &str,
    given: &dyn std::fmt::Display,
) -> Box<Diagnostic> {
    Diagnostic::new(
        Code::Data,
        format!("the format of `{tensor}` states {states}, but {given} is given for it"),
    )
    .at(0..text.len(), "this format")
    .within("<layout>", text)
    .help("leave one of the two out, or let them agree")
}

/// Whether a layout says nothing else of what is not stored.
pub(super) fn says_fill(layout: &Layout, fill: Value) -> bool {
    let said = layout.fill.map(Value::from);
    said.is_none_or(|said| said.same(fill.cast(said.value_type())))
}

/// A result whose format says that something else is not stored.
pub(super) fn other_fill(tensor: &Name, layout: &Layout, begins: Value) -> Box<Diagnostic> {
    let fill = layout.fill.map(Value::from);
    let fill = fill.map_or(String::new(), |fill| fill.to_string());
    Diagnostic::new(
        Code::Data,
        format!(
            "what `{tensor}` does not store is {begins} here, but its format `{}` says {fill}",
            layout.name
        ),
    )
    .help("name in the format what the result begins with")
}
