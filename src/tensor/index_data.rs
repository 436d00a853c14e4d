//! Index arrays: coordinates and positions, in the integer type that a kernel is compiled for.
//!
//! In: coordinates from files, positions from packing. Out: [`IndexData`], which generated kernels
//! see as a pointer to `len` elements ([`IndexData::raw`]).

use std::fmt;
use std::str::FromStr;

use rayon::prelude::*;

use super::values::Position;
use crate::diagnostic::{Code, Diagnostic, Result};

/// The integer types of index arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexType {
    /// 32 bits, without a sign.
    U32,
    /// 64 bits, without a sign.
    U64,
    /// 32 bits, with a sign.
    I32,
    /// 64 bits, with a sign.
    I64,
}

impl IndexType {
    /// All types, in the order in which messages list them.
    pub const ALL: [IndexType; 4] =
        [IndexType::U32, IndexType::U64, IndexType::I32, IndexType::I64];

    /// The spelling of options, e.g. `u32`.
    pub fn as_str(self) -> &'static str {
        match self {
            IndexType::U32 => "u32",
            IndexType::U64 => "u64",
            IndexType::I32 => "i32",
            IndexType::I64 => "i64",
        }
    }

    /// The type's name in generated Rust (which is how the options spell it, too).
    pub fn rust_name(self) -> &'static str {
        self.as_str()
    }

    /// Size of one element in bytes.
    pub fn size_bytes(self) -> usize {
        match self {
            IndexType::U32 | IndexType::I32 => 4,
            IndexType::U64 | IndexType::I64 => 8,
        }
    }

    /// The type that holds every coordinate of a tensor of these extents: `U32` if all extents are
    /// at most 2³², else `U64`.
    pub fn for_extents(dims: &[usize]) -> IndexType {
        if dims.iter().all(|&n| n as u64 <= 1 << 32) { IndexType::U32 } else { IndexType::U64 }
    }

    /// Largest number the type (and `i64`, in which indices are computed) holds.
    pub fn max(self) -> i64 {
        match self {
            IndexType::U32 => i64::from(u32::MAX),
            IndexType::I32 => i64::from(i32::MAX),
            IndexType::U64 | IndexType::I64 => i64::MAX,
        }
    }
}

impl fmt::Display for IndexType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for IndexType {
    type Err = Box<Diagnostic>;

    fn from_str(text: &str) -> Result<Self> {
        IndexType::ALL.into_iter().find(|t| t.as_str() == text).ok_or_else(|| {
            Diagnostic::new(Code::Usage, format!("`{text}` is not an index type"))
                .help("the index types are u32, u64, i32 and i64")
        })
    }
}

/// An index array. `U64` elements are at most `i64::MAX`: indices are computed in `i64`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexData {
    /// 32 bits, without a sign.
    U32(Vec<u32>),
    /// 64 bits, without a sign.
    U64(Vec<u64>),
    /// 32 bits, with a sign.
    I32(Vec<i32>),
    /// 64 bits, with a sign.
    I64(Vec<i64>),
}

/// Evaluates `$body` with `$v` bound to the typed vector inside `$data`.
macro_rules! with_index {
    ($data:expr, $v:ident => $body:expr) => {
        match $data {
            IndexData::U32($v) => $body,
            IndexData::U64($v) => $body,
            IndexData::I32($v) => $body,
            IndexData::I64($v) => $body,
        }
    };
}
pub(super) use with_index;

macro_rules! index_data_from {
    ($($rust:ty => $variant:ident),*) => { $(
        impl From<Vec<$rust>> for IndexData {
            fn from(values: Vec<$rust>) -> IndexData {
                IndexData::$variant(values)
            }
        }
    )* };
}
index_data_from!(u32 => U32, u64 => U64, i32 => I32, i64 => I64);

impl IndexData {
    /// No elements, of the given type.
    pub fn empty(index_type: IndexType) -> IndexData {
        IndexData::zeros(index_type, 0)
    }

