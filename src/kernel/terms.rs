//! What a plan is expected to cost: terms, each a formula with the values of what it names.

use super::grounds::Grounds;
use super::planned::Planned;
use crate::diagnostic::Result;
use crate::formula::Name;
use crate::loops::Gather;
use crate::synth::{
    CostFormula, Gathered, Machine, QUANTITIES, Sizes, estimate, loops_cost, price, workspace_named,
};

/// A part of what a kernel is expected to cost.
#[derive(Clone, Debug)]
pub struct Term {
    /// In nanoseconds.
    pub formula: CostFormula,
    /// The values of what it names, beside constants of the machine.
    pub quantities: Vec<(&'static str, f64)>,
}

impl Term {
    /// Its nanoseconds on a machine.
    pub fn value(&self, machine: &Machine) -> f64 {
        price(&self.formula, &self.quantities, machine)
    }
}

impl Planned {
    /// What its choices stand on.
    pub fn grounds(&self) -> &Grounds {
        &self.grounds
    }

    /// What the workspace of its result is expected to gather, if it has one, and which it is.
    pub fn gathered(&self) -> Option<(&Name, Gathered)> {
        let how = self.assembled()?;
        let Gather::Workspace { template, .. } = &how.assembling.gather else { return None };
        let statements = super::planned::last(&self.statements);
        Some((template, super::assemble::gathered_by(&self.grounds.sizes, statements, how)))
    }

    /// The nanoseconds that loops, searches and the workspace are expected to take, for the sizes that were known.
    ///
    /// # Errors
    /// If what ships is malformed.
    pub fn price(&self) -> Result<f64> {
        let sizes = &self.grounds.sizes;
        Ok(self.terms(sizes)?.iter().map(|term| term.value(&sizes.machine)).sum())
    }

    /// What loops, searches and the workspace are expected to cost for some sizes.
    ///
    /// # Errors
    /// If what ships is malformed.
    pub fn terms(&self, sizes: &Sizes) -> Result<Vec<Term>> {
        let mut out = Vec::new();
        for statement in &self.statements {
            let loops = [sizes.iterations(statement.nest()), statement.updates(sizes)];
            let quantities = ["iterations", "updates"].into_iter().zip(loops).collect();
            out.push(Term { formula: loops_cost()?.clone(), quantities });
            for (k, (find, plan)) in statement.finds.iter().zip(&statement.chosen).enumerate() {
                let values = estimate(plan, find, statement.nest_of(k), sizes).quantities;
                let quantities = QUANTITIES.into_iter().zip(values).collect();
                out.push(Term { formula: plan.template.cost.clone(), quantities });
            }
        }
        if let Some(how) = self.assembled()
            && let Gather::Workspace { template, .. } = &how.assembling.gather
            && let Some(workspace) = workspace_named(template)?
        {
            let last = super::planned::last(&self.statements);
            let values = super::assemble::gathered_by(sizes, last, how).quantities();
            let quantities = Gathered::NAMES.into_iter().zip(values).collect();
            out.push(Term { formula: workspace.cost.clone(), quantities });
        }
        Ok(out)
    }
}
