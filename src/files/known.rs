//! Storages that other programs have names for, declared as any layout is: what a file of theirs holds.
//!
//! In: a layout. Out: the model that is [`alike`] it, array by array. A format of a user's own, under
//! whatever names, is written as SciPy's if it stores what SciPy's does; that it is called like one is
//! no reason.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::Result;
use crate::formula::{Arith, Name};
use crate::layout::{Layout, LayoutSpec, alike};
use crate::tensor::Tensor;

/// A layout in the terms of a model.
pub(super) struct Known {
    /// What the other program calls it.
    pub format: &'static str,
    pub model: Layout,
    /// For each array of the model, and its values, the name in the layout.
    pub names: IndexMap<Name, Name>,
    /// The values of the model are arranged otherwise: they have to be packed.
    pub rearranged: bool,
}

impl Known {
    /// Whether the arrays of `tensor` are what the model declares: of its lengths, within its ranges, in its
    /// order. A layout may say the same of entries and store more than is needed, or promise less.
    pub fn holds(&self, tensor: &Tensor) -> bool {
        let name = |member: &Name| &self.names[member];
        let arrays = self.model.arrays.keys();
        let arrays = arrays.map(|m| (m.clone(), tensor.arrays()[name(m)].clone())).collect();
        let (dims, values) = (tensor.dims().to_vec(), tensor.values().clone());
        let model = Arc::new(self.model.clone());
        Tensor::new(model, dims, &IndexMap::new(), arrays, values)
            .is_ok_and(|mut tensor| tensor.validate().is_ok())
    }
}

/// A model: the other program's name, and its declaration.
pub(super) type Model = (&'static str, &'static str);

/// The first of `models` that `layout` is alike.
///
/// # Errors
/// Those of reading the models, which is a defect.
pub(super) fn known(layout: &Layout, models: &[Model]) -> Result<Option<Known>> {
    for &(format, declaration) in models {
        if let Some(found) = named(layout, format, declaration)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// `layout` in the terms of one model, if it is alike.
///
/// # Errors
/// Those of reading the model, which is a defect.
pub(super) fn named(
    layout: &Layout,
    format: &'static str,
    declaration: &str,
) -> Result<Option<Known>> {
    // Other programs count from 0.
    if layout.arrays.values().any(|array| array.base != 0) {
        return Ok(None);
    }
    let spec = LayoutSpec::from_toml("<storage>", &sized(declaration, layout))?;
    if spec.rank() != Some(layout.rank()) {
        return Ok(None);
    }
    let model = spec.instantiate(layout.rank())?;
    Ok(alike(layout, &model).map(|mut names| {
        names.insert(model.value.name.clone(), layout.value.name.clone());
        Known { format, model, names, rearranged: false }
    }))
}

/// The declaration with the sizes of the layout's blocks, which are constants, not names.
fn sized(declaration: &str, layout: &Layout) -> String {
    let mut out = declaration.to_string();
    for (k, extent) in layout.value.shape.iter().enumerate() {
        if let Arith::Int(n) = extent {
            out = out.replace(&format!("${k}"), &n.to_string());
        }
    }
    // Blocks of a size that is not constant are no blocks of these models.
    out.replace("$1", "1").replace("$2", "1")
}
