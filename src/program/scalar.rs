//! Element types of the interpreter.

use std::fmt::Debug;

use super::ir::Literal;

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

    /// The value of a literal; `None` if the type does not have it. Floats round, other types must
    /// have the value exactly.
    fn literal(literal: &Literal) -> Option<Self>;
    #[must_use]
    fn add(self, other: Self) -> Self;
    #[must_use]
    fn mul(self, other: Self) -> Self;
    /// Of a number and a NaN, the number.
    #[must_use]
    fn min(self, other: Self) -> Self;
    /// Of a number and a NaN, the number.
    #[must_use]
    fn max(self, other: Self) -> Self;
    fn neg(self) -> Option<Self>;
    fn sub(self, other: Self) -> Option<Self>;
    fn div(self, other: Self) -> Option<Self>;
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
                literal.text.parse().ok().or_else(|| {
                    // `2.0` and `1e3` are whole too, but exact only below 2^53.
                    let whole = literal.value.fract() == 0.0 && literal.value < 9.0e15;
                    let digits = literal.text.bytes().all(|b| b.is_ascii_digit());
                    (whole && !digits).then_some(literal.value as i64)?.try_into().ok()
                })
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

impl Scalar for bool {
    const NAME: &'static str = "bool";
    const ZERO: Self = false;
    const ONE: Self = true;
    const LEAST: Self = false;
    const GREATEST: Self = true;

    fn literal(literal: &Literal) -> Option<Self> {
        match literal.value {
            0.0 => Some(false),
            1.0 => Some(true),
            _ => None,
        }
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
