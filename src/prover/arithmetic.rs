//! Equations of arithmetic over all integers, all reals or truth values, products of variables
//! included.
//!
//! In: two terms and what to assume. Out: whether they are equal for every value of the variables.
//! Of integers such questions are undecidable: what holds for all reals is proved, small integers are
//! tried as counterexamples, and what is left is `Unknown`, which is not `Proved`.

use z3::ast::{Bool, Dynamic, Int, Real};
use z3::{Params, SatResult, Solver};

use crate::formula::Name;

/// Z3's own units of work. What shipped operators claim takes a tenth of it; products of variables
/// take much time for each unit.
const RESOURCES: u32 = 200_000;

/// Bounds on variables under which a counterexample is looked for first, so that it is readable.
const SMALL: [(i64, i64); 3] = [(0, 2), (-2, 3), (-9, 9)];

/// What a term's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A whole number, of any size.
    Integer,
    /// A real number.
    Real,
    /// True or false.
    Truth,
}

/// A term. Numbers are decimals: `2`, `-0.5`.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    Variable(Name, Sort),
    Number(String),
    Truth(bool),
    Neg(Box<Term>),
    Add(Box<Term>, Box<Term>),
    Sub(Box<Term>, Box<Term>),
    Mul(Box<Term>, Box<Term>),
    /// A real number; without a value where the divisor is 0.
    Div(Box<Term>, Box<Term>),
    /// The greatest integer that is not greater.
    Floor(Box<Term>),
    /// Of numbers, or of truth values.
    Eq(Box<Term>, Box<Term>),
    Lt(Box<Term>, Box<Term>),
    Le(Box<Term>, Box<Term>),
    And(Box<Term>, Box<Term>),
    Or(Box<Term>, Box<Term>),
    Not(Box<Term>),
    If(Box<Term>, Box<Term>, Box<Term>),
}

/// Whether an equation holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// For all values.
    Proved,
    /// Not for these values of the variables, which give these two sides.
    Refuted { values: Vec<(Name, String)>, left: String, right: String },
    /// Not decided, with the reason.
    Unknown(String),
}

/// Whether the terms are equal wherever the assumptions hold and no divisor is 0. The terms must be
/// of one sort; a term whose parts do not fit is [`Verdict::Unknown`].
///
/// `a + b = b + a` is proved over the integers; `a - b = b - a` is refuted by `a = 0, b = 1`.
pub fn equal(assumptions: &[Term], left: &Term, right: &Term) -> Verdict {
    decide(assumptions, left, right)
        .unwrap_or_else(|| Verdict::Unknown("the definition does not fit its arguments".into()))
}

fn decide(assumptions: &[Term], left: &Term, right: &Term) -> Option<Verdict> {
    // Over the reals there is a decision procedure; integers are some of them.
    let reals = Query::new(assumptions, left, right, true)?;
    let first = reals.solver.check();
    if first == SatResult::Unsat {
        return Some(Verdict::Proved);
    }
    let query = Query::new(assumptions, left, right, false)?;
    for (low, high) in SMALL {
        query.solver.push();
        for (_, variable) in &query.reader.variables {
            if let Some(bounds) = variable.within(low, high) {
                query.solver.assert(bounds);
            }
        }
        let found = (query.solver.check() == SatResult::Sat).then(|| query.counterexample());
        query.solver.pop(1);
        if let Some(found) = found.flatten() {
            return Some(found);
        }
    }
    let integers = |v: &(Name, Sorted)| matches!(v.1, Sorted::Int(_));
    Some(match first {
        SatResult::Sat if query.reader.variables.iter().any(integers) => {
            Verdict::Unknown("it fails for real numbers, but for no small integers".into())
        }
        SatResult::Sat if reals.solver.check() == SatResult::Sat => reals
            .counterexample()
            .unwrap_or_else(|| Verdict::Unknown("the counterexample has no fractions".into())),
        _ => Verdict::Unknown(
            reals.solver.get_reason_unknown().unwrap_or_else(|| "no reason given".into()),
        ),
    })
}

/// That the assumptions hold, and the terms differ.
struct Query {
    solver: Solver,
    reader: Reader,
    left: Sorted,
    right: Sorted,
}

impl Query {
    fn new(assumptions: &[Term], left: &Term, right: &Term, relaxed: bool) -> Option<Query> {
        let mut reader = Reader { variables: Vec::new(), facts: Vec::new(), relaxed };
        let (left, right) = (reader.term(left)?, reader.term(right)?);
        let mut facts: Vec<Bool> =
            assumptions.iter().map(|a| reader.term(a)?.truth()).collect::<Option<_>>()?;
        facts.append(&mut reader.facts);
        facts.push(left.equals(&right)?.not());
        let solver = Solver::new();
        let mut params = Params::new();
        params.set_u32("rlimit", RESOURCES);
        solver.set_params(&params);
        facts.iter().for_each(|fact| solver.assert(fact));
        Some(Query { solver, reader, left, right })
    }

