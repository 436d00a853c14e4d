//! `-` for standard input and output.
//!
//! In: `-:TYPE`, where the type is a file's extension without its dot. Out: a temporary file with that
//! extension, which everything else reads and writes as any other. Without a type, the input is looked at.

use std::io::{self, Read, Write};
use std::path::Path;

use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::files::EXTENSIONS;
use siskin::temporary::{self, InUse};
use tempfile::NamedTempFile;

/// What stands for standard input and output.
pub const NAME: &str = "-";

/// Removed when it is dropped, or when a signal ends the process.
#[derive(Debug)]
pub struct Standard {
    file: NamedTempFile,
    _in_use: InUse,
}

/// Splits `mtx:csr` behind `-:` into the type and the rest.
pub fn split_type(text: &str) -> Option<(&str, Option<&str>)> {
    let (first, rest) = match text.split_once(':') {
        Some((first, rest)) => (first, Some(rest)),
        None => (text, None),
    };
    let known = |name: &str| EXTENSIONS.iter().any(|e| e[1..] == *name);
    known(first.strip_suffix(".gz").unwrap_or(first)).then_some((first, rest))
}

fn temporary(extension: &str) -> Result<Standard> {
    let suffix = format!(".{extension}");
    let make = || tempfile::Builder::new().prefix("siskin-").suffix(&suffix).tempfile();
    let (file, _in_use) = temporary::create(make, NamedTempFile::path)
        .map_err(|error| failed("make a temporary file", &error))?;
    Ok(Standard { file, _in_use })
}

fn failed(what: &str, error: &io::Error) -> Box<Diagnostic> {
    Diagnostic::new(Code::Io, format!("cannot {what}: {error}"))
        .help("check that the folder for temporary files (TMPDIR) has space")
}

impl Standard {
    /// All of standard input.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn input(extension: Option<&str>) -> Result<Standard> {
        let mut source = io::stdin().lock();
        let mut head = Vec::new();
        let read = source.by_ref().take(4096).read_to_end(&mut head);
        read.map_err(|error| failed("read standard input", &error))?;
        let extension = extension.unwrap_or_else(|| sniffed(&head)).to_string();
        let mut to = temporary(&extension)?;
        let mut copy = || -> io::Result<()> {
            to.file.write_all(&head)?;
            io::copy(&mut source, &mut to.file)?;
            to.file.flush()
        };
        copy().map_err(|error| failed("keep standard input", &error))?;
        Ok(to)
    }

    /// A file to write what goes to standard output.
    ///
    /// # Errors
    /// [`Code::Io`], and [`Code::Usage`] if no type is given.
    pub fn output(extension: Option<&str>) -> Result<Standard> {
        let Some(extension) = extension else {
            return Err(Diagnostic::new(Code::Usage, "standard output has no extension")
                .help("say the type of the file: `-:mtx`, `-:tns`, `-:npy` or `-:npz`"));
        };
        temporary(extension)
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Copies what was written to standard output. A reader that goes away is no error.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn print(&self) -> Result<()> {
        let copy = || -> io::Result<()> {
            let mut out = io::stdout().lock();
            io::copy(&mut std::fs::File::open(self.path())?, &mut out)?;
            out.flush()
        };
        match copy() {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                let what = format!("cannot write standard output: {error}");
                Err(Diagnostic::new(Code::Io, what)
                    .help("see where it goes, or name a file instead: `-o FILE`"))
            }
            _ => Ok(()),
        }
    }
}

/// The extension of content that begins so.
fn sniffed(head: &[u8]) -> &'static str {
    let unzipped = |head: &[u8]| -> Vec<u8> {
        let mut out = Vec::new();
        let _ = flate2::read::MultiGzDecoder::new(head).take(64).read_to_end(&mut out);
        out
    };
    match head {
        [0x1f, 0x8b, ..] => match plain(&unzipped(head)) {
            "mtx" => "mtx.gz",
            "npy" => "npy.gz",
            "npz" => "npz.gz",
            _ => "tns.gz",
        },
        _ => plain(head),
    }
}

fn plain(head: &[u8]) -> &'static str {
    match head {
        _ if head.starts_with(b"%%") => "mtx",
        _ if head.starts_with(b"\x93NUMPY") => "npy",
        _ if head.starts_with(b"PK\x03\x04") => "npz",
        _ => "tns",
    }
}
