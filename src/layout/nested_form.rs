//! From a nested name to a list of levels: each level gets its subscripts, the leaf its fill.
//!
//! In: a [`Nested`] name. Out: [`NestedForm`], whose uses are those of a list of levels.
//!
//! ```text
//! Dense(SparseList(Element(0.0)))  becomes  Dense(1), SparseList(0), Element()  with fill 0.0
//! ```

use super::Relation;
use super::declaration::constants;
use super::leaf::Leaf;
use super::level_use::{DimRef, LevelUse};
use super::nested::{Nested, NestedLevel};
use super::source::Source;
use super::toml_schema::Declaration;
use crate::diagnostic::{Code, Result};

/// A nested name as a list of levels.
#[derive(Debug)]
pub(super) struct NestedForm {
    pub rank: usize,
    pub uses: Vec<LevelUse>,
    pub leaf: Leaf,
}

impl NestedForm {
    /// Reads a nested name; `found` are the declarations of its levels, in the same order.
    ///
    /// # Errors
    /// If a level is a leaf or the leaf is none, or `{N}` or the fill does not suit.
    pub fn read(nested: &Nested, found: &[(Source, Declaration)], text: &Source) -> Result<Self> {
        let mut arities = Vec::new();
        for (k, (level, (source, declaration))) in nested.levels.iter().zip(found).enumerate() {
            let last = k + 1 == nested.levels.len();
            refuse_place(level, declaration, last, text)?;
            arities.push(arity(level, source, declaration, text)?);
        }
        let rank: usize = arities.iter().sum();
        let mut left = rank;
        let mut uses = Vec::new();
        for (level, arity) in nested.levels.iter().zip(arities) {
            let span = level.name_span.clone();
            let dims = (left - arity..left).rev().map(|d| (DimRef::Number(d), span.clone()));
            uses.push(LevelUse {
                level: level.name.clone(),
                level_span: span.clone(),
                dims: dims.collect(),
                settings: Vec::new(),
                span: span.clone(),
            });
            left -= arity;
        }
        let leaf = match found.last() {
            Some((source, declaration)) => Leaf::of(source, declaration, nested, text)?,
            None => Leaf::default(),
        };
        Ok(NestedForm { rank, uses, leaf })
    }
}

/// Refuses a leaf that is not the last, and a last level that is no leaf.
fn refuse_place(
    level: &NestedLevel,
    declaration: &Declaration,
    last: bool,
    text: &Source,
) -> Result<()> {
    let name = &level.name;
    let (message, label, help) = match (last, declaration.is_leaf()) {
        (true, true) | (false, false) => return Ok(()),
        (true, false) => (
            format!("nothing stands below level `{name}`"),
            "no leaf",
            format!("end with a leaf, which has the values: `{name}(LEAF(0.0))`"),
        ),
        (false, true) => (
            format!("a level stands below `{name}`, which is a leaf"),
            "a leaf",
            format!("write what is not stored in its place, e.g. `{name}(0.0)`"),
        ),
    };
    Err(text.error(Code::LayoutSchema, message, level.name_span.clone(), label).help(help))
}

/// How many subscripts a level has.
fn arity(
    level: &NestedLevel,
    source: &Source,
    declaration: &Declaration,
    text: &Source,
) -> Result<usize> {
    let name = &level.name;
    let error = |message: String, label: &str| {
        let place = level.count.as_ref().map_or(&level.name_span, |(_, place)| place);
        text.error(Code::LayoutSchema, message, place.clone(), label)
    };
    match (&declaration.relation, &level.count) {
        (None, Some((count, _))) if declaration.levels.is_some() => Ok(*count),
        (None, None) if declaration.levels.is_some() => {
            Err(error(format!("level `{name}` has any number of subscripts"), "how many?")
                .help(format!("state their number, e.g. `{name}{{2}}(…)`")))
        }
        (None, _) => Err(error(format!("level `{name}` has no `relation`"), "in this level")
            .help("give it a `relation`, or a list of `levels`")),
        (Some(relation), count) => {
            let constants = constants(source, declaration, None)?;
            let relation = source
                .parse(relation, |t| Relation::parse_with(t, &|n| constants.get(n).copied()))?;
            let own = relation.coordinates.len();
            match count {
                Some((count, _)) if *count != own => {
                    let message = format!("level `{name}` has {own} subscript(s), not {count}");
                    Err(error(message, "another number").help(format!("write `{name}(…)`")))
                }
                _ => Ok(own),
            }
        }
    }
}
