//! What code says in the language of proofs: integers as linear forms, conditions as formulas.
//!
//! `at(pos_A, pA0 + 1) as usize` means `pos_A(pA0 + 1)`: index arrays never change while a kernel
//! runs. Conversions keep the number, which is an obligation of whoever writes them.

use super::ir::{ArrayId, BinaryOp, Body, Element, Expr, Origin, Type, VarId};
use crate::formula::{Affine, Arith, Constraint, Formula, Name};

impl Body {
    /// Whether the last of several subscripts may be its extent, by the declared domain: the end of a
    /// row is the start of the next, as in `pos(b, c + 1)`.
    pub fn goes_on(&self, array: ArrayId) -> bool {
        let array = self.arr(array);
        let meaning = Meaning { body: self, name: &|v| self.var(v).name.clone() };
        let ([_, .., last], [_, .., extent]) = (array.args.as_slice(), array.shape.as_slice())
        else {
            return false;
        };
        meaning.affine(extent).is_some_and(|extent| {
            array.domain.contains(&Constraint::le(Affine::var(last.clone()), extent))
        })
    }
}

/// Reads expressions of `body`; `name` gives the name by which a variable is known at this point.
pub struct Meaning<'a> {
    pub body: &'a Body,
    pub name: &'a dyn Fn(VarId) -> Name,
}

