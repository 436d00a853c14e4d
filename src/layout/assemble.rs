//! The last step, common to both forms of a declaration: from parts to a [`Layout`].
//!
//! In: [`Parts`], whose names are checked. Out: the layout with every array's shape and length, the
//! value array's shape, closed property formulas, and the assumptions about sizes.

use indexmap::IndexMap;

use super::bounds::{extent_of, product};
use super::leaf::Leaf;
use super::property::{self, Statement};
use super::source::Origin;
use super::{IndexArray, Layout, Places, PropertyKind, Relation, Stage, ValueArray};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Arith, Constraint, Name};

/// An index array before its shape is known.
#[derive(Clone, Debug)]
pub(super) struct ArrayParts {
    pub args: Vec<Name>,
    pub domain: Vec<Constraint>,
    pub range: Vec<Constraint>,
    /// Declared extents of the arguments; inferred from the domain if absent.
    pub shape: Option<Vec<Arith>>,
    pub fill: Option<i64>,
    pub base: i64,
    pub origin: Origin,
}

/// A layout in pieces.
pub(super) struct Parts {
    pub name: String,
    pub summary: String,
    pub dims: Vec<Name>,
    pub relation: Relation,
    pub value: Name,
    pub value_index: Vec<Arith>,
    pub value_shape: Option<Vec<Arith>>,
    pub leaf: Leaf,
    /// Of the relation, or of the list of levels.
    pub origin: Origin,
    pub value_origin: Origin,
    pub arrays: IndexMap<Name, ArrayParts>,
    pub params: IndexMap<Name, Option<Arith>>,
    pub properties: Vec<Statement>,
    pub remarks: Vec<Diagnostic>,
    pub stages: Vec<Stage>,
}

pub(super) fn assemble(parts: Parts) -> Result<Layout> {
    names_are_distinct(&parts)?;
    let extents: Vec<Name> = parts.dims.iter().map(|d| Layout::extent_name(d)).collect();
    let is_size = |n: &Name| extents.contains(n) || parts.params.contains_key(n);

    let mut arrays = IndexMap::new();
    for (name, array) in &parts.arrays {
        arrays.insert(name.clone(), index_array(name, array, &is_size)?);
    }
    let value = value_array(&parts, &is_size)?;

    let (mut properties, mut places) = (Vec::new(), Vec::new());
    for (name, _) in arrays.iter().filter(|(_, a)| !a.range.is_empty()) {
        let range = Statement::new(PropertyKind::Range, name, &parts.arrays[name].origin);
        properties.push(property::close(&range, &arrays, &is_size)?);
        places.push(range.origin.line());
    }
    for statement in &parts.properties {
        let property = property::close(statement, &arrays, &is_size)?;
        if !properties.contains(&property) {
            properties.push(property);
            places.push(statement.origin.line());
        }
    }
    let assumptions = assumptions(&extents, &parts.params);
    let array_line =
        |(name, array): (&Name, &ArrayParts)| Some((name.clone(), array.origin.line()?));
    let places = Places {
        relation: parts.origin.line(),
        value: parts.value_origin.line(),
        arrays: parts.arrays.iter().filter_map(array_line).collect(),
        properties: places,
    };
    Ok(Layout {
        name: parts.name,
        summary: parts.summary,
        dims: parts.dims,
        relation: parts.relation,
        value,
        fill: parts.leaf.fill,
        short_circuit: parts.leaf.short_circuit,
        arrays,
        params: parts.params,
        properties,
        assumptions,
        remarks: parts.remarks,
        places,
        stages: parts.stages,
    })
}

/// Extents and sizes are counts, so none is negative.
fn assumptions(extents: &[Name], params: &IndexMap<Name, Option<Arith>>) -> Vec<Constraint> {
    let sizes = extents.iter().chain(params.keys());
    sizes.map(|n| Constraint::le(Affine::zero(), Affine::var(n.clone()))).collect()
}

/// One name space: positions, coordinates, extents, parameters, arrays.
fn names_are_distinct(parts: &Parts) -> Result<()> {
    let mut seen: IndexMap<Name, &str> = IndexMap::new();
    let extents: Vec<Name> = parts.dims.iter().map(|d| Layout::extent_name(d)).collect();
    let groups: [(&str, Vec<&Name>); 6] = [
        ("a logical dimension", parts.dims.iter().collect()),
        ("the extent of a dimension", extents.iter().collect()),
        ("a position", parts.relation.positions.iter().collect()),
        ("a parameter", parts.params.keys().collect()),
        ("an index array", parts.arrays.keys().collect()),
        ("the value array", vec![&parts.value]),
    ];
    for (what, names) in groups {
        for name in names {
            if let Some(other) = seen.insert(name.clone(), what) {
                return Err(parts
                    .value_origin
                    .error(
                        Code::LayoutSchema,
                        format!("`{name}` names both {other} and {what}"),
                        "in this declaration",
                    )
                    .help("use different names"));
            }
        }
    }
    Ok(())
}

