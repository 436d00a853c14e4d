//! Of a segment in order, what passes the tests on its coordinate is sought, and only that is walked.
//!
//! Before → after, for a window of the columns of a matrix:
//!
//! ```text
//! for p in pos_A[i]..pos_A[i + 1] {              … the first of them with crd_A[p] >= 500 is `first`
//!     let j = crd_A[p] - 500;                    … the first behind that with crd_A[p] - 500 >= J is `last`
//!     if 0 <= j && j < J {                 →     for p in first..last {
//!         y[i] += val_A[p] * x[j];                   let j = crd_A[p] - 500;
//!     }                                              y[i] += val_A[p] * x[j];
//! }                                              }
//! ```
//! What is sought takes 0.3 to 0.7 of the time for rows of 10 to 100, but twice the time for rows of 3 (Zen 4): segments of few
//! elements are walked as before, unless there are loops inside.
//!
//! That coordinates do not fall within the segment is proved, and so a test that asks for more of them holds from some
//! position on, one that asks for less up to some position. Both are sought from where the segment begins
//! (`code/prefix.rs`). This is the seek of Looplets (paper, §4).

use super::super::ir::{BinaryOp, Block, Expr, Stmt, Type, VarId};
use super::last::value_of;
use super::{Realiser, Window};
use crate::diagnostic::Result;
use crate::formula::{Affine, Atom, Call, Constraint, Formula, Name, Relop};
use crate::loops::{self, Loop, Node};
use crate::scan::Range;

/// Segments of so many elements are searched.
const SHORT: i64 = 8;

/// The tests of a loop on what does not fall in it.
#[derive(Default)]
struct Tests {
    /// They hold from some position on.
    from: Vec<Constraint>,
    /// They hold up to some position.
    upto: Vec<Constraint>,
    /// The others, as they stand.
    others: Vec<Constraint>,
    coordinates: Vec<Call>,
}

impl Realiser<'_, '_> {
    /// The code of a loop all of whose work is under tests on a coordinate that does not fall, if it is one.
    pub(super) fn window(&mut self, l: &Loop) -> Result<Option<Block>> {
        let Some((Node::If { tests, restrictions, body }, lets)) = l.body.split_last() else {
            return Ok(None);
        };
        if self.walks_whole || !l.is_plain() || !restrictions.is_empty() {
            return Ok(None);
        }
        let mut bound: Vec<(Name, Affine)> = Vec::new();
        for node in lets {
            let Node::Let { var, value } = node else { return Ok(None) };
            let value = value.substitute(&|n| value_of(&bound, n));
            bound.push((var.clone(), value));
        }
        let said = tests.iter().map(|test| (test, test.substitute(&|n| value_of(&bound, n))));
        let Some(found) = self.on_rising(l, said) else { return Ok(None) };

        let mut own: loops::Block = lets.to_vec();
        match found.others.is_empty() {
            true => own.extend(body.iter().cloned()),
            false => own.push(Node::If {
                tests: found.others.clone(),
                restrictions: Vec::new(),
                body: body.clone(),
            }),
        }
        self.apart(|this| {
            let mut out = Vec::new();
            let l = this.with_bound_ends(l, &mut out);
            let then = this.apart(|this| this.narrowed(&l, found, own))?;
            if has_loops(body) {
                out.extend(then);
                return Ok(Some(out));
            }
            // Where a segment is short, its tests cost less than the search.
            this.walks_whole = true;
            let otherwise = this.for_loop(&l, None);
            this.walks_whole = false;
            let (lo, hi) = this.range(&l.range, false);
            let condition = Expr::binary(BinaryOp::Le, lo.add(Expr::int(SHORT)), hi);
            out.push(Stmt::If { condition, then, otherwise: otherwise? });
            Ok(Some(out))
        })
    }

    /// The loop with ends that are read once.
    fn with_bound_ends(&mut self, l: &Loop, out: &mut Block) -> Loop {
        let mut bound = |end: &Affine, what: &str| {
            if !end.has_calls() {
                return end.clone();
            }
            let name = Name::from(format!("{}_{what}", l.var));
            let (var, value) = self.bind_let(&name, end);
            out.push(Stmt::Let { var, mutable: false, value });
            Affine::var(name)
        };
        let lower = l.range.lower.iter().map(|end| bound(end, "lo")).collect();
        let upper = l.range.upper.iter().map(|end| bound(end, "hi")).collect();
        Loop { range: Range { lower, upper }, ..l.clone() }
    }

