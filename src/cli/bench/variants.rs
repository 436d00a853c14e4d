//! The cases of a run: every density of a sweep, with every choice of layouts.

use indexmap::IndexMap;
use siskin::diagnostic::Result;
use siskin::program::Program;
use siskin::tensor::element_count;

use super::super::data;
use super::super::options::KernelOptions;
use super::super::tensors::TensorOptions;
use super::layouts::{Choice, stored_as};
use super::sweep::Sweep;

/// Tensors of one case.
pub struct Variant {
    pub tensors: TensorOptions,
    pub density: Option<f64>,
    /// `A=csr`; none if layouts do not change.
    pub layouts: Option<String>,
}

/// All cases, by density and then by layouts.
///
/// # Errors
/// Those of the sweep and of the layouts.
pub fn variants(
    program: &Program,
    given: &TensorOptions,
    options: &KernelOptions,
    sweep: Option<&Sweep>,
    layouts: &[String],
) -> Result<Vec<Variant>> {
    let mut out = Vec::new();
    match sweep {
        None => out.push(Variant { tensors: given.clone(), density: None, layouts: None }),
        Some(sweep) => {
            for &density in &sweep.densities {
                let tensors = sweep.at(density, given, program)?;
                out.push(Variant { tensors, density: Some(density), layouts: None });
            }
        }
    }
    for text in layouts {
        let choice = Choice::parse(text)?;
        let tensor = match (&choice.tensor, out.first()) {
            (Some(tensor), _) => tensor.clone(),
            (None, Some(first)) => first_sparse(program, &first.tensors, options)?,
            (None, None) => continue,
        };
        choice.check(&tensor, given, program)?;
        let mut all = Vec::new();
        for variant in out {
            for layout in &choice.layouts {
                let own = format!("{tensor}={layout}");
                all.push(Variant {
                    tensors: stored_as(&variant.tensors, &tensor, layout)?,
                    density: variant.density,
                    layouts: Some(match &variant.layouts {
                        Some(before) => format!("{before} {own}"),
                        None => own,
                    }),
                });
            }
        }
        out = all;
    }
    Ok(out)
}

/// The first input that stores fewer elements than it has; the first, if all store every one.
fn first_sparse(
    program: &Program,
    given: &TensorOptions,
    options: &KernelOptions,
) -> Result<String> {
    let output = &program.output()?.tensor;
    let inputs = data::inputs(program, given, options, &IndexMap::new())?;
    let of = |sparse: bool| {
        let mut tensors = inputs.tensors.iter().filter(|(name, _)| *name != output);
        let all = |n: usize, dims: &[usize]| element_count(dims).is_ok_and(|count| n >= count);
        tensors
            .find(|(_, t)| !sparse || !all(t.stored(), t.dims()))
            .map(|(name, _)| name.to_string())
    };
    Ok(of(true).or(of(false)).unwrap_or_default())
}
