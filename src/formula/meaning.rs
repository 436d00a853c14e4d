//! The values of linear forms, expressions and formulas, given those of variables and elements.
//!
//! All arithmetic is checked: what exceeds 64 bits has no value. [`Linear`](super::Linear) is the same
//! with names looked up beforehand, for inner loops.

use super::{Affine, Arith, Atom, Constraint, Formula, Relop};

/// What variables and calls of index arrays stand for.
pub trait Meaning {
    fn variable(&self, name: &str) -> Option<i64>;

    fn element(&self, array: &str, at: &[i64]) -> Option<i64>;

    fn atom(&self, atom: &Atom) -> Option<i64>
    where
        Self: Sized,
    {
        match atom {
            Atom::Var(name) => self.variable(name),
            Atom::Call(call) => match call.args.as_slice() {
                [arg] => self.element(&call.array, &[arg.value(self)?]),
                args => {
                    let at: Option<Vec<i64>> = args.iter().map(|a| a.value(self)).collect();
                    self.element(&call.array, &at?)
                }
            },
            Atom::Floor(inner, divisor) => Some(inner.value(self)?.div_euclid(*divisor)),
        }
    }
}

/// Variables and elements by two functions.
impl<V, E> Meaning for (V, E)
where
    V: Fn(&str) -> Option<i64>,
    E: Fn(&str, &[i64]) -> Option<i64>,
{
    fn variable(&self, name: &str) -> Option<i64> {
        self.0(name)
    }

    fn element(&self, array: &str, at: &[i64]) -> Option<i64> {
        self.1(array, at)
    }
}

/// Whole calls by a function, whatever their arguments are worth.
pub struct Atoms<F>(pub F);

impl<F: Fn(&Atom) -> Option<i64>> Meaning for Atoms<F> {
    fn variable(&self, name: &str) -> Option<i64> {
        self.0(&Atom::Var(name.into()))
    }

    fn element(&self, array: &str, at: &[i64]) -> Option<i64> {
        let args = at.iter().map(|&k| Affine::constant(k)).collect();
        Affine::call(array, args).as_atom().and_then(&self.0)
    }

    fn atom(&self, atom: &Atom) -> Option<i64> {
        match atom {
            Atom::Floor(inner, divisor) => Some(inner.value(self)?.div_euclid(*divisor)),
            other => self.0(other),
        }
    }
}

impl Affine {
    /// `None` if a part has no value, or one beyond 64 bits.
    pub fn value(&self, meaning: &impl Meaning) -> Option<i64> {
        self.terms().iter().try_fold(self.offset(), |sum, (atom, coefficient)| {
            sum.checked_add(coefficient.checked_mul(meaning.atom(atom)?)?)
        })
    }
}

impl Arith {
    /// `None` if a part has no value, one beyond 64 bits, or is divided by zero. Division rounds down
    /// for positive divisors.
    pub fn value(&self, meaning: &impl Meaning) -> Option<i64> {
        let go = |a: &Arith| a.value(meaning);
        match self {
            Arith::Int(n) => Some(*n),
            Arith::Var(n) => meaning.variable(n),
            Arith::Call(f, args) => {
                let at: Option<Vec<i64>> = args.iter().map(go).collect();
                meaning.element(f, &at?)
            }
            Arith::Add(a, b) => go(a)?.checked_add(go(b)?),
            Arith::Sub(a, b) => go(a)?.checked_sub(go(b)?),
            Arith::Mul(a, b) => go(a)?.checked_mul(go(b)?),
            Arith::Div(a, b) => go(a)?.checked_div_euclid(go(b)?),
            Arith::Mod(a, b) => go(a)?.checked_rem_euclid(go(b)?),
            Arith::Min(a, b) => Some(go(a)?.min(go(b)?)),
            Arith::Max(a, b) => Some(go(a)?.max(go(b)?)),
        }
    }
}

