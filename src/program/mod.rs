//! Stage 2, *parse*: a computation in index notation.
//!
//! In: one statement as text (design §4). Out: a [`Program`], and with the shapes of its tensors the
//! [`Extents`] of its indices. [`interpret`](interpret::interpret) runs a program on dense arrays; it
//! is the oracle that every generated kernel is compared with.
//!
//! ```text
//! program    := access op expr ['if' formula]
//! op         := '=' | '+=' | '*=' | 'min=' | 'max='
//! expr       := term (('+' | '-') term)*
//! term       := unary (('*' | '/') unary)*
//! unary      := '-' unary | primary
//! primary    := number | ('min' | 'max') '(' expr (',' expr)+ ')' | access | '(' expr ')'
//! access     := name | name '[' [affine (',' affine)*] ']' | name '(' [affine (',' affine)*] ')'
//! ```
//! `formula` and `affine` are those of [`crate::formula::parse`], over index names only. A name is
//! ASCII: a letter or `_`, then letters, digits and `_`.
//!
//! # Meaning
//!
//! The *iteration space* is the set of index values, each index from 0 to its extent, at which the
//! restriction holds and **every** access, the output's included, lies inside its tensor. At each
//! of its points the right side is combined into one output element; elements start at the identity
//! of the combination. `=` and `+=` both sum (so `=` reduces every index that is absent on the
//! left), `*=` multiplies, `min=` and `max=` take the least and the greatest. `x[i+j]` thus drops
//! the iterations that read past the end of `x`.
//!
//! # Before → after
//!
//! ```
//! use siskin::program::Program;
//! let program = Program::parse("y(i) = 2*A(i,j) * x(j+1) if j<=i")?;
//! assert_eq!(program.to_string(), "y[i] = 2 * A[i,j] * x[j + 1] if j <= i");
//! let product = program.product()?;
//! assert_eq!((product.coefficient, product.factors.len()), (2.0, 2));
//! assert_eq!(program.reduced().iter().map(|i| &**i).collect::<Vec<_>>(), ["j"]);
//! # Ok::<(), Box<siskin::diagnostic::Diagnostic>>(())
//! ```

mod display;
pub mod extents;
pub mod interpret;
mod ir;
mod parse;
mod point;
mod product;
mod scalar;
mod subscript;
mod token;
mod verify;

pub use extents::{Extents, resolve};
pub use interpret::{OracleTensor, interpret};
pub use ir::{Access, AssignOp, Expr, FunctionCall, Literal, Program};
pub use product::Product;
pub use scalar::Scalar;

/// What diagnostics call the text of a program.
pub(crate) const SOURCE_NAME: &str = "<expression>";

/// The functions of the language; their names are reserved.
pub(crate) const FUNCTIONS: &[&str] = &["min", "max"];

#[cfg(test)]
mod random_programs;
