//! Loops of which one iteration does something become that iteration.
//!
//! Before → after, where a value says which element is updated:
//!
//! ```text
//! for k in 0..K {                                      let k = (v / 16) as usize;
//!     bins[k] += select(k as i64 == v / 16, 1, 0);  →  if k < K {
//! }                                                        bins[k] += 1;
//!                                                      }
//! ```
//! An update that changes nothing unless its index is some number is made at that number, if it is one of the
//! iterations. What leaves the loop at the end of that iteration goes with the loop. Bits of the number that a
//! position does not have are compared, too. A sum over such an index has one term at most.

use super::guards::{Set, implied, set_within};
use super::ir::{Assign, BinaryOp, Block, Body, Expr, Load, Origin, Stmt, Sum, Type, VarId};
use super::visit::left_for;
use crate::operators::{SpecialResult, Value};
use crate::tensor::ValueType;

/// The iteration that does something.
struct One {
    /// Its number, as a position.
    at: Expr,
    /// What says that it is this.
    condition: Expr,
    /// Every number that is `at` as a position is the same.
    exact: bool,
}

impl Body {
    /// Changes all such loops and sums; true if there are any.
    pub fn take_one_iteration(&mut self) -> bool {
        self.change(|body, block| body.take_in(block))
    }

    fn take_in(&mut self, block: &mut Block) -> bool {
        let mut changed = false;
        let mut out = Block::with_capacity(block.len());
        for mut stmt in std::mem::take(block) {
            changed |= self.take_sums(&mut stmt, &mut out);
            let one = match &stmt {
                Stmt::For { var, body, .. } => {
                    let inside = set_within(&stmt);
                    let conditions = self.needed_of(body, &inside).unwrap_or_default();
                    let one = self.one(&conditions, *var, &inside);
                    one.and_then(|one| Some((one, without_loop(body)?)))
                }
                _ => None,
            };
            match (one, stmt) {
                (Some((one, mut then)), Stmt::For { var, lo, hi, .. }) => {
                    changed = true;
                    then.iter_mut().for_each(|stmt| known_in(stmt, &one.condition));
                    self.take_in(&mut then);
                    self.take_it(one, var, &lo, hi, then, &mut out);
                }
                (_, mut stmt) => {
                    stmt.parts_mut(&mut |_| {}, &mut |inner| changed |= self.take_in(inner));
                    out.push(stmt);
                }
            }
        }
        *block = out;
        changed
    }

    fn take_it(&self, one: One, var: VarId, lo: &Expr, hi: Expr, then: Block, out: &mut Block) {
        out.push(Stmt::Let { var, mutable: false, value: one.at });
        let mut conditions = Vec::new();
        if *lo != Expr::int(0) {
            conditions.push(Expr::binary(BinaryOp::Le, lo.clone(), Expr::Var(var)));
        }
        conditions.push(Expr::binary(BinaryOp::Lt, Expr::Var(var), hi));
        if !one.exact {
            conditions.push(one.condition);
        }
        out.push(Stmt::If { condition: Expr::and(conditions), then, otherwise: Vec::new() });
    }

    /// Sums in what a statement sets are computed before it.
    fn take_sums(&mut self, stmt: &mut Stmt, out: &mut Block) -> bool {
        let (Stmt::Let { value, .. } | Stmt::Assign { value, .. } | Stmt::Store { value, .. }) =
            stmt
        else {
            return false;
        };
        let mut changed = false;
        value.visit_mut(&mut |e| {
            let Expr::Sum(sum) = e else { return };
            let Some(one) = self.one_term(sum) else { return };
            let found = self.variable("found", Type::Value(sum.ty));
            let value = Expr::zero(sum.ty);
            out.push(Stmt::Let { var: found, mutable: true, value });
            let Sum { var, lo, hi, lets, mut term, .. } = (**sum).clone();
            known(&mut term, &one.condition);
            let own = lets.into_iter().map(|(var, value)| Stmt::Let { var, mutable: false, value });
            let mut then: Block = own.collect();
            then.push(Stmt::Assign { var: found, op: Assign::Add, value: term });
            self.take_it(one, var, &lo, hi, then, out);
            *e = Expr::Var(found);
            changed = true;
        });
        changed
    }

    fn one_term(&self, sum: &Sum) -> Option<One> {
        let Expr::Operator { op, generic, args } = &sum.term else { return None };
        if sum.op != BinaryOp::Add {
            return None;
        }
        let mut conditions = Vec::new();
        for case in op.specials(*generic) {
            let (Value::Bool(false), SpecialResult::Argument(other)) = (case.value, case.result)
            else {
                continue;
            };
            if matches!(args[other], Expr::Number(value) if value.same(Value::zero(sum.ty))) {
                implied(&args[case.argument], &mut conditions);
            }
        }
        let mut inside = Set::default();
        inside.lets.insert(sum.var);
        inside.lets.extend(sum.lets.iter().map(|(var, _)| *var));
        self.one(&conditions, sum.var, &inside)
    }