    /// The search, and the loop over what was found, which does what is its `own`.
    fn narrowed(&mut self, l: &Loop, found: Tests, own: loops::Block) -> Result<Block> {
        let mut out = Vec::new();
        let range = self.sought(l, &found, &mut out);
        // What is narrowed may be part of a segment already.
        let around = self.facts_of(&l.range);
        let facts: Vec<Constraint> =
            around.chain(found.from.iter().chain(&found.upto)).cloned().collect();
        self.windows.push(Window { range: range.clone(), facts: facts.clone() });
        let narrowed = Loop { range: range.clone(), body: own, ..l.clone() };
        let inner = self.for_loop(&narrowed, None);
        self.windows.pop();
        let mut inner = inner?;
        let ends = self.range(&range, false);
        self.say(&l.var, &facts, &ends, &mut inner);
        out.extend(inner);
        Ok(out)
    }

    /// What is known of the numbers of a range that was sought.
    pub(super) fn facts_of(&self, range: &Range) -> impl Iterator<Item = &Constraint> {
        self.windows.iter().filter(move |window| window.range == *range).flat_map(|w| &w.facts)
    }

    /// The tests of a loop, of which some are on what does not fall, if that is not what its last iteration has apart.
    fn on_rising<'a>(
        &mut self,
        l: &Loop,
        said: impl Iterator<Item = (&'a Constraint, Constraint)>,
    ) -> Option<Tests> {
        let mut found = Tests::default();
        for (test, said) in said {
            match coordinate(&said, &l.var) {
                Some((call, sign)) => {
                    if !found.coordinates.contains(&call) {
                        found.coordinates.push(call);
                    }
                    let side = if sign > 0 { &mut found.from } else { &mut found.upto };
                    side.push(said);
                }
                None => found.others.push(test.clone()),
            }
        }
        let ([lo], [hi]) = (l.range.lower.as_slice(), l.range.upper.as_slice()) else {
            return None;
        };
        let ends = Formula::le(self.here(lo), self.here(hi));
        if found.coordinates.is_empty() || !self.path.proves(&ends) {
            return None;
        }
        let next = Affine::var(l.var.clone()) + Affine::constant(1);
        let rises = found.coordinates.iter().map(|call| {
            let coordinate = Affine::atom(Atom::Call(call.clone()));
            let after = coordinate.substitute(&|n| (*n == l.var).then(|| next.clone()));
            Constraint::le(coordinate, after)
        });
        let rises: Vec<Constraint> = rises.collect();
        let tests: Vec<Constraint> = found.from.iter().chain(&found.upto).cloned().collect();
        let (env, depth) = (self.env.clone(), self.path.depth());
        let var = self.bind(&l.var, Type::Unsigned);
        let facts = self.range_facts(&l.range, var);
        self.enter(&facts);
        let in_order = self.hold_before_last(&l.range, var, &rises);
        // Where the tests hold of all but the last, that is apart.
        let hold = in_order && self.hold_before_last(&l.range, var, &tests);
        self.path.leave_to(depth);
        self.env = env;
        (in_order && !hold).then_some(found)
    }

    /// What finds the part of the range of a loop whose numbers pass the tests; the part.
    fn sought(&mut self, l: &Loop, found: &Tests, out: &mut Block) -> Range {
        let mut range = l.range.clone();
        let (_, hi) = self.range(&l.range, false);
        if !found.from.is_empty() {
            let from = self.first_that(l, &range, &hi, "first", out, &|this, at| {
                let tests = found.from.iter().map(|test| test.negated());
                Expr::or(this.tests_at(l, at, tests))
            });
            range.lower = vec![from];
        }
        if !found.upto.is_empty() {
            let upto = self.first_that(l, &range, &hi, "last", out, &|this, at| {
                Expr::and(this.tests_at(l, at, found.upto.iter().cloned()))
            });
            range.upper = vec![upto];
        }
        range
    }

