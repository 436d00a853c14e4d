//! x
use super::IndexArray;
use crate::formula::{Atom, Relop};
/// Whether the declared range of an array admits negative numbers, so that it is stored signed.
pub fn admits_negative(array: &IndexArray) -> bool {
    !array.range.iter().any(|c| {
        let call = matches!(c.affine.terms(), [(Atom::Call(call), k)] if *k > 0 && call.array == array.name);
        c.relop == Relop::Ge && call && c.affine.offset() <= 0
    })
}