    /// The iteration of a loop over `var` in which all conditions may hold, if one of them says it.
    fn one(&self, conditions: &[Expr], var: VarId, inside: &Set) -> Option<One> {
        conditions.iter().find_map(|condition| {
            let Expr::Operator { op, generic: ValueType::I64, args } = condition else {
                return None;
            };
            let [a, b] = args.as_slice() else { return None };
            if op.symbol() != Some("==") {
                return None;
            }
            let of = |index: &Expr, number: &Expr| {
                let (number, moved) = moved(index, number, var)?;
                self.is_same(&number, inside).then_some((number, moved))
            };
            let (number, moved) = of(a, b).or_else(|| of(b, a))?;
            let (number, exact) = match number {
                Expr::Cast { to: ValueType::I64, value } if !moved => match self.type_of(&value) {
                    Ok(Type::Value(ValueType::U8)) => (*value, true),
                    Ok(Type::Value(ValueType::I32)) => (*value, false),
                    _ => (Expr::Cast { to: ValueType::I64, value }, false),
                },
                number => (number, false),
            };
            let at = Expr::Wrapped(Box::new(number));
            Some(One { at, condition: condition.clone(), exact })
        })
    }

    /// Whether an expression is the same in all iterations.
    fn is_same(&self, e: &Expr, inside: &Set) -> bool {
        let mut same = true;
        e.visit(&mut |e| match e {
            Expr::Var(var) => same &= !inside.lets.contains(var) && !inside.assigned.contains(var),
            Expr::Load(Load { array, .. }) => {
                let grows = self.arr(*array).origin == Origin::Grown;
                same &= !grows && !inside.stored.contains(array);
            }
            Expr::Bool(_) | Expr::Int { .. } | Expr::Number(_) | Expr::Not(_) => {}
            Expr::Binary { .. } | Expr::Operator { .. } | Expr::Choose { .. } => {}
            Expr::Convert { .. } | Expr::Cast { .. } | Expr::Wrapped(_) => {}
            _ => same = false,
        });
        same
    }
}

/// The body of a loop that has one iteration, unless the loop is left before its end.
fn without_loop(body: &Block) -> Option<Block> {
    let mut body = body.clone();
    drop_last_leaves(&mut body);
    let mut targets = Vec::new();
    left_for(&body, &mut targets);
    (!targets.contains(&None)).then_some(body)
}

/// Takes away what leaves the loop where its body ends.
fn drop_last_leaves(block: &mut Block) {
    let Some(last) = block.last_mut() else { return };
    let is_nothing = match last {
        Stmt::Break(None) => true,
        Stmt::If { then, otherwise, .. } => {
            drop_last_leaves(then);
            drop_last_leaves(otherwise);
            then.is_empty() && otherwise.is_empty()
        }
        Stmt::Scope(inner) => {
            drop_last_leaves(inner);
            inner.is_empty()
        }
        _ => false,
    };
    if is_nothing {
        block.pop();
    }
}

/// What the index itself is if `index` is a number, and whether that had to be computed.
fn moved(index: &Expr, number: &Expr, var: VarId) -> Option<(Expr, bool)> {
    let is_var = |e: &Expr| match e {
        Expr::Cast { to: ValueType::I64, value } => **value == Expr::Var(var),
        _ => false,
    };
    if is_var(index) {
        return Some((number.clone(), false));
    }
    let Expr::Binary { op, left, right } = index else { return None };
    let back = match op {
        BinaryOp::Sub => BinaryOp::Add,
        BinaryOp::Add => BinaryOp::Sub,
        _ => return None,
    };
    let by = matches!(**right, Expr::Number(_)) && is_var(left);
    by.then(|| (Expr::binary(back, number.clone(), (**right).clone()), true))
}

/// Puts `true` for a condition.
fn known_in(stmt: &mut Stmt, condition: &Expr) {
    let mut blocks = |block: &mut Block| block.iter_mut().for_each(|s| known_in(s, condition));
    stmt.parts_mut(&mut |e| known(e, condition), &mut blocks);
}

fn known(e: &mut Expr, condition: &Expr) {
    if e == condition {
        *e = Expr::Number(Value::Bool(true));
        return;
    }
    e.parts_mut(&mut |part| known(part, condition));
    let is_true = |e: &Expr| *e == Expr::Number(Value::Bool(true));
    let simpler = match e {
        // Of truth values, the product is `and`.
        Expr::Binary { op: BinaryOp::And | BinaryOp::Mul, left, right } => {
            match (is_true(left), is_true(right)) {
                (true, _) => Some((**right).clone()),
                (_, true) => Some((**left).clone()),
                _ => None,
            }
        }
        Expr::Operator { op, generic, args } => op.specials(*generic).into_iter().find_map(|s| {
            let holds = s.value == Value::Bool(true) && is_true(&args[s.argument]);
            holds.then(|| match s.result {
                SpecialResult::Argument(m) => args[m].clone(),
                SpecialResult::Value(value) => Expr::Number(value),
            })
        }),
        _ => None,
    };
    if let Some(simpler) = simpler {
        *e = simpler;
    }
}
