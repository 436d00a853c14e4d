//! Making expressions: constants are folded, neutral operands left out.

use super::ir::{Access, Array, ArrayId, BinaryOp, Body, Element, Expr, Load, Origin, Stmt, VarId};
use crate::formula::Name;
use crate::operators::Value;
use crate::tensor::ValueType;

// By name, not as operators: they fold constants.
#[allow(clippy::should_implement_trait)]
impl Expr {
    /// A `usize` literal.
    pub fn int(value: i64) -> Expr {
        Expr::Int { value, signed: false }
    }

    /// A literal of the type of `signed`.
    pub fn integer(value: i64, signed: bool) -> Expr {
        Expr::Int { value, signed }
    }

    pub fn var(v: VarId) -> Expr {
        Expr::Var(v)
    }

    /// An access that is tested until the bounds pass shows that it need not be.
    pub fn load(array: ArrayId, subscripts: Vec<Expr>) -> Expr {
        Expr::Load(Load { array, subscripts, access: Access::Checked })
    }

    pub fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
        // `a + 1 <= b` is `a < b`.
        if let (BinaryOp::Le, Expr::Binary { op: BinaryOp::Add, left, right: one }) = (op, &left)
            && matches!(**one, Expr::Int { value: 1, .. })
        {
            return Expr::binary(BinaryOp::Lt, (**left).clone(), right);
        }
        Expr::Binary { op, left: Box::new(left), right: Box::new(right) }
    }

    pub fn add(self, other: Expr) -> Expr {
        match (&self, &other) {
            (Expr::Int { value: 0, .. }, _) => other,
            (_, Expr::Int { value: 0, .. }) => self,
            _ => Expr::binary(BinaryOp::Add, self, other),
        }
    }

    pub fn sub(self, other: Expr) -> Expr {
        match other {
            Expr::Int { value: 0, .. } => self,
            other => Expr::binary(BinaryOp::Sub, self, other),
        }
    }

    pub fn mul(self, other: Expr) -> Expr {
        match (&self, &other) {
            (Expr::Int { value: 1, .. }, _) => other,
            (_, Expr::Int { value: 1, .. }) => self,
            _ => Expr::binary(BinaryOp::Mul, self, other),
        }
    }

    /// The same where literals have come to stand in it: without neutral operands.
    #[must_use]
    pub fn folded(mut self) -> Expr {
        self.parts_mut(&mut |part| *part = std::mem::replace(part, Expr::Unset).folded());
        match self {
            Expr::Binary { op: BinaryOp::Add, left, right } => left.add(*right),
            Expr::Binary { op: BinaryOp::Sub, left, right } => left.sub(*right),
            Expr::Binary { op: BinaryOp::Mul, left, right } => left.mul(*right),
            other => other,
        }
    }

    /// The same number in the other integer type, if it is not of that type already.
    pub fn converted(self, signed: bool) -> Expr {
        match self {
            Expr::Int { value, .. } => Expr::Int { value, signed },
            other => Expr::Convert { signed, value: Box::new(other) },
        }
    }

    pub fn and(parts: impl IntoIterator<Item = Expr>) -> Expr {
        joined(parts, BinaryOp::And, true)
    }

    pub fn or(parts: impl IntoIterator<Item = Expr>) -> Expr {
        joined(parts, BinaryOp::Or, false)
    }

    /// The negation, by the opposite comparison where there is one.
    pub fn negated(self) -> Expr {
        match self {
            Expr::Bool(value) => Expr::Bool(!value),
            Expr::Not(inner) => *inner,
            other => Expr::Not(Box::new(other)),
        }
    }

    /// The zero of a value type.
    pub fn zero(ty: ValueType) -> Expr {
        Expr::Number(Value::zero(ty))
    }

    pub fn is_true(&self) -> bool {
        *self == Expr::Bool(true)
    }
}

fn joined(parts: impl IntoIterator<Item = Expr>, op: BinaryOp, neutral: bool) -> Expr {
    let mut out: Option<Expr> = None;
    for part in parts {
        match part {
            Expr::Bool(value) if value == neutral => {}
            Expr::Bool(value) => return Expr::Bool(value),
            part => {
                out = Some(match out {
                    None => part,
                    Some(all) => Expr::binary(op, all, part),
                });
            }
        }
    }
    out.unwrap_or(Expr::Bool(neutral))
}

impl Body {
    /// A new array that the body allocates.
    pub(super) fn local(
        &mut self,
        name: impl Into<Name>,
        element: Element,
        shape: Vec<Expr>,
    ) -> ArrayId {
        self.array(Array {
            name: name.into(),
            element,
            origin: Origin::Local,
            shape,
            args: Vec::new(),
            domain: Vec::new(),
            range: Vec::new(),
        })
    }

    /// Where an element is in memory, row-major: `i * J + j`.
    pub(super) fn place(&self, array: ArrayId, subscripts: &[Expr]) -> Expr {
        let is_zero = |e: &Expr| matches!(e, Expr::Int { value: 0, .. });
        let extents = self.arr(array).shape.iter().cloned().chain(std::iter::repeat(Expr::int(1)));
        let rows = subscripts.iter().cloned().zip(extents);
        let place = rows.reduce(|(outer, _), (subscript, extent)| {
            if is_zero(&outer) {
                return (subscript, extent);
            }
            let row = Expr::binary(BinaryOp::Mul, outer, extent.clone());
            (
                if is_zero(&subscript) { row } else { Expr::binary(BinaryOp::Add, row, subscript) },
                extent,
            )
        });
        place.map_or(Expr::int(0), |(place, _)| place)
    }
}

impl Stmt {
    /// `a.push(e);`
    pub(super) fn push(array: ArrayId, value: Expr) -> Stmt {
        Stmt::Push { array, when: None, value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_that_have_come_to_stand_somewhere_are_left_out_where_they_change_nothing() {
        let raw = |op, left: Expr, right: Expr| Expr::Binary {
            op,
            left: Box::new(left),
            right: Box::new(right),
        };
        let (zero, one) = (|| Expr::integer(0, true), || Expr::integer(1, true));
        let x = || Expr::integer(7, true);
        // (0 - 0) - 1 * (0 + x)
        let product = raw(BinaryOp::Mul, one(), raw(BinaryOp::Add, zero(), x()));
        let all = raw(BinaryOp::Sub, raw(BinaryOp::Sub, zero(), zero()), product);
        assert_eq!(all.folded(), raw(BinaryOp::Sub, zero(), x()));
    }
}
