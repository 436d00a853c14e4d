//! Numbers as written, and the Rust types that hold elements.

use super::ir::{Fill, Literal};
use crate::operators::Value;
use crate::tensor::{Element, ValueType};

/// A Rust type of elements.
pub trait Scalar: Element {
    /// As a number of its type.
    fn value(self) -> Value;
}

macro_rules! scalar {
    ($($rust:ty => $variant:ident),*) => { $(
        impl Scalar for $rust {
            fn value(self) -> Value {
                Value::$variant(self)
            }
        }
    )* };
}
scalar!(f64 => F64, f32 => F32, i64 => I64, i32 => I32, u8 => U8, bool => Bool);

/// What is written behind a number that has 64 bits beside integers of fewer: `1_i64`.
pub const SUFFIX: &str = "_i64";

impl Literal {
    /// The spelling without what says the type.
    pub fn digits(&self) -> &str {
        self.text.strip_suffix(SUFFIX).unwrap_or(&self.text)
    }

    /// Whether it is a number that fits 64 bits, also as a float.
    pub fn is_finite(&self) -> bool {
        self.digits().parse().is_ok_and(|v: f64| v.is_finite())
    }
}

/// The value of a literal; `None` if the type does not have it. Floats round once, from the text, and do
/// not overflow; other types must have the value exactly, so `2.0` and `1e3` are integers, `0.5` and (as
/// `i32`) `3000000000` are not. `bool` has 0 and 1, floats have `inf` and `nan`.
///
/// A literal has no sign: `-2` is the negation of `2`. The least value of an integer type is therefore no
/// negated literal, but `-9223372036854775807 - 1`.
pub fn number(literal: &Literal, ty: ValueType) -> Option<Value> {
    let text = literal.digits();
    let endless = matches!(text, "inf" | "nan");
    if let "true" | "false" = text {
        return (ty == ValueType::Bool).then_some(Value::Bool(text == "true"));
    }
    // From the text: rounding to `f64` first would round twice.
    Some(match ty {
        ValueType::F64 => Value::F64(text.parse().ok().filter(|v: &f64| v.is_finite() || endless)?),
        ValueType::F32 => Value::F32(text.parse().ok().filter(|v: &f32| v.is_finite() || endless)?),
        ValueType::I64 => Value::I64(whole(literal)?.try_into().ok()?),
        ValueType::I32 => Value::I32(whole(literal)?.try_into().ok()?),
        ValueType::U8 => Value::U8(whole(literal)?.try_into().ok()?),
        ValueType::Bool => match whole(literal)? {
            0 => Value::Bool(false),
            1 => Value::Bool(true),
            _ => return None,
        },
    })
}

impl Fill {
    /// Its value, if the type has it.
    pub fn value(&self, ty: ValueType) -> Option<Value> {
        let value = number(&self.literal, ty)?;
        Some(match value {
            other if !self.negative => other,
            Value::F64(x) => Value::F64(-x),
            Value::F32(x) => Value::F32(-x),
            Value::I64(x) => Value::I64(x.wrapping_neg()),
            Value::I32(x) => Value::I32(x.wrapping_neg()),
            other => other,
        })
    }
}

/// The exact value of a literal, if it is whole and fits: `12`, `2.0`, `1.5e3`.
fn whole(literal: &Literal) -> Option<u128> {
    let (mantissa, exponent) = match literal.digits().split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent),
        None => (literal.digits(), "0"),
    };
    let (units, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{units}{fraction}");
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    // Zeros at the end may make up for a negative exponent: `10e-1`.
    let significant = digits.trim_end_matches('0');
    let dropped = (digits.len() - significant.len()) as i128;
    let shift = exponent.parse::<i64>().ok()? as i128 - fraction.len() as i128 + dropped;
    let scale = 10_u128.checked_pow(u32::try_from(shift).ok()?)?;
    significant.parse::<u128>().ok()?.checked_mul(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> Literal {
        Literal { text: text.to_string(), span: 0..0 }
    }

    fn all(text: &str) -> (Option<i64>, Option<i32>, Option<bool>) {
        let literal = literal(text);
        let number = |ty| number(&literal, ty);
        (
            number(ValueType::I64).and_then(|v| if let Value::I64(x) = v { Some(x) } else { None }),
            number(ValueType::I32).and_then(|v| if let Value::I32(x) = v { Some(x) } else { None }),
            number(ValueType::Bool)
                .and_then(|v| if let Value::Bool(x) = v { Some(x) } else { None }),
        )
    }

    #[test]
    fn integers_take_whole_literals_exactly_however_they_are_spelt() {
        assert_eq!(all("0"), (Some(0), Some(0), Some(false)));
        assert_eq!(all("1.0"), (Some(1), Some(1), Some(true)));
        assert_eq!(all("10e-1"), (Some(1), Some(1), Some(true)));
        assert_eq!(all("1.5e3"), (Some(1500), Some(1500), None));
        assert_eq!(all("2147483647"), (Some(2_147_483_647), Some(i32::MAX), None));
        assert_eq!(all("2147483648"), (Some(2_147_483_648), None, None));
        assert_eq!(all("9007199254740993"), (Some(9_007_199_254_740_993), None, None));
        assert_eq!(all("9007199254740993.0"), (Some(9_007_199_254_740_993), None, None));
        assert_eq!(all("9223372036854775807"), (Some(i64::MAX), None, None));
        assert_eq!(all("1e18"), (Some(1_000_000_000_000_000_000), None, None));
        assert_eq!(all("0e99999999999999999999"), (Some(0), Some(0), Some(false)));
    }

    #[test]
    fn what_only_rounds_to_an_integer_is_none() {
        for text in [
            "0.5",
            "9223372036854775808",
            "1e30",
            "0.99999999999999999999999",
            "4503599627370496.25",
            "1e-400",
            "1e-99999999999999999999",
        ] {
            assert_eq!(all(text), (None, None, None), "{text}");
        }
    }

    #[test]
    fn floats_round_once_and_do_not_overflow() {
        // Halfway between two f32 but for the last digit, which an f64 has no room for.
        let near = literal("1.00000005960464477540");
        assert_eq!(number(&near, ValueType::F32), Some(Value::F32(1.000_000_1)));
        let exact = Some(Value::F64(9_007_199_254_740_992.0));
        assert_eq!(number(&literal("9007199254740993"), ValueType::F64), exact);
        assert_eq!(number(&literal("1e-400"), ValueType::F64), Some(Value::F64(0.0)));
        assert_eq!(number(&literal("1e39"), ValueType::F32), None);
        assert_eq!(number(&literal("inf"), ValueType::F32), Some(Value::F32(f32::INFINITY)));
        assert_eq!(number(&literal("inf"), ValueType::I32), None);
    }
}
