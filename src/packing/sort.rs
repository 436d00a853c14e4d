//! Sorting entries by several columns at once.
//!
//! In: columns, most significant first. Out: [`Sorted`]: the columns in sorted order, the
//! permutation (none if the entries were sorted already), and for each entry the first column in
//! which it differs from the one before.
//!
//! The columns are packed into one integer together with the number of the entry, so that sorting
//! moves plain integers: they are dealt into buckets by their leading bits ([`deal`]), then each bucket
//! is sorted where it fits the cache, digit by digit, all cores at work. Equal keys keep their order.

use std::borrow::Cow;

use rayon::prelude::*;

use super::columns::{Column, Data};
use super::deal::{AT_ONCE, deal, split};

/// Sorted entries.
#[derive(Debug)]
pub(super) struct Sorted<'a> {
    /// Old numbers in the new order; `None`: nothing moved.
    pub order: Option<Vec<u32>>,
    /// The columns in the new order; empty if they have to be gathered.
    pub columns: Vec<Column<'a>>,
    /// For each entry the first column that differs from the entry before; the number of columns
    /// if none does; 0 for the first entry.
    pub first_difference: Vec<u8>,
}

/// A column to sort by.
#[derive(Clone, Debug)]
pub(super) struct Key<'a> {
    pub column: Column<'a>,
    pub decreasing: bool,
}

/// Sorts `n` entries; at most 255 columns.
pub(super) fn sort<'a>(keys: Vec<Key<'a>>, n: usize) -> Sorted<'a> {
    debug_assert!(keys.len() < 256 && u32::try_from(n).is_ok());
    if let Some(first_difference) = already_sorted(&keys, n) {
        let columns = keys.into_iter().map(|k| k.column).collect();
        return Sorted { order: None, columns, first_difference };
    }
    let layout = PackedKey::new(keys, n);
    match layout.bits() {
        0..=64 => layout.sort::<u64>(n),
        65..=128 => layout.sort::<u128>(n),
        _ => layout.sort_by_comparison(n),
    }
}

/// `first_difference` when the entries are in order.
fn already_sorted(keys: &[Key<'_>], n: usize) -> Option<Vec<u8>> {
    // The leading column alone usually tells that entries are not in order, and soon.
    if let Some(key) = keys.first() {
        let descends = |k: usize| match key.decreasing {
            false => key.column.get(k - 1) > key.column.get(k),
            true => key.column.get(k - 1) < key.column.get(k),
        };
        if (1..n).any(descends) {
            return None;
        }
    }
    let mut first_difference = vec![keys.len() as u8; n];
    if let Some(first) = first_difference.first_mut() {
        *first = 0;
    }
    // From the least significant column, so that a more significant one overrules it: first find
    // the difference, then judge it.
    for (c, key) in keys.iter().enumerate().rev() {
        let mark = c as u8;
        match &key.column.data {
            Data::Constant(_) => {}
            Data::U32(v) => mark_differences(v, mark, &mut first_difference),
            Data::I64(v) => mark_differences(v, mark, &mut first_difference),
            Data::Counting => first_difference.iter_mut().skip(1).for_each(|d| *d = mark),
        }
    }
    let in_order = (1..n).all(|k| match keys.get(first_difference[k] as usize) {
        None => true,
        Some(key) => (key.column.get(k - 1) < key.column.get(k)) != key.decreasing,
    });
    in_order.then_some(first_difference)
}

fn mark_differences<T: PartialEq>(v: &[T], mark: u8, first_difference: &mut [u8]) {
    for (w, d) in v.windows(2).zip(first_difference.iter_mut().skip(1)) {
        if w[0] != w[1] {
            *d = mark;
        }
    }
}

/// How columns are packed into one integer: most significant first, the entry's number last.
struct PackedKey<'a> {
    keys: Vec<Key<'a>>,
    /// Bits of each column.
    widths: Vec<u32>,
    number_bits: u32,
}

