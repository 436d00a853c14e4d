//! That an access is inside its array.

/// The number of a proof. Only the bounds pass makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundsProof(u32);

impl BoundsProof {
    pub(super) fn new(number: u32) -> BoundsProof {
        BoundsProof(number)
    }
}
