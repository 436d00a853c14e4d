//! From a tree of names to one that the interpreter runs: tensors, indices and values of `let` are
//! numbered, literals evaluated, subscripts bound to their indices.
//!
//! What has no effect is left out, so that the budget of iterations counts what runs.

use std::ops::Range;
use std::sync::Arc;

use indexmap::IndexMap;

use super::extents::Extents;
use super::ir::{Access, AssignOp, Declare, Expr, Fill, Stmt};
use super::point::{BoundAffine, BoundFormula, IndexId, Place, Reach};
use super::scalar;
use super::typing::{Types, combines, typed, typed_freely};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Name};
use crate::operators::{Apply, Operator, Tree, Value};
use crate::tensor::ValueType;

/// The number of a tensor in the order of [`Extents::tensors`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorId(pub usize);

/// The number of a value that a `let` binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LetId(pub usize);

pub enum BoundStmt {
    Loop {
        index: IndexId,
        extent: usize,
        body: Vec<BoundStmt>,
    },
    If {
        condition: BoundFormula,
        then: Vec<BoundStmt>,
        otherwise: Vec<BoundStmt>,
    },
    When {
        condition: BoundValue,
        then: Vec<BoundStmt>,
        otherwise: Vec<BoundStmt>,
    },
    Let {
        id: LetId,
        value: BoundValue,
        body: Vec<BoundStmt>,
    },
    Declare {
        tensor: TensorId,
        fill: Value,
        /// As many as the tensor has.
        elements: u128,
    },
    Assign {
        tensor: TensorId,
        place: Place,
        /// `None`: the value replaces the element.
        op: Option<Arc<Operator>>,
        /// Of the element's type.
        value: BoundValue,
    },
}

/// An expression with the accesses that it reads.
pub struct BoundValue {
    pub reads: Vec<(TensorId, Place)>,
    pub expr: BoundExpr,
    pub span: Range<usize>,
}

/// A leaf of an expression.
#[derive(Clone, Copy)]
pub enum BoundLeaf {
    /// The number of a read.
    Read(usize),
    Index(IndexId),
    Let(LetId),
    /// Whether the access of a read lies inside its tensor.
    Inside(usize),
}

pub enum BoundExpr {
    Leaf(BoundLeaf),
    Number(Value),
    Cast(ValueType, Box<BoundExpr>),
    /// The operator, for arguments that meet in a type.
    Apply(Arc<Operator>, ValueType, Vec<BoundExpr>),
    /// The first where the access of a read lies inside its tensor, else the second.
    Within(usize, Box<[BoundExpr; 2]>),
}

pub struct Binder<'a> {
    extents: &'a Extents,
    types: &'a Types,
    indices: Vec<Name>,
    lets: IndexMap<Name, ValueType>,
    /// What they stand for, as it is written.
    stand_for: IndexMap<Name, String>,
}

impl<'a> Binder<'a> {
    pub fn new(extents: &'a Extents, types: &'a Types) -> Self {
        let indices = extents.indices.keys().cloned().collect();
        Binder { extents, types, indices, lets: IndexMap::new(), stand_for: IndexMap::new() }
    }

    pub fn block(&mut self, block: &[Stmt]) -> Result<Vec<BoundStmt>> {
        let mut out = Vec::new();
        for stmt in block {
            self.statement(stmt, &mut out)?;
        }
        Ok(out)
    }

    pub fn statement(&mut self, s: &Stmt, out: &mut Vec<BoundStmt>) -> Result<()> {
        match s {
            Stmt::Block(block) => {
                for stmt in block {
                    self.statement(stmt, out)?;
                }
            }
            Stmt::Loop(l) => {
                let foreign = || foreign(&format!("index `{}`", l.index), l.span.0.clone());
                let (k, _, &extent) =
                    self.extents.indices.get_full(&l.index).ok_or_else(foreign)?;
                let body = self.block(&l.body)?;
                if extent > 0 && !body.is_empty() {
                    out.push(BoundStmt::Loop { index: IndexId(k), extent, body });
                }
            }
            Stmt::If(i) => {
                let condition =
                    BoundFormula::new(&i.condition, &self.indices).ok_or_else(|| {
                        wrong("the restriction is not a formula over indices")
                            .at(i.span.0.clone(), "here")
                            .help("compare indices only")
                    })?;
                let then = self.block(&i.then)?;
                let otherwise = self.block(i.otherwise.as_deref().unwrap_or_default())?;
                if !(then.is_empty() && otherwise.is_empty()) {
                    out.push(BoundStmt::If { condition, then, otherwise });
                }
            }
            Stmt::When(w) => {
                let (condition, ty) = self.value(&w.condition, None)?;
                if ty != ValueType::Bool {
                    let message = format!("a condition is a truth value, not of type {ty}");
                    return Err(Diagnostic::new(Code::Program, message)
                        .at(w.span.0.clone(), "asked here")
                        .help("compare it: `… != 0`"));
                }
                let then = self.block(&w.then)?;
                let otherwise = self.block(w.otherwise.as_deref().unwrap_or_default())?;
                out.push(BoundStmt::When { condition, then, otherwise });
            }
            Stmt::Let(l) => {
                let (value, ty) = self.value(&l.value, None)?;
                let id = LetId(self.lets.len());
                self.lets.insert(l.name.clone(), ty);
                self.stand_for.insert(l.name.clone(), l.value.to_string());
                let body = self.block(&l.body)?;
                out.push(BoundStmt::Let { id, value, body });
            }
            Stmt::Declare(d) => {
                let tensor = self.tensor(&d.tensor, &d.span.0)?;
                let elements = size(&self.extents.tensors[tensor.0]);
                if let Some(number) = &d.fill {
                    let fill = fill(d, number, self.types.of(&d.tensor))?;
                    out.push(BoundStmt::Declare { tensor, fill, elements });
                }
            }
            Stmt::Assign(a) => {
                let (value, ty) = self.value(&a.value, Some(&a.output.tensor))?;
                let (tensor, place) = self.place(&a.output)?;
                let op = match &a.op {
                    AssignOp::Assign => None,
                    AssignOp::Combine(op) => {
                        combines(op, ty, &a.output.tensor, a.output.span.clone())?;
                        Some(op.clone())
                    }
                };
                out.push(BoundStmt::Assign { tensor, place, op, value });
            }
        }
        Ok(())
    }

