//! The arrays of a packed tensor in a NumPy archive (`.npz`): one member for each index array under
//! its name (counted from its `base`), the values under theirs, unless they are all the same, the extents as `shape`, counted sizes under their names, what is not
//! stored as `fill_value` unless it is zero, and the declaration of the layout as `declaration.toml`. Where Binsparse has a name for the storage, the
//! members have its names, and its descriptor is `binsparse.json`.
//!
//! A tensor is read back without packing. Nothing about its arrays is believed: [`Tensor::validate`] says
//! what is wrong with them.

use std::fs;
use std::io::{BufReader, Cursor, Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use indexmap::IndexMap;
use npyz::npz::NpzArchive;

use super::binsparse;
use super::known::Known;
use super::lines::read_failed;
use super::npy;
use super::npy_header::bad;
use super::options::refuse_other_fill;
use super::replace::replace;
use super::scipy;
use super::stored_zip::StoredZip;
use super::written::{WriteFailure, Written};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;
use crate::layout::{Layout, LayoutSpec, checks};
use crate::tensor::{DenseArray, IndexData, IndexType, Tensor, Value, Values, known_sizes};

const SHAPE: &str = "shape";
const FILL: &str = "fill_value";
const DECLARATION: &str = "declaration.toml";
const DESCRIPTOR: &str = "binsparse.json";

/// Members by which the sparse arrays of other programs are known.
const OF_OTHERS: [&str; 3] = ["format", "coords", "compressed_axes"];

/// A file, or what was unzipped of one.
trait Source: Read + Seek {}
impl<T: Read + Seek> Source for T {}
type Archive = NpzArchive<Box<dyn Source>>;

/// Whether the archive at `path` holds arrays of some layout, rather than SciPy's or PyData's.
///
/// # Errors
/// [`Code::Io`] if it cannot be opened, [`Code::Data`] if it is no archive.
pub fn holds_arrays(path: &Path) -> Result<bool> {
    let mut archive = open(path)?;
    let others = archive.array_names().any(|name| OF_OTHERS.contains(&name));
    Ok(text(&mut archive, DECLARATION).is_some() || !others)
}

/// The tensor of an archive that holds its layout's declaration; it is not validated.
///
/// # Errors
/// Those of [`Tensor::read_arrays`], and of the declaration; [`Code::Data`] if what is not stored is something
/// else than `fill`, or than zero.
pub fn read_stored(path: &Path, fill: Option<Value>) -> Result<Option<Tensor>> {
    let mut archive = open(path)?;
    let Some(declaration) = text(&mut archive, DECLARATION) else { return Ok(None) };
    let name = path.display().to_string();
    let spec = LayoutSpec::from_toml(&format!("{name}: {DECLARATION}"), &declaration)?;
    let Some(rank) = spec.rank() else {
        return Err(bad(&name, "the declaration in the archive is one for any rank")
            .help("write the archive again with `siskin convert`"));
    };
    let mut layout = spec.instantiate(rank)?;
    // The name that it had when it was written.
    if let Some(own) = spec.own_name() {
        layout.name = own.to_string();
    }
    let tensor = read_from(&mut archive, &Arc::new(layout), &name)?;
    let says = archive.array_names().any(|found| found == FILL);
    let said = match says {
        true => member(&mut archive, &name, FILL)?.into_values(),
        false => Value::zero(tensor.value_type()).repeated(1),
    };
    refuse_other_fill(&name, &said, fill)?;
    Ok(Some(tensor))
}

/// What elements are that an archive (`.npz`) does not store, if it says so and they are not zero.
///
/// # Errors
/// [`Code::Io`] or [`Code::Data`] if it cannot be read.
pub fn fill_of(path: &Path) -> Result<Option<Value>> {
    let mut archive = open(path)?;
    if !archive.array_names().any(|found| found == FILL) {
        return Ok(None);
    }
    let said = member(&mut archive, &path.display().to_string(), FILL)?.into_values();
    let fill = (said.len() == 1).then(|| Value::element(&said, 0));
    Ok(fill.filter(|fill| !fill.same(Value::zero(fill.value_type()))))
}

fn open(path: &Path) -> Result<Archive> {
    let name = path.display().to_string();
    let file = fs::File::open(path).map_err(|error| {
        Diagnostic::new(Code::Io, format!("cannot open `{name}`: {error}"))
            .help("check the path and its permissions")
    })?;
    let zipped = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    let source: Box<dyn Source> = match zipped {
        false => Box::new(BufReader::new(file)),
        true => {
            let mut bytes = Vec::new();
            let mut decoder = MultiGzDecoder::new(BufReader::new(file));
            decoder.read_to_end(&mut bytes).map_err(|error| read_failed(&name, &error))?;
            Box::new(Cursor::new(bytes))
        }
    };
    NpzArchive::new(source).map_err(|error| {
        bad(&name, format!("not a zip archive: {error}")).help("write it with `numpy.savez`")
    })
}

/// A member that is a text.
fn text(archive: &mut Archive, member: &str) -> Option<String> {
    /// No declaration is longer.
    const MOST: u64 = 1 << 20;
    let mut text = String::new();
    let content = archive.zip_archive().by_name(member).ok()?;
    content.take(MOST).read_to_string(&mut text).ok()?;
    Some(text)
}

/// What the member of an array of `layout` is called.
fn member_name<'a>(known: Option<&'a Known>, array: &'a Name) -> &'a Name {
    let named = known.and_then(|k| k.names.iter().find(|(_, of_layout)| *of_layout == array));
    named.map_or(array, |(of_model, _)| of_model)
}

fn read_from(archive: &mut Archive, layout: &Arc<Layout>, name: &str) -> Result<Tensor> {
    let known = match text(archive, DESCRIPTOR) {
        Some(_) => binsparse::storage(layout)?,
        None => None,
    };
    let known = known.as_ref();
    let shape = integers(archive, name, SHAPE)?;
    let dims: Option<Vec<usize>> = shape.iter().map(|&n| usize::try_from(n).ok()).collect();
    let dims = dims.ok_or_else(|| bad(name, format!("`{SHAPE}` has a negative extent")))?;
    let mut arrays = IndexMap::new();
    for (array, declared) in &layout.arrays {
        let mut numbers = integers(archive, name, member_name(known, array))?;
        for number in &mut numbers {
            *number = number.checked_sub(declared.base).ok_or_else(|| {
                bad(name, format!("`{array}` holds {number}, which is out of range"))
            })?;
        }
        // As packing would have it, so that a kernel takes it as it is.
        let narrow = match checks::admits_negative(declared) {
            true => IndexType::I32,
            false => IndexType::U32,
        };
        let data = IndexData::I64(numbers);
        arrays.insert(array.clone(), data.convert(narrow).unwrap_or(data));
    }
    let mut counted: IndexMap<Name, i64> = IndexMap::new();
    for (size, definition) in &layout.params {
        if definition.is_none() && archive.array_names().any(|found| *found == **size) {
            match integers(archive, name, size)?.as_slice() {
                [n] => counted.insert(size.clone(), *n),
                _ => return Err(bad(name, format!("`{size}` is not one number"))),
            };
        }
    }
    let about = |e: Box<Diagnostic>| e.note(format!("in `{name}`"));
    let values = match layout.value.constant.map(Value::from) {
        // A value that is the only one need not be there.
        Some(value) if !archive.array_names().any(|found| *found == *layout.value.name) => {
            let (scope, _) = known_sizes(layout, &dims, &counted, &arrays).map_err(about)?;
            let len = scope.value(&layout.value.len).and_then(|n| usize::try_from(n).ok());
            let values = len.and_then(|n| Values::try_zeros(value.value_type(), n));
            let mut values = values.ok_or_else(|| {
                bad(name, "the values are too many, or their number is not known")
            })?;
            value.fill(&mut values);
            values
        }
        _ => member(archive, name, member_name(known, &layout.value.name))?.into_values(),
    };
    Tensor::new(layout.clone(), dims, &counted, arrays, values).map_err(about)
}

/// Writes the members; what Binsparse calls the storage, if it does.
pub(super) fn write(out: &mut dyn Write, tensor: &Tensor, fill: Option<Value>) -> Written {
    let layout = tensor.layout();
    let own = [(SHAPE, "the extents"), (FILL, "what is not stored")];
    let named = |name: &str| layout.arrays.keys().chain(layout.params.keys()).any(|n| &**n == name);
    if let Some((name, what)) = own.into_iter().find(|(name, _)| named(name)) {
        return Err(WriteFailure::Refused(
            Diagnostic::new(
                Code::Data,
                format!("{what} would have the name of an array, `{name}`"),
            )
            .help("rename the array in the declaration"),
        ));
    }
    let known = binsparse::storage(layout)?;
    let known = known.as_ref();
    let numbers = |numbers: Vec<i64>| Values::I64(numbers);
    let mut members: Vec<(&str, Values)> =
        vec![(SHAPE, numbers(tensor.dims().iter().map(|&n| n as i64).collect()))];
    for (name, data) in tensor.arrays() {
        let base = layout.arrays[name].base;
        let written: Option<Vec<i64>> = data.iter_i64().map(|n| n.checked_add(base)).collect();
        let written = written.ok_or_else(|| {
            let message = format!("`{name}`, counted from {base}, has numbers beyond 2^63");
            Diagnostic::new(Code::Data, message)
                .help(format!("give `{name}` a smaller `base` in the declaration"))
        })?;
        members.push((member_name(known, name), numbers(written)));
    }
    for (name, definition) in &layout.params {
        if definition.is_none() {
            members.push((name, numbers(vec![tensor.params()[name]])));
        }
    }
    let mut archive = StoredZip::new(out);
    archive.add(DECLARATION, layout.to_toml().as_bytes())?;
    if let Some(known) = known {
        archive.add(DESCRIPTOR, binsparse::descriptor(tensor, known).as_bytes())?;
    }
    let fill = fill.map(|fill| (FILL, fill.cast(tensor.value_type()).repeated(1)));
    members.extend(fill);
    let values = (&**member_name(known, &layout.value.name), tensor.values());
    let values = layout.value.constant.is_none().then_some(values);
    for (name, values) in members.iter().map(|(name, v)| (*name, v)).chain(values) {
        archive.add(&format!("{name}.npy"), &scipy::member(&[values.len()], values)?)?;
    }
    Ok(archive.finish()?)
}

impl Tensor {
    /// Reads the arrays of a tensor in `layout`; they are not validated.
    ///
    /// # Errors
    /// [`Code::Io`] if the file cannot be read, [`Code::Data`] if a member is missing or malformed;
    /// those of [`Tensor::new`].
    pub fn read_arrays(layout: &Arc<Layout>, path: &Path) -> Result<Tensor> {
        read_from(&mut open(path)?, layout, &path.display().to_string())
    }

    /// Writes the arrays with the declaration of the layout, so that [`read_stored`] reads the tensor
    /// back.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn write_arrays(&self, path: &Path) -> Result<()> {
        replace(path, |out| write(out, self, None)).map_err(|failure| failure.diagnostic(path))
    }
}

