//! Decoding: the entries that a stored tensor holds.
//!
//! In: a [`Tensor`]. Out: its entries in storage order, duplicates kept, padding left out. The
//! relation is interpreted as it stands, without the scanner and the emitter: what generated code computes is compared
//! with this.

use std::ops::ControlFlow;

use super::Value;
use super::batches::Batch;
use super::dense::DenseArray;
use super::entries::Entries;
use super::index_data::IndexData;
use super::points::{Points, Scope, Stop};
use super::tensor::Tensor;
use super::values::Values;
use crate::check::stores_coordinates_once;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Arith, Call, Constraint, Fault, Linear, Name};
use crate::layout::{Layout, visit};

impl Tensor {
    /// The stored entries in storage order: every coordinate that the relation gives to a
    /// position, zeros and duplicates included. Where the relation may give a coordinate to several positions, those
    /// whose index-array value is the declared fill are left out when their value is zero, as what is not stored is:
    /// they are padding.
    ///
    /// # Errors
    /// [`Code::Property`] if the index arrays break a declared property; [`Code::NotPackable`] if the relation
    /// leaves a position unbounded.
    pub fn entries(&self) -> Result<Entries> {
        self.entries_by(true)
    }

    /// [`Tensor::entries`] of a tensor that is `fill`, of its type, where it stores nothing: zeros are none of its padding
    /// if that is another number.
    ///
    /// # Errors
    /// Those of [`Tensor::entries`].
    pub fn entries_else(&self, fill: Value) -> Result<Entries> {
        self.entries_by(fill.same(Value::zero(fill.value_type())))
    }

    fn entries_by(&self, has_padding: bool) -> Result<Entries> {
        // Broken segments could name more positions than there is time for.
        if !self.is_validated() {
            self.check_positions()?;
        }
        // Loops over the other extents would find nothing, one by one.
        if self.dims().contains(&0) {
            return Ok(Entries::empty(self.dims(), self.value_type()));
        }
        let layout = self.layout();
        let scope = self.scope()?;
        let value = ValueIndex::new(&scope, layout)?;
        let mut coords: Vec<Vec<u64>> = vec![Vec::new(); layout.rank()];
        let mut values = Values::empty(self.value_type());
        for piece in &layout.relation.pieces {
            let mut constraints = piece.clone();
            constraints.extend(layout.within_extents());
            let variables = variables(layout);
            let steps = visit::steps(&variables, &constraints)
                .map_err(|variable| unbounded(layout, &variable))?;
            let points = Points::new(&scope, &variables, &steps)?;
            let padding = if has_padding { padding(&scope, layout, piece)? } else { Vec::new() };
            let first = layout.relation.positions.len();
            let end = points.batches(&scope, &mut |batch| {
                let kept = match value.kept(&scope, batch, self.values(), &padding) {
                    Ok(kept) => kept,
                    Err(e) => return ControlFlow::Break(e),
                };
                for (out, column) in coords.iter_mut().zip(&batch.columns[first..]) {
                    // Not negative: the extents are among the constraints.
                    out.extend(kept.iter().map(|&(k, _)| column[k] as u64));
                }
                values.extend_from(self.values(), kept.iter().map(|&(_, at)| at));
                ControlFlow::Continue(())
            });
            match end {
                Ok(()) | Err(Stop::Rounds) => {}
                Err(Stop::Fault(fault, _)) => return Err(scope.diagnose(fault)),
                Err(Stop::Asked(e)) => return Err(e),
            }
        }
        let coords = coords.into_iter().map(IndexData::U64).collect();
        Entries::new(self.dims().to_vec(), coords, values)
    }

    /// The tensor as a dense array; duplicates are summed.
    ///
    /// # Errors
    /// Those of [`Tensor::entries`]; [`Code::Shape`] if the array does not fit in memory.
    pub fn dense(&self) -> Result<DenseArray> {
        self.dense_by(|| DenseArray::from_entries(&self.entries()?))
    }

    /// [`Tensor::dense`] of a tensor that is `fill`, of its type, where it stores nothing.
    ///
    /// # Errors
    /// Those of [`Tensor::dense`].
    pub fn dense_else(&self, fill: Value) -> Result<DenseArray> {
        self.dense_by(|| DenseArray::from_entries_else(&self.entries_else(fill)?, fill))
    }

    fn dense_by(&self, made: impl Fn() -> Result<DenseArray>) -> Result<DenseArray> {
        if !self.is_validated() {
            self.check_properties()?;
        }
        match self.row_major() {
            Some(values) => DenseArray::new(self.dims().to_vec(), values.into_owned()),
            None => made(),
        }
    }
}

