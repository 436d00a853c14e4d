//! Linear forms, formulas and accesses with their indices bound to places in a point of the index
//! box, so that the interpreter evaluates them without looking up names.

use std::ops::Range;

use crate::formula::{Affine, Atom, Constraint, Formula, Name, Relop};

/// A place in a point: the number of an index in the order of the loops, behind them that of a value of
/// `let`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexId(pub usize);

/// A linear form over positions in the point, wide enough not to overflow but for values of `let`, where
/// it saturates: the values of indices are below the interpreter's budget of iterations, coefficients
/// below 2^60.
pub struct BoundAffine {
    terms: Vec<(BoundAtom, i128)>,
    constant: i128,
}

pub enum BoundAtom {
    Index(IndexId),
    Floor(BoundAffine, i128),
}

impl BoundAffine {
    /// `None` if the form mentions anything but `indices`.
    pub fn new(affine: &Affine, indices: &[Name]) -> Option<Self> {
        let bound = |atom: &Atom| match atom {
            Atom::Var(name) => {
                indices.iter().position(|i| i == name).map(|k| BoundAtom::Index(IndexId(k)))
            }
            Atom::Call(_) => None,
            Atom::Floor(inner, divisor) => {
                Some(BoundAtom::Floor(BoundAffine::new(inner, indices)?, i128::from(*divisor)))
            }
        };
        let terms: Option<Vec<_>> =
            affine.terms().iter().map(|(atom, c)| Some((bound(atom)?, i128::from(*c)))).collect();
        Some(BoundAffine { terms: terms?, constant: i128::from(affine.offset()) })
    }

    fn eval(&self, point: &[i64]) -> i128 {
        self.terms.iter().fold(self.constant, |sum, (atom, c)| {
            let value = match atom {
                BoundAtom::Index(IndexId(k)) => i128::from(point[*k]),
                BoundAtom::Floor(inner, divisor) => inner.eval(point).div_euclid(*divisor),
            };
            sum.saturating_add(value.saturating_mul(*c))
        })
    }
}

/// A formula with its forms bound; `a => b` is `not a or b`.
pub enum BoundFormula {
    Constraint(BoundAffine, Relop),
    And(Vec<BoundFormula>),
    Or(Vec<BoundFormula>),
    Not(Box<BoundFormula>),
}

impl BoundFormula {
    /// `None` if the formula mentions anything but `indices`.
    pub fn new(formula: &Formula, indices: &[Name]) -> Option<Self> {
        let all = |parts: &[Formula]| -> Option<Vec<_>> {
            parts.iter().map(|p| BoundFormula::new(p, indices)).collect()
        };
        Some(match formula {
            Formula::Constraint(Constraint { affine, relop }) => {
                BoundFormula::Constraint(BoundAffine::new(affine, indices)?, *relop)
            }
            Formula::And(parts) => BoundFormula::And(all(parts)?),
            Formula::Or(parts) => BoundFormula::Or(all(parts)?),
            Formula::Not(inner) => BoundFormula::Not(Box::new(BoundFormula::new(inner, indices)?)),
            Formula::Implies(a, b) => BoundFormula::Or(vec![
                BoundFormula::Not(Box::new(BoundFormula::new(a, indices)?)),
                BoundFormula::new(b, indices)?,
            ]),
            Formula::Predicate(..) => return None,
        })
    }

    pub fn holds(&self, point: &[i64]) -> bool {
        match self {
            BoundFormula::Constraint(affine, relop) => {
                let value = affine.eval(point);
                match relop {
                    Relop::Eq => value == 0,
                    Relop::Ge => value >= 0,
                    Relop::Ne => value != 0,
                }
            }
            BoundFormula::And(parts) => parts.iter().all(|p| p.holds(point)),
            BoundFormula::Or(parts) => parts.iter().any(|p| p.holds(point)),
            BoundFormula::Not(inner) => !inner.holds(point),
        }
    }
}

/// Where an access reads or writes.
pub struct Place {
    /// One form and extent per dimension.
    pub subscripts: Vec<(BoundAffine, usize)>,
    /// Whether it may leave its tensor.
    pub reach: Reach,
    /// Of the access.
    pub span: Range<usize>,
}

/// Whether leaving the tensor is part of a program's meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It is: what does so is not executed.
    Anywhere,
    /// It is an error: a value decides the place.
    Inside,
}

impl Place {
    /// The row-major offset; `None` outside the tensor.
    pub fn offset(&self, point: &[i64]) -> Option<usize> {
        let mut at: usize = 0;
        for (subscript, extent) in &self.subscripts {
            let value = subscript.eval(point);
            if !(0..*extent as i128).contains(&value) {
                return None;
            }
            // Without elements the product may wrap, but then a later subscript is outside.
            at = at.wrapping_mul(*extent).wrapping_add(value as usize);
        }
        Some(at)
    }
}
