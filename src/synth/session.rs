//! What is known of one find, and what the prover says of an obligation.

use std::ops::Range;
use std::rc::Rc;

use super::verdict::Situation;
use super::vocabulary::{Arguments, Vocabulary};
use super::{Direction, FindProblem, Obligation, Refutation, Verdict};
use crate::diagnostic::Result;
use crate::formula::{Formula, Name};
use crate::prover::{Answer, Prover};
use crate::scan::Nest;
use crate::theory::Known;

/// What is known of two iterations and two positions of one find.
pub(super) struct Session<'a> {
    pub problem: &'a FindProblem,
    pub nest: &'a Nest,
    pub known: Known<'a>,
    /// What the prover holds of two positions.
    given: Rc<[Formula]>,
    /// Finds around it that have one match at most.
    pub unique: &'a [Name],
    /// When asked for: every choice of arguments that was refuted on the way.
    pub refuted: Option<Vec<Refutation>>,
}

impl<'a> Session<'a> {
    pub fn new(
        problem: &'a FindProblem,
        (nest, unique): (&'a Nest, &'a [Name]),
        prover: &'a mut dyn Prover,
    ) -> Self {
        let vocabulary = Vocabulary { problem, arguments: Arguments::default() };
        let mut known = Known::new(&problem.theory, prover);
        let iterations = [vocabulary.context(0), vocabulary.context(1)];
        known.enter_formulas(&iterations, &sights(&vocabulary, 0..2));
        let given = known.given().into();
        Session { problem, nest, known, given, unique, refuted: None }
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
        let asked = std::slice::from_ref(&query);
        let answer = self.known.decide(asked);
        let situation = answer.is_sat().then(|| Situation {
            given: match third {
                true => self.known.given().into(),
                false => self.given.clone(),
            },
            instances: self.known.instances_on(asked),
        });
        if third {
            self.known.leave();
        }
        let refutation = |situation| {
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
                situation,
            }
        };
        let refuted = match (answer, o.satisfiable) {
            (Answer::Unsat, false) | (Answer::Sat(_), true) => return Ok(None),
            (Answer::Sat(_), false) => refutation(situation),
            (Answer::Unsat, true) => refutation(None),
            (Answer::Unknown(why), _) => {
                return Ok(Some(Verdict::Unknown(format!("{}: {why}", o.name))));
            }
        };
        if let Some(all) = &mut self.refuted {
            all.push(refuted.clone());
        }
        Ok(Some(Verdict::Refuted(refuted)))
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