/// Positions in storage order, then coordinates.
pub(super) fn variables(layout: &Layout) -> Vec<Name> {
    layout.relation.positions.iter().chain(&layout.relation.coordinates).cloned().collect()
}

fn unbounded(layout: &Layout, variable: &Name) -> Box<Diagnostic> {
    Diagnostic::new(
        Code::NotPackable,
        format!("the relation of layout `{}` does not bound `{variable}`", layout.name),
    )
    .help(format!("add bounds of `{variable}` to the relation, in outer positions and sizes"))
}

/// The calls whose value marks padding; none where the relation leaves padding out, as it does if no coordinate is
/// stored twice.
fn padding(scope: &Scope<'_>, layout: &Layout, piece: &[Constraint]) -> Result<Vec<(Linear, i64)>> {
    let mut calls: Vec<(Call, i64)> = Vec::new();
    for c in piece {
        c.visit_calls(&mut |call| {
            if let Some(fill) = layout.arrays.get(&call.array).and_then(|a| a.fill)
                && !calls.iter().any(|(other, _)| other == call)
            {
                calls.push((call.clone(), fill));
            }
        });
    }
    if calls.is_empty() || stores_coordinates_once(layout) {
        return Ok(Vec::new());
    }
    let variables = variables(layout);
    calls
        .into_iter()
        .map(|(call, fill)| {
            Ok((scope.compile(&Affine::call(call.array, call.args), &variables)?, fill))
        })
        .collect()
}

/// The offset of a position's value.
struct ValueIndex {
    subscripts: Vec<Subscript>,
    /// Row-major extents of the subscripts.
    shape: Vec<i64>,
    variables: Vec<Name>,
}

enum Subscript {
    Affine(Linear),
    Polynomial(Arith),
}

impl ValueIndex {
    fn new(scope: &Scope<'_>, layout: &Layout) -> Result<ValueIndex> {
        let variables = variables(layout);
        let subscripts: Result<Vec<Subscript>> = layout
            .value
            .index
            .iter()
            .map(|e| match e.to_affine() {
                Ok(affine) => Ok(Subscript::Affine(scope.compile(&affine, &variables)?)),
                Err(_) => Ok(Subscript::Polynomial(e.clone())),
            })
            .collect();
        let shape: Option<Vec<i64>> = layout.value.shape.iter().map(|e| scope.value(e)).collect();
        let shape = shape.ok_or_else(|| {
            Diagnostic::new(Code::Property, "the extents of the value array cannot be computed")
        })?;
        Ok(ValueIndex { subscripts: subscripts?, shape, variables })
    }

    /// The numbers of the points that are no padding, and of their values.
    fn kept(
        &self,
        scope: &Scope<'_>,
        batch: &Batch,
        values: &Values,
        padding: &[(Linear, i64)],
    ) -> Result<Vec<(usize, usize)>> {
        let mut kept: Vec<(usize, usize)> =
            self.offsets(scope, batch, values.len())?.into_iter().enumerate().collect();
        for (call, fill) in padding {
            let elements = batch.eval(scope, call).map_err(|fault| scope.diagnose(fault))?;
            kept.retain(|&(k, at)| elements[k] != *fill || !values.is_zero(at));
        }
        Ok(kept)
    }

    /// The number of each point's value, of so many that are stored.
    fn offsets(&self, scope: &Scope<'_>, batch: &Batch, stored: usize) -> Result<Vec<usize>> {
        let overflow = || scope.diagnose(Fault::Overflow);
        let mut offsets = vec![0_i64; batch.len];
        for (k, subscript) in self.subscripts.iter().enumerate() {
            let values = match subscript {
                Subscript::Affine(e) => batch.eval(scope, e).map_err(|f| scope.diagnose(f))?,
                Subscript::Polynomial(e) => {
                    let slot = |n: &str| self.variables.iter().position(|v| &**v == n);
                    let at = |point: usize| {
                        let variable = |n: &str| Some(batch.columns[slot(n)?][point]);
                        scope.value_with(e, &variable).ok_or_else(overflow)
                    };
                    (0..batch.len).map(at).collect::<Result<_>>()?
                }
            };
            let extent = if k == 0 { 1 } else { self.shape[k] };
            for (at, value) in offsets.iter_mut().zip(values) {
                let next = at.checked_mul(extent).and_then(|row| row.checked_add(value));
                *at = next.ok_or_else(overflow)?;
            }
        }
        let inside = |at: i64| match usize::try_from(at) {
            Ok(at) if at < stored => Ok(at),
            _ => Err(Diagnostic::new(
                Code::Property,
                format!("value {at} is needed, but {stored} are stored"),
            )
            .help("the index arrays and the values do not fit together")),
        };
        offsets.into_iter().map(inside).collect()
    }
}
