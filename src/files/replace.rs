//! Replacing a file at once: what is written is complete, or the old file stays as it was.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::temporary;

/// Bytes that are collected before they are written.
const BUFFER: usize = 1 << 18;

/// Refuses a path at which no file can be, before any work is done for it.
///
/// # Errors
/// [`Code::Io`].
pub fn check_place(path: &Path) -> Result<()> {
    let folder = folder_of(path);
    let why = match () {
        () if path.is_dir() => "it is a folder".to_string(),
        () if !folder.exists() => format!("there is no folder `{}`", folder.display()),
        () if !folder.is_dir() => format!("`{}` is not a folder", folder.display()),
        () => return Ok(()),
    };
    Err(Diagnostic::new(Code::Io, format!("cannot write `{}`: {why}", path.display()))
        .help("give the path of a file in a folder that exists"))
}

/// The file that a path names, whatever links lead to it; it need not be there.
pub fn resolved(path: &Path) -> PathBuf {
    let within = || Some(fs::canonicalize(folder_of(path)).ok()?.join(path.file_name()?));
    fs::canonicalize(path).ok().or_else(within).unwrap_or_else(|| path.to_path_buf())
}

/// Whether what is written there takes the place of nothing, as with `/dev/null`.
pub fn is_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir())
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Calls `write` with a new file, which takes the place of the one at `path` when it is complete. A
/// link stays a link: what it leads to is replaced. Devices and pipes are written to.
///
/// # Errors
/// Those of `write`, and of the file system.
pub fn replace<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    // `/dev/null` must stay what it is.
    if is_device(path) {
        let device = fs::File::options().write(true).open(path)?;
        let mut out = BufWriter::with_capacity(BUFFER, device);
        write(&mut out)?;
        return Ok(out.flush()?);
    }
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    // The message of the temporary file's own error has its name in it, which says nothing.
    let (temporary, _in_use) =
        temporary::create(|| temporary_file(&target), tempfile::NamedTempFile::path)
            .map_err(|error| io::Error::from(error.kind()))?;
    let mut out = BufWriter::with_capacity(BUFFER, temporary);
    write(&mut out)?;
    let temporary = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    temporary.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

/// A temporary file with the permissions that the file at `path` has or would get; temporary files
/// are private otherwise.
fn temporary_file(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".siskin-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let file = builder.tempfile_in(folder_of(path))?;
    if let Ok(existing) = fs::metadata(path) {
        file.as_file().set_permissions(existing.permissions())?;
    }
    Ok(file)
}
