//! Dense arrays in row-major order: what `.npy` files hold, what dense results are, and the
//! reference form that tests compare with.

use std::convert::Infallible;

use super::entries::Entries;
use super::index_data::{IndexData, IndexType};
use super::memory::room;
use super::number::Value;
use super::values::{ValueType, Values, with_values};
use crate::diagnostic::{Code, Diagnostic, Result};

/// Row-major dense array.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseArray {
    dims: Vec<usize>,
    values: Values,
}

/// Number of elements of a dense array.
///
/// # Errors
/// [`Code::Shape`] if that many 8-byte elements are more than memory can address.
pub fn element_count(dims: &[usize]) -> Result<usize> {
    const MOST: usize = isize::MAX as usize / 8;
    if dims.contains(&0) {
        return Ok(0);
    }
    dims.iter()
        .try_fold(1usize, |product, &n| product.checked_mul(n))
        .filter(|&n| n <= MOST)
        .ok_or_else(|| too_large(dims))
}

/// Whether a dense array fits into the memory that is free.
///
/// # Errors
/// [`Code::Memory`] if not, those of [`element_count`].
pub(crate) fn array_room(dims: &[usize], value_type: ValueType) -> Result<()> {
    let bytes = element_count(dims)? as u64 * value_type.size_bytes() as u64;
    let what = || format!("a dense array of {} elements", shown(dims));
    room(bytes, &what, "keep it sparse: use a sparse layout, or a file of coordinates (.mtx, .tns)")
}

fn shown(dims: &[usize]) -> String {
    dims.iter().map(usize::to_string).collect::<Vec<_>>().join("×")
}

fn too_large(dims: &[usize]) -> Box<Diagnostic> {
    Diagnostic::new(
        Code::Shape,
        format!("a dense array of {} elements does not fit in memory", shown(dims)),
    )
    .help("keep it sparse: use a sparse layout, or a file of coordinates (.mtx, .tns)")
}

impl DenseArray {
    /// Checks that there is one value per element.
    ///
    /// # Errors
    /// [`Code::Shape`] if not, or if the extents are too large.
    pub fn new(dims: Vec<usize>, values: Values) -> Result<DenseArray> {
        let n = element_count(&dims)?;
        if values.len() != n {
            return Err(Diagnostic::new(
                Code::Shape,
                format!("{} values for a dense array of {n} elements", values.len()),
            ));
        }
        Ok(DenseArray { dims, values })
    }

    /// Extent of each dimension; none for a scalar.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// As many as the product of the extents; the last coordinate varies fastest.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// The elements, in row-major order.
    pub fn into_values(self) -> Values {
        self.values
    }

    /// With values of another type.
    ///
    /// # Errors
    /// Those of [`Values::convert`].
    pub fn into_type(self, value_type: ValueType) -> Result<DenseArray> {
        Ok(DenseArray { values: self.values.into_type(value_type)?, ..self })
    }

    /// Drops a dimension of extent 1.
    pub(crate) fn without_dimension(mut self, d: usize) -> DenseArray {
        debug_assert_eq!(self.dims[d], 1);
        self.dims.remove(d);
        self
    }

    /// An array of zeros.
    ///
    /// # Errors
    /// [`Code::Memory`] if it does not fit into the memory that is free, [`Code::Shape`] if not into any.
    pub fn zeros(dims: &[usize], value_type: ValueType) -> Result<DenseArray> {
        let n = element_count(dims)?;
        array_room(dims, value_type)?;
        let values = Values::try_zeros(value_type, n).ok_or_else(|| too_large(dims))?;
        Ok(DenseArray { dims: dims.to_vec(), values })
    }