fn member(archive: &mut Archive, name: &str, key: &str) -> Result<DenseArray> {
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

/// A vector of integers, or one integer; what is true is 1.
fn integers(archive: &mut Archive, name: &str, key: &str) -> Result<Vec<i64>> {
    match member(archive, name, key)?.into_values() {
        Values::I64(v) => Ok(v),
        Values::I32(v) => Ok(v.into_iter().map(i64::from).collect()),
        Values::U8(v) => Ok(v.into_iter().map(i64::from).collect()),
        Values::Bool(v) => Ok(v.into_iter().map(i64::from).collect()),
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
        // The declaration is beside the arrays.
        let mut stored = read_stored(&path, None).unwrap().unwrap();
        stored.validate().unwrap();
        assert!(stored.layout().same_as(tensor.layout()));
        assert_eq!(stored.arrays(), tensor.arrays());
        // The members of another layout are missing.
        let other = Arc::new(Layout::named("dcsr").unwrap());
        let error = Tensor::read_arrays(&other, &path).unwrap_err();
        assert_eq!(error.code, Code::Data);
    }

    fn add<T: npyz::AutoSerialize + Copy>(
        archive: &mut npyz::npz::NpzWriter<std::io::BufWriter<std::fs::File>>,
        name: &str,
        elements: &[T],
    ) {
        use npyz::WriterBuilder;
        let member = archive.array(name, Default::default()).unwrap().default_dtype();
        let mut member = member.shape(&[elements.len() as u64]).begin_nd().unwrap();
        member.extend(elements.iter().copied()).unwrap();
        member.finish().unwrap();
    }

    #[test]
    fn truth_values_are_numbers_of_index_arrays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        let text = "SparseByteMap(Element(0.0))";
        let layout = Arc::new(Layout::named_for_rank(text, 1).unwrap());
        let mut archive = npyz::npz::NpzWriter::create(&path).unwrap();
        add(&mut archive, "shape", &[3_i64]);
        add(&mut archive, "tbl0", &[false, true, false]);
        add(&mut archive, "val", &[0.0, 2.5, 0.0]);
        drop(archive);
        let read = Tensor::read_arrays(&layout, &path).unwrap();
        assert_eq!(read.entries().unwrap().values(), &Values::F64(vec![2.5]));
        assert_eq!(read.entries().unwrap().point(0), [1]);
    }

    #[test]
    fn what_is_no_archive_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(holds_arrays(file.path()).unwrap_err().code, Code::Data);
        assert_eq!(holds_arrays(Path::new("/nonexistent.npz")).unwrap_err().code, Code::Io);
    }
}
