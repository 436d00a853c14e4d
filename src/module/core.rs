//! The code of one way to compute a kernel's result.

use super::spec::Way;
use crate::code::{AccessProof, Body};

/// A function of the module that holds loops.
#[derive(Clone, Debug)]
pub struct Core {
    pub(super) way: Way,
    pub(super) body: Body,
    pub(super) accesses: Vec<AccessProof>,
    /// A loop is entered once, and holds no other.
    pub(super) flat: bool,
}

impl Core {
    /// The name of the function.
    pub fn name(&self) -> &str {
        &self.way.name
    }

    /// What it does, as it is printed.
    pub fn body(&self) -> &Body {
        &self.body
    }
}
