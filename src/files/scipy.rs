//! Writing what `scipy.sparse.save_npz` writes: the five storages of a matrix that SciPy saves.
//!
//! In: a tensor whose layout is [alike](crate::layout::alike) one of SciPy's storages, or entries. Out:
//! an archive that `scipy.sparse.load_npz` reads. The names below are SciPy's, part of the file format.

use std::io::Write;
use std::sync::Arc;

use indexmap::IndexMap;

use super::known::{Known, Model, known};
use super::npy;
use super::npy_header;
use super::stored_zip::{StoredZip, too_large};
use super::written::Written;
use crate::diagnostic::Result;
use crate::formula::Name;
use crate::layout::{Layout, LayoutSpec};
use crate::packing::{PackOptions, convert};
use crate::tensor::{Entries, IndexData, Tensor, Values};

const COORDINATES: &str = r#"
name = "row, col, data"
dims = ["i", "j"]
relation = "{ [p] -> [i, j] : 0 <= p < N and i = row(p) and j = col(p) }"
value = "data(p)"
[index.row]
domain = "0 <= p < N"
range = "0 <= row(p) < I"
[index.col]
domain = "0 <= p < N"
range = "0 <= col(p) < J"
[params]
N = "count"
"#;

const ROWS: &str = r#"
name = "indptr, indices, data"
dims = ["i", "j"]
relation = "{ [r, p] -> [i, j] : 0 <= r < I and i = r and indptr(r) <= p < indptr(r + 1) and j = indices(p) }"
value = "data(p)"
[index.indptr]
domain = "0 <= r <= I"
range = "0 <= indptr(r) <= N"
[index.indices]
domain = "0 <= p < N"
range = "0 <= indices(p) < J"
[params]
N = "indptr(I)"
[[property]]
kind = "monotonic"
array = "indptr"
[[property]]
formula = "indptr(0) = 0"
"#;

const COLUMNS: &str = r#"
name = "indptr, indices, data"
dims = ["i", "j"]
relation = "{ [c, p] -> [i, j] : 0 <= c < J and j = c and indptr(c) <= p < indptr(c + 1) and i = indices(p) }"
value = "data(p)"
[index.indptr]
domain = "0 <= c <= J"
range = "0 <= indptr(c) <= N"
[index.indices]
domain = "0 <= p < N"
range = "0 <= indices(p) < I"
[params]
N = "indptr(J)"
[[property]]
kind = "monotonic"
array = "indptr"
[[property]]
formula = "indptr(0) = 0"
"#;

const BLOCKS: &str = r#"
name = "indptr, indices, data"
dims = ["i", "j"]
relation = """{ [b, p, r, c] -> [i, j] : 0 <= b and $1*b < I and indptr(b) <= p < indptr(b + 1)
  and 0 <= r < $1 and 0 <= c < $2 and i = $1*b + r and j = $2*indices(p) + c and i < I and j < J }"""
value = "data(p, r, c)"
[index.indptr]
domain = "0 <= b <= ceil(I/$1)"
range = "0 <= indptr(b) <= N"
[index.indices]
domain = "0 <= p < N"
range = "0 <= indices(p) < ceil(J/$2)"
[params]
N = "indptr(ceil(I/$1))"
[[property]]
kind = "monotonic"
array = "indptr"
[[property]]
formula = "indptr(0) = 0"
"#;

/// Element `c` of a diagonal is in column `c`.
const DIAGONALS: &str = r#"
name = "offsets, data"
dims = ["i", "j"]
relation = "{ [d, c] -> [i, j] : 0 <= d < D and 0 <= c < J and j = c and i = c - offsets(d) and 0 <= i < I }"
value = "data(d, c)"
[index.offsets]
domain = "0 <= d < D"
range = "0 - I < offsets(d) < J"
[params]
D = "count"
[[property]]
kind = "monotonic"
array = "offsets"
strict = true
"#;

/// The same diagonals, whose element `r` is in row `r`.
const DIAGONALS_BY_ROWS: &str = r#"
name = "offsets, data"
dims = ["i", "j"]
relation = "{ [d, r] -> [i, j] : 0 <= d < D and 0 <= r < I and i = r and j = r + offsets(d) and 0 <= j < J }"
value = "data(d, r)"
[index.offsets]
domain = "0 <= d < D"
range = "0 - I < offsets(d) < J"
[params]
D = "count"
"#;

const MODELS: [Model; 5] =
    [("coo", COORDINATES), ("csr", ROWS), ("csc", COLUMNS), ("bsr", BLOCKS), ("dia", DIAGONALS)];

