//! What a file turned out to hold: entries or a dense array.

use crate::diagnostic::Result;
use crate::tensor::{DenseArray, Entries, Tensor, Value, ValueType, Values};

/// The content of a file, in the form the file has.
#[derive(Clone, Debug, PartialEq)]
pub enum Loaded {
    /// A list of entries.
    Entries(Entries),
    /// Every element.
    Dense(DenseArray),
}

impl From<Entries> for Loaded {
    fn from(entries: Entries) -> Loaded {
        Loaded::Entries(entries)
    }
}

impl From<DenseArray> for Loaded {
    fn from(array: DenseArray) -> Loaded {
        Loaded::Dense(array)
    }
}

impl Loaded {
    /// What a file of a tensor holds that is `fill`, or zero, where it stores nothing: an array if its layout has no index
    /// arrays, entries otherwise.
    ///
    /// # Errors
    /// Those of [`Tensor::entries`].
    pub fn of(tensor: Tensor, fill: Option<Value>) -> Result<Loaded> {
        let fill = fill.unwrap_or(Value::zero(tensor.value_type()));
        match tensor.layout().arrays.is_empty() {
            true => Ok(Loaded::Dense(tensor.into_dense()?)),
            false => Ok(Loaded::Entries(tensor.entries_else(fill)?)),
        }
    }

    /// Extent of each dimension.
    pub fn dims(&self) -> &[usize] {
        match self {
            Loaded::Entries(entries) => entries.dims(),
            Loaded::Dense(array) => array.dims(),
        }
    }

    /// The values, in the order of the file.
    pub fn values(&self) -> &Values {
        match self {
            Loaded::Entries(entries) => entries.values(),
            Loaded::Dense(array) => array.values(),
        }
    }

    /// The type of the values.
    pub fn value_type(&self) -> ValueType {
        self.values().value_type()
    }

    /// Number of values held: entries, or all elements of a dense array.
    pub fn stored(&self) -> usize {
        self.values().len()
    }

    /// As entries; a dense array's zeros are dropped.
    pub fn into_entries(self) -> Entries {
        match self {
            Loaded::Entries(entries) => entries,
            Loaded::Dense(array) => array.to_entries(),
        }
    }

    /// As a dense array; duplicate entries are summed.
    ///
    /// # Errors
    /// Those of [`DenseArray::from_entries`].
    pub fn into_dense(self) -> Result<DenseArray> {
        match self {
            Loaded::Entries(entries) => DenseArray::from_entries(&entries),
            Loaded::Dense(array) => Ok(array),
        }
    }

    /// With values of another type.
    ///
    /// # Errors
    /// Those of [`Values::convert`].
    pub fn into_type(self, value_type: ValueType) -> Result<Loaded> {
        Ok(match self {
            Loaded::Entries(entries) => Loaded::Entries(entries.into_type(value_type)?),
            Loaded::Dense(array) => Loaded::Dense(array.into_type(value_type)?),
        })
    }

    /// A matrix of one column or one row as a vector (matrix formats hold vectors like this); other
    /// data come back unchanged in `Err`.
    #[allow(clippy::result_large_err)] // not an error: the caller goes on with it
    pub fn into_vector(self) -> std::result::Result<Loaded, Loaded> {
        let dropped = match *self.dims() {
            [_, 1] => 1,
            [1, _] => 0,
            _ => return Err(self),
        };
        Ok(self.without_dimension(dropped))
    }

    /// Data of this rank: a matrix of one row or column may be a vector, and all that has one element a scalar. Other
    /// data come back unchanged in `Err`.
    #[allow(clippy::result_large_err)] // not an error: the caller goes on with it
    pub fn into_rank(self, rank: usize) -> std::result::Result<Loaded, Loaded> {
        match (rank, self.dims()) {
            (rank, dims) if dims.len() == rank => Ok(self),
            (0, [1] | [1, 1]) => {
                Ok((0..self.dims().len()).fold(self, |one, _| one.without_dimension(0)))
            }
            (1, _) => self.into_vector(),
            _ => Err(self),
        }
    }

    /// Drops a dimension of extent 1.
    fn without_dimension(self, dropped: usize) -> Loaded {
        match self {
            Loaded::Entries(entries) => Loaded::Entries(entries.without_dimension(dropped)),
            Loaded::Dense(array) => Loaded::Dense(array.without_dimension(dropped)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_columns_and_rows_become_vectors_and_others_stay() {
        let column = Entries::from_points(&[4, 1], &[(&[3, 0], 2.0)]).unwrap();
        let vector = Entries::from_points(&[4], &[(&[3], 2.0)]).unwrap();
        assert_eq!(Loaded::Entries(column).into_vector(), Ok(Loaded::Entries(vector.clone())));
        let row = DenseArray::new(vec![1, 2], vec![1.0, 2.0].into()).unwrap();
        assert_eq!(Loaded::Dense(row).into_vector().unwrap().dims(), [2]);
        assert_eq!(Loaded::Entries(vector.clone()).into_vector(), Err(Loaded::Entries(vector)));
    }

    #[test]
    fn conversions_go_both_ways() {
        let array = DenseArray::new(vec![2, 2], vec![0.0, 1.0, 2.0, 0.0].into()).unwrap();
        let loaded = Loaded::Entries(Loaded::Dense(array.clone()).into_entries());
        assert_eq!(loaded.stored(), 2);
        assert_eq!(loaded.clone().into_dense().unwrap(), array);
        assert_eq!(loaded.into_type(ValueType::I32).unwrap().value_type(), ValueType::I32);
    }
}
