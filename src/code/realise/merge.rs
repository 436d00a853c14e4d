//! A merge: several ranges in the order of their coordinates are walked at once.
//!
//! Before → after, for two of them:
//!
//! ```text
//! assemble val_C[i, _] by merging            let mut pA1 = pos_A[pA0]; let pA1_end = …; let mut pB1 = …
//!   piece                                    while pA1 < pA1_end && pB1 < pB1_end {
//!     for pA1 in pos_A(pA0)..pos_A(pA0 + 1)      let j = crd_A[pA1]; let j_2 = crd_B[pB1];
//!       let j = crd_A(pA1)                       if j == j_2 {
//!       val_C[i, j] += val_A[pA1]        →           … both; pA1 += 1; pB1 += 1;
//!   piece                                        } else {
//!     for pB1 in …                                   let first = j < j_2;
//!       …                                            … min(j, j_2), and the value of the first;
//!                                                    pA1 += first; pB1 += !first;
//!                                                }
//!                                            }
//!                                            while pA1 < pA1_end { … } while pB1 < pB1_end { … }
//! ```
//! With more than two, or with keys of several coordinates, one loop runs until all ranges have ended,
//! so that the code grows with their number and no faster.

use std::sync::Arc;

use super::super::ir::{Assign, BinaryOp, Block, Expr, Stmt, Type, VarId};
use super::Realiser;
use super::result::Assembly;
use crate::diagnostic::Result;
use crate::formula::Name;
use crate::loops::{Walked, Walker};
use crate::operators::Operator;
use crate::tensor::ValueType;

/// What is merged, and what becomes of it.
pub(super) struct Merge<'a> {
    pub walkers: Vec<Walker<'a>>,
    /// The coordinates that do not differ between entries.
    pub known: Vec<Option<Expr>>,
    /// The others, most significant first.
    pub rest: Vec<usize>,
    pub op: Arc<Operator>,
    pub ty: ValueType,
    /// What every element begins with.
    pub begin: Expr,
}

impl Merge<'_> {
    fn coordinates(&self, key: &[Expr]) -> Vec<Expr> {
        Assembly::coordinates(&self.known, &self.rest, key)
    }
}

/// The ends of what is merged, as numbers of a coordinate.
pub(super) struct Chunk {
    pub start: VarId,
    pub end: VarId,
    pub coordinate: usize,
}

/// Where a walker is.
pub(super) struct At {
    /// Where it began.
    pub lo: Expr,
    pub position: VarId,
    pub end: VarId,
    /// What was computed before the walk.
    pub before: Vec<(Name, VarId)>,
}

impl At {
    pub(super) fn goes_on(&self) -> Expr {
        Expr::binary(BinaryOp::Lt, Expr::Var(self.position), Expr::Var(self.end))
    }

    /// It only moves up.
    pub(super) fn invariant(&self) -> Expr {
        Expr::binary(BinaryOp::Le, self.lo.clone(), Expr::Var(self.position))
    }

    pub(super) fn advance(&self, by: Expr) -> Stmt {
        Stmt::Assign { var: self.position, op: Assign::Add, value: by }
    }
}

impl Realiser<'_, '_> {
    /// Appends what the walkers give, in the order of their coordinates, all of it or that of a chunk.
    pub(super) fn merge(
        &mut self,
        merge: &Merge<'_>,
        chunk: Option<&Chunk>,
        out: &mut Block,
    ) -> Result<()> {
        let mut ats = Vec::new();
        for w in &merge.walkers {
            let (lo, hi) = self.ends_of(&w.walked, out);
            ats.push(match chunk {
                Some(chunk) => self.within_chunk(w, (lo, hi), chunk, out)?,
                None => self.at_begin(&w.walked, (lo, hi), out),
            });
        }
        match (merge.walkers.as_slice(), merge.rest.as_slice(), <[At; 2]>::try_from(ats)) {
            ([a, b], [d], Ok(ats)) => self.two(merge, *d, [a, b], &ats, out),
            (_, _, Ok(ats)) => self.several(merge, &ats, out),
            (_, _, Err(ats)) => self.several(merge, &ats, out),
        }
    }

    /// What is computed before a walk, and its ends.
    pub(super) fn ends_of(&mut self, w: &Walked<'_>, out: &mut Block) -> (Expr, Expr) {
        for (var, value) in &w.before {
            let (var, value) = self.bind_let(var, value);
            out.push(Stmt::Let { var, mutable: false, value });
        }
        self.range(&w.walk.range, false)
    }

    /// Variables for a walk from `lo` to `hi`.
    pub(super) fn at_begin(
        &mut self,
        w: &Walked<'_>,
        (lo, hi): (Expr, Expr),
        out: &mut Block,
    ) -> At {
        let begin = self.body.variable(&format!("{}_begin", w.walk.var), Type::Unsigned);
        let position = self.body.variable(&w.walk.var, Type::Unsigned);
        let end = self.body.variable(&format!("{}_end", w.walk.var), Type::Unsigned);
        out.push(Stmt::Let { var: begin, mutable: false, value: lo });
        out.push(Stmt::Let { var: position, mutable: true, value: Expr::Var(begin) });
        out.push(Stmt::Let { var: end, mutable: false, value: hi });
        At { lo: Expr::Var(begin), position, end, before: self.bound_before(w) }
    }

