//! Element types of the interpreter.

use std::fmt::Debug;

use super::ir::Literal;
use crate::diagnostic::{Code, Diagnostic, Result};

/// An element type. Integers wrap; `bool` is the semiring (or, and).
///
/// Partial operations return `None`: those that the type lacks, and division of an integer by zero.
pub trait Scalar: Copy + PartialEq + Debug {
    /// The type's name, e.g. `f64`.
    const NAME: &'static str;
    /// Identity of `add`.
    const ZERO: Self;
    /// Identity of `mul`.
    const ONE: Self;
    /// Identity of `max`: the least value, `-inf` for floats.
    const LEAST: Self;
    /// Identity of `min`: the greatest value, `inf` for floats.
    const GREATEST: Self;

    /// The value of a literal; `None` if the type does not have it. Floats round once, from the
    /// text, and do not overflow; other types must have the value exactly, so `2.0` and `1e3` are
    /// integers, `0.5` and (as `i32`) `3000000000` are not. `bool` has 0 and 1.
    ///
    /// A literal has no sign: `-2` is the negation of `2`. The least value of an integer type is
    /// therefore no negated literal, but `-9223372036854775807 - 1`.
    fn literal(literal: &Literal) -> Option<Self>;
    /// The value of a loop's index, as of a literal: floats round, other types must have it.
    fn index(value: i64) -> Option<Self>;
    /// `None` if the type has no infinity.
    fn infinity() -> Option<Self>;
    /// Integers wrap, floats round; for booleans: or.
    #[must_use]
    fn add(self, other: Self) -> Self;
    /// Integers wrap, floats round; for booleans: and.
    #[must_use]
    fn mul(self, other: Self) -> Self;
    /// Of a number and a NaN, the number.
    #[must_use]
    fn min(self, other: Self) -> Self;
    /// Of a number and a NaN, the number.
    #[must_use]
    fn max(self, other: Self) -> Self;
    /// `None` if the type has no minus.
    fn neg(self) -> Option<Self>;
    /// `None` if the type has no differences.
    fn sub(self, other: Self) -> Option<Self>;
    /// `None` if the type does not divide, or not by `other`.
    fn div(self, other: Self) -> Option<Self>;
}

/// The value of a literal as an element of type `T`.
///
/// # Errors
/// [`Code::Program`] if the type does not have it.
pub fn literal_value<T: Scalar>(literal: &Literal) -> Result<T> {
    T::literal(literal).ok_or_else(|| {
        Diagnostic::new(Code::Program, format!("`{literal}` is not a value of {}", T::NAME))
            .at(literal.span.clone(), "cannot be represented")
            .help("write another number or compute with another type")
    })
}

/// That type `T` cannot do what is written at `place`.
pub fn lacking<T: Scalar>(what: &str, place: std::ops::Range<usize>) -> Box<Diagnostic> {
    Diagnostic::new(Code::Program, format!("type {} has no {what}", T::NAME))
        .at(place, "used here")
        .help("use a numeric type")
}

/// The exact value of a literal, if it is whole and fits: `12`, `2.0`, `1.5e3`.
pub fn whole(literal: &Literal) -> Option<u128> {
    let (mantissa, exponent) = match literal.text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent),
        None => (literal.text.as_str(), "0"),
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

macro_rules! float {
    ($type:ident) => {
        impl Scalar for $type {
            const NAME: &'static str = stringify!($type);
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const LEAST: Self = $type::NEG_INFINITY;
            const GREATEST: Self = $type::INFINITY;

            fn literal(literal: &Literal) -> Option<Self> {
                // From the text: rounding to `f64` first would round twice.
                literal.text.parse().ok().filter(|v: &$type| v.is_finite())
            }
            fn index(value: i64) -> Option<Self> {
                Some(value as $type)
            }
            fn infinity() -> Option<Self> {
                Some($type::INFINITY)
            }
            fn add(self, other: Self) -> Self {
                self + other
            }
            fn mul(self, other: Self) -> Self {
                self * other
            }
            fn min(self, other: Self) -> Self {
                $type::min(self, other)
            }
            fn max(self, other: Self) -> Self {
                $type::max(self, other)
            }
            fn neg(self) -> Option<Self> {
                Some(-self)
            }
            fn sub(self, other: Self) -> Option<Self> {
                Some(self - other)
            }
            fn div(self, other: Self) -> Option<Self> {
                Some(self / other)
            }
        }
    };
}

macro_rules! integer {
    ($type:ident) => {
        impl Scalar for $type {
            const NAME: &'static str = stringify!($type);
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const LEAST: Self = $type::MIN;
            const GREATEST: Self = $type::MAX;

            fn literal(literal: &Literal) -> Option<Self> {
                whole(literal)?.try_into().ok()
            }
            fn index(value: i64) -> Option<Self> {
                value.try_into().ok()
            }
            fn infinity() -> Option<Self> {
                None
            }
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn min(self, other: Self) -> Self {
                Ord::min(self, other)
            }
            fn max(self, other: Self) -> Self {
                Ord::max(self, other)
            }
            fn neg(self) -> Option<Self> {
                Some(self.wrapping_neg())
            }
            fn sub(self, other: Self) -> Option<Self> {
                Some(self.wrapping_sub(other))
            }
            fn div(self, other: Self) -> Option<Self> {
                (other != 0).then(|| self.wrapping_div(other))
            }
        }
    };
}

float!(f64);
float!(f32);
integer!(i64);
integer!(i32);
integer!(u8);

impl Scalar for bool {
    const NAME: &'static str = "bool";
    const ZERO: Self = false;
    const ONE: Self = true;
    const LEAST: Self = false;
    const GREATEST: Self = true;

    fn literal(literal: &Literal) -> Option<Self> {
        match whole(literal)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
    fn index(value: i64) -> Option<Self> {
        match value {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
    fn infinity() -> Option<Self> {
        None
    }
    fn add(self, other: Self) -> Self {
        self | other
    }
    fn mul(self, other: Self) -> Self {
        self & other
    }
    fn min(self, other: Self) -> Self {
        self & other
    }
    fn max(self, other: Self) -> Self {
        self | other
    }
    fn neg(self) -> Option<Self> {
        None
    }
    fn sub(self, _: Self) -> Option<Self> {
        None
    }
    fn div(self, _: Self) -> Option<Self> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> Literal {
        Literal { value: text.parse().expect("a number"), text: text.to_string(), span: 0..0 }
    }

    fn all(text: &str) -> (Option<i64>, Option<i32>, Option<bool>) {
        let literal = literal(text);
        (i64::literal(&literal), i32::literal(&literal), bool::literal(&literal))
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
        assert_eq!(f32::literal(&near), Some(1.000_000_1));
        assert_eq!(f64::literal(&literal("9007199254740993")), Some(9_007_199_254_740_992.0));
        assert_eq!(f64::literal(&literal("1e-400")), Some(0.0));
        assert_eq!(f32::literal(&literal("1e39")), None);
    }
}
