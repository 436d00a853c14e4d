//! When 32-bit indices suffice.

use indexmap::IndexSet;

use crate::formula::Arith;
use crate::layout::Layout;

/// `while I + 1, J and NNZ are below 2^32`: positions, coordinates and lengths are what a kernel
/// stores and counts.
pub(super) fn condition(layout: &Layout) -> String {
    let mut lengths: IndexSet<Arith> = IndexSet::new();
    for array in layout.arrays.values() {
        lengths.insert(array.len.clone());
    }
    lengths.insert(layout.value.len.clone());
    for extent in layout.extents() {
        lengths.insert(Arith::Var(extent));
    }
    lengths.retain(|l| !matches!(l, Arith::Int(_)));
    // `I + 1` covers `I`.
    let covered = |l: &Arith| {
        let Arith::Var(_) = l else { return false };
        lengths.iter().any(|other| match (other.to_affine(), l.to_affine()) {
            (Ok(a), Ok(b)) => (a - b).as_constant().is_some_and(|c| c > 0),
            _ => false,
        })
    };
    let shown: Vec<String> =
        lengths.iter().filter(|l| !covered(l)).map(ToString::to_string).collect();
    match shown.as_slice() {
        [] => "always".to_string(),
        [one] => format!("while {one} is below 2^32"),
        [rest @ .., last] => format!("while {} and {last} are below 2^32", rest.join(", ")),
    }
}