    /// Reorders values whose *first* coordinate varies fastest.
    ///
    /// # Errors
    /// Those of [`DenseArray::new`].
    pub fn from_column_major(dims: Vec<usize>, values: Values) -> Result<DenseArray> {
        let mut array = DenseArray::new(dims, values)?;
        // With at most one extent above 1 both orders agree.
        if array.dims.iter().filter(|&&n| n > 1).count() > 1 {
            array_room(&array.dims, array.values.value_type())?;
            array.values = with_values!(&array.values, v => {
                let mut reordered = Vec::with_capacity(v.len());
                for_each_column_major_offset(&array.dims, |offset| reordered.push(v[offset]));
                reordered.into()
            });
        }
        Ok(array)
    }

    /// The dense array of the entries: duplicates summed, everything else zero.
    ///
    /// # Errors
    /// Those of [`DenseArray::zeros`]; [`Code::Data`] if an integer sum overflows.
    pub fn from_entries(entries: &Entries) -> Result<DenseArray> {
        let mut array = DenseArray::zeros(entries.dims(), entries.values().value_type())?;
        for (k, at) in places(entries).enumerate() {
            array.values.add_from(at, entries.values(), k)?;
        }
        Ok(array)
    }

    /// The dense array of the entries: duplicates summed, everything else `fill`, of their type.
    ///
    /// # Errors
    /// Those of [`DenseArray::from_entries`].
    pub fn from_entries_else(entries: &Entries, fill: Value) -> Result<DenseArray> {
        let mut array = DenseArray::from_entries(entries)?;
        let mut missing = vec![true; array.values.len()];
        places(entries).for_each(|at| missing[at] = false);
        let fill = fill.repeated(1);
        for at in (0..missing.len()).filter(|&at| missing[at]) {
            array.values.set_from(at, &fill, 0);
        }
        Ok(array)
    }

    /// The elements that are not zero, in row-major order.
    pub fn to_entries(&self) -> Entries {
        nonzeros(&self.dims, &self.values)
    }
}

/// Where the entries are in a row-major array.
fn places(entries: &Entries) -> impl Iterator<Item = usize> {
    (0..entries.len()).map(|k| {
        let columns = entries.coords().iter().zip(entries.dims());
        columns.fold(0, |at, (column, extent)| at * extent + column.get(k) as usize)
    })
}

/// The elements of a row-major array that differ from what is filled in, in row-major order.
pub(crate) fn differing(dims: &[usize], values: &Values, fill: Value) -> Entries {
    let kept: Vec<usize> =
        (0..values.len()).filter(|&k| !Value::element(values, k).same(fill)).collect();
    let mut strides = vec![1; dims.len()];
    for d in (1..dims.len()).rev() {
        strides[d - 1] = strides[d] * dims[d];
    }
    let column = |(stride, extent): (&usize, &usize)| {
        let coordinates = kept.iter().map(|at| (at / stride % extent) as i64);
        IndexData::collect(IndexType::for_extents(dims), coordinates)
    };
    let coords = strides.iter().zip(dims).map(column).collect::<Result<Vec<_>>>();
    let coords = coords.unwrap_or_else(|_| unreachable!("coordinates are below their extents"));
    Entries::from_checked(dims.to_vec(), coords, values.gather(&kept))
}

/// The elements of a row-major array that are not zero, in row-major order.
pub(crate) fn nonzeros(dims: &[usize], values: &Values) -> Entries {
    let mut coords: Vec<IndexData> = vec![IndexData::empty(IndexType::U32); dims.len()];
    let mut kept: Vec<usize> = Vec::new();
    for_each_nonzero(dims, values, |point, at| {
        kept.push(at);
        coords.iter_mut().zip(point).for_each(|(column, &c)| column.push_coordinate(c));
        Ok::<(), Infallible>(())
    })
    .unwrap_or_else(|never| match never {});
    if IndexType::for_extents(dims) == IndexType::U64 {
        coords.iter_mut().for_each(IndexData::widen);
    }
    Entries::from_checked(dims.to_vec(), coords, values.gather(&kept))
}

