//! Reading and writing tensor files: the format by extension, gzip, progress, and safe replacement.
//!
//! In: a path. Out: [`File`] — or, for [`write()`], a file that is either complete or untouched.

use std::cell::Cell;
use std::fs;
use std::io::{self, BufReader, BufWriter, Cursor, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::arrays_file::read_stored;
use super::lines::{Lines, Room, Watch, read_failed};
use super::loaded::Loaded;
use super::options::ReadOptions;
use super::replace::{check_place, replace};
use super::written::{WriteFailure, Written};
use super::{arrays_file, binsparse, mtx, npy, npz, pydata, scipy, tns};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::tensor::{DenseArray, Entries, Tensor, Value, differing};

/// The extensions that are understood; `.gz` may follow each.
pub const EXTENSIONS: [&str; 4] = [".mtx", ".tns", ".npy", ".npz"];

/// Bytes between two reports of progress.
const REPORT_EVERY: u64 = 1 << 20;

/// What was read.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// What the file holds.
    pub loaded: Loaded,
    /// What was accepted although the format forbids it, with the line.
    pub warnings: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    MatrixMarket,
    Frostt,
    Npy,
    Npz,
}

impl Format {
    /// The format by extension, and whether it is compressed.
    fn of(path: &Path) -> Result<(Format, bool)> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let (stem, compressed) = match name.strip_suffix(".gz") {
            Some(stem) => (stem, true),
            None => (name.as_str(), false),
        };
        let formats = [Format::MatrixMarket, Format::Frostt, Format::Npy, Format::Npz];
        EXTENSIONS
            .iter()
            .zip(formats)
            .find(|(extension, _)| stem.ends_with(**extension))
            .map(|(_, format)| (format, compressed))
            .ok_or_else(|| {
                Diagnostic::new(
                    Code::Usage,
                    format!("`{}` does not have the extension of a tensor file", path.display()),
                )
                .help(format!(
                    "the extensions are {} (also followed by .gz)",
                    EXTENSIONS.join(", ")
                ))
            })
    }
}

/// Reads a tensor file; its extension says the format.
///
/// # Errors
/// [`Code::Io`] if the file cannot be opened or read, [`Code::Usage`] if the extension is unknown,
/// [`Code::Data`] (with the line, in text files) if it is malformed, [`Code::Shape`] if the extents
/// are not the ones that `options` gives.
pub fn read(path: &Path, options: &ReadOptions<'_>) -> Result<File> {
    let (format, compressed) = Format::of(path)?;
    let name = path.display().to_string();
    if format == Format::Npz
        && let Some(mut tensor) = read_stored(path, options.fill)?
    {
        tensor.validate().map_err(|e| e.note(format!("in `{name}`")))?;
        return finish(Loaded::of(tensor, options.fill)?, Vec::new(), &name, options);
    }
    let file = fs::File::open(path).map_err(|error| {
        Diagnostic::new(Code::Io, format!("cannot open `{name}`: {error}"))
            .help("check the path and its permissions")
    })?;
    let total = file.metadata().map_or(0, |metadata| metadata.len());
    let done = AtomicU64::new(0);
    let counted = Counted { file, done: &done };
    let progress =
        Progress { done: &done, reported: Cell::new(0), total, callback: options.progress };
    let decoded: Box<dyn Read + Send + '_> = match (format, compressed) {
        (Format::Npz, _) => {
            let reported = Reported { source: counted, progress: &progress };
            return read_archive(reported, compressed, &name, options);
        }
        (_, true) => Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, counted))),
        (_, false) => Box::new(counted),
    };
    // Numbers as text compress about fourfold, rarely beyond tenfold.
    let room = Room { text_bytes: if compressed { total.saturating_mul(10) } else { total } };
    let callback = |done| progress.report(done);
    let watch = Watch { position: &done, callback: &callback };
    let (loaded, warnings) = match format {
        Format::MatrixMarket => mtx::read(Lines::new(decoded, &name, watch), options, room)?,
        Format::Frostt => {
            let lines = Lines::new(decoded, &name, watch);
            (Loaded::Entries(tns::read(lines, options, room)?), Vec::new())
        }
        Format::Npy | Format::Npz => {
            let mut reported = BufReader::new(Reported { source: decoded, progress: &progress });
            (Loaded::Dense(npy::read(&mut reported, &name)?), Vec::new())
        }
    };
    finish(loaded, warnings, &name, options)
}