impl Relop {
    /// Whether `value` compares with zero like that.
    pub fn holds(self, value: i64) -> bool {
        match self {
            Relop::Eq => value == 0,
            Relop::Ge => value >= 0,
            Relop::Ne => value != 0,
        }
    }
}

impl Constraint {
    /// `None` as in [`Affine::value`].
    pub fn holds(&self, meaning: &impl Meaning) -> Option<bool> {
        Some(self.relop.holds(self.affine.value(meaning)?))
    }
}

impl Formula {
    /// Three-valued (Kleene's): a part without a value may not matter. Predicates have none.
    pub fn holds(&self, meaning: &impl Meaning) -> Option<bool> {
        let junction = |parts: &[Formula], absorbing: bool| {
            let mut known = true;
            for part in parts {
                match part.holds(meaning) {
                    Some(truth) if truth == absorbing => return Some(absorbing),
                    Some(_) => {}
                    None => known = false,
                }
            }
            known.then_some(!absorbing)
        };
        match self {
            Formula::Constraint(c) => c.holds(meaning),
            Formula::And(parts) => junction(parts, false),
            Formula::Or(parts) => junction(parts, true),
            Formula::Not(inner) => inner.holds(meaning).map(|truth| !truth),
            Formula::Implies(condition, then) => match condition.holds(meaning) {
                Some(false) => Some(true),
                Some(true) => then.holds(meaning),
                None => then.holds(meaning).filter(|&then| then),
            },
            Formula::Predicate(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::parse;

    fn variable(name: &str) -> Option<i64> {
        [("i", 3), ("n", 10), ("huge", i64::MAX)].into_iter().find(|(k, _)| *k == name).map(|f| f.1)
    }

    fn element(array: &str, at: &[i64]) -> Option<i64> {
        match (array, at) {
            ("pos", [k]) => [0, 2, 5, 7].get(usize::try_from(*k).ok()?).copied(),
            ("crd", [r, k]) => Some(10 * r + k),
            _ => None,
        }
    }

    #[test]
    fn calls_are_looked_up_at_the_values_of_their_arguments() {
        let value = |text: &str| parse::affine(text).unwrap().value(&(variable, element));
        assert_eq!(value("2*i + pos(i - 1) - 1"), Some(10));
        assert_eq!(value("crd(i, pos(1))"), Some(32));
        assert_eq!(value("floor((0 - i)/2)"), Some(-2));
        assert_eq!(value("pos(n)"), None);
        assert_eq!(value("q"), None);
    }

    #[test]
    fn what_exceeds_64_bits_has_no_value() {
        let affine = |text: &str| parse::affine(text).unwrap().value(&(variable, element));
        assert_eq!(affine("huge"), Some(i64::MAX));
        assert_eq!(affine("huge + i"), None);
        assert_eq!(affine("2*huge"), None);
        let twice = Arith::Mul(Box::new(Arith::Var("huge".into())), Box::new(Arith::Int(2)));
        assert_eq!(twice.value(&(variable, element)), None);
        let by_zero = Arith::Div(Box::new(Arith::Int(2)), Box::new(Arith::Int(0)));
        assert_eq!(by_zero.value(&(variable, element)), None);
        assert_eq!(parse::formula("2*huge > 0").unwrap().holds(&(variable, element)), None);
    }

    #[test]
    fn unknown_parts_may_not_matter() {
        let truth = |text: &str| parse::formula(text).unwrap().holds(&(variable, element));
        assert_eq!(truth("q = 1 or i = 3"), Some(true));
        assert_eq!(truth("q = 1 and i = 4"), Some(false));
        assert_eq!(truth("q = 1 and i = 3"), None);
        assert_eq!(truth("i = 4 => q = 1"), Some(true));
        assert_eq!(truth("q = 1 => i = 3"), Some(true));
        assert_eq!(truth("q = 1 => i = 4"), None);
    }
}
