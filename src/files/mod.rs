//! Tensor files: reading and writing.
//!
//! In: a path ([`read`]), in Matrix Market (`.mtx`), FROSTT (`.tns`), NumPy (`.npy`) or SciPy
//! (`.npz`) format, each also gzipped (`.gz`). Out: [`Loaded`] data — [`Entries`] from a sparse
//! file, a [`DenseArray`] from a dense one — which [`write()`] puts into a file of any of these
//! formats again. The arrays of a tensor in a layout have a file of their own
//! ([`Tensor::write_arrays`]).
//!
//! [`Entries`]: crate::tensor::Entries
//! [`DenseArray`]: crate::tensor::DenseArray
//! [`Tensor::write_arrays`]: crate::tensor::Tensor::write_arrays
//!
//! ```
//! use siskin::files::{Loaded, ReadOptions};
//! use siskin::tensor::Entries;
//! let dir = tempfile::tempdir().unwrap();
//! let path = dir.path().join("a.mtx");
//! let a = Entries::from_points(&[2, 3], &[(&[0, 1], 5.0), (&[1, 2], 7.5)]).unwrap();
//! siskin::files::write(&path, &Loaded::Entries(a.clone())).unwrap();
//! let text = std::fs::read_to_string(&path).unwrap();
//! assert_eq!(text, "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 2 5.0\n2 3 7.5\n");
//! let read = siskin::files::read(&path, &ReadOptions::default()).unwrap();
//! assert_eq!(read.loaded, Loaded::Entries(a));
//! ```
//!
//! From a file to a layout:
//!
//! ```no_run
//! let a = siskin::Tensor::read("a.mtx")?.pack(&siskin::Layout::named("csr")?)?;
//! # Ok::<(), Box<siskin::diagnostic::Diagnostic>>(())
//! ```

mod arrays_file;
mod binsparse;
mod blocks;
mod decimal;
mod file;
mod from_file;
mod known;
mod lines;
mod loaded;
mod mtx;
mod mtx_header;
mod npy;
mod npy_header;
mod npz;
mod options;
mod printed;
mod pydata;
mod replace;
mod scipy;
mod stored_zip;
mod tns;
mod words;
mod written;

pub use arrays_file::{fill_of, holds_arrays, read_stored};
pub use file::{EXTENSIONS, File, Wrote, check_writable, read, write, write_filled, write_tensor};
pub use loaded::Loaded;
pub use options::ReadOptions;
pub use replace::{check_place, is_device, replace, resolved};
