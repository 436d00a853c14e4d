//! Operators: scalar functions as data.
//!
//! In: `operators/NAME.toml`, shipped or a user's own. Out: an [`Operator`]: for which types it exists,
//! an expression for each, and its algebra, every claim of which is tested and, where the operator has
//! a definition, proved. Nothing here knows an operator by name. docs/operators.md has the schema.
//!
//! Before → after:
//!
//! ```text
//! name = "sub"
//! symbol = "-"
//! definition = "a - b"
//! [rust]
//! float = "a - b"
//! integer = "a.wrapping_sub(b)"
//! [[identity]]
//! value = 0
//! arguments = ["b"]
//! ```
//! becomes, for two `i32`, `Call(WrappingSub, [Argument 0, Argument 1])`, of type `i32`, with the
//! identity 0 as its second argument: proved over the integers.
//!
//! From the algebra follow what a use with known arguments is ([`simplify()`]), and where an expression
//! has to be evaluated at all ([`algebra`]).

mod absent;
pub mod algebra;
mod choosing;
mod claims;
mod declare;
mod definition;
mod equation;
mod eval;
mod expr;
mod library;
mod operator;
mod place;
mod print;
mod proofs;
mod read;
mod region;
mod schema;
mod simplify;
mod spelling;
pub mod symbols;
mod tree;
mod value;

pub use self::absent::Absent;
pub use self::claims::{Evidence, said, samples};
pub use self::eval::{STEPS, eval};
pub use self::expr::{Binary, Checked, Method, OpExpr, Shape, Stmt};
pub use self::library::Operators;
pub use self::operator::{
    Argument, CaseKind, Operator, Points, Property, ResultRule, Signature, Special, SpecialResult,
};
pub use self::print::{rust, rust_literal};
pub use self::read::read;
pub use self::region::{Presence, Region};
pub use self::simplify::{Given, Simplified, simplify};
pub use self::tree::{Apply, If, Tree};
pub use self::value::{Value, promote};
