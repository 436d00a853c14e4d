//! Whether a coordinate is stored once, and whether a position stands for one coordinate.

use super::coordinates::{differ, equal, pairs};
use super::declared::{Declared, Which};
use crate::formula::{Affine, Formula, Name, Products};
use crate::layout::Layout;
use crate::layout::memory::Memory;
use crate::prover::Z3Prover;

static STORED_ONCE: Memory<bool> = Memory::new();
static SINGLE_VALUED: Memory<bool> = Memory::new();
static VALUES_APART: Memory<ValuesApart> = Memory::new();

/// Whether it is proved that no tensor of this layout holds two entries at the same coordinates. Then
/// two accesses with equal subscripts meet the same entry. Remembered.
pub fn stores_coordinates_once(layout: &Layout) -> bool {
    STORED_ONCE.answer(layout, || {
        let declared = Declared::new(layout);
        let (first, second) = (declared.positions(Which::First), declared.positions(Which::Second));
        let same = |which| declared.coordinates(which);
        if level_by_level(&declared, &same, &first, &second) {
            return true;
        }
        let other = differ(&first, &second);
        // An entry that two pieces of the relation hold at one place counts twice.
        every_pair(&declared, &same, &|first, second| match first == second {
            true => other.clone().not(),
            false => Formula::truth(false),
        })
    })
}

/// Whether it is proved of the only piece of a relation that entries with the `same` coordinates have the same
/// positions, one after the other: of many levels at once that is hard to see.
fn level_by_level(
    declared: &Declared<'_>,
    same: &dyn Fn(Which) -> Vec<Affine>,
    first: &[Affine],
    second: &[Affine],
) -> bool {
    let pairs = same_pairs(declared, same);
    let [(_, _, facts)] = pairs.as_slice() else { return false };
    let levels = equal(first, second);
    let mut prover = Z3Prover::new().with_any_model();
    let level_of = |all: &[Affine], n: &Name| all.iter().position(|p| p.as_var() == Some(n));
    (0..levels.len()).all(|k| {
        // What is said of later levels does not help. Of earlier ones both entries have the same position.
        let is_earlier = |fact: &&Formula| {
            let mut earlier = true;
            let later = |n: &Name| {
                let level = level_of(first, n).or(level_of(second, n));
                level.is_some_and(|level| level > k)
            };
            fact.visit_affine(&mut |a| a.visit_vars(&mut |n| earlier &= !later(n)));
            earlier
        };
        let same_before = |n: &Name| {
            let level = level_of(second, n).filter(|level| *level < k);
            level.map(|level| first[level].clone())
        };
        let known = facts.iter().filter(is_earlier).map(|fact| fact.substitute(&same_before));
        let known: Vec<Formula> = known.collect();
        levels[k].is_true() || declared.proves(&known, &levels[k], &mut prover)
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
    same_pairs(declared, same).into_iter().all(|(first, second, facts)| {
        let claim = claim(first, second);
        claim.is_true() || declared.proves(&facts, &claim, &mut prover)
    })
}

/// The facts about any two entries that are the `same`, by their pieces.
fn same_pairs(
    declared: &Declared<'_>,
    same: &dyn Fn(Which) -> Vec<Affine>,
) -> Vec<(usize, usize, Vec<Formula>)> {
    let (first, second) = (same(Which::First), same(Which::Second));
    let mut products = Products::default();
    first.iter().chain(&second).for_each(|e| products.note(e));
    let (same, mut lemmas) = (equal(&first, &second), products.lemmas());
    lemmas.extend(products.squares());
    let mut out = pairs(declared);
    for (_, _, facts) in &mut out {
        facts.extend(same.iter().chain(&lemmas).cloned());
    }
    out
}

/// Where it is proved that a value of a layout belongs to one position and one coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValuesApart {
    /// Of entries of one piece. Else (equal values of a diagonal that are stored once) entries must
    /// agree.
    pub within_pieces: bool,
    /// Of entries of different pieces.
    pub between_pieces: bool,
}

/// Whether values belong to one position and one coordinate, by proof. Remembered.
pub fn values_apart(layout: &Layout) -> ValuesApart {
    VALUES_APART.answer(layout, || {
        let declared = Declared::new(layout);
        let mut products = Products::default();
        let index: Option<Vec<Affine>> =
            layout.value.index.iter().map(|e| products.linear(e)).collect();
        let mut out = ValuesApart { within_pieces: false, between_pieces: false };
        let Some(index) = index else { return out };
        let slot = |which| index.iter().map(|e| declared.of(which, e)).collect::<Vec<Affine>>();
        let place = |which| [declared.coordinates(which), declared.positions(which)].concat();
        let claim = differ(&place(Which::First), &place(Which::Second)).not();
        let (within, between): (Vec<_>, Vec<_>) = same_pairs(&declared, &slot)
            .into_iter()
            .partition(|(first, second, _)| first == second);
        let mut prover = Z3Prover::new().with_any_model();
        let mut holds = |pairs: Vec<(usize, usize, Vec<Formula>)>| {
            pairs.into_iter().all(|(_, _, facts)| {
                claim.is_true() || declared.proves(&facts, &claim, &mut prover)
            })
        };
        out.within_pieces = holds(within);
        out.between_pieces = holds(between);
        out
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
    fn a_value_of_a_toeplitz_matrix_belongs_to_a_diagonal() {
        let apart = |l: &str, rank| {
            let apart = values_apart(&Layout::named_for_rank(l, rank).unwrap());
            apart.within_pieces && apart.between_pieces
        };
        for (name, _) in crate::layout::shipped() {
            let spec = crate::layout::LayoutSpec::parse(&name).unwrap();
            let layout = spec.instantiate(spec.rank().unwrap_or(2)).unwrap();
            let halves = layout.relation.pieces.len() > 1 || !has_one_coordinate(&layout);
            let apart = values_apart(&layout);
            assert_eq!(apart.within_pieces && apart.between_pieces, !halves, "{name}");
        }
        assert!(!apart("tests/layouts/toeplitz.toml", 2));
    }

    #[test]
    fn layouts_that_admit_duplicates_may_store_it_twice() {
        assert!(!once("coo-unsorted", 2));
        assert!(!once("tests/layouts/bag.toml", 1));
    }
}
