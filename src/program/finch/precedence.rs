//! How strongly the operators of Julia bind.

/// `a => b`
pub(super) const PAIR: u8 = 1;
/// Comparisons, which form chains.
pub(super) const COMPARISON: u8 = 4;
/// An operator in front.
pub(super) const PREFIX: u8 = 9;
/// `^`, whose left operand binds more strongly than a sign.
pub(super) const POWER: u8 = 10;
/// What has no operator outside of parentheses.
pub(super) const PRIMARY: u8 = 11;

/// The levels of operators between two operands, weakest first. `:` is left out, as ranges stand in loops
/// and windows only, and so is `^`, whose operands are none of these.
const LEVELS: [(u8, &[&str]); 7] = [
    (PAIR, &["=>"]),
    (2, &["||"]),
    (3, &["&&"]),
    (COMPARISON, &["==", "!=", "<", "<=", ">", ">="]),
    (6, &["+", "-", "|", "⊻"]),
    (7, &["*", "/", "%", "&", "÷"]),
    (8, &["<<", ">>"]),
];

/// The operators that stand in front of an operand.
pub(super) const IN_FRONT: [&str; 4] = ["-", "+", "!", "~"];

/// How strongly an operator between two operands binds; none if it is no such operator.
pub(super) fn strength(symbol: &str) -> Option<u8> {
    LEVELS.iter().find(|(_, symbols)| symbols.contains(&symbol)).map(|(level, _)| *level)
}

/// The level behind: what an operand of the other side must bind by.
pub(super) fn above(level: u8) -> u8 {
    LEVELS.iter().map(|(l, _)| *l).find(|l| *l > level).unwrap_or(PREFIX)
}
