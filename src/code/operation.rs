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
    /// Floats of the same bits: zeros of both signs differ, and what is no number equals itself.
    SameBits,
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
