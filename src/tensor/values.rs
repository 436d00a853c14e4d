//! The values of a tensor: one typed vector, the type known at run time.
//!
//! In: numbers read from files or computed by kernels. Out: [`Values`], which generated kernels see
//! as a pointer to `len` elements ([`Values::raw`]).

use std::fmt;
use std::str::FromStr;

use rayon::prelude::*;

use crate::diagnostic::{Code, Diagnostic, Result};

/// The element types that kernels compute with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// `f64`
    F64,
    /// `f32`
    F32,
    /// `i64`
    I64,
    /// `i32`
    I32,
    /// `u8`
    U8,
    /// `bool`: sums are *or*, products *and*.
    Bool,
}

impl ValueType {
    /// All types, in the order in which messages list them.
    pub const ALL: [ValueType; 6] = [
        ValueType::F64,
        ValueType::F32,
        ValueType::I64,
        ValueType::I32,
        ValueType::U8,
        ValueType::Bool,
    ];

    /// Whether it has fractions, infinities and NaN.
    pub fn is_float(self) -> bool {
        matches!(self, ValueType::F64 | ValueType::F32)
    }

    /// The spelling of options and files, e.g. `f64`.
    pub fn as_str(self) -> &'static str {
        match self {
            ValueType::F64 => "f64",
            ValueType::F32 => "f32",
            ValueType::I64 => "i64",
            ValueType::I32 => "i32",
            ValueType::U8 => "u8",
            ValueType::Bool => "bool",
        }
    }

    /// The type's name in generated Rust (which is how the options spell it, too).
    pub fn rust_name(self) -> &'static str {
        self.as_str()
    }

    /// Size of one element in bytes.
    pub fn size_bytes(self) -> usize {
        match self {
            ValueType::F64 | ValueType::I64 => 8,
            ValueType::F32 | ValueType::I32 => 4,
            ValueType::U8 | ValueType::Bool => 1,
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ValueType {
    type Err = Box<Diagnostic>;

    fn from_str(text: &str) -> Result<Self> {
        ValueType::ALL.into_iter().find(|t| t.as_str() == text).ok_or_else(|| {
            Diagnostic::new(Code::Usage, format!("`{text}` is not a value type"))
                .help("the value types are f64, f32, i64, i32, u8 and bool")
        })
    }
}

/// Values of one type. Which entry each belongs to is said elsewhere, by position.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Of type `f64`.
    F64(Vec<f64>),
    /// Of type `f32`.
    F32(Vec<f32>),
    /// Of type `i64`.
    I64(Vec<i64>),
    /// Of type `i32`.
    I32(Vec<i32>),
    /// Of type `u8`.
    U8(Vec<u8>),
    /// Of type `bool`.
    Bool(Vec<bool>),
}

/// Evaluates `$body` with `$v` bound to the typed vector inside `$values`.
macro_rules! with_values {
    ($values:expr, $v:ident => $body:expr) => {
        match $values {
            $crate::tensor::Values::F64($v) => $body,
            $crate::tensor::Values::F32($v) => $body,
            $crate::tensor::Values::I64($v) => $body,
            $crate::tensor::Values::I32($v) => $body,
            $crate::tensor::Values::U8($v) => $body,
            $crate::tensor::Values::Bool($v) => $body,
        }
    };
}
pub(crate) use with_values;

/// A Rust type that is a [`ValueType`].
pub trait Element: Copy + Default + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// The type, as a value.
    const TYPE: ValueType;
    /// The typed vector as [`Values`].
    fn wrap(values: Vec<Self>) -> Values;
    /// The elements, when `values` has this type.
    fn slice(values: &Values) -> Option<&[Self]>;
    /// The elements, when `values` has this type.
    fn slice_mut(values: &mut Values) -> Option<&mut [Self]>;
}

macro_rules! element {
    ($($rust:ty => $variant:ident),*) => { $(
        impl Element for $rust {
            const TYPE: ValueType = ValueType::$variant;
            fn wrap(values: Vec<Self>) -> Values {
                Values::$variant(values)
            }
            fn slice(values: &Values) -> Option<&[Self]> {
                match values {
                    Values::$variant(v) => Some(v),
                    _ => None,
                }
            }
            fn slice_mut(values: &mut Values) -> Option<&mut [Self]> {
                match values {
                    Values::$variant(v) => Some(v),
                    _ => None,
                }
            }
        }
        impl From<Vec<$rust>> for Values {
            fn from(values: Vec<$rust>) -> Values {
                Values::$variant(values)
            }
        }
    )* };
}
element!(f64 => F64, f32 => F32, i64 => I64, i32 => I32, u8 => U8, bool => Bool);

