//! Values at run time, with the kernel's arithmetic.

use crate::code::ir::BinaryOp;

/// A number of a tensor.
pub use crate::operators::Value as Number;

/// What an expression evaluates to.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Unsigned(usize),
    Signed(isize),
    Bool(bool),
    Number(Number),
    /// One of the run's tables.
    Table(usize),
    Key(Vec<i64>),
}

/// An operation on two numbers of one type, in the type's arithmetic; `None` if it lacks that.
pub fn arithmetic(op: BinaryOp, a: Number, b: Number) -> Option<Number> {
    macro_rules! float {
        ($a:ident, $b:ident) => {
            match op {
                BinaryOp::Add => $a + $b,
                BinaryOp::Mul => $a * $b,
                BinaryOp::Sub => $a - $b,
                BinaryOp::Div => $a / $b,
                // Of a number and a NaN, the number.
                BinaryOp::Min => $a.min($b),
                BinaryOp::Max => $a.max($b),
                _ => return None,
            }
        };
    }
    macro_rules! integer {
        ($a:ident, $b:ident) => {
            match op {
                BinaryOp::Add => $a.wrapping_add($b),
                BinaryOp::Mul => $a.wrapping_mul($b),
                BinaryOp::Sub => $a.wrapping_sub($b),
                BinaryOp::Min => $a.min($b),
                BinaryOp::Max => $a.max($b),
                _ => return None,
            }
        };
    }
    Some(match (a, b) {
        (Number::F64(a), Number::F64(b)) => Number::F64(float!(a, b)),
        (Number::F32(a), Number::F32(b)) => Number::F32(float!(a, b)),
        (Number::I64(a), Number::I64(b)) => Number::I64(integer!(a, b)),
        (Number::I32(a), Number::I32(b)) => Number::I32(integer!(a, b)),
        (Number::U8(a), Number::U8(b)) => Number::U8(integer!(a, b)),
        (Number::Bool(a), Number::Bool(b)) => match op {
            BinaryOp::Add => Number::Bool(a | b),
            BinaryOp::Mul => Number::Bool(a & b),
            _ => return None,
        },
        _ => return None,
    })
}
