//! Regions of operands, walked at once: what happens where all of them overlap.
//!
//! Before → after, for points and runs:
//!
//! ```text
//! step j in 0..J                                let mut pA = …; let pA_stop = …; let mut px = …; let px_stop = …;
//!   over pA in … : left_A(pA)..right_A(pA)      while pA < pA_stop && px < px_stop {
//!   over px in … : left_x(px)..right_x(px)          let begin = left_A[pA]; let stop = right_A[pA];
//!   …                                               let begin_2 = left_x[px]; let stop_2 = right_x[px];
//!                                           →       let first_stop = stop.min(stop_2);
//!                                                   for j in begin.max(begin_2)..first_stop { … }
//!                                                   pA += (stop == first_stop); px += (stop_2 == first_stop);
//!                                               }
//! ```
//! Points need no ends: all of them and the regions meet at the least, or nowhere. What is sought goes on at the
//! first region that does not lie before all that the others hold.
//! Regions of one operand lie apart, in order, also the ends of empty ones: the one that ends first meets nothing that
//! the others hold later.

use super::super::ir::{Assign, BinaryOp, Block, Expr, Stmt, Type, VarId};
use super::merge::At;
use super::{Realiser, guarded};
use crate::diagnostic::{Diagnostic, Result};
use crate::formula::{Affine, Constraint, Formula, Name};
use crate::loops::{Loop, Regions, Step};
use crate::scan::Range;

/// An operand at one of its positions.
pub(super) struct Here {
    pub begin: VarId,
    /// A point has none.
    pub stop: Option<VarId>,
    /// The position of the next region, if it is not the next one.
    pub next: Option<VarId>,
    /// What is known of its ends where there is something between them.
    pub ends: Vec<Constraint>,
    /// It may be empty, and end before it begins.
    pub may_end_before: bool,
}

impl Here {
    /// What no later region begins before, where this one begins at `begin` and ends at `stop`.
    pub(super) fn start(&self, begin: VarId, stop: Option<VarId>) -> Expr {
        match stop {
            Some(stop) if self.may_end_before => {
                Expr::binary(BinaryOp::Min, Expr::Var(begin), Expr::Var(stop))
            }
            _ => Expr::Var(begin),
        }
    }
}

impl Realiser<'_, '_> {
    pub(super) fn step(&mut self, s: &Step, out: &mut Block) -> Result<()> {
        let Some(threads) = s.parallel else { return self.steps(s, None, out) };
        let shared = (&s.index, &s.range, threads);
        self.shared(shared, (&s.setup, &s.body), out, |this, chunk| {
            this.apart(|this| {
                let mut body = Vec::new();
                this.steps_of_chunk(s, chunk, &mut body)?;
                Ok(body)
            })
        })
    }

    /// What regions hold of a chunk of the indices.
    fn steps_of_chunk(
        &mut self,
        s: &Step,
        (start, end): (VarId, VarId),
        out: &mut Block,
    ) -> Result<()> {
        let first = self.known_as("start of the chunk", start);
        let last = self.known_as("end of the chunk", end);
        let facts: Vec<Constraint> = (s.range.lower.iter())
            .map(|e| Constraint::le(self.here(e), self.here(&first)))
            .chain(s.range.upper.iter().map(|e| Constraint::le(self.here(&last), self.here(e))))
            .collect();
        self.enter(&facts);
        let range = Range { lower: vec![first], upper: vec![last] };
        self.steps(&Step { range, ..s.clone() }, Some((start, end)), out)
    }

    /// A variable in forms of the tree, by a name that no dimension has.
    pub(super) fn known_as(&mut self, what: &str, var: VarId) -> Affine {
        let name = Name::from(what);
        self.env.insert(name.clone(), var);
        Affine::var(name)
    }

    /// Regions along all of the range, which is a chunk if several threads take parts.
    fn steps(&mut self, s: &Step, chunk: Option<(VarId, VarId)>, out: &mut Block) -> Result<()> {
        let hoisted = self.hoisted.len();
        self.load_before(&s.body, out);
        let targets = self.summed(&s.body);
        let sums = self.begin_sums(&s.body, &targets, out);
        self.within_loops += 1;
        let (start, end) = chunk.unzip();
        let walked = self.apart(|this| {
            let mut walked = Vec::new();
            if !s.is_overlap() {
                this.sweep(s, start, &mut walked)?;
                return Ok(walked);
            }
            let begun = s.walks.iter().map(|w| this.begin_regions(w, start, &mut walked));
            let ats: Vec<At> = begun.collect::<Result<_>>()?;
            let condition = Expr::and(ats.iter().map(At::goes_on));
            let invariants = ats.iter().map(At::invariant).collect();
            let body = this.apart(|this| this.overlap(s, &ats, end))?;
            walked.push(Stmt::While { condition, invariants, body });
            Ok(walked)
        });
        self.within_loops -= 1;
        out.extend(walked?);
        self.end_sums(&s.body, sums, out);
        self.hoisted.truncate(hoisted);
        Ok(())
    }

