//! What a layout states of the values: their type, what is not stored, and whether all are the same.
//!
//! In: a layout and what is to be packed. Out: the fill to pack with, or a refusal.

use super::options::PackOptions;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::layout::Layout;
use crate::tensor::{Entries, Tensor, Value, ValueType};

/// The options with the fill that the layout states.
///
/// # Errors
/// [`Code::Data`] if the type or the fill is another than the layout's.
pub(super) fn options(
    layout: &Layout,
    ty: ValueType,
    options: &PackOptions,
) -> Result<PackOptions> {
    let Some(stated) = layout.fill.map(Value::from) else { return Ok(*options) };
    if stated.value_type() != ty {
        let own = stated.value_type();
        return Err(Diagnostic::new(
            Code::Data,
            format!("layout `{}` has values of type {own}, but these are {ty}", layout.name),
        )
        .help(format!(
            "read them as {own}: `--type NAME={own}`; or name another type in the format"
        )));
    }
    match options.fill.map(|fill| fill.cast(ty)) {
        Some(fill) if !fill.same(stated) => Err(refused(layout, stated, fill)),
        _ => Ok(PackOptions { fill: Some(stated), ..*options }),
    }
}

/// The options for entries of a tensor in another layout, whose fill stays the same.
///
/// # Errors
/// [`Code::Data`] if a layout states another fill.
pub(super) fn converted(
    tensor: &Tensor,
    to: &Layout,
    options: &PackOptions,
) -> Result<PackOptions> {
    let ty = tensor.value_type();
    let own = tensor.layout().fill.map(|fill| Value::from(fill).cast(ty));
    let fill = match (own, options.fill) {
        (Some(own), Some(fill)) if !fill.cast(ty).same(own) => {
            return Err(refused(tensor.layout(), own, fill));
        }
        (own, fill) => fill.or(own),
    };
    let said = fill.map_or(Value::zero(ty), |fill| fill.cast(ty));
    match to.fill.map(|fill| Value::from(fill).cast(ty)) {
        Some(stated) if !stated.same(said) => Err(refused(to, stated, said)),
        _ => Ok(PackOptions { fill, ..*options }),
    }
}

fn refused(layout: &Layout, stated: Value, fill: Value) -> Box<Diagnostic> {
    Diagnostic::new(
        Code::Data,
        format!(
            "layout `{}` says that what is not stored is {stated}, but in this tensor it is {fill}",
            layout.name
        ),
    )
    .help("name the fill of the tensor in the format")
}

/// The entries that a layout stores whose values are all the same: those which are not fill.
pub(super) fn kept(layout: &Layout, entries: &Entries, fill: Option<Value>) -> Option<Entries> {
    layout.value.constant?;
    let fill = fill.unwrap_or(Value::zero(entries.values().value_type()));
    let is_fill = |k: &usize| Value::element(entries.values(), *k).same(fill);
    let kept: Vec<usize> = (0..entries.len()).filter(|k| !is_fill(k)).collect();
    (kept.len() < entries.len()).then(|| entries.gather(&kept))
}

/// The tensor with the one value that the layout has wherever there is place for a value, also where nothing is
/// stored.
///
/// # Errors
/// [`Code::NotPackable`] with the coordinates of what is stored with another value.
pub(super) fn constant(mut tensor: Tensor) -> Result<Tensor> {
    let Some(constant) = tensor.layout().value.constant.map(Value::from) else {
        return Ok(tensor);
    };
    let values = tensor.values();
    if (0..values.len()).any(|k| !Value::element(values, k).same(constant)) {
        refuse_others(&tensor, constant)?;
        constant.fill(tensor.values_mut());
    }
    Ok(tensor)
}

fn refuse_others(tensor: &Tensor, constant: Value) -> Result<()> {
    let layout = tensor.layout();
    let stored = tensor.entries()?;
    let other = |k: &usize| !Value::element(stored.values(), *k).same(constant);
    let first = (0..stored.len()).find(other).map(|k| {
        let point: Vec<String> = stored.point(k).iter().map(usize::to_string).collect();
        format!("({}) is {}", point.join(", "), Value::element(stored.values(), k))
    });
    let Some(first) = first else { return Ok(()) };
    Err(Diagnostic::new(
        Code::NotPackable,
        format!("layout `{}` stores {constant} only, but {first}", layout.name),
    )
    .help(format!(
        "choose a format that has places for what is {constant} alone, or one with values"
    )))
}
