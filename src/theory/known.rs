//! What is known at a point: established facts, and what the laws say of the calls in sight.
//!
//! In: facts, entered and left as on the way through a nest. Out: whether they prove a claim. The
//! prover holds the facts and the instances of the laws on their calls; a claim about further calls
//! brings the instances on those with it. Each instance is given to the prover once, at the point
//! where its last call comes into sight.

use std::collections::HashMap;

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use super::laws::Theory;
use super::sight::Sight;
use crate::formula::{Affine, Constraint, Formula, Relop};
use crate::prover::{Answer, Prover};

/// A stack of established facts over a prover.
pub struct Known<'a> {
    theory: &'a Theory,
    prover: &'a mut dyn Prover,
    sight: Sight,
    instances: IndexSet<Formula, FxBuildHasher>,
    /// All that the prover holds, in the order in which it came.
    given: Vec<Formula>,
    scopes: Vec<Scope>,
}

/// What was there before a scope was entered, and the answers within it.
struct Scope {
    calls: usize,
    instances: usize,
    given: usize,
    answers: HashMap<Constraint, bool, FxBuildHasher>,
}

impl<'a> Known<'a> {
    /// What holds of the parameters.
    pub fn new(theory: &'a Theory, prover: &'a mut dyn Prover) -> Self {
        let mut known = Known {
            theory,
            prover,
            sight: Sight::default(),
            instances: IndexSet::default(),
            given: Vec::new(),
            scopes: Vec::new(),
        };
        let ground = theory.laws.iter().filter(|law| law.is_ground());
        let ground: Vec<Formula> = ground.map(|law| law.formula.clone()).collect();
        known.open(&theory.base, &ground, 0);
        known
    }

    /// Adds facts until the matching [`Known::leave`].
    pub fn enter<'c>(&mut self, facts: impl IntoIterator<Item = &'c Constraint>) {
        let facts: Vec<Formula> = facts.into_iter().cloned().map(Formula::Constraint).collect();
        self.enter_formulas(&facts, &[]);
    }

    /// [`Known::enter`] with facts that are no constraints, and with the calls of `sights` brought
    /// into sight, which are about to be asked about.
    pub fn enter_formulas(&mut self, facts: &[Formula], sights: &[Formula]) {
        self.open(facts, sights, self.sight.len());
    }

    fn open(&mut self, facts: &[Formula], sights: &[Formula], from: usize) {
        let before = (self.sight.len(), self.instances.len(), self.given.len());
        let new = self.see(facts.iter().chain(sights), from);
        let start = self.given.len();
        self.given.extend(facts.iter().cloned());
        self.given.extend(new);
        self.prover.push(&self.given[start..]);
        let (calls, instances, given) = before;
        self.scopes.push(Scope { calls, instances, given, answers: HashMap::default() });
    }

    /// Brings calls into sight; the instances that they add.
    fn see<'f>(
        &mut self,
        formulas: impl IntoIterator<Item = &'f Formula>,
        from: usize,
    ) -> Vec<Formula> {
        formulas.into_iter().for_each(|f| self.sight.insert_all(f));
        if self.sight.len() == from && from > 0 {
            return Vec::new();
        }
        self.theory.see_definitions(&mut self.sight, from);
        let before = self.instances.len();
        for law in &self.theory.laws {
            law.instances(&self.sight, from, &mut |instance| {
                self.instances.insert(instance);
            });
        }
        self.instances.iter().skip(before).cloned().collect()
    }

    /// Drops the facts of the last [`Known::enter`].
    ///
    /// # Panics
    /// When nothing was entered.
    pub fn leave(&mut self) {
        assert!(self.scopes.len() > 1, "a leave without an enter");
        self.close();
    }

    fn close(&mut self) {
        if let Some(scope) = self.scopes.pop() {
            self.prover.pop();
            self.sight.truncate(scope.calls);
            self.instances.truncate(scope.instances);
            self.given.truncate(scope.given);
        }
    }

    /// Facts and instances.
    pub fn given(&self) -> &[Formula] {
        &self.given
    }

    /// Whether what is known implies the claim. Answers are remembered; a positive one stays true
    /// until the facts at hand are left.
    pub fn proves(&mut self, claim: &Constraint) -> bool {
        self.proves_all(std::slice::from_ref(claim))
    }

    /// [`Known::proves`] for a conjunction, with one question to the prover.
    pub fn proves_all(&mut self, claims: &[Constraint]) -> bool {
        let mut open = Vec::new();
        for claim in claims {
            match claim.as_bool().or_else(|| self.remembered(claim)) {
                Some(true) => {}
                Some(false) => return false,
                None => open.push(claim.clone()),
            }
        }
        if open.is_empty() {
            return true;
        }
        let claim = Formula::and(open.iter().cloned().map(Formula::Constraint));
        let answer = self.imply(&[], &claim);
        if let Some(scope) = self.scopes.last_mut()
            // Which part of a refuted conjunction fails is not known.
            && (answer || open.len() == 1)
        {
            scope.answers.extend(open.into_iter().map(|c| (c, answer)));
        }
        answer
    }

    fn remembered(&self, claim: &Constraint) -> Option<bool> {
        if self.scopes.iter().any(|scope| scope.answers.get(claim) == Some(&true)) {
            return Some(true);
        }
        self.scopes.last().and_then(|scope| scope.answers.get(claim)).copied()
    }

    pub fn is_nonnegative(&mut self, affine: &Affine) -> bool {
        self.proves(&Constraint { affine: affine.clone(), relop: Relop::Ge })
    }

    /// Whether what is known and `lemmas` imply the claim. Not remembered.
    pub fn imply(&mut self, lemmas: &[Formula], claim: &Formula) -> bool {
        let mut query = lemmas.to_vec();
        query.push(claim.clone().not());
        self.excludes(&query)
    }

    /// Whether `facts` cannot hold together with what is known.
    pub fn excludes(&mut self, facts: &[Formula]) -> bool {
        self.with(facts, |prover, query| prover.is_unsat(query))
    }

    /// Decides `facts` together with what is known.
    pub fn ask(&mut self, facts: &[Formula]) -> Answer {
        self.with(facts, |prover, query| prover.prove_unsat(query))
    }

    /// [`Known::ask`] for those who read no model: it may be empty.
    pub fn decide(&mut self, facts: &[Formula]) -> Answer {
        self.with(facts, |prover, query| prover.decide(query))
    }

    /// Asks about `facts` with the instances on calls that only they mention.
    fn with<T>(
        &mut self,
        facts: &[Formula],
        ask: impl FnOnce(&mut dyn Prover, &[Formula]) -> T,
    ) -> T {
        let new = self.instances_on(facts);
        match new.is_empty() {
            true => ask(self.prover, facts),
            false => ask(self.prover, &[new.as_slice(), facts].concat()),
        }
    }

    /// The instances on calls that only `facts` mention.
    pub fn instances_on(&mut self, facts: &[Formula]) -> Vec<Formula> {
        let (calls, instances) = (self.sight.len(), self.instances.len());
        let new = self.see(facts, calls);
        self.sight.truncate(calls);
        self.instances.truncate(instances);
        new
    }
}

