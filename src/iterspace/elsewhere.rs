//! What a value is where nothing is stored, if that is not what changes nothing.
//!
//! ```text
//! C[i,j] = A[i,j] + 1   →  C begins as 1; where A is stored: C[i,j] becomes A[i,j] + 1
//! y[i] max= A[i,j]      →  where A is stored: y[i] max= A[i,j] and n[i] += 1;
//!                          then y[i] max= select(n[i] < J, 0, -inf)
//! ```
//! Both visit what is stored instead of everything. The one needs that each element is written at one point,
//! the other that combining the value with itself gives the value: how many points are left does not matter,
//! only whether there are any. The indices must run over all elements, so that the points can be counted.

use indexmap::IndexMap;

use super::Operand;
use super::region::{Leaves, Value, by_presence};
use super::source::Source;
use crate::diagnostic::{Diagnostic, Result};
use crate::formula::Name;
use crate::operators::algebra::{derive, region_for};
use crate::operators::{self, Operator, Operators, Region, Tree};
use crate::tensor::ValueType;

/// What becomes of the points where nothing is stored, and that are not visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// The output begins with what they give; elsewhere each element becomes the value of one point.
    Begun,
    /// What they give is combined once into each element that has such points: this operand counts the
    /// others.
    Counted(usize),
}

/// What `value` is outside of the points at which something is stored, and these points: if combining it by
/// `op` changes elements, and there are such points.
///
/// # Errors
/// If an operator does not exist for the types of its arguments.
pub(super) fn rest_of(
    value: &Value,
    op: &Operator,
    leaves: Leaves<'_>,
) -> Result<Option<(operators::Value, Region)>> {
    let derived = derive(value, &|source| leaves.derived(source), leaves.fast_math)?;
    let (Some(fill), Some(identity)) = (derived.fill, op.identity(derived.value_type, 1)) else {
        return Ok(None);
    };
    let region = by_presence(&derived.region);
    let once = |k: &usize| leaves.operands[*k].stores_coordinates_once();
    let stored = region.operands();
    let smaller = region_for(&derived, identity) == Region::All && region != Region::All;
    Ok((smaller && !stored.is_empty() && stored.iter().all(once)).then_some((fill, region)))
}

/// Whether the subscripts of an output are indices, each another one, that run along its whole dimensions.
pub(super) fn is_indexed_by(output: &Operand, extents: &IndexMap<Name, Name>) -> bool {
    let subscripts = &output.subscripts;
    (0..subscripts.len()).all(|d| {
        let extent = subscripts[d].as_var().and_then(|index| extents.get(index));
        extent == Some(&output.extents[d]) && !subscripts[..d].contains(&subscripts[d])
    })
}

/// What is combined into elements of which not all points were visited: as many as operand `counter` says.
/// `reduced` are the extents of the indices that an element is combined over.
///
/// # Errors
/// If the operator has nothing to begin with.
pub(super) fn combined_once(
    op: &Operator,
    counter: usize,
    reduced: &[Name],
    fill: operators::Value,
) -> Result<Value> {
    let operators = Operators::shipped()?;
    let infix = |symbol: &str| {
        let none = || Diagnostic::defect(format!("no operator is written `{symbol}`"));
        operators.infix(symbol).ok_or_else(none)
    };
    // Exact as far as there are so many points, and never too few: 2^53 entries fit no memory.
    let float = |source: Source| Tree::Leaf(source).converted(ValueType::I64, ValueType::F64);
    let product = infix("*")?;
    let extents = reduced.iter().map(|extent| float(Source::Index(extent.clone())));
    let points = extents.reduce(|all, extent| Tree::apply(product, vec![all, extent]));
    let points = points.unwrap_or(Tree::Number(operators::Value::F64(1.0)));
    let lacks = Tree::apply(infix("<")?, vec![float(Source::Operand(counter)), points]);
    let nothing = op.beginning(fill.value_type())?;
    let choice = vec![lacks, Tree::Number(fill), Tree::Number(nothing)];
    Ok(Tree::apply(operators.named("select")?, choice))
}
