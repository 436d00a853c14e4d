//! What a prover was asked, by content: the same question is decided once.
//!
//! A conjunction is known by a number, which it gets by adding its formulas one after another to that of
//! the empty one: equal lists of formulas have equal numbers, and no others.

use std::rc::Rc;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::Model;
use crate::formula::Formula;

/// The number of a conjunction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Conjunction(u32);

/// What was found of a conjunction.
#[derive(Clone, Debug)]
pub(super) enum Found {
    Unsat,
    /// With a model, if one was wanted.
    Sat(Option<Rc<Model>>),
    Unknown(String),
}

/// Formulas that are remembered at a time.
const MOST: usize = 50_000;

/// Models of a conjunction that are tried on what is added to it.
const MODELS: usize = 8;

/// Answers by question. Numbers are of use until [`Memory::forget_if_full`].
#[derive(Default)]
pub(super) struct Memory {
    formulas: IndexSet<Formula, FxBuildHasher>,
    /// What a conjunction becomes with one more formula.
    longer: FxHashMap<(Conjunction, usize), Conjunction>,
    found: FxHashMap<Conjunction, Found>,
    /// Models that satisfy a conjunction, the latest last.
    models: FxHashMap<Conjunction, Vec<Rc<Model>>>,
}

impl Memory {
    /// The number of a formula.
    pub fn formula(&mut self, formula: &Formula) -> usize {
        match self.formulas.get_index_of(formula) {
            Some(number) => number,
            None => self.formulas.insert_full(formula.clone()).0,
        }
    }

    /// The conjunction of another one and of `formulas`, which are numbers.
    pub fn and(&mut self, mut all: Conjunction, formulas: &[usize]) -> Conjunction {
        for formula in formulas {
            // The empty one is 0.
            let new = Conjunction(self.longer.len() as u32 + 1);
            all = *self.longer.entry((all, *formula)).or_insert(new);
        }
        all
    }

    pub fn get(&self, formula: usize) -> &Formula {
        &self.formulas[formula]
    }

    pub fn found(&self, all: Conjunction) -> Option<&Found> {
        self.found.get(&all)
    }

    pub fn keep(&mut self, all: Conjunction, found: Found) {
        self.found.insert(all, found);
    }

    /// A model of `all` that satisfies `formulas`, too, among those that are remembered.
    pub fn model(&self, all: Conjunction, formulas: &[usize]) -> Option<Rc<Model>> {
        let fits = |model: &&Rc<Model>| {
            // What comes last is the question, which most models fail.
            formulas.iter().rev().all(|f| model.satisfies(self.get(*f)) == Some(true))
        };
        self.models.get(&all)?.iter().rev().find(fits).cloned()
    }

    /// Remembers a model of `all`.
    pub fn keep_model(&mut self, all: Conjunction, model: &Rc<Model>) {
        let models = self.models.entry(all).or_default();
        if models.len() == MODELS {
            models.remove(0);
        }
        models.push(model.clone());
    }

    /// Whether all was forgotten, since it was too much.
    pub fn forget_if_full(&mut self) -> bool {
        let full = self.formulas.len() > MOST || self.longer.len() > 8 * MOST;
        if full {
            *self = Memory::default();
        }
        full
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::parse;

    #[test]
    fn equal_lists_of_formulas_are_one_conjunction() {
        let mut memory = Memory::default();
        let mut numbers = |texts: &[&str]| -> Vec<usize> {
            texts.iter().map(|t| memory.formula(&parse::formula(t).unwrap())).collect()
        };
        let (a, b) = (numbers(&["x < y", "y < z"]), numbers(&["y < z"]));
        let empty = Conjunction::default();
        let at_once = memory.and(empty, &a);
        let first = memory.and(empty, &a[..1]);
        assert_eq!(memory.and(first, &b), at_once);
        assert_ne!(memory.and(empty, &b), at_once);
        assert_ne!(memory.and(at_once, &[]), first);
    }
}
