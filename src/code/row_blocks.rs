//! Loops that stream over a result stay in a block of it that the cache holds.
//!
//! Before → after, for a matrix by diagonals times a vector:
//!
//! ```text
//! for d in 0..D {                          for tile in 0..I.div_ceil(1024) {
//!     let o = offset_A[d];                     for d in 0..D {
//!     for i in max(0, -o)..min(I, J - o) {         let o = offset_A[d];
//!         y[i] += val_A[d, i] * x[i + o];   →      for i in max(0, -o, 1024 * tile)..min(I, J - o, 1024 * (tile + 1)) {
//!     }                                                y[i] += val_A[d, i] * x[i + o];
//! }                                                }
//!                                              }
//!                                          }
//! ```
//! Threads that would each sum into a copy of the result share its blocks. Where there are many iterations around, each
//! would begin at another place in memory for every block, which the processor does not foresee: sums of the columns of a
//! dense matrix take a third of the time by whole rows. Which it is, is asked when the kernel runs.
//!
//! Each element gets its terms in the same order as before. What the inner loop runs over must not be told by the
//! number of the iteration around it, but for elements of index arrays: near a diagonal, most blocks are empty, and
//! asking for them costs more than it saves.
//!
//! Wolf, Lam 1991, *A Data Locality Optimizing Algorithm*, §4.

use rustc_hash::{FxHashMap, FxHashSet};

use super::copies::Renamed;
use super::ir::{
    Assign, BinaryOp, Block, Body, Element, Expr, Load, Origin, Parallel, Stmt, Type, VarId, Writes,
};
use super::visit::{Part, visit};

/// So many elements: with as many of a factor, half of the first cache.
const ELEMENTS: i64 = 1024;

/// With more iterations around, whole rows are faster.
const FEW: i64 = 64;

/// A loop that streams over a result in each iteration of another.
struct Streams<'a> {
    /// The loop within.
    var: VarId,
    lo: &'a Expr,
    hi: &'a Expr,
    /// What is no less than its end in any iteration.
    extent: &'a Expr,
}

impl Body {
    /// Goes over results in blocks; true if any loop did not.
    pub(super) fn stream_in_blocks(&mut self) -> bool {
        self.change(Body::stream_in)
    }

    fn stream_in(&mut self, block: &mut Block) -> bool {
        let mut changed = false;
        for stmt in block {
            if let Some(blocked) = self.few_in_blocks(stmt).or_else(|| self.shared_blocks(stmt)) {
                changed = true;
                *stmt = blocked;
                continue;
            }
            stmt.parts_mut(&mut |_| {}, &mut |inner| changed |= self.stream_in(inner));
        }
        changed
    }

    /// A loop of which threads sum privately, as one whose blocks they share.
    fn shared_blocks(&mut self, stmt: &Stmt) -> Option<Stmt> {
        let Stmt::Parallel(p) = stmt else { return None };
        let (Writes::Copies(output), [], [Stmt::For { var, lo, hi, body }]) =
            (&p.writes, &p.setup[..], &p.body[..])
        else {
            return None;
        };
        if (lo, hi) != (&Expr::Var(p.start), &Expr::Var(p.end)) {
            return None;
        }
        let (lo, hi) = (p.lo.clone(), p.hi.clone());
        let whole = Stmt::For { var: *var, lo, hi, body: body.clone() };
        let Stmt::For { var, lo, hi, body } = self.in_blocks(&whole)? else { return None };
        let (start, end) = (Expr::Var(p.start), Expr::Var(p.end));
        Some(Stmt::Parallel(Box::new(Parallel {
            start: p.start,
            end: p.end,
            lo,
            hi,
            writes: Writes::Shared(*output),
            setup: Vec::new(),
            body: vec![Stmt::For { var, lo: start, hi: end, body }],
        })))
    }

    /// A loop in blocks, if it has few iterations.
    fn few_in_blocks(&mut self, stmt: &Stmt) -> Option<Stmt> {
        let blocked = self.in_blocks(stmt)?;
        let Stmt::For { lo, hi, .. } = stmt else { return None };
        let condition = Expr::binary(BinaryOp::Le, hi.clone(), lo.clone().add(Expr::int(FEW)));
        let mut whole = stmt.clone();
        self.copied(&mut whole, &mut Renamed::default());
        Some(Stmt::If { condition, then: vec![blocked], otherwise: vec![whole] })
    }

