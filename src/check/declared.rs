//! A declaration as formulas: one stored entry, or two.
//!
//! In: a layout. Out: the facts about an entry of each piece of its relation; its sizes and laws are
//! the [`Theory`] on which proofs stand.

use crate::formula::{Affine, Constraint, Formula, Name};
use crate::layout::Layout;
use crate::prover::Prover;
use crate::theory::{Law, Theory};

/// The formulas of one layout.
pub(super) struct Declared<'l> {
    pub layout: &'l Layout,
    /// Of the extents, then the parameters.
    pub theory: Theory,
}

/// Which of two entries: the second one's positions and coordinates are primed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    First,
    Second,
}

impl Which {
    pub fn name(self, name: &Name) -> Name {
        match self {
            Which::First => name.clone(),
            Which::Second => Name::from(format!("{name}'")),
        }
    }
}

impl<'l> Declared<'l> {
    pub fn new(layout: &'l Layout) -> Declared<'l> {
        let mut theory = of_sizes(layout);
        for (k, property) in layout.properties.iter().enumerate() {
            theory.add(&property.formula, Some(k));
        }
        layout.arrays.values().for_each(|array| theory.add_array(array));
        Declared { layout, theory }
    }

    /// `which` entry's version of a term of the relation.
    pub fn of(&self, which: Which, affine: &Affine) -> Affine {
        affine.rename(&|n| {
            let relation = &self.layout.relation;
            let own = relation.positions.contains(n) || relation.coordinates.contains(n);
            own.then(|| which.name(n))
        })
    }

    /// The constraints of a piece of the relation, for `which` entry.
    pub fn piece(&self, piece: usize, which: Which) -> Vec<Constraint> {
        self.layout.relation.pieces[piece].iter().map(|c| c.map(|a| self.of(which, a))).collect()
    }

    /// `which` entry is stored by that piece, at coordinates within the extents.
    pub fn entry(&self, piece: usize, which: Which) -> Vec<Formula> {
        let mut out: Vec<Formula> =
            self.piece(piece, which).into_iter().map(Formula::Constraint).collect();
        let within = self.layout.within_extents().into_iter();
        out.extend(within.map(|c| Formula::Constraint(c.map(|a| self.of(which, a)))));
        out
    }

    pub fn positions(&self, which: Which) -> Vec<Affine> {
        vars(&self.layout.relation.positions, which)
    }

    pub fn coordinates(&self, which: Which) -> Vec<Affine> {
        vars(&self.layout.relation.coordinates, which)
    }

    /// Whether the declaration, `facts` and the negation of `claim` have no model.
    pub fn proves(&self, facts: &[Formula], claim: &Formula, prover: &mut dyn Prover) -> bool {
        self.proves_by(&|_| true, facts, claim, prover)
    }

    /// [`Declared::proves`] by the laws that `keep`.
    pub fn proves_by(
        &self,
        keep: &dyn Fn(&Law) -> bool,
        facts: &[Formula],
        claim: &Formula,
        prover: &mut dyn Prover,
    ) -> bool {
        self.theory.proves(keep, facts, claim, prover)
    }
}

/// What is known of the sizes of a layout.
pub(super) fn of_sizes(layout: &Layout) -> Theory {
    let mut sizes = layout.extents();
    sizes.extend(layout.params.keys().cloned());
    let known = layout.known_of_sizes().into_iter().map(Formula::Constraint).collect();
    Theory::new(sizes, known)
}

fn vars(names: &[Name], which: Which) -> Vec<Affine> {
    names.iter().map(|n| Affine::var(which.name(n))).collect()
}
