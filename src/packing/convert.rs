//! Converting a tensor from one layout to another.

use std::sync::Arc;

use super::elements::pack_elements;
use super::options::PackOptions;
use super::pack::pack;
use super::plan::Plan;
use super::stated;
use crate::diagnostic::Result;
use crate::layout::Layout;
use crate::tensor::{Tensor, Value};

/// The tensor in another layout: its entries, packed. What is not stored otherwise, and the source layout
/// stores only because it must (blocks, padding, dense dimensions), is dropped.
///
/// # Errors
/// Those of [`Tensor::entries`] and of [`pack`].
pub fn convert(tensor: &Tensor, to: &Arc<Layout>, options: &PackOptions) -> Result<Tensor> {
    let options = &stated::converted(tensor, to, options)?;
    if !tensor.is_validated() {
        tensor.check_properties()?;
    }
    if let Some(elements) = tensor.row_major() {
        return pack_elements(to, tensor.dims(), elements, options);
    }
    let fill = options.fill.map(|fill| fill.cast(tensor.value_type()));
    let fill = fill.unwrap_or(Value::zero(tensor.value_type()));
    let mut entries = tensor.entries_else(fill)?;
    // A layout that cannot be packed may still be read; keep what it stores.
    let fills = Plan::of(tensor.layout()).is_ok_and(|plan| plan.fills());
    if fills {
        let is_fill = |k: &usize| Value::element(entries.values(), *k).same(fill);
        let kept: Vec<usize> = (0..entries.len()).filter(|k| !is_fill(k)).collect();
        if kept.len() < entries.len() {
            entries = entries.gather(&kept);
        }
    }
    pack(to, &entries, options)
}
