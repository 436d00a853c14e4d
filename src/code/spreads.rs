//! What may be kept of a table in place of positions.

/// How the values that a table finds are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spreads {
    /// With a mask of what is there.
    Masked,
    /// Alone, where what is missing adds nothing.
    Alone,
}
