//! One number of one type.

use std::fmt;

use super::values::{ValueType, Values, with_values};
use crate::layout::Literal;

/// A number of a tensor, or a result of an operator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Of type `f64`.
    F64(f64),
    /// Of type `f32`.
    F32(f32),
    /// Of type `i64`.
    I64(i64),
    /// Of type `i32`.
    I32(i32),
    /// Of type `u8`.
    U8(u8),
    /// Of type `bool`.
    Bool(bool),
}

impl From<Literal> for Value {
    fn from(literal: Literal) -> Value {
        match literal {
            Literal::F64(x) => Value::F64(x),
            Literal::F32(x) => Value::F32(x),
            Literal::I64(n) => Value::I64(n),
            Literal::I32(n) => Value::I32(n),
            Literal::U8(n) => Value::U8(n),
            Literal::Bool(b) => Value::Bool(b),
        }
    }
}

/// Evaluates `$body` with `$x` bound to the number inside `$value`, whatever its type; a `bool` is
/// bound as the `u8` 0 or 1.
macro_rules! with_number {
    ($value:expr, $x:ident => $body:expr) => {
        match $value {
            Value::F64($x) => $body,
            Value::F32($x) => $body,
            Value::I64($x) => $body,
            Value::I32($x) => $body,
            Value::U8($x) => $body,
            Value::Bool($x) => {
                let $x = u8::from($x);
                $body
            }
        }
    };
}

impl Value {
    /// The type.
    pub fn value_type(self) -> ValueType {
        match self {
            Value::F64(_) => ValueType::F64,
            Value::F32(_) => ValueType::F32,
            Value::I64(_) => ValueType::I64,
            Value::I32(_) => ValueType::I32,
            Value::U8(_) => ValueType::U8,
            Value::Bool(_) => ValueType::Bool,
        }
    }

    /// The zero of a type, `false` for `bool`.
    pub fn zero(t: ValueType) -> Value {
        Value::Bool(false).cast(t)
    }

    /// The greatest value of a type: infinity, for floats.
    pub fn greatest(t: ValueType) -> Value {
        match t {
            ValueType::F64 => Value::F64(f64::INFINITY),
            ValueType::F32 => Value::F32(f32::INFINITY),
            ValueType::I64 => Value::I64(i64::MAX),
            ValueType::I32 => Value::I32(i32::MAX),
            ValueType::U8 => Value::U8(u8::MAX),
            ValueType::Bool => Value::Bool(true),
        }
    }

    /// The least value of a type: minus infinity, for floats.
    pub fn least(t: ValueType) -> Value {
        match t {
            ValueType::F64 => Value::F64(f64::NEG_INFINITY),
            ValueType::F32 => Value::F32(f32::NEG_INFINITY),
            ValueType::I64 => Value::I64(i64::MIN),
            ValueType::I32 => Value::I32(i32::MIN),
            ValueType::U8 => Value::U8(0),
            ValueType::Bool => Value::Bool(false),
        }
    }

    /// The value in another type, as Rust's `as` has it: floats round and saturate, integers wrap.
    /// To `bool`: whether it is not 0, so that NaN is `true`, as NumPy has it.
    #[must_use]
    pub fn cast(self, t: ValueType) -> Value {
        match t {
            ValueType::F64 => with_number!(self, x => Value::F64(x as f64)),
            ValueType::F32 => with_number!(self, x => Value::F32(x as f32)),
            ValueType::I64 => with_number!(self, x => Value::I64(x as i64)),
            ValueType::I32 => with_number!(self, x => Value::I32(x as i32)),
            ValueType::U8 => with_number!(self, x => Value::U8(x as u8)),
            ValueType::Bool => with_number!(self, x => Value::Bool(x as f64 != 0.0)),
        }
    }

    /// Element `k`. Panics if there is none.
    pub fn element(values: &Values, k: usize) -> Value {
        match values {
            Values::F64(v) => Value::F64(v[k]),
            Values::F32(v) => Value::F32(v[k]),
            Values::I64(v) => Value::I64(v[k]),
            Values::I32(v) => Value::I32(v[k]),
            Values::U8(v) => Value::U8(v[k]),
            Values::Bool(v) => Value::Bool(v[k]),
        }
    }

    /// Sets element `k`, converted to its type. Panics if there is none.
    pub fn store(self, values: &mut Values, k: usize) {
        let number = self.cast(values.value_type());
        match (values, number) {
            (Values::F64(v), Value::F64(x)) => v[k] = x,
            (Values::F32(v), Value::F32(x)) => v[k] = x,
            (Values::I64(v), Value::I64(x)) => v[k] = x,
            (Values::I32(v), Value::I32(x)) => v[k] = x,
            (Values::U8(v), Value::U8(x)) => v[k] = x,
            (Values::Bool(v), Value::Bool(x)) => v[k] = x,
            _ => unreachable!("the number was converted"),
        }
    }

    /// So many times; it may be more than memory holds: then the process ends.
    pub fn repeated(self, n: usize) -> Values {
        match self {
            Value::F64(x) => vec![x; n].into(),
            Value::F32(x) => vec![x; n].into(),
            Value::I64(x) => vec![x; n].into(),
            Value::I32(x) => vec![x; n].into(),
            Value::U8(x) => vec![x; n].into(),
            Value::Bool(x) => vec![x; n].into(),
        }
    }

