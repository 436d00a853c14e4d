//! Whether a tensor fits into memory, asked when the lengths of its arrays are known and before they
//! are allocated.

use super::packer::Packer;
use crate::diagnostic::Result;
use crate::layout::{Layout, checks};
use crate::tensor::{Scope, ValueType, room};

const REMEDY: &str = "choose a layout that stores fewer positions; `siskin layouts` lists them";

/// Bytes for an element of an array that is being filled: a number of 64 bits, and a mark.
const WHILE_FILLED: u64 = 9;

/// Bytes for an entry that is sorted: its place, its position, and its number twice.
const WHILE_SORTED: u64 = 24;

impl Packer<'_> {
    /// Refuses if the arrays that are not there yet, the values, and what filling `next` elements takes,
    /// are more than the memory that is free.
    ///
    /// # Errors
    /// [`Code::Memory`](crate::diagnostic::Code::Memory).
    pub(super) fn room(&self, scope: &Scope<'_>, next: usize) -> Result<()> {
        let len = |e| scope.value(e).and_then(|n| u64::try_from(n).ok());
        let mut bytes = (next as u64).saturating_mul(WHILE_FILLED);
        for (name, array) in &self.layout.arrays {
            if let (false, Some(n)) = (self.arrays.contains_key(name), len(&array.len)) {
                let size = self.width.index_type(checks::admits_negative(array)).size_bytes();
                bytes = bytes.saturating_add(n.saturating_mul(size as u64));
            }
        }
        if let Some(n) = len(&self.layout.value.len) {
            let size = self.entries.values().value_type().size_bytes();
            bytes = bytes.saturating_add(n.saturating_mul(size as u64));
        }
        let dims: Vec<String> = self.entries.dims().iter().map(usize::to_string).collect();
        let what = || {
            format!(
                "a tensor of {} with {} entries in layout `{}`",
                dims.join(" × "),
                self.entries.len(),
                self.layout.name
            )
        };
        room(bytes, &what, REMEDY)
    }
}

/// Refuses values that are more than the memory that is free.
///
/// # Errors
/// [`Code::Memory`](crate::diagnostic::Code::Memory).
pub(super) fn of_values(layout: &Layout, len: usize, value_type: ValueType) -> Result<()> {
    let bytes = (len as u64).saturating_mul(value_type.size_bytes() as u64);
    room(bytes, &|| format!("the value array of layout `{}`", layout.name), REMEDY)
}

/// Refuses entries that are more than the memory that is free.
///
/// # Errors
/// [`Code::Memory`](crate::diagnostic::Code::Memory).
pub(super) fn of_entries(count: usize, rank: usize, value_type: ValueType) -> Result<()> {
    // They are held twice: as they are given, and as they are read again to be compared. Between these they are sorted.
    let each = 2 * (8 * rank as u64 + value_type.size_bytes() as u64) + WHILE_SORTED;
    let bytes = (count as u64).saturating_mul(each);
    room(bytes, &|| format!("{count} entries of runs that cover every coordinate"), REMEDY)
}
