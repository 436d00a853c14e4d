//! Integer terms and formulas with index-array calls: the language that layouts, iteration spaces,
//! find templates and proofs share.
//!
//! An [`Affine`] is a linear form over [`Atom`]s: variables, calls of index arrays (uninterpreted
//! functions, SPF §2.3) and floor divisions by a constant. A [`Constraint`] compares one with zero,
//! a [`Formula`] combines them. [`parse`] reads isl's notation extended with calls; `Display`
//! prints it so that it reads back.
//!
//! ```
//! use siskin::formula::parse;
//! let f = parse::formula("p < q => crd(p) < crd(q)").unwrap();
//! assert_eq!(f.to_string(), "p < q => crd(p) < crd(q)");
//! let a = parse::affine("2*i + pos(p0 + 1) - 3").unwrap();
//! assert_eq!(a.to_string(), "2*i + pos(p0 + 1) - 3");
//! ```

mod affine;
pub mod arith;
mod compiled;
mod constraint;
mod display;
#[allow(clippy::module_inception)]
mod formula;
mod meaning;
pub mod parse;
mod product;
pub mod split;
mod token;

pub use affine::{Affine, Atom, Call, Name};
pub use arith::Arith;
pub use compiled::{Arrays, Condition, Fault, Linear, Names, Unresolved};
pub use constraint::{Constraint, Relop};
pub use display::conjunction;
pub use formula::Formula;
pub use meaning::{Atoms, Meaning};
pub use product::Products;
