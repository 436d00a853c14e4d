//! What decides whether a loop does anything is asked before the loop.
//!
//! Before → after, for the neighbours of points that are not visited yet:
//!
//! ```text
//! let seen = V[k];                                 let seen = V[k];
//! for p in pos_A[k]..pos_A[k + 1] {                if !seen {
//!     let j = crd_A[p];                                for p in pos_A[k]..pos_A[k + 1] {
//!     at = at.min(select(!seen & F[j], j, MAX));  →        let j = crd_A[p];
//! }                                                        at = at.min(select(!seen & F[j], j, MAX));
//!                                                      }
//!                                                  }
//! ```
//! A value that leaves the element as it is, chosen by a condition, is no update where the condition fails. What such
//! a condition needs and the loop does not change decides about all iterations. What changes with them stays a choice
//! without a branch.

use rustc_hash::FxHashSet;

use super::ir::{
    ArrayId, Assign, BinaryOp, Block, Body, Element, Expr, Load, Origin, Stmt, Type, VarId,
};
use super::visit::{Part, visit};
use crate::operators::{CaseKind, SpecialResult, Value};
use crate::tensor::ValueType;

/// What must hold for a statement to do anything; nothing is said of one that never does.
pub(super) type Needed = Option<Vec<Expr>>;

impl Body {
    /// Asks before loops; true if there is anything to ask.
    pub(super) fn guard_loops(&mut self) -> bool {
        self.change(|body, block| body.guard_in(block, &mut Vec::new()))
    }

    /// `known` holds around the block.
    fn guard_in(&self, block: &mut Block, known: &mut Vec<Expr>) -> bool {
        let mut changed = false;
        for stmt in block {
            let mut conditions = match stmt {
                Stmt::For { .. } => self.needed(stmt, &set_within(stmt)).unwrap_or_default(),
                _ => Vec::new(),
            };
            conditions.retain(|c| !known.contains(c));
            let before = known.len();
            known.extend(conditions.iter().cloned());
            stmt.parts_mut(&mut |_| {}, &mut |inner| changed |= self.guard_in(inner, known));
            known.truncate(before);
            let all = conditions.into_iter().reduce(|a, b| Expr::binary(BinaryOp::And, a, b));
            if let Some(condition) = all {
                changed = true;
                let then = vec![std::mem::replace(stmt, Stmt::Scope(Vec::new()))];
                *stmt = Stmt::If { condition, then, otherwise: Vec::new() };
            }
        }
        changed
    }

    /// `own` are the variables of the loop that is looked at, which nobody behind it reads.
    fn needed(&self, stmt: &Stmt, own: &Set) -> Needed {
        match stmt {
            Stmt::Comment(_) | Stmt::Let { .. } | Stmt::Prefetch { .. } | Stmt::InMemory(_) => None,
            Stmt::Assign { var, .. } if own.lets.contains(var) => None,
            Stmt::Assign { var, op, value } => Some(self.asked(&Expr::Var(*var), *op, value)),
            Stmt::Store { place, op, value } => {
                Some(self.asked(&Expr::Load(place.clone()), *op, value))
            }
            // Of the loop around it, whose end changes nothing more.
            Stmt::If { then, otherwise, .. } if otherwise.is_empty() && is_break(then) => None,
            Stmt::If { condition, then, otherwise } if otherwise.is_empty() => {
                let mut all = self.needed_of(then, own)?;
                implied(condition, &mut all);
                Some(all)
            }
            Stmt::For { body, .. } => {
                let mut all = self.needed_of(body, own)?;
                let inside = set_within(stmt);
                all.retain(|condition| self.stays(condition, &inside));
                Some(all)
            }
            Stmt::Scope(inner) | Stmt::Given { body: inner, .. } => self.needed_of(inner, own),
            _ => Some(Vec::new()),
        }
    }

    /// What all statements need that do anything.
    pub(super) fn needed_of(&self, block: &Block, own: &Set) -> Needed {
        let each = block.iter().filter_map(|stmt| self.needed(stmt, own));
        each.reduce(|mut all, next| {
            all.retain(|condition| next.contains(condition));
            all
        })
    }

