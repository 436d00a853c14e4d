//! From a file to a tensor in two calls.

use std::path::Path;
use std::sync::Arc;

use super::file::read;
use super::loaded::Loaded;
use super::options::ReadOptions;
use crate::diagnostic::Result;
use crate::layout::Layout;
use crate::packing::{PackOptions, pack, pack_array};
use crate::tensor::Tensor;

impl Tensor {
    /// The data of a tensor file, to be packed: `Tensor::read("a.mtx")?.pack(&layout)?`. For more
    /// control, and for what was odd about the file, see [`read`].
    ///
    /// # Errors
    /// Those of [`read`].
    pub fn read(path: impl AsRef<Path>) -> Result<Loaded> {
        Ok(read(path.as_ref(), &ReadOptions::default())?.loaded)
    }
}

impl Loaded {
    /// The data in a layout, with index arrays of the narrowest width. A matrix of one row or column
    /// fits a layout of rank 1.
    ///
    /// # Errors
    /// Those of [`pack`].
    pub fn pack(self, layout: &Layout) -> Result<Tensor> {
        let data = self.into_rank(layout.rank()).unwrap_or_else(|other| other);
        data.pack_with(&Arc::new(layout.clone()), &PackOptions::default())
    }

    /// The data in a layout of their rank.
    ///
    /// # Errors
    /// Those of [`pack`].
    pub fn pack_with(self, layout: &Arc<Layout>, options: &PackOptions) -> Result<Tensor> {
        match self {
            Loaded::Entries(entries) => pack(layout, &entries, options),
            Loaded::Dense(array) => pack_array(layout, array, options),
        }
    }
}
