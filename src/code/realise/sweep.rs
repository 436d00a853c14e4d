//! Regions of operands, of which not all need to hold an index for it to count.
//!
//! The index is divided where a region begins or ends, so that between two such places each operand holds all or
//! nothing. Before → after, for a run-length vector and another where one of them is stored:
//!
//! ```text
//! step j in 0..J where px or pz             let mut from = 0; let until = J; let mut px = …; let mut pz = …;
//!   over px in … : left_x(px)..right_x(px)  while from < until && (px < px_stop || pz < pz_stop) {
//!   over pz in … : …                            let mut begin = usize::MAX; let mut stop = usize::MAX;
//!   …                                           if px < px_stop { begin = left_x[px]; stop = right_x[px]; }
//!                                               …
//!                                               let first = from.max(begin.min(begin_2));
//!                                       →       if first >= until { break; }
//!                                               let next = until.min(if begin > first { begin } else …);
//!                                               if … { for j in first..next { … } }
//!                                               px += (stop <= next); pz += (stop_2 <= next);
//!                                               from = next;
//!                                           }
//! ```
//! Where all regions are points, what comes next begins right behind. Where one index counts only if several regions
//! hold it, some may have to go on before it is known whether they do.

use super::super::ir::{Assign, BinaryOp, Block, Expr, Stmt, Type, VarId};
use super::held::Held;
use super::merge::At;
use super::step::Here;
use super::{Realiser, guarded};
use crate::diagnostic::Result;
use crate::formula::{Affine, Constraint, Name};
use crate::loops::{self, Loop, Regions, Step};
use crate::operators::Region;
use crate::scan::Range;

/// The region of a walk, and the code that reads it where there is one.
struct Read {
    here: Here,
    /// Without a condition, there is one.
    then: Option<Block>,
}

/// The region of a walk: it begins at the greatest number of all if there is none.
struct Side {
    begin: VarId,
    /// Points need none.
    stop: Option<VarId>,
    /// What no later region begins before.
    start: Expr,
    next: Option<VarId>,
    facts: Vec<Constraint>,
}

impl Realiser<'_, '_> {
    pub(super) fn sweep(&mut self, s: &Step, start: Option<VarId>, out: &mut Block) -> Result<()> {
        let (lo, hi) = self.range(&s.range, false);
        let from = self.body.variable("from", Type::Unsigned);
        let until = self.body.variable("until", Type::Unsigned);
        let least = self.body.variable("least", Type::Unsigned);
        out.push(Stmt::Let { var: least, mutable: false, value: lo });
        out.push(Stmt::Let { var: from, mutable: true, value: Expr::Var(least) });
        out.push(Stmt::Let { var: until, mutable: false, value: hi });
        let end = self.named(until);
        let upper = s.range.upper.iter().map(|e| Constraint::le(end.clone(), self.here(e)));
        let upper: Vec<Constraint> = upper.collect();
        self.enter(&upper);
        let mut ats = Vec::new();
        for walk in &s.walks {
            ats.push(match walk.is_conditional() {
                true => self.begin_regions_within(walk, out)?,
                false => self.begin_regions(walk, start, out)?,
            });
        }
        let goes_on = holds(&s.counts, &|walk| ats[s.number(walk)].goes_on());
        let is_before = Expr::binary(BinaryOp::Lt, Expr::Var(from), Expr::Var(until));
        let condition = Expr::and([is_before, goes_on]);
        let mut invariants: Vec<Expr> = ats.iter().map(At::invariant).collect();
        invariants.push(Expr::binary(BinaryOp::Le, Expr::Var(least), Expr::Var(from)));
        let body = self.apart(|this| this.division(s, &ats, (from, until)))?;
        out.push(Stmt::While { condition, invariants, body });
        Ok(())
    }

    fn named(&self, var: VarId) -> Affine {
        Affine::var(self.body.var(var).name.clone())
    }

    /// Variables for positions that there are where other walks hold their indices, and the tests of all of them pass.
    fn begin_regions_within(&mut self, w: &Regions, out: &mut Block) -> Result<At> {
        let begin = self.body.variable(&format!("{}_begin", w.var), Type::Unsigned);
        let end = self.body.variable(&format!("{}_stop", w.var), Type::Unsigned);
        for var in [begin, end] {
            out.push(Stmt::Let { var, mutable: true, value: Expr::int(0) });
        }
        let set = |var, value| Stmt::Assign { var, op: Assign::Set, value };
        let (conditions, facts) = self.around(w);
        let then = self.apart(|this| {
            this.enter(&facts);
            let (lo, hi) = this.range(&w.range, false);
            Ok(vec![set(begin, lo), set(end, hi)])
        })?;
        out.extend(guarded(conditions, then));
        let position = self.body.variable(&w.var, Type::Unsigned);
        out.push(Stmt::Let { var: position, mutable: true, value: Expr::Var(begin) });
        Ok(At { lo: Expr::Var(begin), position, end, before: Vec::new() })
    }

