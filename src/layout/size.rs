//! Where the sizes of a layout come from.

use super::Layout;
use crate::formula::{Arith, Name};

/// Where a size comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum SizeSource {
    /// The extent of that dimension.
    Dimension(usize),
    /// It is given with the arrays.
    Counted,
    /// It is the number of elements of that array, or of the values.
    Length(Name),
    /// It is computed from other sizes and from elements.
    Value(Arith),
}

impl Layout {
    /// Where the size `name` comes from; `None` if there is no such size.
    pub fn size_source(&self, name: &Name) -> Option<SizeSource> {
        if let Some(dimension) = self.extents().iter().position(|n| n == name) {
            return Some(SizeSource::Dimension(dimension));
        }
        if let Some(value) = self.params.get(name)? {
            return Some(SizeSource::Value(value.clone()));
        }
        let is_it = |len: &Arith| matches!(len, Arith::Var(n) if n == name);
        let array = self.arrays.values().find(|a| is_it(&a.len)).map(|a| &a.name);
        let array = array.or_else(|| is_it(&self.value.len).then_some(&self.value.name));
        Some(array.map_or(SizeSource::Counted, |array| SizeSource::Length(array.clone())))
    }

    /// The sizes that are given with the arrays.
    pub fn counted(&self) -> Vec<Name> {
        let is_counted = |name: &&Name| self.size_source(name) == Some(SizeSource::Counted);
        self.params.keys().filter(is_counted).cloned().collect()
    }
}