/// A number that counts elements: permutations are held as `usize` or, to halve them, `u32`.
pub trait Position: Copy + Send + Sync {
    /// The number as a position; it is not negative.
    fn position(self) -> usize;
}

impl Position for usize {
    fn position(self) -> usize {
        self
    }
}

impl Position for u32 {
    fn position(self) -> usize {
        self as usize
    }
}

/// Fewer elements are gathered by one thread.
const GATHERED_ALONE: usize = 1 << 16;

fn is_zero<T: Element>(value: T) -> bool {
    value == T::default()
}

impl Values {
    /// No values, of the given type.
    pub fn empty(value_type: ValueType) -> Values {
        Values::zeros(value_type, 0)
    }

    /// `n` zeros (`false` for `Bool`).
    pub fn zeros(value_type: ValueType, n: usize) -> Values {
        match value_type {
            ValueType::F64 => Values::F64(vec![0.0; n]),
            ValueType::F32 => Values::F32(vec![0.0; n]),
            ValueType::I64 => Values::I64(vec![0; n]),
            ValueType::I32 => Values::I32(vec![0; n]),
            ValueType::U8 => Values::U8(vec![0; n]),
            ValueType::Bool => Values::Bool(vec![false; n]),
        }
    }

    /// Like [`Values::zeros`], but a size that no allocator grants is `None` instead of an abort.
    pub fn try_zeros(value_type: ValueType, n: usize) -> Option<Values> {
        // The trial allocation is given back, so that `zeros` can take lazily zeroed pages.
        let mut trial: Vec<u8> = Vec::new();
        trial.try_reserve_exact(n.checked_mul(value_type.size_bytes())?).ok()?;
        drop(trial);
        Some(Values::zeros(value_type, n))
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        with_values!(self, v => v.len())
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type of the values.
    pub fn value_type(&self) -> ValueType {
        match self {
            Values::F64(_) => ValueType::F64,
            Values::F32(_) => ValueType::F32,
            Values::I64(_) => ValueType::I64,
            Values::I32(_) => ValueType::I32,
            Values::U8(_) => ValueType::U8,
            Values::Bool(_) => ValueType::Bool,
        }
    }

    /// Element `k` as `f64` (rounded beyond 2⁵³; `true` is 1). Panics if `k >= len`.
    pub fn get_f64(&self, k: usize) -> f64 {
        match self {
            Values::F64(v) => v[k],
            Values::F32(v) => f64::from(v[k]),
            Values::I64(v) => v[k] as f64,
            Values::I32(v) => f64::from(v[k]),
            Values::U8(v) => f64::from(v[k]),
            Values::Bool(v) => f64::from(u8::from(v[k])),
        }
    }

    /// Whether element `k` is zero (`false`, `-0.0`; NaN is not). Panics if `k >= len`.
    pub fn is_zero(&self, k: usize) -> bool {
        with_values!(self, v => is_zero(v[k]))
    }

    /// Whether elements `a` and `b` are equal (`-0.0` equals `0.0`, NaN nothing). Panics if one is
    /// out of range.
    pub fn equal(&self, a: usize, b: usize) -> bool {
        with_values!(self, v => v[a] == v[b])
    }

    /// The elements, when they have the type `T`.
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        T::slice(self)
    }

    /// The elements, when they have the type `T`.
    pub fn as_mut_slice<T: Element>(&mut self) -> Option<&mut [T]> {
        T::slice_mut(self)
    }

    /// The elements `order[0]`, `order[1]`, …; panics if one is out of range.
    pub fn gather<P: Position>(&self, order: &[P]) -> Values {
        let gathered = |k: &P| k.position();
        with_values!(self, v => match order.len() < GATHERED_ALONE {
            true => order.iter().map(|k| v[gathered(k)]).collect::<Vec<_>>().into(),
            // Each element is somewhere else in memory: all cores wait for it at once.
            false => order.par_iter().map(|k| v[gathered(k)]).collect::<Vec<_>>().into(),
        })
    }

    /// Makes room for `more` elements if memory allows; never fails (pushing grows anyway).
    pub fn reserve(&mut self, more: usize) {
        let _ = with_values!(self, v => v.try_reserve(more));
    }

    /// Appends element `k` of `other`. Panics if the types differ or `k >= other.len()`.
    pub fn push_from(&mut self, other: &Values, k: usize) {
        self.extend_from(other, std::iter::once(k));
    }

