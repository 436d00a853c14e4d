//! Declarations as a user meets them.

mod composed;
mod hostile;
mod malformed;
mod properties;
mod ranges;
mod shipped;

use crate::diagnostic::Result;
use crate::layout::{Layout, LayoutSpec};

/// The layout that a file of this text declares; rank 2 if any is possible.
fn from_toml(text: &str) -> Result<Layout> {
    let spec = LayoutSpec::from_toml("test.toml", text)?;
    spec.instantiate(spec.rank().unwrap_or(2))
}

fn formulas(layout: &Layout) -> Vec<String> {
    layout.properties.iter().map(|p| format!("{}: {}", p.kind, p.formula)).collect()
}

fn shapes(layout: &Layout, array: &str) -> (Vec<String>, String) {
    let array = &layout.arrays[array];
    (array.shape.iter().map(ToString::to_string).collect(), array.len.to_string())
}
