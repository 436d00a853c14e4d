//! Rows that a loop will come to are fetched ahead: where a loop reads a row that an index array names,
//! the processor does not know the next one before it is there.
//!
//! Before → after, for the product of two matrices by rows:
//!
//! ```text
//! for pA1 in pos_A[i]..pos_A[i + 1] {        for pA1 in pos_A[i]..pos_A[i + 1] {
//!     let k = crd_A[pA1];                        let ahead = pA1 + 8;
//!     for pB1 in pos_B[k]..pos_B[k + 1] {        if ahead < NNZ_A {
//!         … crd_B[pB1] … val_B[pB1]       →          let next = pos_B[crd_A[ahead]];
//!     }                                              prefetch(crd_B, next);
//! }                                                  prefetch(val_B, next);
//!                                                }
//!                                                let k = crd_A[pA1];
//!                                                …
//! ```
//! What is fetched is read later, so that it costs little where everything is near anyway.

use rustc_hash::FxHashMap;

use super::ir::{ArrayId, BinaryOp, Block, Body, Element, Expr, Load, Origin, Stmt, Type, VarId};
use super::visit::{Part, visit};

/// So many positions ahead: time for memory to answer, and few enough to stay in the cache.
const AHEAD: i64 = 8;

impl Body {
    /// Fetches ahead; true if there is anything to fetch.
    pub(super) fn fetch_ahead(&mut self) -> bool {
        self.change(|body, block| body.fetch_in(block))
    }

    fn fetch_in(&mut self, block: &mut Block) -> bool {
        let mut found = false;
        for stmt in block {
            stmt.parts_mut(&mut |_| {}, &mut |inner| found |= self.fetch_in(inner));
            if let Stmt::For { var, body, .. } = stmt {
                let mut rows = Vec::new();
                self.rows(body, &mut FxHashMap::default(), &mut rows);
                for (row, arrays) in rows.into_iter().rev() {
                    let fetched = self.fetched(*var, row, &arrays);
                    found |= fetched.is_some();
                    body.splice(0..0, fetched.into_iter().flatten());
                }
            }
        }
        found
    }

    /// Where the loops within a block begin, over what is known around it, and what they read there.
    fn rows(
        &self,
        block: &Block,
        lets: &mut FxHashMap<VarId, Option<Expr>>,
        out: &mut Vec<(Load, Vec<ArrayId>)>,
    ) {
        for stmt in block {
            match stmt {
                Stmt::Let { var, mutable, value } => {
                    let value = Some(value).filter(|_| !mutable);
                    lets.insert(*var, value.and_then(|e| substituted(e, lets)));
                }
                Stmt::Scope(inner) | Stmt::Given { body: inner, .. } => {
                    self.rows(inner, lets, out);
                }
                Stmt::If { then, .. } => self.rows(then, lets, out),
                Stmt::For { var: position, lo: lo @ Expr::Load(_), body, .. } => {
                    let arrays = self.read_at(*position, body);
                    if let Some(Expr::Load(row)) = substituted(lo, lets)
                        && !arrays.is_empty()
                        && self.is_input(row.array)
                        && !out.iter().any(|(other, _)| *other == row)
                    {
                        out.push((row, arrays));
                    }
                }
                _ => {}
            }
        }
    }

    /// The arrays of which the element at a position is read.
    fn read_at(&self, position: VarId, block: &Block) -> Vec<ArrayId> {
        let mut out = Vec::new();
        visit(block, &mut |part| {
            if let Part::Expr(Expr::Load(load)) = part
                && load.subscripts == [Expr::Var(position)]
                && self.is_input(load.array)
                && !out.contains(&load.array)
            {
                out.push(load.array);
            }
        });
        out
    }

    fn is_input(&self, array: ArrayId) -> bool {
        self.arr(array).origin == Origin::Input
    }

    /// `let ahead = p + 8; if ahead < NNZ { let next = …; prefetch(a, next); }`, if the row depends on one
    /// element at `p` and on nothing else that changes.
    fn fetched(&mut self, p: VarId, row: Load, arrays: &[ArrayId]) -> Option<[Stmt; 2]> {
        let row = Expr::Load(row);
        let mut there: Option<ArrayId> = None;
        let (mut reads, mut mentions) = (0, 0);
        row.visit(&mut |e| match e {
            Expr::Load(load) if load.subscripts == [Expr::Var(p)] => {
                reads += usize::from(there.is_none_or(|array| array == load.array));
                there = Some(load.array);
            }
            Expr::Var(v) if *v == p => mentions += 1,
            _ => {}
        });
        let array = self.arr(there?);
        let [Expr::Var(size)] = array.shape[..] else { return None };
        let simple = reads == mentions && self.var(p).ty == Type::Unsigned;
        let natural = matches!(array.element, Element::Index { signed: false, .. });
        if !simple || !natural || !self.is_input(there?) {
            return None;
        }
        let ahead = self.variable("ahead", Type::Unsigned);
        let later = Expr::Var(p).add(Expr::int(AHEAD));
        let before = Stmt::Let { var: ahead, mutable: false, value: later };
        let condition = Expr::binary(BinaryOp::Lt, Expr::Var(ahead), Expr::Var(size));
        let mut value = row;
        value.visit_mut(&mut |e| {
            if *e == Expr::Var(p) {
                *e = Expr::Var(ahead);
            }
        });
        let next = self.variable("next", Type::Unsigned);
        let mut then = vec![Stmt::Let { var: next, mutable: false, value }];
        let fetch = |array: &ArrayId| Stmt::Prefetch { array: *array, at: Expr::Var(next) };
        then.extend(arrays.iter().map(fetch));
        Some([before, Stmt::If { condition, then, otherwise: Vec::new() }])
    }
}

/// An expression with what is computed within the loop replaced by that; `None` where that may change.
fn substituted(e: &Expr, lets: &FxHashMap<VarId, Option<Expr>>) -> Option<Expr> {
    let mut out = e.clone();
    let mut known = true;
    out.visit_mut(&mut |e| {
        if let Expr::Var(v) = e
            && let Some(value) = lets.get(v)
        {
            match value {
                Some(value) => *e = value.clone(),
                None => known = false,
            }
        }
    });
    known.then_some(out)
}