fn index_array(
    name: &Name,
    parts: &ArrayParts,
    is_size: &dyn Fn(&Name) -> bool,
) -> Result<IndexArray> {
    let declared = parts.shape.clone();
    if let Some(shape) = &declared
        && shape.len() != parts.args.len()
    {
        return Err(parts
            .origin
            .error(
                Code::LayoutSchema,
                format!(
                    "`{name}` takes {} argument(s), but its shape has {}",
                    parts.args.len(),
                    shape.len()
                ),
                "shape and arguments differ",
            )
            .help(format!("give one extent for each of ({})", parts.args.join(", "))));
    }
    let bounds: Vec<Option<Affine>> =
        parts.args.iter().map(|arg| extent_of(arg, &parts.domain, is_size)).collect();
    let shape = match declared {
        Some(shape) => shape,
        None => {
            let mut shape = Vec::new();
            for (arg, bound) in parts.args.iter().zip(&bounds) {
                let Some(bound) = bound else {
                    return Err(parts
                        .origin
                        .error(
                            Code::LayoutSchema,
                            format!(
                                "the size of `{name}` is unknown: its domain does not bound `{arg}`"
                            ),
                            "no upper bound in extents and parameters",
                        )
                        .help(format!(
                            "bound `{arg}`, or give `shape = [\"…\"]` in [index.{name}]"
                        )));
                };
                shape.push(Arith::from_affine(bound));
            }
            shape
        }
    };
    let len = length(&shape, bounds.last().and_then(Option::as_ref));
    Ok(IndexArray {
        name: name.clone(),
        args: parts.args.clone(),
        domain: parts.domain.clone(),
        range: parts.range.clone(),
        shape,
        len,
        fill: parts.fill,
        base: parts.base,
    })
}

/// The product of the shape, plus one when the last argument may equal its extent: rows then
/// overlap (`pos(i, J)` is the element of `pos(i + 1, 0)`) and only the very last needs room.
fn length(shape: &[Arith], last_bound: Option<&Affine>) -> Arith {
    let len = product(shape);
    let overlaps = match (shape.last().map(Arith::to_affine), last_bound) {
        (Some(Ok(extent)), Some(bound)) => *bound == extent + Affine::constant(1),
        _ => false,
    };
    match len {
        len if !overlaps => len,
        Arith::Int(n) => Arith::Int(n.saturating_add(1)),
        len => Arith::Add(Box::new(len), Box::new(Arith::Int(1))),
    }
}

fn value_array(parts: &Parts, is_size: &dyn Fn(&Name) -> bool) -> Result<ValueArray> {
    let shape = match &parts.value_shape {
        Some(shape) if shape.len() == parts.value_index.len() => shape.clone(),
        Some(shape) => {
            return Err(parts
                .value_origin
                .error(
                    Code::LayoutSchema,
                    format!(
                        "the value has {} subscript(s), but `value_shape` has {}",
                        parts.value_index.len(),
                        shape.len()
                    ),
                    "value and shape differ",
                )
                .help("give one extent for each subscript"));
        }
        None => {
            let mut shape = Vec::new();
            for subscript in &parts.value_index {
                let Some(extent) = subscript_extent(subscript, parts, is_size) else {
                    return Err(parts
                        .value_origin
                        .error(
                            Code::LayoutSchema,
                            format!(
                                "the size of the value array is unknown: \
                                 nothing bounds its subscript `{subscript}`"
                            ),
                            "no extent can be inferred",
                        )
                        .help("give `value_shape = [\"…\"]`, one extent for each subscript"));
                };
                shape.push(Arith::from_affine(&extent));
            }
            shape
        }
    };
    Ok(ValueArray {
        name: parts.value.clone(),
        index: parts.value_index.clone(),
        len: product(&shape),
        shape,
        constant: parts.leaf.constant,
    })
}

/// The extent of a value subscript: the position's bound in the relation, the same in every piece;
/// or else the domain of an index array that the relation reads at that position.
fn subscript_extent(
    subscript: &Arith,
    parts: &Parts,
    is_size: &dyn Fn(&Name) -> bool,
) -> Option<Affine> {
    let position = match subscript {
        Arith::Var(n) => n,
        Arith::Int(n) => return Some(Affine::constant(n.saturating_add(1))),
        _ => return None,
    };
    let bounds: Option<Vec<Affine>> =
        parts.relation.pieces.iter().map(|piece| extent_of(position, piece, is_size)).collect();
    if let Some([first, rest @ ..]) = bounds.as_deref()
        && rest.iter().all(|b| b == first)
    {
        return Some(first.clone());
    }
    let mut least: Option<Affine> = None;
    for c in parts.relation.constraints() {
        c.visit_calls(&mut |call| {
            let Some(array) = parts.arrays.get(&call.array) else { return };
            for (arg, formal) in call.args.iter().zip(&array.args) {
                if arg.as_var() != Some(position) {
                    continue;
                }
                let Some(extent) = extent_of(formal, &array.domain, is_size) else { continue };
                // A segment array is read once past the end: of `N` and `N + 1`, take `N`.
                let less = least.as_ref().is_none_or(|best| {
                    (extent.clone() - best.clone()).as_constant().is_some_and(|c| c < 0)
                });
                if less {
                    least = Some(extent);
                }
            }
        });
    }
    least
}
