//! Tensors as data: values, index arrays, lists of entries, dense arrays, and tensors stored in a
//! declared layout.
//!
//! In: arrays that somebody made — a file (`files`), packing (`packing`), a caller. Out: a
//! [`Tensor`], whose arrays [`Tensor::validate`] compares with what the layout declares, and which
//! [`Tensor::entries`] and [`Tensor::dense`] read back. Nothing here trusts an array that was not
//! validated.
//!
//! Two rows by compressed rows, `{ [p0, p1] -> [i, j] : … pos(p0) <= p1 < pos(p0 + 1) and
//! j = crd(p1) }`, read back and checked:
//!
//! ```
//! use std::sync::Arc;
//! use indexmap::IndexMap;
//! use siskin::layout::Layout;
//! use siskin::tensor::{Entries, Tensor};
//! let csr = Arc::new(Layout::named("csr").unwrap());
//! let stored = |crd: Vec<u32>| {
//!     let pos = vec![0u32, 2, 3];
//!     let arrays = IndexMap::from([("pos".into(), pos.into()), ("crd".into(), crd.into())]);
//!     Tensor::new(csr.clone(), vec![2, 3], &IndexMap::new(), arrays, vec![1.0, 2.0, 3.0].into())
//! };
//! let mut a = stored(vec![0, 2, 1]).unwrap();
//! a.validate().unwrap();
//! let points: [(&[usize], f64); 3] = [(&[0, 0], 1.0), (&[0, 2], 2.0), (&[1, 1], 3.0)];
//! assert_eq!(a.entries().unwrap(), Entries::from_points(&[2, 3], &points).unwrap());
//!
//! let error = stored(vec![2, 0, 1]).unwrap().validate().unwrap_err();
//! assert_eq!(
//!     error.message,
//!     "crd is not strictly increasing within a segment of pos: crd(0) = 2, crd(1) = 0 in segment 0"
//! );
//! ```

mod batches;
mod common;
mod dense;
mod disorder;
mod entries;
mod huge_pages;
mod index_data;
mod memory;
mod number;
mod owners;
mod points;
mod strided;
#[allow(clippy::module_inception)]
mod tensor;
mod unpack;
mod validate;
mod values;

pub use dense::{DenseArray, element_count};
pub use entries::Entries;
pub use huge_pages::{FreedMemoryIsKept, HugePages};
pub use index_data::{IndexData, IndexType};
pub use number::{Value, promote};
pub use tensor::Tensor;
pub use validate::Violation;
pub use values::{Element, Position, ValueType, Values};

pub(crate) use common::{Met, Sample};
pub(crate) use dense::{array_room, differing, nonzeros};
#[doc(hidden)]
pub use memory::room;
pub(crate) use points::Scope;
pub(crate) use strided::Strides;
pub(crate) use tensor::{extents, known_sizes, rank_differs, shape};
pub(crate) use values::{exact_integer, with_values};
