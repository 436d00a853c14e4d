//! What is pushed under a condition that is hard to foresee is pushed without a branch.
//!
//! Before → after, for every second column:
//!
//! ```text
//! if j < J && 2 * j == crd_A[pA1] {          let kept = j < J && 2 * j == crd_A[pA1];
//!     crd_C.push(j);                         crd_C.push_if(kept, j);
//!     val_C.push(val_A[pA1]);           →    val_C.push_if(kept, val_A[pA1]);
//!     pos_C[i + 1] = val_C.len();            pos_C[i + 1] = choose(kept, val_C.len(), pos_C[i + 1]);
//! }
//! ```
//! Bounds alone are foreseen: along a row coordinates pass each of them once.

use super::ir::{Assign, BinaryOp, Block, Body, Expr, Origin, Stmt, Type};

impl Body {
    /// Pushes without branches; true if that changed anything.
    pub(super) fn push_conditionally(&mut self) -> bool {
        self.change(|body, block| body.conditional_pushes(block))
    }

    fn conditional_pushes(&mut self, block: &mut Block) -> bool {
        let mut changed = false;
        for mut stmt in std::mem::take(block) {
            // Parts of a result are pushed to vectors of their own.
            if !matches!(stmt, Stmt::Parallel(_)) {
                stmt.parts_mut(&mut |_| {}, &mut |inner| changed |= self.conditional_pushes(inner));
            }
            match stmt {
                Stmt::If { condition, then, otherwise }
                    if otherwise.is_empty()
                        && is_equation(&condition)
                        && self.only_pushes(&then) =>
                {
                    changed = true;
                    let kept = self.variable("kept", Type::Bool);
                    block.push(Stmt::Let { var: kept, mutable: false, value: condition });
                    let kept = Expr::Var(kept);
                    block.extend(then.into_iter().map(|stmt| match stmt {
                        Stmt::Push { array, value, .. } => {
                            Stmt::Push { array, when: Some(kept.clone()), value }
                        }
                        Stmt::Store { place, op, value } => {
                            let value = Expr::Choose {
                                condition: Box::new(kept.clone()),
                                then: Box::new(value),
                                otherwise: Box::new(Expr::Load(place.clone())),
                            };
                            Stmt::Store { place, op, value }
                        }
                        stmt => stmt,
                    }));
                }
                stmt => block.push(stmt),
            }
        }
        changed
    }

    /// Whether a block pushes to arrays, and notes how long they are, and nothing else.
    fn only_pushes(&self, block: &Block) -> bool {
        let pushes = |stmt: &Stmt| matches!(stmt, Stmt::Push { when: None, .. });
        block.iter().any(pushes)
            && block.iter().all(|stmt| match stmt {
                Stmt::Push { when: None, value, .. } => self.has_a_meaning(value),
                Stmt::Store { place, op: Assign::Set, value: Expr::Len(_) } => {
                    self.arr(place.array).origin == Origin::Grown
                }
                _ => false,
            })
    }

    /// Whether an expression has a value under any condition, if the elements that it reads are there:
    /// differences need not, nor what may be negative.
    fn has_a_meaning(&self, e: &Expr) -> bool {
        let mut meaning = true;
        e.visit(&mut |e| {
            meaning &= match e {
                Expr::Binary { .. } => false,
                // Of what may be negative.
                Expr::Convert { signed: false, value } => self.type_of(value) != Ok(Type::Signed),
                Expr::Load(load) => self.arr(load.array).origin == Origin::Input,
                _ => true,
            }
        });
        meaning
    }
}

/// Whether the condition asks whether numbers are equal.
fn is_equation(condition: &Expr) -> bool {
    let mut found = false;
    condition.visit(&mut |e| {
        found |=
            matches!(e, Expr::Binary { op: BinaryOp::Eq | BinaryOp::Ne | BinaryOp::SameBits, .. });
    });
    found
}