impl<'a> PackedKey<'a> {
    fn new(mut keys: Vec<Key<'a>>, n: usize) -> PackedKey<'a> {
        let number_bits = bits(n.saturating_sub(1) as u64);
        let width = |key: &Key<'_>| bits(key.column.most.wrapping_sub(key.column.least) as u64);
        let mut widths: Vec<u32> = keys.iter().map(width).collect();
        if widths.iter().sum::<u32>() + number_bits > 64 {
            keys.iter_mut().for_each(|key| key.column.tighten(n));
            widths = keys.iter().map(width).collect();
        }
        PackedKey { keys, widths, number_bits }
    }

    fn bits(&self) -> u32 {
        self.widths.iter().sum::<u32>() + self.number_bits
    }

    fn sort<T: Packed>(self, n: usize) -> Sorted<'a> {
        let packed = self.sorted_integers::<T>(n);
        let order = packed.par_iter().map(|p| p.extract(0, self.number_bits) as u32).collect();
        let mut columns = Vec::with_capacity(self.keys.len());
        // Where each column ends, as a number of bits from the least significant.
        let mut shift = self.bits();
        let mut ends = Vec::with_capacity(self.keys.len());
        for (key, &width) in self.keys.iter().zip(&self.widths) {
            shift -= width;
            ends.push(shift);
            columns.push(unpack(&packed, &key.column, key.decreasing, shift, width));
        }
        let first_difference = differences(&packed, &ends, self.number_bits);
        Sorted { order: Some(order), columns, first_difference }
    }

    /// The keys of each entry and its number in one integer, in order.
    fn sorted_integers<T: Packed>(&self, n: usize) -> Vec<T> {
        /// Buckets by 11 leading bits: few enough for the caches, many enough to make them small.
        const LEADING: u32 = 11;
        const SMALL: usize = 1 << 14;
        let (bits, number_bits) = (self.bits(), self.number_bits);
        if n > SMALL && bits > LEADING + number_bits {
            let shift = bits - LEADING;
            let bucket = |x: &T| x.extract(shift, LEADING) as usize;
            let pack = |first: usize, part: &mut [T]| self.pack(first, part);
            let (mut dealt, ends) = deal(n, 1 << LEADING, T::ZERO, &pack, &bucket);
            let buckets = split(&mut dealt, &ends).into_par_iter();
            buckets.for_each_init(Vec::new, |spare, bucket| {
                sort_by_digits(bucket, spare, number_bits, shift);
            });
            return dealt;
        }
        let mut packed = vec![T::ZERO; n];
        let parts = packed.par_chunks_mut(AT_ONCE).enumerate();
        parts.for_each(|(number, part)| self.pack(number * AT_ONCE, part));
        match n > SMALL {
            true => sort_by_digits(&mut packed, &mut Vec::new(), number_bits, bits),
            false => packed.sort_unstable(),
        }
        packed
    }

    /// The keys and numbers of the entries from `first` on.
    fn pack<T: Packed>(&self, first: usize, packed: &mut [T]) {
        packed.fill(T::ZERO);
        for (key, &width) in self.keys.iter().zip(&self.widths) {
            let (least, most) = (key.column.least, key.column.most);
            let push = |p: &mut T, x: i64| {
                let x = if key.decreasing { most.wrapping_sub(x) } else { x.wrapping_sub(least) };
                *p = p.shift_in(width, x as u64);
            };
            match &key.column.data {
                Data::U32(v) => {
                    packed.iter_mut().zip(&v[first..]).for_each(|(p, &x)| push(p, x.into()));
                }
                Data::I64(v) => packed.iter_mut().zip(&v[first..]).for_each(|(p, &x)| push(p, x)),
                _ => packed
                    .iter_mut()
                    .enumerate()
                    .for_each(|(k, p)| push(p, key.column.get(first + k))),
            }
        }
        for (k, p) in packed.iter_mut().enumerate() {
            *p = p.shift_in(self.number_bits, (first + k) as u64);
        }
    }

