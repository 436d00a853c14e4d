//! Linear forms and formulas with their names looked up, for inner loops.
//!
//! Sizes are folded into constants, variables are numbered slots, index arrays are numbers too. As
//! with [`Meaning`](super::Meaning), no result wraps around: it is a [`Fault`].

use super::{Affine, Atom, Formula, Name, Relop};

/// What names stand for when a form is compiled.
pub trait Names {
    /// The slot of a variable.
    fn slot(&self, name: &Name) -> Option<usize>;

    /// The value of a size, which never changes.
    fn size(&self, name: &Name) -> Option<i64>;

    /// The number of an index array.
    fn array(&self, name: &Name) -> Option<usize>;
}

/// Why a form cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unresolved {
    /// A name that stands for nothing.
    Name(Name),
    /// Sizes exceed 64 bits.
    Overflow,
}

/// The elements of index arrays, by number.
pub trait Arrays {
    /// Element `at` of an array with one argument.
    ///
    /// # Errors
    /// [`Fault::Outside`] if there is none.
    fn element(&self, array: usize, at: i64) -> Result<i64, Fault>;

    /// [`Arrays::element`] for each of `at`, in its place.
    ///
    /// # Errors
    /// [`Fault::Outside`] for the first that there is not.
    fn elements(&self, array: usize, at: &mut [i64]) -> Result<(), Fault> {
        at.iter_mut().try_for_each(|x| {
            *x = self.element(array, *x)?;
            Ok(())
        })
    }

    /// The element of an array with any number of arguments.
    ///
    /// # Errors
    /// As [`Arrays::element`], and those of `at`.
    fn element_at(
        &self,
        array: usize,
        at: impl Iterator<Item = Result<i64, Fault>>,
    ) -> Result<i64, Fault>;
}

/// Why a form has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Element `at` of array number `array` does not exist.
    Outside { array: usize, at: i64 },
    /// An intermediate result exceeds 64 bits.
    Overflow,
}

/// A linear form over slots.
#[derive(Clone, Debug)]
pub struct Linear {
    constant: i64,
    terms: Vec<(Term, i64)>,
}

#[derive(Clone, Debug)]
enum Term {
    Slot(usize),
    Call { array: usize, args: Vec<Linear> },
    Floor(Box<Linear>, i64),
}

impl Linear {
    /// Looks up the names of `e`.
    ///
    /// # Errors
    /// If one has no meaning, or sizes exceed 64 bits.
    pub fn new(e: &Affine, names: &impl Names) -> Result<Linear, Unresolved> {
        let mut out = Linear { constant: e.offset(), terms: Vec::new() };
        for (atom, c) in e.terms() {
            match atom {
                Atom::Var(n) => match (names.slot(n), names.size(n)) {
                    (Some(slot), _) => out.terms.push((Term::Slot(slot), *c)),
                    (None, Some(size)) => {
                        let scaled = c.checked_mul(size).ok_or(Unresolved::Overflow)?;
                        out.constant =
                            scaled.checked_add(out.constant).ok_or(Unresolved::Overflow)?;
                    }
                    (None, None) => return Err(Unresolved::Name(n.clone())),
                },
                Atom::Call(call) => {
                    let array = names
                        .array(&call.array)
                        .ok_or_else(|| Unresolved::Name(call.array.clone()))?;
                    let args: Result<Vec<Linear>, Unresolved> =
                        call.args.iter().map(|a| Linear::new(a, names)).collect();
                    out.terms.push((Term::Call { array, args: args? }, *c));
                }
                Atom::Floor(inner, d) => {
                    out.terms.push((Term::Floor(Box::new(Linear::new(inner, names)?), *d), *c));
                }
            }
        }
        Ok(out)
    }

