//! Stage 6, *emit*: a standalone Rust module.
//!
//! In: one [`Statement`] per iteration space, each with its nest and a proved plan for every find.
//! Out: the text of a module that depends on `std` only: plain-data structs, a safe function that
//! validates, an unchecked core, and an `extern "C"` entry (design §12). Names in the code are the
//! names of the iteration space, so the code reads like the nest it came from.
//!
//! Unchecked indexing appears only where the prover shows `known ⊢ in bounds` ([`AccessProof`]).

mod facts;
mod find;
mod indent;
mod layout;
mod limit;
mod module;
mod nest;
mod operand;
mod parallel;
mod probing;
mod rust_expr;
mod search;
mod validate;
mod value;

pub use layout::{counted_fields, index_type};
pub use module::{ENTRY, Module, render};
pub use nest::AccessProof;

use std::rc::Rc;

use crate::iterspace::{LoopOrder, Space};
use crate::program::Program;
use crate::scan::Nest;
use crate::synth::{Find, Plan, TileGuard};
use crate::tensor::ValueType;

/// A scanned space with a plan for each of its finds.
#[derive(Clone, Debug)]
pub struct Statement {
    pub space: Space,
    pub order: LoopOrder,
    pub nest: Nest,
    pub finds: Vec<Find>,
    /// The plan to emit for each find, in the order of `finds`.
    pub chosen: Vec<Plan>,
    /// Guards that skip tiles without a match.
    pub tile_guards: Vec<TileGuard>,
    /// The loop that runs on several threads, if the kernel is to be parallel.
    pub parallel: Option<Parallel>,
}

/// How a statement runs on several threads: chunks of one loop, handed out dynamically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parallel {
    /// Index of the loop in the nest.
    pub level: usize,
    /// Chunks may write the same output elements: each thread sums into its own copy.
    pub private: bool,
}

/// Width of index arrays in the generated module. Arrays that may hold negative values use the
/// signed type of the same width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum IndexWidth {
    #[default]
    U32,
    U64,
}

impl IndexWidth {
    pub fn unsigned(self) -> &'static str {
        match self {
            IndexWidth::U32 => "u32",
            IndexWidth::U64 => "u64",
        }
    }

    pub fn signed(self) -> &'static str {
        match self {
            IndexWidth::U32 => "i32",
            IndexWidth::U64 => "i64",
        }
    }
}

/// Everything a kernel is made from.
#[derive(Clone, Debug)]
pub struct KernelSpec {
    pub program: Rc<Program>,
    /// One per choice of relation pieces; run one after the other.
    pub statements: Vec<Statement>,
    pub value_type: ValueType,
    pub index_width: IndexWidth,
}

impl KernelSpec {
    /// The kernel takes a number of threads.
    pub fn is_parallel(&self) -> bool {
        self.statements.iter().any(|s| s.parallel.is_some())
    }
}
