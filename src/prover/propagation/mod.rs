//! Bounds that facts give to differences, propagated: do they contradict each other?
//!
//! In: facts, scope by scope. Out: true if they cannot hold together. Most claims about positions are decided like
//! this, in a fraction of the time in which a solver is told of them; of all others, nothing is said.
//!
//! ```text
//! lo <= p,  p + 7 < hi,  0 <= hi <= n => 0 <= crd(p + 3),  not (0 <= p + 3 and p + 3 < hi)
//! ```
//! A fact bounds the difference of two terms by a number: `p - hi` is at most -8. The greatest lower bound of each
//! difference is kept, with all that follows from chains of them. Other sums are terms themselves; they are taken apart
//! by the bounds of their parts. Of a disjunction of which all parts but one are refuted, that one is a fact; the
//! disjunctions of the last scope, which is the question, are tried part by part. Calls with equal arguments are equal.
//! Bounds that 64 bits do not hold are left out.
//!
//! Miné 2001, "A new numerical abstract domain based on difference-bound matrices", §3; Davis, Logemann and Loveland
//! 1962, "A machine program for theorem-proving" (unit propagation).

mod bounds;
mod terms;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use bounds::{Bounds, Mark};
use terms::{Claim, Difference, Equation, Term, Terms, ZERO};

use crate::formula::{Formula, Relop};

/// How often conclusions are drawn from conclusions: sums may raise bounds without end.
const ROUNDS: usize = 12;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Holds,
    Fails,
    Open,
}

/// What there was before a scope.
struct Scope {
    bounds: Mark,
    unequal: usize,
    alternatives: usize,
    settled: usize,
    congruences: usize,
    equations: usize,
    contradicts: bool,
}

/// Facts in scopes, and what follows from them.
pub(super) struct Propagation {
    terms: Terms,
    bounds: Bounds,
    unequal: Vec<Difference>,
    /// Disjunctions, and whether they say nothing more.
    alternatives: Vec<(Rc<[Claim]>, bool)>,
    settled: Vec<usize>,
    /// Two calls of one array, and what makes their arguments equal.
    congruences: Vec<(Term, Term, Rc<[Difference]>)>,
    equations: Vec<Equation>,
    contradicts: bool,
    scopes: Vec<Scope>,
}

impl Default for Propagation {
    fn default() -> Self {
        let mut bounds = Bounds::new();
        bounds.see(ZERO);
        Propagation {
            terms: Terms::new(),
            bounds,
            unequal: Vec::new(),
            alternatives: Vec::new(),
            settled: Vec::new(),
            congruences: Vec::new(),
            equations: Vec::new(),
            contradicts: false,
            scopes: Vec::new(),
        }
    }
}

impl Propagation {
    /// How many scopes there are.
    pub fn depth(&self) -> usize {
        self.scopes.len()
    }

