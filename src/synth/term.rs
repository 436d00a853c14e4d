//! The parts of what a kernel is expected to cost, each a formula with the values of what it names.

use super::cost_formula::CostFormula;
use super::machine::{Machine, price};
use super::sizes::Sizes;

/// A part of what a kernel is expected to cost; `Q` is what stands for a quantity: its value, or a formula over
/// statistics.
#[derive(Clone, Debug, PartialEq)]
pub struct Term<Q = f64> {
    /// What it is about: a template and a position, say.
    pub label: String,
    /// In nanoseconds.
    pub formula: CostFormula,
    /// In bytes, if something is kept.
    pub memory: Option<CostFormula>,
    /// The values of what they name, beside constants of the machine.
    pub quantities: Vec<(&'static str, Q)>,
}

impl Term {
    /// Its nanoseconds on a machine.
    pub fn value(&self, machine: &Machine) -> f64 {
        price(&self.formula, &self.quantities, machine)
    }

    /// Its bytes on a machine.
    pub fn bytes(&self, machine: &Machine) -> f64 {
        self.memory.as_ref().map_or(0.0, |memory| price(memory, &self.quantities, machine))
    }
}

impl Term<CostFormula> {
    /// The term for some sizes.
    pub fn known(&self, sizes: &Sizes) -> Term {
        let quantities = self.quantities.iter();
        Term {
            label: self.label.clone(),
            formula: self.formula.clone(),
            memory: self.memory.clone(),
            quantities: quantities.map(|(name, of)| (*name, sizes.value(of))).collect(),
        }
    }

    /// Its nanoseconds for some sizes; infinite if it takes too many bytes. `used` is what its formulas speak of.
    pub fn price(&self, used: &[&(&'static str, CostFormula)], sizes: &Sizes) -> f64 {
        let quantities: Vec<(&str, f64)> =
            used.iter().map(|(name, of)| (*name, sizes.value(of))).collect();
        let priced = |formula| price(formula, &quantities, &sizes.machine);
        match self.memory.as_ref().map_or(0.0, priced) > sizes.most_memory() {
            true => f64::INFINITY,
            false => priced(&self.formula),
        }
    }

    /// What its formulas speak of, each with a formula over statistics.
    pub fn used(&self) -> impl Iterator<Item = &(&'static str, CostFormula)> {
        let named = |name: &str| {
            let formulas = [Some(&self.formula), self.memory.as_ref()];
            formulas.into_iter().flatten().any(|formula| formula.names().contains(&name))
        };
        self.quantities.iter().filter(move |(name, _)| named(name))
    }
}