/// An archive is read here and there, so a compressed one is decompressed first.
fn read_archive(
    counted: Reported<'_, Counted<'_>>,
    compressed: bool,
    name: &str,
    options: &ReadOptions<'_>,
) -> Result<File> {
    let entries = if compressed {
        let mut bytes = Vec::new();
        MultiGzDecoder::new(BufReader::new(counted))
            .read_to_end(&mut bytes)
            .map_err(|error| read_failed(name, &error))?;
        npz::read(Cursor::new(bytes), name, options.fill)?
    } else {
        npz::read(BufReader::new(counted), name, options.fill)?
    };
    finish(Loaded::Entries(entries), Vec::new(), name, options)
}

/// Applies what was asked of the values and extents.
fn finish(
    loaded: Loaded,
    warnings: Vec<String>,
    name: &str,
    options: &ReadOptions<'_>,
) -> Result<File> {
    let mut loaded = match options.value_type {
        Some(value_type) => {
            loaded.into_type(value_type).map_err(|error| error.note(format!("in `{name}`")))?
        }
        None => loaded,
    };
    if let Some(dims) = &options.dims {
        loaded = loaded.into_rank(dims.len()).unwrap_or_else(|unchanged| unchanged);
        if loaded.dims() != dims.as_slice() {
            return Err(Diagnostic::new(
                Code::Shape,
                format!("`{name}` has the extents {:?}, not {dims:?}", loaded.dims()),
            )
            .help("leave the extents out: this file holds them"));
        }
    }
    Ok(File { loaded, warnings })
}

/// A file that counts how much of it was read, on whatever thread.
struct Counted<'a> {
    file: fs::File,
    done: &'a AtomicU64,
}

/// Reports how much was read, on the thread of the caller.
struct Progress<'a> {
    done: &'a AtomicU64,
    reported: Cell<u64>,
    total: u64,
    callback: Option<&'a dyn Fn(u64, u64)>,
}

impl Progress<'_> {
    fn report(&self, done: u64) {
        if let Some(callback) = self.callback
            && done - self.reported.get() >= REPORT_EVERY
        {
            self.reported.set(done);
            // Parts of an archive may be read twice.
            callback(done.min(self.total), self.total);
        }
    }
}

impl Drop for Progress<'_> {
    /// What the last report has left out.
    fn drop(&mut self) {
        let done = self.done.load(Ordering::Relaxed);
        if let Some(callback) = self.callback
            && done > self.reported.get()
        {
            callback(done.min(self.total), self.total);
        }
    }
}

/// A source that reports while it is read.
struct Reported<'a, R> {
    source: R,
    progress: &'a Progress<'a>,
}

impl<R: Read> Read for Reported<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(buffer)?;
        self.progress.report(self.progress.done.load(Ordering::Relaxed));
        Ok(n)
    }
}

impl<R: Seek> Seek for Reported<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.source.seek(to)
    }
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        self.done.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

impl Seek for Counted<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// Refuses a path that no tensor can be written to, before any work is done for it: another extension,
/// a missing folder, a format that has no tensors of this rank (if it is known).
///
/// # Errors
/// [`Code::Usage`], [`Code::Io`], [`Code::Shape`].
pub fn check_writable(path: &Path, rank: Option<usize>) -> Result<()> {
    let (format, _) = Format::of(path)?;
    check_place(path)?;
    match (rank, format) {
        (Some(rank), Format::MatrixMarket) => mtx::check_rank(rank),
        (Some(rank), Format::Frostt) => tns::check_rank(rank),
        (Some(rank), Format::Npz) => check_archived_rank(rank),
        (_, Format::Npy) | (None, _) => Ok(()),
    }
}

/// Writes a tensor file; its extension says the format. The same data give the same bytes, and
/// values are written so that they read back exactly. An existing file is replaced at the end, by
/// renaming: it is never lost, and nobody sees a half-written one.
///
/// # Errors
/// [`Code::Io`] if it cannot be written, [`Code::Usage`] if the extension is unknown,
/// [`Code::Shape`] if the format cannot hold a tensor of this rank or size.
pub fn write(path: &Path, data: &Loaded) -> Result<()> {
    let (format, compressed) = Format::of(path)?;
    put(path, compressed, |out| match format {
        Format::MatrixMarket => Ok(mtx::write(out, data)?),
        Format::Frostt => Ok(tns::write(out, data)?),
        Format::Npy => npy::write(out, data),
        Format::Npz => match data {
            Loaded::Entries(entries) => write_entries(out, entries),
            Loaded::Dense(array) => write_entries(out, &array.to_entries()),
        },
    })
}

