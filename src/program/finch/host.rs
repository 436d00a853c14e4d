//! What a program is given: tensors, sizes, numbers and operators.

use indexmap::IndexMap;

use crate::formula::Name;
use crate::operators::{Operators, Value};
use crate::tensor::ValueType;

/// A tensor that is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Its dimensions; those that the loops along it have, if it has none of its own.
    pub dims: Option<Vec<usize>>,
    /// The type of its values.
    pub ty: ValueType,
}

/// What a program is given.
#[derive(Clone, Debug)]
pub struct Host<'a> {
    /// Inputs, and outputs that are updated.
    pub tensors: IndexMap<Name, Given>,
    /// Types of tensors that the program declares; of others they follow from what is assigned.
    pub types: IndexMap<Name, ValueType>,
    /// Sizes of tensors that the program declares, for dimensions that no loop decides.
    pub sizes: IndexMap<Name, Vec<usize>>,
    /// Numbers by name.
    pub scalars: IndexMap<Name, Value>,
    /// Tensors of which not every element has a place that its subscripts say: these are searched for, or assembled.
    pub searched: Vec<Name>,
    /// Tensors whose layout is stated.
    pub stated: Vec<Name>,
    /// Tensors that are read by galloping, besides those of which the program says so.
    pub gallops: Vec<Name>,
    /// By name and by symbol.
    pub operators: &'a Operators,
}

impl<'a> Host<'a> {
    /// Nothing but operators.
    pub fn new(operators: &'a Operators) -> Self {
        Host {
            tensors: IndexMap::new(),
            types: IndexMap::new(),
            sizes: IndexMap::new(),
            scalars: IndexMap::new(),
            searched: Vec::new(),
            stated: Vec::new(),
            gallops: Vec::new(),
            operators,
        }
    }
}
