//! Stage 3, *compose*: the iteration space of a statement.
//!
//! In: a [`Program`](crate::program::Program) and one [`Layout`](crate::layout::Layout) for each
//! tensor. Out: [`Space`]s, conjunctions over the logical indices *and* the positions of every
//! stored operand. Positions are never hidden behind an existential: they are needed to read values,
//! to rematerialise them and to tile by position (SPF §4).
//!
//! Before → after, for `y[i] += A[i,j] * x[j]` with `A` compressed by rows and `x` a sparse vector:
//!
//! ```text
//! { [i, j, pA0, pA1, px] : 0 <= i < I and 0 <= j < J
//!     and 0 <= pA0 < I and i = pA0 and pos_A(pA0) <= pA1 < pos_A(pA0 + 1) and j = crd_A(pA1)
//!     and 0 <= px < NNZ_x and j = crd_x(px) }
//! ```
//!
//! An operand whose positions are affine functions of its subscripts (a dense array) is *direct*: it
//! adds no dimension, only bounds.

mod accesses;
mod cases;
mod compose;
mod dependence;
mod elsewhere;
mod empty;
mod in_order;
mod missing;
mod names;
mod operand;
mod passes;
mod permissive;
mod place;
mod points;
mod region;
mod source;
mod space;
mod transform;
mod vanishing;
mod wanted;

pub use cases::{Case, cases};
pub use compose::{MOST_CHOICES, compose, compose_by};
pub use dependence::{Conflict, LoopKind, loop_kind};
pub use elsewhere::Elsewhere;
pub use in_order::{Keyed, in_one_iteration, in_order, in_order_by_groups};
pub use names::Names;
pub use operand::{Operand, Role};
pub use passes::Union;
pub use points::Points;
pub use source::Source;
pub use space::{Space, Tile};
pub use wanted::Wanted;
