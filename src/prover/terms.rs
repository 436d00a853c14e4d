//! The variables and calls of a query.

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use crate::formula::{Affine, Atom, Call, Formula, Name};

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

/// Predicates are defined by find templates, whose owner expands them before it asks.
pub(super) fn unexpanded(name: &Name) -> ! {
    panic!("predicate `{name}` must be expanded before proving")
}
