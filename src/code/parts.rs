//! How threads write what they compute, and how parts of a result are joined.
//!
//! Before → after, for two chunks of a matrix by compressed rows and columns, which share row 4:
//!
//! ```text
//! crd0 [1, 4]  pos1 [0, 2]  crd1 [5, 7, 0]       crd0 [1, 4, 6]  pos1 [0, 2, 5]  crd1 [5, 7, 0, 3, 8, 2]
//! crd0 [4, 6]  pos1 [0, 2]  crd1 [3, 8, 2]   →
//! ```

use super::ids::{ArrayId, VarId};

/// How threads write what they compute.
#[derive(Clone, Debug, PartialEq)]
pub enum Writes {
    /// Each element of the array is written by one thread.
    Shared(ArrayId),
    /// Threads may meet at one element of the array: each sums into a copy of its own.
    Copies(ArrayId),
    /// Each chunk writes arrays of its own, which are joined in the order of the chunks.
    Parts(Parts),
}

/// What a chunk adds to arrays that grow: positions of some levels, numbered as they come.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// Outer levels first.
    pub levels: Vec<PartLevel>,
    /// By these, positions of outer levels are told apart: variables of a chunk, unset at first, for its
    /// first position of the last level.
    pub first: Vec<VarId>,
    /// The same for its last one.
    pub last: Vec<VarId>,
}

/// The arrays of a level.
#[derive(Clone, Debug, PartialEq)]
pub struct PartLevel {
    /// It is another position if one of so many variables differs. Those of the last level all differ.
    pub prefix: usize,
    /// One element for each position.
    pub columns: Vec<ArrayId>,
    /// One for each position of the level before: the number of positions before its own.
    pub begins: Vec<ArrayId>,
    /// Written where positions end that belong together: their number so far.
    pub ends: Vec<ArrayId>,
}

impl Writes {
    /// The array, if threads write one that is there.
    pub fn output(&self) -> Option<ArrayId> {
        match self {
            Writes::Shared(output) | Writes::Copies(output) => Some(*output),
            Writes::Parts(_) => None,
        }
    }

    /// All arrays that are written.
    pub fn arrays(&self) -> Vec<ArrayId> {
        match self {
            Writes::Shared(output) | Writes::Copies(output) => vec![*output],
            Writes::Parts(parts) => parts.arrays().collect(),
        }
    }

    /// Variables that a chunk begins with.
    pub fn variables(&self) -> impl Iterator<Item = VarId> {
        let parts = match self {
            Writes::Parts(parts) => Some(parts),
            Writes::Shared(_) | Writes::Copies(_) => None,
        };
        parts.into_iter().flat_map(|parts| parts.first.iter().chain(&parts.last).copied())
    }
}

impl Parts {
    /// The arrays of all levels.
    pub fn arrays(&self) -> impl Iterator<Item = ArrayId> {
        let of = |level: &PartLevel| [&level.columns, &level.begins, &level.ends].map(Vec::clone);
        self.levels.iter().flat_map(of).flatten()
    }

    /// Whether the array is written where positions end.
    pub fn has_ends(&self, array: ArrayId) -> bool {
        self.levels.iter().any(|level| level.ends.contains(&array))
    }
}