impl Meaning<'_> {
    /// The linear form of an integer. `None` where it has none.
    pub fn affine(&self, e: &Expr) -> Option<Affine> {
        Some(match e {
            Expr::Int { value, .. } => Affine::constant(*value),
            Expr::Var(v) => Affine::var((self.name)(*v)),
            Expr::Load(load) => {
                let array = self.body.arr(load.array);
                if !matches!(array.element, Element::Index { .. }) || array.origin != Origin::Input
                {
                    return None;
                }
                let args: Option<Vec<Affine>> =
                    load.subscripts.iter().map(|s| self.affine(s)).collect();
                Affine::call(array.name.clone(), args?)
            }
            Expr::Convert { value, .. } | Expr::Given { value, .. } => self.affine(value)?,
            Expr::Choose { .. } => self.choice(e)?,
            Expr::Binary { op, left, right } => {
                let (a, b) = (self.affine(left)?, self.affine(right)?);
                match op {
                    BinaryOp::Add => a + b,
                    BinaryOp::Sub => a - b,
                    BinaryOp::Mul => match (a.as_constant(), b.as_constant()) {
                        (Some(k), _) => b * k,
                        (_, Some(k)) => a * k,
                        _ => return None,
                    },
                    BinaryOp::Div => a.floor_div(b.as_constant().filter(|k| *k > 0)?),
                    BinaryOp::Rem => a.modulo(b.as_constant().filter(|k| *k > 0)?),
                    _ => return None,
                }
            }
            _ => return None,
        })
    }

    /// An integer with products of unknowns.
    pub fn arith(&self, e: &Expr) -> Option<Arith> {
        if let Some(affine) = self.affine(e) {
            return Some(Arith::from_affine(&affine));
        }
        match e {
            Expr::Convert { value, .. } | Expr::Given { value, .. } => self.arith(value),
            Expr::Binary { op, left, right } => {
                let (a, b) = (Box::new(self.arith(left)?), Box::new(self.arith(right)?));
                Some(match op {
                    BinaryOp::Add => Arith::Add(a, b),
                    BinaryOp::Sub => Arith::Sub(a, b),
                    BinaryOp::Mul => Arith::Mul(a, b),
                    BinaryOp::Div => Arith::Div(a, b),
                    BinaryOp::Rem => Arith::Mod(a, b),
                    BinaryOp::Min => Arith::Min(a, b),
                    BinaryOp::Max => Arith::Max(a, b),
                    _ => return None,
                })
            }
            _ => None,
        }
    }

    /// What follows from a condition having the value `truth`.
    pub fn implied(&self, e: &Expr, truth: bool) -> Formula {
        match e {
            Expr::Bool(value) => Formula::truth(*value == truth),
            Expr::Not(inner) => self.implied(inner, !truth),
            Expr::Given { value, .. } => self.implied(value, truth),
            Expr::Binary { op, left, right } => {
                let both = |a: &Expr, b: &Expr| [self.implied(a, truth), self.implied(b, truth)];
                match (op, truth) {
                    (BinaryOp::And, true) | (BinaryOp::Or | BinaryOp::BitOr, false) => {
                        Formula::and(both(left, right))
                    }
                    (BinaryOp::And, false) | (BinaryOp::Or | BinaryOp::BitOr, true) => {
                        Formula::or(both(left, right))
                    }
                    _ => match self.comparison(*op, left, right) {
                        Some(c) if truth => Formula::Constraint(c),
                        Some(c) => Formula::Constraint(c.negated()),
                        None => self.order(*op, left, right, truth),
                    },
                }
            }
            _ => Formula::truth(true),
        }
    }

    fn comparison(&self, op: BinaryOp, left: &Expr, right: &Expr) -> Option<Constraint> {
        let relation: fn(Affine, Affine) -> Constraint = match op {
            BinaryOp::Eq => Constraint::eq,
            BinaryOp::Ne => Constraint::ne,
            BinaryOp::Lt => Constraint::lt,
            BinaryOp::Le => Constraint::le,
            BinaryOp::Gt => |a, b| Constraint::lt(b, a),
            BinaryOp::Ge => |a, b| Constraint::le(b, a),
            _ => return None,
        };
        Some(relation(self.affine(left)?, self.affine(right)?))
    }

    /// What follows of the least and the greatest of several numbers from how they compare.
    fn order(&self, op: BinaryOp, left: &Expr, right: &Expr, truth: bool) -> Formula {
        let (less, more, strict) = match op {
            BinaryOp::Lt => (left, right, true),
            BinaryOp::Le => (left, right, false),
            BinaryOp::Gt => (right, left, true),
            BinaryOp::Ge => (right, left, false),
            _ => return Formula::truth(true),
        };
        let (less, more, strict) = if truth { (less, more, strict) } else { (more, less, !strict) };
        let relation = if strict { Formula::lt } else { Formula::le };
        let both = pairs(&self.at_least(less), &self.at_most(more), relation);
        Formula::and(both)
    }

    /// A choice between integers as an unknown of its own: the same number wherever it is written, as long as its
    /// variables have the same names.
    fn choice(&self, e: &Expr) -> Option<Affine> {
        let (mut names, mut fixed) = (Vec::new(), self.body.type_of(e) == Ok(Type::Unsigned));
        e.visit(&mut |part| match part {
            Expr::Var(v) => names.push((self.name)(*v).to_string()),
            Expr::Load(load) => {
                let array = self.body.arr(load.array);
                fixed &=
                    matches!(array.element, Element::Index { .. }) && array.origin == Origin::Input;
            }
            Expr::Int { .. } | Expr::Choose { .. } | Expr::Binary { .. } | Expr::Convert { .. } => {
            }
            _ => fixed = false,
        });
        let name = || format!("{} of {}", self.body.print_expr(e), names.join(", "));
        fixed.then(|| Affine::var(Name::from(name())))
    }

    /// Forms that `e` is at least: those of which it is the greatest.
    pub fn at_least(&self, e: &Expr) -> Vec<Affine> {
        each(e, BinaryOp::Max, &|e| {
            let mut out: Vec<Affine> = self.affine(e).into_iter().collect();
            match e {
                Expr::Binary { op: BinaryOp::Add, left, right } if has_choice(e) => {
                    out.extend(pairs(&self.at_least(left), &self.at_least(right), |a, b| a + b));
                }
                Expr::Binary { op: BinaryOp::Sub, left, right } if has_choice(e) => {
                    out.extend(pairs(&self.at_least(left), &self.at_most(right), |a, b| a - b));
                }
                // Where it has no form, or one that says nothing.
                _ if (out.is_empty() || has_choice(e))
                    && self.body.type_of(e) == Ok(Type::Unsigned) =>
                {
                    out.push(Affine::zero());
                }
                _ => {}
            }
            out
        })
    }

    /// Forms that `e` is at most.
    pub fn at_most(&self, e: &Expr) -> Vec<Affine> {
        each(e, BinaryOp::Min, &|e| {
            let mut out: Vec<Affine> = self.affine(e).into_iter().collect();
            match e {
                Expr::Binary { op: BinaryOp::SaturatingSub, left, .. } => {
                    out.extend(self.at_most(left));
                }
                Expr::Binary { op: BinaryOp::Add, left, right } if has_choice(e) => {
                    out.extend(pairs(&self.at_most(left), &self.at_most(right), |a, b| a + b));
                }
                Expr::Binary { op: BinaryOp::Sub, left, right } if has_choice(e) => {
                    out.extend(pairs(&self.at_most(left), &self.at_least(right), |a, b| a - b));
                }
                _ => {}
            }
            out
        })
    }

    /// Forms that `e` is at most, unless it is 0: those of which it is the greatest beside 0.
    pub fn at_most_or_zero(&self, e: &Expr) -> Vec<Affine> {
        each(e, BinaryOp::Min, &|e| match e {
            Expr::Binary { op: BinaryOp::Max, left, right }
                if matches!(**right, Expr::Int { value: 0, .. }) =>
            {
                self.above_natural(left)
            }
            _ => Vec::new(),
        })
    }

    /// `lo <= v < hi`, as far as the ends have a meaning.
    pub fn range(&self, v: &Affine, lo: &Expr, hi: &Expr) -> Vec<Constraint> {
        let lower = self.at_least(lo).into_iter().map(|l| Constraint::le(l, v.clone()));
        let upper = self.above(hi).into_iter().map(|u| Constraint::lt(v.clone(), u));
        lower.chain(upper).collect()
    }

    /// Forms above every number of the type of `e` that is below `e`.
    fn above(&self, e: &Expr) -> Vec<Affine> {
        match e {
            Expr::Binary { op: BinaryOp::Min, left, right } => {
                let mut out = self.above(left);
                out.extend(self.above(right));
                out
            }
            Expr::Convert { signed: false, value } => self.above_natural(value),
            Expr::Given { value, .. } => self.above(value),
            _ => self.at_most(e),
        }
    }

    /// Forms above every natural number that is below `e`: what is not negative and below
    /// `max(e, 0)` is below `e`.
    fn above_natural(&self, e: &Expr) -> Vec<Affine> {
        let mut out = self.at_most(e);
        out.extend(self.at_most_or_zero(e));
        out
    }
}

/// What each two give.
fn pairs<T>(left: &[Affine], right: &[Affine], combine: impl Fn(Affine, Affine) -> T) -> Vec<T> {
    let with = |a: &Affine| right.iter().map(|b| combine(a.clone(), b.clone())).collect::<Vec<_>>();
    left.iter().flat_map(with).collect()
}

/// Whether a part of it is one of two numbers, of which the form says nothing.
fn has_choice(e: &Expr) -> bool {
    let mut found = false;
    e.visit(&mut |part| found |= matches!(part, Expr::Choose { .. }));
    found
}

/// What `leaf` says of each operand that `op` makes `e` of, through conversions.
fn each(e: &Expr, op: BinaryOp, leaf: &dyn Fn(&Expr) -> Vec<Affine>) -> Vec<Affine> {
    match e {
        Expr::Binary { op: own, left, right } if *own == op => {
            let mut out = each(left, op, leaf);
            out.extend(each(right, op, leaf));
            out
        }
        Expr::Convert { value, .. } | Expr::Given { value, .. } => each(value, op, leaf),
        _ => leaf(e),
    }
}
