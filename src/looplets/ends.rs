//! Where the regions of positions end: proofs by Z3.
//!
//! That the points of regions come in order says nothing of where a region ends that holds none. Regions are walked by
//! their ends, empty or not, so that these must come in order, too.

use crate::formula::{Affine, Constraint, Formula, Name};
use crate::prover::Prover;
use crate::scan::Range;
use crate::theory::{Known, Theory};

/// The positions of a range, each of which has a region.
pub(super) struct Ends<'a> {
    pub var: &'a Name,
    pub range: &'a Range,
    /// What holds around them.
    pub known: &'a [Constraint],
    pub theory: &'a Theory,
    pub prover: &'a mut dyn Prover,
}

impl Ends<'_> {
    /// Whether regions follow each other without a gap, from the beginning on.
    pub fn are_adjacent(self, region: &Range) -> bool {
        let [from] = self.range.lower.as_slice() else { return false };
        let here = Affine::var(self.var.clone());
        let before = here.clone() - Affine::constant(1);
        let ends_before: Vec<Affine> = region.upper.iter().map(|e| self.at(e, &before)).collect();
        let starts: Vec<Affine> = region.lower.iter().map(|e| self.at(e, from)).collect();
        let mut later = self.known.to_vec();
        later.extend(self.range.of(&here));
        later.push(Constraint::lt(from.clone(), here));
        let mut first = self.known.to_vec();
        first.extend(self.range.of(from));
        let theory = self.theory;
        are_at_most((theory, &mut *self.prover), &later, &region.lower, &ends_before)
            && are_at_most((theory, self.prover), &first, &starts, &[Affine::zero()])
    }

    /// Whether a region ends before each later one that is not empty, even if it is empty itself. `later` is a name
    /// that is free; positions pass `tests`.
    pub fn lie_apart(self, later: &Name, region: &Range, tests: &[Formula]) -> bool {
        let at_later = |n: &Name| (n == self.var).then(|| Affine::var(later.clone()));
        let (here, next) = (Affine::var(self.var.clone()), Affine::var(later.clone()));
        let mut known = self.known.to_vec();
        known.extend(self.range.of(&here));
        known.extend(self.range.of(&next));
        known.push(Constraint::lt(here, next));
        known.extend(is_not_empty(region).iter().map(|c| c.substitute(&at_later)));
        let mut facts = formulas(&known);
        facts.extend(tests.iter().cloned());
        facts.extend(tests.iter().map(|test| test.substitute(&at_later)));
        let ends = |stop: &Affine, begin: &Affine| {
            Formula::Constraint(Constraint::le(stop.clone(), begin.substitute(&at_later)))
        };
        // The least of the stops is at most the greatest of the beginnings.
        let begins = &region.lower;
        let pairs = region.upper.iter().flat_map(|stop| begins.iter().map(move |b| ends(stop, b)));
        let claim = Formula::or(pairs);
        let mut all = Known::new(self.theory, self.prover);
        all.enter_formulas(&facts, &formulas(&is_not_empty(region)));
        all.imply(&[], &claim)
    }

    /// Whether no stop is less than the one of the position before; `begins` are those of its region.
    pub fn stops_rise(self, begins: &[Affine], stops: &[Affine]) -> bool {
        let here = Affine::var(self.var.clone());
        let next = here.clone() + Affine::constant(1);
        let mut known = self.known.to_vec();
        known.extend(self.range.of(&here));
        known.extend(self.range.of(&next));
        let pairs = |ends: &[Affine]| -> Vec<Constraint> {
            ends.iter().map(|e| Constraint::le(e.clone(), self.at(e, &next))).collect()
        };
        // What is known of a stop may be known by where its region begins.
        let (sights, claims) = (formulas(&pairs(begins)), pairs(stops));
        let mut all = Known::new(self.theory, self.prover);
        all.enter_formulas(&formulas(&known), &sights);
        // The least of several does not fall if none of them does.
        all.proves_all(&claims)
    }

    /// An end, at another position.
    fn at(&self, end: &Affine, position: &Affine) -> Affine {
        end.substitute(&|n| (n == self.var).then(|| position.clone()))
    }
}

/// Whether each of some forms is proved to be at most each of others.
pub(super) fn are_at_most(
    (theory, prover): (&Theory, &mut dyn Prover),
    known: &[Constraint],
    a: &[Affine],
    b: &[Affine],
) -> bool {
    let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a, b)));
    let claims: Vec<Constraint> =
        pairs.map(|(a, b)| Constraint::le(a.clone(), b.clone())).collect();
    let mut all = Known::new(theory, prover);
    all.enter(known);
    all.proves_all(&claims)
}

/// That a region holds something: all that begins it lies before all that ends it.
pub(super) fn is_not_empty(region: &Range) -> Vec<Constraint> {
    let begins = |stop: &Affine| -> Vec<Constraint> {
        region.lower.iter().map(|begin| Constraint::lt(begin.clone(), stop.clone())).collect()
    };
    region.upper.iter().flat_map(begins).collect()
}

/// Constraints, as formulas.
pub(super) fn formulas(constraints: &[Constraint]) -> Vec<Formula> {
    constraints.iter().cloned().map(Formula::Constraint).collect()
}
