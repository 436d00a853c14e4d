//! Positions that have something in common, group by group.
//!
//! ```text
//! group p to q in 0..P by i = row(p)      while p < P {
//!   …                                         let i = row[p];
//!                                             let mut q = p + 1;
//!                                   →         while q < P && row[q] == i { q += 1; }
//!                                             …
//!                                             p = q;
//!                                         }
//! ```

use super::super::ir::{Assign, BinaryOp, Block, Expr, Stmt, Type, VarId};
use super::Realiser;
use crate::diagnostic::Result;
use crate::formula::{Affine, Constraint, Name};
use crate::loops::Groups;

impl Realiser<'_, '_> {
    pub(super) fn groups(&mut self, g: &Groups, out: &mut Block) -> Result<()> {
        let Some(threads) = g.parallel else {
            out.extend(self.groups_in(g, None)?);
            return Ok(());
        };
        let shared = (&g.first, &g.range, threads);
        self.shared(shared, (&g.setup, &g.body), out, |this, chunk| this.groups_in(g, Some(chunk)))
    }

    /// All groups, or those of a chunk.
    fn groups_in(&mut self, g: &Groups, chunk: Option<(VarId, VarId)>) -> Result<Block> {
        let mut out = Vec::new();
        let hoisted = self.hoisted.len();
        self.load_before(&g.body, &mut out);
        let targets = self.summed(&g.body);
        let before = self.begin_sums(&g.body, &targets, &mut out);
        let (lo, hi) = match chunk {
            Some((start, end)) => (Expr::Var(start), Expr::Var(end)),
            None => self.range(&g.range, false),
        };
        let walked = self.apart(|this| this.walk_groups(g, lo, hi))?;
        out.extend(walked);
        self.end_sums(&g.body, before, &mut out);
        self.hoisted.truncate(hoisted);
        Ok(out)
    }

    fn walk_groups(&mut self, g: &Groups, lo: Expr, hi: Expr) -> Result<Block> {
        let (less, at_most) = (BinaryOp::Lt, BinaryOp::Le);
        let stop = self.body.variable(&format!("{}_stop", g.first), Type::Unsigned);
        let first = self.bind(&g.first, Type::Unsigned);
        let mut out = vec![
            Stmt::Let { var: first, mutable: true, value: lo.clone() },
            Stmt::Let { var: stop, mutable: false, value: hi },
        ];
        let facts = self.range_facts(&g.range, first);
        self.enter(&facts);
        let name = |this: &Self, var: VarId| Affine::var(this.body.var(var).name.clone());
        let mut upper = vec![Constraint::lt(name(self, first), name(self, stop))];
        upper.extend(g.range.upper.iter().map(|e| Constraint::le(name(self, stop), self.here(e))));
        self.enter(&upper);
        let mut body = Vec::new();
        for (var, value) in &g.by {
            let (var, value) = self.bind_let(var, value);
            body.push(Stmt::Let { var, mutable: false, value });
        }
        // The first position behind that reads something else.
        let end = self.bind(&g.end, Type::Unsigned);
        let one = || Expr::int(1);
        let after = Expr::binary(BinaryOp::Add, Expr::Var(first), one());
        body.push(Stmt::Let { var: end, mutable: true, value: after });
        let mut goes_on = vec![Expr::binary(less, Expr::Var(end), Expr::Var(stop))];
        let at_end = |n: &Name| (*n == g.first).then(|| g.end.clone());
        for (var, value) in &g.by {
            let there = self.here(&value.rename(&at_end));
            let same = Constraint::eq(self.here(&Affine::var(var.clone())), there);
            goes_on.push(self.constraint(&same));
        }
        let ends = |from: BinaryOp, to: BinaryOp| {
            vec![
                Expr::binary(from, Expr::Var(first), Expr::Var(end)),
                Expr::binary(to, Expr::Var(end), Expr::Var(stop)),
            ]
        };
        body.push(Stmt::While {
            condition: Expr::and(goes_on),
            invariants: ends(less, at_most),
            body: vec![Stmt::Assign { var: end, op: Assign::Add, value: one() }],
        });
        self.enter(&[
            Constraint::lt(name(self, first), name(self, end)),
            Constraint::le(name(self, end), name(self, stop)),
        ]);
        self.within_loops += 1;
        let inner = self.block(&g.body);
        self.within_loops -= 1;
        body.extend(inner?);
        body.extend(self.early_exit(&g.body));
        body.push(Stmt::Assign { var: first, op: Assign::Set, value: Expr::Var(end) });
        out.push(Stmt::While {
            condition: Expr::binary(less, Expr::Var(first), Expr::Var(stop)),
            invariants: vec![Expr::binary(at_most, lo, Expr::Var(first))],
            body,
        });
        Ok(out)
    }
}
