//! The outcome of trying a template on a find.

use std::fmt;

use super::{Plan, Proved};
use crate::formula::Formula;
use crate::prover::Model;

/// What the prover found. Only `Proved` is ever emitted.
#[derive(Clone, Debug)]
pub enum Verdict {
    Proved(Proved<Plan>),
    Refuted(Refutation),
    /// The prover gave up within its resource bound.
    Unknown(String),
    /// Under the declared properties nothing can ever match: the assumptions contradict each other.
    Vacuous,
    /// The template needs something the find does not have, e.g. an equality key.
    Inapplicable(String),
}

/// Why a template may not be used.
#[derive(Clone, Debug)]
pub struct Refutation {
    /// The obligation that fails.
    pub obligation: String,
    /// What that obligation is for, from the template.
    pub reason: String,
    /// The arguments with which it fails.
    pub arguments: String,
    /// The expanded obligation; satisfiable together with what holds of the find.
    pub query: Formula,
    /// Small concrete index arrays and two iterations that break it. `None` when the obligation
    /// asks for a situation that never occurs.
    pub counterexample: Option<Model>,
}

impl Verdict {
    pub fn plan(&self) -> Option<&Proved<Plan>> {
        match self {
            Verdict::Proved(plan) => Some(plan),
            _ => None,
        }
    }

    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Proved(_) => "proved",
            Verdict::Refuted(_) => "refuted",
            Verdict::Unknown(_) => "unknown",
            Verdict::Vacuous => "vacuous",
            Verdict::Inapplicable(_) => "not applicable",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Proved(plan) => write!(f, "proved: {plan}"),
            Verdict::Refuted(r) => write!(f, "{r}"),
            Verdict::Unknown(why) => write!(f, "unknown: {why}"),
            Verdict::Vacuous => f.write_str("vacuous: nothing can match under the properties"),
            Verdict::Inapplicable(why) => write!(f, "not applicable: {why}"),
        }
    }
}

impl fmt::Display for Refutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refuted by `{}`", self.obligation)?;
        if !self.arguments.is_empty() {
            write!(f, " ({})", self.arguments)?;
        }
        write!(f, ": {}", self.reason)?;
        if let Some(model) = &self.counterexample {
            write!(f, "; e.g. {model}")?;
        }
        Ok(())
    }
}
