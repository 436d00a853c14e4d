//! The code of a template, read.

use super::render;
use super::variant::Variant;
use crate::code::ir::{Block, Body, Expr, Hole, Stmt, VarId};
use crate::code::visit;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::synth::Template;

/// The code of a template in one variant, its holes open, its obligations proved.
#[derive(Debug)]
pub struct FindCode {
    /// The variables of both parts.
    pub(in crate::code) body: Body,
    pub(in crate::code) setup: Block,
    pub(in crate::code) search: Block,
    /// Hold between the queries of one state.
    pub(in crate::code) invariants: Vec<Expr>,
    /// The texts, for diagnostics.
    setup_text: String,
    search_text: String,
    place: String,
}

impl FindCode {
    /// Reads the code of `template`; nothing is proved yet.
    pub(super) fn read(template: &Template, variant: Variant) -> Result<FindCode> {
        let place = template.code_place.clone();
        let setup_text = render::part(template, "setup", variant)?;
        let search_text = render::part(template, "search", variant)?;
        let mut body = Body::default();
        let table = template.table.as_deref().map(|name| body.table(name));
        let (setup_place, search_place) = (format!("{place}, setup"), format!("{place}, search"));
        let mut parser = crate::code::parse::Parser::new(&mut body, &setup_place, &setup_text);
        parser.table = table;
        let mut setup = parser.statements()?;
        parser.place = &search_place;
        parser.text = &search_text;
        let search = parser.statements()?;
        let mut invariants = Vec::new();
        setup.retain(|s| match s {
            Stmt::Hole(Hole::Invariant(c)) => {
                invariants.push((**c).clone());
                false
            }
            _ => true,
        });
        Ok(FindCode { body, setup, search, invariants, setup_text, search_text, place })
    }

    /// The variables that are kept between queries.
    pub(in crate::code) fn state(&self) -> Vec<VarId> {
        self.setup
            .iter()
            .filter_map(|s| match s {
                Stmt::Let { var, .. } => Some(*var),
                _ => None,
            })
            .collect()
    }

    /// True if the code has a hole of that name.
    pub fn uses(&self, hole: &str) -> bool {
        visit::any_hole(&self.setup, |h| h.name() == hole)
            || visit::any_hole(&self.search, |h| h.name() == hole)
    }
}

/// A refusal of the code, with its text.
pub(super) fn refused(code: &FindCode, part: &str, message: String) -> Box<Diagnostic> {
    let text = if part == "setup" { &code.setup_text } else { &code.search_text };
    Diagnostic::new(Code::Find, message).within(format!("{}, {part}", code.place), text)
}
