//! Storing values at their offsets, duplicates added up.
//!
//! In: for each sorted entry, the offset of its value, and the values in the order of the entries.
//! Out: the value array. Loops are typed, so that the loads of scattered values overlap.

use std::ops::Range;

use rayon::prelude::*;

use super::columns::{Column, Data};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::tensor::{Values, with_values};

/// Numbers that are added up; the second component tells that the sum overflowed.
trait Sum: Copy {
    fn plus(self, other: Self) -> (Self, bool);
}

macro_rules! sum {
    ($($number:ty, $a:ident, $b:ident => $sum:expr);*) => { $(
        impl Sum for $number {
            #[inline]
            fn plus(self, other: Self) -> (Self, bool) {
                let ($a, $b) = (self, other);
                $sum
            }
        }
    )* };
}
sum!(
    f64, a, b => (a + b, false);
    f32, a, b => (a + b, false);
    i64, a, b => a.overflowing_add(b);
    i32, a, b => a.overflowing_add(b);
    u8, a, b => a.overflowing_add(b);
    bool, a, b => (a | b, false)
);

/// Adds every entry's value at its offset. Offsets are within `values`.
///
/// # Errors
/// [`Code::Data`] if an integer sum overflows.
pub(super) fn all(
    values: &mut Values,
    offsets: &Column<'_>,
    given: &Values,
    order: Option<&[u32]>,
) -> Result<()> {
    let value_type = given.value_type();
    let overflow = with_values!(values, out => {
        let given = given.as_slice().unwrap_or(&[]);
        match (order, &offsets.data) {
            (Some(order), Data::U32(at)) if at.is_sorted() => add_sorted(out, at, given, order),
            (Some(order), _) => add(out, offsets, order.iter().map(|&k| given[k as usize])),
            (None, _) => add(out, offsets, given.iter().copied()),
        }
    });
    match overflow {
        false => Ok(()),
        true => Err(Diagnostic::new(
            Code::Data,
            format!("the sum of duplicate entries does not fit in {value_type}"),
        )
        .help("use a wider value type")),
    }
}

fn add<T: Sum>(out: &mut [T], offsets: &Column<'_>, given: impl Iterator<Item = T>) -> bool {
    let mut overflow = false;
    let mut put = |at: usize, x: T| {
        let (sum, over) = out[at].plus(x);
        out[at] = sum;
        overflow |= over;
    };
    match &offsets.data {
        Data::U32(at) => at.iter().zip(given).for_each(|(&at, x)| put(at as usize, x)),
        Data::I64(at) => at.iter().zip(given).for_each(|(&at, x)| put(at as usize, x)),
        _ => given.enumerate().for_each(|(k, x)| put(offsets.get(k) as usize, x)),
    }
    overflow
}

/// [`add`] at offsets in order: parts of the output are filled by all cores.
fn add_sorted<T: Sum + Send + Sync>(out: &mut [T], at: &[u32], given: &[T], order: &[u32]) -> bool {
    const PART: usize = 1 << 16;
    let mut parts = Vec::with_capacity(at.len() / PART + 1);
    let (mut rest, mut start, mut skipped) = (out, 0, 0);
    while start < at.len() {
        let mut end = (start + PART).min(at.len());
        // Entries of one offset stay together.
        while end < at.len() && at[end] == at[end - 1] {
            end += 1;
        }
        let len = at[end - 1] as usize + 1 - skipped;
        let (part, others) = std::mem::take(&mut rest).split_at_mut(len);
        parts.push((part, skipped, start..end));
        (rest, start, skipped) = (others, end, skipped + len);
    }
    let fill = |(out, skipped, entries): (&mut [T], usize, Range<usize>)| {
        let mut overflow = false;
        for (&at, &k) in at[entries.clone()].iter().zip(&order[entries]) {
            let element = &mut out[at as usize - skipped];
            let (sum, over) = element.plus(given[k as usize]);
            *element = sum;
            overflow |= over;
        }
        overflow
    };
    parts.into_par_iter().map(fill).reduce(|| false, |a, b| a | b)
}

/// Stores every entry's value at its offset, where entries of one offset have equal values.
pub(super) fn equal(
    values: &mut Values,
    offsets: &Column<'_>,
    given: &Values,
    order: Option<&[u32]>,
) {
    for k in 0..given.len() {
        let entry = order.map_or(k, |order| order[k] as usize);
        values.set_from(offsets.get(k) as usize, given, entry);
    }
}

/// As [`all`], but at each offset only the entries of the lowest piece count: those of the others
/// mirror them.
pub(super) fn by_piece(
    values: &mut Values,
    offsets: &Column<'_>,
    given: &Values,
    order: Option<&[u32]>,
    pieces: &[u8],
) -> Result<()> {
    let mut owner: Vec<u8> = vec![u8::MAX; values.len()];
    for k in 0..given.len() {
        let (at, entry) = (offsets.get(k) as usize, order.map_or(k, |order| order[k] as usize));
        let piece = pieces[entry];
        if piece < owner[at] {
            owner[at] = piece;
            values.set_from(at, given, entry);
        } else if piece == owner[at] {
            values.add_from(at, given, entry)?;
        }
    }
    Ok(())
}
