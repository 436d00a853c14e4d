//! Formulas as comparisons of terms, each made once.
//!
//! Before → after: `p + 7 < hi => 0 <= crd(p)` becomes `any(p - hi >= -7, crd(p) - 0 >= 0)`, with the negations at the
//! comparisons. A term is the sum of an affine form without its constant: one atom where that does.

use std::ops::RangeInclusive;
use std::rc::Rc;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::formula::{Affine, Atom, Constraint, Formula, Relop};

/// The number of a term.
pub(super) type Term = usize;

/// The empty sum.
pub(super) const ZERO: Term = 0;

/// The largest factor in sums that are taken apart.
const LARGEST: u64 = 1 << 60;

/// `left - right` is at least, is, or is not a number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Difference {
    pub left: Term,
    pub right: Term,
    pub relop: Relop,
    pub by: i64,
}

/// A formula of differences. What is none is open: it may be true or false.
#[derive(Clone, Debug)]
pub(super) enum Claim {
    Difference(Difference),
    All(Rc<[Claim]>),
    Any(Rc<[Claim]>),
    Open,
}

/// `times * (left - right) = first - by * second`, with `times > 0`.
#[derive(Clone, Copy)]
pub(super) struct Equation {
    pub first: Term,
    pub by: i64,
    pub second: Term,
    pub left: Term,
    pub right: Term,
    pub times: i64,
}

/// All terms, and what is known of them by what they are.
#[derive(Default)]
pub(super) struct Terms {
    terms: IndexSet<Vec<(Atom, i64)>, FxBuildHasher>,
    /// By the number of a formula.
    claims: FxHashMap<usize, Claim>,
    definitions: FxHashMap<Term, Rc<[Claim]>>,
    equations: FxHashMap<(Term, Term), Rc<[Equation]>>,
    congruences: FxHashMap<(Term, Term), Option<Rc<[Difference]>>>,
}

impl Claim {
    fn truth(holds: bool) -> Claim {
        let parts = Rc::new([]);
        if holds { Claim::All(parts) } else { Claim::Any(parts) }
    }
}

impl Terms {
    pub fn new() -> Self {
        let mut out = Terms::default();
        let zero = out.term(Vec::new());
        debug_assert_eq!(zero, ZERO);
        out
    }

    fn term(&mut self, terms: Vec<(Atom, i64)>) -> Term {
        self.terms.insert_full(terms).0
    }

    /// What a formula says, which has a number.
    pub fn says(&mut self, number: usize, formula: &Formula) -> Claim {
        match self.claims.get(&number) {
            Some(claim) => claim.clone(),
            None => {
                let claim = self.claim(formula, true);
                self.claims.insert(number, claim.clone());
                claim
            }
        }
    }

    /// A formula, or its negation.
    fn claim(&mut self, formula: &Formula, holds: bool) -> Claim {
        let mut each = |parts: &[Formula], holds| -> Rc<[Claim]> {
            parts.iter().map(|part| self.claim(part, holds)).collect()
        };
        match formula {
            Formula::Constraint(constraint) if holds => self.constraint(constraint),
            Formula::Constraint(constraint) => self.constraint(&constraint.negated()),
            Formula::And(parts) if holds => Claim::All(each(parts, true)),
            Formula::And(parts) => Claim::Any(each(parts, false)),
            Formula::Or(parts) if holds => Claim::Any(each(parts, true)),
            Formula::Or(parts) => Claim::All(each(parts, false)),
            Formula::Not(inner) => self.claim(inner, !holds),
            Formula::Implies(condition, then) => {
                let parts = [self.claim(condition, !holds), self.claim(then, holds)].into();
                if holds { Claim::Any(parts) } else { Claim::All(parts) }
            }
            Formula::Predicate(..) => Claim::Open,
        }
    }

    fn constraint(&mut self, constraint: &Constraint) -> Claim {
        match constraint.as_bool() {
            Some(holds) => Claim::truth(holds),
            None => self.compare(&constraint.affine, constraint.relop),
        }
    }

    /// `sum relop 0` of a sum that is no constant.
    fn compare(&mut self, sum: &Affine, relop: Relop) -> Claim {
        let content = sum.content().max(1);
        if relop != Relop::Ge && sum.offset() % content != 0 {
            return Claim::truth(relop == Relop::Ne);
        }
        // What bounds whole numbers is rounded up.
        let Some(by) = sum.offset().div_euclid(content).checked_neg() else { return Claim::Open };
        let (left, right) = self.sides(sum, content);
        Claim::Difference(Difference { left, right, relop, by })
    }

    /// The terms of which a sum without its constant is a multiple of the difference.
    fn sides(&mut self, sum: &Affine, content: i64) -> (Term, Term) {
        let divided = |(atom, by): &(Atom, i64)| (atom.clone(), by / content);
        let terms: Vec<(Atom, i64)> = sum.terms().iter().map(divided).collect();
        let single = |atom: &Atom| vec![(atom.clone(), 1)];
        let (left, right) = match terms.as_slice() {
            [(one, 1), (other, -1)] | [(other, -1), (one, 1)] => (single(one), single(other)),
            [(_, first), ..] if *first < 0 => {
                (Vec::new(), terms.into_iter().map(|(atom, by)| (atom, -by)).collect())
            }
            _ => (terms, Vec::new()),
        };
        (self.term(left), self.term(right))
    }

