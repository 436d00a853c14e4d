//! Facts of proofs, tested on the numbers at hand.

use super::machine::Machine;
use super::storage::Element;
use super::value::Value;
use crate::formula::{Affine, Atom, Constraint, Relop};

impl Machine<'_, '_> {
    /// Whether a fact holds. `None` if it speaks of what the run does not have: a size that the
    /// code has no use for, or an element that no array has.
    pub fn holds(&self, fact: &Constraint) -> Option<bool> {
        let value = self.affine(&fact.affine)?;
        Some(match fact.relop {
            Relop::Eq => value == 0,
            Relop::Ge => value >= 0,
            Relop::Ne => value != 0,
        })
    }

    fn affine(&self, a: &Affine) -> Option<i128> {
        let mut total = i128::from(a.offset());
        for (atom, factor) in a.terms() {
            total += i128::from(*factor)
                * match atom {
                    Atom::Var(name) => match self.variable(*self.symbols().variables.get(name)?)? {
                        Value::Unsigned(n) => *n as i128,
                        Value::Signed(n) => *n as i128,
                        _ => return None,
                    },
                    Atom::Floor(inner, divisor) => {
                        self.affine(inner)?.div_euclid(i128::from(*divisor))
                    }
                    Atom::Call(call) => {
                        let array = *self.symbols().arrays.get(&call.array)?;
                        let mut at = Vec::new();
                        for argument in &call.args {
                            at.push(usize::try_from(self.affine(argument)?).ok()?);
                        }
                        match self.peek(array, &at)? {
                            Element::Index(n) => n,
                            Element::Value(_) => return None,
                        }
                    }
                };
        }
        Some(total)
    }
}
