//! Sums of what is found in a table that has a position for many keys ask it without a branch.
//!
//! Before → after, for a sparse matrix times a sparse vector:
//!
//! ```text
//! for pA in … {                                if table.is_dense() {
//!     let j = crd_A[pA];                           sum += sum_of(…, |pA| {
//!     if let Some(px) = table.first([j]) {             let j = crd_A[pA];
//!         sum += val_A[pA] * val_x[px];                let there = table.has([j]);
//!     }                                     →          let px = table.near([j]);
//! }                                                    choose(there, val_A[pA] * val_x[px], 0.0)
//!                                                  });
//!                                              } else { … }
//! ```
//! Whether a key is there is not foreseen then. Where few are, the branch is: what is not there costs one test.
//!
//! What `near` gives was entered, whatever is asked: it lies in the range that the table was made of.

use super::ir::{Assign, Block, Body, Expr, Question, Stmt, Sum, Type, VarId};
use super::meaning::Meaning;
use super::spread::{bindings, drop_facts, enters};
use super::visit::{Part, visit};
use crate::formula::{Affine, Constraint};

/// A table, and what it was made of.
pub(super) struct Entered {
    table: VarId,
    /// The positions are from here on, and below `hi`.
    pub lo: Expr,
    pub hi: Expr,
}

impl Body {
    /// Asks all tables without a branch that can answer so; true if there are any.
    pub(super) fn ask_without_branches(&mut self) -> bool {
        let tables: Vec<VarId> =
            self.tables_of_one_part().filter(|(_, t)| t.branchless).map(|(id, _)| id).collect();
        let mut changed = false;
        for table in tables {
            changed |= self.change(|body, block| body.ask_where_made(table, block));
        }
        changed
    }

    /// Where the table is bound, and entered from one range, behind that.
    fn ask_where_made(&mut self, table: VarId, block: &mut Block) -> bool {
        let is_set_up = |stmt: &Stmt| matches!(stmt, Stmt::Let { var, .. } if *var == table);
        let Some(at) = block.iter().position(is_set_up) else {
            return any_block(block, &mut |inner| self.ask_where_made(table, inner));
        };
        let rest = &mut block[at + 1..];
        let entered = Body::entered(table, rest);
        entered.is_some_and(|(entered, after)| self.ask(&entered, &mut rest[after..]))
    }

    /// The range of which all positions are entered, if nothing changes it or the table later; and behind how many
    /// statements they are.
    pub(super) fn entered(table: VarId, rest: &[Stmt]) -> Option<(Entered, usize)> {
        let by = rest.iter().position(|stmt| enters(stmt, table))?;
        let Stmt::For { var, lo, hi, body } = &rest[by] else { return None };
        let of_loop =
            |stmt: &Stmt| matches!(stmt, Stmt::Insert { position: Expr::Var(p), .. } if p == var);
        let mut stays = body.iter().all(|stmt| !enters(stmt, table) || of_loop(stmt));
        stays &= rest[by + 1..].iter().all(|stmt| !enters(stmt, table));
        let plain = |e: &Expr| matches!(e, Expr::Int { .. } | Expr::Var(_));
        visit(rest, &mut |part| {
            if let Part::Stmt(Stmt::Assign { var, .. }) = part {
                stays &= *var != table && [lo, hi].iter().all(|end| **end != Expr::Var(*var));
            }
        });
        let entered = Entered { table, lo: lo.clone(), hi: hi.clone() };
        (stays && plain(lo) && plain(hi)).then_some((entered, by + 1))
    }

    /// Asks the table in all loops of a block that add up what is found.
    pub(super) fn ask(&mut self, entered: &Entered, block: &mut [Stmt]) -> bool {
        let mut changed = false;
        for stmt in block {
            match self.summed_up(entered, stmt) {
                Some(summed) => {
                    *stmt = summed;
                    changed = true;
                }
                None => {
                    let within = &mut |inner: &mut Block| changed |= self.ask(entered, inner);
                    stmt.parts_mut(&mut |_| {}, within);
                }
            }
        }
        changed
    }

