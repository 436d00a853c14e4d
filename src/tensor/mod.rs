//! Tensors as data: values, index arrays, lists of entries, dense arrays, and the files that hold
//! them.
//!
//! In: a path ([`read`]), in Matrix Market (`.mtx`), FROSTT (`.tns`), NumPy (`.npy`) or SciPy
//! (`.npz`) format, each also gzipped (`.gz`). Out: [`Loaded`] data — [`Entries`] from a sparse
//! file, a [`DenseArray`] from a dense one — which [`write()`] puts into a file of any of these
//! formats again. [`pack`] stores entries in a declared layout as a [`Tensor`], which
//! [`Tensor::entries`] decodes and [`Tensor::validate`] checks.
//!
//! ```
//! use siskin::tensor::{Entries, Loaded, ReadOptions, Values};
//! let dir = tempfile::tempdir().unwrap();
//! let path = dir.path().join("a.mtx");
//! let a = Entries::from_points(&[2, 3], &[(&[0, 1], 5.0), (&[1, 2], 7.5)]).unwrap();
//! siskin::tensor::write(&path, &Loaded::Entries(a.clone())).unwrap();
//! let text = std::fs::read_to_string(&path).unwrap();
//! assert_eq!(text, "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 2 5.0\n2 3 7.5\n");
//! let read = siskin::tensor::read(&path, &ReadOptions::default()).unwrap();
//! assert_eq!(read.loaded, Loaded::Entries(a));
//! ```

mod arrays_file;
mod convert;
mod dense;
mod disorder;
mod entries;
mod file;
mod from_file;
mod huge_pages;
mod index_data;
mod lines;
mod loaded;
mod mtx;
mod mtx_header;
mod npy;
mod npy_header;
mod npz;
mod pack;
mod points;
mod stored_zip;
#[allow(clippy::module_inception)]
mod tensor;
mod tns;
mod unpack;
mod validate;
mod values;
mod words;

pub use arrays_file::holds_arrays;
pub use convert::convert;
pub use dense::{DenseArray, element_count};
pub use entries::Entries;
pub use file::{EXTENSIONS, File, ReadOptions, check_writable, read, write};
pub use huge_pages::HugePages;
pub use index_data::{IndexData, IndexType};
pub use loaded::Loaded;
pub use pack::{IndexWidth, PackOptions, Plan, pack};
pub use tensor::Tensor;
pub use values::{Element, Position, ValueType, Values};
