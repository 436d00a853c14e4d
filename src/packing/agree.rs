//! Comparing what was stored with what was given.
//!
//! Where a relation gives one position several coordinates (symmetric storage, runs), storing one
//! entry states the others. In: the packed tensor and the entries. Out: nothing, or the first
//! coordinate at which they differ.

use rustc_hash::FxHashMap;

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
            format!("layout `{name}` cannot hold a tensor of {}", dims.join(" × ")),
        )
        .note(e.message)
        .help("choose a layout for these extents")
    })
}

/// What neither stores nor gives an entry is `fill`.
///
/// # Errors
/// [`Code::NotPackable`] with the coordinates and both values.
pub(super) fn check(tensor: &Tensor, given: &Entries, fill: Option<Value>) -> Result<()> {
    let stored = tensor.entries()?;
    let mut sums: FxHashMap<Vec<usize>, (Option<f64>, Option<f64>)> = FxHashMap::default();
    for k in 0..given.len() {
        let sum = &mut sums.entry(given.point(k)).or_default().0;
        *sum = Some(sum.unwrap_or(0.0) + given.values().get_f64(k));
    }
    for k in 0..stored.len() {
        let sum = &mut sums.entry(stored.point(k)).or_default().1;
        *sum = Some(sum.unwrap_or(0.0) + stored.values().get_f64(k));
    }
    let fill = fill.map_or(0.0, |fill| fill.repeated(1).get_f64(0));
    // NaN equals itself here: it is the same datum.
    let differs = |(a, b): &(f64, f64)| a != b && !(a.is_nan() && b.is_nan());
    let known = |(a, b): (Option<f64>, Option<f64>)| (a.unwrap_or(fill), b.unwrap_or(fill));
    let pairs = sums.iter().map(|(point, pair)| (point, known(*pair)));
    let first = pairs.filter(|(_, pair)| differs(pair)).min_by_key(|(point, _)| *point);
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
