//! What is known of one find, and what the prover says of an obligation.

use std::ops::Range;

use super::vocabulary::{Arguments, Vocabulary};
use super::{Direction, FindProblem, Obligation, Refutation, Verdict};
use crate::diagnostic::Result;
use crate::formula::Formula;
use crate::prover::{Answer, Model, Prover};
use crate::scan::Nest;
use crate::theory::Known;

/// What is known of two iterations and two positions of one find.
pub(super) struct Session<'a> {
    pub problem: &'a FindProblem,
    pub nest: &'a Nest,
    pub known: Known<'a>,
    /// When asked for: every choice of arguments that was refuted on the way.
    pub refuted: Option<Vec<Refutation>>,
}

impl<'a> Session<'a> {
    pub fn new(problem: &'a FindProblem, nest: &'a Nest, prover: &'a mut dyn Prover) -> Self {
        let vocabulary = Vocabulary { problem, arguments: Arguments::default() };
        let mut known = Known::new(&problem.theory, prover);
        let iterations = [vocabulary.context(0), vocabulary.context(1)];
        known.enter_formulas(&iterations, &sights(&vocabulary, 0..2));
        Session { problem, nest, known, refuted: None }
    }

    fn enter_third_position(&mut self) {
        let vocabulary = Vocabulary { problem: self.problem, arguments: Arguments::default() };
        self.known.enter_formulas(&[], &sights(&vocabulary, 2..3));
    }

    /// `None` if the obligation is met, otherwise why not.
    pub fn fails(&mut self, o: &Obligation, vocabulary: &Vocabulary) -> Result<Option<Verdict>> {
        let query = vocabulary.expand(&o.formula)?;
        let third = self.mentions_third_position(&query);
        if third {
            self.enter_third_position();
        }
        let answer = self.known.ask(std::slice::from_ref(&query));
        if third {
            self.known.leave();
        }
        let refutation = |counterexample| {
            let arguments = &vocabulary.arguments;
            let mut shown = Vec::new();
            match arguments.direction {
                Some(Direction::Up) => shown.push("up".to_string()),
                Some(Direction::Down) => shown.push("down".to_string()),
                None => {}
            }
            if let Some(c) = &arguments.continues {
                shown.push(format!("while {c}"));
            }
            if o.state {
                let names: Vec<&str> = arguments.state.iter().map(|n| &**n).collect();
                shown.push(format!("state {{{}}}", names.join(", ")));
            }
            Refutation {
                obligation: o.name.clone(),
                reason: o.reason.clone(),
                arguments: shown.join(", "),
                query: query.clone(),
                counterexample,
            }
        };
        let refuted = match (answer, o.satisfiable) {
            (Answer::Unsat, false) | (Answer::Sat(_), true) => return Ok(None),
            (Answer::Sat(model), false) => refutation(Some(model)),
            (Answer::Unsat, true) => refutation(None),
            (Answer::Unknown(why), _) => {
                return Ok(Some(Verdict::Unknown(format!("{}: {why}", o.name))));
            }
        };
        if self.refuted.is_some() {
            let mut shown = refuted.clone();
            shown.counterexample = self.illustrate(&shown.query);
            self.refuted.get_or_insert_default().push(shown);
        }
        Ok(Some(Verdict::Refuted(refuted)))
    }

    /// The smallest counterexample found for a refuted obligation, without what does not matter.
    pub fn illustrate(&mut self, query: &Formula) -> Option<Model> {
        let third = self.mentions_third_position(query);
        if third {
            self.enter_third_position();
        }
        let found = self.known.illustrate(std::slice::from_ref(query));
        let found = found.map(|model| model.about(query, self.known.given()));
        if third {
            self.known.leave();
        }
        found
    }

    fn mentions_third_position(&self, query: &Formula) -> bool {
        let third = format!("{}''", self.problem.position);
        query.free_vars().iter().any(|v| **v == *third)
    }
}

/// What obligations ask about these copies of the position, in both iterations.
fn sights(vocabulary: &Vocabulary<'_>, positions: Range<usize>) -> Vec<Formula> {
    let copies = positions.flat_map(|q| [(q, 0), (q, 1)]);
    copies.flat_map(|(q, i)| [vocabulary.in_range(q, i), vocabulary.matches(q, i)]).collect()
}
