//! The sum of a row is kept until the row ends.
//!
//! Before → after, for a list of entries that is sorted by rows:
//!
//! ```text
//! for p in 0..P {                      if P / 4 >= I {
//!     let i = row_A[p];                    let mut p = 0;
//!     let j = col_A[p];                    while p < P {
//!     y[i] += val_A[p] * x[j];                 let i = row_A[p];
//! }                                            let mut sum = y[i];
//!                                              while p < P {
//!                                                  let j = col_A[p];
//!                                    →             sum += val_A[p] * x[j];
//!                                                  p += 1;
//!                                                  if p >= P || row_A[p] != i {
//!                                                      break;
//!                                                  }
//!                                              }
//!                                              y[i] = sum;
//!                                          }
//!                                      } else { … as before }
//! ```
//! An addition to memory waits for the one before it, if that is to the same element. Each element gets its terms in
//! the same order as before. Where rows have few entries, it cannot be told whether the next one is another, and
//! asking costs more than waiting: there are no more rows than the result has elements.

use rustc_hash::FxHashMap;

use super::copies::Renamed;
use super::ir::{
    ArrayId, Assign, BinaryOp, Block, Body, Element, Expr, Load, Origin, Stmt, Type, VarId,
};
use super::visit::{Part, visit};
use crate::tensor::ValueType;

/// So many entries on average make it worth the while to ask.
const ENTRIES: i64 = 4;

impl Body {
    /// Keeps sums of rows; true if there are any.
    pub(super) fn keep_running_sums(&mut self) -> bool {
        self.change(Body::keep_running_in)
    }

    fn keep_running_in(&mut self, block: &mut Block) -> bool {
        let mut changed = false;
        for stmt in block {
            match self.running(stmt) {
                Some(kept) => {
                    changed = true;
                    *stmt = kept;
                }
                None => stmt.parts_mut(&mut |_| {}, &mut |inner| {
                    changed |= self.keep_running_in(inner);
                }),
            }
        }
        changed
    }

    fn running(&mut self, stmt: &Stmt) -> Option<Stmt> {
        let Stmt::For { hi, .. } = stmt else { return None };
        let ty = self.sorted_sum(stmt)?;
        let end = hi.clone();
        let mut kept = stmt.clone();
        self.copied(&mut kept, &mut Renamed::default());
        let Stmt::For { var: p, mut body, .. } = kept else { return None };
        let Some(Stmt::Store { mut place, value, .. }) = body.pop() else { return None };
        let sum = self.variable("sum", Type::Value(ty));
        let goes_on = Expr::binary(BinaryOp::Lt, Expr::var(p), end.clone());
        let mut ends = vec![Expr::binary(BinaryOp::Ge, Expr::var(p), end.clone())];
        let mut of_row = Vec::new();
        for subscript in &mut place.subscripts {
            let bound = body.iter().position(
                |stmt| matches!(stmt, Stmt::Let { var, .. } if *subscript == Expr::Var(*var)),
            );
            let known = match (bound.map(|k| body.remove(k)), &subscript) {
                (Some(known), _) => known,
                // It is another subscript, too.
                (None, Expr::Var(_)) => continue,
                (None, _) => {
                    let row = self.variable("row", Type::Unsigned);
                    let value = std::mem::replace(subscript, Expr::var(row));
                    Stmt::Let { var: row, mutable: false, value }
                }
            };
            if let Stmt::Let { var: row, value, .. } = &known {
                ends.push(Expr::binary(BinaryOp::Ne, value.clone(), Expr::var(*row)));
            }
            of_row.push(known);
        }
        let add = |var, value| Stmt::Assign { var, op: Assign::Add, value };
        let leave = vec![Stmt::Break(None)];
        body.push(add(sum, value));
        body.push(add(p, Expr::int(1)));
        body.push(Stmt::If { condition: Expr::or(ends), then: leave, otherwise: Vec::new() });
        let walk = |body| Stmt::While { condition: goes_on.clone(), invariants: Vec::new(), body };
        let begun = Expr::Load(place.clone());
        of_row.push(Stmt::Let { var: sum, mutable: true, value: begun });
        of_row.push(walk(body));
        let elements = self.arr(place.array).shape.iter().cloned().reduce(Expr::mul)?;
        of_row.push(Stmt::Store { place, op: Assign::Set, value: Expr::var(sum) });
        let first = Stmt::Let { var: p, mutable: true, value: Expr::int(0) };
        let each = Expr::binary(BinaryOp::Div, end, Expr::int(ENTRIES));
        let condition = Expr::binary(BinaryOp::Ge, each, elements);
        let then = vec![first, walk(of_row)];
        Some(Stmt::If { condition, then, otherwise: vec![stmt.clone()] })
    }

    /// The type of what a loop adds up, if that is all it does, and it comes to each element in iterations that
    /// follow one another.
    fn sorted_sum(&self, stmt: &Stmt) -> Option<ValueType> {
        let Stmt::For { var, lo, hi, body } = stmt else { return None };
        let (Stmt::Store { place, op: Assign::Add, .. }, before) = body.split_last()? else {
            return None;
        };
        let mut lets = FxHashMap::default();
        for stmt in before {
            match stmt {
                Stmt::Comment(_) => {}
                Stmt::Let { var, mutable: false, value } => drop(lets.insert(*var, value)),
                _ => return None,
            }
        }
        let array = self.arr(place.array);
        let Element::Value(ty) = array.element else { return None };
        let mut plain = ty != ValueType::Bool
            && array.origin == Origin::Output
            && *lo == Expr::int(0)
            && self.type_of(hi) == Ok(Type::Unsigned);
        visit(body, &mut |part| {
            if let Part::Expr(Expr::Load(load)) = part {
                plain &= load.array != place.array;
            }
        });
        let rows: Option<Vec<ArrayId>> = place
            .subscripts
            .iter()
            .map(|e| match e {
                Expr::Var(v) => coordinate(lets.get(v)?, *var),
                e => coordinate(e, *var),
            })
            .collect();
        let rows = rows?;
        let sorted = |order: &Vec<ArrayId>| order.len() > rows.len() && order.starts_with(&rows);
        (plain && self.sorted_by.iter().any(sorted)).then_some(ty)
    }
}

/// The array of which an expression is the element at `p`.
fn coordinate(e: &Expr, p: VarId) -> Option<ArrayId> {
    match e {
        Expr::Convert { value, .. } | Expr::Given { value, .. } => coordinate(value, p),
        Expr::Load(Load { array, subscripts, .. }) if *subscripts == [Expr::Var(p)] => Some(*array),
        _ => None,
    }
}