/// Calls `visit` with the coordinates and the offset of every element that is not zero, in row-major
/// order, until it fails.
fn for_each_nonzero<E>(
    dims: &[usize],
    values: &Values,
    mut visit: impl FnMut(&[u64], usize) -> Result<(), E>,
) -> Result<(), E> {
    let mut point = vec![0u64; dims.len()];
    let row = dims.last().copied().unwrap_or(1);
    for start in (0..values.len()).step_by(row.max(1)) {
        for at in (start..start + row).filter(|&at| !values.is_zero(at)) {
            if let Some(column) = point.last_mut() {
                *column = (at - start) as u64;
            }
            visit(&point, at)?;
        }
        for d in (0..dims.len().saturating_sub(1)).rev() {
            point[d] += 1;
            if point[d] < dims[d] as u64 {
                break;
            }
            point[d] = 0;
        }
    }
    Ok(())
}

/// Calls `visit` for every element in row-major order, with its offset in column-major order.
fn for_each_column_major_offset(dims: &[usize], mut visit: impl FnMut(usize)) {
    let (Some(&last_extent), false) = (dims.last(), dims.contains(&0)) else {
        return;
    };
    let strides: Vec<usize> = dims
        .iter()
        .scan(1, |stride, &n| {
            let this = *stride;
            *stride *= n;
            Some(this)
        })
        .collect();
    let rank = dims.len();
    let outer: usize = dims[..rank - 1].iter().product();
    let mut point = vec![0usize; rank - 1];
    let mut base = 0;
    for _ in 0..outer {
        (0..last_extent).for_each(|c| visit(base + c * strides[rank - 1]));
        for d in (0..rank - 1).rev() {
            point[d] += 1;
            base += strides[d];
            if point[d] < dims[d] {
                break;
            }
            base -= strides[d] * dims[d];
            point[d] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_and_dense_arrays_convert_into_each_other() {
        let entries = Entries::from_points(
            &[2, 3],
            &[(&[1, 2], 4.0), (&[0, 1], 1.0), (&[1, 2], 0.5), (&[0, 0], 0.0)],
        )
        .unwrap();
        let dense = DenseArray::from_entries(&entries).unwrap();
        assert_eq!(dense.values(), &Values::F64(vec![0.0, 1.0, 0.0, 0.0, 0.0, 4.5]));
        let back = dense.to_entries();
        assert_eq!(back, Entries::from_points(&[2, 3], &[(&[0, 1], 1.0), (&[1, 2], 4.5)]).unwrap());
    }

    #[test]
    fn a_scalar_is_an_array_without_dimensions() {
        let scalar = DenseArray::new(vec![], Values::I64(vec![7])).unwrap();
        let entries = scalar.to_entries();
        assert_eq!((entries.rank(), entries.len()), (0, 1));
        assert_eq!(DenseArray::from_entries(&entries).unwrap(), scalar);
    }

    #[test]
    fn column_major_values_are_reordered_at_any_rank() {
        // a[i, j, k] = 100 i + 10 j + k
        let dims = [2usize, 3, 2];
        let mut column_major = Vec::new();
        for k in 0..2 {
            for j in 0..3 {
                for i in 0..2 {
                    column_major.push(100 * i + 10 * j + k);
                }
            }
        }
        let array = DenseArray::from_column_major(dims.to_vec(), column_major.into()).unwrap();
        let expected = vec![0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121];
        assert_eq!(array.values(), &Values::I32(expected));
        let empty = DenseArray::from_column_major(vec![2, 0, 2], Values::I32(vec![])).unwrap();
        assert!(empty.values().is_empty());
    }

    #[test]
    fn arrays_beyond_memory_are_refused() {
        let wide = Entries::from_points(&[1 << 40, 1 << 40], &[(&[0, 0], 1.0)]).unwrap();
        let error = DenseArray::from_entries(&wide).unwrap_err();
        assert_eq!(error.code, Code::Shape);
        assert!(error.message.contains("1099511627776×1099511627776"), "{error}");
        let error = DenseArray::new(vec![3], Values::F64(vec![1.0])).unwrap_err();
        assert_eq!(error.code, Code::Shape);
    }
}