/// The prover is left as it was.
impl Drop for Known<'_> {
    fn drop(&mut self) {
        while !self.scopes.is_empty() {
            self.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::{Name, parse};
    use crate::prover::{AgreeingProver, Z3Prover};

    fn formula(text: &str) -> Formula {
        parse::formula(text).unwrap()
    }

    fn constraints(text: &str) -> Vec<Constraint> {
        formula(text).as_conjunction().unwrap()
    }

    fn compressed_rows() -> Theory {
        let parameters: Vec<Name> = ["I", "J", "NNZ"].map(Name::from).to_vec();
        let base = ["0 <= I", "0 <= J", "0 <= NNZ", "NNZ = pos(I)"].map(formula).to_vec();
        let mut theory = Theory::new(parameters, base);
        for law in [
            "0 <= p and p <= I => 0 <= pos(p) and pos(p) <= NNZ",
            "0 <= p and p < NNZ => 0 <= crd(p) and crd(p) < J",
            "0 <= p and p < q and q <= I => pos(p) <= pos(q)",
            "pos(0) = 0",
        ] {
            theory.add(&formula(law), None);
        }
        theory
    }

    #[test]
    fn accesses_on_the_way_through_rows_are_proved_in_bounds() {
        let theory = compressed_rows();
        let mut prover = AgreeingProver::new();
        let mut known = Known::new(&theory, &mut prover);
        assert!(!known.proves_all(&constraints("0 <= p0 + 1 and p0 + 1 <= I")));
        known.enter(&constraints("0 <= p0 and p0 < I"));
        assert!(known.proves_all(&constraints("0 <= p0 + 1 and p0 + 1 <= I")));
        known.enter(&constraints("pos(p0) <= p1 and p1 < pos(p0 + 1)"));
        assert!(known.proves_all(&constraints("0 <= p1 and p1 < NNZ")));
        // No fact mentions the column: the claim brings its range into sight.
        assert!(known.proves_all(&constraints("0 <= crd(p1) and crd(p1) < J")));
        assert!(!known.proves(&constraints("crd(p1) < I")[0]));
        known.leave();
        assert!(!known.proves(&constraints("p1 < NNZ")[0]));
        drop(known);
        assert!(prover.compared() > 5);
    }

    #[test]
    fn a_claim_refuted_outside_is_asked_again_inside() {
        let theory = compressed_rows();
        let mut prover = Z3Prover::new();
        let mut known = Known::new(&theory, &mut prover);
        let claim = &constraints("i < I")[0];
        assert!(!known.proves(claim));
        known.enter(&constraints("i = p0 and p0 < I"));
        assert!(known.proves(claim));
        known.leave();
        assert!(!known.proves(claim));
    }

    #[test]
    fn the_prover_is_left_as_it_was() {
        let theory = compressed_rows();
        let mut prover = Z3Prover::new();
        {
            let mut known = Known::new(&theory, &mut prover);
            known.enter(&constraints("I < 0"));
            assert!(known.proves(&constraints("x < x + y")[0]));
        }
        assert!(prover.prove_unsat(&[formula("I < 0")]).is_sat());
    }

    #[test]
    fn asking_leaves_nothing_in_sight() {
        let theory = compressed_rows();
        let mut prover = Z3Prover::new();
        let mut known = Known::new(&theory, &mut prover);
        let given = known.given().len();
        assert!(known.excludes(&[formula("0 <= p and p < NNZ and crd(p) >= J")]));
        assert!(known.ask(&[formula("crd(p) >= J")]).is_sat());
        assert_eq!(known.given().len(), given);
        assert_eq!(known.sight.len(), theory.sight().len());
    }
}
