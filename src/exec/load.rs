//! Loading a compiled kernel.

use std::fmt;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use super::invoke::{Arguments, RawArray};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::temporary::InUse;

type Entry = unsafe extern "C" fn(sizes: *const usize, arrays: *const RawArray);

/// A library in a temporary folder, which is removed with it.
#[derive(Debug)]
pub struct BuiltFile {
    folder: tempfile::TempDir,
    in_use: InUse,
    path: PathBuf,
}

impl BuiltFile {
    pub(super) fn new(folder: tempfile::TempDir, in_use: InUse, name: &str) -> BuiltFile {
        BuiltFile { path: folder.path().join(name), folder, in_use }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A loaded kernel.
///
/// Its code stays in memory for good. A kernel joins its threads before it returns, but the copy of
/// Rust's standard library in it registers destructors of thread-local values with the system, for the
/// calling thread too: without this, one in forty runs of `tests/kernels/parallel.rs` crashed.
pub struct Library {
    entry: Entry,
    _library: ManuallyDrop<libloading::Library>,
    _folder: Option<(tempfile::TempDir, InUse)>,
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").finish_non_exhaustive()
    }
}

impl Library {
    /// Loads the library at `path`, which [`Rustc::compile`](super::Rustc::compile) made, with the
    /// entry of that name.
    ///
    /// # Errors
    /// [`Code::Rustc`] if the system's loader refuses it, or it has no entry.
    pub fn open(path: &Path, entry: &str) -> Result<Library> {
        let failed = |e: libloading::Error| {
            Diagnostic::new(Code::Rustc, format!("cannot load the compiled kernel: {e}"))
                .note(format!("the library is `{}`", path.display()))
                .help("check that the cache folder (SISKIN_CACHE) allows executable files")
        };
        // SAFETY: a generated module has no initialiser: loading runs no code of it.
        let library = unsafe { libloading::Library::new(path) }.map_err(failed)?;
        // SAFETY: every module declares its entry with this type.
        let entry = unsafe { library.get::<Entry>(entry) }.map_err(failed)?;
        let entry = *entry;
        Ok(Library { entry, _library: ManuallyDrop::new(library), _folder: None })
    }

    /// Loads a library that is in no cache, and keeps its folder.
    pub(super) fn open_temporary(file: BuiltFile, entry: &str) -> Result<Library> {
        let mut library = Library::open(&file.path, entry)?;
        library._folder = Some((file.folder, file.in_use));
        Ok(library)
    }

    /// Calls the entry.
    ///
    /// # Safety
    /// `arguments` has, in this order, the sizes and arrays of the module's tensors, of the element
    /// types of its structs; the tensors satisfy what the module's `validate` checks, and dimensions
    /// that share an index agree.
    pub unsafe fn run(&self, arguments: &Arguments) {
        // SAFETY: the caller promises what the entry asks for.
        unsafe { (self.entry)(arguments.sizes.as_ptr(), arguments.arrays.as_ptr()) }
    }
}
