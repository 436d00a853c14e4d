//! The arrays and tables of a run.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::value::{Number, Value};
use crate::code::ir::{ArrayId, IndexWidth, RARE, VarId};
use crate::tensor::{IndexData, Values};

/// An array of the body.
#[derive(Clone, Debug)]
pub enum Storage<'a> {
    /// Not given, or not allocated yet.
    Absent,
    Index(&'a IndexData),
    Values(&'a Values),
    Written(Values),
    /// State of a find, and index arrays that grow.
    Positions(Vec<usize>),
}

/// A workspace: the elements that were combined, by their keys.
pub type Elements = BTreeMap<Vec<usize>, Number>;

impl Storage<'_> {
    /// `None` if there is no array.
    pub fn len(&self) -> Option<usize> {
        Some(match self {
            Storage::Absent => return None,
            Storage::Index(data) => data.len(),
            Storage::Values(values) => values.len(),
            Storage::Written(values) => values.len(),
            Storage::Positions(list) => list.len(),
        })
    }

    /// Element `k`, which exists; an element of an index array as it is stored.
    pub fn element(&self, k: usize) -> Option<Element> {
        Some(match self {
            Storage::Absent => return None,
            Storage::Index(data) => Element::Index(stored(data, k)),
            Storage::Values(values) => Element::Value(Value::Number(Number::element(values, k))),
            Storage::Written(values) => Element::Value(Value::Number(Number::element(values, k))),
            Storage::Positions(list) => Element::Value(Value::Unsigned(list[k])),
        })
    }

    /// Sets element `k`, which exists. `None` if the array cannot hold the value.
    pub fn put(&mut self, k: usize, value: &Value) -> Option<()> {
        match (self, value) {
            (Storage::Written(values), Value::Number(x)) => {
                (x.value_type() == values.value_type()).then(|| x.store(values, k))
            }
            (Storage::Positions(list), Value::Unsigned(x)) => {
                list[k] = *x;
                Some(())
            }
            _ => None,
        }
    }
}

impl Storage<'_> {
    /// One element more. `None` if the array does not grow or holds something else.
    pub fn push(&mut self, value: &Value) -> Option<()> {
        match (self, value) {
            (Storage::Written(values), Value::Number(x)) => {
                let fits = x.value_type() == values.value_type();
                fits.then(|| values.push_from(&x.repeated(1), 0))
            }
            (Storage::Positions(list), Value::Unsigned(x)) => {
                list.push(*x);
                Some(())
            }
            _ => None,
        }
    }
}

/// What a load reads.
pub enum Element {
    Index(i128),
    Value(Value),
}

fn stored(data: &IndexData, k: usize) -> i128 {
    match data {
        IndexData::U32(v) => v[k].into(),
        IndexData::U64(v) => v[k].into(),
        IndexData::I32(v) => v[k].into(),
        IndexData::I64(v) => v[k].into(),
    }
}

/// A multimap from keys to positions, in the order of entry.
#[derive(Clone, Debug, Default)]
pub struct Table {
    positions: FxHashMap<Vec<i64>, Vec<usize>>,
    /// What it was made for.
    pub len: usize,
}

impl Table {
    pub fn new(len: usize) -> Table {
        Table { positions: FxHashMap::default(), len }
    }

    pub fn insert(&mut self, key: Vec<i64>, position: usize) {
        self.positions.entry(key).or_default().push(position);
    }

    pub fn matches(&self, key: &[i64]) -> &[usize] {
        self.positions.get(key).map_or(&[], Vec::as_slice)
    }

    /// Whether more than one in [`RARE`] keys up to the greatest has a position.
    pub fn is_dense(&self) -> bool {
        let greatest = self.positions.keys().filter_map(|key| key.first()).max();
        greatest.is_some_and(|greatest| (RARE * self.positions.len()) as i64 > *greatest)
    }

    /// Any position.
    pub fn any(&self) -> Option<usize> {
        self.positions.values().flatten().copied().max()
    }
}

/// Whether a number is one that a key of this width can hold: natural numbers up to the greatest of
/// the unsigned type, signed ones in two's complement.
pub fn fits_key(value: &Value, width: IndexWidth) -> bool {
    match (value, width) {
        (Value::Unsigned(n), IndexWidth::U32) => *n as u64 <= u64::from(u32::MAX),
        (Value::Unsigned(_), IndexWidth::U64) => true,
        (Value::Signed(n), IndexWidth::U32) => {
            let most = i64::from(u32::MAX / 2);
            (!most..=most).contains(&(*n as i64))
        }
        (Value::Signed(_), IndexWidth::U64) => true,
        _ => false,
    }
}

impl VarId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

impl ArrayId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}