    fn counterexample(&self) -> Option<Verdict> {
        self.reader.counterexample(&self.solver, &self.left, &self.right)
    }
}

/// A term of Z3 with its sort.
#[derive(Clone)]
enum Sorted {
    Int(Int),
    Real(Real),
    Truth(Bool),
}

impl Sorted {
    fn real(&self) -> Option<Real> {
        match self {
            Sorted::Int(x) => Some(x.to_real()),
            Sorted::Real(x) => Some(x.clone()),
            Sorted::Truth(_) => None,
        }
    }

    fn truth(&self) -> Option<Bool> {
        match self {
            Sorted::Truth(x) => Some(x.clone()),
            _ => None,
        }
    }

    fn equals(&self, other: &Sorted) -> Option<Bool> {
        Some(match (self, other) {
            (Sorted::Int(a), Sorted::Int(b)) => a.eq(b),
            (Sorted::Truth(a), Sorted::Truth(b)) => a.iff(b),
            (a, b) => a.real()?.eq(b.real()?),
        })
    }

    /// Whole, and within the bounds; none for truth values.
    fn within(&self, low: i64, high: i64) -> Option<Bool> {
        let whole = match self {
            Sorted::Int(x) => x.clone(),
            Sorted::Real(x) => x.to_int(),
            Sorted::Truth(_) => return None,
        };
        let same = self.equals(&Sorted::Int(whole.clone()))?;
        Some(Bool::and(&[same, whole.ge(Int::from_i64(low)), whole.le(Int::from_i64(high))]))
    }

    fn dynamic(&self) -> Dynamic {
        match self {
            Sorted::Int(x) => Dynamic::from_ast(x),
            Sorted::Real(x) => Dynamic::from_ast(x),
            Sorted::Truth(x) => Dynamic::from_ast(x),
        }
    }
}

struct Reader {
    variables: Vec<(Name, Sorted)>,
    /// That divisors are not 0.
    facts: Vec<Bool>,
    /// Variables for integers stand for reals.
    relaxed: bool,
}

impl Reader {
    fn term(&mut self, term: &Term) -> Option<Sorted> {
        Some(match term {
            Term::Variable(name, sort) => match self.variables.iter().find(|(n, _)| n == name) {
                Some((_, known)) => known.clone(),
                None => {
                    let made = match sort {
                        Sort::Integer if !self.relaxed => Sorted::Int(Int::new_const(&**name)),
                        Sort::Integer => Sorted::Real(Real::new_const(&**name)),
                        Sort::Real => Sorted::Real(Real::new_const(&**name)),
                        Sort::Truth => Sorted::Truth(Bool::new_const(&**name)),
                    };
                    self.variables.push((name.clone(), made.clone()));
                    made
                }
            },
            Term::Number(text) => match text.parse::<i64>() {
                Ok(x) => Sorted::Int(Int::from_i64(x)),
                Err(_) => Sorted::Real(decimal(text)?),
            },
            Term::Truth(x) => Sorted::Truth(Bool::from_bool(*x)),
            Term::Neg(x) => match self.term(x)? {
                Sorted::Int(x) => Sorted::Int(x.unary_minus()),
                Sorted::Real(x) => Sorted::Real(x.unary_minus()),
                Sorted::Truth(_) => return None,
            },
            Term::Add(a, b) => {
                self.arithmetic(a, b, |a, b| Int::add(&[a, b]), |a, b| Real::add(&[a, b]))?
            }
            Term::Sub(a, b) => {
                self.arithmetic(a, b, |a, b| Int::sub(&[a, b]), |a, b| Real::sub(&[a, b]))?
            }
            Term::Mul(a, b) => {
                self.arithmetic(a, b, |a, b| Int::mul(&[a, b]), |a, b| Real::mul(&[a, b]))?
            }
            Term::Div(a, b) => {
                let (a, b) = (self.term(a)?.real()?, self.term(b)?.real()?);
                self.facts.push(b.eq(Real::from_int(&Int::from_i64(0))).not());
                Sorted::Real(a.div(b))
            }
            Term::Floor(x) => Sorted::Int(self.term(x)?.real()?.to_int()),
            Term::Eq(a, b) => {
                let (a, b) = (self.term(a)?, self.term(b)?);
                Sorted::Truth(a.equals(&b)?)
            }
            Term::Lt(a, b) => {
                let (a, b) = (self.term(a)?.real()?, self.term(b)?.real()?);
                Sorted::Truth(a.lt(b))
            }
            Term::Le(a, b) => {
                let (a, b) = (self.term(a)?.real()?, self.term(b)?.real()?);
                Sorted::Truth(a.le(b))
            }
            Term::And(a, b) => {
                let parts = [self.term(a)?.truth()?, self.term(b)?.truth()?];
                Sorted::Truth(Bool::and(&parts))
            }
            Term::Or(a, b) => {
                let parts = [self.term(a)?.truth()?, self.term(b)?.truth()?];
                Sorted::Truth(Bool::or(&parts))
            }
            Term::Not(x) => Sorted::Truth(self.term(x)?.truth()?.not()),
            Term::If(c, a, b) => {
                let c = self.term(c)?.truth()?;
                match (self.term(a)?, self.term(b)?) {
                    (Sorted::Int(a), Sorted::Int(b)) => Sorted::Int(c.ite(&a, &b)),
                    (Sorted::Truth(a), Sorted::Truth(b)) => Sorted::Truth(c.ite(&a, &b)),
                    (a, b) => Sorted::Real(c.ite(&a.real()?, &b.real()?)),
                }
            }
        })
    }

