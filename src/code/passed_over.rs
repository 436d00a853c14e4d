//! Where most iterations of a loop do nothing, several are asked at once whether any does something.
//!
//! Before → after, for the entries of a matrix whose column few entries of a vector have:
//!
//! ```text
//! for p in 0..NNZ {                      let mut from = 0;
//!     let j = crd_A[p];                  while from < NNZ {
//!     if there[j] {                          let to = min(from + 4, NNZ);
//!         …                                  let mut any = true;
//!     }                                      if from + 4 <= NNZ {
//! }                                   →          any = there[crd_A[from]] | there[crd_A[from + 1]] | …;
//!                                            }
//!                                            if any {
//!                                                for p in from..to { let j = crd_A[p]; if there[j] { … } }
//!                                            }
//!                                            from = to;
//!                                        }
//! ```
//! One branch for each iteration takes 1.2 to 2.1 cycles, as the code happens to lie in memory; one for four of them
//! takes 1.0 an iteration (Zen 4). Eight at once were no faster.

use rustc_hash::FxHashMap;

use super::guards::set_within;
use super::ir::{Assign, BinaryOp, Block, Body, Expr, Stmt, Type, VarId};
use super::visit::left_for;
use crate::operators::Value;
use crate::tensor::ValueType;

/// Iterations that are asked at once.
const AT_ONCE: i64 = 4;

impl Body {
    /// Asks several iterations at once; true if there is a loop where that can be.
    pub(super) fn pass_over(&mut self) -> bool {
        self.rarely && self.change(|body, block| body.pass_over_in(block))
    }

    fn pass_over_in(&mut self, block: &mut Block) -> bool {
        let mut changed = false;
        for stmt in block {
            match self.asked_of_each(stmt) {
                Some(condition) => {
                    let own = std::mem::replace(stmt, Stmt::Scope(Vec::new()));
                    *stmt = self.asked_at_once(own, &condition);
                    changed = true;
                }
                None => {
                    stmt.parts_mut(&mut |_| {}, &mut |inner| changed |= self.pass_over_in(inner));
                }
            }
        }
        changed
    }

    /// The condition without which an iteration of a loop does nothing, over the variable of the loop and what the loop
    /// does not change. The ends of the range are read from no array: rows are short.
    fn asked_of_each(&self, stmt: &Stmt) -> Option<Expr> {
        let Stmt::For { var, lo, hi, body } = stmt else { return None };
        let is_plain = |end: &Expr| {
            let mut plain = true;
            end.visit(&mut |e| plain &= !matches!(e, Expr::Load(_) | Expr::Sum(_) | Expr::Len(_)));
            plain
        };
        if !is_plain(lo) || !is_plain(hi) || leaves(body) || self.var(*var).ty != Type::Unsigned {
            return None;
        }
        let mut lets = FxHashMap::default();
        let condition = only_if(body, &mut lets)?;
        let mut condition = condition.clone();
        // What is bound may use what was bound before.
        for _ in 0..=lets.len() {
            condition.visit_mut(&mut |e| {
                if let Expr::Var(v) = e
                    && let Some(value) = lets.get(v)
                {
                    *e = (*value).clone();
                }
            });
        }
        let condition = condition.folded();
        let (mut within, mut mentioned) = (set_within(stmt), false);
        within.lets.remove(var);
        condition.visit(&mut |e| mentioned |= *e == Expr::Var(*var));
        let stays = [lo, hi, &condition].into_iter().all(|e| self.stays(e, &within));
        (mentioned && stays).then_some(condition)
    }

    fn asked_at_once(&mut self, stmt: Stmt, condition: &Expr) -> Stmt {
        let (var, lo, hi, body) = match stmt {
            Stmt::For { var, lo, hi, body } => (var, lo, hi, body),
            other => return other,
        };
        let called = |part: &str| format!("{}_{part}", self.hint(var));
        let names = [called("from"), called("to"), called("any")];
        let from = self.variable(&names[0], Type::Unsigned);
        let to = self.variable(&names[1], Type::Unsigned);
        // Of truth values that are elements of arrays, `|` is the sum.
        let elements = self.type_of(condition) == Ok(Type::Value(ValueType::Bool));
        let (ty, either, yes) = match elements {
            true => {
                let ty = Type::Value(ValueType::Bool);
                (ty, BinaryOp::Add, Expr::Number(Value::Bool(true)))
            }
            false => (Type::Bool, BinaryOp::BitOr, Expr::Bool(true)),
        };
        let any = self.variable(&names[2], ty);
        let later = |k: i64| Expr::Var(from).add(Expr::int(k));
        let asked = (0..AT_ONCE).map(|k| {
            let mut own = condition.clone();
            own.visit_mut(&mut |e| {
                if *e == Expr::Var(var) {
                    *e = if k == 0 { Expr::Var(from) } else { later(k) };
                }
            });
            own
        });
        let asked = asked.reduce(|a, b| Expr::binary(either, a, b));
        let asked = asked.unwrap_or(yes.clone());
        let set = |var, value| Stmt::Assign { var, op: Assign::Set, value };
        let when = |condition, then| Stmt::If { condition, then, otherwise: Vec::new() };
        let all_there = Expr::binary(BinaryOp::Le, later(AT_ONCE), hi.clone());
        let least = Expr::binary(BinaryOp::Min, later(AT_ONCE), hi.clone());
        let each = Stmt::For { var, lo: Expr::Var(from), hi: Expr::Var(to), body };
        let body = vec![
            Stmt::Let { var: to, mutable: false, value: least },
            Stmt::Let { var: any, mutable: true, value: yes },
            when(all_there, vec![set(any, asked)]),
            when(Expr::Var(any), vec![each]),
            set(from, Expr::Var(to)),
        ];
        let walk = Stmt::While {
            condition: Expr::binary(BinaryOp::Lt, Expr::Var(from), hi),
            invariants: vec![Expr::binary(BinaryOp::Ge, Expr::Var(from), lo.clone())],
            body,
        };
        Stmt::Scope(vec![Stmt::Let { var: from, mutable: true, value: lo }, walk])
    }
}

/// The condition of a block that does nothing else than what stands under it, and what is bound before.
fn only_if<'b>(block: &'b Block, lets: &mut FxHashMap<VarId, &'b Expr>) -> Option<&'b Expr> {
    let mut rest = block.iter().filter(|stmt| !matches!(stmt, Stmt::Comment(_)));
    loop {
        match rest.next()? {
            Stmt::Let { var, mutable: false, value } => drop(lets.insert(*var, value)),
            last => {
                let only = rest.next().is_none();
                return match last {
                    Stmt::If { condition, otherwise, .. } if otherwise.is_empty() && only => {
                        Some(condition)
                    }
                    Stmt::Scope(inner) | Stmt::Given { body: inner, .. } if only => {
                        only_if(inner, lets)
                    }
                    _ => None,
                };
            }
        }
    }
}

/// Whether a loop may be left before its end.
fn leaves(body: &Block) -> bool {
    let mut targets = Vec::new();
    left_for(body, &mut targets);
    !targets.is_empty()
}