    /// Keys too wide to pack.
    fn sort_by_comparison(self, n: usize) -> Sorted<'a> {
        let compare = |a: usize, b: usize| {
            for key in &self.keys {
                let (x, y) = (key.column.get(a), key.column.get(b));
                let order = if key.decreasing { y.cmp(&x) } else { x.cmp(&y) };
                if order.is_ne() {
                    return order;
                }
            }
            std::cmp::Ordering::Equal
        };
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_by(|&a, &b| compare(a as usize, b as usize));
        let columns: Vec<Column<'a>> = self.keys.iter().map(|k| k.column.gather(&order)).collect();
        let first_difference = (0..n)
            .map(|k| {
                let differs = |c: &Column<'_>| k == 0 || c.get(k - 1) != c.get(k);
                columns.iter().position(differs).unwrap_or(if k == 0 { 0 } else { columns.len() })
                    as u8
            })
            .collect();
        Sorted { order: Some(order), columns, first_difference }
    }
}

fn unpack<'a, T: Packed>(
    packed: &[T],
    column: &Column<'a>,
    decreasing: bool,
    shift: u32,
    width: u32,
) -> Column<'a> {
    let (least, most) = (column.least, column.most);
    let value = |p: &T| {
        let x = p.extract(shift, width) as i64;
        if decreasing { most.wrapping_sub(x) } else { least.wrapping_add(x) }
    };
    let narrow = least >= 0 && most <= i64::from(u32::MAX);
    let data = match column.data {
        Data::Constant(c) => Data::Constant(c),
        _ if narrow => Data::U32(Cow::Owned(packed.par_iter().map(|p| value(p) as u32).collect())),
        _ => Data::I64(Cow::Owned(packed.par_iter().map(value).collect())),
    };
    Column { data, least, most }
}

/// The first column in which neighbours differ, from the leading bit in which they do.
fn differences<T: Packed>(packed: &[T], ends: &[u32], number_bits: u32) -> Vec<u8> {
    // Column of every bit, counted from the least significant of the keys.
    let mut column_of_bit = [ends.len() as u8; 129];
    for (bit, column) in column_of_bit.iter_mut().enumerate() {
        if let Some(c) = ends.iter().position(|&end| (bit as u32) + number_bits >= end) {
            *column = c as u8;
        }
    }
    let key = |k: usize| packed[k].shift_out(number_bits);
    let difference = |k: usize| match k.checked_sub(1) {
        None => 0,
        Some(before) => match key(k).highest_difference(key(before)) {
            None => ends.len() as u8,
            Some(bit) => column_of_bit[bit as usize],
        },
    };
    (0..packed.len()).into_par_iter().map(difference).collect()
}

/// Bits that a number needs.
fn bits(most: u64) -> u32 {
    64 - most.leading_zeros()
}

/// Sorts by the bits `from..to`, least significant digit first; keeps the order of equal ones.
fn sort_by_digits<T: Packed>(bucket: &mut [T], spare: &mut Vec<T>, from: u32, to: u32) {
    const DIGIT: u32 = 10;
    // Counting digits costs more than comparing a few integers.
    const FEW: usize = 1 << DIGIT >> 1;
    if bucket.len() <= FEW {
        return bucket.sort_unstable();
    }
    spare.clear();
    spare.resize(bucket.len(), T::ZERO);
    let mut here: &mut [T] = bucket;
    let mut there: &mut [T] = spare;
    let mut moved = false;
    let mut shift = from;
    while shift < to {
        let width = DIGIT.min(to - shift);
        let mut next = [0usize; 1 << DIGIT];
        for x in here.iter() {
            next[x.extract(shift, width) as usize] += 1;
        }
        let mut sum = 0;
        for count in &mut next {
            sum += std::mem::replace(count, sum);
        }
        for x in here.iter() {
            let at = &mut next[x.extract(shift, width) as usize];
            there[*at] = *x;
            *at += 1;
        }
        std::mem::swap(&mut here, &mut there);
        moved = !moved;
        shift += width;
    }
    if moved {
        there.copy_from_slice(here);
    }
}

/// Integers that hold packed keys.
trait Packed: Copy + Ord + Send + Sync {
    const ZERO: Self;
    fn shift_in(self, width: u32, x: u64) -> Self;
    fn shift_out(self, width: u32) -> Self;
    fn extract(self, shift: u32, width: u32) -> u64;
    fn highest_difference(self, other: Self) -> Option<u32>;
}

