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
use crate::formula::{Affine, Name};
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

/// What a value gives at the points at which nothing is stored, where that changes elements.
pub(super) struct Rest {
    pub fill: operators::Value,
    /// The other points.
    pub region: Region,
    /// The indices that the output has.
    pub kept: Vec<Name>,
    /// The extents of those that an element is combined over.
    pub reduced: Vec<Name>,
}

/// What is left when only points are visited at which something is stored, if `value` is known at the others
/// and combining it by `op` changes elements. Along the dimensions of the output, indices must run as they are,
/// each along another.
///
/// # Errors
/// If an operator does not exist for the types of its arguments.
pub(super) fn rest_of(
    value: &Value,
    op: &Operator,
    leaves: Leaves<'_>,
    (output, extents): (&Operand, &IndexMap<Name, Name>),
) -> Result<Option<Rest>> {
    let derived = derive(value, &|source| leaves.derived(source), leaves.fast_math)?;
    let (Some(fill), Some(identity)) = (derived.fill, op.identity(derived.value_type, 1)) else {
        return Ok(None);
    };
    let region = by_presence(&derived.region);
    let once = |k: &usize| leaves.operands[*k].stores_coordinates_once();
    let stored = region.operands();
    let smaller = region_for(&derived, identity) == Region::All && region != Region::All;
    let is_of_output = |index: &Name| output.subscripts.contains(&Affine::var(index.clone()));
    let (kept, reduced): (Vec<_>, Vec<_>) =
        extents.iter().partition(|(index, _)| is_of_output(index));
    let runs = kept.len() == output.subscripts.len()
        && output
            .subscripts
            .iter()
            .zip(&output.extents)
            .all(|(s, extent)| s.as_var().and_then(|index| extents.get(index)) == Some(extent));
    if !smaller || stored.is_empty() || !stored.iter().all(once) || !runs {
        return Ok(None);
    }
    let kept = kept.into_iter().map(|(index, _)| index.clone()).collect();
    let reduced = reduced.into_iter().map(|(_, extent)| extent.clone()).collect();
    Ok(Some(Rest { fill, region, kept, reduced }))
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
