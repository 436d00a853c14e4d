//! Archives of PyData's `sparse.save_npz`: coordinate lists of any rank, and compressed ones (`GCXS`).
//!
//! In: the members of an archive. Out: entries. Coordinate lists are written so that SciPy reads them,
//! too: it has them of any rank since version 1.13.
//!
//! A compressed array is a matrix by compressed rows: some axes, one after the other, are its rows, the
//! others its columns.
//!
//! ```text
//! shape (2, 3, 4), compressed axes (0, 1):  row 3*i + j, column k
//! ```

use std::io::Write;
use std::sync::Arc;

use super::known::{Known, named};
use super::npy_header::{self, bad};
use super::scipy::member;
use super::stored_zip::StoredZip;
use super::written::Written;
use crate::diagnostic::{Diagnostic, Result};
use crate::layout::{Layout, LayoutSpec};
use crate::packing::{PackOptions, pack};
use crate::tensor::{Entries, IndexData, Tensor, Value, Values, element_count};

/// What a compressed array consists of.
pub(super) struct Compressed {
    pub dims: Vec<usize>,
    pub axes: Vec<i64>,
    pub pointers: Vec<i64>,
    pub indices: Vec<i64>,
    pub values: Values,
}

impl Compressed {
    /// The entries, in the order of the archive.
    ///
    /// # Errors
    /// [`Code::Data`](crate::diagnostic::Code::Data) if the parts contradict each other.
    pub fn entries(self, name: &str) -> Result<Entries> {
        let wrong = |why: &str| -> Box<Diagnostic> {
            bad(name, format!("not a valid compressed array: {why}"))
                .help("write it again with `sparse.save_npz`")
        };
        let rank = self.dims.len();
        let axes: Vec<usize> = self
            .axes
            .iter()
            .map(|&a| usize::try_from(a).ok().filter(|&a| a < rank))
            .collect::<Option<_>>()
            .ok_or_else(|| wrong("`compressed_axes` does not fit `shape`"))?;
        let columns: Vec<usize> = (0..rank).filter(|a| !axes.contains(a)).collect();
        if axes.len() + columns.len() != rank {
            return Err(wrong("an axis is twice in `compressed_axes`"));
        }
        let extents =
            |axes: &[usize]| -> Vec<usize> { axes.iter().map(|&a| self.dims[a]).collect() };
        let n = self.values.len();
        if self.indices.len() != n {
            return Err(wrong("`indices` does not fit `data`"));
        }
        // A vector has no rows, and no pointers.
        let n_rows = element_count(&extents(&axes))?;
        let vector = axes.is_empty() && self.pointers.is_empty();
        let pointers = if vector { vec![0, n as i64] } else { self.pointers };
        let sorted = pointers.windows(2).all(|w| w[0] <= w[1]);
        let whole = pointers.first() == Some(&0) && pointers.last() == Some(&(n as i64));
        if pointers.len().checked_sub(1) != Some(n_rows) || !sorted || !whole {
            return Err(wrong("`indptr` does not fit `shape` and `data`"));
        }
        let n_columns = element_count(&extents(&columns))? as i64;
        if self.indices.iter().any(|c| !(0..n_columns).contains(c)) {
            return Err(wrong("an element of `indices` is outside the array"));
        }
        let mut coords: Vec<Vec<u64>> = vec![Vec::with_capacity(n); rank];
        for (row, segment) in pointers.windows(2).enumerate() {
            for k in segment[0] as usize..segment[1] as usize {
                for (list, flat) in [(&axes, row), (&columns, self.indices[k] as usize)] {
                    let mut flat = flat;
                    for &axis in list.iter().rev() {
                        coords[axis].push((flat % self.dims[axis]) as u64);
                        flat /= self.dims[axis];
                    }
                }
            }
        }
        Entries::new(self.dims, coords.into_iter().map(IndexData::U64).collect(), self.values)
    }
}