    /// `n` zeros.
    pub fn zeros(index_type: IndexType, n: usize) -> IndexData {
        match index_type {
            IndexType::U32 => IndexData::U32(vec![0; n]),
            IndexType::U64 => IndexData::U64(vec![0; n]),
            IndexType::I32 => IndexData::I32(vec![0; n]),
            IndexType::I64 => IndexData::I64(vec![0; n]),
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        with_index!(self, v => v.len())
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type of the elements.
    pub fn index_type(&self) -> IndexType {
        match self {
            IndexData::U32(_) => IndexType::U32,
            IndexData::U64(_) => IndexType::U64,
            IndexData::I32(_) => IndexType::I32,
            IndexData::I64(_) => IndexType::I64,
        }
    }

    /// Element `k`. Panics if `k >= len`.
    pub fn get(&self, k: usize) -> i64 {
        match self {
            IndexData::U32(v) => i64::from(v[k]),
            IndexData::U64(v) => v[k] as i64,
            IndexData::I32(v) => i64::from(v[k]),
            IndexData::I64(v) => v[k],
        }
    }

    /// All elements in order.
    pub fn iter_i64(&self) -> impl ExactSizeIterator<Item = i64> + '_ {
        (0..self.len()).map(|k| self.get(k))
    }

    /// How many elements differ from the one before.
    pub(crate) fn changes(&self) -> usize {
        with_index!(self, v => {
            v.par_windows(2).with_min_len(1 << 16).filter(|pair| pair[0] != pair[1]).count()
        })
    }

    /// The share of consecutive differences that are not as large as the one before, of a sample.
    pub(crate) fn unevenness(&self) -> f64 {
        with_index!(self, v => {
            let (mut pairs, mut uneven) = (0.0, 0.0);
            for three in v.windows(3).step_by(v.len() / 1024 + 1) {
                // Also where numbers fall, in two's complement.
                let [first, second] = [three[1].wrapping_sub(three[0]), three[2].wrapping_sub(three[1])];
                pairs += 1.0;
                uneven += f64::from(first != second);
            }
            if pairs > 0.0 { uneven / pairs } else { 0.0 }
        })
    }

    /// The mean of a sample of the numbers.
    pub(crate) fn mean(&self) -> f64 {
        with_index!(self, v => {
            let (mut count, mut sum) = (0.0, 0.0);
            for n in v.iter().step_by(v.len() / 1024 + 1) {
                count += 1.0;
                sum += *n as f64;
            }
            if count > 0.0 { sum / count } else { 0.0 }
        })
    }

    /// The share of a sample of the numbers that are not negative; where all are 0 or 1, of those that are 1.
    pub(crate) fn filled(&self) -> f64 {
        let sample = || (0..self.len()).step_by(self.len() / 1024 + 1).map(|k| self.get(k));
        let least = if sample().all(|n| n == 0 || n == 1) { 1 } else { 0 };
        let filled = sample().filter(|n| *n >= least).count();
        if self.is_empty() { 1.0 } else { filled as f64 / sample().count() as f64 }
    }

    /// The length of a segment where a few are long: with `share`, the mean of `n / (n + 1)` over a sample of the
    /// differences of consecutive numbers, `share / (1 - share)`.
    pub(crate) fn typical_step(&self) -> f64 {
        with_index!(self, v => {
            let (mut pairs, mut rest) = (0.0, 0.0);
            for pair in v.windows(2).step_by(v.len() / 1024 + 1) {
                let step = pair[1] as f64 - pair[0] as f64;
                pairs += 1.0;
                rest += 1.0 / (step.max(0.0) + 1.0);
            }
            if pairs > 0.0 { pairs / rest - 1.0 } else { 0.0 }
        })
    }

    /// The numbers in the given type.
    ///
    /// # Errors
    /// [`Code::Data`] if one is out of the type's range.
    pub fn from_i64(index_type: IndexType, numbers: Vec<i64>) -> Result<IndexData> {
        match index_type {
            IndexType::I64 => Ok(IndexData::I64(numbers)),
            _ => IndexData::collect(index_type, numbers),
        }
    }

    /// The numbers in the given type.
    ///
    /// # Errors
    /// [`Code::Data`] if one is out of the type's range.
    pub fn collect(
        index_type: IndexType,
        numbers: impl IntoIterator<Item = i64>,
    ) -> Result<IndexData> {
        fn all<T: TryFrom<i64>>(
            index_type: IndexType,
            numbers: impl IntoIterator<Item = i64>,
        ) -> Result<Vec<T>> {
            numbers
                .into_iter()
                .map(|x| {
                    T::try_from(x).map_err(|_| {
                        Diagnostic::new(
                            Code::Data,
                            format!("index {x} does not fit in the index type {index_type}"),
                        )
                        .help("use a wider index type, e.g. u64")
                    })
                })
                .collect()
        }
        Ok(match index_type {
            IndexType::U32 => IndexData::U32(all(index_type, numbers)?),
            IndexType::U64 => IndexData::U64(all(index_type, numbers)?),
            IndexType::I32 => IndexData::I32(all(index_type, numbers)?),
            IndexType::I64 => IndexData::I64(numbers.into_iter().collect()),
        })
    }

    /// The same numbers in another type.
    ///
    /// # Errors
    /// [`Code::Data`] if one is out of the type's range.
    pub fn convert(&self, to: IndexType) -> Result<IndexData> {
        if self.index_type() == to {
            return Ok(self.clone());
        }
        IndexData::collect(to, self.iter_i64())
    }

    /// The elements `order[0]`, `order[1]`, …; panics if one is out of range.
    pub fn gather<P: Position>(&self, order: &[P]) -> IndexData {
        with_index!(self, v => order.iter().map(|&k| v[k.position()]).collect::<Vec<_>>().into())
    }

    /// Makes room for `more` elements if memory allows; never fails (pushing grows anyway).
    pub fn reserve(&mut self, more: usize) {
        let _ = with_index!(self, v => v.try_reserve(more));
    }

    /// Appends a coordinate (at most `i64::MAX`), widening the whole array to `U64` if needed.
    #[inline]
    pub(crate) fn push_coordinate(&mut self, coordinate: u64) {
        if let IndexData::U32(v) = self
            && let Ok(narrow) = u32::try_from(coordinate)
        {
            v.push(narrow);
        } else {
            self.widen();
            if let IndexData::U64(v) = self {
                v.push(coordinate);
            }
        }
    }

    /// Removes all elements, but keeps their memory.
    pub(crate) fn clear(&mut self) {
        with_index!(self, v => v.clear());
    }

    /// Appends all of `other`, widening to `U64` if the types differ.
    pub(crate) fn append(&mut self, other: &IndexData) {
        match (&mut *self, other) {
            (IndexData::U32(v), IndexData::U32(o)) => v.extend_from_slice(o),
            (IndexData::U64(v), IndexData::U64(o)) => v.extend_from_slice(o),
            (_, other) => {
                self.widen();
                if let IndexData::U64(v) = self {
                    v.extend(other.iter_i64().map(|x| x as u64));
                }
            }
        }
    }

    /// Makes a `U32` (or any) array `U64`.
    pub(crate) fn widen(&mut self) {
        if !matches!(self, IndexData::U64(_)) {
            *self = IndexData::U64(self.iter_i64().map(|x| x as u64).collect());
        }
    }

    /// Pointer to the first element and the number of **elements** (not bytes), as kernels take
    /// them. Valid until the array is changed, moved or dropped.
    pub fn raw(&self) -> (*const u8, usize) {
        with_index!(self, v => (v.as_ptr().cast(), v.len()))
    }

    /// Like [`IndexData::raw`], to write through.
    pub fn raw_mut(&mut self) -> (*mut u8, usize) {
        with_index!(self, v => (v.as_mut_ptr().cast(), v.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_name_reads_back_and_holds_its_maximum() {
        for t in IndexType::ALL {
            assert_eq!(t.as_str().parse::<IndexType>().unwrap(), t);
            let data = IndexData::from_i64(t, vec![0, t.max()]).unwrap();
            assert_eq!(data.index_type(), t);
            assert_eq!(data.iter_i64().collect::<Vec<_>>(), [0, t.max()]);
        }
        assert_eq!("u16".parse::<IndexType>().unwrap_err().code, Code::Usage);
    }

    #[test]
    fn a_few_long_segments_are_not_typical() {
        let typical =
            |ends: Vec<i64>| IndexData::from_i64(IndexType::U32, ends).unwrap().typical_step();
        assert_eq!(typical(vec![0, 3, 6, 9]), 3.0, "all alike");
        // 1 / (n + 1) is 1, 1 and 1 / 10: a mean of 0.7.
        assert!((typical(vec![0, 0, 0, 9]) - 3.0 / 7.0).abs() < 1e-9);
        assert_eq!(typical(vec![4]), 0.0);
        assert_eq!(typical(vec![9, 0]), 0.0, "what falls has no length");
    }

    #[test]
    fn numbers_outside_the_type_are_refused() {
        for (t, x) in [(IndexType::U32, 1 << 32), (IndexType::U32, -1), (IndexType::I32, 1 << 31)] {
            let error = IndexData::from_i64(t, vec![x]).unwrap_err();
            assert_eq!(error.code, Code::Data);
            assert!(error.message.contains(&x.to_string()), "{error}");
        }
    }

    #[test]
    fn a_coordinate_beyond_u32_widens_the_array() {
        let mut data = IndexData::empty(IndexType::U32);
        data.push_coordinate(7);
        data.push_coordinate(u64::from(u32::MAX));
        assert_eq!(data.index_type(), IndexType::U32);
        data.push_coordinate(1 << 32);
        assert_eq!(data, IndexData::U64(vec![7, u64::from(u32::MAX), 1 << 32]));
    }

    #[test]
    fn extents_up_to_two_to_the_32_take_u32() {
        assert_eq!(IndexType::for_extents(&[3, 1 << 32]), IndexType::U32);
        assert_eq!(IndexType::for_extents(&[3, (1 << 32) + 1]), IndexType::U64);
        assert_eq!(IndexType::for_extents(&[]), IndexType::U32);
    }
}
