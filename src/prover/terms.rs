//! The variables and calls of a query, and the truth of a formula once they have values.

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use crate::formula::{Affine, Atom, Call, Constraint, Formula, Name, Relop};

/// Every variable and every distinct call of some facts, in order of first occurrence; a call
/// comes after the calls in its arguments.
#[derive(Clone, Debug, Default)]
pub(super) struct Terms {
    pub vars: IndexSet<Name, FxBuildHasher>,
    pub calls: IndexSet<Call, FxBuildHasher>,
}

impl Terms {
    pub fn of<'f>(facts: impl IntoIterator<Item = &'f Formula>) -> Terms {
        let mut terms = Terms::default();
        for fact in facts {
            fact.visit_affine(&mut |affine| terms.add(affine));
        }
        terms
    }

    /// Where [`Terms::vars`] followed by [`Terms::calls`] has an atom.
    pub fn position(&self, atom: &Atom) -> Option<usize> {
        match atom {
            Atom::Var(name) => self.vars.get_index_of(name),
            Atom::Call(call) => self.calls.get_index_of(call).map(|k| self.vars.len() + k),
            Atom::Floor(..) => None,
        }
    }

    fn add(&mut self, affine: &Affine) {
        for (atom, _) in affine.terms() {
            match atom {
                Atom::Var(name) => {
                    if !self.vars.contains(name) {
                        self.vars.insert(name.clone());
                    }
                }
                Atom::Call(call) => {
                    if !self.calls.contains(call) {
                        call.args.iter().for_each(|arg| self.add(arg));
                        self.calls.insert(call.clone());
                    }
                }
                Atom::Floor(inner, _) => self.add(inner),
            }
        }
    }
}

/// The value of a linear form when `value` knows its variables and calls. `None` when it does not,
/// or beyond 64 bits.
pub(super) fn value_of(affine: &Affine, value: &impl Fn(&Atom) -> Option<i64>) -> Option<i64> {
    affine.terms().iter().try_fold(affine.offset(), |sum, (atom, coefficient)| {
        let atom = match atom {
            Atom::Floor(inner, divisor) => value_of(inner, value)?.div_euclid(*divisor),
            other => value(other)?,
        };
        sum.checked_add(coefficient.checked_mul(atom)?)
    })
}

/// The truth of a formula when `value` knows its variables and calls; `None` as in [`value_of`].
pub(super) fn truth_of(formula: &Formula, value: &impl Fn(&Atom) -> Option<i64>) -> Option<bool> {
    // Three-valued: an unknown part may not matter.
    let junction = |parts: &[Formula], absorbing: bool| {
        let mut known = true;
        for part in parts {
            match truth_of(part, value) {
                Some(truth) if truth == absorbing => return Some(absorbing),
                Some(_) => {}
                None => known = false,
            }
        }
        known.then_some(!absorbing)
    };
    match formula {
        Formula::Constraint(Constraint { affine, relop }) => {
            let value = value_of(affine, value)?;
            Some(match relop {
                Relop::Eq => value == 0,
                Relop::Ge => value >= 0,
                Relop::Ne => value != 0,
            })
        }
        Formula::And(parts) => junction(parts, false),
        Formula::Or(parts) => junction(parts, true),
        Formula::Not(inner) => truth_of(inner, value).map(|truth| !truth),
        Formula::Implies(condition, then) => match truth_of(condition, value) {
            Some(false) => Some(true),
            Some(true) => truth_of(then, value),
            None => truth_of(then, value).filter(|&then| then),
        },
        Formula::Predicate(name, _) => unexpanded(name),
    }
}

/// Predicates are defined by find templates, whose owner expands them before it asks.
pub(super) fn unexpanded(name: &Name) -> ! {
    panic!("predicate `{name}` must be expanded before proving")
}