    /// The conditions under which a walk has positions, and what follows from its having some.
    pub(super) fn around(&mut self, w: &Regions) -> (Vec<Expr>, Vec<Constraint>) {
        let (mut conditions, mut facts) = self.held_by(&w.within);
        let (_, of_all) = w.tests_of_each();
        let tests: Vec<Constraint> = of_all.iter().map(|t| t.map(|e| self.here(e))).collect();
        conditions.extend(self.tests(&tests));
        facts.extend(tests);
        (conditions, facts)
    }

    fn held_by(&self, walks: &[Name]) -> (Vec<Expr>, Vec<Constraint>) {
        let all = walks.iter().map(|walk| &self.held[walk]);
        let conditions = all.clone().map(|held| held.condition.clone()).collect();
        (conditions, all.flat_map(|held| held.facts.clone()).collect())
    }

    /// A block where the regions of walks hold their indices.
    pub(super) fn held(&mut self, walks: &[Name], body: &loops::Block) -> Result<Block> {
        let (conditions, facts) = self.held_by(walks);
        self.enter(&facts);
        Ok(guarded(conditions, self.block(body)?))
    }

    /// What happens up to where the next region begins or ends.
    fn division(&mut self, s: &Step, ats: &[At], (from, until): (VarId, VarId)) -> Result<Block> {
        let mut out = Vec::new();
        let mut reads = Vec::new();
        for (walk, at) in s.walks.iter().zip(ats) {
            reads.push(self.read(walk, at, s.needs(walk), &mut out)?);
        }
        let points =
            reads.iter().all(|read| read.here.stop.is_none()) && !s.counts.holds_without_any();
        let sides = s.walks.iter().zip(ats).zip(reads);
        let sides: Vec<Side> =
            sides.map(|((walk, at), read)| self.side(walk, at, read, points, &mut out)).collect();
        let start = start(&s.counts, &|walk| sides[s.number(walk)].start.clone());
        let first = match start {
            None => from,
            Some(start) => {
                let first = self.body.variable("first", Type::Unsigned);
                let value = Expr::binary(BinaryOp::Max, Expr::Var(from), start);
                out.push(Stmt::Let { var: first, mutable: false, value });
                let condition = Expr::binary(BinaryOp::Le, Expr::Var(until), Expr::Var(first));
                let then = vec![Stmt::Break(None)];
                out.push(Stmt::If { condition, then, otherwise: Vec::new() });
                first
            }
        };
        let within = Constraint::lt(self.named(first), self.named(until));
        let above = s.range.lower.iter().map(|e| Constraint::le(self.here(e), self.named(first)));
        let facts: Vec<Constraint> = above.chain([within]).collect();
        self.enter(&facts);
        let lags = (!points || s.may_lag()).then(|| self.lags((&sides, points), first, &mut out));
        let next = self.next((&sides, points), first, until, &mut out);
        for ((walk, at), side) in s.walks.iter().zip(ats).zip(&sides) {
            let held = self.held_here(walk, at, side, first, next);
            self.held.insert(walk.var.clone(), held);
        }
        let counts = holds(&s.counts, &|walk| self.held[walk].condition.clone());
        let needed: Vec<Constraint> = s
            .walks
            .iter()
            .filter(|walk| s.needs(walk))
            .flat_map(|walk| self.held[&walk.var].facts.clone())
            .collect();
        let inner = self.apart(|this| {
            this.enter(&needed);
            let known = this.known_as("first of the division", first);
            match points {
                true => {
                    let (var, value) = this.bind_let(&s.index, &known);
                    let mut then = vec![Stmt::Let { var, mutable: false, value }];
                    then.extend(this.block(&s.body)?);
                    Ok(then)
                }
                false => {
                    let stop = this.known_as("next division", next);
                    let range = Range { lower: vec![known], upper: vec![stop] };
                    let (var, body) = (s.index.clone(), s.body.clone());
                    let (parallel, setup, skip) = (None, Vec::new(), None);
                    let each = Loop { var, range, parallel, setup, skip, body };
                    this.for_loop(&each, None)
                }
            }
        })?;
        let all_here = lags.map(|lags| Expr::Var(lags).negated());
        out.extend(guarded(all_here.into_iter().chain([counts]).collect(), inner));
        let done = self.done((first, next), lags, &mut out);
        for (at, side) in ats.iter().zip(&sides) {
            let (op, end) = match side.stop {
                None => (BinaryOp::Lt, side.begin),
                Some(stop) => (BinaryOp::Le, stop),
            };
            let is_over = Expr::binary(op, Expr::Var(end), Expr::Var(done));
            out.push(match side.next {
                None => at.advance(Expr::FromBool(Box::new(is_over))),
                Some(next) => {
                    let (var, value) = (at.position, Expr::Var(next));
                    let then = vec![Stmt::Assign { var, op: Assign::Set, value }];
                    Stmt::If { condition: is_over, then, otherwise: Vec::new() }
                }
            });
        }
        out.push(Stmt::Assign { var: from, op: Assign::Set, value: Expr::Var(done) });
        out.extend(self.early_exit(&s.body));
        Ok(out)
    }