/// A list of coordinates in increasing order, each once, as PyData takes for granted.
fn list(rank: usize) -> String {
    let each = |f: &dyn Fn(usize) -> String, by: &str| -> String {
        (0..rank).map(f).collect::<Vec<_>>().join(by)
    };
    let dims = each(&|k| format!("\"i{k}\""), ", ");
    let coordinates = each(&|k| format!("i{k}"), ", ");
    let equations = each(&|k| format!(" and i{k} = coords{k}(p)"), "");
    let arrays = each(
        &|k| {
            format!(
                "[index.coords{k}]\ndomain = \"0 <= p < N\"\nrange = \"0 <= coords{k}(p) < I{k}\"\n"
            )
        },
        "",
    );
    let names = each(&|k| format!("\"coords{k}\""), ", ");
    let kind = if rank == 1 { "monotonic" } else { "lexicographic" };
    format!(
        "name = \"coords, data\"\ndims = [{dims}]\nvalue = \"data(p)\"\n\
         relation = \"{{ [p] -> [{coordinates}] : 0 <= p < N{equations} }}\"\n{arrays}\
         [params]\nN = \"count\"\n\
         [[property]]\nkind = \"{kind}\"\narrays = [{names}]\nstrict = true\n"
    )
}

/// All axes but the one numbered `along` are rows, one after the other.
fn compressed(rank: usize, along: usize) -> String {
    let rows: Vec<usize> = (0..rank).filter(|&d| d != along).collect();
    let dims: Vec<String> = (0..rank).map(|d| format!("\"i{d}\"")).collect();
    let coordinates: Vec<String> = (0..rank).map(|d| format!("i{d}")).collect();
    let positions: Vec<String> = rows.iter().map(|d| format!("r{d}")).collect();
    let ranges: Vec<String> =
        rows.iter().map(|d| format!("0 <= r{d} < I{d} and i{d} = r{d}")).collect();
    let (last, outer) = rows.split_last().unwrap_or((&0, &[]));
    let next: Vec<String> =
        outer.iter().map(|d| format!("r{d}")).chain([format!("r{last} + 1")]).collect();
    let mut domain: Vec<String> = outer.iter().map(|d| format!("0 <= r{d} < I{d}")).collect();
    domain.push(format!("0 <= r{last} <= I{last}"));
    format!(
        "name = \"indptr, indices, data\"\ndims = [{}]\nvalue = \"data(p)\"\n\
         relation = \"{{ [{rows}, p] -> [{}] : {} and indptr({rows}) <= p < indptr({}) \
         and i{along} = indices(p) }}\"\n\
         [index.indptr]\ndomain = \"{}\"\nrange = \"0 <= indptr({rows}) <= N\"\n\
         [index.indices]\ndomain = \"0 <= p < N\"\nrange = \"0 <= indices(p) < I{along}\"\n\
         [params]\nN = \"count\"\n",
        dims.join(", "),
        coordinates.join(", "),
        ranges.join(" and "),
        next.join(", "),
        domain.join(" and "),
        rows = positions.join(", "),
    )
}

/// Whether there is one pointer for each row, and one behind, and the segments between them are all that
/// is stored.
fn spans(tensor: &Tensor, known: &Known, along: usize) -> bool {
    let (pointers, indices) =
        (&tensor.arrays()[&known.names["indptr"]], &tensor.arrays()[&known.names["indices"]]);
    let rows = tensor.dims().iter().enumerate().filter(|(d, _)| *d != along);
    let rows = rows.fold(1usize, |n, (_, extent)| n.saturating_mul(*extent));
    let (n, stored) = (pointers.len(), tensor.stored());
    n == rows.saturating_add(1)
        && indices.len() == stored
        && pointers.get(0) == 0
        && pointers.get(n - 1) == stored as i64
        && (1..n).all(|k| pointers.get(k - 1) <= pointers.get(k))
}

