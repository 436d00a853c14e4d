//! The code of one way to compute a kernel's result.

use super::spec::KernelSpec;
use crate::code::{AccessProof, Body};
use crate::synth::{CostFormula, Term};

/// A function of the module that holds loops.
#[derive(Clone, Debug)]
pub struct Core {
    pub(super) name: String,
    pub(super) spec: KernelSpec,
    pub(super) costs: Vec<Term<CostFormula>>,
    pub(super) body: Body,
    pub(super) accesses: Vec<AccessProof>,
}

impl Core {
    /// The name of the function.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it does, as it is printed.
    pub fn body(&self) -> &Body {
        &self.body
    }
}