    /// Variables for the positions of regions: the first one, or the first that does not lie before the start of a
    /// chunk.
    pub(super) fn begin_regions(
        &mut self,
        w: &Regions,
        start: Option<VarId>,
        out: &mut Block,
    ) -> Result<At> {
        let (lo, hi) = self.range(&w.range, false);
        let begin = self.body.variable(&format!("{}_begin", w.var), Type::Unsigned);
        let position = self.body.variable(&w.var, Type::Unsigned);
        let end = self.body.variable(&format!("{}_stop", w.var), Type::Unsigned);
        out.push(Stmt::Let { var: begin, mutable: false, value: lo });
        out.push(Stmt::Let { var: position, mutable: true, value: Expr::Var(begin) });
        out.push(Stmt::Let { var: end, mutable: false, value: hi });
        let last = Affine::var(self.body.var(end).name.clone());
        let upper = w.range.upper.iter().map(|e| Constraint::le(last.clone(), self.here(e)));
        let upper: Vec<Constraint> = upper.collect();
        self.enter(&upper);
        let at = At { lo: Expr::Var(begin), position, end, before: Vec::new() };
        if let Some(start) = start {
            let search = self.apart(|this| Ok(this.first_behind(w, &at, start)))?;
            out.extend(search);
        }
        Ok(at)
    }

    /// Halves the positions up to the first of which the region does not lie before an index.
    fn first_behind(&mut self, w: &Regions, at: &At, start: VarId) -> Block {
        let far = self.body.variable(&format!("{}_far", w.var), Type::Unsigned);
        let far_end = Stmt::Let { var: far, mutable: true, value: Expr::Var(at.end) };
        vec![far_end, self.halve(w, at, far, start)]
    }

    /// Halves what lies between a position and another one up to the first region that does not lie before an index.
    fn halve(&mut self, w: &Regions, at: &At, far: VarId, goal: VarId) -> Stmt {
        let (position, end) = (at.position, at.end);
        let set = |var, value| Stmt::Assign { var, op: Assign::Set, value };
        let middle = self.body.variable("middle", Type::Unsigned);
        let distance = Expr::binary(BinaryOp::Sub, Expr::Var(far), Expr::Var(position));
        let half = Expr::binary(BinaryOp::Div, distance, Expr::int(2));
        let value = Expr::binary(BinaryOp::Add, Expr::Var(position), half);
        let after = Expr::binary(BinaryOp::Add, Expr::Var(middle), Expr::int(1));
        let is_before = self.lies_before(w, middle, goal);
        Stmt::While {
            condition: Expr::binary(BinaryOp::Lt, Expr::Var(position), Expr::Var(far)),
            invariants: vec![
                at.invariant(),
                Expr::binary(BinaryOp::Le, Expr::Var(far), Expr::Var(end)),
            ],
            body: vec![
                Stmt::Let { var: middle, mutable: false, value },
                Stmt::If {
                    condition: is_before,
                    then: vec![set(position, after)],
                    otherwise: vec![set(far, Expr::Var(middle))],
                },
            ],
        }
    }