/// The compressed array, and the axes that are its rows, that holds what `tensor` stores.
///
/// # Errors
/// Those of the models, which is a defect.
pub(super) fn storage(tensor: &Tensor) -> Result<Option<(Known, Vec<usize>)>> {
    let layout = tensor.layout();
    let rank = layout.rank();
    if rank < 3 || layout.arrays.len() != 2 {
        return Ok(None);
    }
    for along in (0..rank).rev() {
        if let Some(known) = named(layout, "GCXS", &compressed(rank, along))?
            && spans(tensor, &known, along)
        {
            return Ok(Some((known, (0..rank).filter(|&d| d != along).collect())));
        }
    }
    Ok(None)
}

/// Whether the layout is a list of coordinates, in whatever order.
///
/// # Errors
/// Those of the model, which is a defect.
pub(super) fn is_list(layout: &Layout) -> Result<bool> {
    Ok((1..=64).contains(&layout.rank()) && named(layout, "COO", &list(layout.rank()))?.is_some())
}

/// Writes a tensor in the terms of [`storage`].
///
/// # Errors
/// Those of writing.
pub(super) fn write(
    out: &mut dyn Write,
    tensor: &Tensor,
    known: &Known,
    axes: &[usize],
    fill: Option<Value>,
) -> Written {
    let data = |member: &str| &tensor.arrays()[&known.names[member]];
    let numbers = |data: &IndexData| Values::I64(data.iter_i64().collect());
    let mut archive = StoredZip::new(out);
    archive.add("data.npy", &member(&[tensor.stored()], tensor.values())?)?;
    shape_and_fill(&mut archive, tensor.dims(), tensor.values(), fill)?;
    for name in ["indices", "indptr"] {
        archive.add(&format!("{name}.npy"), &member(&[data(name).len()], &numbers(data(name)))?)?;
    }
    let axes = Values::I32(axes.iter().map(|&a| a as i32).collect());
    archive.add("format.npy", &characters("gcxs")?)?;
    archive.add("compressed_axes.npy", &member(&[axes.len()], &axes)?)?;
    Ok(archive.finish()?)
}

/// Writes entries of any rank but 0, in increasing order, duplicates summed.
///
/// # Errors
/// Those of packing and writing.
pub(super) fn write_entries(
    out: &mut dyn Write,
    entries: &Entries,
    fill: Option<Value>,
) -> Written {
    let rank = entries.rank();
    let model = LayoutSpec::from_toml("<storage>", &list(rank))?.instantiate(rank)?;
    let packed = pack(&Arc::new(model), entries, &PackOptions::default())?;
    let n = packed.stored();
    let mut coords: Vec<i64> = Vec::with_capacity(n * rank);
    packed.arrays().values().for_each(|column| coords.extend(column.iter_i64()));
    let mut archive = StoredZip::new(out);
    archive.add("data.npy", &member(&[n], packed.values())?)?;
    shape_and_fill(&mut archive, packed.dims(), packed.values(), fill)?;
    archive.add("coords.npy", &member(&[rank, n], &Values::I64(coords))?)?;
    // What SciPy wants to know.
    archive.add("format.npy", &characters("coo")?)?;
    archive.add("_is_array.npy", &member(&[], &Values::Bool(vec![true]))?)?;
    Ok(archive.finish()?)
}

/// An array that holds one word, in characters: PyData does not take bytes.
fn characters(word: &str) -> std::io::Result<Vec<u8>> {
    let mut bytes = npy_header::bytes(&format!("<U{}", word.chars().count()), &[])?;
    bytes.extend(word.chars().flat_map(|c| u32::from(c).to_le_bytes()));
    Ok(bytes)
}

fn shape_and_fill(
    archive: &mut StoredZip<'_>,
    dims: &[usize],
    values: &Values,
    fill: Option<Value>,
) -> Written {
    let shape = Values::I64(dims.iter().map(|&n| n as i64).collect());
    archive.add("shape.npy", &member(&[dims.len()], &shape)?)?;
    let ty = values.value_type();
    let fill = fill.map_or(Value::zero(ty), |fill| fill.cast(ty)).repeated(1);
    archive.add("fill_value.npy", &member(&[], &fill)?)?;
    Ok(())
}
