//! Positions that follow from others.
//!
//! In: a piece of the relation. Out: for each such position, its function of coordinates, of positions that
//! are numbered, and of sizes.

use indexmap::IndexMap;

use super::inverse::Inverse;
use crate::formula::{Affine, Atom, Constraint, Name, Relop};
use crate::layout::Layout;

/// Positions that are functions of other undetermined ones, e.g. `p1 = p0`.
pub(super) fn ties(layout: &Layout, piece: &[Constraint]) -> IndexMap<Name, Affine> {
    let inverse = Inverse::new(layout, piece);
    let mut free: Vec<Name> = layout.relation.positions.clone();
    free.retain(|p| inverse.of_coordinates(&Atom::Var(p.clone())).is_none());
    let mut ties: IndexMap<Name, Affine> = IndexMap::new();
    // `p = NNZ`, the number of what an earlier part stores.
    for position in free.clone() {
        let sized = |c: &Constraint| {
            let k = c.affine.coefficient_of_var(&position);
            let rest = c.affine.clone() - Affine::var(position.clone()) * k;
            let mut sizes = c.relop == Relop::Eq && k.abs() == 1 && !rest.has_calls();
            rest.visit_vars(&mut |n| sizes &= layout.params.contains_key(n));
            sizes.then(|| rest * -k)
        };
        if let Some(size) = piece.iter().find_map(sized) {
            ties.insert(position.clone(), size);
            free.retain(|p| *p != position);
        }
    }
    for position in free.clone().iter().rev() {
        let coordinates = layout.relation.coordinates.iter();
        let others = free.iter().filter(|p| *p != position);
        let inputs: Vec<Atom> = coordinates.chain(others).cloned().map(Atom::Var).collect();
        let of = |inputs: &[Atom]| inverse.function(inputs, &Atom::Var(position.clone()));
        // `p = NNZ + q`, behind what an earlier part stores; by coordinates and sizes, positions are aligned.
        let behind = || {
            let others = free.iter().filter(|p| *p != position);
            of(&others.chain(layout.params.keys()).cloned().map(Atom::Var).collect::<Vec<Atom>>())
        };
        let Some(form) = of(&inputs).or_else(behind) else { continue };
        if let [(_, value)] = form.as_slice() {
            ties.insert(position.clone(), value.clone());
            free.retain(|p| p != position);
        }
    }
    // Without each other.
    for _ in 0..ties.len() {
        let plain = |e: &Affine| e.substitute(&|n| ties.get(n).cloned());
        ties = ties.iter().map(|(n, e)| (n.clone(), plain(e))).collect();
    }
    ties
}
