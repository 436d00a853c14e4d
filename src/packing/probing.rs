//! Slots of hash tables: a numbered position whose key array is declared to be probed.
//!
//! In: the entries of every table, in the order of their coordinates, and the number of slots. Out:
//! each entry's slot, the first free one from the home of its coordinate on. Inserting in order of
//! the coordinates makes equal entries pack to equal bytes.

use super::columns::Column;
use super::number::Numbering;
use super::part::Level;
use super::refusal::refused;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Arith, Call, Name};
use crate::layout::probing::home_slot;
use crate::layout::{Layout, PropertyKind};
use crate::tensor::Scope;

/// The key of a position that is the slot of a hash table, if it is one.
///
/// # Errors
/// [`Code::NotPackable`] if the position is not the last argument of the array.
pub(super) fn key_of(layout: &Layout, position: &Name, keys: &[Call]) -> Result<Option<usize>> {
    let probed = |call: &Call| {
        let is = |p: &crate::layout::Property| {
            p.kind == PropertyKind::Probing && p.arrays.contains(&call.array)
        };
        layout.properties.iter().any(is)
    };
    let Some(key) = keys.iter().position(probed) else { return Ok(None) };
    let array = &keys[key].array;
    if layout.arrays[array].fill.is_none_or(|fill| fill >= 0) {
        return Err(refused(layout, format!("nothing marks the empty slots of `{array}`"))
            .help(format!("give `fill = -1` in [index.{array}], and a range that has it")));
    }
    match keys[key].args.last().and_then(|a| a.as_var()) {
        Some(slot) if slot == position => Ok(Some(key)),
        _ => {
            Err(refused(layout, format!("`{position}` is not the slot of the tables in `{array}`"))
                .help("make it the last argument of the array"))
        }
    }
}

/// Slots of the largest table: four for each of its entries, so that none reaches the end.
pub(super) fn slots(largest: usize) -> i64 {
    (largest as i64).saturating_mul(4).max(1)
}

/// The hash tables of one level.
pub(super) struct Tables<'a> {
    position: &'a Name,
    slots: usize,
}

impl<'a> Tables<'a> {
    pub fn new(layout: &Layout, level: &'a Level, sizes: &Scope<'_>) -> Result<Tables<'a>> {
        let slots = level.size.as_ref().and_then(|size| sizes.value(&Arith::from_affine(size)));
        match slots.and_then(|n| usize::try_from(n).ok()) {
            Some(slots) => Ok(Tables { position: &level.position, slots }),
            None => Err(refused(layout, "the number of slots of a hash table is not known")
                .help("bound the slot by a size, e.g. `0 <= p < W`")),
        }
    }

    /// Replaces ranks by slots. `starts(k)` tells whether entry `k` is the first of its table.
    ///
    /// # Errors
    /// [`Code::NotPackable`] if a table has no free slot behind a home, or one coordinate twice.
    pub fn place(
        &self,
        numbering: &mut Numbering<'_>,
        coordinates: &Column<'_>,
        starts: &dyn Fn(usize) -> bool,
        n: usize,
    ) -> Result<()> {
        let Tables { position, slots } = *self;
        // The coordinates of the table at hand; its used part is emptied for the next one.
        let mut table: Vec<Option<i64>> = Vec::new();
        let mut used: Vec<usize> = Vec::new();
        let mut numbers: Vec<u32> = Vec::with_capacity(n);
        for k in 0..n {
            if starts(k) {
                used.drain(..).for_each(|slot| table[slot] = None);
            }
            if !numbering.opens(k) {
                numbers.push(numbers.last().copied().unwrap_or(0));
                continue;
            }
            let coordinate = coordinates.get(k);
            let mut slot = home_slot(coordinate, slots);
            while table.get(slot).is_some_and(|held| held.is_some_and(|held| held != coordinate)) {
                slot += 1;
            }
            if slot >= slots || u32::try_from(slot).is_err() {
                return Err(Diagnostic::new(
                Code::NotPackable,
                format!(
                    "coordinate {coordinate} finds no free slot `{position}` in a table of {slots}"
                ),
            )
            .help("choose larger tables, or let packing count the slots"));
            }
            if table.len() <= slot {
                table.resize(slot + 1, None);
            }
            if table[slot].is_some() {
                return Err(Diagnostic::new(
                Code::NotPackable,
                format!("coordinate {coordinate} would be twice in one table of slots `{position}`"),
            )
            .help("a table holds each coordinate once: add another array's coordinates as a level"));
            }
            table[slot] = Some(coordinate);
            used.push(slot);
            numbers.push(slot as u32);
        }
        let most = numbers.iter().max().map_or(0, |&m| i64::from(m));
        numbering.position = Column::of_u32(numbers, 0, most);
        Ok(())
    }
}
