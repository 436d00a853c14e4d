//! The last iteration apart, where all others need no test.
//!
//! Before → after, for the lower half of a symmetric matrix, by rows:
//!
//! ```text
//! for p in pos_A[i]..pos_A[i + 1] {           for p in pos_A[i]..pos_A[i + 1].saturating_sub(1) {
//!     let j = crd_A[p];                           let j = crd_A[p];
//!     sum += val_A[p] * x[j];                     sum += val_A[p] * x[j];
//!     if j < i {                                  y[j] += val_A[p] * x[i];
//!         y[j] += val_A[p] * x[i];            }
//!     }                                    →  if pos_A[i] < pos_A[i + 1] {
//! }                                               let p = pos_A[i + 1] - 1;
//!                                                 … as before
//!                                             }
//! ```
//! Within the condition, the loop takes 1.4 times as long where rows have three entries (Zen 5).
//!
//! Where columns rise and none is above the diagonal, only the last entry of a row may be on it. Z3 says so: what is
//! known of an iteration that another follows implies the tests.

use super::super::ir::{BinaryOp, Expr, Stmt, Type, VarId};
use super::Realiser;
use crate::diagnostic::Result;
use crate::formula::{Affine, Constraint, Formula, Name};
use crate::loops::{Block, Loop, Node};
use crate::scan::Range;

/// The tests of a block, each beside what it says without the names that the block binds.
type Tests = Vec<(Vec<Constraint>, Vec<Constraint>)>;

impl Realiser<'_, '_> {
    /// What a loop from `lo` to `hi` becomes, if all but its last iteration need none of its tests.
    pub(super) fn last_apart(&mut self, l: &Loop, lo: Expr, hi: Expr) -> Result<Option<Vec<Stmt>>> {
        let mut tests = Tests::new();
        let plain = tests_of(&l.body, &mut Vec::new(), &mut tests);
        if !plain || tests.is_empty() || l.skip.is_some() || self.early_exit(&l.body).is_some() {
            return Ok(None);
        }
        // Where the loop begins at a number and has one end, what is before that is a number if there are iterations.
        let one_end = l.range.upper.len() == 1;
        if !one_end || !l.range.lower.iter().all(|a| self.begins_at_a_number(a)) {
            return Ok(None);
        }
        let (env, depth) = (self.env.clone(), self.path.depth());
        let var = self.bind(&l.var, Type::Unsigned);
        let facts = self.range_facts(&l.range, var);
        self.enter(&facts);
        let claims: Vec<Constraint> = tests.iter().flat_map(|(_, all)| all.clone()).collect();
        let (holds, granted) = (self.hold_before_last(&l.range, var, &claims), self.granted.len());
        let mut first = Vec::new();
        if holds {
            self.granted.extend(tests.into_iter().map(|(own, _)| own));
            self.within_loops += 1;
            let body = self.block(&l.body);
            self.within_loops -= 1;
            self.granted.truncate(granted);
            first = body?;
        }
        self.path.leave_to(depth);
        self.env = env.clone();
        if !holds {
            return Ok(None);
        }
        let last = self.bind(&l.var, Type::Unsigned);
        let facts = self.range_facts(&l.range, last);
        self.enter(&facts);
        let body = self.block(&l.body);
        self.path.leave_to(depth);
        self.env = env;
        let end = Expr::binary(BinaryOp::SaturatingSub, hi.clone(), Expr::int(1));
        let condition = Expr::binary(BinaryOp::Lt, lo.clone(), hi.clone());
        let value = hi.sub(Expr::int(1));
        let mut then = vec![Stmt::Let { var: last, mutable: false, value }];
        then.extend(body?);
        Ok(Some(vec![
            Stmt::For { var, lo, hi: end, body: first },
            Stmt::If { condition, then, otherwise: Vec::new() },
        ]))
    }

    /// Whether a bound is a sum of natural numbers.
    fn begins_at_a_number(&mut self, bound: &Affine) -> bool {
        let is_sum = bound.offset() >= 0 && bound.terms().iter().all(|(_, factor)| *factor > 0);
        let natural = Constraint::le(Affine::zero(), self.here(bound));
        is_sum && self.path.proves(&Formula::Constraint(natural))
    }

    /// Whether tests hold in an iteration that another follows.
    pub(super) fn hold_before_last(
        &mut self,
        range: &Range,
        var: VarId,
        tests: &[Constraint],
    ) -> bool {
        let name = self.body.var(var).name.clone();
        let next = Affine::var(name.clone()) + Affine::constant(1);
        let here = Range {
            lower: range.lower.iter().map(|a| self.here(a)).collect(),
            upper: range.upper.iter().map(|a| self.here(a)).collect(),
        };
        let claims = self.here_all(tests);
        // What the tests ask of an iteration is there in the next one, too.
        let mut facts = here.of(&next);
        let is_it = |n: &Name| (*n == name).then(|| next.clone());
        for claim in &claims {
            claim.affine.visit_calls(&mut |call| {
                let signed = self
                    .body
                    .array_named(&call.array)
                    .is_none_or(|array| self.body.arr(array).element.loaded() == Type::Signed);
                if !signed {
                    let args = call.args.iter().map(|a| a.substitute(&is_it)).collect();
                    let element = Affine::call(call.array.clone(), args);
                    facts.push(Constraint::le(Affine::zero(), element));
                }
            });
        }
        self.enter(&facts);
        let all = Formula::and(claims.into_iter().map(Formula::Constraint));
        let holds = self.path.proves(&all);
        self.path.leave();
        holds
    }
}

/// Collects the tests of a block that binds, tests and updates; false if it does something else.
fn tests_of(block: &Block, bound: &mut Vec<(Name, Affine)>, out: &mut Tests) -> bool {
    let depth = bound.len();
    let plain = block.iter().all(|node| match node {
        Node::Let { var, value } => {
            let value = value.substitute(&|n| value_of(bound, n));
            bound.push((var.clone(), value));
            true
        }
        Node::Update(_) => true,
        Node::Piece(inner) => tests_of(inner, bound, out),
        Node::If { tests, restrictions, body } => {
            // What a test within another says holds if both do.
            let said = tests.iter().map(|c| c.substitute(&|n| value_of(bound, n))).collect();
            out.push((tests.clone(), said));
            restrictions.is_empty() && tests_of(body, bound, out)
        }
        _ => false,
    });
    bound.truncate(depth);
    plain
}

/// What a name was bound to.
pub(super) fn value_of(bound: &[(Name, Affine)], name: &Name) -> Option<Affine> {
    bound.iter().rev().find(|(n, _)| n == name).map(|(_, value)| value.clone())
}
