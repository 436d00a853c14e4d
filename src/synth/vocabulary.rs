//! The predicates in which find templates state their assumptions.
//!
//! | predicate | meaning |
//! |---|---|
//! | `in_range(q, I)` | position `q` lies in the range of the find in iteration `I` |
//! | `match(q, I)` | `q` satisfies the find condition of iteration `I` |
//! | `continue(q, I)` | the synthesized ordering holds: a walk would step over `q` |
//! | `before(q, r)` | a walk visits `q` before `r` |
//! | `less(q, r)` | `q < r`, whatever the direction |
//! | `earlier(I, J)` | iteration `I` runs before `J` (lexicographic order of the loops) |
//! | `same_state(I, J)` | both iterations use the same state: equal state indices |
//! | `same_range(I, J)` | the ranges of the find are equal |
//! | `same_query(I, J)` | both look for the same: equal outer parts of the conditions |
//! | `same_values(q, I, J)` | the searched index arrays read the same at `q` in both |
//! | `key(q, I)` | the searched values at `q` equal the find key of `I` |
//! | `key_less(q, r, I)` | the searched values at `q` are lexicographically less than those at `r` |
//! | `coordinate(q, I)` | the key is one number, and the searched value at `q` is not negative |
//! | `occupied(q, I)` | the searched values at `q` are not negative: `q` is no empty slot |
//! | `from_home(q, I)` | `q` is not before the home slot of the key of `I`, in a table that is the range |
//!
//! Every template visits the matches of one query in increasing order, so that a find whose matches are
//! a loop around another find is one of the loops of `earlier`.
//!
//! Iterations are `I`, `J`; positions are `q`, `r`, `s`. Iteration `J` is a renamed copy of the
//! outer variables (primed); what holds of an iteration is assumed of every copy.

use super::conditions::split;
use super::{Direction, FindProblem, KeyPart};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Constraint, Formula, Name};
use crate::layout::probing::HOME;

/// The arguments under trial.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    pub direction: Option<Direction>,
    pub continues: Option<Formula>,
    pub key: Vec<KeyPart>,
    pub state: Vec<Name>,
}

/// Expands template formulas for one find.
pub struct Vocabulary<'a> {
    pub problem: &'a FindProblem,
    pub arguments: Arguments,
}

/// Number of primes that tell the copies apart.
fn primes(copy: &str, names: &[&str]) -> Option<usize> {
    names.iter().position(|n| *n == copy)
}

const ITERATIONS: [&str; 2] = ["I", "J"];
const POSITIONS: [&str; 3] = ["q", "r", "s"];