/// Entries in an archive that both SciPy and PyData read, where both have tensors of this rank.
fn write_entries(out: &mut dyn Write, entries: &Entries) -> Written {
    check_archived_rank(entries.rank())?;
    match entries.rank() {
        2 => scipy::write_entries(out, entries),
        _ => pydata::write_entries(out, entries, None),
    }
}

/// Writes a tensor as it is stored, if the format of the file can: an archive (`.npz`) is SciPy's or
/// PyData's where one of these has a storage like the tensor's layout, and holds the layout's own arrays
/// with their declaration otherwise. Other formats list the entries. Says what was written.
///
/// # Errors
/// Those of [`write()`].
pub fn write_tensor(path: &Path, tensor: Tensor) -> Result<String> {
    write_filled(path, tensor, None).map(|wrote| wrote.what)
}

/// What a file of a tensor is.
pub struct Wrote {
    /// In words.
    pub what: String,
    /// It says what elements are that it does not store, or stores all.
    pub says_fill: bool,
}

/// [`write_tensor`] of a tensor that is `fill` where it stores nothing: PyData's archives and our own say so.
/// The others do not, as the answer tells.
///
/// # Errors
/// Those of [`write_tensor`].
pub fn write_filled(path: &Path, mut tensor: Tensor, fill: Option<Value>) -> Result<Wrote> {
    let (format, compressed) = Format::of(path)?;
    // What could not be read again is not written.
    tensor.validate()?;
    if format != Format::Npz {
        let loaded = match (Loaded::of(tensor, fill)?, fill) {
            // A list of entries leaves out what is there without it.
            (Loaded::Dense(array), Some(fill)) if format == Format::Frostt => {
                Loaded::Entries(differing(array.dims(), array.values(), fill))
            }
            // An array has every element.
            (Loaded::Entries(entries), Some(fill)) if format == Format::Npy => {
                Loaded::Dense(DenseArray::from_entries_else(&entries, fill)?)
            }
            (loaded, _) => loaded,
        };
        write(path, &loaded)?;
        let (what, lists_all) = match loaded {
            Loaded::Entries(_) => ("its entries", false),
            Loaded::Dense(_) => ("an array", format != Format::Frostt),
        };
        return Ok(Wrote { what: what.to_string(), says_fill: lists_all });
    }
    let layout = tensor.layout();
    if let (Some(known), None) = (scipy::storage(&tensor)?, fill) {
        put(path, compressed, |out| scipy::write(out, &tensor, &known))?;
        let what = format!("SciPy's {}", known.format);
        return Ok(Wrote { what, says_fill: false });
    }
    if let Some((known, axes)) = pydata::storage(&tensor)? {
        put(path, compressed, |out| pydata::write(out, &tensor, &known, &axes, fill))?;
        let what = format!("PyData's {}", known.format);
        return Ok(Wrote { what, says_fill: true });
    }
    if pydata::is_list(layout)? {
        let entries = tensor.entries_else(fill.unwrap_or(Value::zero(tensor.value_type())))?;
        put(path, compressed, |out| pydata::write_entries(out, &entries, fill))?;
        let what = "a list of coordinates".to_string();
        return Ok(Wrote { what, says_fill: true });
    }
    put(path, compressed, |out| arrays_file::write(out, &tensor, fill))?;
    let what = match binsparse::storage(layout)? {
        Some(known) => format!("Binsparse's {}, with its declaration", known.format),
        None => "the arrays of the layout, with its declaration".to_string(),
    };
    Ok(Wrote { what, says_fill: true })
}

/// A file that is complete, or the old one.
fn put(path: &Path, compressed: bool, emit: impl FnOnce(&mut dyn Write) -> Written) -> Result<()> {
    check_place(path)?;
    let written = replace(path, |out| {
        if !compressed {
            emit(out)?;
            return Ok(out.flush()?);
        }
        // The encoder writes no date and no name, so its bytes depend on the content alone.
        let encoder = GzEncoder::new(out, Compression::default());
        let mut buffered = BufWriter::with_capacity(1 << 16, encoder);
        emit(&mut buffered)?;
        buffered.flush()?;
        Ok(buffered.get_mut().try_finish()?)
    });
    written.map_err(|failure: WriteFailure| failure.diagnostic(path))
}

/// # Errors
/// [`Code::Shape`] if entries of this rank have no coordinates.
fn check_archived_rank(rank: usize) -> Result<()> {
    match rank {
        0 => Err(Diagnostic::new(Code::Shape, "a scalar does not fit in a sparse archive")
            .help("use a .npy file")),
        _ => Ok(()),
    }
}