    /// Every element of `values` becomes this one, converted to their type.
    pub fn fill(self, values: &mut Values) {
        if values.is_empty() {
            return;
        }
        self.store(values, 0);
        with_values!(values, v => {
            let first = v[0];
            v.fill(first);
        });
    }

    /// The integer as a value of a type; `None` if the type does not have it. `bool` has 0 and 1.
    pub fn integer(x: i64, t: ValueType) -> Option<Value> {
        match t {
            ValueType::F64 => Some(Value::F64(x as f64)),
            ValueType::F32 => Some(Value::F32(x as f32)),
            ValueType::I64 => Some(Value::I64(x)),
            ValueType::I32 => x.try_into().ok().map(Value::I32),
            ValueType::U8 => x.try_into().ok().map(Value::U8),
            ValueType::Bool => (x == 0 || x == 1).then_some(Value::Bool(x == 1)),
        }
    }

    /// The float as a value of a type; `None` if the type does not have it. Integers have the whole
    /// ones in their range, `bool` has 0 and 1.
    pub fn float(x: f64, t: ValueType) -> Option<Value> {
        match t {
            ValueType::F64 => Some(Value::F64(x)),
            ValueType::F32 => Some(Value::F32(x as f32)),
            _ => {
                let whole = x.fract() == 0.0 && (-9.2e18..9.2e18).contains(&x);
                whole.then_some(x as i64).and_then(|x| Value::integer(x, t))
            }
        }
    }

    /// Equal, where NaN is equal to itself and `-0.0` to `0.0`.
    pub fn same(self, other: Value) -> bool {
        self == other || (self.is_nan() && other.is_nan())
    }

    /// Equal in every bit, where one NaN is as good as another.
    pub fn identical(self, other: Value) -> bool {
        match (self, other) {
            (Value::F64(a), Value::F64(b)) => {
                a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
            }
            (Value::F32(a), Value::F32(b)) => {
                a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
            }
            _ => self == other,
        }
    }

    /// Whether it is no number.
    pub fn is_nan(self) -> bool {
        match self {
            Value::F64(x) => x.is_nan(),
            Value::F32(x) => x.is_nan(),
            _ => false,
        }
    }

    /// Neither infinite nor NaN; integers are always finite.
    pub fn is_finite(self) -> bool {
        match self {
            Value::F64(x) => x.is_finite(),
            Value::F32(x) => x.is_finite(),
            _ => true,
        }
    }
}

/// As Rust spells it without the type: `2.0`, `-3`, `true`, `inf`, `NaN`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::F64(x) => write!(f, "{x:?}"),
            Value::F32(x) => write!(f, "{x:?}"),
            Value::I64(x) => write!(f, "{x}"),
            Value::I32(x) => write!(f, "{x}"),
            Value::U8(x) => write!(f, "{x}"),
            Value::Bool(x) => write!(f, "{x}"),
        }
    }
}

/// The type in which two values meet, as NumPy promotes array types: `bool` < `u8` < `i32` < `i64`
/// < `f64`; `f32` stays beside `bool` and `u8`, and becomes `f64` beside wider integers, which it
/// could not hold.
///
/// `promote(F32, I32)` is `F64`, `promote(U8, I32)` is `I32`.
pub fn promote(a: ValueType, b: ValueType) -> ValueType {
    let rank = |t| match t {
        ValueType::Bool => 0,
        ValueType::U8 => 1,
        ValueType::I32 => 2,
        ValueType::I64 => 3,
        ValueType::F32 => 4,
        ValueType::F64 => 5,
    };
    let (low, high) = if rank(a) <= rank(b) { (a, b) } else { (b, a) };
    match (low, high) {
        (ValueType::I32 | ValueType::I64, ValueType::F32) => ValueType::F64,
        _ => high,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_meet_as_numpy_promotes_them() {
        use ValueType::{Bool, F32, F64, I32, I64, U8};
        let meets = [
            (Bool, U8, U8),
            (Bool, F32, F32),
            (U8, I32, I32),
            (U8, F32, F32),
            (I32, I64, I64),
            (I32, F32, F64),
            (I64, F32, F64),
            (F32, F64, F64),
            (I64, F64, F64),
        ];
        for (a, b, c) in meets {
            assert_eq!((promote(a, b), promote(b, a)), (c, c), "{a} and {b}");
        }
        for t in ValueType::ALL {
            assert_eq!(promote(t, t), t);
            for u in ValueType::ALL {
                for v in ValueType::ALL {
                    assert_eq!(promote(promote(t, u), v), promote(t, promote(u, v)));
                }
            }
        }
    }

    #[test]
    fn casts_saturate_from_floats_and_wrap_from_integers() {
        assert_eq!(Value::F64(1e30).cast(ValueType::I32), Value::I32(i32::MAX));
        assert_eq!(Value::F64(f64::NAN).cast(ValueType::U8), Value::U8(0));
        assert_eq!(Value::I32(-1).cast(ValueType::U8), Value::U8(255));
        assert_eq!(Value::I64(i64::MIN).cast(ValueType::Bool), Value::Bool(true));
        assert_eq!(Value::F32(-0.0).cast(ValueType::Bool), Value::Bool(false));
    }
}
