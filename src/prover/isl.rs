//! The second opinion: isl decides the same queries by splitting cases.
//!
//! Every call is a dimension of its own, and two calls of one array get Ackermann's axiom: equal
//! arguments, equal values. Facts that are not conjunctions, and these axioms, are only intersected
//! where a sample point breaks them, so that few of the cases are ever built.

use std::rc::Rc;

use super::model::Model;
use super::terms::{Terms, unexpanded};
use super::{Answer, Prover};
use crate::formula::{Atom, Atoms, Constraint, Formula};
use crate::isl::{Frame, Set};

/// Cases after which the prover gives up.
const CASES: usize = 20_000;

/// Case splitting over isl sets. Independent of Z3, slower, and its models are not small.
#[derive(Default)]
pub struct IslProver {
    stack: Vec<Vec<Formula>>,
}

impl IslProver {
    pub fn new() -> Self {
        Self::default()
    }
}

impl Prover for IslProver {
    fn push(&mut self, facts: &[Formula]) {
        self.stack.push(facts.to_vec());
    }

    fn pop(&mut self) {
        assert!(self.stack.pop().is_some(), "a pop without a push");
    }

    fn check(&mut self) -> Answer {
        let facts: Vec<&Formula> = self.stack.iter().flatten().collect();
        decide(&facts)
    }
}

/// A fact that is built as a set when a sample breaks it.
struct Lazy {
    formula: Formula,
    set: Option<Set>,
}

fn decide(facts: &[&Formula]) -> Answer {
    let terms = Terms::of(facts.iter().copied());
    let atoms = terms.vars.iter().cloned().map(Atom::Var);
    let atoms = atoms.chain(terms.calls.iter().cloned().map(Atom::Call)).collect();
    let frame = Rc::new(Frame::new(Vec::new(), atoms));

    let mut plain: Vec<Constraint> = Vec::new();
    let mut lazy: Vec<Lazy> = Vec::new();
    for fact in facts {
        for part in conjuncts(fact) {
            match part {
                Formula::Constraint(constraint) => plain.push(constraint.clone()),
                other => lazy.push(Lazy { formula: other.clone(), set: None }),
            }
        }
    }
    for (k, one) in terms.calls.iter().enumerate() {
        for other in &terms.calls[..k] {
            if let Some(formula) = Formula::congruence(one, other) {
                lazy.push(Lazy { formula, set: None });
            }
        }
    }

    let mut cases = set_of_constraints(&frame, &plain).split();
    let mut seen = 0;
    while let Some(case) = cases.pop() {
        seen += 1;
        if seen > CASES {
            return Answer::Unknown(format!("more than {CASES} cases"));
        }
        if case.is_empty() {
            continue;
        }
        let beyond = || Answer::Unknown("a sample needs numbers beyond 64 bits".into());
        let Some(point) = case.sample() else { return beyond() };
        let value = |atom: &Atom| terms.position(atom).map(|k| point[k]);
        let mut broken = None;
        for fact in &mut lazy {
            match fact.formula.holds(&Atoms(&value)) {
                Some(true) => {}
                Some(false) => {
                    broken = Some(fact);
                    break;
                }
                None => return beyond(),
            }
        }
        match broken {
            None => return Model::new(&terms, value).map_or_else(beyond, Answer::Sat),
            Some(Lazy { formula, set }) => {
                let set = set.get_or_insert_with(|| set_of(&frame, formula));
                cases.extend(case.intersect(set).split());
            }
        }
    }
    Answer::Unsat
}

/// The conjuncts of a formula, flattened.
fn conjuncts(formula: &Formula) -> Vec<&Formula> {
    match formula {
        Formula::And(parts) => parts.iter().flat_map(conjuncts).collect(),
        other => vec![other],
    }
}

fn set_of_constraints(frame: &Rc<Frame>, constraints: &[Constraint]) -> Set {
    Set::new(frame, constraints).expect("the frame has every atom of the facts")
}

fn set_of(frame: &Rc<Frame>, formula: &Formula) -> Set {
    match formula {
        Formula::Constraint(constraint) => {
            set_of_constraints(frame, std::slice::from_ref(constraint))
        }
        Formula::And(parts) => {
            parts.iter().fold(Set::universe(frame), |set, part| set.intersect(&set_of(frame, part)))
        }
        Formula::Or(parts) => {
            parts.iter().fold(Set::empty(frame), |set, part| set.union(&set_of(frame, part)))
        }
        Formula::Not(inner) => set_of(frame, inner).complement(),
        Formula::Implies(condition, then) => {
            set_of(frame, condition).complement().union(&set_of(frame, then))
        }
        Formula::Predicate(name, _) => unexpanded(name),
    }
}
