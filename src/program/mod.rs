//! Stage 2, *parse*: what is computed, as a tree of statements.
//!
//! In: statements of index notation as text (design §4), or a tree. Out: a [`Program`], and with
//! the shapes of its tensors the [`Extents`] of its indices. [`interpret`](interpret::interpret)
//! runs a program on dense arrays; it is the oracle that every generated kernel is compared with.
//!
//! The grammar of the tree is in `ir.rs`. That of index notation, which is
//! [sugar](Assignment) for it:
//!
//! ```text
//! program    := statement (';' statement)* [';']
//! statement  := access op expr ['if' formula]
//! op         := '=' | '+=' | '-=' | '*=' | '/=' | operator '='
//! expr       := sum [('==' | '!=' | '<' | '<=' | '>' | '>=') sum]
//! sum        := term (('+' | '-') term)*
//! term       := unary (('*' | '/') unary)*
//! unary      := '-' unary | primary
//! primary    := number | 'inf' | 'nan' | 'true' | 'false' | index | access
//!             | operator '(' expr (',' expr)* ')' | '(' expr ')'
//! access     := name | name '[' [subscript (',' subscript)*] ']' | name '(' … ')'
//! subscript  := affine | '(' [end] ':' [end] [':' step] ')' '(' index ')'
//! ```
//! An `operator` is one of `operators/`, by its name; symbols stand for those that declare them. A bare
//! name that is a subscript elsewhere in the statement is that `index`. The types of values are
//! decided when those of the tensors are known: [`typed`].
//! The second form is a [window](Window). `formula` and `affine` are those of [`crate::formula::parse`], over index names only. A name is
//! ASCII: a letter or `_`, then letters, digits and `_`. In a tree, a bare name in an `expr` is the
//! index or value that an enclosing statement binds, else a scalar tensor.
//!
//! # Meaning
//!
//! Of a tree: statements run from top to bottom, loops from the first value of their index, 0, to
//! the last. In a free loop (`forall`) any other order is as good, but for the rounding of floats:
//! its iterations write different elements, or combine into them by one operator. An `if` runs one
//! of its blocks, and so does a `when`, which asks for a value; a `let` computes its value once and runs
//! its block.
//!
//! An assignment whose accesses, the output's included, do not **all** lie inside their tensors is
//! not executed; neither is a `let` or `when` with its blocks if its value reads outside. Only what
//! `within` asks for may lie anywhere, and of its two values only one is read. A subscript that mentions
//! a value of `let` must lie inside, or the program stops with an error. `=` replaces the
//! element, `+=` adds to it, `*=` multiplies, `min=` and `max=` keep the least and the greatest.
//!
//! `declare` sets every element of a tensor; `declare t given` keeps those that the caller passes. A tensor that is declared inside a loop, a branch or a
//! `let` is a workspace: nothing outside that block mentions it. All other tensors that are written
//! are outputs. The elements of an output that is not declared start at the identity of its
//! operator, and it has only one.
//!
//! Of index notation, by its tree: the *iteration space* is the set of index values, each index from
//! 0 to its extent, at which the restriction holds and every access lies inside its tensor. At each
//! of its points the right side is combined into one output element; elements start at the identity
//! of the combination. `=` and `+=` both sum (so `=` reduces every index that is absent on the
//! left); any other operator combines so, if it is commutative and associative. `x[i+j]` thus drops
//! the iterations that read past the end of `x`.
//!
//! # Before → after
//!
//! ```
//! use siskin::program::Program;
//! let program = Program::parse("y(i) = 2*A(i,j) * x(j+1) if j<=i")?;
//! assert_eq!(program.to_string(), "y[i] = 2 * A[i,j] * x[j + 1] if j <= i");
//! assert_eq!(
//!     program.root().to_string(),
//!     "{
//!   declare y 0
//!   forall i {
//!     forall j {
//!       if j <= i {
//!         y[i] += 2 * A[i,j] * x[j + 1]
//!       }
//!     }
//!   }
//! }"
//! );
//! let reduced = program.assignment()?.reduced();
//! assert_eq!(reduced.iter().map(|i| &**i).collect::<Vec<_>>(), ["j"]);
//! # Ok::<(), Box<siskin::diagnostic::Diagnostic>>(())
//! ```

mod bind;
mod display;
pub mod extents;
pub mod finch;
mod independence;
pub mod interpret;
mod ir;
mod notation;
mod parse;
mod point;
mod reach;
mod scalar;
mod scope;
mod sequence;
mod statement;
mod stored;
mod subscript;
mod sugar;
mod token;
mod typing;
mod verify;
mod window;

pub use extents::{Extents, resolve};
pub use interpret::{
    Dense, OracleTensor, interpret, interpret_all, interpret_stored, interpret_typed,
};
pub use ir::{
    Access, Apply, Assign, AssignOp, Block, Declare, Expr, Fill, If, Let, Literal, Loop, Order,
    Program, Span, Stmt, When, Within, split_update, update_prefix,
};
pub use notation::Assignment;
pub use parse::Language;
pub use scalar::{Scalar, number};
pub use stored::Elements;
pub use typing::{Types, combines, typed};
pub use window::Window;

/// What diagnostics call the text of a program.
pub(crate) const SOURCE_NAME: &str = "<expression>";

#[cfg(test)]
mod random_programs;
#[cfg(test)]
mod trees;
