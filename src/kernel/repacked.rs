//! Results that a kernel makes in another form, and what is wanted is packed from.
//!
//! ```text
//! s[] += x[i] * y[i], s being stored or not   ⟼   s[place] += x[i] * y[i], one place or none
//! y[i] = x[i] + 1, where a format says that 0 is not stored   ⟼   all elements, which are stored
//! y[i] = x[i] if i > 2, which begins as 1                     ⟼   all elements, of which those other than 1 are stored
//! ```

use std::sync::Arc;

use super::assemble::is_written_in_place;
use super::request::Request;
use crate::diagnostic::Result;
use crate::formula::Name;
use crate::layout::{DefaultFor, Layout};
use crate::packing::{PackOptions, pack};
use crate::tensor::{Entries, IndexData, Tensor, Value};

/// What a result is packed from.
#[derive(Clone, Debug)]
pub(super) struct Repacked {
    /// The layout that is wanted.
    pub layout: Arc<Layout>,
    /// What is made.
    pub made: Made,
}

#[derive(Clone, Debug)]
pub(super) enum Made {
    /// A scalar, along this index of extent 1.
    Scalar { place: Name },
    /// All elements, all of which are set.
    Whole,
    /// All elements, of which some may be as they began: those are not stored.
    Begun,
}

impl Repacked {
    /// What is not stored.
    pub fn fill(&self) -> Option<Value> {
        self.layout.fill.map(Value::from)
    }

    /// The result, of what the kernel has made.
    ///
    /// # Errors
    /// Those of packing.
    pub fn packed(&self, made: &Tensor, fill: Value) -> Result<Tensor> {
        let entries = match &self.made {
            Made::Scalar { .. } => {
                let entries = made.entries()?;
                Entries::new(Vec::new(), Vec::new(), entries.values().clone())?
            }
            Made::Whole => all(made, fill)?,
            Made::Begun => {
                let all = all(made, fill)?;
                let is_set = |k: &usize| !Value::element(all.values(), *k).identical(fill);
                all.gather(&(0..all.len()).filter(is_set).collect::<Vec<usize>>())
            }
        };
        let options = PackOptions { fill: Some(fill), ..PackOptions::default() };
        pack(&self.layout, &entries, &options)
    }
}

/// All elements as entries.
fn all(made: &Tensor, fill: Value) -> Result<Entries> {
    let array = made.dense_else(fill)?;
    let dims = array.dims().to_vec();
    let count = array.values().len();
    let mut coords = Vec::new();
    let mut inner = count;
    for &extent in &dims {
        inner /= extent.max(1);
        let along: Vec<u64> =
            (0..count).map(|k| (k / inner.max(1) % extent.max(1)) as u64).collect();
        coords.push(IndexData::U64(along));
    }
    Entries::new(dims, coords, array.into_values())
}

/// The request for a scalar that has a place or none, as one for a tensor along an index of extent 1.
///
/// # Errors
/// Those of the expression and of the layout.
pub(super) fn in_one_place(request: &Request) -> Result<Option<(Request, Repacked)>> {
    let program = request.program()?;
    let request = request.with_leaves(&program)?;
    let output = program.output()?.tensor.clone();
    let Some(text) = request.layouts.get(&output) else { return Ok(None) };
    if program.tensors().get(&output) != Some(&0) || text.trim().starts_with("shares(") {
        return Ok(None);
    }
    let layout = match request.declared.get(&output) {
        Some(layout) => layout.clone(),
        None => Arc::new(Layout::named_for_rank(text, 0)?),
    };
    if is_written_in_place(&layout) {
        return Ok(None);
    }
    let taken = |name: &str| {
        program.tensors().contains_key(name) || program.indices().iter().any(|i| **i == *name)
    };
    let numbered = (2..).map(|k| format!("place_{k}"));
    let mut names = std::iter::once("place".to_string()).chain(numbered);
    let place = Name::from(names.find(|name| !taken(name)).unwrap_or_default());
    let mut along = request.clone();
    along.expression = indexed(&program.to_string(), &output, &place);
    along.declared.shift_remove(&output);
    along.layouts.insert(output, DefaultFor::Entries.layout()?);
    Ok(Some((along, Repacked { layout, made: Made::Scalar { place } })))
}

/// A program with an index in the brackets of a scalar.
fn indexed(program: &str, scalar: &str, index: &str) -> String {
    let access = format!("{scalar}[]");
    let mut out = String::new();
    let mut rest = program;
    while let Some(at) = rest.find(&access) {
        let (before, behind) = rest.split_at(at);
        out.push_str(before);
        let own = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        match own {
            true => out.push_str(&format!("{scalar}[{index}]")),
            false => out.push_str(&access),
        }
        rest = &behind[access.len()..];
    }
    out + rest
}

/// The request with all elements of the output.
///
/// # Errors
/// Those of the layouts that ship.
pub(super) fn whole(request: &Request, output: &Name) -> Result<Request> {
    let mut out = request.clone();
    out.declared.shift_remove(output);
    out.layouts.insert(output.clone(), DefaultFor::Output.layout()?);
    out.sparse_result = false;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scalar_is_indexed_wherever_it_stands() {
        let text = "s[] += ss[] * x[i]; r[] = s[] + s[]";
        let expected = "s[u] += ss[] * x[i]; r[] = s[u] + s[u]";
        assert_eq!(indexed(text, "s", "u"), expected);
    }

    #[test]
    fn all_elements_are_entries_in_their_order() {
        let layout = Arc::new(Layout::named_for_rank("dense", 2).unwrap());
        let values = crate::tensor::Values::F64(vec![0.0, 1.0, 2.0, 0.0, 0.0, 5.0]);
        let made = Entries::new(
            vec![2, 3],
            vec![IndexData::U64(vec![0, 0, 0, 1, 1, 1]), IndexData::U64(vec![0, 1, 2, 0, 1, 2])],
            values,
        )
        .unwrap();
        let tensor = pack(&layout, &made, &PackOptions::default()).unwrap();
        assert_eq!(all(&tensor, Value::F64(0.0)).unwrap(), made);
    }
}
