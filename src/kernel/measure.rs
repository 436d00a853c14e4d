//! What the data say about sizes, for the cost model.

use indexmap::IndexMap;

use super::Kernel;
use super::copies::choices;
use super::grounds::Copies;
use crate::code::IndexWidth;
use crate::diagnostic::Result;
use crate::formula::Name;
use crate::iterspace::compose_by;
use crate::program::resolve;
use crate::synth::Sizes;
use crate::tensor::{IndexData, Tensor};

impl Kernel {
    /// Prices the plans with the sizes of these tensors: extents, numbers of stored entries, mean
    /// segment lengths. Layouts that are not stated are those of the tensors. The same tensor may be given in several
    /// layouts: the kernel will read the copy with which it is expected to take the least time.
    ///
    /// # Errors
    /// Those of parsing the expression and fitting the tensors to it; [`Code::Usage`](crate::diagnostic::Code::Usage)
    /// for a tensor that is given twice in one layout, and for too many choices of copies.
    pub fn measured<'a>(
        self,
        tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
        index_extents: &IndexMap<Name, usize>,
    ) -> Result<Kernel> {
        let (several, mut choices) = choices(&self.request, tensors)?;
        if several.is_empty() {
            let all = choices.pop().unwrap_or_default();
            return self.measured_by(&all, index_extents);
        }
        let mut copies = Vec::new();
        let mut first: Option<Kernel> = None;
        let mut refusal = None;
        for all in choices {
            let layouts = several.iter().map(|n| (n.clone(), all[n].layout().clone())).collect();
            let sizes = match self.clone().measured_by(&all, index_extents) {
                Ok(kernel) => {
                    let sizes = kernel.request.sizes.clone();
                    first.get_or_insert(kernel);
                    Ok(sizes)
                }
                Err(e) => {
                    refusal.get_or_insert(e.clone());
                    Err(e)
                }
            };
            copies.push(Copies { layouts, sizes });
        }
        match (first, refusal) {
            (None, Some(refusal)) => Err(refusal),
            (kernel, _) => {
                let mut kernel = kernel.unwrap_or(self);
                kernel.request.copies = copies;
                Ok(kernel)
            }
        }
    }

    /// The same for one copy of each tensor.
    fn measured_by(
        mut self,
        tensors: &IndexMap<Name, &Tensor>,
        index_extents: &IndexMap<Name, usize>,
    ) -> Result<Kernel> {
        self.request.copies.clear();
        for (name, tensor) in tensors {
            if !self.request.layouts.contains_key(name) {
                self = self.declared(name, tensor.layout());
            }
        }
        let program = self.request.program()?;
        let dims = tensors.iter().map(|(n, t)| (n.clone(), t.dims().to_vec())).collect();
        let extents = resolve(&program, &dims, index_extents)?;
        let layouts = super::layouts::layouts(&self.request, &program)?;
        let spaces = compose_by(&program, &layouts.composed, &self.request.wanted(&program)?)?;
        let Sizes { workspace_limit, machine, .. } = self.request.sizes;
        let mut sizes = Sizes { workspace_limit, machine, ..Sizes::default() };
        for space in &spaces {
            for (index, name) in &space.extents {
                let extent = extents.indices[index] as f64;
                sizes.params.insert(name.clone(), extent);
                sizes.indices.insert(index.clone(), name.clone());
            }
            for o in &space.operands {
                for (name, n) in o.extents_in(&extents) {
                    sizes.params.entry(name.clone()).or_insert(n as f64);
                }
                let Some(tensor) = tensors.get(&o.tensor) else { continue };
                for (renamed, value) in o.params.keys().zip(tensor.params().values()) {
                    sizes.params.insert(renamed.clone(), *value as f64);
                }
                for (renamed, data) in o.arrays.keys().zip(tensor.arrays().values()) {
                    sizes.steps.insert(renamed.clone(), mean_step(data));
                    sizes.run_lengths.insert(renamed.clone(), run_length(data));
                }
            }
        }
        self.request.sizes = sizes;
        Ok(self)
    }
}

/// Mean difference of consecutive elements.
fn mean_step(data: &IndexData) -> f64 {
    match data.len() {
        0 | 1 => 0.0,
        n => (data.get(n - 1) - data.get(0)) as f64 / (n - 1) as f64,
    }
}

/// Mean number of consecutive elements that are equal.
fn run_length(data: &IndexData) -> f64 {
    if data.is_empty() { 1.0 } else { data.len() as f64 / (data.changes() as f64 + 1.0) }
}

/// The width that extents and numbers of entries need.
pub fn index_width(dims: &[usize], stored: usize) -> IndexWidth {
    let most = dims.iter().copied().chain([stored]).max().unwrap_or(0);
    if u32::try_from(most).is_ok() { IndexWidth::U32 } else { IndexWidth::U64 }
}
