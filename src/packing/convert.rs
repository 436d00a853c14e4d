//! Converting a tensor from one layout to another.

use std::sync::Arc;

use super::elements::pack_elements;
use super::options::PackOptions;
use super::pack::pack;
use super::plan::Plan;
use crate::diagnostic::Result;
use crate::layout::Layout;
use crate::tensor::Tensor;

/// The tensor in another layout: its entries, packed. Zeros that the source layout stores only
/// because it must (blocks, padding, dense dimensions) are dropped.
///
/// # Errors
/// Those of [`Tensor::entries`] and of [`pack`].
pub fn convert(tensor: &Tensor, to: &Arc<Layout>, options: &PackOptions) -> Result<Tensor> {
    if !tensor.is_validated() {
        tensor.check_properties()?;
    }
    if let Some(elements) = tensor.row_major() {
        return pack_elements(to, tensor.dims(), elements, options);
    }
    let mut entries = tensor.entries()?;
    // A layout that cannot be packed may still be read; keep what it stores.
    let fills = Plan::of(tensor.layout()).is_ok_and(|plan| plan.fills());
    if fills {
        let kept: Vec<usize> =
            (0..entries.len()).filter(|&k| !entries.values().is_zero(k)).collect();
        if kept.len() < entries.len() {
            entries = entries.gather(&kept);
        }
    }
    pack(to, &entries, options)
}