    /// What happens at one choice of regions, and which come next, up to the end of a chunk.
    fn overlap(&mut self, s: &Step, ats: &[At], end: Option<VarId>) -> Result<Block> {
        let mut out = Vec::new();
        let mut heres = Vec::new();
        for (walk, at) in s.walks.iter().zip(ats) {
            heres.push(self.region_at(walk, at, &mut out));
        }
        if let Some(end) = end {
            let is_behind = heres.iter().map(|here| {
                let start = here.start(here.begin, here.stop);
                Expr::binary(BinaryOp::Le, Expr::Var(end), start)
            });
            let (condition, then) = (Expr::or(is_behind), vec![Stmt::Break(None)]);
            out.push(Stmt::If { condition, then, otherwise: Vec::new() });
        }
        let points = heres.iter().filter(|here| here.stop.is_none()).map(|here| here.begin);
        let stops = heres.iter().filter_map(|here| here.stop);
        let first_point = self.least("at", points.collect(), &mut out);
        let first_stop = self.least("first_stop", stops.collect(), &mut out);
        let inner = self.apart(|this| match (first_point, first_stop) {
            (Some(at), _) => this.at_point(s, &heres, at),
            (None, Some(stop)) => this.within_overlap(s, &heres, stop),
            (None, None) => Err(Diagnostic::defect("nothing is walked")),
        });
        out.extend(inner?);
        let is_first = match (first_point, first_stop) {
            (Some(at), Some(stop)) => {
                let var = self.body.variable("point_first", Type::Bool);
                let value = Expr::binary(BinaryOp::Lt, Expr::Var(at), Expr::Var(stop));
                out.push(Stmt::Let { var, mutable: false, value });
                Some(Expr::Var(var))
            }
            _ => None,
        };
        for (k, (at, here)) in ats.iter().zip(&heres).enumerate() {
            let is_least = |a: VarId, least: Option<VarId>| {
                let other = least.filter(|b| *b != a)?;
                Some(Expr::binary(BinaryOp::Eq, Expr::Var(a), Expr::Var(other)))
            };
            let ends = match (here.stop, is_first.clone()) {
                (None, first) => {
                    Expr::and(first.into_iter().chain(is_least(here.begin, first_point)))
                }
                (Some(stop), None) => Expr::and(is_least(stop, first_stop)),
                (Some(stop), Some(first)) => {
                    Expr::and([first.negated()].into_iter().chain(is_least(stop, first_stop)))
                }
            };
            let step = match (here.next, ends) {
                (None, Expr::Bool(true)) => at.advance(Expr::int(1)),
                (None, ends) => at.advance(Expr::FromBool(Box::new(ends))),
                (Some(next), ends) => {
                    let (var, value) = (at.position, Expr::Var(next));
                    let to_next = Stmt::Assign { var, op: Assign::Set, value };
                    match ends {
                        Expr::Bool(true) => to_next,
                        ends => {
                            Stmt::If { condition: ends, then: vec![to_next], otherwise: Vec::new() }
                        }
                    }
                }
            };
            let others = heres.iter().enumerate().filter(|(other, _)| *other != k);
            let others: Vec<Expr> =
                others.map(|(_, other)| other.start(other.begin, other.stop)).collect();
            match s.walks[k].is_sought && !others.is_empty() {
                true => self.seek((&s.walks[k], at, here), others, step, &mut out),
                false => out.push(step),
            }
        }
        out.extend(self.early_exit(&s.body));
        Ok(out)
    }

    /// The next position: if all of its region lies before that of another operand, the first one that does not,
    /// which is sought at growing distances and then by halving.
    fn seek(
        &mut self,
        (w, at, here): (&Regions, &At, &Here),
        others: Vec<Expr>,
        step: Stmt,
        out: &mut Block,
    ) {
        let max = |a, b| Expr::binary(BinaryOp::Max, a, b);
        let goal = match others.as_slice() {
            [Expr::Var(other)] => *other,
            _ => {
                let goal = self.body.variable("goal", Type::Unsigned);
                let value = others.into_iter().reduce(max);
                let value = value.expect("there are others");
                out.push(Stmt::Let { var: goal, mutable: false, value });
                goal
            }
        };
        let (position, end) = (at.position, at.end);
        let one = || Expr::int(1);
        let set = |var, value| Stmt::Assign { var, op: Assign::Set, value };
        let add = |var, value| Stmt::Assign { var, op: Assign::Add, value };
        let after = |var| Expr::binary(BinaryOp::Add, Expr::Var(var), one());
        let begins = |var| Expr::binary(BinaryOp::Le, at.lo.clone(), Expr::Var(var));
        let far = self.body.variable(&format!("{}_far", w.var), Type::Unsigned);
        let stride = self.body.variable("stride", Type::Unsigned);
        let mut then = vec![
            set(position, here.next.map_or_else(|| after(position), Expr::Var)),
            Stmt::Let { var: far, mutable: true, value: Expr::Var(position) },
            Stmt::Let { var: stride, mutable: true, value: one() },
        ];
        let within = Expr::binary(BinaryOp::Lt, Expr::Var(far), Expr::Var(end));
        let is_before = self.lies_before(w, far, goal);
        then.push(Stmt::While {
            condition: Expr::and([within, is_before]),
            invariants: vec![begins(position), begins(far)],
            body: vec![
                set(position, after(far)),
                add(far, Expr::Var(stride)),
                add(stride, Expr::Var(stride)),
            ],
        });
        then.push(set(far, Expr::binary(BinaryOp::Min, Expr::Var(far), Expr::Var(end))));
        then.push(self.halve(w, at, far, goal));
        let condition = match here.stop {
            Some(stop) => Expr::binary(BinaryOp::Le, Expr::Var(stop), Expr::Var(goal)),
            None => Expr::binary(BinaryOp::Lt, Expr::Var(here.begin), Expr::Var(goal)),
        };
        out.push(Stmt::If { condition, then, otherwise: vec![step] });
    }

