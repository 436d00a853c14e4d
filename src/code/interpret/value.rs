//! Values at run time, with the kernel's arithmetic.

use crate::tensor::{ValueType, Values};

/// A number of a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    F64(f64),
    F32(f32),
    I64(i64),
    I32(i32),
    U8(u8),
    Bool(bool),
}

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

impl Number {
    pub fn zero(ty: ValueType) -> Number {
        match ty {
            ValueType::F64 => Number::F64(0.0),
            ValueType::F32 => Number::F32(0.0),
            ValueType::I64 => Number::I64(0),
            ValueType::I32 => Number::I32(0),
            ValueType::U8 => Number::U8(0),
            ValueType::Bool => Number::Bool(false),
        }
    }

    /// A literal as Rust would read it; `None` if it is none of this type.
    pub fn literal(text: &str, ty: ValueType) -> Option<Number> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let float = digits.starts_with(|c: char| c.is_ascii_digit())
            && digits.contains(['.', 'e', 'E'])
            && !digits.starts_with('.');
        Some(match ty {
            ValueType::F64 if float => Number::F64(text.parse().ok()?),
            ValueType::F32 if float => Number::F32(text.parse().ok()?),
            ValueType::F64 | ValueType::F32 => return None,
            ValueType::I64 => Number::I64(text.parse().ok()?),
            ValueType::I32 => Number::I32(text.parse().ok()?),
            ValueType::U8 => Number::U8(text.parse().ok()?),
            ValueType::Bool => Number::Bool(text.parse().ok()?),
        })
    }

    /// `None` if the types differ.
    pub fn add(self, other: Number) -> Option<Number> {
        Some(match (self, other) {
            (Number::F64(a), Number::F64(b)) => Number::F64(a + b),
            (Number::F32(a), Number::F32(b)) => Number::F32(a + b),
            (Number::I64(a), Number::I64(b)) => Number::I64(a.wrapping_add(b)),
            (Number::I32(a), Number::I32(b)) => Number::I32(a.wrapping_add(b)),
            (Number::U8(a), Number::U8(b)) => Number::U8(a.wrapping_add(b)),
            (Number::Bool(a), Number::Bool(b)) => Number::Bool(a | b),
            _ => return None,
        })
    }

    /// `None` if the types differ.
    pub fn mul(self, other: Number) -> Option<Number> {
        Some(match (self, other) {
            (Number::F64(a), Number::F64(b)) => Number::F64(a * b),
            (Number::F32(a), Number::F32(b)) => Number::F32(a * b),
            (Number::I64(a), Number::I64(b)) => Number::I64(a.wrapping_mul(b)),
            (Number::I32(a), Number::I32(b)) => Number::I32(a.wrapping_mul(b)),
            (Number::U8(a), Number::U8(b)) => Number::U8(a.wrapping_mul(b)),
            (Number::Bool(a), Number::Bool(b)) => Number::Bool(a & b),
            _ => return None,
        })
    }

    /// `None` if the types differ, or have no differences.
    pub fn sub(self, other: Number) -> Option<Number> {
        Some(match (self, other) {
            (Number::F64(a), Number::F64(b)) => Number::F64(a - b),
            (Number::F32(a), Number::F32(b)) => Number::F32(a - b),
            (Number::I64(a), Number::I64(b)) => Number::I64(a.wrapping_sub(b)),
            (Number::I32(a), Number::I32(b)) => Number::I32(a.wrapping_sub(b)),
            (Number::U8(a), Number::U8(b)) => Number::U8(a.wrapping_sub(b)),
            _ => return None,
        })
    }

    /// `None` unless both are floats of one type.
    pub fn div(self, other: Number) -> Option<Number> {
        Some(match (self, other) {
            (Number::F64(a), Number::F64(b)) => Number::F64(a / b),
            (Number::F32(a), Number::F32(b)) => Number::F32(a / b),
            _ => return None,
        })
    }

    /// Of a number and a NaN, the number. `None` if the types differ.
    pub fn min(self, other: Number) -> Option<Number> {
        Some(match (self, other) {
            (Number::F64(a), Number::F64(b)) => Number::F64(a.min(b)),
            (Number::F32(a), Number::F32(b)) => Number::F32(a.min(b)),
            (Number::I64(a), Number::I64(b)) => Number::I64(a.min(b)),
            (Number::I32(a), Number::I32(b)) => Number::I32(a.min(b)),
            (Number::U8(a), Number::U8(b)) => Number::U8(a.min(b)),
            _ => return None,
        })
    }

    /// Of a number and a NaN, the number. `None` if the types differ.
    pub fn max(self, other: Number) -> Option<Number> {
        Some(match (self, other) {
            (Number::F64(a), Number::F64(b)) => Number::F64(a.max(b)),
            (Number::F32(a), Number::F32(b)) => Number::F32(a.max(b)),
            (Number::I64(a), Number::I64(b)) => Number::I64(a.max(b)),
            (Number::I32(a), Number::I32(b)) => Number::I32(a.max(b)),
            (Number::U8(a), Number::U8(b)) => Number::U8(a.max(b)),
            _ => return None,
        })
    }

    /// Element `k`, which exists.
    pub fn of(values: &Values, k: usize) -> Number {
        match values {
            Values::F64(v) => Number::F64(v[k]),
            Values::F32(v) => Number::F32(v[k]),
            Values::I64(v) => Number::I64(v[k]),
            Values::I32(v) => Number::I32(v[k]),
            Values::U8(v) => Number::U8(v[k]),
            Values::Bool(v) => Number::Bool(v[k]),
        }
    }

    /// Sets element `k`, which exists. `None` if the types differ.
    pub fn put(self, values: &mut Values, k: usize) -> Option<()> {
        match (self, values) {
            (Number::F64(x), Values::F64(v)) => v[k] = x,
            (Number::F32(x), Values::F32(v)) => v[k] = x,
            (Number::I64(x), Values::I64(v)) => v[k] = x,
            (Number::I32(x), Values::I32(v)) => v[k] = x,
            (Number::U8(x), Values::U8(v)) => v[k] = x,
            (Number::Bool(x), Values::Bool(v)) => v[k] = x,
            _ => return None,
        }
        Some(())
    }
}
