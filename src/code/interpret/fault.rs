//! What goes wrong in a run.

use std::fmt;

/// The first thing that went wrong, and the statement in which it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub reason: Reason,
    /// The innermost statement that was running; empty for none.
    pub statement: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A subscript is outside the array, or the array has fewer elements than its shape.
    OutOfBounds { access: String, subscripts: Vec<usize>, len: usize },
    /// `usize` or `isize` arithmetic overflows, or divides by zero.
    Overflow(String),
    /// A difference of `usize` is negative.
    BelowZero(String),
    /// A number is not one of the type that it is converted to.
    Conversion { text: String, value: i128 },
    /// A variable is read that no statement has set.
    Unset(String),
    /// An argument that the code needs is not given.
    Missing(String),
    /// A number that the keys of a table cannot hold.
    Key { text: String, value: i128 },
    /// A fact that a proof established does not hold.
    Fact(String),
    /// An invariant of a loop does not hold.
    Invariant(String),
    /// Two chunks of a parallel loop touch one element.
    Race { array: String, element: usize },
    /// A literal is no number of its type.
    Literal(String),
    /// The loops of an operator do not end.
    Endless(String),
    /// More steps than allowed.
    Fuel,
    /// The code is not well-formed.
    IllFormed(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::OutOfBounds { access, subscripts, len } => {
                let at: Vec<String> = subscripts.iter().map(ToString::to_string).collect();
                let at = at.join(", ");
                write!(f, "`{access}` at {at} is outside the array, which has {len} elements")
            }
            Reason::Overflow(text) => write!(f, "`{text}` overflows"),
            Reason::BelowZero(text) => write!(f, "`{text}` is below zero"),
            Reason::Conversion { text, value } => {
                write!(f, "`{text}` converts {value}, which its type cannot hold")
            }
            Reason::Unset(name) => write!(f, "`{name}` is read before it is set"),
            Reason::Missing(name) => write!(f, "the argument `{name}` is not given"),
            Reason::Key { text, value } => {
                write!(f, "`{text}` is {value}, which no key of a table can be")
            }
            Reason::Fact(text) => write!(f, "the fact {text} does not hold"),
            Reason::Invariant(text) => write!(f, "the invariant `{text}` does not hold"),
            Reason::Race { array, element } => {
                write!(f, "two chunks touch element {element} of `{array}`")
            }
            Reason::Literal(text) => write!(f, "`{text}` is no literal of its type"),
            Reason::Endless(text) => write!(f, "`{text}` does not end"),
            Reason::Fuel => write!(f, "the run takes more steps than it may"),
            Reason::IllFormed(what) => write!(f, "the code is not well-formed: {what}"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.statement.is_empty() {
            true => write!(f, "{}", self.reason),
            false => write!(f, "{}, in `{}`", self.reason, self.statement),
        }
    }
}

impl std::error::Error for Fault {}

impl From<Reason> for Fault {
    fn from(reason: Reason) -> Fault {
        Fault { reason, statement: String::new() }
    }
}