    fn in_blocks(&mut self, stmt: &Stmt) -> Option<Stmt> {
        let Streams { var, lo, hi, extent } = self.streams(stmt)?;
        let (lo, hi, extent) = (lo.clone(), hi.clone(), extent.clone());
        let tile = self.variable("tile", Type::Unsigned);
        let first = Expr::var(tile).mul(Expr::int(ELEMENTS));
        let last = Expr::var(tile).add(Expr::int(1)).mul(Expr::int(ELEMENTS));
        let from = match lo == Expr::int(0) {
            true => first,
            false => Expr::binary(BinaryOp::Max, lo, first),
        };
        let to = Expr::binary(BinaryOp::Min, hi, last);
        let mut outer = stmt.clone();
        outer.parts_mut(&mut |_| {}, &mut |body| {
            for stmt in body {
                if let Stmt::For { var: v, lo, hi, .. } = stmt
                    && *v == var
                {
                    (*lo, *hi) = (from.clone(), to.clone());
                }
            }
        });
        let up = extent.add(Expr::int(ELEMENTS - 1));
        let tiles = Expr::binary(BinaryOp::Div, up, Expr::int(ELEMENTS));
        Some(Stmt::For { var: tile, lo: Expr::int(0), hi: tiles, body: vec![outer] })
    }

    /// The loop within another, if all that they do is to add to a result, to all of it each time.
    fn streams<'a>(&self, stmt: &'a Stmt) -> Option<Streams<'a>> {
        let Stmt::For { var: outer, body, .. } = stmt else { return None };
        let (Stmt::For { var, lo, hi, body: inner }, lets) = body.split_last()? else {
            return None;
        };
        let (Stmt::Store { place, op: Assign::Add, .. }, inner_lets) = inner.split_last()? else {
            return None;
        };
        let mut around: FxHashSet<VarId> = FxHashSet::from_iter([*outer]);
        let mut numbers = around.clone();
        for (var, value) in bound(lets)? {
            around.insert(var);
            if told_by(value, &numbers) {
                numbers.insert(var);
            }
        }
        let within: FxHashMap<VarId, &Expr> = bound(inner_lets)?.into_iter().collect();
        let array = self.arr(place.array);
        let mut plain = matches!(array.element, Element::Value(_))
            && array.origin == Origin::Output
            && [lo, hi].iter().all(|e| !told_by(e, &numbers));
        plain &= self.var(*var).ty == Type::Unsigned && self.type_of(hi) == Ok(Type::Unsigned);
        plain &= self.moves(place, *var, &within, &around);
        visit(body, &mut |part| {
            if let Part::Expr(Expr::Load(load)) = part {
                plain &= load.array != place.array;
            }
        });
        let extent = stays(hi, &around)?;
        plain &= self.type_of(extent) == Ok(Type::Unsigned);
        plain.then_some(Streams { var: *var, lo, hi, extent })
    }

    /// Whether elements are told by the inner loop alone, each time another.
    fn moves(
        &self,
        place: &Load,
        var: VarId,
        within: &FxHashMap<VarId, &Expr>,
        around: &FxHashSet<VarId>,
    ) -> bool {
        let mut moves = false;
        place.subscripts.iter().all(|e| {
            let mut e = e;
            while let Expr::Var(v) = e
                && let Some(value) = within.get(v)
            {
                e = value;
            }
            moves |= *e == Expr::Var(var);
            let mut own = true;
            e.visit(&mut |e| match e {
                Expr::Var(v) => own &= *v == var || !around.contains(v) && !within.contains_key(v),
                Expr::Load(_) => own = false,
                _ => {}
            });
            own
        }) && moves
    }
}

/// What statements bind, if they do nothing else.
fn bound(lets: &[Stmt]) -> Option<Vec<(VarId, &Expr)>> {
    let mut out = Vec::new();
    for stmt in lets {
        match stmt {
            Stmt::Comment(_) => {}
            Stmt::Let { var, mutable: false, value } => out.push((*var, value)),
            _ => return None,
        }
    }
    Some(out)
}

/// Whether an expression names one of the variables other than to read an array.
fn told_by(e: &Expr, variables: &FxHashSet<VarId>) -> bool {
    match e {
        Expr::Var(v) => variables.contains(v),
        Expr::Load(_) => false,
        _ => {
            let mut told = false;
            e.parts(&mut |part| told |= told_by(part, variables));
            told
        }
    }
}

/// An end, or a part of which it is no more, that does not depend on the variables.
fn stays<'a>(hi: &'a Expr, variables: &FxHashSet<VarId>) -> Option<&'a Expr> {
    let mut depends = false;
    hi.visit(&mut |e| depends |= matches!(e, Expr::Var(v) if variables.contains(v)));
    match hi {
        _ if !depends => Some(hi),
        Expr::Binary { op: BinaryOp::Min, left, right } => {
            stays(left, variables).or_else(|| stays(right, variables))
        }
        _ => None,
    }
}
