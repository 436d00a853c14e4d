//! Numbering: the positions of a level, from sorted entries.
//!
//! In: for each entry, the first sort key that differs from the entry before. Out: each entry's
//! position, and which entries are the first at theirs.

use super::columns::Column;
use super::sort::{self, Key};
use crate::diagnostic::Result;
use crate::tensor::{Entries, Values};

/// What separates the positions of a level, and its groups, in the sorted entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Separation {
    /// Number of sort keys that identify the position; `None`: every entry has its own.
    pub position: Option<usize>,
    /// Number of sort keys that identify the group; `None`: every entry is its own group.
    pub group: Option<usize>,
    /// Numbers start again in each group, from this one.
    pub restart: Option<i64>,
}

/// The positions of a level.
#[derive(Debug)]
pub(super) struct Numbering<'a> {
    pub position: Column<'a>,
    /// Whether an entry is the first at its position; `None`: every entry is.
    pub opens: Option<Vec<bool>>,
    /// Number of positions.
    pub total: usize,
    /// Number of positions of the largest group; of all, where numbers do not start again.
    pub largest: usize,
    /// All elements of the key array, where groups were completed.
    pub completed: Option<Vec<i64>>,
}

impl Separation {
    /// Whether entry `k` is the first of its group.
    pub fn splits_group(&self, first_difference: &[u8], k: usize) -> bool {
        self.group.is_none_or(|keys| k == 0 || (first_difference[k] as usize) < keys)
    }

    /// `breaks`, if given, says which entries open a position.
    pub fn number<'a>(&self, first_difference: &[u8], breaks: Option<&[bool]>) -> Numbering<'a> {
        let n = first_difference.len();
        let splits = |keys: Option<usize>, k: usize| match keys {
            Some(keys) => k == 0 || (first_difference[k] as usize) < keys,
            None => true,
        };
        let is_open = |k: usize| match breaks {
            Some(breaks) => breaks[k],
            None => splits(self.position, k),
        };
        if self.restart.is_none() {
            return Numbering::across(match (breaks, self.position) {
                (Some(breaks), _) => breaks.to_vec(),
                (None, Some(keys)) => {
                    let mut opens: Vec<bool> =
                        first_difference.iter().map(|&d| usize::from(d) < keys).collect();
                    opens.iter_mut().take(1).for_each(|open| *open = true);
                    opens
                }
                (None, None) => vec![true; n],
            });
        }
        let first = self.restart.unwrap_or(0);
        let (mut total, mut largest, mut in_group) = (0usize, 0usize, 0usize);
        let mut numbers: Vec<u32> = Vec::with_capacity(n);
        let mut opens = Vec::with_capacity(n);
        for k in 0..n {
            if splits(self.group, k) {
                in_group = 0;
            }
            let open = is_open(k);
            if open {
                total += 1;
                in_group += 1;
                largest = largest.max(in_group);
            }
            opens.push(open);
            // At most as many as there are entries, which are counted in 32 bits.
            numbers.push(in_group.saturating_sub(1) as u32);
        }
        let most = numbers.iter().max().map_or(0, |&m| i64::from(m));
        let position = match first {
            0 => Column::of_u32(numbers, 0, most),
            _ => {
                let shifted = numbers.iter().map(|&x| i64::from(x) + first).collect();
                Column::of_i64(shifted, first, first + most)
            }
        };
        let opens = opens.contains(&false).then_some(opens);
        Numbering { position, opens, total, largest, completed: None }
    }
}

impl<'a> Numbering<'a> {
    /// Numbers that go on from group to group.
    fn across(opens: Vec<bool>) -> Self {
        let n = opens.len();
        if opens.iter().all(|&open| open) {
            let position = Column::counting(n);
            return Numbering { position, opens: None, total: n, largest: n, completed: None };
        }
        // At most as many as there are entries, which are counted in 32 bits.
        let mut total = 0u32;
        let number = |&open: &bool| {
            total += u32::from(open);
            total.wrapping_sub(1)
        };
        let numbers: Vec<u32> = opens.iter().map(number).collect();
        let position = Column::of_u32(numbers, 0, i64::from(total.saturating_sub(1)));
        let total = total as usize;
        Numbering { position, opens: Some(opens), total, largest: total, completed: None }
    }

    /// The positions, which leaves none.
    pub fn take_position(&mut self) -> Column<'a> {
        std::mem::replace(&mut self.position, Column::constant(0))
    }

    pub fn opens(&self, k: usize) -> bool {
        self.opens.as_ref().is_none_or(|opens| opens[k])
    }
}

/// The entries sorted by coordinates, those of equal coordinates added up.
pub(super) fn summed(entries: &Entries) -> Result<Entries> {
    let keys = entries.coords().iter().zip(entries.dims()).map(|(coordinates, &extent)| Key {
        column: Column::coordinates(coordinates, extent),
        decreasing: false,
    });
    let sorted = sort::sort(keys.collect(), entries.len());
    let entry = |k: usize| sorted.order.as_ref().map_or(k, |order| order[k] as usize);
    let mut values = Values::empty(entries.values().value_type());
    let mut kept: Vec<u32> = Vec::new();
    for (k, &difference) in sorted.first_difference.iter().enumerate() {
        if k > 0 && usize::from(difference) >= entries.rank() {
            values.add_from(kept.len() - 1, entries.values(), entry(k))?;
        } else {
            values.push_from(entries.values(), entry(k));
            kept.push(entry(k) as u32);
        }
    }
    let coords = entries.coords().iter().map(|c| c.gather(&kept)).collect();
    Ok(Entries::from_checked(entries.dims().to_vec(), coords, values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_share_a_number_that_may_restart() {
        // Group a: keys 1, 1, 2; group b: key 1.
        let first_difference = [0, 2, 1, 0];
        let across = Separation { position: Some(2), group: Some(1), restart: None };
        let numbers = across.number(&first_difference, None);
        let found: Vec<i64> = (0..4).map(|k| numbers.position.get(k)).collect();
        assert_eq!((found, numbers.total, numbers.largest), (vec![0, 0, 1, 2], 3, 3));
        let within = Separation { restart: Some(0), ..across };
        let numbers = within.number(&first_difference, None);
        let found: Vec<i64> = (0..4).map(|k| numbers.position.get(k)).collect();
        assert_eq!((found, numbers.total, numbers.largest), (vec![0, 0, 1, 0], 3, 2));
        let each = Separation { position: None, group: Some(1), restart: None };
        assert_eq!(each.number(&first_difference, None).total, 4);
    }
}