    /// What holds of a term by what it is. `floor(e / d)` lies between `(e - d + 1) / d` and `e / d`, and is at most `e`
    /// where that is not negative.
    pub fn definition(&mut self, term: Term) -> Rc<[Claim]> {
        if let Some(known) = self.definitions.get(&term) {
            return known.clone();
        }
        let claims: Rc<[Claim]> = match self.terms[term].as_slice() {
            [(floor @ Atom::Floor(inner, divisor), 1)] => {
                let (floor, inner) = (Affine::atom(floor.clone()), (**inner).clone());
                let product = floor.clone() * *divisor;
                let most = product.clone() + Affine::constant(divisor - 1);
                let said = [
                    Formula::le(product, inner.clone()),
                    Formula::le(inner.clone(), most),
                    Formula::le(Affine::zero(), inner.clone()).implies(Formula::le(floor, inner)),
                ];
                said.iter().map(|formula| self.claim(formula, true)).collect()
            }
            _ => Rc::new([]),
        };
        self.definitions.insert(term, claims.clone());
        claims
    }

    /// Whether a term has so many atoms, with factors of which 64 bits hold sums.
    fn is_sum_of(&self, term: Term, atoms: RangeInclusive<usize>) -> bool {
        let terms = &self.terms[term];
        atoms.contains(&terms.len()) && terms.iter().all(|(_, by)| by.unsigned_abs() <= LARGEST)
    }

    /// A sum of two or three atoms without each of them. Longer ones are not taken apart.
    pub fn parts(&mut self, sum: Term) -> Rc<[Equation]> {
        if let Some(known) = self.equations.get(&(sum, sum)) {
            return known.clone();
        }
        let mut parts = Vec::new();
        let terms = match self.is_sum_of(sum, 2..=3) {
            true => self.terms[sum].clone(),
            false => Vec::new(),
        };
        for k in 0..terms.len() {
            let mut others = terms.clone();
            let (atom, by) = others.remove(k);
            let second = self.term(vec![(atom, 1)]);
            parts.push(self.equation(sum, by, second, &Affine::from_terms(others, 0)));
        }
        self.remember((sum, sum), parts)
    }

    /// The sum and the difference of two sums of two atoms, where one atom is in both and drops out.
    pub fn combined(&mut self, one: Term, other: Term) -> Rc<[Equation]> {
        if one == other || !self.is_sum_of(one, 2..=2) || !self.is_sum_of(other, 2..=2) {
            return Rc::new([]);
        }
        if let Some(known) = self.equations.get(&(one, other)) {
            return known.clone();
        }
        let affine = |term: Term| Affine::from_terms(self.terms[term].iter().cloned(), 0);
        let (a, b) = (affine(one), affine(other));
        let both = [(1, a.clone() - b.clone()), (-1, a + b)];
        let found = both.iter().filter(|(_, rest)| rest.terms().len() == 2);
        let found = found.map(|(by, rest)| self.equation(one, *by, other, rest)).collect();
        self.remember((one, other), found)
    }

    fn equation(&mut self, first: Term, by: i64, second: Term, rest: &Affine) -> Equation {
        let times = rest.content();
        let (left, right) = self.sides(rest, times);
        Equation { first, by, second, left, right, times }
    }

    fn remember(&mut self, of: (Term, Term), equations: Vec<Equation>) -> Rc<[Equation]> {
        let equations: Rc<[Equation]> = equations.into();
        self.equations.insert(of, equations.clone());
        equations
    }

    /// What makes the arguments of two calls of one array equal.
    pub fn congruence(&mut self, one: Term, other: Term) -> Option<Rc<[Difference]>> {
        let call = |term: Term| match self.terms[term].as_slice() {
            [(Atom::Call(call), 1)] => Some(call),
            _ => None,
        };
        let (a, b) = (call(one)?, call(other)?);
        if a.array != b.array || a.args.len() != b.args.len() {
            return None;
        }
        if let Some(known) = self.congruences.get(&(one, other)) {
            return known.clone();
        }
        let equal = |(a, b): (&Affine, &Affine)| Constraint::eq(a.clone(), b.clone());
        let equal: Vec<Constraint> = a.args.iter().zip(&b.args).map(equal).collect();
        let open = equal.iter().filter(|equal| equal.as_bool() != Some(true));
        let arguments: Option<Rc<[Difference]>> = open
            .map(|equal| match self.constraint(equal) {
                Claim::Difference(difference) => Some(difference),
                _ => None,
            })
            .collect();
        self.congruences.insert((one, other), arguments.clone());
        arguments
    }
}
