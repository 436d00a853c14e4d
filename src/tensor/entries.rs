//! A tensor as a list of entries: what sparse files hold, and what packing starts from.

use super::index_data::{IndexData, IndexType};
use super::values::{Position, ValueType, Values};
use crate::diagnostic::{Code, Diagnostic, Result};

/// A tensor as a list of entries, as files hold it: coordinates per dimension plus values; any
/// order, duplicates allowed (they mean their sum), explicit zeros kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Entries {
    dims: Vec<usize>,
    /// Each as long as `values`, its numbers within the extent: packing relies on both.
    coords: Vec<IndexData>,
    values: Values,
}

impl Entries {
    /// A tensor without entries.
    pub fn empty(dims: &[usize], value_type: ValueType) -> Entries {
        let index_type = IndexType::for_extents(dims);
        Entries {
            dims: dims.to_vec(),
            coords: dims.iter().map(|_| IndexData::empty(index_type)).collect(),
            values: Values::empty(value_type),
        }
    }

    /// Checks that the parts fit together, and gives the coordinates their canonical type.
    ///
    /// # Errors
    /// [`Code::Shape`] if the numbers of dimensions or entries differ, or an extent exceeds
    /// `i64::MAX`; [`Code::Data`] if a coordinate is negative or not below its extent.
    pub fn new(dims: Vec<usize>, coords: Vec<IndexData>, values: Values) -> Result<Entries> {
        if coords.len() != dims.len() {
            return Err(Diagnostic::new(
                Code::Shape,
                format!("{} coordinate arrays for {} dimensions", coords.len(), dims.len()),
            ));
        }
        let index_type = IndexType::for_extents(&dims);
        let mut checked = Vec::with_capacity(coords.len());
        for (d, (column, &extent)) in coords.into_iter().zip(&dims).enumerate() {
            if column.len() != values.len() {
                return Err(Diagnostic::new(
                    Code::Shape,
                    format!(
                        "dimension {} has {} coordinates, but there are {} values",
                        d + 1,
                        column.len(),
                        values.len()
                    ),
                ));
            }
            let limit = i64::try_from(extent).map_err(|_| {
                Diagnostic::new(Code::Shape, format!("extent {extent} is larger than 2^63 - 1"))
            })?;
            if let Some((k, c)) =
                column.iter_i64().enumerate().find(|&(_, c)| !(0..limit).contains(&c))
            {
                return Err(Diagnostic::new(
                    Code::Data,
                    format!(
                        "entry {} has coordinate {c} in dimension {} of extent {extent}",
                        k + 1,
                        d + 1
                    ),
                )
                .help("coordinates are counted from 0 and below the extent"));
            }
            let same = column.index_type() == index_type;
            checked.push(if same { column } else { column.convert(index_type)? });
        }
        Ok(Entries { dims, coords: checked, values })
    }

    /// Entries whose parts the caller has checked as [`Entries::new`] would.
    pub(crate) fn from_checked(
        dims: Vec<usize>,
        coords: Vec<IndexData>,
        values: Values,
    ) -> Entries {
        let index_type = IndexType::for_extents(&dims);
        debug_assert_eq!(coords.len(), dims.len());
        debug_assert!(coords.iter().zip(&dims).all(|(column, &extent)| {
            column.len() == values.len()
                && column.index_type() == index_type
                && column.iter_i64().all(|c| usize::try_from(c).is_ok_and(|c| c < extent))
        }));
        Entries { dims, coords, values }
    }

    /// `f64` entries from a list of points, for small tensors in code and tests.
    ///
    /// # Errors
    /// Those of [`Entries::new`]; [`Code::Shape`] if a point has another rank.
    pub fn from_points(dims: &[usize], points: &[(&[usize], f64)]) -> Result<Entries> {
        let mut coords: Vec<Vec<u64>> = vec![Vec::with_capacity(points.len()); dims.len()];
        for (point, _) in points {
            if point.len() != dims.len() {
                return Err(Diagnostic::new(
                    Code::Shape,
                    format!("point {point:?} in a tensor of rank {}", dims.len()),
                ));
            }
            coords.iter_mut().zip(*point).for_each(|(column, &c)| column.push(c as u64));
        }
        let values = Values::F64(points.iter().map(|&(_, value)| value).collect());
        Entries::new(dims.to_vec(), coords.into_iter().map(IndexData::U64).collect(), values)
    }

    /// Extent of each dimension.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// 0-based coordinates, one array per dimension, each with a number for every entry: `U32` when
    /// every extent is at most 2³², else `U64`.
    pub fn coords(&self) -> &[IndexData] {
        &self.coords
    }

    /// A value for each entry.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// With values of another type.
    ///
    /// # Errors
    /// Those of [`Values::convert`].
    pub fn into_type(self, value_type: ValueType) -> Result<Entries> {
        Ok(Entries { values: self.values.into_type(value_type)?, ..self })
    }

    /// The entries of these numbers, in this order.
    pub fn gather<P: Position>(&self, kept: &[P]) -> Entries {
        Entries {
            dims: self.dims.clone(),
            coords: self.coords.iter().map(|column| column.gather(kept)).collect(),
            values: self.values.gather(kept),
        }
    }

    /// Drops a dimension of extent 1, whose coordinates are all 0.
    pub(crate) fn without_dimension(mut self, d: usize) -> Entries {
        debug_assert_eq!(self.dims[d], 1);
        self.dims.remove(d);
        self.coords.remove(d);
        self
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Number of entries, duplicates and explicit zeros included.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The coordinates of entry `k`. Panics if `k >= len`.
    pub fn point(&self, k: usize) -> Vec<usize> {
        self.coords.iter().map(|column| column.get(k) as usize).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let error = Entries::from_points(&[2, 2], &[(&[0, 2], 1.0)]).unwrap_err();
        assert_eq!(error.code, Code::Data);
        assert!(error.message.contains("coordinate 2 in dimension 2 of extent 2"), "{error}");
        let error = Entries::new(vec![2], vec![IndexData::I32(vec![-1])], Values::F64(vec![1.0]))
            .unwrap_err();
        assert_eq!(error.code, Code::Data);
        let error = Entries::from_points(&[2, 2], &[(&[0], 1.0)]).unwrap_err();
        assert_eq!(error.code, Code::Shape);
        let error = Entries::new(vec![2], vec![IndexData::U32(vec![])], Values::F64(vec![1.0]))
            .unwrap_err();
        assert_eq!(error.code, Code::Shape);
    }

    #[test]
    fn coordinates_take_the_type_the_extents_need() {
        let small = Entries::from_points(&[5], &[(&[4], 1.0)]).unwrap();
        assert_eq!(small.coords(), [IndexData::U32(vec![4])]);
        let large = Entries::from_points(&[5, 1 << 40], &[(&[4, 1 << 39], 1.0)]).unwrap();
        assert_eq!(large.coords(), [IndexData::U64(vec![4]), IndexData::U64(vec![1 << 39])]);
        assert_eq!(large.point(0), [4, 1 << 39]);
    }
}