    /// What must hold for an update to change what is there.
    fn asked(&self, old: &Expr, op: Assign, value: &Expr) -> Vec<Expr> {
        let mut out = Vec::new();
        let combined = match (op, value) {
            (Assign::Add, value) => Some((BinaryOp::Add, value)),
            (Assign::Set, Expr::Binary { op, left, right }) if **left == *old => {
                Some((*op, &**right))
            }
            _ => None,
        };
        // What is not true changes no truth value by `or`, which is their sum.
        if let (Some((BinaryOp::Add, value)), true) = (combined, self.is_truth(old)) {
            implied(value, &mut out);
        }
        if let Some((op, Expr::Operator { op: choice, generic, args })) = combined {
            for case in choice.specials(*generic) {
                let (Value::Bool(false), SpecialResult::Argument(other)) =
                    (case.value, case.result)
                else {
                    continue;
                };
                if matches!(args[other], Expr::Number(value) if leaves(op, value)) {
                    implied(&args[case.argument], &mut out);
                }
            }
        }
        out
    }

    /// Whether a variable or an element is a truth value.
    fn is_truth(&self, e: &Expr) -> bool {
        match e {
            Expr::Var(var) => self.var(*var).ty == Type::Value(ValueType::Bool),
            Expr::Load(load) => self.arr(load.array).element == Element::Value(ValueType::Bool),
            _ => false,
        }
    }

    /// Whether an expression is the same in all iterations of a loop.
    pub(super) fn stays(&self, e: &Expr, inside: &Set) -> bool {
        let mut stays = true;
        e.visit(&mut |e| match e {
            Expr::Var(var) => stays &= !inside.lets.contains(var) && !inside.assigned.contains(var),
            Expr::Load(Load { array, .. }) => {
                let grows = self.arr(*array).origin == Origin::Grown;
                stays &= !grows && !inside.stored.contains(array);
            }
            Expr::Bool(_) | Expr::Number(_) | Expr::Int { .. } | Expr::Unset | Expr::Not(_) => {}
            Expr::Binary { .. } | Expr::Operator { .. } | Expr::FromBool(_) => {}
            Expr::Convert { .. } | Expr::Cast { .. } => {}
            _ => stays = false,
        });
        stays
    }
}

/// What a statement sets.
#[derive(Default)]
pub(super) struct Set {
    /// Variables that it binds.
    pub(super) lets: FxHashSet<VarId>,
    pub(super) assigned: FxHashSet<VarId>,
    pub(super) stored: FxHashSet<ArrayId>,
}

pub(super) fn set_within(stmt: &Stmt) -> Set {
    let (lets, assigned, stored) = Default::default();
    let mut out = Set { lets, assigned, stored };
    visit(std::slice::from_ref(stmt), &mut |part| match part {
        Part::Stmt(Stmt::Let { var, .. } | Stmt::For { var, .. } | Stmt::Matches { var, .. }) => {
            out.lets.insert(*var);
        }
        Part::Stmt(Stmt::Assign { var, .. }) => {
            out.assigned.insert(*var);
        }
        Part::Stmt(Stmt::Store { place, .. }) => {
            out.stored.insert(place.array);
        }
        Part::Stmt(Stmt::Allocate { array, .. }) => {
            out.stored.insert(*array);
        }
        _ => {}
    });
    out
}

fn is_break(block: &Block) -> bool {
    matches!(block.as_slice(), [Stmt::Break(None)])
}

/// A condition, and the conditions without which it fails.
pub(super) fn implied(condition: &Expr, out: &mut Vec<Expr>) {
    let mut parts: Vec<&Expr> = Vec::new();
    match condition {
        // Of truth values, the product is `and`.
        Expr::Binary { op: BinaryOp::And | BinaryOp::Mul, left, right } => {
            parts.extend([&**left, &**right]);
        }
        Expr::Operator { op, generic, args } => {
            let fails = SpecialResult::Value(Value::Bool(false));
            let of = |k: usize| {
                let cases = op.specials(*generic).into_iter();
                cases
                    .filter(|c| c.kind == CaseKind::Annihilator)
                    .any(|c| c.argument == k && c.value == Value::Bool(false) && c.result == fails)
            };
            parts.extend(args.iter().enumerate().filter(|(k, _)| of(*k)).map(|(_, arg)| arg));
        }
        _ => {}
    }
    if parts.is_empty() && !out.contains(condition) {
        out.push(condition.clone());
    }
    parts.into_iter().for_each(|part| implied(part, out));
}

/// Whether combining with a value changes nothing, whatever is there.
fn leaves(op: BinaryOp, value: Value) -> bool {
    let ty = value.value_type();
    match op {
        BinaryOp::Add => value.same(Value::zero(ty)),
        BinaryOp::Min => {
            matches!(value, Value::I64(i64::MAX) | Value::I32(i32::MAX) | Value::U8(u8::MAX))
        }
        BinaryOp::Max => {
            matches!(value, Value::I64(i64::MIN) | Value::I32(i32::MIN) | Value::U8(0))
        }
        _ => false,
    }
}
