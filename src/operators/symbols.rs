//! How index notation writes operators: by symbols between operands, by a minus in front, by names.
//!
//! Which operator a symbol stands for, the operators declare. How strongly it binds, the grammar says.

use std::fmt;

use super::operator::Operator;

/// Comparisons; they stand in no chain.
pub const COMPARISON: u8 = 1;
/// Sums.
pub const SUM: u8 = 2;
/// Products.
pub const TERM: u8 = 3;
/// A minus in front, and all that has parentheses of its own.
pub const UNARY: u8 = 4;

/// The symbols that stand between operands, longest first.
pub const INFIX: [&str; 10] = ["==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/"];

/// How strongly a symbol between operands binds; none if it is not one of the grammar.
pub fn strength(symbol: &str) -> Option<u8> {
    match symbol {
        "==" | "!=" | "<" | "<=" | ">" | ">=" => Some(COMPARISON),
        "+" | "-" => Some(SUM),
        "*" | "/" => Some(TERM),
        _ => None,
    }
}

/// Whether the operator is written by a minus in front.
pub fn is_prefix(op: &Operator) -> bool {
    op.arity() == 1 && op.symbol() == Some("-")
}

/// Prints a use of an operator where the grammar wants at least the strength `min`; `print` prints an
/// argument.
pub fn print_applied<A>(
    op: &Operator,
    args: &[A],
    f: &mut fmt::Formatter<'_>,
    min: u8,
    print: &dyn Fn(&A, &mut fmt::Formatter<'_>, u8) -> fmt::Result,
) -> fmt::Result {
    let infix = op.symbol().and_then(|symbol| Some((symbol, strength(symbol)?)));
    match (infix, args) {
        (Some((symbol, own)), [left, right]) => {
            f.write_str(if own < min { "(" } else { "" })?;
            // Operators associate to the left.
            print(left, f, if own == COMPARISON { own + 1 } else { own })?;
            write!(f, " {symbol} ")?;
            print(right, f, own + 1)?;
            f.write_str(if own < min { ")" } else { "" })
        }
        (_, [arg]) if is_prefix(op) => {
            f.write_str("-")?;
            print(arg, f, UNARY)
        }
        _ => {
            write!(f, "{}(", op.name())?;
            for (k, arg) in args.iter().enumerate() {
                f.write_str(if k > 0 { ", " } else { "" })?;
                print(arg, f, 0)?;
            }
            f.write_str(")")
        }
    }
}
