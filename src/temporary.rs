//! Temporary files that must not stay behind when a process is ended by a signal.
//!
//! In: the paths of files and folders while they are in use. Out: their removal, by whoever handles
//! signals ([`remove_all`]). What is dropped in the ordinary way removes itself.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

static IN_USE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A temporary file or folder, from its creation until it is renamed or removed.
#[derive(Debug)]
pub struct InUse(PathBuf);

/// Makes something temporary, and keeps its path in mind from the very moment it is there.
///
/// # Errors
/// Those of `make`.
pub fn create<T, E>(
    make: impl FnOnce() -> Result<T, E>,
    path: impl Fn(&T) -> &Path,
) -> Result<(T, InUse), E> {
    let mut paths = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
    let made = make()?;
    let path = path(&made).to_path_buf();
    paths.push(path.clone());
    Ok((made, InUse(path)))
}

impl Drop for InUse {
    fn drop(&mut self) {
        let mut paths = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = paths.iter().position(|p| *p == self.0) {
            paths.swap_remove(at);
        }
    }
}

/// Writes a file beside its place and renames it: who reads it meanwhile never sees half of one.
///
/// # Errors
/// If its folder, which must be there, cannot be written.
pub fn replace(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let make = || tempfile::Builder::new().prefix(".siskin-").tempfile_in(folder);
    let (mut file, _in_use) = create(make, tempfile::NamedTempFile::path)?;
    parts.iter().try_for_each(|part| file.write_all(part))?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

/// Removes what is in use; the process must end now. Nothing new comes into use any more: whoever tries
/// waits for the end.
pub fn remove_all() {
    let paths = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
    for path in paths.iter() {
        // Whether it is a file or a folder, and whether it is there still.
        let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
    }
    std::mem::forget(paths);
}
