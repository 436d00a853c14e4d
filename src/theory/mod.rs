//! What declared laws say about the index-array calls at hand.
//!
//! In: the closed formulas of a statement or a layout (the *laws*), what holds of its parameters, and
//! calls. Out: quantifier-free instances of the laws, each with its domain guards; and proofs from
//! facts and instances. Everything that is proved stands on this: checks of declarations, bounds of
//! scans, obligations of finds, dependences, accesses of emitted code.
//!
//! ```
//! use siskin::formula::{Name, parse};
//! use siskin::prover::Z3Prover;
//! use siskin::theory::{Known, Theory};
//!
//! let formula = |text| parse::formula(text).unwrap();
//! let mut theory = Theory::new(vec![Name::from("I"), Name::from("N")], vec![formula("N = pos(I)")]);
//! theory.add(&formula("0 <= p and p < q and q <= I => pos(p) <= pos(q)"), None);
//!
//! let mut prover = Z3Prover::new();
//! let mut known = Known::new(&theory, &mut prover);
//! let facts = formula("0 <= r and r < I and p < pos(r + 1)").as_conjunction().unwrap();
//! known.enter(&facts);
//! assert!(known.proves(&formula("p < N").as_conjunction().unwrap()[0]));
//! known.leave();
//! ```

mod known;
mod law;
mod laws;
mod sight;

pub use known::Known;
pub use law::{BOUND, Law};
pub use laws::{Theory, rows_overlap};
pub use sight::Sight;
