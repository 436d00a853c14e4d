//! Composition of levels into a layout.
//!
//! In: a list of level uses and the logical dimensions. Out: one relation for the whole tensor.
//!
//! ```text
//! dense(i):       { [u, p] -> [i] : 0 <= p < I and i = p }                    child [u, p]
//! compressed(j):  { [u, p] -> [j] : pos(u) <= p < pos(u + 1) and j = crd(p) }
//! ```
//! becomes
//! ```text
//! { [p0, p1] -> [i, j] : 0 <= p0 < I and i = p0
//!                        and pos1(p0) <= p1 < pos1(p0 + 1) and j = crd1(p1) }
//! ```
//! A level is named by its number: names of level `k` end in `k`. A level whose relation is a union
//! multiplies the pieces. The values are addressed by the tuple that the last level hands on.

use std::ops::Range;
use std::sync::Arc;

use indexmap::IndexMap;

use super::assemble::{ArrayParts, Parts, assemble};
use super::composed_level::{FindLevel, Used, taken_apart};
use super::leaf::Leaf;
use super::leaf_form;
use super::level::{Level, Place};
use super::level_form::level;
use super::level_use::LevelUse;
use super::parent::Tuple;
use super::property::Statement;
use super::resolve::one_use_per_level;
use super::source::Source;
use super::{Layout, PropertyKind, Relation, Stage};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Arith, Constraint, Name};

/// The value array of a composed layout.
const VALUE: &str = "val";

/// More pieces than any sensible composition.
const MAX_PIECES: usize = 64;

/// Where the uses of a composed layout stand.
pub(super) struct LevelUses<'a> {
    pub source: &'a Arc<Source>,
    /// Each use with its text's place already in `source`.
    pub uses: &'a [LevelUse],
    /// What the leaf states that the list ends with, in a nested name.
    pub leaf: Option<Leaf>,
}

/// Composes the levels; `dims` gives the order of the subscripts.
pub(super) fn compose(
    name: &str,
    summary: &str,
    dims: &[Name],
    list: &LevelUses<'_>,
    find: FindLevel<'_>,
) -> Result<Layout> {
    let uses = one_use_per_level(dims, list.uses, list.source)?;
    let uses = taken_apart(uses, list.source, find)?;
    let mut relation =
        Relation { positions: Vec::new(), coordinates: dims.to_vec(), pieces: vec![Vec::new()] };
    let mut arrays: IndexMap<Name, ArrayParts> = IndexMap::new();
    // By their names in the levels' files: what inner levels may share.
    let mut outer: IndexMap<Name, (Name, Vec<Name>)> = IndexMap::new();
    let mut params = IndexMap::new();
    let mut properties: Vec<Statement> = Vec::new();
    // The property that orders the coordinates of the levels so far, for levels that extend it.
    let mut order: Option<usize> = None;
    let mut parent = Tuple::default();
    let mut value = Name::from(VALUE);
    let mut stages = Vec::new();
    for (number, used) in uses.iter().enumerate() {
        let Used { level_use, dims, source, declaration } = used;
        let place = Place {
            number,
            count: uses.len(),
            parent: &parent,
            outer: &outer,
            dims,
            is_whole: is_whole(&relation),
            use_source: list.source,
        };
        if let Some(text) = &declaration.value {
            refuse_leaf(list, used)?;
            value = leaf_form::value_name(source, declaration, text)?;
        }
        let level = level(source, declaration, level_use, &place)?;
        relation.pieces = times(&relation.pieces, &level.pieces)
            .ok_or_else(|| too_many_pieces(list, level_use))?;
        relation.positions.extend(level.positions.iter().cloned());
        order = add_properties(&level, &mut properties, order);
        for (name, range) in level.narrowed {
            if let Some(array) = arrays.get_mut(&name) {
                array.range.extend(range);
            }
        }
        for (name, in_file) in level.declared {
            let args = level.arrays[&name].args.clone();
            outer.insert(in_file, (name, args));
        }
        // A level that stores nothing hands on what it is given.
        if !(level.positions.is_empty() && dims.is_empty() && level.arrays.is_empty()) {
            stages.push(Stage {
                positions: relation.positions.len(),
                dims: dims.clone(),
                arrays: level.arrays.keys().cloned().collect(),
                handed: level.child.components.clone(),
            });
        }
        arrays.extend(level.arrays);
        params.extend(level.params);
        parent = level.child;
    }
    let span = uses.first().map_or(0..0, |used| used.level_use.span.clone());
    let origin = list.source.origin(span);
    assemble(Parts {
        name: name.to_string(),
        summary: summary.to_string(),
        dims: dims.to_vec(),
        relation,
        value,
        value_index: parent.names().into_iter().map(Arith::Var).collect(),
        value_shape: Some(parent.extents()),
        leaf: list.leaf.unwrap_or_default(),
        value_origin: origin.clone(),
        origin,
        arrays,
        params,
        properties,
        remarks: Vec::new(),
        stages,
    })
}

