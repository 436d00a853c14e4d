//! A tensor stored in a declared layout.
//!
//! In: a layout, extents, index arrays and values. Out: [`Tensor`], whose sizes all have values.
//! Whether the arrays have the properties that the layout declares is asked by
//! [`Tensor::validate`].

use std::sync::Arc;

use indexmap::IndexMap;

use super::index_data::IndexData;
use super::points::Scope;
use super::values::{ValueType, Values};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Arith, Name};
use crate::layout::{IndexArray, Layout};

/// A tensor in a layout: its index arrays and values.
#[derive(Clone, Debug)]
pub struct Tensor {
    layout: Arc<Layout>,
    dims: Vec<usize>,
    params: IndexMap<Name, i64>,
    arrays: IndexMap<Name, IndexData>,
    values: Values,
    /// The number of values when the tensor was found valid.
    validated: Option<usize>,
}

impl Tensor {
    /// A tensor of existing arrays. `counted` gives the parameters that the layout leaves to be
    /// counted, except those that are the length of an array.
    ///
    /// # Errors
    /// [`Code::Shape`] if an array, an extent or a count is missing; [`Code::Property`] if a size
    /// cannot be computed from the arrays.
    pub fn new(
        layout: Arc<Layout>,
        dims: Vec<usize>,
        counted: &IndexMap<Name, i64>,
        mut arrays: IndexMap<Name, IndexData>,
        values: Values,
    ) -> Result<Tensor> {
        if dims.len() != layout.rank() {
            return Err(rank_differs(&layout, dims.len()));
        }
        if let Some(name) = layout.arrays.keys().find(|n| !arrays.contains_key(*n)) {
            return Err(Diagnostic::new(
                Code::Shape,
                format!("layout `{}` has an index array `{name}`, which is not given", layout.name),
            )
            .help("give it; where entries are packed, the relation has to say what it holds"));
        }
        if let Some(name) = arrays.keys().find(|n| !layout.arrays.contains_key(*n)) {
            return Err(Diagnostic::new(
                Code::Shape,
                format!("layout `{}` has no index array `{name}`", layout.name),
            ));
        }
        arrays.sort_by_key(|name, _| layout.arrays.get_index_of(name));
        let mut counts = counted.clone();
        for name in layout.params.iter().filter(|(_, d)| d.is_none()).map(|(n, _)| n) {
            if counts.contains_key(name) {
                continue;
            }
            let is_it = |len: &Arith| matches!(len, Arith::Var(n) if n == name);
            let array = layout.arrays.values().find(|a| is_it(&a.len)).map(|a| &arrays[&a.name]);
            let length = match array {
                Some(array) => array.len(),
                None if is_it(&layout.value.len) => values.len(),
                None => {
                    return Err(Diagnostic::new(
                        Code::Shape,
                        format!("the size `{name}` of layout `{}` is not given", layout.name),
                    ));
                }
            };
            counts.insert(name.clone(), length as i64);
        }
        let params = sizes(&layout, &dims, &counts, &arrays)?;
        Ok(Tensor { layout, dims, params, arrays, values, validated: None })
    }

    /// The layout in which it is stored.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// Extent of each dimension.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// The value of every size parameter of the layout, defined or counted, in its order.
    pub fn params(&self) -> &IndexMap<Name, i64> {
        &self.params
    }

    /// The index arrays, in the order of the layout.
    pub fn arrays(&self) -> &IndexMap<Name, IndexData> {
        &self.arrays
    }

    /// The value array.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// For kernels that write into a tensor; the index arrays stay as they are.
    pub fn values_mut(&mut self) -> &mut Values {
        &mut self.values
    }

    pub(super) fn into_values(self) -> Values {
        self.values
    }

    /// The type of the values.
    pub fn value_type(&self) -> ValueType {
        self.values.value_type()
    }

    /// Number of stored values, padding included.
    pub fn stored(&self) -> usize {
        self.values.len()
    }

    /// Bytes of index arrays and values.
    pub fn size_bytes(&self) -> usize {
        let arrays: usize =
            self.arrays.values().map(|a| a.len() * a.index_type().size_bytes()).sum();
        arrays + self.values.len() * self.value_type().size_bytes()
    }

    /// Whether [`Tensor::validate`] has succeeded. Index arrays never change; replacing the values
    /// by another number of values undoes it.
    pub fn is_validated(&self) -> bool {
        self.validated == Some(self.values.len())
    }

