//! Greatest and least floats begin with a number, so that several are compared at once.
//!
//! Before → after, for the greatest value of a row:
//!
//! ```text
//! for p in pos_A[i]..pos_A[i + 1] {              let greatest = greatest_of(pos_A[i], pos_A[i + 1], |p| val_A[p]);
//!     combined = combined.max(val_A[p]);         if greatest == -inf {
//! }                                       →          for p in pos_A[i]..pos_A[i + 1] { … as before }
//!                                                } else {
//!                                                    combined = combined.max(greatest);
//!                                                }
//! ```
//! Of a number and NaN, `max` and `min` give the number. What begins with a number therefore stays one, and then the order
//! does not matter. What comes out is what the loop would give, unless it came to nothing but NaN and what was begun
//! with: then it is gone through as it stands. For 2^20 neighbours that is 13 times as fast, for rows of 25 1.5 times, of 10
//! as fast (Zen 4). Only neighbours in memory are taken so; numbers that are gathered come one by one anyway.

use super::copies::Renamed;
use super::ir::{Assign, BinaryOp, Block, Body, Expr, Stmt, Sum, Type, VarId};
use crate::tensor::ValueType;

/// An update of a variable by the greater or the lesser of it and something else.
struct Extreme {
    combined: VarId,
    op: BinaryOp,
    value: Expr,
    ty: ValueType,
}

impl Body {
    /// Begins with a number; true if there is a loop where that can be.
    pub(super) fn begin_with_numbers(&mut self) -> bool {
        self.change(Body::begin_in)
    }

    fn begin_in(&mut self, block: &mut Block) -> bool {
        let mut changed = false;
        for mut stmt in std::mem::take(block) {
            match self.extremes(&stmt) {
                Some((extremes, others)) => {
                    self.begun(stmt, extremes, others, block);
                    changed = true;
                }
                None => {
                    stmt.parts_mut(&mut |_| {}, &mut |inner| changed |= self.begin_in(inner));
                    block.push(stmt);
                }
            }
        }
        changed
    }

    /// The extremes that a loop takes of neighbours, and what else it adds up.
    fn extremes(&self, stmt: &Stmt) -> Option<(Vec<Extreme>, Block)> {
        let Stmt::For { var, body, .. } = stmt else { return None };
        let (mut extremes, mut others, mut set) = (Vec::new(), Vec::new(), vec![*var]);
        for stmt in body {
            let Stmt::Assign { var, op, value } = stmt else { return None };
            set.push(*var);
            match (op, value) {
                (Assign::Add, _) => others.push(stmt.clone()),
                (
                    Assign::Set,
                    Expr::Binary { op: op @ (BinaryOp::Max | BinaryOp::Min), left, right },
                ) if **left == Expr::Var(*var) => {
                    let Type::Value(ty) = self.var(*var).ty else { return None };
                    if !ty.is_float() || !self.is_of_result(ty) {
                        return None;
                    }
                    extremes.push(Extreme {
                        combined: *var,
                        op: *op,
                        value: (**right).clone(),
                        ty,
                    });
                }
                _ => return None,
            }
        }
        let mut neighbours = !extremes.is_empty();
        let mut look_at = |e: &Expr| {
            e.visit(&mut |part| match part {
                // Where an element is.
                Expr::Load(load) => {
                    let before = &load.subscripts[..load.subscripts.len().saturating_sub(1)];
                    let fixed = |e: &Expr| matches!(e, Expr::Var(v) if !set.contains(v));
                    neighbours &= load.subscripts.last() == Some(&Expr::Var(*var));
                    neighbours &= before.iter().all(fixed);
                }
                Expr::Var(v) if set[1..].contains(v) => neighbours = false,
                Expr::Var(_) | Expr::Number(_) | Expr::Int { .. } | Expr::Binary { .. } => {}
                _ => neighbours = false,
            });
        };
        extremes.iter().for_each(|extreme| look_at(&extreme.value));
        for stmt in &others {
            if let Stmt::Assign { value, .. } = stmt {
                look_at(value);
            }
        }
        neighbours.then_some((extremes, others))
    }

    /// What a loop becomes.
    fn begun(&mut self, stmt: Stmt, extremes: Vec<Extreme>, others: Block, out: &mut Block) {
        let Stmt::For { var, lo, hi, .. } = stmt else { return };
        for Extreme { combined, op, value, ty } in extremes {
            let name = if op == BinaryOp::Max { "greatest" } else { "least" };
            let update = |by: Expr| {
                let value = Expr::binary(op, Expr::Var(combined), by);
                Stmt::Assign { var: combined, op: Assign::Set, value }
            };
            let each = |body| Stmt::For { var, lo: lo.clone(), hi: hi.clone(), body };
            let mut again = each(vec![update(value.clone())]);
            self.copied(&mut again, &mut Renamed::default());
            let (mut renamed, mut term) = (Renamed::default(), value);
            let own = self.anew(var, &mut renamed);
            self.rename(&mut term, &mut renamed);
            let ends = (lo.clone(), hi.clone());
            let value =
                Expr::Sum(Box::new(Sum { op, ..Sum::new(own, ends, Vec::new(), term, ty) }));
            let extreme = self.variable(name, Type::Value(ty));
            out.push(Stmt::Let { var: extreme, mutable: false, value });
            let start = Expr::Number(Sum::beginning(op, ty));
            let condition = Expr::binary(BinaryOp::Eq, Expr::Var(extreme), start);
            let otherwise = vec![update(Expr::Var(extreme))];
            out.push(Stmt::If { condition, then: vec![again], otherwise });
        }
        if !others.is_empty() {
            out.push(Stmt::For { var, lo, hi, body: others });
        }
    }
}
