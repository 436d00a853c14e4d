//! The outcome of trying a template on a find.

use std::fmt;
use std::rc::Rc;

use super::{Plan, Proved};
use crate::formula::Formula;
use crate::prover::{Model, Prover, Z3Prover};

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
    /// What is known there. `None` when the obligation asks for a situation that never occurs.
    pub(super) situation: Option<Situation>,
}

/// What is known where an obligation fails.
#[derive(Clone, Debug)]
pub(super) struct Situation {
    /// Facts, and what the laws say of their calls.
    pub given: Rc<[Formula]>,
    /// What the laws say of the calls of the obligation.
    pub instances: Vec<Formula>,
}

impl Refutation {
    /// Small concrete index arrays and two iterations that break the obligation, without what does not
    /// matter. It is looked for when somebody reads it: planning refutes a lot.
    pub fn counterexample(&self) -> Option<Model> {
        let Situation { given, instances } = self.situation.as_ref()?;
        let mut prover = Z3Prover::new().with_any_model();
        prover.push(given);
        let query = [instances.as_slice(), std::slice::from_ref(&self.query)].concat();
        prover.illustrate(&query).map(|model| model.about(&self.query, given.iter()))
    }

    /// Which obligation fails, with which arguments, and what it is for.
    pub fn why(&self) -> String {
        let with = match self.arguments.as_str() {
            "" => String::new(),
            arguments => format!(" ({arguments})"),
        };
        format!("refuted by `{}`{with}: {}", self.obligation, self.reason)
    }
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
        f.write_str(&self.why())?;
        if let Some(model) = self.counterexample() {
            write!(f, "; e.g. {model}")?;
        }
        Ok(())
    }
}
