//! What is stated of the values of a tensor.

use super::literal::Literal;

/// What is stated of the values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Leaf {
    pub fill: Option<Literal>,
    pub constant: Option<Literal>,
    /// Loops that update an element end when nothing can change it any more.
    pub short_circuit: bool,
}
