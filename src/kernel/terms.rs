//! What a plan is expected to cost, term by term.

use std::borrow::Cow;

use super::grounds::Grounds;
use super::planned::Planned;
use crate::diagnostic::Result;
use crate::formula::Name;
use crate::loops::{Gather, Statement};
use crate::synth::{
    CostFormula, Gathered, LOOPS, QUANTITIES, Sizes, Term, loops_cost, workspace_named,
};

impl Planned {
    /// What is known of sizes, and which threads share the loops of a statement.
    pub fn sizes_of(&self, statement: &Statement) -> Cow<'_, Sizes> {
        let in_parts = self.assembled().and_then(|how| how.assembling.in_parts());
        let is_shared = statement.parallel().is_some() || in_parts.is_some();
        match is_shared {
            true => Cow::Borrowed(&self.grounds.sizes),
            false => self.grounds.sizes.on_one_thread(),
        }
    }

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
        let mut out: Vec<Term> = self.open_terms()?.iter().map(|term| term.known(sizes)).collect();
        if let Some(how) = self.assembled()
            && let Gather::Workspace { template, .. } = &how.assembling.gather
            && let Some(workspace) = workspace_named(template)?
        {
            let last = super::planned::last(&self.statements);
            let values = super::assemble::gathered_by(sizes, last, how).quantities();
            out.push(Term {
                label: format!("workspace {}", workspace.name),
                formula: workspace.cost.clone(),
                memory: Some(workspace.memory.clone()),
                quantities: Gathered::NAMES.into_iter().zip(values).collect(),
            });
        }
        Ok(out)
    }

    /// What loops and searches cost for any sizes.
    ///
    /// # Errors
    /// If what ships is malformed.
    pub(super) fn open_terms(&self) -> Result<Vec<Term<CostFormula>>> {
        let mut out = Vec::new();
        let counted = super::planned::last(&self.statements);
        let is_counted = |s: &Statement| {
            self.counts_entries() && counted.iter().any(|other| std::ptr::eq(other, s))
        };
        for statement in &self.statements {
            let sizes = &self.sizes_of(statement);
            let loops = Term {
                label: "loops".to_string(),
                formula: loops_cost()?.clone(),
                memory: None,
                quantities: LOOPS.into_iter().zip(statement.rounds_of(sizes).amounts()).collect(),
            };
            if is_counted(statement) {
                out.push(Term { label: "loops that count".to_string(), ..loops.clone() });
            }
            out.push(loops);
            for (k, (find, plan)) in statement.finds.iter().zip(&statement.chosen).enumerate() {
                let values = sizes.quantities_of(plan, find, statement.nest_of(k));
                out.push(Term {
                    label: format!("{} by {}", find.problem.position, plan.template.name),
                    formula: plan.template.cost.clone(),
                    memory: plan.template.memory.clone(),
                    quantities: QUANTITIES.into_iter().zip(values).collect(),
                });
            }
        }
        Ok(out)
    }
}
