//! Merging in parts: each thread merges what lies between two numbers of the first coordinate.
//!
//! Before → after, for the ends of one of the walks:
//!
//! ```text
//! let mut pA = 0;            let mut pA = 0;
//! let pA_end = P0_A;         let mut pA_hi = P0_A;
//!                            while pA < pA_hi {
//!                                let middle = pA + (pA_hi - pA) / 2;
//!                        →       if crd0_A[middle] < start { pA = middle + 1; } else { pA_hi = middle; }
//!                            }
//!                            let mut pA_end = …; while … the same for `end` …
//!                            let pA_end = min(pA_end, P0_A);
//! ```

use super::super::ir::{Assign, BinaryOp, Block, Expr, Parallel, Stmt, Type, VarId, Writes};
use super::Realiser;
use super::merge::{At, Chunk, Merge};
use crate::diagnostic::Result;
use crate::loops::Walker;

impl Realiser<'_, '_> {
    /// A merge with no loops around it, by threads that take chunks of its first coordinate.
    pub(super) fn merge_in_parts(&mut self, merge: &Merge<'_>, out: &mut Block) -> Result<()> {
        let Some(&coordinate) = merge.rest.first() else { return self.merge(merge, None, out) };
        let Some(hi) = self.extent_of(coordinate) else { return Ok(()) };
        let mut setup = Vec::new();
        let Some(parts) = self.begin_parts(&mut setup) else { return Ok(()) };
        let start = self.body.variable("start", Type::Unsigned);
        let end = self.body.variable("end", Type::Unsigned);
        let chunk = Chunk { start, end, coordinate };
        let body = self.apart(|this| {
            let mut body = Vec::new();
            this.merge(merge, Some(&chunk), &mut body)?;
            Ok(body)
        })?;
        let (lo, writes) = (Expr::int(0), Writes::Parts(parts));
        let parallel = Parallel { start, end, lo, hi, writes, setup, body };
        out.push(Stmt::Parallel(Box::new(parallel)));
        Ok(())
    }

    /// Where a walk over `lo..hi` is at the beginning of a chunk, and where at its end.
    pub(super) fn within_chunk(
        &mut self,
        w: &Walker<'_>,
        (lo, hi): (Expr, Expr),
        chunk: &Chunk,
        out: &mut Block,
    ) -> Result<At> {
        let all = self.body.variable(&format!("{}_all", w.walked.walk.var), Type::Unsigned);
        out.push(Stmt::Let { var: all, mutable: false, value: hi });
        let position = self.first_at(w, (lo.clone(), all), chunk, chunk.start, out)?;
        let last = self.first_at(w, (lo.clone(), all), chunk, chunk.end, out)?;
        let end = self.body.variable(&format!("{}_end", w.walked.walk.var), Type::Unsigned);
        let value = Expr::binary(BinaryOp::Min, Expr::Var(last), Expr::Var(all));
        out.push(Stmt::Let { var: end, mutable: false, value });
        Ok(At { lo, position, end, before: self.bound_before(&w.walked) })
    }

    /// The first position of which the coordinate is not below `bound`.
    fn first_at(
        &mut self,
        w: &Walker<'_>,
        (lo, all): (Expr, VarId),
        chunk: &Chunk,
        bound: VarId,
        out: &mut Block,
    ) -> Result<VarId> {
        let name = &w.walked.walk.var;
        let position = self.body.variable(name, Type::Unsigned);
        let hi = self.body.variable(&format!("{name}_hi"), Type::Unsigned);
        out.push(Stmt::Let { var: position, mutable: true, value: lo.clone() });
        out.push(Stmt::Let { var: hi, mutable: true, value: Expr::Var(all) });
        let compare = |op, a, b| Expr::binary(op, Expr::Var(a), Expr::Var(b));
        let middle = self.body.variable("middle", Type::Unsigned);
        let half = Expr::binary(BinaryOp::Div, compare(BinaryOp::Sub, hi, position), Expr::int(2));
        let value = Expr::Var(position).add(half);
        let mut body = vec![Stmt::Let { var: middle, mutable: false, value }];
        let set = |var, value| vec![Stmt::Assign { var, op: Assign::Set, value }];
        let search = self.apart(|this| {
            let mut body = Vec::new();
            let before = this.bound_before(&w.walked);
            let at = At { lo: lo.clone(), position: middle, end: all, before };
            let (coordinates, _) = this.here_at(w, &at, &mut body)?;
            let here = coordinates[chunk.coordinate].clone();
            let condition = Expr::binary(BinaryOp::Lt, here, Expr::Var(bound));
            let then = set(position, Expr::Var(middle).add(Expr::int(1)));
            let otherwise = set(hi, Expr::Var(middle));
            body.push(Stmt::If { condition, then, otherwise });
            Ok(body)
        })?;
        body.extend(search);
        // The end of the range only moves down.
        let invariants = vec![compare(BinaryOp::Le, hi, all)];
        let condition = compare(BinaryOp::Lt, position, hi);
        out.push(Stmt::While { condition, invariants, body });
        Ok(position)
    }
}