    /// Appends elements of `other`. Panics if the types differ, or there is no such element.
    pub fn extend_from(&mut self, other: &Values, elements: impl Iterator<Item = usize>) {
        match (self, other) {
            (Values::F64(v), Values::F64(o)) => v.extend(elements.map(|k| o[k])),
            (Values::F32(v), Values::F32(o)) => v.extend(elements.map(|k| o[k])),
            (Values::I64(v), Values::I64(o)) => v.extend(elements.map(|k| o[k])),
            (Values::I32(v), Values::I32(o)) => v.extend(elements.map(|k| o[k])),
            (Values::U8(v), Values::U8(o)) => v.extend(elements.map(|k| o[k])),
            (Values::Bool(v), Values::Bool(o)) => v.extend(elements.map(|k| o[k])),
            (v, o) => unreachable!("a {} pushed to values of {}", o.value_type(), v.value_type()),
        }
    }

    /// Removes all values, but keeps their memory.
    pub(crate) fn clear(&mut self) {
        with_values!(self, v => v.clear());
    }

    /// Appends all of `other`. Panics if the types differ.
    pub(crate) fn append(&mut self, other: &Values) {
        match (self, other) {
            (Values::F64(v), Values::F64(o)) => v.extend_from_slice(o),
            (Values::F32(v), Values::F32(o)) => v.extend_from_slice(o),
            (Values::I64(v), Values::I64(o)) => v.extend_from_slice(o),
            (Values::I32(v), Values::I32(o)) => v.extend_from_slice(o),
            (Values::U8(v), Values::U8(o)) => v.extend_from_slice(o),
            (Values::Bool(v), Values::Bool(o)) => v.extend_from_slice(o),
            (v, o) => unreachable!("a {} pushed to values of {}", o.value_type(), v.value_type()),
        }
    }

    /// Sets element `at` to element `k` of `other`. Panics if the types differ or out of range.
    pub fn set_from(&mut self, at: usize, other: &Values, k: usize) {
        match (self, other) {
            (Values::F64(v), Values::F64(o)) => v[at] = o[k],
            (Values::F32(v), Values::F32(o)) => v[at] = o[k],
            (Values::I64(v), Values::I64(o)) => v[at] = o[k],
            (Values::I32(v), Values::I32(o)) => v[at] = o[k],
            (Values::U8(v), Values::U8(o)) => v[at] = o[k],
            (Values::Bool(v), Values::Bool(o)) => v[at] = o[k],
            (v, o) => unreachable!("a {} put into values of {}", o.value_type(), v.value_type()),
        }
    }

    /// Adds element `k` of `other` to element `at`: duplicates of one coordinate are summed
    /// (`Bool`: or). Panics if the types differ or out of range.
    ///
    /// # Errors
    /// [`Code::Data`] if an integer sum overflows.
    pub fn add_from(&mut self, at: usize, other: &Values, k: usize) -> Result<()> {
        let fits = match (&mut *self, other) {
            (Values::F64(v), Values::F64(o)) => {
                v[at] += o[k];
                true
            }
            (Values::F32(v), Values::F32(o)) => {
                v[at] += o[k];
                true
            }
            (Values::I64(v), Values::I64(o)) => {
                v[at].checked_add(o[k]).map(|sum| v[at] = sum).is_some()
            }
            (Values::I32(v), Values::I32(o)) => {
                v[at].checked_add(o[k]).map(|sum| v[at] = sum).is_some()
            }
            (Values::U8(v), Values::U8(o)) => {
                v[at].checked_add(o[k]).map(|sum| v[at] = sum).is_some()
            }
            (Values::Bool(v), Values::Bool(o)) => {
                v[at] |= o[k];
                true
            }
            (v, o) => unreachable!("a {} added to values of {}", o.value_type(), v.value_type()),
        };
        if fits {
            return Ok(());
        }
        Err(Diagnostic::new(
            Code::Data,
            format!("the sum of duplicate entries does not fit in {}", self.value_type()),
        )
        .help("use a wider value type"))
    }

    /// Negates element `k` (`Bool`: leaves it); false if the result overflows. Panics if
    /// `k >= len`.
    pub(crate) fn negate(&mut self, k: usize) -> bool {
        match self {
            Values::F64(v) => v[k] = -v[k],
            Values::F32(v) => v[k] = -v[k],
            Values::I64(v) => return v[k].checked_neg().map(|x| v[k] = x).is_some(),
            Values::I32(v) => return v[k].checked_neg().map(|x| v[k] = x).is_some(),
            Values::U8(v) => return v[k].checked_neg().map(|x| v[k] = x).is_some(),
            Values::Bool(_) => {}
        }
        true
    }

    /// Appends the last element again. Panics if empty.
    pub(crate) fn push_last_again(&mut self) {
        with_values!(self, v => v.push(v[v.len() - 1]));
    }