    /// How many values of `let` there are.
    pub fn lets(&self) -> usize {
        self.lets.len()
    }

    fn tensor(&self, name: &str, span: &Range<usize>) -> Result<TensorId> {
        let foreign = || foreign(&format!("`{name}`"), span.clone());
        self.extents.tensors.get_index_of(name).map(TensorId).ok_or_else(foreign)
    }

    fn place(&self, access: &Access) -> Result<(TensorId, Place)> {
        let tensor = self.tensor(&access.tensor, &access.span)?;
        let dims = &self.extents.tensors[tensor.0];
        let foreign = || foreign(&format!("`{access}`"), access.span.clone());
        if dims.len() != access.rank() {
            return Err(foreign());
        }
        // Values of `let` stand behind the indices in a point.
        let names: Vec<Name> = self.indices.iter().chain(self.lets.keys()).cloned().collect();
        let mut place = Vec::new();
        let mut by_value = false;
        for (subscript, extent) in access.subscripts.iter().zip(dims) {
            subscript.visit_vars(&mut |name| by_value |= self.lets.contains_key(name));
            self.verify_whole(subscript, access)?;
            let subscript = BoundAffine::new(subscript, &names).ok_or_else(foreign)?;
            place.push((subscript, *extent));
        }
        let reach = if by_value { Reach::Inside } else { Reach::Anywhere };
        Ok((tensor, Place { subscripts: place, reach, span: access.span.clone() }))
    }

    /// Values that subscripts mention are whole numbers.
    fn verify_whole(&self, subscript: &Affine, access: &Access) -> Result<()> {
        let mut wrong = None;
        subscript.visit_vars(&mut |name| match self.lets.get(name) {
            None | Some(ValueType::I64 | ValueType::I32 | ValueType::U8) => {}
            Some(ty) => {
                let name = self.stand_for.get(name).map_or(&**name, String::as_str);
                wrong = Some(format!("`{name}` is of type {ty}, no subscript"));
            }
        });
        match wrong {
            None => Ok(()),
            Some(message) => Err(Diagnostic::new(Code::Program, message)
                .at(access.span.clone(), "subscripts are whole numbers")
                .help("round a quotient, `fld(i, 2)`, or give the tensor that it is read from a type of integers")),
        }
    }

    /// The value of an expression, and its type: that of the tensor that it is assigned to, if any.
    fn value(&self, e: &Expr, target: Option<&Name>) -> Result<(BoundValue, ValueType)> {
        let mut reads = Vec::new();
        let mut leaf = |e: &Expr| self.leaf(e, &mut reads);
        let (tree, ty) = match target {
            Some(name) => {
                let ty = self.types.of(name);
                (typed(e, ty, name, &mut leaf)?, ty)
            }
            None => typed_freely(e, &mut leaf)?,
        };
        let types: Vec<ValueType> = reads.iter().map(|(_, _, ty)| *ty).collect();
        let expr = self.bound(&tree, &types)?.0;
        let reads = reads.into_iter().map(|(tensor, place, _)| (tensor, place)).collect();
        Ok((BoundValue { reads, expr, span: e.span() }, ty))
    }

    fn leaf(
        &self,
        e: &Expr,
        reads: &mut Vec<(TensorId, Place, ValueType)>,
    ) -> Result<(BoundLeaf, ValueType)> {
        match e {
            Expr::Access(access) => {
                let (tensor, place) = self.place(access)?;
                let ty = self.types.of(&access.tensor);
                reads.push((tensor, place, ty));
                Ok((BoundLeaf::Read(reads.len() - 1), ty))
            }
            Expr::Within(within) => {
                let (tensor, place) = self.place(&within.access)?;
                let place = Place { reach: Reach::Anywhere, ..place };
                reads.push((tensor, place, ValueType::Bool));
                Ok((BoundLeaf::Inside(reads.len() - 1), ValueType::Bool))
            }
            Expr::Index(name, span) => {
                let known = self.indices.iter().position(|i| i == name);
                let foreign = || foreign(&format!("index `{name}`"), span.0.clone());
                let index = known.map(|k| BoundLeaf::Index(IndexId(k))).ok_or_else(foreign)?;
                Ok((index, ValueType::I64))
            }
            other => {
                let name = other.to_string();
                let known = self.lets.get_full(name.as_str());
                let foreign = || foreign(&format!("`{name}`"), other.span());
                let (k, _, ty) = known.ok_or_else(foreign)?;
                Ok((BoundLeaf::Let(LetId(k)), *ty))
            }
        }
    }

