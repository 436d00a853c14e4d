//! Operations of the language on two numbers.

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    /// Rounds down.
    Div,
    Rem,
    Min,
    Max,
    SaturatingSub,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Short-circuit.
    And,
    Or,
    /// Both sides are evaluated.
    BitOr,
}