    /// Seeks the first number of a range of which a condition does not hold, and binds it.
    fn first_that(
        &mut self,
        l: &Loop,
        range: &Range,
        hi: &Expr,
        called: &str,
        out: &mut Block,
        holds: &dyn Fn(&mut Self, VarId) -> Expr,
    ) -> Affine {
        let (lo, _) = self.range(range, false);
        let prefix = self.body.prefix(&format!("{}_{called}", l.var));
        let (of_ahead, of_middle) = (holds(self, prefix.ahead), holds(self, prefix.middle));
        out.extend(prefix.search(&lo, hi, of_ahead, of_middle));
        // A window of a window is of the same loop.
        let name = Name::from(format!("sought: {}", self.body.var(prefix.end).name));
        self.env.insert(name.clone(), prefix.end);
        let end = Affine::var(name);
        let mut facts: Vec<Constraint> =
            range.lower.iter().map(|lo| Constraint::le(self.here(lo), self.here(&end))).collect();
        let ends = l.range.upper.iter();
        facts.extend(ends.map(|hi| Constraint::le(self.here(&end), self.here(hi))));
        self.enter(&facts);
        end
    }

    /// Tests of a loop where its variable is another.
    fn tests_at(
        &mut self,
        l: &Loop,
        at: VarId,
        tests: impl Iterator<Item = Constraint>,
    ) -> Vec<Expr> {
        let env = self.env.clone();
        self.env.insert(l.var.clone(), at);
        let facts = self.range_facts(&l.range, at);
        self.enter(&facts);
        let tests: Vec<Constraint> = tests.collect();
        let tests: Vec<Constraint> = self.here_all(&tests);
        let conditions = tests.iter().map(|test| self.constraint(test)).collect();
        self.path.leave();
        self.env = env;
        conditions
    }

    /// Says in the loops from one end to the other what holds of their numbers.
    fn say(&self, var: &Name, facts: &[Constraint], ends: &(Expr, Expr), block: &mut Block) {
        let facts_of = |v: VarId| -> Vec<Constraint> {
            let number = Affine::var(self.body.var(v).name.clone());
            let here =
                |a: &Affine| self.here(a).substitute(&|n| (n == var).then(|| number.clone()));
            facts.iter().map(|c| c.map(here)).collect()
        };
        let ends_so = |lo: &Expr, hi: &Expr| *lo == ends.0 && *hi == ends.1;
        for stmt in block {
            if let Stmt::For { var, lo, hi, body } = stmt
                && ends_so(lo, hi)
            {
                let own = std::mem::take(body);
                *body = vec![Stmt::Given { facts: facts_of(*var), body: own }];
                continue;
            }
            let mut in_sums = |e: &mut Expr| {
                e.visit_mut(&mut |e| {
                    if let Expr::Sum(sum) = e
                        && ends_so(&sum.lo, &sum.hi)
                    {
                        let facts = facts_of(sum.var);
                        let terms = sum.lets.iter_mut().map(|(_, e)| e).chain([&mut sum.term]);
                        for term in terms {
                            let value = Box::new(std::mem::replace(term, Expr::Unset));
                            *term = Expr::Given { facts: facts.clone(), value };
                        }
                    }
                });
            };
            stmt.parts_mut(&mut in_sums, &mut |inner| self.say(var, facts, ends, inner));
        }
    }
}

/// Whether something is walked or searched inside.
fn has_loops(block: &loops::Block) -> bool {
    block.iter().any(|node| match node {
        Node::Let { .. } | Node::Update(_) | Node::Take(_) | Node::Begin(_) => false,
        Node::If { body, .. } | Node::Held { body, .. } | Node::Piece(body) => has_loops(body),
        Node::Assemble(a) => has_loops(&a.body),
        _ => true,
    })
}

/// The element of an index array at `p` on whose size alone a test depends, and the sign with which it does.
fn coordinate(test: &Constraint, p: &Name) -> Option<(Call, i64)> {
    match test.relop {
        Relop::Ge => rises_with(&test.affine, p),
        Relop::Eq | Relop::Ne => None,
    }
}

/// The element of an index array at `p` with which alone a number rises (1), or falls (-1).
fn rises_with(number: &Affine, p: &Name) -> Option<(Call, i64)> {
    let mut depending =
        number.terms().iter().filter(|(atom, _)| Affine::atom(atom.clone()).mentions(p));
    let (atom, factor) = depending.next()?;
    if depending.next().is_some() {
        return None;
    }
    match atom {
        Atom::Call(call) if call.args == [Affine::var(p.clone())] => {
            Some((call.clone(), factor.signum()))
        }
        Atom::Floor(inner, _) => {
            let (call, sign) = rises_with(inner, p)?;
            Some((call, sign * factor.signum()))
        }
        _ => None,
    }
}
