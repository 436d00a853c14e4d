//! The arrays of a packed tensor in a NumPy archive (`.npz`): one member for each index array under
//! its name, the values under theirs, the extents as `shape`, and counted sizes under their names.
//!
//! Unlike the other files, this one belongs to a layout. Nothing about the arrays is believed:
//! [`Tensor::validate`] says what is wrong with them.

use std::fs;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use npyz::npz::NpzArchive;

use super::npy;
use super::npy_header::bad;
use super::stored_zip::StoredZip;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;
use crate::layout::Layout;
use crate::tensor::{DenseArray, IndexData, Tensor, Values};

const SHAPE: &str = "shape";

/// Whether the archive at `path` holds arrays of some layout; SciPy's say their `format`.
///
/// # Errors
/// [`Code::Io`] if it cannot be opened, [`Code::Data`] if it is no archive.
pub fn holds_arrays(path: &Path) -> Result<bool> {
    Ok(!open(path)?.array_names().any(|name| name == "format"))
}

fn open(path: &Path) -> Result<NpzArchive<BufReader<fs::File>>> {
    let file = fs::File::open(path).map_err(|error| {
        Diagnostic::new(Code::Io, format!("cannot open `{}`: {error}", path.display()))
            .help("check the path and its permissions")
    })?;
    NpzArchive::new(BufReader::new(file)).map_err(|error| {
        bad(&path.display().to_string(), format!("not a zip archive: {error}"))
            .help("write it with `numpy.savez`")
    })
}

impl Tensor {
    /// Reads the arrays of a tensor in `layout`; they are not validated.
    ///
    /// # Errors
    /// [`Code::Io`] if the file cannot be read, [`Code::Data`] if a member is missing or malformed;
    /// those of [`Tensor::new`].
    pub fn read_arrays(layout: &Arc<Layout>, path: &Path) -> Result<Tensor> {
        let mut archive = open(path)?;
        let name = path.display().to_string();
        let shape = integers(&mut archive, &name, SHAPE)?;
        let dims: Option<Vec<usize>> = shape.iter().map(|&n| usize::try_from(n).ok()).collect();
        let dims = dims.ok_or_else(|| bad(&name, format!("`{SHAPE}` has a negative extent")))?;
        let mut arrays = IndexMap::new();
        for array in layout.arrays.keys() {
            let numbers = integers(&mut archive, &name, array)?;
            arrays.insert(array.clone(), IndexData::I64(numbers));
        }
        let mut counted: IndexMap<Name, i64> = IndexMap::new();
        for (size, definition) in &layout.params {
            if definition.is_none() && archive.array_names().any(|found| *found == **size) {
                match integers(&mut archive, &name, size)?.as_slice() {
                    [n] => counted.insert(size.clone(), *n),
                    _ => return Err(bad(&name, format!("`{size}` is not one number"))),
                };
            }
        }
        let values = member(&mut archive, &name, &layout.value.name)?.into_values();
        Tensor::new(layout.clone(), dims, &counted, arrays, values)
            .map_err(|e| e.note(format!("in `{name}`")))
    }

    /// Writes the arrays, so that [`Tensor::read_arrays`] reads the tensor back.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn write_arrays(&self, path: &Path) -> Result<()> {
        let numbers = |numbers: Vec<i64>| Values::I64(numbers);
        let mut members: Vec<(String, Values)> =
            vec![(SHAPE.to_string(), numbers(self.dims().iter().map(|&n| n as i64).collect()))];
        for (name, data) in self.arrays() {
            members.push((name.to_string(), numbers(data.iter_i64().collect())));
        }
        for (name, definition) in &self.layout().params {
            if definition.is_none() {
                members.push((name.to_string(), numbers(vec![self.params()[name]])));
            }
        }
        members.push((self.layout().value.name.to_string(), self.values().clone()));
        let write = || -> std::io::Result<()> {
            let mut out = BufWriter::new(fs::File::create(path)?);
            let mut archive = StoredZip::new(&mut out);
            for (name, values) in &members {
                let mut bytes = Vec::new();
                npy::write_array(&mut bytes, &[values.len()], values)?;
                archive.add(&format!("{name}.npy"), &bytes)?;
            }
            archive.finish()?;
            out.flush()
        };
        write().map_err(|error| {
            Diagnostic::new(Code::Io, format!("cannot write `{}`: {error}", path.display()))
                .help("check that the folder exists, can be written to and has space")
        })
    }
}

fn member<R: Read + Seek>(
    archive: &mut NpzArchive<R>,
    name: &str,
    key: &str,
) -> Result<DenseArray> {
    let file = format!("{key}.npy");
    if !archive.array_names().any(|found| found == key) {
        return Err(bad(name, format!("the archive has no member `{file}`")).help(
            "the members are named like the index arrays and values of the layout, and `shape`",
        ));
    }
    match archive.zip_archive().by_name(&file) {
        Ok(mut content) => npy::read(&mut content, &format!("{name}: {file}")),
        Err(error) => Err(bad(name, format!("the member `{file}` cannot be read: {error}"))
            .help("write it with `numpy.savez`")),
    }
}

/// A vector of integers, or one integer.
fn integers<R: Read + Seek>(
    archive: &mut NpzArchive<R>,
    name: &str,
    key: &str,
) -> Result<Vec<i64>> {
    match member(archive, name, key)?.into_values() {
        Values::I64(v) => Ok(v),
        Values::I32(v) => Ok(v.into_iter().map(i64::from).collect()),
        other => Err(bad(
            name,
            format!("`{key}` has values of type {}, not integers", other.value_type()),
        )
        .help("index arrays, sizes and extents are integers")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packing::{PackOptions, pack};
    use crate::tensor::Entries;

    fn packed() -> Tensor {
        let layout = Arc::new(Layout::named("csr").unwrap());
        let a = Entries::from_points(&[2, 3], &[(&[1, 2], 5.0), (&[1, 0], 7.5)]).unwrap();
        pack(&layout, &a, &PackOptions::default()).unwrap()
    }

    #[test]
    fn a_packed_tensor_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        let tensor = packed();
        tensor.write_arrays(&path).unwrap();
        assert!(holds_arrays(&path).unwrap());
        let mut read = Tensor::read_arrays(tensor.layout(), &path).unwrap();
        read.validate().unwrap();
        assert_eq!(read.dims(), tensor.dims());
        assert_eq!(read.params(), tensor.params());
        assert_eq!(read.entries().unwrap(), tensor.entries().unwrap());
        // The members of another layout are missing.
        let other = Arc::new(Layout::named("dcsr").unwrap());
        let error = Tensor::read_arrays(&other, &path).unwrap_err();
        assert_eq!(error.code, Code::Data);
    }

    #[test]
    fn what_is_no_archive_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(holds_arrays(file.path()).unwrap_err().code, Code::Data);
        assert_eq!(holds_arrays(Path::new("/nonexistent.npz")).unwrap_err().code, Code::Io);
    }
}