    /// Whether the region of a position lies before an index; the position is one of the walk.
    fn lies_before(&mut self, w: &Regions, position: VarId, goal: VarId) -> Expr {
        match self.ends_at(w, position) {
            (_, Some(stop)) => Expr::binary(BinaryOp::Le, stop, Expr::Var(goal)),
            (at, None) => Expr::binary(BinaryOp::Lt, at, Expr::Var(goal)),
        }
    }

    /// The ends of the region of another position than the one at hand; it is one of the walk. A point has one.
    fn ends_at(&mut self, w: &Regions, position: VarId) -> (Expr, Option<Expr>) {
        let before = self.env.insert(w.var.clone(), position);
        let facts = self.range_facts(&w.range, position);
        self.enter(&facts);
        let is_point = self.is_point(w);
        let (lower, upper) = self.range(&w.region, false);
        let ends = (lower, (!is_point).then_some(upper));
        self.path.leave();
        if let Some(before) = before {
            self.env.insert(w.var.clone(), before);
        }
        ends
    }

    /// Whether the region at the position at hand is a single index.
    fn is_point(&mut self, w: &Regions) -> bool {
        w.point().is_some_and(|at| {
            let at = self.here(at);
            self.is_natural(&at)
        })
    }

    /// The least of some variables, if there are any.
    fn least(&mut self, name: &str, of: Vec<VarId>, out: &mut Block) -> Option<VarId> {
        if let [] | [_] = of.as_slice() {
            return of.first().copied();
        }
        let min = |a, b| Expr::binary(BinaryOp::Min, a, b);
        let value = of.into_iter().map(Expr::Var).reduce(min)?;
        let var = self.body.variable(name, Type::Unsigned);
        out.push(Stmt::Let { var, mutable: false, value });
        Some(var)
    }

    /// The region at a position.
    pub(super) fn region_at(&mut self, w: &Regions, at: &At, out: &mut Block) -> Here {
        self.env.insert(w.var.clone(), at.position);
        // What holds of a position only on a condition is no condition of the code around: it must not be needed to
        // read the region.
        let read_before = w.is_conditional().then(|| self.range(&w.region, false));
        let mut facts = self.range_facts(&w.range, at.position);
        facts.extend(self.around(w).1);
        self.enter(&facts);
        let is_point = self.is_point(w);
        let (lower, upper) = read_before.unwrap_or_else(|| self.range(&w.region, false));
        let begin = self.body.variable("begin", Type::Unsigned);
        out.push(Stmt::Let { var: begin, mutable: false, value: lower });
        let stop = (!is_point).then(|| {
            let stop = self.body.variable("stop", Type::Unsigned);
            out.push(Stmt::Let { var: stop, mutable: false, value: upper });
            stop
        });
        let name = |var: VarId| Affine::var(self.body.var(var).name.clone());
        let lower = w.region.lower.iter().map(|e| match is_point {
            true => Constraint::eq(self.here(e), name(begin)),
            false => Constraint::le(self.here(e), name(begin)),
        });
        let mut ends: Vec<Constraint> = lower.collect();
        if let Some(stop) = stop {
            let upper = w.region.upper.iter();
            ends.extend(upper.map(|e| Constraint::le(name(stop), self.here(e))));
        }
        let upper = &w.region.upper;
        let pairs = w.region.lower.iter().flat_map(|lo| upper.iter().map(move |hi| (lo, hi)));
        let rise: Vec<Constraint> =
            pairs.map(|(lo, hi)| Constraint::le(self.here(lo), self.here(hi))).collect();
        let may_end_before =
            !is_point && rise.into_iter().any(|rise| !self.path.proves(&Formula::Constraint(rise)));
        let mut here = Here { begin, stop, next: None, ends, may_end_before };
        here.next = w.end.as_ref().map(|end| self.group(w, at, end, &here, out));
        here
    }

