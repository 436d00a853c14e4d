//! A level as part of a layout, and the place that it takes.

use std::sync::Arc;

use indexmap::IndexMap;

use super::assemble::ArrayParts;
use super::parent::Tuple;
use super::property::Statement;
use super::source::Source;
use crate::formula::{Arith, Constraint, Name};

/// A level specialised to its place in a layout.
#[derive(Debug)]
pub(super) struct Level {
    pub positions: Vec<Name>,
    pub pieces: Vec<Vec<Constraint>>,
    /// What the next level sees as its parent.
    pub child: Tuple,
    pub arrays: IndexMap<Name, ArrayParts>,
    /// The names of the arrays in the level's file, by their names in the layout.
    pub declared: IndexMap<Name, Name>,
    /// Further bounds of the values of arrays of outer levels.
    pub narrowed: Vec<(Name, Vec<Constraint>)>,
    pub params: IndexMap<Name, Option<Arith>>,
    /// Properties that hold under the options of this use, and whether each extends the
    /// parent's order.
    pub properties: Vec<(Statement, bool)>,
    /// Arrays whose values are this level's coordinates.
    pub coordinate_arrays: Vec<Name>,
}

/// The place of a level in a layout.
pub(super) struct Place<'a> {
    pub number: usize,
    /// Number of levels.
    pub count: usize,
    pub parent: &'a Tuple,
    /// Arrays of the outer levels: for a name in a level's file, the name in the layout and the
    /// arguments. Inner levels come last.
    pub outer: &'a IndexMap<Name, (Name, Vec<Name>)>,
    pub dims: &'a [Name],
    /// The outer levels store every combination of their coordinates, by themselves.
    pub is_whole: bool,
    /// The text that holds the use.
    pub use_source: &'a Arc<Source>,
}