    /// Adds formulas, given with their numbers, until the matching [`Propagation::pop`].
    pub fn push<'f>(&mut self, formulas: impl Iterator<Item = (usize, &'f Formula)>) {
        self.open();
        for (number, formula) in formulas {
            let claim = self.terms.says(number, formula);
            self.assume(&claim);
        }
        self.conclude();
    }

    /// Drops the formulas of the last [`Propagation::push`].
    pub fn pop(&mut self) {
        let Some(scope) = self.scopes.pop() else { return };
        self.bounds.back_to(scope.bounds);
        self.unequal.truncate(scope.unequal);
        for settled in self.settled.drain(scope.settled..) {
            self.alternatives[settled].1 = false;
        }
        self.alternatives.truncate(scope.alternatives);
        self.congruences.truncate(scope.congruences);
        self.equations.truncate(scope.equations);
        self.contradicts = scope.contradicts;
    }

    /// Whether the formulas are seen to contradict each other.
    pub fn contradict(&mut self) -> bool {
        let first = self.scopes.last().map_or(0, |scope| scope.alternatives);
        self.contradicts || (first..self.alternatives.len()).any(|k| self.fails_in_all_cases(k))
    }

    fn fails_in_all_cases(&mut self, alternative: usize) -> bool {
        let (parts, is_settled) = self.alternatives[alternative].clone();
        !is_settled
            && parts.iter().all(|part| {
                self.open();
                self.assume(part);
                self.conclude();
                let fails = self.contradicts;
                self.pop();
                fails
            })
    }

    fn open(&mut self) {
        self.scopes.push(Scope {
            bounds: self.bounds.mark(),
            unequal: self.unequal.len(),
            alternatives: self.alternatives.len(),
            settled: self.settled.len(),
            congruences: self.congruences.len(),
            equations: self.equations.len(),
            contradicts: self.contradicts,
        });
    }

    /// Brings a term into sight, with what is known of it.
    fn see(&mut self, term: Term) {
        if !self.bounds.see(term) {
            return;
        }
        self.equations.extend(self.terms.parts(term).iter());
        for other in self.bounds.in_sight().to_vec() {
            self.equations.extend(self.terms.combined(other, term).iter());
            if other != term
                && let Some(arguments) = self.terms.congruence(other, term)
            {
                self.congruences.push((other, term, arguments));
            }
        }
        for claim in self.terms.definition(term).iter() {
            self.assume(claim);
        }
    }

    fn assume(&mut self, claim: &Claim) {
        match claim {
            Claim::Difference(difference) => {
                let Difference { left, right, relop, by } = *difference;
                match relop {
                    Relop::Ge => self.bound(left, right, by),
                    Relop::Eq => self.equal(left, right, by),
                    Relop::Ne => {
                        self.see(left);
                        self.see(right);
                        self.unequal.push(*difference);
                    }
                }
            }
            Claim::All(parts) => parts.iter().for_each(|part| self.assume(part)),
            Claim::Any(parts) => {
                parts.iter().for_each(|part| self.define(part));
                self.alternatives.push((parts.clone(), false));
            }
            Claim::Open => {}
        }
    }

    /// Brings the terms into sight of which something is known by what they are.
    fn define(&mut self, claim: &Claim) {
        match claim {
            Claim::Difference(Difference { left, right, .. }) => {
                for term in [*left, *right] {
                    if !self.terms.definition(term).is_empty() {
                        self.see(term);
                    }
                }
            }
            Claim::All(parts) | Claim::Any(parts) => {
                parts.iter().for_each(|part| self.define(part));
            }
            Claim::Open => {}
        }
    }

    fn equal(&mut self, left: Term, right: Term, by: i64) {
        self.bound(left, right, by);
        if let Some(by) = by.checked_neg() {
            self.bound(right, left, by);
        }
    }

    /// `left - right >= by`.
    fn bound(&mut self, left: Term, right: Term, by: i64) {
        if self.contradicts || self.bounds.is_at_least(left, right, by) {
            return;
        }
        if self.bounds.is_less_than(left, right, by) {
            self.contradicts = true;
            return;
        }
        self.see(left);
        self.see(right);
        self.bounds.raise(left, right, by);
    }

    fn status(&self, claim: &Claim) -> Status {
        let decided = |parts: &[Claim], by: Status, otherwise: Status| {
            let mut all = otherwise;
            for part in parts {
                match self.status(part) {
                    status if status == by => return by,
                    Status::Open => all = Status::Open,
                    _ => {}
                }
            }
            all
        };
        match claim {
            Claim::Difference(difference) => self.status_of(difference),
            Claim::All(parts) => decided(parts, Status::Fails, Status::Holds),
            Claim::Any(parts) => decided(parts, Status::Holds, Status::Fails),
            Claim::Open => Status::Open,
        }
    }

    fn status_of(&self, difference: &Difference) -> Status {
        let Difference { left, right, relop, by } = *difference;
        let bounds = &self.bounds;
        let is_less = bounds.is_less_than(left, right, by);
        let is_apart = is_less || bounds.is_more_than(left, right, by);
        let is_at_least = bounds.is_at_least(left, right, by);
        let is_equal = is_at_least && bounds.is_at_most(left, right, by);
        let (holds, fails) = match relop {
            Relop::Ge => (is_at_least, is_less),
            Relop::Eq => (is_equal, is_apart),
            Relop::Ne => (is_apart, is_equal),
        };
        match (holds, fails) {
            (true, _) => Status::Holds,
            (_, true) => Status::Fails,
            _ => Status::Open,
        }
    }

    /// Draws conclusions from what is new in the last scope.
    fn conclude(&mut self) {
        let Some(scope) = self.scopes.last() else { return };
        // Without other bounds, disjunctions from before say nothing new.
        let is_bounded = self.bounds.mark() != scope.bounds;
        let mut first = if is_bounded { 0 } else { scope.alternatives };
        for _ in 0..ROUNDS {
            let before = (self.bounds.mark(), self.settled.len());
            for k in 0..self.unequal.len() {
                self.move_apart(self.unequal[k]);
            }
            for k in 0..self.congruences.len() {
                let (one, other, arguments) = self.congruences[k].clone();
                if arguments.iter().all(|a| self.status_of(a) == Status::Holds) {
                    self.equal(one, other, 0);
                }
            }
            for k in 0..self.equations.len() {
                self.solve(self.equations[k]);
            }
            for k in first..self.alternatives.len() {
                if self.contradicts {
                    return;
                }
                self.settle(k);
            }
            if self.contradicts || before == (self.bounds.mark(), self.settled.len()) {
                return;
            }
            first = 0;
        }
    }

    /// What is not equal to its least value is more; to its greatest, less.
    fn move_apart(&mut self, unequal: Difference) {
        let Difference { left, right, by, .. } = unequal;
        if let Some(more) = by.checked_add(1).filter(|_| self.bounds.is_at_least(left, right, by)) {
            self.bound(left, right, more);
        }
        let less = by.checked_neg().and_then(|by| by.checked_add(1));
        if let Some(less) = less.filter(|_| self.bounds.is_at_most(left, right, by)) {
            self.bound(right, left, less);
        }
    }

    /// What the bounds of two of three terms say of the third.
    fn solve(&mut self, equation: Equation) {
        let Equation { first, by, second, left, right, times } = equation;
        // The least values of a term and of its negative.
        let of = |left, right| (self.bounds.least(left, right), self.bounds.least(right, left));
        let (first_is, second_is, rest_is) = (of(first, ZERO), of(second, ZERO), of(left, right));
        // `by * second` and `times * (left - right)`.
        let second_is = if by > 0 { second_is } else { (second_is.1, second_is.0) };
        let scaled = |least: Option<i64>, by: i64| least?.checked_mul(by);
        let second_is = (scaled(second_is.0, by.abs()), scaled(second_is.1, by.abs()));
        let rest_is = (scaled(rest_is.0, times), scaled(rest_is.1, times));
        let sum = |a: Option<i64>, b: Option<i64>| a?.checked_add(b?);
        let divided = |least: i64| least.checked_neg()?.div_euclid(times).checked_neg();
        if let Some(least) = sum(first_is.0, second_is.1).and_then(divided) {
            self.bound(left, right, least);
        }
        if let Some(least) = sum(first_is.1, second_is.0).and_then(divided) {
            self.bound(right, left, least);
        }
        if let Some(least) = sum(second_is.0, rest_is.0) {
            self.bound(first, ZERO, least);
        }
        if let Some(least) = sum(second_is.1, rest_is.1) {
            self.bound(ZERO, first, least);
        }
    }

    /// The only part of a disjunction that may hold is a fact.
    fn settle(&mut self, alternative: usize) {
        let (parts, is_settled) = &self.alternatives[alternative];
        if *is_settled {
            return;
        }
        let mut only = None;
        let mut holds = false;
        for part in parts.iter() {
            match self.status(part) {
                Status::Holds => holds = true,
                Status::Fails => {}
                Status::Open if only.is_some() => return,
                Status::Open => only = Some(part.clone()),
            }
        }
        if !holds {
            match only {
                Some(part) => self.assume(&part),
                None => self.contradicts = true,
            }
        }
        self.alternatives[alternative].1 = true;
        self.settled.push(alternative);
    }
}