    /// The values in another type. Floats become the nearest `f32`, anything non-zero `true`.
    ///
    /// # Errors
    /// [`Code::Data`] if a float is not an integer, a finite number is out of the type's range, or an integer is not
    /// among the floats of the type.
    pub fn convert(&self, to: ValueType) -> Result<Values> {
        if self.value_type() == to {
            return Ok(self.clone());
        }
        let n = self.len();
        Ok(match to {
            ValueType::F64 => {
                Values::F64((0..n).map(|k| self.float(k, to)).collect::<Result<_>>()?)
            }
            ValueType::F32 => {
                let narrow = |k| Ok(self.float(k, to)? as f32);
                Values::F32((0..n).map(narrow).collect::<Result<_>>()?)
            }
            ValueType::I64 => {
                Values::I64((0..n).map(|k| self.integer(k, to)).collect::<Result<_>>()?)
            }
            ValueType::I32 => {
                let narrow = |k| {
                    let wide = self.integer(k, to)?;
                    i32::try_from(wide).map_err(|_| no_conversion(k, wide, "out of range", to))
                };
                Values::I32((0..n).map(narrow).collect::<Result<_>>()?)
            }
            ValueType::U8 => {
                let narrow = |k| {
                    let wide = self.integer(k, to)?;
                    u8::try_from(wide).map_err(|_| no_conversion(k, wide, "out of range", to))
                };
                Values::U8((0..n).map(narrow).collect::<Result<_>>()?)
            }
            ValueType::Bool => Values::Bool((0..n).map(|k| !self.is_zero(k)).collect()),
        })
    }

    /// [`Values::convert`] that moves when there is nothing to do.
    ///
    /// # Errors
    /// Those of [`Values::convert`].
    pub fn into_type(self, to: ValueType) -> Result<Values> {
        if self.value_type() == to { Ok(self) } else { self.convert(to) }
    }

    /// Element `k` as the nearest float of a type, which is an integer itself if that is one.
    fn float(&self, k: usize, to: ValueType) -> Result<f64> {
        let narrow = to == ValueType::F32;
        let integer = match self {
            Values::I64(v) => v[k],
            Values::I32(v) => i64::from(v[k]),
            _ => {
                let float = self.get_f64(k);
                return match narrow && float.is_finite() && (float as f32).is_infinite() {
                    true => Err(no_conversion(k, float, "out of range", to)),
                    false => Ok(float),
                };
            }
        };
        // Straight from the integer: two roundings could differ from one.
        let float = if narrow { f64::from(integer as f32) } else { integer as f64 };
        match exact_integer(float) == Some(integer) {
            true => Ok(float),
            false => Err(no_conversion(k, integer, "no such float has this value", to)),
        }
    }

    fn integer(&self, k: usize, to: ValueType) -> Result<i64> {
        match self {
            Values::I64(v) => Ok(v[k]),
            Values::I32(v) => Ok(i64::from(v[k])),
            Values::U8(v) => Ok(i64::from(v[k])),
            Values::Bool(v) => Ok(i64::from(v[k])),
            Values::F64(_) | Values::F32(_) => {
                let x = self.get_f64(k);
                exact_integer(x).ok_or_else(|| {
                    let why = if x.fract() == 0.0 { "out of range" } else { NOT_WHOLE };
                    no_conversion(k, x, why, to)
                })
            }
        }
    }

    /// Pointer to the first element and the number of **elements** (not bytes), as kernels take
    /// them. Valid until the values are changed, moved or dropped.
    pub fn raw(&self) -> (*const u8, usize) {
        with_values!(self, v => (v.as_ptr().cast(), v.len()))
    }

    /// Like [`Values::raw`], to write through; a `Bool` element may only be set to 0 or 1.
    pub fn raw_mut(&mut self) -> (*mut u8, usize) {
        with_values!(self, v => (v.as_mut_ptr().cast(), v.len()))
    }
}

/// `x` as `i64` if it is an integer in range.
pub(crate) fn exact_integer(x: f64) -> Option<i64> {
    // -2⁶³ and 2⁶³ are floats; every integral float between converts exactly.
    let in_range = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&x);
    (in_range && x.fract() == 0.0).then_some(x as i64)
}

/// Why a float is no integer of any type.
const NOT_WHOLE: &str = "not an integer";

