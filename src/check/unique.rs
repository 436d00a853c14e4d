//! Whether a coordinate is stored once, and whether a position stands for one coordinate.

use super::coordinates::{differ, equal, pairs};
use super::declared::{Declared, Which};
use super::memory::Memory;
use crate::formula::{Affine, Formula};
use crate::layout::Layout;
use crate::prover::Z3Prover;

static STORED_ONCE: Memory<bool> = Memory::new();
static SINGLE_VALUED: Memory<bool> = Memory::new();

/// Whether it is proved that no tensor of this layout holds two entries at the same coordinates. Then
/// two accesses with equal subscripts meet the same entry. Remembered.
pub fn stores_coordinates_once(layout: &Layout) -> bool {
    STORED_ONCE.answer(layout, || {
        let declared = Declared::new(layout);
        let other = differ(&declared.positions(Which::First), &declared.positions(Which::Second));
        let same = |which| declared.coordinates(which);
        // An entry that two pieces of the relation hold at one place counts twice.
        every_pair(&declared, &same, &|first, second| match first == second {
            true => other.clone().not(),
            false => Formula::truth(false),
        })
    })
}

/// Whether it is proved that a position of this layout stands for one coordinate, as those of an
/// output must: a run of coordinates with one value cannot be written one by one. Remembered.
pub fn has_one_coordinate(layout: &Layout) -> bool {
    SINGLE_VALUED.answer(layout, || {
        let declared = Declared::new(layout);
        let coordinates = |which| declared.coordinates(which);
        let claim = differ(&coordinates(Which::First), &coordinates(Which::Second)).not();
        every_pair(&declared, &|which| declared.positions(which), &|_, _| claim.clone())
    })
}

/// Whether the claim about their pieces is proved of any two entries that are the `same`.
fn every_pair(
    declared: &Declared<'_>,
    same: &dyn Fn(Which) -> Vec<Affine>,
    claim: &dyn Fn(usize, usize) -> Formula,
) -> bool {
    let mut prover = Z3Prover::new().with_any_model();
    let same = equal(&same(Which::First), &same(Which::Second));
    pairs(declared).into_iter().all(|(first, second, mut facts)| {
        facts.extend(same.iter().cloned());
        let claim = claim(first, second);
        claim.is_true() || declared.proves(&facts, &claim, &mut prover)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn once(layout: &str, rank: usize) -> bool {
        stores_coordinates_once(&Layout::named_for_rank(layout, rank).unwrap())
    }

    #[test]
    fn sorted_and_dense_layouts_store_a_coordinate_once() {
        for layout in ["csr", "coo", "symmetric-csr", "dense"] {
            assert!(once(layout, 2), "{layout}");
        }
        assert!(once("sparse", 1) && once("dense", 1));
    }

    #[test]
    fn runs_and_halves_stand_for_more_than_one_coordinate() {
        let one = |l: &str, rank| has_one_coordinate(&Layout::named_for_rank(l, rank).unwrap());
        for layout in ["csr", "coo-unsorted", "lower-triangular", "dense", "bcsr(2,3)", "dia"] {
            assert!(one(layout, 2), "{layout}");
        }
        assert!(!one("run-length", 1) && !one("symmetric-csr", 2));
        assert!(one("dense", 0));
    }

    #[test]
    fn layouts_that_admit_duplicates_may_store_it_twice() {
        assert!(!once("coo-unsorted", 2));
        assert!(!once("tests/layouts/bag.toml", 1));
    }
}
