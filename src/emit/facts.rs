//! What is known at a point of the generated code, and whether it implies a constraint.

use std::collections::HashMap;

use crate::formula::{Affine, Constraint, Formula, Relop};
use crate::prover::Prover;

/// A stack of established facts over a prover.
pub struct Facts<'a> {
    prover: &'a mut dyn Prover,
    depth: usize,
    cache: Vec<HashMap<Constraint, bool>>,
}

impl<'a> Facts<'a> {
    pub fn new(prover: &'a mut dyn Prover) -> Self {
        Facts { prover, depth: 0, cache: vec![HashMap::new()] }
    }

    /// Adds facts until the matching [`Facts::leave`].
    pub fn enter<'c>(&mut self, facts: impl IntoIterator<Item = &'c Constraint>) {
        let facts: Vec<Formula> = facts.into_iter().cloned().map(Formula::Constraint).collect();
        self.prover.push(&facts);
        self.depth += 1;
        self.cache.push(HashMap::new());
    }

    pub fn leave(&mut self) {
        self.prover.pop();
        self.depth -= 1;
        self.cache.pop();
    }

    pub fn proves(&mut self, c: &Constraint) -> bool {
        if let Some(known) = c.as_bool() {
            return known;
        }
        // A positive answer stays true in deeper scopes.
        if self.cache.iter().any(|scope| scope.get(c) == Some(&true)) {
            return true;
        }
        if let Some(answer) = self.cache[self.depth].get(c) {
            return *answer;
        }
        let answer = self.prover.is_unsat(&[Formula::Constraint(c.negated())]);
        self.cache[self.depth].insert(c.clone(), answer);
        answer
    }

    /// Whether the established facts and `lemmas` imply the claim.
    pub fn imply(&mut self, lemmas: &[Formula], claim: &Formula) -> bool {
        let mut query = lemmas.to_vec();
        query.push(claim.clone().not());
        self.prover.is_unsat(&query)
    }

    pub fn is_nonnegative(&mut self, a: &Affine) -> bool {
        self.proves(&Constraint { affine: a.clone(), relop: Relop::Ge })
    }
}