    /// The value at the given variables.
    ///
    /// # Errors
    /// If an element does not exist, or a result exceeds 64 bits.
    pub fn value(&self, arrays: &impl Arrays, slots: &[i64]) -> Result<i64, Fault> {
        let mut sum = self.constant;
        for (term, c) in &self.terms {
            let value = match term {
                Term::Slot(k) => slots[*k],
                // The common case of one argument needs no linearisation.
                Term::Call { array, args } => match args.as_slice() {
                    [arg] => arrays.element(*array, arg.value(arrays, slots)?)?,
                    args => {
                        arrays.element_at(*array, args.iter().map(|a| a.value(arrays, slots)))?
                    }
                },
                Term::Floor(inner, d) => inner.value(arrays, slots)?.div_euclid(*d),
            };
            let scaled = c.checked_mul(value).ok_or(Fault::Overflow)?;
            sum = sum.checked_add(scaled).ok_or(Fault::Overflow)?;
        }
        Ok(sum)
    }

    /// [`Linear::value`] of `len` points at once: `columns` has the variables that are known of each.
    ///
    /// # Errors
    /// As [`Linear::value`], of any point.
    pub fn values(
        &self,
        arrays: &impl Arrays,
        columns: &[Vec<i64>],
        len: usize,
    ) -> Result<Vec<i64>, Fault> {
        if let ([(term, 1)], 0) = (self.terms.as_slice(), self.constant) {
            return term.values(arrays, columns, len);
        }
        let mut sums = vec![self.constant; len];
        for (term, c) in &self.terms {
            let mut overflows = false;
            let mut add = |sum: &mut i64, value: i64| {
                let (scaled, too_large) = value.overflowing_mul(*c);
                let (next, too_many) = sum.overflowing_add(scaled);
                overflows |= too_large | too_many;
                *sum = next;
            };
            match term {
                Term::Slot(k) => sums.iter_mut().zip(&columns[*k]).for_each(|(s, &v)| add(s, v)),
                term => {
                    let values = term.values(arrays, columns, len)?;
                    sums.iter_mut().zip(values).for_each(|(s, v)| add(s, v));
                }
            }
            if overflows {
                return Err(Fault::Overflow);
            }
        }
        Ok(sums)
    }
}

impl Term {
    fn values(
        &self,
        arrays: &impl Arrays,
        columns: &[Vec<i64>],
        len: usize,
    ) -> Result<Vec<i64>, Fault> {
        match self {
            Term::Slot(k) => Ok(columns[*k].clone()),
            Term::Call { array, args } => {
                let mut all = Vec::with_capacity(args.len());
                for arg in args {
                    all.push(arg.values(arrays, columns, len)?);
                }
                match all.as_mut_slice() {
                    [at] => {
                        arrays.elements(*array, at)?;
                        Ok(all.swap_remove(0))
                    }
                    all => (0..len)
                        .map(|k| arrays.element_at(*array, all.iter().map(|arg| Ok(arg[k]))))
                        .collect(),
                }
            }
            Term::Floor(inner, d) => {
                let mut values = inner.values(arrays, columns, len)?;
                values.iter_mut().for_each(|v| *v = v.div_euclid(*d));
                Ok(values)
            }
        }
    }
}

/// A formula over slots.
#[derive(Clone, Debug)]
pub enum Condition {
    Constraint(Linear, Relop),
    And(Vec<Condition>),
    Or(Vec<Condition>),
    Not(Box<Condition>),
}

impl Condition {
    /// Looks up the names of `formula`; `a => b` becomes `not a or b`.
    ///
    /// # Errors
    /// As [`Linear::new`]; the name of a predicate has no meaning.
    pub fn new(formula: &Formula, names: &impl Names) -> Result<Condition, Unresolved> {
        let all = |parts: &[Formula]| -> Result<Vec<Condition>, Unresolved> {
            parts.iter().map(|f| Condition::new(f, names)).collect()
        };
        Ok(match formula {
            Formula::Constraint(c) => {
                Condition::Constraint(Linear::new(&c.affine, names)?, c.relop)
            }
            Formula::And(parts) => Condition::And(all(parts)?),
            Formula::Or(parts) => Condition::Or(all(parts)?),
            Formula::Not(inner) => Condition::Not(Box::new(Condition::new(inner, names)?)),
            Formula::Implies(premise, conclusion) => Condition::Or(vec![
                Condition::Not(Box::new(Condition::new(premise, names)?)),
                Condition::new(conclusion, names)?,
            ]),
            Formula::Predicate(name, _) => return Err(Unresolved::Name(name.clone())),
        })
    }