macro_rules! packed {
    ($($integer:ty),*) => { $(
        impl Packed for $integer {
            const ZERO: Self = 0;
            #[inline]
            fn shift_in(self, width: u32, x: u64) -> Self {
                // A first column may fill the integer; shifting by its width then gives 0.
                self.checked_shl(width).unwrap_or(0) | Self::from(x)
            }
            #[inline]
            fn shift_out(self, width: u32) -> Self {
                self.checked_shr(width).unwrap_or(0)
            }
            #[inline]
            fn extract(self, shift: u32, width: u32) -> u64 {
                let mask = 1u64.checked_shl(width).map_or(u64::MAX, |x| x - 1);
                self.checked_shr(shift).unwrap_or(0) as u64 & mask
            }
            #[inline]
            fn highest_difference(self, other: Self) -> Option<u32> {
                (self ^ other).checked_ilog2()
            }
        }
    )* };
}
packed!(u64, u128);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(values: Vec<i64>, decreasing: bool) -> Key<'static> {
        let (least, most) =
            (*values.iter().min().unwrap_or(&0), *values.iter().max().unwrap_or(&0));
        Key { column: Column::of_i64(values, least, most), decreasing }
    }

    fn check(columns: Vec<(Vec<i64>, bool)>, n: usize) {
        let keys: Vec<Key<'_>> = columns.iter().map(|(v, d)| key(v.clone(), *d)).collect();
        let compare = |a: &usize, b: &usize| {
            columns.iter().fold(std::cmp::Ordering::Equal, |o, (v, d)| {
                o.then(if *d { v[*b].cmp(&v[*a]) } else { v[*a].cmp(&v[*b]) })
            })
        };
        let mut expected: Vec<usize> = (0..n).collect();
        expected.sort_by(compare);
        let sorted = sort(keys, n);
        let order: Vec<usize> = match &sorted.order {
            Some(order) => order.iter().map(|&k| k as usize).collect(),
            None => (0..n).collect(),
        };
        assert_eq!(order, expected);
        for (c, (v, _)) in columns.iter().enumerate() {
            let found: Vec<i64> = (0..n).map(|k| sorted.columns[c].get(k)).collect();
            assert_eq!(found, expected.iter().map(|&k| v[k]).collect::<Vec<_>>());
        }
        for k in 0..n {
            let differs = |(v, _): &(Vec<i64>, bool)| k == 0 || v[order[k]] != v[order[k - 1]];
            let expected =
                if k == 0 { 0 } else { columns.iter().position(differs).unwrap_or(columns.len()) };
            assert_eq!(sorted.first_difference[k] as usize, expected, "entry {k}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn sorting_agrees_with_a_stable_comparison_sort(
            rows in prop::collection::vec((0..5_i64, -3..4_i64, 0..9_i64), 0..60),
            directions in prop::array::uniform3(any::<bool>()),
            scale in prop::sample::select(vec![1_i64, 1 << 20, 1 << 40, 1 << 59]),
        ) {
            let n = rows.len();
            let columns = vec![
                (rows.iter().map(|r| r.0 * scale).collect(), directions[0]),
                (rows.iter().map(|r| r.1 * scale).collect(), directions[1]),
                (rows.iter().map(|r| r.2).collect(), directions[2]),
            ];
            check(columns, n);
        }
    }

    #[test]
    fn large_inputs_are_dealt_into_buckets() {
        let n = 40_000;
        let scramble = |k: i64| (k * 7919) % 40_009;
        check(
            vec![
                ((0..n).map(|k| scramble(k) / 3).collect(), false),
                ((0..n).map(scramble).collect(), true),
            ],
            n as usize,
        );
        check(
            vec![
                ((0..n).map(|k| (scramble(k) - 9) << 45).collect(), false),
                ((0..n).map(|k| k % 2).collect(), false),
            ],
            n as usize,
        );
    }

    #[test]
    fn sorted_entries_do_not_move() {
        let sorted = sort(vec![key(vec![1, 1, 2], false), key(vec![0, 0, 0], false)], 3);
        assert!(sorted.order.is_none());
        assert_eq!(sorted.first_difference, [0, 2, 0]);
    }
}