/// The SciPy storage that holds what `tensor` stores.
///
/// # Errors
/// Those of the models, which is a defect.
pub(super) fn storage(tensor: &Tensor) -> Result<Option<Known>> {
    let layout = tensor.layout();
    let mut found = known(layout, &MODELS)?;
    if found.is_none()
        && let Some(by_rows) = known(layout, &[("dia", DIAGONALS_BY_ROWS)])?
    {
        let model = LayoutSpec::from_toml("<storage>", DIAGONALS)?.instantiate(2)?;
        found = Some(Known { model, rearranged: true, ..by_rows });
    }
    let found = match found {
        Some(known) if known.rearranged || known.holds(tensor) => Some(known),
        _ => None,
    };
    // SciPy's blocks fill the matrix.
    Ok(found.filter(|known| {
        let shape = &known.model.value.shape;
        let block = |k: usize| shape.get(k).and_then(|e| e.to_affine().ok()?.as_constant());
        let divides =
            |k: usize, extent: usize| block(k).is_none_or(|n| n > 0 && extent as i64 % n == 0);
        shape.len() < 3 || divides(1, tensor.dims()[0]) && divides(2, tensor.dims()[1])
    }))
}

/// Writes a tensor in the terms of [`storage`].
///
/// # Errors
/// Those of writing.
pub(super) fn write(out: &mut dyn Write, tensor: &Tensor, known: &Known) -> Written {
    if !known.rearranged {
        return arrays(out, tensor, known, &|name| known.names[name].clone());
    }
    let model = Arc::new(known.model.clone());
    let packed = convert(tensor, &model, &PackOptions::default())?;
    arrays(out, &packed, known, &|name| name.clone())
}

fn arrays(
    out: &mut dyn Write,
    tensor: &Tensor,
    known: &Known,
    name_of: &dyn Fn(&Name) -> Name,
) -> Written {
    let members: IndexMap<&str, &IndexData> = known
        .model
        .arrays
        .keys()
        .map(|member| (&**member, &tensor.arrays()[&name_of(member)]))
        .collect();
    archive(
        out,
        known.format,
        tensor.dims(),
        &members,
        &values_shape(&known.model, tensor),
        tensor.values(),
    )
}

/// The extents of the value array, of which one at most is not a constant or an extent.
fn values_shape(model: &Layout, tensor: &Tensor) -> Vec<usize> {
    let extents = model.extents();
    let mut shape: Vec<Option<usize>> = model
        .value
        .shape
        .iter()
        .map(|e| {
            let affine = e.to_affine().ok()?;
            let extent = affine.as_var().and_then(|n| extents.iter().position(|x| x == n));
            match extent {
                Some(d) => Some(tensor.dims()[d]),
                None => affine.as_constant().and_then(|n| usize::try_from(n).ok()),
            }
        })
        .collect();
    let others: usize = shape.iter().flatten().product();
    if let Some(open) = shape.iter_mut().find(|n| n.is_none()) {
        // Without columns, say, there is no diagonal either.
        *open = Some(tensor.values().len().checked_div(others).unwrap_or(0));
    }
    shape.into_iter().flatten().collect()
}

/// Writes entries of a matrix.
///
/// # Errors
/// Those of writing.
pub(super) fn write_entries(out: &mut dyn Write, entries: &Entries) -> Written {
    let members = ["row", "col"].into_iter().zip(entries.coords()).collect();
    archive(out, "coo", entries.dims(), &members, &[entries.len()], entries.values())
}

/// The members in the order in which SciPy has them, uncompressed, with fixed dates.
fn archive(
    out: &mut dyn Write,
    format: &str,
    dims: &[usize],
    members: &IndexMap<&str, &IndexData>,
    shape: &[usize],
    values: &Values,
) -> Written {
    let mut archive = StoredZip::new(out);
    // The same integer type for all, as SciPy has it.
    let fits = |n: i64| i32::try_from(n).is_ok();
    let narrow = dims.iter().all(|&n| i32::try_from(n).is_ok())
        && members.values().all(|data| data.iter_i64().all(fits));
    for (name, data) in members {
        let numbers = match narrow {
            true => Values::I32(data.iter_i64().map(|c| c as i32).collect()),
            false => Values::I64(data.iter_i64().collect()),
        };
        archive.add(&format!("{name}.npy"), &member(&[data.len()], &numbers)?)?;
    }
    archive.add("format.npy", &word(format)?)?;
    let extents = Values::I64(dims.iter().map(|&n| n as i64).collect());
    archive.add("shape.npy", &member(&[dims.len()], &extents)?)?;
    archive.add("data.npy", &member(shape, values)?)?;
    Ok(archive.finish()?)
}

/// An array that holds one word, in bytes.
fn word(word: &str) -> std::io::Result<Vec<u8>> {
    let mut bytes = npy_header::bytes(&format!("|S{}", word.len()), &[])?;
    bytes.extend(word.as_bytes());
    Ok(bytes)
}

/// An array as a file.
pub(super) fn member(dims: &[usize], values: &Values) -> std::io::Result<Vec<u8>> {
    // Not after a copy of it was made.
    let size = (values.len() as u64).saturating_mul(values.value_type().size_bytes() as u64);
    if u32::try_from(size).is_err() {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    npy::write_array(&mut bytes, dims, values)?;
    Ok(bytes)
}
