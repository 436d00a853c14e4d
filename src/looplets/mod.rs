//! Looplets: what a tensor holds along its indices, as regions (Finch §4, design §10).
//!
//! In: an access, its layout, and an order of its indices. Out: for each piece of the relation a [`Looplet`],
//! **derived** from the relation: isl scans the entries of the access alone, a loop of that nest becomes a
//! lookup where positions and coordinates are in affine bijection, and a stepper where Z3 proves that later
//! positions have greater coordinates. No layout is known here.
//!
//! ```text
//! looplet := 'fill'                              nothing is stored
//!          | 'element' array '[' e, … ']'        what is stored, all indices known
//!          | 'along' i 'in' range looplet        the next index
//!          | 'lookup' i looplet                  at each coordinate what it says there
//!          | 'run' looplet                       at each coordinate the same
//!          | 'spike' looplet looplet             a run, and at its last coordinate something else
//!          | 'sequence' phase…                   one region after the other
//!          | 'thunk' v '=' e looplet             a value that is computed before
//!          | 'switch' 'if' tests looplet 'else' looplet
//!          | 'stepper' p ['to' q] 'in' range ['where' tests] ['from' stop] ['until' stop ['rising']] looplet
//!                                                for each position that passes the coordinates up to its stop, or
//!                                                to the last one inside; for positions p..q of one coordinate.
//!                                                `from`: where it begins, if there is no gap;
//!                                                `rising`: stops do not fall, a position is sought by its coordinate
//!          | 'search' ['each'] p 'in' range ['where' tests] looplet
//!                                                the position that passes, or the sum of each that does, or fill
//! phase   := 'phase' 'until' stop looplet        from where the last one ended, or the beginning
//! stop    := e | 'min' '(' e, … ')' | 'max' '(' e, … ')'
//!          | 'last' stop 'of' p 'in' range       that of the last position, or the beginning
//! ```
//! Ends are exclusive. A region whose stop is not behind its beginning is empty; none goes on behind the end of the
//! one around it.
//!
//! Before → after, for a row of a matrix by compressed rows:
//!
//! ```text
//!                                               along j in 0..J
//! for pA1 in pos_A(i)..pos_A(i + 1)               sequence
//!   let j = crd_A(pA1)                      ⟼       phase until last crd_A(pA1) + 1 of pA1 in pos_A(i)..pos_A(i + 1)
//!     S                                               stepper pA1 in pos_A(i)..pos_A(i + 1) until crd_A(pA1) + 1 rising
//!                                                       spike
//!                                                         fill
//!                                                         element val_A[pA1]
//!                                                   phase until J
//!                                                     run
//!                                                       fill
//! ```

mod alone;
mod derive;
mod display;
mod ends;
mod make;
mod order;
mod parse;
mod region;
mod tree;
mod verify;

pub use alone::of_operand;
pub use derive::{Derived, derive, derive_operand};
pub use tree::{Along, Looplet, Phase, Search, Stepper, Stop};
