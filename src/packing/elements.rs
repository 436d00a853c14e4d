//! Packing a dense array, without a list of its entries where the layout is an array too.

use std::borrow::Cow;
use std::sync::Arc;

use indexmap::IndexMap;

use super::agree;
use super::options::PackOptions;
use super::pack::pack;
use super::stated;
use crate::diagnostic::Result;
use crate::layout::Layout;
use crate::tensor::{DenseArray, Strides, Tensor, Values, differing, nonzeros, rank_differs};

/// Packs a dense array: its values are copied where the layout stores every element, and what is not
/// zero is packed as entries otherwise.
///
/// # Errors
/// As [`pack`].
pub fn pack_array(
    layout: &Arc<Layout>,
    array: DenseArray,
    options: &PackOptions,
) -> Result<Tensor> {
    let dims = array.dims().to_vec();
    pack_elements(layout, &dims, Cow::Owned(array.into_values()), options)
}

/// [`pack_array`] of elements in row-major order.
pub(super) fn pack_elements(
    layout: &Arc<Layout>,
    dims: &[usize],
    elements: Cow<'_, Values>,
    options: &PackOptions,
) -> Result<Tensor> {
    if dims.len() != layout.rank() {
        return Err(rank_differs(layout, dims.len()));
    }
    let options = &stated::options(layout, elements.value_type(), options)?;
    let Some(strides) = Strides::of_array(layout, dims) else {
        let entries = match options.fill {
            None => nonzeros(dims, &elements),
            Some(fill) => differing(dims, &elements, fill),
        };
        return pack(layout, &entries, options);
    };
    let values = strides.store(elements);
    let tensor =
        Tensor::new(layout.clone(), dims.to_vec(), &IndexMap::new(), IndexMap::new(), values)?;
    agree::sizes(&tensor)?;
    stated::refuse_others(&tensor)?;
    Ok(tensor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{Entries, ValueType};

    fn numbered(dims: &[usize]) -> DenseArray {
        let n: usize = dims.iter().product();
        DenseArray::new(dims.to_vec(), Values::I64((1..=n as i64).collect())).unwrap()
    }

    /// From the array and from its entries, which is the same.
    fn packed(layout: &str, array: &DenseArray) -> Tensor {
        let layout = Arc::new(Layout::named_for_rank(layout, array.dims().len()).unwrap());
        let tensor = pack_array(&layout, array.clone(), &PackOptions::default()).unwrap();
        let entries = pack(&layout, &array.to_entries(), &PackOptions::default()).unwrap();
        assert_eq!((tensor.values(), tensor.arrays()), (entries.values(), entries.arrays()));
        tensor
    }

    #[test]
    fn the_values_of_a_row_major_tensor_are_its_elements_and_others_are_reordered() {
        for dims in [&[][..], &[5], &[3, 4], &[2, 3, 4], &[1, 3, 1]] {
            let array = numbered(dims);
            let tensor = packed("dense", &array);
            assert!(matches!(tensor.row_major(), Some(Cow::Borrowed(_))), "{dims:?}");
            assert_eq!(tensor.into_dense().unwrap(), array);
        }
        let array = numbered(&[3, 4]);
        let tensor = packed("[i,j] dense(j), dense(i)", &array);
        assert_ne!(tensor.values(), array.values());
        assert!(matches!(tensor.row_major(), Some(Cow::Owned(_))));
        assert_eq!(tensor.dense().unwrap(), array);
        assert_eq!(tensor.into_dense().unwrap(), array);
    }

    #[test]
    fn index_arrays_blocks_and_triangles_are_decoded() {
        let array = numbered(&[4, 4]);
        for layout in ["csr", "bcsr(2,2)"] {
            let tensor = packed(layout, &array);
            assert!(tensor.row_major().is_none(), "{layout}");
            assert_eq!(tensor.dense().unwrap(), array, "{layout}");
        }
        let triangle = Arc::new(Layout::named("lower-triangular").unwrap());
        let empty = Entries::empty(&[4, 4], ValueType::F64);
        let tensor = pack(&triangle, &empty, &PackOptions::default()).unwrap();
        assert!(tensor.row_major().is_none());
    }

    #[test]
    fn a_tensor_without_elements_takes_no_time() {
        let array = DenseArray::new(vec![1 << 40, 0], Values::F64(vec![])).unwrap();
        let layout = Arc::new(Layout::named_for_rank("dense", 2).unwrap());
        let tensor = pack_array(&layout, array.clone(), &PackOptions::default()).unwrap();
        assert_eq!(tensor.entries().unwrap().len(), 0);
        assert_eq!(tensor.dense().unwrap(), array);
    }
}