    /// Whether it holds; parts are looked at from the left, as far as they matter.
    ///
    /// # Errors
    /// As [`Linear::value`].
    pub fn holds(&self, arrays: &impl Arrays, slots: &[i64]) -> Result<bool, Fault> {
        Ok(match self {
            Condition::Constraint(e, relop) => relop.holds(e.value(arrays, slots)?),
            Condition::And(parts) => {
                for part in parts {
                    if !part.holds(arrays, slots)? {
                        return Ok(false);
                    }
                }
                true
            }
            Condition::Or(parts) => {
                for part in parts {
                    if part.holds(arrays, slots)? {
                        return Ok(true);
                    }
                }
                false
            }
            Condition::Not(inner) => !inner.holds(arrays, slots)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::parse;

    struct Rows;

    impl Names for Rows {
        fn slot(&self, name: &Name) -> Option<usize> {
            ["i", "p"].iter().position(|v| **v == **name)
        }

        fn size(&self, name: &Name) -> Option<i64> {
            [("N", 4), ("huge", i64::MAX)].into_iter().find(|(n, _)| **n == **name).map(|f| f.1)
        }

        fn array(&self, name: &Name) -> Option<usize> {
            (&**name == "pos").then_some(0)
        }
    }

    impl Arrays for Rows {
        fn element(&self, array: usize, at: i64) -> Result<i64, Fault> {
            let found = usize::try_from(at).ok().and_then(|k| [0, 2, 5].get(k).copied());
            found.ok_or(Fault::Outside { array, at })
        }

        fn element_at(
            &self,
            array: usize,
            mut at: impl Iterator<Item = Result<i64, Fault>>,
        ) -> Result<i64, Fault> {
            self.element(array, at.next().ok_or(Fault::Overflow)??)
        }
    }

    fn value(text: &str) -> Result<i64, Fault> {
        Linear::new(&parse::affine(text).unwrap(), &Rows).unwrap().value(&Rows, &[1, 7])
    }

    #[test]
    fn slots_sizes_and_elements_have_their_values() {
        assert_eq!(value("2*N + i - pos(i + 1) + floor(p/2)"), Ok(8 + 1 - 5 + 3));
        assert_eq!(value("pos(p)"), Err(Fault::Outside { array: 0, at: 7 }));
    }

    #[test]
    fn results_beyond_64_bits_are_faults() {
        assert_eq!(value("huge + p"), Err(Fault::Overflow));
        let twice = parse::affine("2*huge").unwrap();
        assert_eq!(Linear::new(&twice, &Rows).unwrap_err(), Unresolved::Overflow);
    }

    #[test]
    fn a_name_without_meaning_is_named() {
        let unknown =
            |text: &str| Condition::new(&parse::formula(text).unwrap(), &Rows).unwrap_err();
        assert_eq!(unknown("i < q"), Unresolved::Name("q".into()));
        assert_eq!(unknown("crd(i) = 0"), Unresolved::Name("crd".into()));
    }

    #[test]
    fn conditions_stop_where_their_truth_is_known() {
        let holds = |text: &str| {
            Condition::new(&parse::formula(text).unwrap(), &Rows).unwrap().holds(&Rows, &[1, 7])
        };
        assert_eq!(holds("i = 1 or pos(p) = 0"), Ok(true));
        assert_eq!(holds("i = 2 => pos(p) = 0"), Ok(true));
        assert!(holds("i = 1 and pos(p) = 0").is_err());
    }
}