    fn summed_up(&mut self, entered: &Entered, stmt: &Stmt) -> Option<Stmt> {
        let Stmt::For { var, lo, hi, body } = stmt else { return None };
        let (Stmt::Matches { table, key, var: position, all: false, body: found, .. }, before) =
            body.split_last()?
        else {
            return None;
        };
        let mut found = found.clone();
        // What holds of a match does not hold of another position.
        drop_facts(&mut found, &|_| false);
        let (mut lets, added) = (bindings(before)?, self.adds(&found)?);
        if *table != entered.table || !self.sums_freely(added.sum, body) {
            return None;
        }
        let facts = self.facts_of(*position, entered);
        let given = |value: Expr| Expr::Given { facts: facts.clone(), value: Box::new(value) };
        let question = |question: Question, key: &[Expr]| {
            let args = std::iter::once(Expr::Var(*table)).chain(key.iter().cloned()).collect();
            Expr::Asked { question, args }
        };
        let has = format!("{}_there", self.hint(*position));
        let there = self.variable(&has, Type::Bool);
        let key = std::slice::from_ref(key);
        lets.push((there, question(Question::Has, key)));
        lets.push((*position, question(Question::Near, key)));
        lets.extend(added.lets.into_iter().map(|(var, value)| (var, given(value))));
        let term = Expr::Choose {
            condition: Box::new(Expr::Var(there)),
            then: Box::new(given(added.value)),
            otherwise: Box::new(Expr::zero(added.ty)),
        };
        let sum_of = Sum::new(*var, (lo.clone(), hi.clone()), lets, term, added.ty);
        let value = Expr::Sum(Box::new(sum_of));
        Some(Stmt::If {
            condition: question(Question::IsDense, &[]),
            then: vec![Stmt::Assign { var: added.sum, op: Assign::Add, value }],
            otherwise: vec![stmt.clone()],
        })
    }

    /// What holds of every position that was entered.
    fn facts_of(&self, position: VarId, entered: &Entered) -> Vec<Constraint> {
        let name = |v: VarId| self.var(v).name.clone();
        let meaning = Meaning { body: self, name: &name };
        meaning.range(&Affine::var(name(position)), &entered.lo, &entered.hi)
    }
}

/// Whether `f` says so of a block that is part of a statement, or of one in it; the first counts.
fn any_block(block: &mut Block, f: &mut dyn FnMut(&mut Block) -> bool) -> bool {
    block.iter_mut().any(|stmt| {
        let mut found = false;
        stmt.parts_mut(&mut |_| {}, &mut |inner| found = found || f(inner));
        found
    })
}

#[cfg(test)]
mod tests {
    use crate::code::ir::{Body, TableTraits};

    /// A body that looks up in a table of the positions below `end`, and does something else before that.
    fn asks(before: &str) -> bool {
        let mut body = Body::parse(&format!(
            "fn core(y: &mut [f64; N], N: usize, crd: &[u32; N], val: &[f64; N]) {{
                let mut end = N;
                let mut table = Table::<1>::new(N);
                for p in 0..end {{
                    table.insert([crd[p] as _], p);
                }}
                {before}
                let mut sum = 0.0_f64;
                for q in 0..N {{
                    if let Some(p) = table.first([q as _]) {{
                        sum += val[p] * 2.0_f64;
                    }}
                }}
                y[0] += sum;
            }}"
        ))
        .unwrap();
        let traits = TableTraits { branchless: true, ..TableTraits::default() };
        body.table_traits.insert("Table".into(), traits);
        body.ask_without_branches()
    }

    #[test]
    fn positions_are_those_of_a_range_that_stays_as_it_is() {
        assert!(asks(""));
        assert!(!asks("end = 0;"), "positions are not below the end any more");
        assert!(!asks("table = Table::<1>::new(N);"), "nothing is entered");
        assert!(!asks("table.insert([0_usize as _], N);"), "it is not of the range");
    }
}
