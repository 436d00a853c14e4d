//! Sparse archives (`.npz`), as `scipy.sparse.save_npz` and PyData's `sparse.save_npz` write them.
//!
//! In: a zip of NumPy arrays; the member `format` says which of SciPy's storages they make up (the names
//! below are SciPy's, part of the file format), PyData's are told by their members. Out: [`Entries`].

use std::io::{Read, Seek};

use npyz::npz::NpzArchive;

use super::npy;
use super::npy_header::bad;
use super::options::refuse_other_fill;
use super::pydata::Compressed;
use crate::diagnostic::{Diagnostic, Result};
use crate::tensor::{DenseArray, Entries, IndexData, Value, Values};

/// Reads a sparse array. Explicit zeros are kept, except in `bsr` and `dia`, where they are the
/// padding of blocks and diagonals.
///
/// # Errors
/// [`Code::Data`] if a member is missing or malformed, or the members contradict each other; those
/// of reading.
pub(super) fn read<R: Read + Seek>(source: R, name: &str, fill: Option<Value>) -> Result<Entries> {
    let archive = NpzArchive::new(source).map_err(|error| {
        bad(name, format!("not a zip archive: {error}")).help(
            "an .npz file must be written by `scipy.sparse.save_npz`; a file of one dense array \
             has the extension .npy",
        )
    })?;
    let mut members = Members { archive, name };
    if members.has("fill_value") {
        let said = members.array("fill_value")?;
        refuse_other_fill(name, said.values(), fill)?;
    }
    if members.has("compressed_axes") {
        return members.several_axes();
    }
    // Older versions of PyData's library say no format.
    let format = match !members.has("format") && members.has("coords") {
        true => "coo".to_string(),
        false => members.open("format", npy::read_word)?,
    };
    let dims = members.dims()?;
    let data = members.array("data")?;
    let Parts { coords, values } = match (format.as_str(), dims.as_slice()) {
        ("coo", _) => members.coordinates(&dims, data)?,
        ("csr", &[n]) => members.compressed(&[1, n], data, 1)?.without_first_dimension(),
        ("csr", &[_, _]) => members.compressed(&dims, data, 1)?,
        ("csc", &[_, _]) => members.compressed(&dims, data, 0)?,
        ("bsr", &[_, _]) => members.blocks(&dims, data)?,
        ("dia", &[_, _]) => members.diagonals(&dims, data)?,
        ("csr" | "csc" | "bsr" | "dia", _) => {
            return Err(bad(name, format!("a `{format}` array of rank {}", dims.len())));
        }
        _ => {
            return Err(bad(name, format!("the sparse format `{format}` is not supported"))
                .help("convert it first: `scipy.sparse.save_npz(file, a.tocoo())`"));
        }
    };
    Entries::new(dims, coords, values).map_err(|error| error.note(format!("in `{name}`")))
}

/// Coordinates and values as they stand in the archive; [`Entries::new`] checks them.
struct Parts {
    coords: Vec<IndexData>,
    values: Values,
}

impl Parts {
    /// A vector that was read as a matrix of one row.
    fn without_first_dimension(mut self) -> Parts {
        self.coords.remove(0);
        self
    }
}

/// The arrays in an archive.
struct Members<'a, R: Read + Seek> {
    archive: NpzArchive<R>,
    name: &'a str,
}

