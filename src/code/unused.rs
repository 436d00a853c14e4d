//! Drops what has no use: `let x = e;` that nothing reads, tests and loops around nothing, `mut`.
//!
//! Before → after: `let i = pA0; let j = crd_A[pA1]; sum += val_A[pA1];` becomes
//! `sum += val_A[pA1];`.

use rustc_hash::FxHashSet;

use super::ir::{Block, Body, Expr, Stmt, Type, VarId};
use super::used::Used;
use super::visit::{Part, visit};

impl Body {
    /// Drops statements without effect, from the inside out.
    pub fn drop_unused(&mut self) {
        let mut block = std::mem::take(&mut self.block);
        self.prune(&mut block, &FxHashSet::default());
        let mut assigned = FxHashSet::default();
        visit(&block, &mut |part| {
            if let Part::Stmt(Stmt::Assign { var, .. }) = part {
                assigned.insert(*var);
            }
        });
        self.settle(&mut block, &assigned);
        self.block = block;
    }

    /// Numbers that nothing assigns are no longer mutable.
    fn settle(&self, block: &mut Block, assigned: &FxHashSet<VarId>) {
        for stmt in block {
            if let Stmt::Let { var, mutable, .. } = stmt {
                let is_number = matches!(self.var(*var).ty, Type::Value(_));
                *mutable &= !is_number || assigned.contains(var);
            }
            stmt.parts_mut(&mut |_| {}, &mut |inner| self.settle(inner, assigned));
        }
    }

    fn prune(&self, block: &mut Block, read_later: &FxHashSet<VarId>) {
        let mut needed = read_later.clone();
        let mut kept: Block = Vec::new();
        for mut stmt in std::mem::take(block).into_iter().rev() {
            match &mut stmt {
                Stmt::Parallel(p) => {
                    let mut later = needed.clone();
                    later.extend(p.writes.variables());
                    self.prune(&mut p.body, &later);
                    // What the setup binds is read by the body.
                    let mut inside = needed.clone();
                    inside.extend(Used::of(self, &p.body).variables);
                    self.prune(&mut p.setup, &inside);
                }
                stmt => stmt.parts_mut(&mut |_| {}, &mut |inner| self.prune(inner, &needed)),
            }
            stmt.parts_mut(&mut |e| self.prune_sums(e), &mut |_| {});
            let useless = match &stmt {
                Stmt::Let { var, value, .. } => !needed.contains(var) && is_pure(value),
                Stmt::If { then, otherwise, .. } => then.is_empty() && otherwise.is_empty(),
                Stmt::For { body, .. } | Stmt::Scope(body) | Stmt::Given { body, .. } => {
                    body.is_empty()
                }
                _ => false,
            };
            if !useless {
                needed.extend(Used::of(self, &vec![stmt.clone()]).variables);
                kept.push(stmt);
            }
        }
        kept.reverse();
        *block = kept;
    }

    /// The same for what is bound within sums.
    fn prune_sums(&self, e: &mut Expr) {
        e.visit_mut(&mut |e| {
            let Expr::Sum(sum) = e else { return };
            let mut kept = Vec::new();
            for (var, value) in std::mem::take(&mut sum.lets).into_iter().rev() {
                let reads = |e: &Expr| {
                    let mut found = false;
                    e.visit(&mut |part| found |= *part == Expr::Var(var));
                    found
                };
                if reads(&sum.term) || kept.iter().any(|(_, e)| reads(e)) {
                    kept.push((var, value));
                }
            }
            kept.reverse();
            sum.lets = kept;
        });
    }
}

/// Evaluating it has no effect. (That an access might fail its test is none.)
fn is_pure(e: &Expr) -> bool {
    let mut pure = true;
    e.visit(&mut |e| pure &= !matches!(e, Expr::NewTable { .. }));
    pure
}
