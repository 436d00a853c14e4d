//! What the data say about sizes, for the cost model.

use indexmap::IndexMap;

use super::Kernel;
use super::copies::choices;
use super::grounds::Copies;
use crate::code::IndexWidth;
use crate::diagnostic::Result;
use crate::formula::Name;
use crate::iterspace::{Operand, Space, compose_by};
use crate::layout::Layout;
use crate::layout::checks::admits_negative;
use crate::program::resolve;
use crate::synth::{Common, Sizes};
use crate::tensor::{IndexData, Met, Sample, Tensor};

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
            sizes.common.extend(common(space, tensors, &sizes.common));
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
                    sizes.means.insert(renamed.clone(), data.mean());
                    sizes.filled.insert(renamed.clone(), data.filled());
                    sizes.typical_steps.insert(renamed.clone(), data.typical_step());
                    sizes.run_lengths.insert(renamed.clone(), run_length(data));
                    sizes.uneven.insert(renamed.clone(), data.unevenness());
                }
            }
        }
        self.request.sizes = sizes;
        Ok(self)
    }
}

/// What tensors have in common that meet in a space: of those that are walked with all their indices, where others, which
/// may be looked up, have no index beside these.
fn common(space: &Space, tensors: &IndexMap<Name, &Tensor>, known: &[Common]) -> Vec<Common> {
    let plain = |o: &Operand| -> Option<Vec<Name>> {
        let names: Option<Vec<Name>> = o.subscripts.iter().map(|s| s.as_var().cloned()).collect();
        names.filter(|own| (1..own.len()).all(|k| !own[..k].contains(&own[k])))
    };
    let mut out = Vec::new();
    for of in space.present() {
        let (Some(walked), Some(own), Some(tensor)) =
            (of.positions.last(), plain(of), tensors.get(&of.tensor))
        else {
            continue;
        };
        let mut sample: Option<Sample> = None;
        let lookups = space.lookups.iter().map(|&k| &space.operands[k]);
        let others = space.present().chain(lookups);
        for other in others.filter(|o| o.label != of.label && !o.positions.is_empty()) {
            let (Some(theirs), Some(second)) = (plain(other), tensors.get(&other.tensor)) else {
                continue;
            };
            let from: Option<Vec<usize>> =
                theirs.iter().map(|index| own.iter().position(|own| own == index)).collect();
            let is_known = |c: &Common| c.walked == *walked && c.searched == other.positions;
            if known.iter().any(is_known) {
                continue;
            }
            let Some(from) = from else { continue };
            let sample = sample.get_or_insert_with(|| Sample::of(tensor));
            if let Some(Met { share, turns }) = sample.met(second, &from) {
                let (walked, searched) = (walked.clone(), other.positions.clone());
                // What both store is apart from what was before.
                let apart =
                    sample.apart(second, &from).map(|apart| 1.0 - (1.0 - share) * (1.0 - apart));
                // What goes with several coordinates is nowhere in a row.
                let beside = match from.as_slice() {
                    [only] => sample.beside(*only).unwrap_or(0.0),
                    _ => 0.0,
                };
                out.push(Common { walked, searched, share, turns, apart, beside });
            }
        }
    }
    out
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

/// The width that extents and numbers of entries need in a layout, whose index arrays may be signed.
pub fn index_width(layout: &Layout, dims: &[usize], stored: usize) -> IndexWidth {
    let most = dims.iter().copied().chain([stored]).max().unwrap_or(0);
    let fits = match layout.arrays.values().any(admits_negative) {
        true => i32::try_from(most).is_ok(),
        false => u32::try_from(most).is_ok(),
    };
    if fits { IndexWidth::U32 } else { IndexWidth::U64 }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::packing::{PackOptions, pack};
    use crate::tensor::Entries;

    fn tensor(layout: &str, dims: &[usize], stored: impl Fn(usize, usize) -> bool) -> Tensor {
        let all = (0..dims[0]).flat_map(|i| (0..dims[1]).map(move |j| [i, j]));
        let points: Vec<([usize; 2], f64)> =
            all.filter(|[i, j]| stored(*i, *j)).map(|at| (at, 1.0)).collect();
        let points: Vec<(&[usize], f64)> = points.iter().map(|(at, v)| (&at[..], *v)).collect();
        let layout = Arc::new(Layout::named_for_rank(layout, 2).unwrap());
        pack(&layout, &Entries::from_points(dims, &points).unwrap(), &PackOptions::default())
            .unwrap()
    }

    #[test]
    fn the_share_of_a_sample_is_that_of_all_entries() {
        for layout in ["csr", "csc", "dcsr", "coo", "bcsr(2,2)", "dense"] {
            let many = tensor(layout, &[60, 40], |i, j| (i + j) % 3 == 0);
            for other in ["csr", "csc", "dcsr", "coo", "dia", "bcsr(1,1)"] {
                let same = tensor(other, &[60, 40], |i, j| (i + j) % 3 == 0);
                let half = tensor(other, &[60, 40], |i, _| i % 2 == 0);
                let none = tensor(other, &[60, 40], |_, _| false);
                let turned = tensor(other, &[40, 60], |j, i| (i + j) % 3 == 0);
                let sample = Sample::of(&many);
                let by = |other: &Tensor, from: &[usize]| sample.met(other, from).unwrap().share;
                if !["bcsr(2,2)", "dense"].contains(&layout) {
                    assert_eq!(by(&same, &[0, 1]), 1.0, "{layout} {other}");
                    assert_eq!(by(&turned, &[1, 0]), 1.0, "{layout} {other}");
                }
                // Diagonals are stored whole.
                let expected = if other == "dia" { 0.9..1.1 } else { 0.3..0.7 };
                assert!(expected.contains(&by(&half, &[0, 1])), "{layout} {other}");
                assert_eq!(by(&none, &[0, 1]), 0.0, "{layout} {other}");
            }
        }
    }

    #[test]
    fn rows_whose_columns_are_beside_those_before_are_told_from_others() {
        let beside = |layout: &str, stored: &dyn Fn(usize, usize) -> bool| {
            Sample::of(&tensor(layout, &[300, 6000], stored)).beside(1)
        };
        for layout in ["csr", "dcsr", "coo", "bcsr(2,2)"] {
            let band = beside(layout, &|i, j| i.abs_diff(j) < 3);
            let far = beside(layout, &|i, j| i.abs_diff(j) < 2 || i.abs_diff(j) == 200);
            let anywhere =
                beside(layout, &|i, j| j == 7919 * i % 6000 || j == (4099 * i + 13) % 6000);
            assert_eq!(band, Some(1.0), "{layout}");
            assert!(far.unwrap() > 0.9, "{layout}: {far:?}");
            // Elements of a block are beside each other.
            let most = if layout == "bcsr(2,2)" { 0.8 } else { 0.3 };
            assert!(anywhere.unwrap() < most, "{layout}: {anywhere:?}");
        }
        assert_eq!(beside("csr", &|i, j| i == 0 && j < 5), None);
    }

    #[test]
    fn what_is_long_to_find_or_not_there_is_not_known() {
        let share =
            |of: &Tensor, other: &Tensor| Sample::of(of).met(other, &[0, 1]).map(|met| met.share);
        let all = tensor("csr", &[80, 80], |_, _| true);
        let blocks = tensor("csb", &[80, 80], |_, _| true);
        assert_eq!(share(&all, &blocks), None);
        // A list in order is bisected.
        let list = tensor("coo", &[80, 80], |_, _| true);
        assert_eq!(share(&all, &list), Some(1.0));
        let empty = tensor("csr", &[80, 80], |_, _| false);
        assert_eq!(share(&empty, &all), None);
        let none = tensor("csr", &[0, 80], |_, _| true);
        assert_eq!(share(&none, &none), None);
    }
}