    /// With the type of the value.
    fn bound(&self, tree: &Tree<BoundLeaf>, reads: &[ValueType]) -> Result<(BoundExpr, ValueType)> {
        Ok(match tree {
            Tree::Leaf(leaf) => {
                let ty = match leaf {
                    BoundLeaf::Read(k) | BoundLeaf::Inside(k) => reads[*k],
                    BoundLeaf::Index(_) => ValueType::I64,
                    BoundLeaf::Let(LetId(k)) => self.lets[*k],
                };
                (BoundExpr::Leaf(*leaf), ty)
            }
            Tree::Number(number) => (BoundExpr::Number(*number), number.value_type()),
            Tree::Cast(ty, inner) => {
                (BoundExpr::Cast(*ty, Box::new(self.bound(inner, reads)?.0)), *ty)
            }
            Tree::If(_) => return Err(Diagnostic::defect("a program asks what is stored")),
            Tree::Apply(Apply { op, args }) => {
                let mut bound = Vec::new();
                let mut types = Vec::new();
                for arg in args {
                    let (arg, ty) = self.bound(arg, reads)?;
                    bound.push(arg);
                    types.push(ty);
                }
                let signature = op.signature(&types)?;
                if let Some(BoundExpr::Leaf(BoundLeaf::Inside(k))) = bound.first() {
                    let k = *k;
                    let values = <[BoundExpr; 2]>::try_from(bound.split_off(1));
                    let values = values.map_err(|_| {
                        Diagnostic::defect("what asks for an access has not two values")
                    })?;
                    return Ok((BoundExpr::Within(k, Box::new(values)), signature.result));
                }
                (BoundExpr::Apply(op.clone(), signature.generic, bound), signature.result)
            }
        })
    }
}

fn fill(d: &Declare, number: &Fill, ty: ValueType) -> Result<Value> {
    let place = d.span.0.clone();
    let wrong = |what: String| {
        Diagnostic::new(Code::Program, what)
            .at(place.clone(), "cannot be represented")
            .help("write another number or compute with another type")
    };
    let literal = &number.literal;
    let value = scalar::number(literal, ty)
        .ok_or_else(|| wrong(format!("`{literal}` is not a value of {ty}")))?;
    match (number.negative, value) {
        (false, value) => Ok(value),
        (true, Value::F64(x)) => Ok(Value::F64(-x)),
        (true, Value::F32(x)) => Ok(Value::F32(-x)),
        (true, Value::I64(x)) => Ok(Value::I64(-x)),
        (true, Value::I32(x)) => Ok(Value::I32(-x)),
        (true, _) => Err(wrong(format!("`-{literal}` is not a value of {ty}"))),
    }
}

/// Product of the extents, saturating; 1 for none.
pub fn size(extents: &[usize]) -> u128 {
    if extents.contains(&0) {
        return 0;
    }
    extents.iter().fold(1_u128, |n, &e| n.saturating_mul(e as u128))
}

/// The iterations that a block may take, saturating. Filling a tensor inside a loop counts by its
/// elements.
pub fn iterations(block: &[BoundStmt], inside: bool) -> u128 {
    block.iter().fold(0, |sum, s| {
        sum.saturating_add(match s {
            BoundStmt::Loop { extent, body, .. } => {
                (*extent as u128).saturating_mul(iterations(body, true).max(1))
            }
            BoundStmt::If { then, otherwise, .. } => {
                iterations(then, inside).max(iterations(otherwise, inside))
            }
            BoundStmt::When { then, otherwise, .. } => {
                iterations(then, inside).max(iterations(otherwise, inside))
            }
            BoundStmt::Let { body, .. } => iterations(body, inside),
            BoundStmt::Declare { elements, .. } if inside => *elements,
            BoundStmt::Declare { .. } | BoundStmt::Assign { .. } => u128::from(inside),
        })
    })
}

/// Names are checked when a program is made, so extents of another program were passed.
fn foreign(what: &str, span: Range<usize>) -> Box<Diagnostic> {
    wrong(format!("{what} does not fit the extents"))
        .at(span, "of another program")
        .help("resolve the extents of this program")
}

pub fn wrong(message: impl Into<String>) -> Box<Diagnostic> {
    Diagnostic::new(Code::Shape, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_saturate() {
        assert_eq!(size(&[]), 1);
        assert_eq!(size(&[usize::MAX, usize::MAX, usize::MAX]), u128::MAX);
        assert_eq!(size(&[usize::MAX, usize::MAX, usize::MAX, 0]), 0);
    }
}