    /// What [`Self::ends_of`] has computed before a walk.
    pub(super) fn bound_before(&self, w: &Walked<'_>) -> Vec<(Name, VarId)> {
        w.before.iter().map(|(name, _)| ((*name).clone(), self.env[*name])).collect()
    }

    /// What is computed at the position of a walk, and known there.
    pub(super) fn within_walk(&mut self, w: &Walked<'_>, at: &At, out: &mut Block) {
        // Another walk may have bound the same names.
        self.env.extend(at.before.iter().cloned());
        self.env.insert(w.walk.var.clone(), at.position);
        let facts = self.range_facts(&w.walk.range, at.position);
        self.enter(&facts);
        for (var, value) in &w.within {
            let (var, value) = self.bind_let(var, value);
            out.push(Stmt::Let { var, mutable: false, value });
        }
    }

    /// What is computed at the position of a walker: the coordinates, and the value.
    pub(super) fn here_at(
        &mut self,
        w: &Walker<'_>,
        at: &At,
        out: &mut Block,
    ) -> Result<(Vec<Expr>, Expr)> {
        self.within_walk(&w.walked, at, out);
        let coordinates = self.place_of(&w.update.target);
        Ok((coordinates, self.computed(&w.update.value)?))
    }

    /// Two ranges and one coordinate. Where the same coordinates are stored, they are all along: a branch
    /// that is foreseen. No branch depends on which of two comes first.
    fn two(
        &mut self,
        merge: &Merge<'_>,
        d: usize,
        walkers: [&Walker<'_>; 2],
        ats: &[At; 2],
        out: &mut Block,
    ) -> Result<()> {
        let [at, at_2] = ats;
        let body = self.apart(|this| {
            let mut body = Vec::new();
            let mut here = Vec::new();
            for (w, at) in walkers.into_iter().zip(ats) {
                let (coordinates, value) = this.here_at(w, at, &mut body)?;
                here.push((coordinates[d].clone(), value));
            }
            // Both are read in either case.
            let (keys, values): (Vec<_>, Vec<_>) = here.into_iter().unzip();
            let values = values.into_iter().map(|value| {
                let var = this.body.variable("value", Type::Value(merge.ty));
                body.push(Stmt::Let { var, mutable: false, value });
                Expr::Var(var)
            });
            let values: Vec<Expr> = values.collect();
            let ([j, j_2], [a, b]) = (&keys[..], &values[..]) else { return Ok(body) };
            let compare = |op| Expr::binary(op, j.clone(), j_2.clone());
            let only_a = this.combined(&merge.op, merge.begin.clone(), a.clone());
            let only_b = this.combined(&merge.op, merge.begin.clone(), b.clone());
            let both = this.combined(&merge.op, only_a.clone(), b.clone());

            let coordinates = merge.coordinates(std::slice::from_ref(j));
            let mut then = this.append_within(&merge.known, &coordinates, both);
            then.extend(ats.iter().map(|at| at.advance(Expr::int(1))));

            let first = this.body.variable("first", Type::Bool);
            let value = compare(BinaryOp::Lt);
            let mut otherwise = vec![Stmt::Let { var: first, mutable: false, value }];
            let coordinates = merge.coordinates(&[compare(BinaryOp::Min)]);
            let value = Expr::Choose {
                condition: Box::new(Expr::Var(first)),
                then: Box::new(only_a),
                otherwise: Box::new(only_b),
            };
            otherwise.extend(this.append_within(&merge.known, &coordinates, value));
            let one = |truth| Expr::FromBool(Box::new(truth));
            otherwise.push(at.advance(one(Expr::Var(first))));
            otherwise.push(at_2.advance(one(Expr::Not(Box::new(Expr::Var(first))))));

            body.push(Stmt::If { condition: compare(BinaryOp::Eq), then, otherwise });
            Ok(body)
        })?;
        let condition = Expr::and(ats.iter().map(At::goes_on));
        let invariants = ats.iter().map(At::invariant).collect();
        out.push(Stmt::While { condition, invariants, body });
        for (w, at) in walkers.into_iter().zip(ats) {
            let body = self.apart(|this| {
                let mut body = Vec::new();
                let (coordinates, value) = this.here_at(w, at, &mut body)?;
                let value = this.combined(&merge.op, merge.begin.clone(), value);
                let coordinates = merge.coordinates(&[coordinates[d].clone()]);
                body.extend(this.append_within(&merge.known, &coordinates, value));
                body.push(at.advance(Expr::int(1)));
                Ok(body)
            })?;
            let (condition, invariants) = (at.goes_on(), vec![at.invariant()]);
            out.push(Stmt::While { condition, invariants, body });
        }
        Ok(())
    }

    /// Any number of ranges; one that has ended has no coordinates, which are never the least. No branch
    /// depends on which ranges have them.
    fn several(&mut self, merge: &Merge<'_>, ats: &[At], out: &mut Block) -> Result<()> {
        let (walkers, rest) = (&merge.walkers, &merge.rest);
        let mut body = Vec::new();
        let mut keys: Vec<Vec<VarId>> = Vec::new();
        let mut values = Vec::new();
        for (w, at) in walkers.iter().zip(ats) {
            let key: Vec<VarId> =
                rest.iter().map(|_| self.body.variable("key", Type::Unsigned)).collect();
            let here = self.body.variable("here", Type::Value(merge.ty));
            let unset = |var: &VarId| Stmt::Let { var: *var, mutable: true, value: Expr::Unset };
            body.extend(key.iter().map(unset));
            body.push(Stmt::Let { var: here, mutable: true, value: merge.begin.clone() });
            let then = self.apart(|this| {
                let mut then = Vec::new();
                let (coordinates, value) = this.here_at(w, at, &mut then)?;
                let parts = rest.iter().map(|d| coordinates[*d].clone());
                let set = |(var, value): (&VarId, Expr)| Stmt::Assign {
                    var: *var,
                    op: Assign::Set,
                    value,
                };
                then.extend(key.iter().zip(parts).chain([(&here, value)]).map(set));
                Ok(then)
            })?;
            body.push(Stmt::If { condition: at.goes_on(), then, otherwise: Vec::new() });
            keys.push(key);
            values.push(here);
        }
        let least: Vec<VarId> =
            rest.iter().map(|_| self.body.variable("least", Type::Unsigned)).collect();
        set_least(&least, &keys, &mut body);
        let total = self.body.variable("value", Type::Value(merge.ty));
        body.push(Stmt::Let { var: total, mutable: true, value: merge.begin.clone() });
        for ((here, at), key) in values.into_iter().zip(ats).zip(&keys) {
            let taken = self.body.variable("taken", Type::Bool);
            body.push(Stmt::Let { var: taken, mutable: false, value: same(key, &least) });
            let value = Expr::Choose {
                condition: Box::new(Expr::Var(taken)),
                then: Box::new(self.combined(&merge.op, Expr::Var(total), Expr::Var(here))),
                otherwise: Box::new(Expr::Var(total)),
            };
            body.push(Stmt::Assign { var: total, op: Assign::Set, value });
            body.push(at.advance(Expr::FromBool(Box::new(Expr::Var(taken)))));
        }
        let key: Vec<Expr> = least.iter().map(|var| Expr::Var(*var)).collect();
        let coordinates = merge.coordinates(&key);
        body.extend(self.append_within(&merge.known, &coordinates, Expr::Var(total)));
        let condition = Expr::or(ats.iter().map(At::goes_on));
        let invariants = ats.iter().map(At::invariant).collect();
        out.push(Stmt::While { condition, invariants, body });
        Ok(())
    }
}

/// Sets variables to the least of some keys.
pub(super) fn set_least(least: &[VarId], keys: &[Vec<VarId>], out: &mut Block) {
    if let [least] = least {
        let all = keys.iter().flatten().map(|var| Expr::Var(*var));
        let min = |a, b| Expr::binary(BinaryOp::Min, a, b);
        let value = all.reduce(min).unwrap_or(Expr::Unset);
        out.push(Stmt::Let { var: *least, mutable: false, value });
        return;
    }
    for (var, first) in least.iter().zip(&keys[0]) {
        out.push(Stmt::Let { var: *var, mutable: keys.len() > 1, value: Expr::Var(*first) });
    }
    for key in &keys[1..] {
        let set = least.iter().zip(key).map(|(var, part)| Stmt::Assign {
            var: *var,
            op: Assign::Set,
            value: Expr::Var(*part),
        });
        let (condition, then) = (before(key, least), set.collect());
        out.push(Stmt::If { condition, then, otherwise: Vec::new() });
    }
}

/// Whether keys are the same.
pub(super) fn same(a: &[VarId], b: &[VarId]) -> Expr {
    let pairs = a.iter().zip(b);
    Expr::and(pairs.map(|(a, b)| Expr::binary(BinaryOp::Eq, Expr::Var(*a), Expr::Var(*b))))
}

/// Whether `a` comes before `b`, lexicographically.
fn before(a: &[VarId], b: &[VarId]) -> Expr {
    let compare = |op, k: usize| Expr::binary(op, Expr::Var(a[k]), Expr::Var(b[k]));
    Expr::or((0..a.len()).map(|k| {
        let equal = (0..k).map(|n| compare(BinaryOp::Eq, n));
        Expr::and(equal.chain([compare(BinaryOp::Lt, k)]))
    }))
}
