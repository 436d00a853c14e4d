//! What a prover was asked, by content: the same question is decided once.
//!
//! A conjunction is known by a number, which it gets by adding its formulas one after another to that of
//! the empty one: equal lists of formulas have equal numbers, and no others.

use std::rc::Rc;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::{Model, kept};
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
    /// The same by number, from the first that is not empty.
    made: Vec<(Conjunction, usize)>,
    /// What tells formulas apart, and conjunctions, for what is kept from run to run.
    of_formulas: FxHashMap<usize, u128>,
    digests: FxHashMap<Conjunction, u128>,
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
            let new = Conjunction(self.made.len() as u32 + 1);
            let longer = *self.longer.entry((all, *formula)).or_insert(new);
            if longer == new {
                self.made.push((all, *formula));
            }
            all = longer;
        }
        all
    }

    /// What tells a conjunction from all others, in any run.
    pub fn digest(&mut self, all: Conjunction) -> u128 {
        let mut last: Vec<usize> = Vec::new();
        let mut first = all;
        while first != Conjunction::default() && !self.digests.contains_key(&first) {
            let (shorter, formula) = self.made[first.0 as usize - 1];
            last.push(formula);
            first = shorter;
        }
        let mut digest = self.digests.get(&first).copied().unwrap_or_default();
        for formula in last.into_iter().rev() {
            let own = self.of_formulas.entry(formula);
            let own = *own.or_insert_with(|| kept::digest(&self.formulas[formula]));
            digest = kept::digest(&(digest, own));
        }
        self.digests.insert(all, digest);
        digest
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

    /// A model of `all`, if one is remembered.
    pub fn model(&self, all: Conjunction) -> Option<&Rc<Model>> {
        self.models.get(&all)?.last()
    }

    /// Remembers a model of `all`.
    pub fn keep_model(&mut self, all: Conjunction, model: &Rc<Model>) {
        let models = self.models.entry(all).or_default();
        if models.len() == MODELS {
            models.remove(0);
        }
        models.push(model.clone());
    }

    /// Models of `all` are those of `longer`, of `formulas` besides, that satisfy these.
    pub fn pass_models(&mut self, all: Conjunction, longer: Conjunction, formulas: &[usize]) {
        let Some(models) = self.models.get(&all).filter(|_| longer != all) else { return };
        if self.models.contains_key(&longer) {
            return;
        }
        let fits = |model: &&Rc<Model>| {
            // What comes last is the question, which most models fail.
            formulas.iter().rev().all(|f| model.satisfies(self.get(*f)) == Some(true))
        };
        let fitting: Vec<Rc<Model>> = models.iter().filter(fits).cloned().collect();
        if !fitting.is_empty() {
            self.models.insert(longer, fitting);
        }
    }

    /// Whether all was forgotten, since it was too much.
    pub fn forget_if_full(&mut self) -> bool {
        let full = self.formulas.len() > MOST || self.made.len() > 8 * MOST;
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

    #[test]
    fn digests_tell_conjunctions_apart_whatever_was_asked_before() {
        let digests = |asked: &[&[&str]]| -> Vec<u128> {
            let mut memory = Memory::default();
            let mut digest = |texts: &&[&str]| {
                let mut all = Conjunction::default();
                for text in *texts {
                    let formula = memory.formula(&parse::formula(text).unwrap());
                    all = memory.and(all, &[formula]);
                }
                memory.digest(all)
            };
            asked.iter().map(&mut digest).collect()
        };
        let (a, b): (&[&str], &[&str]) = (&["x < y", "y < z"], &["x < z"]);
        let (first, again) = (digests(&[a, b, &[], &a[..1]]), digests(&[&a[..1], &[], b, a]));
        assert_eq!(first, again.into_iter().rev().collect::<Vec<_>>());
        let mut apart = first.clone();
        apart.sort_unstable();
        apart.dedup();
        assert_eq!(apart.len(), first.len());
    }
}