    fn arithmetic(
        &mut self,
        a: &Term,
        b: &Term,
        whole: impl Fn(Int, Int) -> Int,
        real: impl Fn(Real, Real) -> Real,
    ) -> Option<Sorted> {
        Some(match (self.term(a)?, self.term(b)?) {
            (Sorted::Int(a), Sorted::Int(b)) => Sorted::Int(whole(a, b)),
            (a, b) => Sorted::Real(real(a.real()?, b.real()?)),
        })
    }

    fn counterexample(&self, solver: &Solver, left: &Sorted, right: &Sorted) -> Option<Verdict> {
        let model = solver.get_model()?;
        let value = |term: &Sorted| {
            let value = model.eval(&term.dynamic(), true)?;
            Some(match (value.as_bool(), value.as_real()) {
                (Some(x), _) => x.as_bool()?.to_string(),
                (_, Some(x)) => match x.as_rational()? {
                    (n, 1) => n.to_string(),
                    (n, d) => format!("{n}/{d}"),
                },
                _ => value.as_int()?.as_i64()?.to_string(),
            })
        };
        let values = self
            .variables
            .iter()
            .map(|(name, variable)| Some((name.clone(), value(variable)?)))
            .collect::<Option<_>>()?;
        Some(Verdict::Refuted { values, left: value(left)?, right: value(right)? })
    }
}

/// `-0.25` as -25/100; exponents are written out by whoever makes the text.
fn decimal(text: &str) -> Option<Real> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{fraction}");
    let plain = digits.strip_prefix('-').unwrap_or(&digits);
    if plain.is_empty() || !plain.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Real::from_rational_str(&digits, &format!("1{}", "0".repeat(fraction.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(name: &str, sort: Sort) -> Box<Term> {
        Box::new(Term::Variable(name.into(), sort))
    }

    #[test]
    fn products_of_variables_commute_and_differences_do_not() {
        for sort in [Sort::Integer, Sort::Real] {
            let (a, b) = (variable("a", sort), variable("b", sort));
            let product = |a: &Term, b: &Term| Term::Mul(Box::new(a.clone()), Box::new(b.clone()));
            assert_eq!(equal(&[], &product(&a, &b), &product(&b, &a)), Verdict::Proved);
            let (left, right) = (Term::Sub(a.clone(), b.clone()), Term::Sub(b, a));
            let Verdict::Refuted { values, .. } = equal(&[], &left, &right) else {
                panic!("a difference does not commute")
            };
            assert!(
                values.iter().all(|(_, v)| ["0", "1", "2"].contains(&v.as_str())),
                "{values:?}"
            );
        }
    }

    #[test]
    fn a_quotient_is_looked_at_only_where_its_divisor_is_not_zero() {
        let (a, b) = (variable("a", Sort::Real), variable("b", Sort::Real));
        let quotient = Term::Div(Box::new(Term::Mul(a.clone(), b.clone())), b);
        assert_eq!(equal(&[], &quotient, &a), Verdict::Proved);
    }

    #[test]
    fn what_is_too_hard_is_unknown_and_not_proved() {
        // No sum of two positive cubes is a cube.
        let v = |name| variable(name, Sort::Integer);
        let cube = |name| Box::new(Term::Mul(v(name), Box::new(Term::Mul(v(name), v(name)))));
        let positive = |name| Term::Lt(Box::new(Term::Number("0".into())), v(name));
        let sum = Term::Eq(Box::new(Term::Add(cube("x"), cube("y"))), cube("z"));
        let assumptions = ["x", "y", "z"].map(positive);
        let verdict = equal(&assumptions, &sum, &Term::Truth(false));
        assert!(matches!(verdict, Verdict::Unknown(_)), "{verdict:?}");
    }

    #[test]
    fn truth_values_and_numbers_do_not_mix() {
        let a = variable("a", Sort::Truth);
        let sum = Term::Add(a.clone(), a);
        assert!(matches!(equal(&[], &sum, &Term::Number("0".into())), Verdict::Unknown(_)));
    }
}
