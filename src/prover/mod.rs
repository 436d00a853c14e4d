//! Proofs and refutations of quantifier-free formulas.
//!
//! In: facts, as [`Formula`]s without predicates: linear integer arithmetic with floor division and
//! calls of uninterpreted index arrays (already instantiated where a property is universal). Out:
//! an [`Answer`] for their conjunction; a [`Model`] when it is satisfiable. A claim is proved when
//! the facts together with its negation are [`Answer::Unsat`]; `Unknown` counts as not proved.
//!
//! [`Z3Prover`] decides in production. [`IslProver`] is an independent second opinion, and
//! [`AgreeingProver`] runs both and insists that they agree. [`smtlib::script`] prints a query for
//! any other solver. [`arithmetic`] decides equations with products of variables.

mod agree;
pub mod arithmetic;
mod isl;
pub mod kept;
mod memory;
mod model;
mod propagation;
pub mod smtlib;
mod terms;
mod z3;

pub use agree::AgreeingProver;
pub use isl::IslProver;
pub use model::Model;
pub use z3::Z3Prover;

use crate::formula::Formula;

/// What is known about a conjunction of facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// No integers and arrays satisfy the facts.
    Unsat,
    /// These do.
    Sat(Model),
    /// Not decided, with the reason.
    Unknown(String),
}

impl Answer {
    pub fn is_unsat(&self) -> bool {
        matches!(self, Answer::Unsat)
    }

    pub fn is_sat(&self) -> bool {
        matches!(self, Answer::Sat(_))
    }

    /// The refuting model, if there is one.
    pub fn model(&self) -> Option<&Model> {
        match self {
            Answer::Sat(model) => Some(model),
            _ => None,
        }
    }

    fn verdict(&self) -> &'static str {
        match self {
            Answer::Unsat => "unsat",
            Answer::Sat(_) => "sat",
            Answer::Unknown(_) => "unknown",
        }
    }
}

/// A decision procedure with a stack of facts.
pub trait Prover {
    /// Adds facts that hold until the matching [`Prover::pop`].
    ///
    /// # Panics
    /// When a fact still has a predicate: those are expanded by whoever owns their definitions.
    fn push(&mut self, facts: &[Formula]);

    /// Drops the facts of the last [`Prover::push`].
    fn pop(&mut self);

    /// Decides the conjunction of all facts on the stack.
    fn check(&mut self) -> Answer;

    /// True if the facts on the stack and `query` are proved to have no model. Cheaper than
    /// [`Prover::prove_unsat`]: no model is built when they have one.
    fn is_unsat(&mut self, query: &[Formula]) -> bool {
        self.prove_unsat(query).is_unsat()
    }

    /// [`Prover::prove_unsat`] for those who read no model: it may be empty.
    fn decide(&mut self, query: &[Formula]) -> Answer {
        self.prove_unsat(query)
    }

    /// A model of the facts on the stack and `query` with small numbers, to be read by people.
    /// `None` when there is no model or none was found.
    fn illustrate(&mut self, query: &[Formula]) -> Option<Model> {
        self.prove_unsat(query).model().cloned()
    }

    /// Decides the facts on the stack together with `query`, and leaves the stack as it was.
    fn prove_unsat(&mut self, query: &[Formula]) -> Answer {
        self.push(query);
        let answer = self.check();
        self.pop();
        answer
    }
}
