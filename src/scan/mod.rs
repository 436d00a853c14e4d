//! Stage 4, *scan*: from an iteration space to a loop nest (SPF §6.1, Algorithm 1).
//!
//! In: a [`Space`] and a [`Schedule`]. Out: a [`Nest`] that visits exactly the points of the space.
//! Dimensions are visited in loop order; at each, inner dimensions are projected out, the result is
//! simplified against what is already known, and what remains about the dimension becomes a `let`,
//! loop bounds, guards, or the conditions of a find.
//!
//! Before → after, for SpMSpV:
//!
//! ```text
//! { [pA0, i, pA1, j, px] : 0 <= pA0 < I and i = pA0 and … and j = crd_A(pA1) and … and j = crd_x(px) }
//!
//! for pA0 in 0..I
//!   let i = pA0
//!   for pA1 in pos_A(pA0)..pos_A(pA0 + 1)
//!     let j = crd_A(pA1)
//!     find px in 0..NNZ_x where j = crd_x(px)
//! ```

mod assumptions;
mod conditions;
mod differences;
mod exact;
mod near;
mod nest;
mod parse;
mod range;
mod scanner;
mod stage;

pub use assumptions::Assumptions;
pub use exact::{outline, scan, scan_within};
pub use nest::{Bind, Grouped, Level, Nest};
pub use range::Range;

#[allow(unused_imports)]
use crate::iterspace::Space;
#[allow(unused_imports)]
use crate::schedule::Schedule;