impl Vocabulary<'_> {
    fn primed(name: &Name, count: usize) -> Name {
        Name::from(format!("{name}{}", "'".repeat(count)))
    }

    /// `affine` about position copy `q` in iteration copy `i`.
    pub fn instance(&self, affine: &Affine, q: usize, i: usize) -> Affine {
        let position = &self.problem.position;
        affine.substitute(&|n| {
            if n == position {
                Some(Affine::var(Self::primed(n, q)))
            } else if self.problem.outer.contains(n) {
                Some(Affine::var(Self::primed(n, i)))
            } else {
                None
            }
        })
    }

    fn constraints(&self, list: &[Constraint], q: usize, i: usize) -> Formula {
        Formula::and(list.iter().map(|c| Formula::Constraint(c.map(|a| self.instance(a, q, i)))))
    }

    /// What holds of the outer variables in iteration copy `i`.
    pub fn context(&self, i: usize) -> Formula {
        self.constraints(&self.problem.context, 0, i)
    }

    fn variable(&self, name: &Name, i: usize) -> Affine {
        self.instance(&Affine::var(name.clone()), 0, i)
    }

    fn equal(&self, parts: &[Affine]) -> Formula {
        Formula::and(
            parts.iter().map(|a| Formula::eq(self.instance(a, 0, 0), self.instance(a, 0, 1))),
        )
    }

    pub fn in_range(&self, q: usize, i: usize) -> Formula {
        let position = self.instance(&Affine::var(self.problem.position.clone()), q, i);
        let lower = self
            .problem
            .lower
            .iter()
            .map(|l| Formula::le(self.instance(l, q, i), position.clone()));
        let upper = self
            .problem
            .upper
            .iter()
            .map(|u| Formula::lt(position.clone(), self.instance(u, q, i)));
        Formula::and(lower.chain(upper))
    }

    pub fn matches(&self, q: usize, i: usize) -> Formula {
        self.constraints(&self.problem.conditions, q, i)
    }

    /// Replaces every predicate of a template formula.
    pub fn expand(&self, formula: &Formula) -> Result<Formula> {
        formula.expand_predicates(&mut |name, args| self.predicate(name, args))
    }

    fn predicate(&self, name: &Name, args: &[Affine]) -> Result<Formula> {
        let wrong = |what: &str| {
            Diagnostic::new(Code::Find, format!("template predicate `{name}`: {what}")).help(
                "positions are q, r, s; iterations are I, J; see `siskin explain --stage proofs`",
            )
        };
        let argument = |k: usize, names: &[&str]| {
            args.get(k)
                .and_then(Affine::as_var)
                .and_then(|n| primes(n, names))
                .ok_or_else(|| wrong(&format!("argument {} must be one of {names:?}", k + 1)))
        };
        let position = |k| argument(k, &POSITIONS);
        let iteration = |k| argument(k, &ITERATIONS);
        let place = |p: usize| self.instance(&Affine::var(self.problem.position.clone()), p, 0);
        Ok(match &**name {
            "in_range" => self.in_range(position(0)?, iteration(1)?),
            "match" => self.matches(position(0)?, iteration(1)?),
            "continue" => {
                let (q, i) = (position(0)?, iteration(1)?);
                let continues = self.arguments.continues.as_ref().ok_or_else(|| {
                    wrong("the template does not declare `needs = [\"ordering\"]`")
                })?;
                continues.map_affine(&|a| self.instance(a, q, i))
            }
            "before" => {
                let (q, r) = (place(position(0)?), place(position(1)?));
                match self.arguments.direction {
                    Some(Direction::Down) => Formula::lt(r, q),
                    _ => Formula::lt(q, r),
                }
            }
            "less" => Formula::lt(place(position(0)?), place(position(1)?)),
            "earlier" => {
                let (i, j) = (iteration(0)?, iteration(1)?);
                let tuple = |i| -> Vec<Affine> {
                    self.problem.loops.iter().map(|n| self.variable(n, i)).collect()
                };
                Formula::lex_lt(&tuple(i), &tuple(j))
            }
            "same_state" => {
                let state: Vec<Affine> =
                    self.arguments.state.iter().map(|n| Affine::var(n.clone())).collect();
                self.equal(&state)
            }
            "same_range" => {
                let (lower, upper) = (&self.problem.lower, &self.problem.upper);
                Formula::and([self.equal(lower), self.equal(upper)])
            }
            "same_query" => {
                let outer: Vec<Affine> = self
                    .problem
                    .conditions
                    .iter()
                    .map(|c| split(&c.affine, &self.problem.position).1)
                    .collect();
                self.equal(&outer)
            }
            "same_values" => {
                let q = position(0)?;
                Formula::and(self.problem.conditions.iter().map(|c| {
                    let inner = split(&c.affine, &self.problem.position).0;
                    Formula::eq(self.instance(&inner, q, 0), self.instance(&inner, q, 1))
                }))
            }
            "key" => {
                let (q, i) = (position(0)?, iteration(1)?);
                Formula::and(self.arguments.key.iter().map(|k| {
                    Formula::eq(self.instance(&k.inner, q, i), self.instance(&k.outer, q, i))
                }))
            }
            "key_less" => {
                let (q, r, i) = (position(0)?, position(1)?, iteration(2)?);
                let searched = |at: usize| -> Vec<Affine> {
                    let key = self.arguments.key.iter();
                    key.map(|k| self.instance(&k.inner, at, i)).collect()
                };
                Formula::lex_lt(&searched(q), &searched(r))
            }
            "coordinate" => {
                let (q, i) = (position(0)?, iteration(1)?);
                match self.arguments.key.as_slice() {
                    [key] => Formula::le(Affine::zero(), self.instance(&key.inner, q, i)),
                    _ => Formula::truth(false),
                }
            }
            "occupied" => {
                let (q, i) = (position(0)?, iteration(1)?);
                Formula::and(
                    self.arguments
                        .key
                        .iter()
                        .map(|k| Formula::le(Affine::zero(), self.instance(&k.inner, q, i))),
                )
            }
            "from_home" => {
                let (q, i) = (position(0)?, iteration(1)?);
                let problem = self.problem;
                let ([key], [lower], [upper]) = (
                    self.arguments.key.as_slice(),
                    problem.lower.as_slice(),
                    problem.upper.as_slice(),
                ) else {
                    // No home is known: nothing is behind it.
                    return Ok(Formula::truth(false));
                };
                let slots = self.instance(&(upper.clone() - lower.clone()), 0, i);
                let home = Affine::call(HOME, vec![slots, self.instance(&key.outer, q, i)]);
                Formula::le(self.instance(lower, 0, i) + home, place(q))
            }
            _ => return Err(wrong("no such predicate")),
        })
    }
}