/// Whether each position is a coordinate, and each coordinate within its extent a position.
fn is_whole(relation: &Relation) -> bool {
    let [piece] = relation.pieces.as_slice() else { return false };
    let mut says = Vec::new();
    for p in &relation.positions {
        let here = Affine::var(p.clone());
        let same =
            |i: &&Name| piece.contains(&Constraint::eq(Affine::var((*i).clone()), here.clone()));
        let Some(i) = relation.coordinates.iter().find(same) else { return false };
        says.push(Constraint::eq(Affine::var(i.clone()), here.clone()));
        says.push(Constraint::le(Affine::zero(), here.clone()));
        says.push(Constraint::lt(here, Affine::var(Layout::extent_name(i))));
    }
    piece.iter().all(|c| says.contains(c))
}

/// A leaf ends nested names, and nothing else.
fn refuse_leaf(list: &LevelUses<'_>, used: &Used) -> Result<()> {
    let name = used.declaration.name.get_ref();
    if !used.declaration.is_leaf() {
        return Err(no_level(list.source, name, used.level_use.level_span.clone()));
    }
    if list.leaf.is_some() {
        return Ok(());
    }
    Err(list
        .source
        .error(
            Code::LayoutSchema,
            format!("`{name}` is a leaf, which a list of levels has not"),
            used.level_use.level_span.clone(),
            "a leaf",
        )
        .help(format!("leave it out, or write a nested name: `LEVEL({name}(…))`")))
}

/// A layout of a whole tensor where a level is meant, or its parameters are no numbers.
pub(super) fn no_level(source: &Source, name: &str, place: Range<usize>) -> Box<Diagnostic> {
    source
        .error(
            Code::LayoutSchema,
            format!("`{name}` is the layout of a whole tensor, not a level"),
            place,
            "a whole tensor",
        )
        .help("parameters of layouts are integers; lists and nested names are of levels")
}

fn times(a: &[Vec<Constraint>], b: &[Vec<Constraint>]) -> Option<Vec<Vec<Constraint>>> {
    if a.len().saturating_mul(b.len()) > MAX_PIECES {
        return None;
    }
    let both = |x: &Vec<Constraint>, y: &Vec<Constraint>| x.iter().chain(y).cloned().collect();
    Some(a.iter().flat_map(|x| b.iter().map(move |y| both(x, y))).collect())
}

fn too_many_pieces(list: &LevelUses<'_>, level_use: &LevelUse) -> Box<Diagnostic> {
    list.source
        .error(
            Code::LayoutSchema,
            format!("the levels compose to more than {MAX_PIECES} pieces"),
            level_use.span.clone(),
            "one level too many",
        )
        .help("use fewer levels whose relation is a union")
}

/// Adds a level's properties. One that extends the parent's order (`crd1` after `crd0`) turns the
/// parent's property into a lexicographic one over both arrays; it says nothing of its own, and
/// holds trivially when the parent's coordinates are strictly ordered already.
fn add_properties(
    level: &Level,
    properties: &mut Vec<Statement>,
    parent_order: Option<usize>,
) -> Option<usize> {
    let mut order = None;
    for (statement, extends_order) in &level.properties {
        if !extends_order {
            let orders_coordinates = is_order(statement.kind)
                && statement.arrays.last().is_some_and(|a| level.coordinate_arrays.contains(a));
            if orders_coordinates {
                order = Some(properties.len());
            }
            properties.push(statement.clone());
            continue;
        }
        let Some(at) = parent_order else { continue };
        let parent = &mut properties[at];
        if parent.decreasing != statement.decreasing {
            continue;
        }
        order = Some(at);
        if !parent.strict {
            parent.kind = match parent.segments {
                Some(_) => PropertyKind::PeriodicLexicographic,
                None => PropertyKind::Lexicographic,
            };
            parent.arrays.extend(statement.arrays.iter().cloned());
            parent.strict = statement.strict;
        }
    }
    order
}

fn is_order(kind: PropertyKind) -> bool {
    matches!(
        kind,
        PropertyKind::Monotonic
            | PropertyKind::PeriodicMonotonic
            | PropertyKind::Lexicographic
            | PropertyKind::PeriodicLexicographic
    )
}