    pub(super) fn mark_validated(&mut self) {
        self.validated = Some(self.values.len());
    }

    /// Extents, sizes and arrays under their names.
    pub(super) fn scope(&self) -> Result<Scope<'_>> {
        let mut scope = Scope::new(extents(&self.layout, &self.dims)?);
        scope.sizes.extend(self.params.iter().map(|(n, v)| (n.clone(), *v)));
        for (name, data) in &self.arrays {
            let array = &self.layout.arrays[name];
            let shape = shape(&scope, array).ok_or_else(|| no_shape(array))?;
            scope.add_array(name, data, shape);
        }
        Ok(scope)
    }
}

pub(crate) fn rank_differs(layout: &Layout, rank: usize) -> Box<Diagnostic> {
    Diagnostic::new(
        Code::Shape,
        format!("layout `{}` is of rank {}, the tensor of rank {rank}", layout.name, layout.rank()),
    )
    .help("choose a layout of the tensor's rank; `siskin layouts` lists them")
}

fn no_shape(array: &IndexArray) -> Box<Diagnostic> {
    Diagnostic::new(
        Code::Property,
        format!("the extents of index array `{}` cannot be computed", array.name),
    )
    .help("the sizes they depend on are negative or exceed 64 bits")
}

/// The row-major extents of an array, as far as the known sizes give them.
pub(crate) fn shape(scope: &Scope<'_>, array: &IndexArray) -> Option<Vec<i64>> {
    array.shape.iter().map(|e| scope.value(e).filter(|&n| n >= 0)).collect()
}

/// Extent parameters and their values.
pub(crate) fn extents(layout: &Layout, dims: &[usize]) -> Result<IndexMap<Name, i64>> {
    layout
        .extents()
        .into_iter()
        .zip(dims)
        .map(|(name, &extent)| match i64::try_from(extent) {
            Ok(extent) => Ok((name, extent)),
            Err(_) => Err(Diagnostic::new(
                Code::Shape,
                format!("extent {extent} is larger than 2^63 - 1"),
            )),
        })
        .collect()
}

/// Every size parameter's value, in the layout's order; a definition may use sizes and arrays that
/// themselves depend on other sizes.
pub(super) fn sizes(
    layout: &Layout,
    dims: &[usize],
    counts: &IndexMap<Name, i64>,
    arrays: &IndexMap<Name, IndexData>,
) -> Result<IndexMap<Name, i64>> {
    let (scope, open) = known_sizes(layout, dims, counts, arrays)?;
    if let Some((name, definition)) = open.first() {
        return Err(Diagnostic::new(
            Code::Property,
            format!("the size {name} = {definition} cannot be computed from the index arrays"),
        )
        .help("an array is too short, or holds numbers that are no positions"));
    }
    layout
        .params
        .keys()
        .map(|name| match scope.sizes[name] {
            value if value >= 0 => Ok((name.clone(), value)),
            value => Err(Diagnostic::new(Code::Property, format!("the size {name} is {value}"))
                .help("sizes are not negative: check the index array it is read from")),
        })
        .collect()
}

/// The sizes that can be computed from the given counts and arrays, and the definitions of those
/// that cannot.
pub(crate) fn known_sizes<'a>(
    layout: &'a Layout,
    dims: &[usize],
    counts: &IndexMap<Name, i64>,
    arrays: &'a IndexMap<Name, IndexData>,
) -> Result<(Scope<'a>, Vec<(&'a Name, &'a Arith)>)> {
    let mut scope = Scope::new(extents(layout, dims)?);
    scope.sizes.extend(counts.iter().map(|(n, v)| (n.clone(), *v)));
    let mut open: Vec<(&Name, &Arith)> =
        layout.params.iter().filter_map(|(n, d)| Some((n, d.as_ref()?))).collect();
    let mut unread: Vec<(&Name, &IndexData)> = arrays.iter().collect();
    loop {
        let before = (open.len(), unread.len());
        unread.retain(|(name, data)| {
            let shape = layout.arrays.get(*name).and_then(|array| shape(&scope, array));
            let readable = shape.is_some();
            if let Some(shape) = shape {
                scope.add_array(name, data, shape);
            }
            !readable
        });
        open.retain(|(name, definition)| {
            let value = scope.value(definition);
            if let Some(value) = value {
                scope.sizes.insert((*name).clone(), value);
            }
            value.is_none()
        });
        if (open.len(), unread.len()) == before {
            return Ok((scope, open));
        }
    }
}
