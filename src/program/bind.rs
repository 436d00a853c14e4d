//! From a tree of names to one that the interpreter runs: tensors, indices and values of `let` are
//! numbered, literals evaluated, subscripts bound to their indices.
//!
//! What has no effect is left out, so that the budget of iterations counts what runs.

use std::ops::Range;

use super::extents::Extents;
use super::ir::{Access, AssignOp, Declare, Expr, Fill, Op, Stmt};
use super::point::{BoundAffine, BoundFormula, IndexId, Place};
use super::scalar::{Scalar, lacking, literal_value};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Name};

/// The number of a tensor in the order of [`Extents::tensors`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorId(pub usize);

/// The number of a value that a `let` binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LetId(pub usize);

pub enum BoundStmt<T> {
    Loop {
        index: IndexId,
        extent: usize,
        body: Vec<BoundStmt<T>>,
    },
    If {
        condition: BoundFormula,
        then: Vec<BoundStmt<T>>,
        otherwise: Vec<BoundStmt<T>>,
    },
    Let {
        id: LetId,
        value: BoundValue<T>,
        body: Vec<BoundStmt<T>>,
    },
    Declare {
        tensor: TensorId,
        fill: T,
        /// As many as the tensor has.
        elements: u128,
    },
    Assign {
        tensor: TensorId,
        place: Place,
        op: AssignOp,
        value: BoundValue<T>,
    },
}

/// An expression with the accesses that it reads.
pub struct BoundValue<T> {
    pub reads: Vec<(TensorId, Place)>,
    pub expr: BoundExpr<T>,
    pub span: Range<usize>,
}

/// `None` where the operation is undefined.
pub type Operation<T> = fn(T, T) -> Option<T>;

pub enum BoundExpr<T> {
    /// The number of a read.
    Read(usize),
    Literal(T),
    Index(IndexId),
    Let(LetId),
    Neg(Box<BoundExpr<T>>),
    Binary(Box<BoundExpr<T>>, Operation<T>, Box<BoundExpr<T>>),
}

pub struct Binder<'a> {
    extents: &'a Extents,
    indices: Vec<Name>,
    lets: Vec<Name>,
}

impl<'a> Binder<'a> {
    pub fn new(extents: &'a Extents) -> Self {
        Binder { extents, indices: extents.indices.keys().cloned().collect(), lets: Vec::new() }
    }

    pub fn block<T: Scalar>(&mut self, block: &[Stmt]) -> Result<Vec<BoundStmt<T>>> {
        let mut out = Vec::new();
        for stmt in block {
            self.statement(stmt, &mut out)?;
        }
        Ok(out)
    }

    pub fn statement<T: Scalar>(&mut self, s: &Stmt, out: &mut Vec<BoundStmt<T>>) -> Result<()> {
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
            Stmt::Let(l) => {
                let value = self.value(&l.value)?;
                let id = LetId(self.lets.len());
                self.lets.push(l.name.clone());
                let body = self.block(&l.body)?;
                out.push(BoundStmt::Let { id, value, body });
            }
            Stmt::Declare(d) => {
                let tensor = self.tensor(&d.tensor, &d.span.0)?;
                let elements = size(&self.extents.tensors[tensor.0]);
                out.push(BoundStmt::Declare { tensor, fill: fill(d)?, elements });
            }
            Stmt::Assign(a) => {
                let value = self.value(&a.value)?;
                let (tensor, place) = self.place(&a.output)?;
                out.push(BoundStmt::Assign { tensor, place, op: a.op, value });
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
        let bound = |(subscript, extent): (&Affine, &usize)| {
            Some((BoundAffine::new(subscript, &self.indices)?, *extent))
        };
        let place: Option<Vec<_>> = access.subscripts.iter().zip(dims).map(bound).collect();
        Ok((tensor, Place(place.ok_or_else(foreign)?)))
    }

    fn value<T: Scalar>(&self, e: &Expr) -> Result<BoundValue<T>> {
        let mut reads = Vec::new();
        let expr = self.expr(e, &mut reads)?;
        Ok(BoundValue { reads, expr, span: e.span() })
    }

    fn expr<T: Scalar>(
        &self,
        e: &Expr,
        reads: &mut Vec<(TensorId, Place)>,
    ) -> Result<BoundExpr<T>> {
        let apply = match e {
            Expr::Access(access) => {
                reads.push(self.place(access)?);
                return Ok(BoundExpr::Read(reads.len() - 1));
            }
            Expr::Literal(literal) => return Ok(BoundExpr::Literal(literal_value(literal)?)),
            Expr::Index(name, span) => {
                let known = self.indices.iter().position(|i| i == name);
                let foreign = || foreign(&format!("index `{name}`"), span.0.clone());
                return known.map(|k| BoundExpr::Index(IndexId(k))).ok_or_else(foreign);
            }
            Expr::Name(name, span) => {
                let known = self.lets.iter().position(|l| l == name);
                let foreign = || foreign(&format!("`{name}`"), span.0.clone());
                return known.map(|k| BoundExpr::Let(LetId(k))).ok_or_else(foreign);
            }
            Expr::Apply(apply) => apply,
        };
        let op: Operation<T> = match apply.op {
            Op::Neg => |_, a| a.neg(),
            Op::Add => |a, b| Some(a.add(b)),
            Op::Sub => T::sub,
            Op::Mul => |a, b| Some(a.mul(b)),
            Op::Div => T::div,
            Op::Min => |a, b| Some(a.min(b)),
            Op::Max => |a, b| Some(a.max(b)),
        };
        if op(T::ONE, T::ONE).is_none() {
            let what = match apply.op {
                Op::Neg => "minus",
                Op::Sub => "difference",
                _ => "division",
            };
            return Err(lacking::<T>(what, e.span()));
        }
        let mut joined: Option<BoundExpr<T>> = None;
        for arg in &apply.args {
            let right = self.expr(arg, reads)?;
            joined = Some(match joined {
                None if apply.op == Op::Neg => BoundExpr::Neg(Box::new(right)),
                None => right,
                Some(left) => BoundExpr::Binary(Box::new(left), op, Box::new(right)),
            });
        }
        joined.ok_or_else(|| foreign(&format!("`{}`", apply.op.as_str()), e.span()))
    }
}

fn fill<T: Scalar>(d: &Declare) -> Result<T> {
    let place = d.span.0.clone();
    let (negative, value) = match &d.fill {
        Fill::Number { negative, literal } => (*negative, literal_value(literal)?),
        Fill::Infinity { negative } => {
            (*negative, T::infinity().ok_or_else(|| lacking::<T>("infinity", place.clone()))?)
        }
    };
    if !negative {
        return Ok(value);
    }
    value.neg().ok_or_else(|| lacking::<T>("minus", place))
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
pub fn iterations<T>(block: &[BoundStmt<T>], inside: bool) -> u128 {
    block.iter().fold(0, |sum, s| {
        sum.saturating_add(match s {
            BoundStmt::Loop { extent, body, .. } => {
                (*extent as u128).saturating_mul(iterations(body, true).max(1))
            }
            BoundStmt::If { then, otherwise, .. } => {
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