impl<R: Read + Seek> Members<'_, R> {
    /// Reads member `key` with `read`.
    fn open<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&mut dyn Read, &str) -> Result<T>,
    ) -> Result<T> {
        let member = format!("{key}.npy");
        let place = format!("{}: {member}", self.name);
        if !self.has(key) {
            return Err(bad(self.name, format!("the archive has no member `{member}`"))
                .help("only sparse arrays written by `scipy.sparse.save_npz` can be read"));
        }
        match self.archive.zip_archive().by_name(&member) {
            Ok(mut file) => read(&mut file, &place),
            Err(error) => {
                Err(bad(&place, format!("the member of the archive cannot be read: {error}"))
                    .help("write it again with `scipy.sparse.save_npz`"))
            }
        }
    }

    fn array(&mut self, key: &str) -> Result<DenseArray> {
        self.open(key, npy::read)
    }

    fn has(&self, key: &str) -> bool {
        self.archive.array_names().any(|found| found == key)
    }

    /// The extents.
    fn dims(&mut self) -> Result<Vec<usize>> {
        let shape = self.vector("shape")?;
        shape
            .iter()
            .map(|&n| {
                usize::try_from(n).map_err(|_| bad(self.name, format!("extent {n} in `shape`")))
            })
            .collect()
    }

    /// PyData's compressed arrays.
    fn several_axes(&mut self) -> Result<Entries> {
        let compressed = Compressed {
            dims: self.dims()?,
            axes: self.vector("compressed_axes")?,
            pointers: self.vector("indptr")?,
            indices: self.vector("indices")?,
            values: self.array("data")?.into_values(),
        };
        compressed.entries(self.name).map_err(|error| error.note(format!("in `{}`", self.name)))
    }

    /// The elements of an integer vector.
    fn integers(&self, key: &str, array: DenseArray) -> Result<Vec<i64>> {
        let is_vector = array.dims().len() == 1;
        let numbers = if is_vector { flat_integers(array) } else { None };
        numbers.ok_or_else(|| self.contradiction(&format!("`{key}` is not a vector of integers")))
    }

    fn vector(&mut self, key: &str) -> Result<Vec<i64>> {
        let array = self.array(key)?;
        self.integers(key, array)
    }

    /// Values that belong to one coordinate each.
    fn refuse_no_vector(&self, data: &DenseArray) -> Result<()> {
        match data.dims() {
            [_] => Ok(()),
            _ => Err(self.contradiction("`data` is not a vector")),
        }
    }

    fn contradiction(&self, what: &str) -> Box<Diagnostic> {
        bad(self.name, format!("not a valid sparse array: {what}"))
            .help("write it again with `scipy.sparse.save_npz`")
    }

    /// `coo`: `row` and `col`, or `coords` with one row per dimension.
    fn coordinates(&mut self, dims: &[usize], data: DenseArray) -> Result<Parts> {
        self.refuse_no_vector(&data)?;
        let n = data.values().len();
        let coords = if self.has("coords") {
            let all = self.array("coords")?;
            let fits = all.dims() == [dims.len(), n];
            let flat = flat_integers(all)
                .ok_or_else(|| self.contradiction("`coords` is not a vector of integers"))?;
            if !fits {
                return Err(self.contradiction("`coords` does not fit `shape` and `data`"));
            }
            (0..dims.len()).map(|d| IndexData::I64(flat[d * n..(d + 1) * n].to_vec())).collect()
        } else {
            vec![IndexData::I64(self.vector("row")?), IndexData::I64(self.vector("col")?)]
        };
        Ok(Parts { coords, values: data.into_values() })
    }

    /// Reads `indptr` and `indices`: the segments of `outer` rows (or columns) and the coordinate
    /// in each.
    fn segments(&mut self, outer: usize, stored: usize) -> Result<(Vec<i64>, Vec<i64>)> {
        let pointers = self.vector("indptr")?;
        let indices = self.vector("indices")?;
        if pointers.len().checked_sub(1) != Some(outer) {
            return Err(self.contradiction("`indptr` does not fit `shape`"));
        }
        if pointers[0] != 0 || pointers.windows(2).any(|w| w[0] > w[1]) {
            return Err(self.contradiction("`indptr` does not begin at 0 or decreases"));
        }
        // SciPy may keep spare capacity behind the last segment.
        let used = usize::try_from(pointers[outer]).unwrap_or(usize::MAX);
        if used > indices.len() || used > stored {
            return Err(self.contradiction("`indptr` exceeds `indices` or `data`"));
        }
        Ok((pointers, indices))
    }

    /// `csr` (`inner` is dimension 1) and `csc` (0).
    fn compressed(&mut self, dims: &[usize], data: DenseArray, inner: usize) -> Result<Parts> {
        self.refuse_no_vector(&data)?;
        let outer = 1 - inner;
        let (pointers, mut indices) = self.segments(dims[outer], data.values().len())?;
        let mut values = data.into_values();
        let used = pointers[dims[outer]] as usize;
        indices.truncate(used);
        if values.len() > used {
            values = values.gather(&(0..used).collect::<Vec<usize>>());
        }
        let mut rows = Vec::with_capacity(used);
        for (r, segment) in pointers.windows(2).enumerate() {
            rows.extend((segment[0]..segment[1]).map(|_| r as i64));
        }
        let mut coords = vec![IndexData::I64(rows), IndexData::I64(indices)];
        if inner == 0 {
            coords.swap(0, 1);
        }
        Ok(Parts { coords, values })
    }

    /// `bsr`: dense blocks of one size.
    fn blocks(&mut self, dims: &[usize], data: DenseArray) -> Result<Parts> {
        let &[n_blocks, height, width] = data.dims() else {
            return Err(self.contradiction("`data` is not an array of blocks"));
        };
        if height == 0
            || width == 0
            || !dims[0].is_multiple_of(height)
            || !dims[1].is_multiple_of(width)
        {
            return Err(self.contradiction("the block size does not divide `shape`"));
        }
        let (pointers, indices) = self.segments(dims[0] / height, n_blocks)?;
        let mut kept = Kept::default();
        for (r, segment) in pointers.windows(2).enumerate() {
            let blocks = segment[0] as usize..segment[1] as usize;
            for (block, &index) in blocks.clone().zip(&indices[blocks]) {
                for i in 0..height {
                    for j in 0..width {
                        let at = (block * height + i) * width + j;
                        // An absurd index stays out of range, which is found at the end.
                        let column = index.saturating_mul(width as i64).saturating_add(j as i64);
                        kept.push(data.values(), at, (r * height + i) as i64, column);
                    }
                }
            }
        }
        Ok(kept.parts(data.values()))
    }

    /// `dia`: row `d` of `data` is the diagonal at offset `offsets[d]`, aligned by columns.
    fn diagonals(&mut self, dims: &[usize], data: DenseArray) -> Result<Parts> {
        let offsets = self.vector("offsets")?;
        let &[n_diagonals, length] = data.dims() else {
            return Err(self.contradiction("`data` is not an array of diagonals"));
        };
        if offsets.len() != n_diagonals {
            return Err(self.contradiction("`offsets` does not fit `data`"));
        }
        let mut sorted = offsets.clone();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(self.contradiction("`offsets` has a diagonal twice"));
        }
        let mut kept = Kept::default();
        for (d, &offset) in offsets.iter().enumerate() {
            for j in 0..length.min(dims[1]) {
                let row = (j as i64).checked_sub(offset);
                if let Some(row) = row
                    && usize::try_from(row).is_ok_and(|row| row < dims[0])
                {
                    kept.push(data.values(), d * length + j, row, j as i64);
                }
            }
        }
        Ok(kept.parts(data.values()))
    }
}

fn flat_integers(array: DenseArray) -> Option<Vec<i64>> {
    match array.into_values() {
        Values::I64(v) => Some(v),
        Values::I32(v) => Some(v.into_iter().map(i64::from).collect()),
        Values::U8(v) => Some(v.into_iter().map(i64::from).collect()),
        _ => None,
    }
}

/// The elements that are not padding.
#[derive(Default)]
struct Kept {
    at: Vec<usize>,
    rows: Vec<i64>,
    columns: Vec<i64>,
}

impl Kept {
    fn push(&mut self, values: &Values, at: usize, row: i64, column: i64) {
        if !values.is_zero(at) {
            self.at.push(at);
            self.rows.push(row);
            self.columns.push(column);
        }
    }

    fn parts(self, values: &Values) -> Parts {
        let coords = vec![IndexData::I64(self.rows), IndexData::I64(self.columns)];
        Parts { coords, values: values.gather(&self.at) }
    }
}
