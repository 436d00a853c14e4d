//! Filling index arrays from numbered positions and keys.
//!
//! In: the role of an array, and the columns of its arguments. Out: its elements.

use super::columns::{Column, Data};
use super::number::Numbering;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;
use crate::tensor::{IndexData, IndexType};

/// The array that is being filled.
pub(super) struct Target<'a> {
    pub name: &'a Name,
    pub index_type: IndexType,
    pub len: usize,
    /// Row-major extents of its arguments.
    pub shape: Vec<i64>,
    /// Value of elements that no entry defines.
    pub fill: Option<i64>,
    /// The least number that the array may hold, by its declared range.
    pub least: Option<i64>,
    /// The unused numbers fill up what no entry defines: the array is a permutation.
    pub permutation: bool,
}

impl Target<'_> {
    /// Element number `at` as one reads it: `crd(0, 2)`.
    pub fn element_name(&self, at: usize) -> String {
        let mut rest = at as i64;
        let mut args: Vec<String> = Vec::new();
        for &extent in self.shape.iter().skip(1).rev().filter(|n| **n > 0) {
            args.push((rest % extent).to_string());
            rest /= extent;
        }
        args.push(rest.to_string());
        args.reverse();
        format!("{}({})", self.name, args.join(", "))
    }
}

/// For each slot, the number of positions before its group, and last the number of all.
pub(super) fn prefix_counts(
    target: &Target<'_>,
    slots: &Column<'_>,
    numbering: &Numbering<'_>,
    n: usize,
    groups: usize,
) -> Result<Vec<u64>> {
    let mut counts = group_counts(target, slots, numbering, n, groups)?;
    let mut before = 0u64;
    for count in &mut counts {
        before += std::mem::replace(count, before);
    }
    counts.push(before);
    Ok(counts)
}

/// For each slot the sum of the lengths before it, and last the sum of all.
pub(super) fn prefix_sums(lengths: &[i64]) -> impl Iterator<Item = i64> {
    let mut sum = 0i64;
    let ends = lengths.iter().map(move |&length| {
        sum += length;
        sum
    });
    std::iter::once(0).chain(ends)
}

/// The element number `slot`, if the array has it.
pub(super) fn element(target: &Target<'_>, slot: i64) -> Result<usize> {
    let at = usize::try_from(slot).ok().filter(|&at| at < target.len);
    at.ok_or_else(|| no_element(target, slot))
}

/// The number of positions in each group.
pub(super) fn group_counts(
    target: &Target<'_>,
    slots: &Column<'_>,
    numbering: &Numbering<'_>,
    n: usize,
    groups: usize,
) -> Result<Vec<u64>> {
    let mut counts = vec![0u64; groups];
    let mut outside = None;
    let mut add =
        |slot: i64, more: u64| match usize::try_from(slot).ok().and_then(|s| counts.get_mut(s)) {
            Some(count) => *count += more,
            None => outside = Some(slot),
        };
    match (&slots.data, &numbering.opens) {
        (Data::U32(v), None) => v.iter().for_each(|&slot| add(i64::from(slot), 1)),
        (Data::U32(v), Some(opens)) => {
            v.iter().zip(opens).for_each(|(&slot, &open)| add(i64::from(slot), u64::from(open)));
        }
        _ => (0..n).filter(|&k| numbering.opens(k)).for_each(|k| add(slots.get(k), 1)),
    }
    match outside {
        Some(slot) => Err(no_element(target, slot)),
        None => Ok(counts),
    }
}

fn no_element(target: &Target<'_>, slot: i64) -> Box<Diagnostic> {
    Diagnostic::new(
        Code::NotPackable,
        format!(
            "index array `{}` has {} elements, but packing needs element {slot}",
            target.name, target.len
        ),
    )
    .help("widen its `domain` in the layout, or give its `shape`")
}

/// An array from all its numbers.
pub(super) fn all(
    target: &Target<'_>,
    numbers: impl IntoIterator<Item = i64>,
) -> Result<IndexData> {
    IndexData::collect(target.index_type, numbers)
}

