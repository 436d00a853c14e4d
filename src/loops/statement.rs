//! What the tree is made from: one scanned space with its plans.

use crate::iterspace::{LoopOrder, Space};
use crate::scan::Nest;
use crate::synth::{self, Plan, TileGuard};

/// A scanned space with a plan for each of its finds.
#[derive(Clone, Debug)]
pub struct Statement {
    pub space: Space,
    pub order: LoopOrder,
    pub nest: Nest,
    pub finds: Vec<synth::Find>,
    /// The plan for each find, in the order of `finds`.
    pub chosen: Vec<Plan>,
    /// Guards that skip tiles without a match.
    pub tile_guards: Vec<TileGuard>,
    /// The loop that runs on several threads, if the kernel is to be parallel.
    pub parallel: Option<Parallelism>,
}

/// How a statement runs on several threads: chunks of one loop, handed out dynamically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parallelism {
    /// Index of the loop in the nest.
    pub level: usize,
    /// Chunks may write the same output elements: each thread sums into its own copy.
    pub private: bool,
}
