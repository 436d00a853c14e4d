//! Packing: from entries to a tensor in a declared layout.
//!
//! In: entries in any order, and a [`Layout`](crate::layout::Layout). Out: a
//! [`Tensor`]. Nothing here knows a format: the relation is inverted (`inverse`), which gives a
//! [`Plan`] (`derive`), and the plan is carried out column by column.
//!
//! ```text
//! { [p0, p1] -> [i, j] : 0 <= p0 < I and i = p0 and pos(p0) <= p1 < pos(p0 + 1) and j = crd(p1) }
//! ```
//! becomes
//! ```text
//! sort by (i, j); p0 = i; p1 = rank of (p0, j); pos(p0) = prefix count of p1; crd(p1) = j; val(p1)
//! ```

mod accumulate;
mod agree;
mod arrays;
mod bounds;
mod columns;
mod complete;
mod convert;
mod derive;
mod intervals;
mod inverse;
mod linear;
mod measure;
mod number;
mod order;
mod packer;
mod pieces;
mod plan;
mod probing;
mod sort;
mod store;

use std::sync::Arc;

use crate::diagnostic::Result;
use crate::layout::Layout;
use crate::tensor::{Entries, IndexType, Tensor};

pub use convert::convert;
pub use plan::Plan;

/// Width of the elements of index arrays. Arrays that may hold negative numbers are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum IndexWidth {
    /// 32 bits if every extent and every index fits, else 64.
    #[default]
    Auto,
    U32,
    U64,
}

impl IndexWidth {
    fn index_type(self, signed: bool, fits_32_bits: bool) -> IndexType {
        let narrow = match self {
            IndexWidth::Auto => fits_32_bits,
            IndexWidth::U32 => true,
            IndexWidth::U64 => false,
        };
        match (signed, narrow) {
            (false, true) => IndexType::U32,
            (false, false) => IndexType::U64,
            (true, true) => IndexType::I32,
            (true, false) => IndexType::I64,
        }
    }
}

/// How to pack.
#[derive(Clone, Copy, Debug, Default)]
pub struct PackOptions {
    pub index_width: IndexWidth,
}

/// Packs entries into a layout. Duplicates are summed where equal coordinates share a position,
/// and kept where the layout declares no order that forbids them; explicit zeros are stored.
///
/// ```
/// use std::sync::Arc;
/// use siskin::layout::Layout;
/// use siskin::packing::{PackOptions, pack};
/// use siskin::tensor::{Entries, IndexData};
/// let layout = Arc::new(Layout::named("csr").unwrap());
/// let a = Entries::from_points(&[2, 3], &[(&[1, 2], 5.0), (&[1, 0], 7.5)]).unwrap();
/// let packed = pack(&layout, &a, &PackOptions::default()).unwrap();
/// assert_eq!(packed.arrays()["pos"], IndexData::U32(vec![0, 0, 2]));
/// assert_eq!(packed.arrays()["crd"], IndexData::U32(vec![0, 2]));
/// ```
///
/// # Errors
/// [`Code::Shape`](crate::diagnostic::Code::Shape) if the ranks differ,
/// [`Code::NotPackable`](crate::diagnostic::Code::NotPackable) if the declaration does not say how
/// to pack, or an entry has no place in the layout.
pub fn pack(layout: &Arc<Layout>, entries: &Entries, options: &PackOptions) -> Result<Tensor> {
    Plan::of(layout)?.pack(layout, entries, options)
}