    /// The code that reads the region at the position of a walk.
    fn read(&mut self, w: &Regions, at: &At, needed: bool, out: &mut Block) -> Result<Read> {
        let (of_each, _) = w.tests_of_each();
        if needed && of_each.is_empty() {
            return Ok(Read { here: self.region_at(w, at, out), then: None });
        }
        self.env.insert(w.var.clone(), at.position);
        if !of_each.is_empty() {
            let skip = self.apart(|this| {
                let facts = this.range_facts(&w.range, at.position);
                this.enter(&facts);
                let tests: Vec<Constraint> =
                    of_each.iter().map(|t| t.map(|e| this.here(e))).collect();
                let passes = Expr::and(this.tests(&tests));
                let condition = Expr::and([at.goes_on(), passes.negated()]);
                let (invariants, body) = (vec![at.invariant()], vec![at.advance(Expr::int(1))]);
                Ok(Stmt::While { condition, invariants, body })
            })?;
            out.push(skip);
        }
        let mut then = Vec::new();
        let here = self.apart(|this| {
            let mut here = this.region_at(w, at, &mut then);
            here.ends.extend(w.tests.iter().map(|t| t.map(|e| this.here(e))));
            Ok(here)
        })?;
        Ok(Read { here, then: Some(then) })
    }

    /// Variables for the region of a walk, whether or not there is one.
    fn side(&mut self, w: &Regions, at: &At, read: Read, points: bool, out: &mut Block) -> Side {
        let Read { here, then } = read;
        let behind = |var: VarId| Expr::binary(BinaryOp::Add, Expr::Var(var), Expr::int(1));
        let Some(mut then) = then else {
            let stop = here.stop.or_else(|| {
                (!points).then(|| {
                    let stop = self.body.variable("stop", Type::Unsigned);
                    let value = behind(here.begin);
                    out.push(Stmt::Let { var: stop, mutable: false, value });
                    stop
                })
            });
            let start = here.start(here.begin, stop);
            return Side { begin: here.begin, stop, start, next: here.next, facts: here.ends };
        };
        let set = |var, value| Stmt::Assign { var, op: Assign::Set, value };
        let mut facts = here.ends.clone();
        let mut outer = |this: &mut Self, name: &str, unset: Expr, inner: VarId| {
            let var = this.body.variable(name, Type::Unsigned);
            out.push(Stmt::Let { var, mutable: true, value: unset });
            facts.push(Constraint::eq(this.named(var), this.named(inner)));
            var
        };
        let begin = outer(self, "begin", Expr::Unset, here.begin);
        then.push(set(begin, Expr::Var(here.begin)));
        let stop = match (here.stop, points) {
            (Some(inner), _) => {
                let stop = outer(self, "stop", Expr::Unset, inner);
                then.push(set(stop, Expr::Var(inner)));
                Some(stop)
            }
            (None, true) => None,
            (None, false) => {
                let stop = self.body.variable("stop", Type::Unsigned);
                out.push(Stmt::Let { var: stop, mutable: true, value: Expr::Unset });
                then.push(set(stop, behind(here.begin)));
                Some(stop)
            }
        };
        let next = here.next.map(|inner| {
            let next = self.body.variable("next_position", Type::Unsigned);
            let value = Expr::Var(at.position);
            out.push(Stmt::Let { var: next, mutable: true, value });
            facts.extend([
                Constraint::eq(self.named(next), self.named(inner)),
                Constraint::lt(self.named(at.position), self.named(next)),
                Constraint::le(self.named(next), self.named(at.end)),
            ]);
            then.push(set(next, Expr::Var(inner)));
            if let Some(end) = &w.end {
                self.env.insert(end.clone(), next);
            }
            next
        });
        out.push(Stmt::If { condition: at.goes_on(), then, otherwise: Vec::new() });
        Side { begin, stop, start: here.start(begin, stop), next, facts }
    }

