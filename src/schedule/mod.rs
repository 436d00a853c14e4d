//! Stage *schedule*: in which order the dimensions of a space are visited, and who drives each index.
//!
//! In: a [`Space`](crate::iterspace::Space) and wishes about the order. Out: a [`Schedule`], concrete
//! index notation (Auto §3) whose dimensions are the indices and the positions of the space. What
//! gives a dimension its values, and how each subscript of an access takes part, is decided here;
//! scanning turns it into loops.
//!
//! ```text
//! schedule := 'forall' dim how schedule | access '+=' [access ('*' access)*]
//! how      := 'walk'      a position: all that the outer dimensions leave, as they are stored
//!           | 'locate'    a position, where all that it stands for is known
//!           | 'count'     an index that nothing drives: from 0 to its extent
//!           | 'let'       an index that an equation decides
//!           | 'tile'      a tile of an index, a position or a tile
//! access   := tensor '[' [e protocol (',' e protocol)*] ']'
//! protocol := 'walk' | 'locate'
//! ```
//!
//! Before → after, for SpMSpV with a matrix compressed by rows:
//!
//! ```text
//! { [i, j, pA0, pA1, px] : … and i = pA0 and … and j = crd_A(pA1) and … and j = crd_x(px) }
//!
//! forall pA0 walk
//!   forall i let
//!     forall pA1 walk
//!       forall j let
//!         forall px locate
//!           y[i locate] += A[i walk, j walk] * x[j locate]
//! ```
//!
//! The pieces of a union have a schedule each: the rows of one may be the columns of another.

mod alternatives;
mod drive;
mod order;
mod parse;
mod sought;
mod ties;
mod tree;

pub use alternatives::{Alternative, alternatives};
pub use drive::schedule;
pub use tree::{Access, Assign, How, Protocol, Read, Schedule};
