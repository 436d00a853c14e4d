//! What visits the first index of looplets: whether threads can share it.
//!
//! A loop is shared as those of nests are. Of regions that are walked at once, each thread takes those that hold some
//! of the indices, and seeks the first of them: their ends have to rise.

use crate::formula::Name;
use crate::iterspace::{LoopKind, Space, loop_kind};
use crate::prover::Prover;

/// What visits the first of the indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outermost {
    Nothing,
    /// A loop that counts this. In no two of its rounds, the index is the same.
    Loop(Name),
    /// Regions along this index of which the ends rise.
    Rising(Name),
    /// Regions along this index, or steps without ends.
    Steps(Name),
}

/// Whether threads may share what visits the first of some indices. Elements that stay the same in all that is inside
/// are written whether or not anything is found there: nothing is known of operands.
pub(super) fn outermost_kind(order: &[Name], space: &Space, prover: &mut dyn Prover) -> LoopKind {
    let known: Vec<_> = order.iter().flat_map(|index| space.within_extent(index)).collect();
    let (mut dims, params) = (order.to_vec(), space.params());
    let mut vary = |n: &Name| {
        if !dims.contains(n) && !params.contains(n) {
            dims.push(n.clone());
        }
    };
    space.output_place().iter().for_each(|place| place.visit_vars(&mut vary));
    loop_kind(space, (&known, &[]), &dims, 0, prover)
}