    /// The body at a point, if all of them and the regions meet there.
    fn at_point(&mut self, s: &Step, heres: &[Here], at: VarId) -> Result<Block> {
        let name = |this: &Self, var: VarId| Affine::var(this.body.var(var).name.clone());
        let here = name(self, at);
        let mut facts = Vec::new();
        let mut conditions = Vec::new();
        let ends: Vec<Constraint> = heres.iter().flat_map(|here| here.ends.clone()).collect();
        self.enter(&ends);
        for other in heres {
            match other.stop {
                None if other.begin == at => {}
                None => facts.push(Constraint::eq(name(self, other.begin), here.clone())),
                Some(stop) => facts.extend([
                    Constraint::le(name(self, other.begin), here.clone()),
                    Constraint::lt(here.clone(), name(self, stop)),
                ]),
            }
        }
        let tests = facts.clone();
        let within = s.range.lower.iter().map(|e| Constraint::le(self.here(e), here.clone()));
        let above = s.range.upper.iter().map(|e| Constraint::lt(here.clone(), self.here(e)));
        let ends: Vec<Constraint> = within.chain(above).collect();
        self.enter(&facts);
        for end in ends {
            if !self.path.proves(&Formula::Constraint(end.clone())) {
                conditions.extend(self.tests(std::slice::from_ref(&end)));
                self.enter(&[end]);
            }
        }
        let met: Vec<Expr> = tests.iter().map(|test| self.constraint(test)).collect();
        let known = self.known_as("point of the overlap", at);
        let (var, value) = self.bind_let(&s.index, &known);
        let mut then = vec![Stmt::Let { var, mutable: false, value }];
        then.extend(self.block(&s.body)?);
        Ok(guarded(met.into_iter().chain(conditions).collect(), then))
    }

    /// The first position behind that has another region.
    fn group(&mut self, w: &Regions, at: &At, end: &Name, here: &Here, out: &mut Block) -> VarId {
        let var = self.bind(end, Type::Unsigned);
        let after = Expr::binary(BinaryOp::Add, Expr::Var(at.position), Expr::int(1));
        out.push(Stmt::Let { var, mutable: true, value: after });
        let goes_on = Expr::binary(BinaryOp::Lt, Expr::Var(var), Expr::Var(at.end));
        let (lower, upper) = self.ends_at(w, var);
        let alike = match (here.stop, upper) {
            (Some(stop), Some(upper)) => Expr::binary(BinaryOp::Eq, upper, Expr::Var(stop)),
            _ => Expr::binary(BinaryOp::Eq, lower, Expr::Var(here.begin)),
        };
        let invariants = vec![
            Expr::binary(BinaryOp::Lt, Expr::Var(at.position), Expr::Var(var)),
            Expr::binary(BinaryOp::Le, Expr::Var(var), Expr::Var(at.end)),
        ];
        out.push(Stmt::While {
            condition: Expr::and([goes_on, alike]),
            invariants,
            body: vec![Stmt::Assign { var, op: Assign::Add, value: Expr::int(1) }],
        });
        let name = |var: VarId, this: &Self| Affine::var(this.body.var(var).name.clone());
        let facts = [
            Constraint::lt(name(at.position, self), name(var, self)),
            Constraint::le(name(var, self), name(at.end, self)),
        ];
        self.enter(&facts);
        var
    }

    /// The body, for each index in all regions, of which `first_stop` is the first end.
    fn within_overlap(&mut self, s: &Step, heres: &[Here], first_stop: VarId) -> Result<Block> {
        let name = |this: &Self, var: VarId| Affine::var(this.body.var(var).name.clone());
        let first = name(self, first_stop);
        let mut facts = Vec::new();
        for here in heres {
            facts.extend(here.ends.iter().cloned());
            let stop = here.stop.map(|stop| Constraint::le(first.clone(), name(self, stop)));
            facts.extend(stop);
        }
        self.enter(&facts);
        let begins = heres.iter().enumerate().map(|(k, here)| (format!("begin {k}"), here.begin));
        let mut range = s.range.clone();
        range.lower.extend(begins.map(|(what, var)| self.known_as(&what, var)));
        range.upper.insert(0, self.known_as("first end", first_stop));
        let each = Loop {
            var: s.index.clone(),
            range,
            parallel: None,
            setup: Vec::new(),
            skip: None,
            body: s.body.clone(),
        };
        self.for_loop(&each, None)
    }
}
