//! In which order visits come to coordinates: proofs by Z3.
//!
//! Regions of a stepper must lie apart whether anything is stored in them or not, so what is known of the visits is
//! what tells the regions, not all that holds of stored entries.

use crate::formula::{Affine, Formula, Name};
use crate::iterspace::{Keyed, Space, in_one_iteration, in_order};
use crate::prover::Prover;

/// Visits of some levels.
pub(super) struct Visits {
    /// What is known, as the guards of a space.
    space: Space,
    loops: Vec<Name>,
    /// What tells what is around the innermost of the levels apart.
    around: Vec<Affine>,
    /// The innermost.
    position: Option<Affine>,
}

impl Visits {
    /// Of loops, the innermost of which gives positions; `key` tells them apart.
    pub fn new(
        space: &Space,
        loops: Vec<Name>,
        mut key: Vec<Affine>,
        known: Vec<Formula>,
    ) -> Visits {
        let space = Space { constraints: Vec::new(), guards: known, ..space.clone() };
        let position = key.pop();
        Visits { space, loops, around: key, position }
    }

    /// With further loops inside.
    pub fn with(mut self, known: Vec<Formula>, loops: Vec<Name>) -> Visits {
        self.space.guards.extend(known);
        self.loops.extend(loops);
        self
    }

    /// Whether later ones have greater coordinates, each one once.
    pub fn rise(&self, index: &Name, prover: &mut dyn Prover) -> bool {
        let keyed = self.keyed(Some(index), None);
        in_order(&keyed, &keyed, prover)
    }

    /// Whether later ones do not have smaller coordinates.
    pub fn do_not_fall(&self, index: &Name, prover: &mut dyn Prover) -> bool {
        let keyed = self.keyed(Some(index), self.position.clone());
        in_order(&keyed, &keyed, prover)
    }

    /// Whether a coordinate, or what is around, comes with one position only.
    pub fn are_unique(&self, index: Option<&Name>, prover: &mut dyn Prover) -> bool {
        let keyed = self.keyed(index, None);
        in_one_iteration(&keyed, &keyed, prover)
    }

    fn keyed(&self, index: Option<&Name>, last: Option<Affine>) -> Keyed<'_> {
        let mut key = self.around.clone();
        key.extend(index.cloned().map(Affine::var).into_iter().chain(last));
        Keyed { space: &self.space, loops: self.loops.clone(), key }
    }
}
