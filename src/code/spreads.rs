//! What may be kept of a table by coordinate.

/// What is spread over the coordinates that a table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spreads {
    /// The positions.
    Positions,
    /// Their values, with a mask of what is there.
    Masked,
    /// Their values alone, where what is missing adds nothing.
    Alone,
}
