//! What a module is made from.

use std::rc::Rc;

use crate::code::IndexWidth;
use crate::iterspace::Space;
use crate::loops::{Assembled, Statement};
use crate::program::Program;

/// Everything a kernel is made from.
#[derive(Clone, Debug)]
pub struct KernelSpec {
    pub program: Rc<Program>,
    /// One per choice of relation pieces; run one after the other.
    pub statements: Vec<Statement>,
    pub index_width: IndexWidth,
    /// How the result is made, if its structure is not known before.
    pub assembled: Option<Rc<Assembled>>,
}

impl KernelSpec {
    /// The kernel takes a number of threads.
    pub fn is_parallel(&self) -> bool {
        self.statements.iter().any(|s| s.parallel.is_some())
    }

    pub(super) fn space(&self) -> &Space {
        &self.statements[0].space
    }
}
