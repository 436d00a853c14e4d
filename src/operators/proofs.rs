//! Claims proved: over all integers, reals or truth values, by an operator's definition.

use super::declare::sort_of;
use super::equation::{Claim, Side, variable};
use super::operator::Operator;
use super::value::Value;
use crate::diagnostic::Result;
use crate::prover::arithmetic::{Sort, Term, Verdict, equal};
use crate::tensor::ValueType;

/// The claim over all numbers of a sort; `None` if the operator is not defined there.
pub(super) fn prove(op: &Operator, claim: &Claim<'_>, sort: Sort) -> Result<Option<Verdict>> {
    let mut prover = Terms { op, sort, extremes: Vec::new(), used: Vec::new() };
    let (Some(left), Some(right)) = (prover.term(&claim.left), prover.term(&claim.right)) else {
        return Ok(None);
    };
    // Infinity is no real number: arithmetic with it is tested only.
    let endless = |t: &Term| sort == Sort::Real && computes_with(t, &prover.extremes, false);
    if endless(&left) || endless(&right) {
        return Ok(None);
    }
    // The greatest number is greater than all that the claim speaks of.
    let mut assumptions = Vec::new();
    for extreme in &prover.extremes {
        for used in &prover.used {
            let (e, u) = (Box::new(extreme.clone()), Box::new(used.clone()));
            let is_greatest = matches!(extreme, Term::Variable(n, _) if &**n == "greatest");
            assumptions.push(if is_greatest { Term::Le(u, e) } else { Term::Le(e, u) });
        }
    }
    Ok(Some(equal(&assumptions, &left, &right)))
}

struct Terms<'a> {
    op: &'a Operator,
    sort: Sort,
    extremes: Vec<Term>,
    used: Vec<Term>,
}

impl Terms<'_> {
    fn term(&mut self, side: &Side<'_>) -> Option<Term> {
        match side {
            Side::Variable(k) => {
                let exact = self.op.arguments.get(*k).and_then(|a| a.exact);
                let sort = exact.map_or(self.sort, sort_of);
                let term = Term::Variable(variable(self.op, *k).as_str().into(), sort);
                if sort != Sort::Truth && !self.used.contains(&term) {
                    self.used.push(term.clone());
                }
                Some(term)
            }
            Side::Value(number, k) => {
                let generic = match self.sort {
                    Sort::Real => ValueType::F64,
                    Sort::Integer => ValueType::I64,
                    Sort::Truth => ValueType::Bool,
                };
                let result_is_bool = self.op.result == super::operator::ResultRule::Bool;
                let t = match k {
                    Some(k) => self.op.arguments[*k].exact.unwrap_or(generic),
                    None if result_is_bool => ValueType::Bool,
                    None => generic,
                };
                number.said(generic)?;
                let value = number.value(t)?;
                self.constant(value)
            }
            Side::Call(parts) => {
                let definition = self.op.definitions.iter().find(|d| d.sort == self.sort)?;
                let parts: Vec<Term> = parts.iter().map(|p| self.term(p)).collect::<Option<_>>()?;
                Some(applied(&definition.term, self.op, &parts))
            }
            Side::Other(other, parts) => {
                let parts: Vec<Term> = parts.iter().map(|p| self.term(p)).collect::<Option<_>>()?;
                let sort = if parts.iter().all(is_truth) { Sort::Truth } else { self.sort };
                let definition = other.definitions.iter().find(|d| d.sort == sort)?;
                Some(applied(&definition.term, other, &parts))
            }
        }
    }

    fn constant(&mut self, value: Value) -> Option<Term> {
        let t = value.value_type();
        if let Value::Bool(x) = value {
            return Some(Term::Truth(x));
        }
        let name = match value {
            v if v.is_nan() => return None,
            v if v == Value::greatest(t) => "greatest",
            v if v == Value::least(t) => "least",
            Value::F64(x) => return Some(Term::Number(format!("{x}"))),
            v => return Some(Term::Number(v.to_string())),
        };
        let term = Term::Variable(name.into(), sort_of(t));
        if !self.extremes.contains(&term) {
            self.extremes.push(term.clone());
        }
        Some(term)
    }
}

fn applied(definition: &Term, op: &Operator, parts: &[Term]) -> Term {
    substituted(definition, &|name| {
        let k = op.arguments.iter().position(|a| a.name == name)?;
        parts.get(k).cloned()
    })
}

/// Whether the value is true or false.
fn is_truth(term: &Term) -> bool {
    match term {
        Term::Variable(_, sort) => *sort == Sort::Truth,
        Term::If(_, then, _) => is_truth(then),
        Term::Truth(_)
        | Term::Eq(..)
        | Term::Lt(..)
        | Term::Le(..)
        | Term::And(..)
        | Term::Or(..)
        | Term::Not(_) => true,
        _ => false,
    }
}

/// Whether arithmetic is done with one of these terms.
fn computes_with(term: &Term, these: &[Term], inside: bool) -> bool {
    let arithmetic = matches!(
        term,
        Term::Neg(_)
            | Term::Floor(_)
            | Term::Add(..)
            | Term::Sub(..)
            | Term::Mul(..)
            | Term::Div(..)
    );
    let inside = inside || arithmetic;
    let any = |parts: &[&Term]| parts.iter().any(|t| computes_with(t, these, inside));
    match term {
        Term::Variable(..) => inside && these.contains(term),
        Term::Number(_) | Term::Truth(_) => false,
        Term::Neg(x) | Term::Floor(x) | Term::Not(x) => any(&[x]),
        Term::Add(a, b)
        | Term::Sub(a, b)
        | Term::Mul(a, b)
        | Term::Div(a, b)
        | Term::Eq(a, b)
        | Term::Lt(a, b)
        | Term::Le(a, b)
        | Term::And(a, b)
        | Term::Or(a, b) => any(&[a, b]),
        Term::If(c, a, b) => any(&[c, a, b]),
    }
}

fn substituted(term: &Term, replace: &dyn Fn(&str) -> Option<Term>) -> Term {
    let inner = |t: &Term| Box::new(substituted(t, replace));
    match term {
        Term::Variable(name, _) => replace(name).unwrap_or_else(|| term.clone()),
        Term::Number(_) | Term::Truth(_) => term.clone(),
        Term::Neg(x) => Term::Neg(inner(x)),
        Term::Floor(x) => Term::Floor(inner(x)),
        Term::Not(x) => Term::Not(inner(x)),
        Term::Add(a, b) => Term::Add(inner(a), inner(b)),
        Term::Sub(a, b) => Term::Sub(inner(a), inner(b)),
        Term::Mul(a, b) => Term::Mul(inner(a), inner(b)),
        Term::Div(a, b) => Term::Div(inner(a), inner(b)),
        Term::Eq(a, b) => Term::Eq(inner(a), inner(b)),
        Term::Lt(a, b) => Term::Lt(inner(a), inner(b)),
        Term::Le(a, b) => Term::Le(inner(a), inner(b)),
        Term::And(a, b) => Term::And(inner(a), inner(b)),
        Term::Or(a, b) => Term::Or(inner(a), inner(b)),
        Term::If(c, a, b) => Term::If(inner(c), inner(a), inner(b)),
    }
}
