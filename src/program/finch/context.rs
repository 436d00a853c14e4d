//! What lowering knows: of statements and of expressions alike.

use indexmap::IndexMap;
use rustc_hash::FxHashSet;

use super::dimensions::Dimensions;
use super::host::Host;
use super::needs::{Needs, Why};
use super::scope::Scoped;
use crate::formula::{Affine, Name};
use crate::program::ir::{self, Fill, Span};

/// What an expression is.
#[derive(Clone, Debug)]
pub(super) enum Lowered {
    /// A number, and what it needs to be there.
    Scalar(ir::Expr, Needs),
    /// Two or more.
    Tuple(Vec<Lowered>),
    /// Outside of its tensor, for sure.
    Missing,
    Nothing,
}

/// Where an access goes, and what must lie inside for it to exist.
pub(super) struct Place {
    pub subscripts: Vec<Affine>,
    /// Whether it may lie outside.
    pub permissive: bool,
}

/// What holds the elements of a tensor, or one part of them if they are tuples.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub value: Name,
    /// Where elements may not be there.
    pub flags: Vec<Flag>,
}

/// A tensor of truth values beside another: which of its elements are there.
#[derive(Clone, Debug)]
pub(super) struct Flag {
    pub tensor: Name,
    pub why: Why,
    /// Whether it is true where the element is there, and not where it is not.
    pub there: bool,
}

pub(super) struct Lowering<'a> {
    pub host: &'a Host<'a>,
    pub scoped: &'a Scoped,
    pub known: &'a Dimensions,
    pub text: &'a str,
    /// What diagnostics call it.
    pub name: &'a str,
    /// The tensors that are read by galloping.
    pub gallops: Vec<Name>,
    /// Of the names that `let` binds.
    pub values: IndexMap<String, Lowered>,
    /// What must be bound before the statement at hand.
    pub before: Vec<(Name, ir::Expr, Span)>,
    /// The tensors of the tree for one of tuples.
    pub parts: IndexMap<String, Vec<Part>>,
    /// The tensors whose elements may be missing, or nothing.
    pub absent: FxHashSet<(String, Why)>,
    /// Those that were found to be such.
    pub found: FxHashSet<(String, Why)>,
    /// What the elements of a declared tensor begin with.
    pub fills: IndexMap<String, Vec<Fill>>,
    /// Names that are used.
    pub taken: Vec<String>,
}

impl Lowering<'_> {
    pub fn fresh(&mut self, name: &str) -> Name {
        let numbered = (2..).map(|k| format!("{name}_{k}"));
        let mut all = std::iter::once(name.to_string()).chain(numbered);
        let name = all.find(|n| !self.taken.contains(n)).unwrap_or_default();
        self.taken.push(name.clone());
        Name::from(name)
    }

    /// The tensors of the tree that a tensor is.
    pub fn parts_of(&self, name: &str) -> Vec<Part> {
        let given = || vec![Part { value: Name::from(name), flags: Vec::new() }];
        self.parts.get(name).cloned().unwrap_or_else(given)
    }
}
