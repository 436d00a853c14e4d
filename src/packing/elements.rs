//! Packing a dense array, without a list of its entries where the layout is an array too, or is appended to.

use std::borrow::Cow;
use std::sync::Arc;

use indexmap::IndexMap;

use super::agree;
use super::append::Appending;
use super::options::PackOptions;
use super::pack::pack;
use super::stated;
use crate::diagnostic::Result;
use crate::layout::Layout;
use crate::tensor::{DenseArray, Strides, Tensor, Values, differing, nonzeros, rank_differs};

/// Packs a dense array: its values are copied where the layout stores every element, what is not fill is
/// appended where it comes in the layout's order, and packed as entries otherwise.
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
        let appending = Appending::of(layout);
        let appended = appending.map(|how| how.pack_elements(layout, dims, &elements, options));
        if let Some(tensor) = appended.transpose()?.flatten() {
            agree::sizes(&tensor)?;
            return Ok(tensor);
        }
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
    stated::constant(tensor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{Entries, Value, ValueType};

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
    fn what_is_appended_is_what_sorting_gives() {
        let layouts = [
            "csr",
            "csc",
            "coo",
            "dcsr",
            "compressed(i, unique=false), singleton(j)",
            "[i,j] compressed(j), compressed(i)",
            "Dense(SparseList(Element(0.0)))",
            "Dense(SparseRunList(Element(0.0)))",
            "SparseList(SparseRunList(Element(0.0)))",
            "Dense(RunList(Element(0.0)))",
            "SparseList(RunList(Element(0.0)))",
            "SparseCOO{2}(Element(0.0))",
            "SparseCOO{1}(RunList(Element(0.0)))",
        ];
        let cubes = [
            "csf",
            "Dense(Dense(SparseRunList(Element(0.0))))",
            "SparseList(SparseList(RunList(Element(0.0))))",
            "Dense(Dense(RunList(Element(0.0))))",
            "[i,j,k] dense(k), compressed(i), compressed(j)",
        ];
        let vectors = ["sparse", "run-length", "RunList(Element(0.0))"];
        let of_rank = |rank: usize| match rank {
            1 => vectors.iter(),
            2 => layouts.iter(),
            _ => cubes.iter(),
        };
        let mut seed = 1_u64;
        let mut next = |below: u64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut appended = 0;
        for rank in [1, 2, 3] {
            for _ in 0..40 {
                let dims: Vec<usize> = (0..rank).map(|_| next(6) as usize).collect();
                let n: usize = dims.iter().product();
                let many = 1 + next(4);
                let values =
                    (0..n).map(|_| [0.0, 0.0, 2.0, -1.0, f64::INFINITY][next(many) as usize]);
                let array = DenseArray::new(dims.clone(), Values::F64(values.collect())).unwrap();
                for layout in of_rank(rank) {
                    packed(layout, &array).validate().unwrap();
                    let layout = Layout::named_for_rank(layout, rank).unwrap();
                    appended += usize::from(Appending::of(&layout).is_some());
                }
            }
        }
        assert!(appended > 40 * 18, "{appended}");
    }

    #[test]
    fn fill_other_than_zero_is_left_out_or_runs() {
        for (fill, layouts) in [
            (
                "1.5",
                [
                    "Dense(SparseList(Element(1.5)))",
                    "Dense(SparseRunList(Element(1.5)))",
                    "Dense(RunList(Element(1.5)))",
                ],
            ),
            (
                "NaN",
                [
                    "Dense(SparseList(Element(NaN)))",
                    "Dense(SparseRunList(Element(NaN)))",
                    "Dense(RunList(Element(NaN)))",
                ],
            ),
        ] {
            let fill: f64 = fill.parse().unwrap();
            let values = vec![fill, fill, 0.0, 2.0, 2.0, fill, fill, 0.0];
            let array = DenseArray::new(vec![4, 2], Values::F64(values)).unwrap();
            for layout in layouts {
                let layout = Arc::new(Layout::named_for_rank(layout, 2).unwrap());
                let mut tensor =
                    pack_array(&layout, array.clone(), &PackOptions::default()).unwrap();
                tensor.validate().unwrap();
                let entries = differing(&[4, 2], array.values(), Value::F64(fill));
                let sorted = pack(&layout, &entries, &PackOptions::default()).unwrap();
                assert_eq!(tensor.arrays(), sorted.arrays(), "{}", layout.name);
                let same =
                    |k| Value::element(tensor.values(), k).same(Value::element(sorted.values(), k));
                assert!((0..sorted.values().len()).all(same), "{}", layout.name);
            }
        }
    }

    #[test]
    fn zeros_beside_another_fill_are_no_padding() {
        let values = vec![1.0, 0.0, 2.0, 7.0, 0.0, 7.0, 7.0, 4.0, 7.0, 7.0, 7.0, 7.0];
        let array = DenseArray::new(vec![3, 4], Values::F64(values)).unwrap();
        let options = PackOptions { fill: Some(Value::F64(7.0)), ..PackOptions::default() };
        let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/formats");
        let files = std::fs::read_dir(examples).unwrap().map(|file| file.unwrap().path());
        let files = files.filter(|p| p.extension().is_some_and(|e| e == "toml"));
        let names = files.map(|p| p.to_str().unwrap().to_string());
        let shipped = ["ell", "csr", "coo", "bitmap", "hash"].map(str::to_string);
        let mut held = 0;
        for name in shipped.into_iter().chain(names) {
            let Ok(layout) = Layout::named_for_rank(&name, 2).map(Arc::new) else { continue };
            let Ok(tensor) = pack_array(&layout, array.clone(), &options) else { continue };
            assert_eq!(tensor.dense_else(Value::F64(7.0)).unwrap(), array, "{name}");
            held += 1;
        }
        assert!(held > 10, "{held}");
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
