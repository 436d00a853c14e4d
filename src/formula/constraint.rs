//! One comparison of a linear form with zero.

use super::{Affine, Call, Name};

/// How a [`Constraint`] compares its linear form with zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Relop {
    /// `e = 0`
    Eq,
    /// `e >= 0`
    Ge,
    /// `e != 0`
    Ne,
}

/// `affine (= | >= | !=) 0`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Constraint {
    pub affine: Affine,
    pub relop: Relop,
}

impl Constraint {
    pub fn eq(a: Affine, b: Affine) -> Self {
        Constraint { affine: a - b, relop: Relop::Eq }
    }
    pub fn ne(a: Affine, b: Affine) -> Self {
        Constraint { affine: a - b, relop: Relop::Ne }
    }
    /// `a <= b`
    pub fn le(a: Affine, b: Affine) -> Self {
        Constraint { affine: b - a, relop: Relop::Ge }
    }
    /// `a < b`
    pub fn lt(a: Affine, b: Affine) -> Self {
        Constraint { affine: b - a - Affine::constant(1), relop: Relop::Ge }
    }

    /// Truth of a constraint without atoms.
    pub fn as_bool(&self) -> Option<bool> {
        let c = self.affine.as_constant()?;
        Some(match self.relop {
            Relop::Eq => c == 0,
            Relop::Ge => c >= 0,
            Relop::Ne => c != 0,
        })
    }

    /// The complement over the integers.
    pub fn negated(&self) -> Constraint {
        match self.relop {
            Relop::Eq => Constraint { affine: self.affine.clone(), relop: Relop::Ne },
            Relop::Ne => Constraint { affine: self.affine.clone(), relop: Relop::Eq },
            Relop::Ge => {
                Constraint { affine: -self.affine.clone() - Affine::constant(1), relop: Relop::Ge }
            }
        }
    }

    pub fn map(&self, f: impl FnOnce(&Affine) -> Affine) -> Constraint {
        Constraint { affine: f(&self.affine), relop: self.relop }
    }

    pub fn substitute(&self, f: &impl Fn(&Name) -> Option<Affine>) -> Constraint {
        self.map(|a| a.substitute(f))
    }

    pub fn rename(&self, f: &impl Fn(&Name) -> Option<Name>) -> Constraint {
        self.map(|a| a.rename(f))
    }

    pub fn mentions(&self, name: &str) -> bool {
        self.affine.mentions(name)
    }

    pub fn visit_calls(&self, f: &mut impl FnMut(&Call)) {
        self.affine.visit_calls(f);
    }
}
