//! Comparing what was stored with what was given.
//!
//! Where a relation gives one position several coordinates (symmetric storage, runs), storing one
//! entry states the others. In: the packed tensor and the entries. Out: nothing, or the first
//! coordinate at which they differ.

use std::cmp::Ordering;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::tensor::{Entries, Tensor, Value};

/// What the layout asks of sizes: a symmetric matrix, say, has as many columns as rows.
///
/// # Errors
/// [`Code::NotPackable`] with the condition that does not hold.
pub(super) fn sizes(tensor: &Tensor) -> Result<()> {
    tensor.check_ground().map_err(|e| {
        let name = &tensor.layout().name;
        let dims: Vec<String> = tensor.dims().iter().map(usize::to_string).collect();
        Diagnostic::new(
            Code::NotPackable,
            format!("layout `{name}` cannot hold this tensor of {}", dims.join(" × ")),
        )
        .note(e.message)
        .help("choose a layout whose properties its extents and entries keep")
    })
}

/// What neither stores nor gives an entry is `fill`.
///
/// # Errors
/// [`Code::NotPackable`] with the coordinates and both values.
pub(super) fn check(tensor: &Tensor, given: &Entries, fill: Option<Value>) -> Result<()> {
    let stored = tensor.entries_else(fill.unwrap_or(Value::zero(tensor.value_type())))?;
    let fill = fill.map_or(0.0, |fill| fill.repeated(1).get_f64(0));
    let elements = given.dims().iter().try_fold(1_u64, |n, &d| n.checked_mul(d as u64));
    let first = match elements {
        Some(_) => first_difference(numbered(given), numbered(&stored), fill)
            .map(|(number, pair)| (point(number, given.dims()), pair)),
        // More elements than numbers.
        None => first_difference(listed(given), listed(&stored), fill),
    };
    let Some((point, (wanted, found))) = first else { return Ok(()) };
    let point: Vec<String> = point.iter().map(usize::to_string).collect();
    Err(Diagnostic::new(
        Code::NotPackable,
        format!(
            "entry ({}) is {wanted}, but layout `{}` would make it {found}",
            point.join(", "),
            tensor.layout().name
        ),
    )
    .note("the layout stores one value for several coordinates, so their entries must be equal")
    .help("choose a layout that stores every entry by itself"))
}

/// The entries by their row-major numbers.
fn numbered(entries: &Entries) -> Vec<(u64, f64)> {
    let values = entries.values();
    let mut out: Vec<(u64, f64)> = (0..entries.len()).map(|k| (0, values.get_f64(k))).collect();
    for (column, &extent) in entries.coords().iter().zip(entries.dims()) {
        for (k, (number, _)) in out.iter_mut().enumerate() {
            *number = *number * extent as u64 + column.get(k) as u64;
        }
    }
    out
}

fn point(mut number: u64, dims: &[usize]) -> Vec<usize> {
    let coordinate = |&extent: &usize| {
        let own = number % extent as u64;
        number /= extent as u64;
        own as usize
    };
    let mut out: Vec<usize> = dims.iter().rev().map(coordinate).collect();
    out.reverse();
    out
}

fn listed(entries: &Entries) -> Vec<(Vec<usize>, f64)> {
    (0..entries.len()).map(|k| (entries.point(k), entries.values().get_f64(k))).collect()
}

/// The first element of which two lists of entries say different sums.
fn first_difference<K: Ord>(
    given: Vec<(K, f64)>,
    stored: Vec<(K, f64)>,
    fill: f64,
) -> Option<(K, (f64, f64))> {
    let mut given = sums(given).into_iter().peekable();
    let mut stored = sums(stored).into_iter().peekable();
    loop {
        let order = match (given.peek(), stored.peek()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((a, _)), Some((b, _))) => a.cmp(b),
        };
        let a = given.next_if(|_| order.is_le());
        let b = stored.next_if(|_| order.is_ge());
        let pair = [&a, &b].map(|entry| entry.as_ref().map_or(fill, |(_, value)| *value));
        // NaN equals itself here: it is the same datum.
        if pair[0] != pair[1] && !(pair[0].is_nan() && pair[1].is_nan()) {
            return a.or(b).map(|(key, _)| (key, (pair[0], pair[1])));
        }
    }
}

/// In the order of the elements, each once.
fn sums<K: Ord>(mut entries: Vec<(K, f64)>) -> Vec<(K, f64)> {
    // Most lists are in order already, or a few that are: that is seen.
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    entries.dedup_by(|next, first| {
        let same = next.0 == first.0;
        if same {
            first.1 += next.1;
        }
        same
    });
    entries
}
