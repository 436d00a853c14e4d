//! Stage 7, *execute*: a rendered module becomes machine code that runs on data.
//!
//! In: the text of a module (see [`crate::module`]). Out: a [`Library`] whose entry was compiled by the
//! user's own `rustc`, kept in the user's cache directory under the hash of everything that decides
//! it. [`Arguments`] are the sizes and arrays that the entry takes.
//!
//! ```text
//! text ── Jit::load ──▶ cache hit? ──yes──▶ dlopen ──▶ Library
//!                          │no                 ▲
//!                          └──▶ rustc ──▶ rename┘
//! ```

mod cache;
mod grown;
mod invoke;
mod load;
mod processor;
mod rustc;

pub use cache::{Cache, MAX_ENTRIES};
pub use grown::GrownArray;
pub use invoke::{Arguments, RawArray};
pub use load::Library;
pub use processor::processor_model;
pub use rustc::Rustc;

use std::time::{Duration, Instant};

use crate::diagnostic::Result;
use crate::module::Source;

/// A compiler and the cache of what it compiled.
#[derive(Clone, Debug)]
pub struct Jit {
    rustc: Rustc,
    cache: Cache,
}

/// A loaded module, and what it took to get it.
#[derive(Debug)]
pub struct Built {
    pub library: Library,
    /// Time of the compiler, or of reading the cache.
    pub time: Duration,
    /// The library was in the cache.
    pub cached: bool,
}

impl Jit {
    /// The user's `rustc` and cache directory.
    ///
    /// # Errors
    /// [`Code::Rustc`](crate::diagnostic::Code::Rustc) if there is no working `rustc`.
    pub fn new() -> Result<Jit> {
        Ok(Jit { rustc: Rustc::find()?, cache: Cache::of_user() })
    }

    /// With a compiler and a cache of the caller's choice.
    pub fn with(rustc: Rustc, cache: Cache) -> Jit {
        Jit { rustc, cache }
    }

    /// Compiles a module unless the cache has it, and loads its entry.
    ///
    /// # Errors
    /// [`Code::RefusedModule`](crate::diagnostic::Code::RefusedModule) if the compiler refuses the
    /// text; [`Code::Rustc`](crate::diagnostic::Code::Rustc) if it fails otherwise, or its output
    /// cannot be loaded; [`Code::Io`](crate::diagnostic::Code::Io) if there is no room for temporary
    /// files.
    pub fn load(&self, source: Source<'_>) -> Result<Built> {
        let start = Instant::now();
        let entry = source.entry;
        let identity = self.rustc.identity(source);
        if let Some(path) = self.cache.get(&identity) {
            // A library that was removed or damaged since then is built again.
            if let Ok(library) = Library::open(&path, entry) {
                return Ok(Built { library, time: start.elapsed(), cached: true });
            }
        }
        let output = self.rustc.compile(source)?;
        let library = match self.cache.put(&identity, output.path()) {
            Ok(path) => Library::open(&path, entry)?,
            Err(error) => {
                tracing::warn!("the kernel is not cached: {error}");
                Library::open_temporary(output, entry)?
            }
        };
        Ok(Built { library, time: start.elapsed(), cached: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Code;
    use std::fs;
    use std::path::Path;

    const ENTRY: &str = "siskin_kernel";

    /// Doubles every element of its only array.
    fn module(factor: u32) -> String {
        format!(
            "#[repr(C)] #[derive(Clone, Copy)] pub struct RawArray {{ data: *mut u8, len: usize }}
             #[unsafe(no_mangle)]
             pub unsafe extern \"C\" fn siskin_kernel(sizes: *const usize, a: *const RawArray) {{
                 let a = unsafe {{ *a }};
                 let v = unsafe {{ std::slice::from_raw_parts_mut(a.data as *mut u32, a.len) }};
                 for x in v {{ *x = *x * {factor} + unsafe {{ *sizes }} as u32; }}
             }}"
        )
    }

    fn run(library: &Library) -> Vec<u32> {
        let mut numbers = vec![1u32, 2, 3];
        let mut arguments = Arguments::default();
        arguments.size(5);
        arguments.array(RawArray { data: numbers.as_mut_ptr().cast(), len: numbers.len() });
        // SAFETY: the module takes one size and one array of `u32`.
        unsafe { library.run(&arguments) };
        numbers
    }

    fn source(text: &str) -> Source<'_> {
        Source { text, entry: ENTRY, aligned: false }
    }

    fn jit(folder: &Path) -> Jit {
        Jit::with(Rustc::find().unwrap(), Cache::at(folder))
    }

    #[test]
    fn a_module_is_compiled_once_and_then_comes_from_the_cache() {
        let folder = tempfile::tempdir().unwrap();
        let jit = jit(folder.path());
        let first = jit.load(source(&module(2))).unwrap();
        assert!(!first.cached);
        assert_eq!(run(&first.library), [7, 9, 11]);
        let second = jit.load(source(&module(2))).unwrap();
        assert!(second.cached);
        assert_eq!(run(&second.library), [7, 9, 11]);
        let other = jit.load(source(&module(3))).unwrap();
        assert!(!other.cached, "another text is another entry");
        assert_eq!(run(&other.library), [8, 11, 14]);
    }

    #[test]
    fn a_damaged_cache_entry_is_built_again() {
        let folder = tempfile::tempdir().unwrap();
        let jit = jit(folder.path());
        drop(jit.load(source(&module(4))).unwrap());
        let mut damaged = 0;
        for entry in fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
            damaged += 1;
        }
        assert!(damaged > 0);
        let again = jit.load(source(&module(4))).unwrap();
        assert!(!again.cached);
        assert_eq!(run(&again.library), [9, 13, 17]);
    }

    #[test]
    fn a_cache_that_cannot_be_written_only_costs_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let built = jit(file.path()).load(source(&module(6))).unwrap();
        assert_eq!(run(&built.library), [11, 17, 23]);
    }

    #[test]
    fn a_text_that_rustc_refuses_is_reported_with_its_words() {
        let folder = tempfile::tempdir().unwrap();
        let error = jit(folder.path()).load(source("fn f() -> u32 { \"no\" }")).unwrap_err();
        assert_eq!(error.code, Code::RefusedModule);
        assert!(error.notes.iter().any(|n| n.contains("mismatched types")), "{error:?}");
        assert_eq!(fs::read_dir(folder.path()).map(|d| d.count()).unwrap_or(0), 0);
    }

    #[test]
    fn a_missing_rustc_is_a_diagnostic_with_a_remedy() {
        let error = Rustc::at(Path::new("/nonexistent/rustc")).unwrap_err();
        assert_eq!(error.code, Code::Rustc);
        assert!(error.help.is_some());
    }
}
