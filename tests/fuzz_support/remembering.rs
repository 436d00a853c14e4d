//! A prover that asks Z3 no question twice, whatever the names in it.
//!
//! Random kernels over the same layouts ask the same things about arrays of other names. Before a
//! question is looked up its names become numbers, in the order in which they occur; the terms of a
//! sum, which are sorted by their names, are brought into an order without them first.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use siskin::formula::{Affine, Atom, Formula, Name};
use siskin::prover::{Answer, Model, Prover, Z3Prover};

/// Answers to the questions of all cases so far.
#[derive(Default)]
pub struct Memory {
    answers: HashMap<(u64, u64), Known>,
    pub asked: usize,
    pub remembered: usize,
}

#[derive(Clone, Debug)]
enum Known {
    Unsat,
    Sat,
    Unknown(String),
}

pub struct Remembering<'m> {
    memory: &'m mut Memory,
    inner: Z3Prover,
    stack: Vec<Vec<Formula>>,
    /// What each scope of the stack, and nothing, come to.
    digests: Vec<Digest>,
    /// So many scopes were given to Z3: those before the last question that it was asked.
    given: usize,
}

impl Remembering<'_> {
    pub fn new(memory: &mut Memory) -> Remembering<'_> {
        Remembering {
            memory,
            inner: Z3Prover::new().with_any_model(),
            stack: Vec::new(),
            digests: vec![Digest::new()],
            given: 0,
        }
    }

    fn known(&mut self, query: &[Formula]) -> Known {
        self.memory.asked += 1;
        let mut digest = self.digests[self.digests.len() - 1].clone();
        digest.formulas(query);
        let key = digest.key();
        if let Some(known) = self.memory.answers.get(&key) {
            self.memory.remembered += 1;
            return known.clone();
        }
        for facts in &self.stack[self.given..] {
            self.inner.push(facts);
        }
        self.given = self.stack.len();
        let known = match self.inner.prove_unsat(query) {
            Answer::Unsat => Known::Unsat,
            Answer::Sat(_) => Known::Sat,
            Answer::Unknown(why) => Known::Unknown(why),
        };
        self.memory.answers.insert(key, known.clone());
        known
    }
}

impl Prover for Remembering<'_> {
    fn push(&mut self, facts: &[Formula]) {
        let mut digest = self.digests[self.digests.len() - 1].clone();
        digest.formulas(facts);
        self.digests.push(digest);
        self.stack.push(facts.to_vec());
    }

    fn pop(&mut self) {
        self.stack.pop().expect("a pop without a push");
        self.digests.pop();
        if self.given > self.stack.len() {
            self.inner.pop();
            self.given -= 1;
        }
    }

    fn check(&mut self) -> Answer {
        self.prove_unsat(&[])
    }

    fn prove_unsat(&mut self, query: &[Formula]) -> Answer {
        match self.known(query) {
            Known::Unsat => Answer::Unsat,
            // Nobody reads the counterexample.
            Known::Sat => Answer::Sat(Model::default()),
            Known::Unknown(why) => Answer::Unknown(why),
        }
    }

    fn is_unsat(&mut self, query: &[Formula]) -> bool {
        matches!(self.known(query), Known::Unsat)
    }

    fn illustrate(&mut self, _: &[Formula]) -> Option<Model> {
        None
    }
}

/// Two hashes of what was seen, and the numbers of the names in it.
#[derive(Clone)]
struct Digest {
    hashers: [DefaultHasher; 2],
    names: HashMap<Name, usize>,
}

impl Digest {
    fn new() -> Digest {
        let mut hashers = [DefaultHasher::new(), DefaultHasher::new()];
        1.hash(&mut hashers[1]);
        Digest { hashers, names: HashMap::new() }
    }

    fn key(&self) -> (u64, u64) {
        (self.hashers[0].finish(), self.hashers[1].finish())
    }

    fn put(&mut self, part: impl Hash) {
        self.hashers.iter_mut().for_each(|h| part.hash(h));
    }

    fn name(&mut self, name: &Name) {
        let next = self.names.len();
        let number = *self.names.entry(name.clone()).or_insert(next);
        self.put(number);
    }

    fn formulas(&mut self, formulas: &[Formula]) {
        formulas.iter().for_each(|f| self.formula(f));
    }

    fn formula(&mut self, formula: &Formula) {
        match formula {
            Formula::Constraint(c) => {
                self.put((1, c.relop));
                self.affine(&c.affine);
            }
            Formula::And(parts) => {
                self.put((2, parts.len()));
                self.formulas(parts);
            }
            Formula::Or(parts) => {
                self.put((3, parts.len()));
                self.formulas(parts);
            }
            Formula::Not(inner) => {
                self.put(4);
                self.formula(inner);
            }
            Formula::Implies(condition, then) => {
                self.put(5);
                self.formula(condition);
                self.formula(then);
            }
            Formula::Predicate(..) => unreachable!("predicates are expanded before proving"),
        }
    }

    fn affine(&mut self, affine: &Affine) {
        let mut terms: Vec<(Vec<i64>, &Atom, i64)> = Vec::new();
        for (atom, coefficient) in affine.terms() {
            let mut shape = vec![*coefficient];
            self.shape(atom, &mut shape);
            terms.push((shape, atom, *coefficient));
        }
        // Terms of one shape keep the order of their names: that costs a look-up that fails.
        terms.sort_by(|a, b| a.0.cmp(&b.0));
        self.put((6, terms.len(), affine.offset()));
        for (_, atom, coefficient) in terms {
            self.put(coefficient);
            self.atom(atom);
        }
    }

    /// What is known of an atom without new names: those that occurred have numbers already.
    fn shape(&self, atom: &Atom, out: &mut Vec<i64>) {
        let number = |n: &Name| self.names.get(n).map_or(i64::MAX, |k| *k as i64);
        let affine = |a: &Affine, out: &mut Vec<i64>| {
            out.push(a.offset());
            for (atom, coefficient) in a.terms() {
                out.push(*coefficient);
                self.shape(atom, out);
            }
        };
        match atom {
            Atom::Var(n) => out.extend([1, number(n)]),
            Atom::Call(call) => {
                out.extend([2, number(&call.array), call.args.len() as i64]);
                call.args.iter().for_each(|a| affine(a, out));
            }
            Atom::Floor(inner, divisor) => {
                out.extend([3, *divisor]);
                affine(inner, out);
            }
        }
    }

    fn atom(&mut self, atom: &Atom) {
        match atom {
            Atom::Var(n) => {
                self.put(1);
                self.name(n);
            }
            Atom::Call(call) => {
                self.put((2, call.args.len()));
                self.name(&call.array);
                call.args.iter().for_each(|a| self.affine(a));
            }
            Atom::Floor(inner, divisor) => {
                self.put((3, divisor));
                self.affine(inner);
            }
        }
    }
}