    /// Whether some walk is at a region that ended before: what it holds is not known yet, and it goes on alone.
    fn lags(&mut self, (sides, points): (&[Side], bool), first: VarId, out: &mut Block) -> VarId {
        let ended = sides.iter().map(|side| match (side.stop, points) {
            (Some(stop), false) => (BinaryOp::Le, stop),
            _ => (BinaryOp::Lt, side.begin),
        });
        let ended = ended.map(|(op, end)| Expr::binary(op, Expr::Var(end), Expr::Var(first)));
        let lags = self.body.variable("lags", Type::Bool);
        out.push(Stmt::Let { var: lags, mutable: false, value: Expr::or(ended) });
        lags
    }

    /// Where the next region begins or ends.
    fn next(
        &mut self,
        (sides, points): (&[Side], bool),
        first: VarId,
        until: VarId,
        out: &mut Block,
    ) -> VarId {
        let next = self.body.variable("next", Type::Unsigned);
        let choose = |end: Expr, otherwise: Expr| Expr::Choose {
            condition: Box::new(Expr::binary(BinaryOp::Lt, Expr::Var(first), end.clone())),
            then: Box::new(end),
            otherwise: Box::new(otherwise),
        };
        let value = match points {
            true => Expr::binary(BinaryOp::Add, Expr::Var(first), Expr::int(1)),
            false => sides.iter().fold(Expr::Var(until), |least, side| {
                let stop = side
                    .stop
                    .map_or(Expr::Var(until), |stop| choose(Expr::Var(stop), Expr::Var(until)));
                Expr::binary(BinaryOp::Min, least, choose(side.start.clone(), stop))
            }),
        };
        out.push(Stmt::Let { var: next, mutable: false, value });
        next
    }

    /// Up to where everything is done: to what is next, but not while something lags.
    fn done(
        &mut self,
        (first, next): (VarId, VarId),
        lags: Option<VarId>,
        out: &mut Block,
    ) -> VarId {
        let Some(lags) = lags else { return next };
        let done = self.body.variable("done", Type::Unsigned);
        let value = Expr::Choose {
            condition: Box::new(Expr::Var(lags)),
            then: Box::new(Expr::Var(first)),
            otherwise: Box::new(Expr::Var(next)),
        };
        out.push(Stmt::Let { var: done, mutable: false, value });
        done
    }

    /// Whether the region of a walk holds what comes first, and with it all up to what is next.
    fn held_here(&mut self, w: &Regions, at: &At, side: &Side, first: VarId, next: VarId) -> Held {
        let (begin, here) = (self.named(side.begin), self.named(first));
        let mut facts = vec![Constraint::lt(self.named(at.position), self.named(at.end))];
        facts.extend(self.range_facts(&w.range, at.position));
        facts.extend(side.facts.iter().cloned());
        let has = match side.stop {
            None => {
                facts.push(Constraint::eq(begin, here));
                Expr::binary(BinaryOp::Eq, Expr::Var(side.begin), Expr::Var(first))
            }
            Some(stop) => {
                facts.push(Constraint::le(begin, here));
                facts.push(Constraint::le(self.named(next), self.named(stop)));
                Expr::and([
                    Expr::binary(BinaryOp::Le, Expr::Var(side.begin), Expr::Var(first)),
                    Expr::binary(BinaryOp::Le, Expr::Var(next), Expr::Var(stop)),
                ])
            }
        };
        // That there is a region at all is said again: it proves that the position is one.
        Held { condition: Expr::and([at.goes_on(), has]), facts }
    }
}

/// The condition that a region holds, by that of each walk.
fn holds(region: &Region<Name>, walk: &dyn Fn(&Name) -> Expr) -> Expr {
    match region {
        Region::All => Expr::Bool(true),
        Region::Nothing => Expr::Bool(false),
        Region::Stored(name) => walk(name),
        Region::Not(inner) => holds(inner, walk).negated(),
        Region::Both(parts) => Expr::and(parts.iter().map(|part| holds(part, walk))),
        Region::Either(parts) => Expr::or(parts.iter().map(|part| holds(part, walk))),
    }
}

/// Where a region begins to hold, by where the regions of walks begin; `None` if it may do so anywhere.
fn start(region: &Region<Name>, begin: &dyn Fn(&Name) -> Expr) -> Option<Expr> {
    let fold =
        |op: BinaryOp, parts: Vec<Expr>| parts.into_iter().reduce(|a, b| Expr::binary(op, a, b));
    match region {
        Region::All | Region::Nothing | Region::Not(_) => None,
        Region::Stored(name) => Some(begin(name)),
        Region::Both(parts) => {
            fold(BinaryOp::Max, parts.iter().filter_map(|part| start(part, begin)).collect())
        }
        Region::Either(parts) => {
            let starts: Option<Vec<Expr>> = parts.iter().map(|part| start(part, begin)).collect();
            fold(BinaryOp::Min, starts?)
        }
    }
}