/// An array with one element for each position, in order: the values of the entries that open one.
pub(super) fn in_order(
    target: &Target<'_>,
    values: &Column<'_>,
    numbering: &Numbering<'_>,
    n: usize,
) -> Result<IndexData> {
    match (&values.data, &numbering.opens, target.index_type) {
        (Data::U32(v), None, IndexType::U32) => Ok(IndexData::U32(v.to_vec())),
        (Data::U32(v), Some(opens), IndexType::U32) => {
            let mut out = vec![0; numbering.total];
            let mut at = 0;
            // Every entry is written, but only those that open a position move on.
            for (&x, &open) in v.iter().zip(opens) {
                at += usize::from(open);
                out[at - 1] = if open { x } else { out[at - 1] };
            }
            Ok(IndexData::U32(out))
        }
        _ => all(target, (0..n).filter(|&k| numbering.opens(k)).map(|k| values.get(k))),
    }
}

/// An array that is written element by element, role after role.
pub(super) struct Scatter {
    numbers: Vec<i64>,
    written: Vec<bool>,
    roles: usize,
}

impl Scatter {
    pub fn new(target: &Target<'_>) -> Scatter {
        Scatter {
            numbers: vec![target.fill.unwrap_or(0); target.len],
            written: vec![false; target.len],
            roles: 0,
        }
    }

    /// Number of roles written so far.
    pub fn roles(&self) -> usize {
        self.roles
    }

    /// Writes `values[k]` to element `slots[k]`, for the entries that `writes` selects.
    /// Entries that write the same element must agree.
    pub fn write(
        &mut self,
        target: &Target<'_>,
        slots: &Column<'_>,
        values: &Column<'_>,
        writes: &dyn Fn(usize) -> bool,
        n: usize,
    ) -> Result<()> {
        self.roles += 1;
        for k in (0..n).filter(|&k| writes(k)) {
            let slot = slots.get(k);
            let at = element(target, slot)?;
            let (value, old) = (values.get(k), self.numbers[at]);
            if self.written[at] && old != value {
                return Err(Diagnostic::new(
                    Code::NotPackable,
                    format!(
                        "`{}` would have to be both {old} and {value}",
                        target.element_name(at)
                    ),
                )
                .help("these entries cannot be stored in this layout"));
            }
            self.numbers[at] = value;
            self.written[at] = true;
        }
        Ok(())
    }

    /// The array, and the first element for which only its range gave a number: the least. Whoever
    /// takes it tests the properties.
    pub fn finish(mut self, target: &Target<'_>) -> Result<(IndexData, Option<usize>)> {
        let mut ranged = None;
        if target.fill.is_none()
            && let Some(at) = self.written.iter().position(|w| !w)
        {
            match (target.permutation, target.least) {
                (true, _) => complete_permutation(&mut self.numbers, &self.written),
                (false, None) => {
                    return Err(undefined(target.name, &target.element_name(at)));
                }
                (false, Some(least)) => {
                    ranged = Some(at);
                    let open = self.numbers.iter_mut().zip(&self.written).filter(|(_, w)| !**w);
                    open.for_each(|(x, _)| *x = least);
                }
            }
        }
        Ok((all(target, self.numbers)?, ranged))
    }
}

/// Nothing says what an element of padding holds.
pub(super) fn undefined(array: &Name, element: &str) -> Box<Diagnostic> {
    Diagnostic::new(Code::NotPackable, format!("no entry defines `{element}`"))
        .help(format!("give its value for padding: `fill = …` in [index.{array}]"))
}

/// Gives the elements that are not written the numbers that do not occur, in order.
fn complete_permutation(numbers: &mut [i64], written: &[bool]) {
    let mut used = vec![false; numbers.len()];
    for (&x, &w) in numbers.iter().zip(written) {
        if let Some(flag) = usize::try_from(x).ok().and_then(|x| used.get_mut(x)) {
            *flag |= w;
        }
    }
    let mut unused = (0..numbers.len()).filter(|&x| !used[x]);
    for (x, _) in numbers.iter_mut().zip(written).filter(|(_, w)| !**w) {
        *x = unused.next().unwrap_or(0) as i64;
    }
}
