//! Copies of statements, in which what is bound has variables of its own.

use rustc_hash::FxHashMap;

use super::ir::{Body, Expr, Stmt, VarId};
use crate::formula::{Constraint, Name};

/// What variables are called in a copy.
pub(super) type Renamed = FxHashMap<VarId, VarId>;

impl Body {
    /// A variable of its own for a copy.
    pub(super) fn anew(&mut self, var: VarId, renamed: &mut Renamed) -> VarId {
        let (hint, ty) = (self.var(var).hint.clone(), self.var(var).ty);
        let new = self.variable(&hint, ty);
        renamed.insert(var, new);
        new
    }

    /// An expression of a copy.
    pub(super) fn rename(&mut self, e: &mut Expr, renamed: &mut Renamed) {
        e.visit_mut(&mut |e| match e {
            Expr::Sum(sum) => {
                sum.var = self.anew(sum.var, renamed);
                for (var, _) in &mut sum.lets {
                    *var = self.anew(*var, renamed);
                }
            }
            Expr::Var(var) => *var = renamed.get(var).copied().unwrap_or(*var),
            Expr::Given { facts, .. } => self.rename_facts(facts, renamed),
            _ => {}
        });
    }

    /// Facts speak of variables by name.
    fn rename_facts(&self, facts: &mut [Constraint], renamed: &Renamed) {
        let named = |n: &Name| {
            let new = renamed.get(&self.variable_named(n)?)?;
            Some(self.var(*new).name.clone())
        };
        facts.iter_mut().for_each(|fact| *fact = fact.rename(&named));
    }

    /// A statement of a copy: a loop, what binds a variable, or a store.
    pub(super) fn copied(&mut self, stmt: &mut Stmt, renamed: &mut Renamed) {
        if let Stmt::For { var, .. } | Stmt::Let { var, .. } = stmt {
            // Its own ends and value do not name it.
            *var = self.anew(*var, renamed);
        }
        if let Stmt::Given { facts, .. } = stmt {
            self.rename_facts(facts, renamed);
        }
        // Two walks, since both closures would hold the names.
        stmt.parts_mut(&mut |e| self.rename(e, renamed), &mut |_| {});
        stmt.parts_mut(&mut |_| {}, &mut |block| {
            block.iter_mut().for_each(|stmt| self.copied(stmt, renamed));
        });
    }
}