fn no_conversion(k: usize, value: impl fmt::Debug, why: &str, to: ValueType) -> Box<Diagnostic> {
    Diagnostic::new(
        Code::Data,
        format!("value {value:?} (number {}) does not convert to {to}: {why}", k + 1),
    )
    .help(match to {
        _ if why == NOT_WHOLE => "use f64 values",
        ValueType::U8 => "use i32, i64 or f64 values",
        ValueType::I32 => "use i64 or f64 values",
        ValueType::F32 => "use f64 or i64 values",
        ValueType::F64 => "use i64 values",
        _ => "use f64 values",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_name_reads_back() {
        for t in ValueType::ALL {
            assert_eq!(t.as_str().parse::<ValueType>().unwrap(), t);
            assert_eq!(Values::zeros(t, 3).value_type(), t);
            assert_eq!(Values::zeros(t, 3).len(), 3);
        }
        let error = "f16".parse::<ValueType>().unwrap_err();
        assert_eq!(error.code, Code::Usage);
        assert!(error.help.as_ref().unwrap().contains("f64"), "{error}");
    }

    #[test]
    fn conversions_that_lose_a_fraction_a_digit_or_overflow_are_refused() {
        let refused = |values: Values, to, fragment: &str| {
            let error = values.convert(to).unwrap_err();
            assert_eq!(error.code, Code::Data);
            assert!(error.message.contains(fragment), "{error}");
        };
        refused(Values::F64(vec![1.0, 2.5]), ValueType::I64, "2.5 (number 2)");
        refused(Values::F64(vec![1e19]), ValueType::I64, "out of range");
        refused(Values::F64(vec![f64::NAN]), ValueType::I32, "not an integer");
        refused(Values::F64(vec![f64::INFINITY]), ValueType::I32, "does not convert");
        refused(Values::I64(vec![1 << 31]), ValueType::I32, "out of range");
        refused(Values::F32(vec![3e9]), ValueType::I32, "out of range");
        refused(Values::I32(vec![-1]), ValueType::U8, "-1 (number 1)");
        refused(Values::I64(vec![255, 256]), ValueType::U8, "out of range");
        refused(Values::I64(vec![1 << 53, (1 << 53) + 1]), ValueType::F64, "993 (number 2)");
        refused(Values::I64(vec![i64::MAX]), ValueType::F32, "no such float");
        refused(Values::F64(vec![f64::INFINITY, 1e300]), ValueType::F32, "1e300 (number 2)");
        refused(Values::I32(vec![1 << 24, (1 << 24) + 1]), ValueType::F32, "17 (number 2)");
        let least = Values::I64(vec![i64::MIN]).convert(ValueType::F32).unwrap();
        assert_eq!(least, Values::F32(vec![i64::MIN as f32]));
    }

    #[test]
    fn conversions_between_all_types_keep_zero_and_one() {
        for from in ValueType::ALL {
            let ones = Values::Bool(vec![false, true]).convert(from).unwrap();
            for to in ValueType::ALL {
                let converted = ones.convert(to).unwrap();
                assert_eq!(converted.value_type(), to);
                assert_eq!((converted.get_f64(0), converted.get_f64(1)), (0.0, 1.0));
                assert!(converted.is_zero(0) && !converted.is_zero(1));
            }
        }
    }

    #[test]
    fn a_gather_follows_either_kind_of_permutation() {
        let v = Values::I32(vec![10, 20, 30]);
        assert_eq!(v.gather(&[2u32, 0]), Values::I32(vec![30, 10]));
        assert_eq!(v.gather(&[1usize, 1]), Values::I32(vec![20, 20]));
    }

    #[test]
    fn integer_sums_that_overflow_are_reported() {
        let mut v = Values::I32(vec![i32::MAX]);
        let error = v.add_from(0, &Values::I32(vec![1]), 0).unwrap_err();
        assert_eq!(error.code, Code::Data);
        let mut v = Values::Bool(vec![false]);
        v.add_from(0, &Values::Bool(vec![true]), 0).unwrap();
        assert_eq!(v, Values::Bool(vec![true]));
    }

    #[test]
    fn the_raw_view_counts_elements() {
        let mut v = Values::F32(vec![1.0, 2.0]);
        let (pointer, n) = v.raw_mut();
        // SAFETY: the pointer is valid for n elements of f32.
        unsafe { std::slice::from_raw_parts_mut(pointer.cast::<f32>(), n)[1] = 5.0 };
        assert_eq!(v, Values::F32(vec![1.0, 5.0]));
        assert_eq!(v.raw().1, 2);
    }

    #[test]
    fn impossible_sizes_are_none_not_an_abort() {
        assert!(Values::try_zeros(ValueType::F64, usize::MAX / 4).is_none());
        assert_eq!(Values::try_zeros(ValueType::I32, 2), Some(Values::I32(vec![0, 0])));
    }
}
