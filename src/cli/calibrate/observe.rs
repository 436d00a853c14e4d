//! The times of kernels, and what the formulas say of them.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;

use indexmap::{IndexMap, IndexSet};
use siskin::diagnostic::Result;
use siskin::exec::Jit;
use siskin::kernel::{CompiledKernel, Kernel, Planned, Term};
use siskin::module::{Module, Source};
use siskin::synth::{Machine, workspaces};

use super::super::data::{self, Inputs};
use super::super::options::KernelOptions;
use super::super::running;
use super::super::tensors::TensorOptions;
use super::super::turns::turns;
use super::cases::{Case, Data};

/// A kernel that ran.
pub struct Observation {
    pub statement: String,
    /// The find or the workspace, if there is one.
    pub strategy: String,
    pub data: String,
    /// The least of its runs, in nanoseconds.
    pub time: f64,
    /// What it is expected to cost.
    pub terms: Vec<Term>,
}

impl Observation {
    /// Nanoseconds on a machine.
    pub fn expected(&self, machine: &Machine) -> f64 {
        self.terms.iter().map(|term| term.value(machine)).sum()
    }
}

/// Runs of each kernel, behind one that warms caches and pages.
const RUNS: usize = 7;
const QUICK_RUNS: usize = 3;

/// What is expected to take more, in nanoseconds, is left out.
const LONGEST: f64 = 6e7;

/// Runs what is proved for a case on its data, until the time is up.
///
/// # Errors
/// Those of kernels.
pub fn observe(
    case: &Case,
    jit: &Jit,
    quick: bool,
    time_is_up: &dyn Fn() -> bool,
) -> Result<Vec<Observation>> {
    let wanted: Vec<&Data> = case.data.iter().filter(|data| data.quick || !quick).collect();
    let mut out = Vec::new();
    let mut kernels: Option<Vec<(String, CompiledKernel)>> = None;
    for (k, data) in wanted.into_iter().enumerate() {
        if k > 0 && time_is_up() {
            break;
        }
        let (kernel, inputs) = prepared(case, data)?;
        let kernels = match &mut kernels {
            Some(kernels) => kernels,
            None => kernels.insert(compiled(case, &kernel, jit, quick)?),
        };
        out.extend(times(case, data, kernels, &kernel, &inputs, quick)?);
    }
    Ok(out)
}

/// The kernel of a case with the sizes of data, and the data.
fn prepared(case: &Case, data: &Data) -> Result<(Kernel, Inputs)> {
    let made = |tensor: &String, density: &f64| match case.layouts.get(tensor) {
        Some(layout) => format!("{tensor}=random:{density}:{layout}"),
        None => format!("{tensor}=random:{density}"),
    };
    let tensors: Vec<String> = data.densities.iter().map(|(t, density)| made(t, density)).collect();
    let others = case.layouts.iter().filter(|(tensor, _)| !data.densities.contains_key(*tensor));
    let formats = others.map(|(tensor, layout)| format!("{tensor}={layout}")).collect();
    let dims = data.extents.iter().map(|(index, extent)| format!("{index}={extent}")).collect();
    let options = KernelOptions { dims, no_calibration: true, ..KernelOptions::default() };
    let tensors = TensorOptions { tensors, formats, seed: 1, read: Default::default() };
    let kernel = options.kernel(&case.statement)?;
    let program = kernel.program()?;
    let inputs = data::inputs(&program, &tensors, &options, &IndexMap::new())?;
    let mut kernel = running::for_data(kernel, &inputs)?;
    for (tensor, layout) in tensors.formats()? {
        kernel = kernel.layout(tensor, layout);
    }
    Ok((kernel, inputs))
}

/// Every way to compute a case; in a hurry, as many as need all constants.
fn compiled(
    case: &Case,
    kernel: &Kernel,
    jit: &Jit,
    quick: bool,
) -> Result<Vec<(String, CompiledKernel)>> {
    let mut plans: Vec<(String, Planned)> = Vec::new();
    if case.workspaces {
        for workspace in workspaces()? {
            plans.push((workspace.name.clone(), kernel.clone().workspace(&workspace.name).plan()?));
        }
    } else {
        let planned = kernel.plan()?;
        for (s, statement) in planned.statements().iter().enumerate() {
            for (f, find) in statement.finds().iter().enumerate() {
                for plan in find.plans().filter(|plan| !plan.template.closed_form) {
                    let name = &plan.template.name;
                    let own = planned.clone().with_template(s, f, name);
                    plans.extend(own.map(|own| (name.clone(), own)));
                }
            }
        }
        if plans.is_empty() {
            plans.push(("loops".to_string(), planned));
        }
    }
    let mut known: IndexSet<String> = IndexSet::new();
    let mut wanted = Vec::new();
    let mut modules = Vec::new();
    for (name, planned) in plans {
        let terms = planned.terms(kernel.known_sizes())?;
        let names = terms.iter().flat_map(|term| term.formula.names());
        let names: Vec<String> = names.map(str::to_string).collect();
        if quick && names.iter().all(|name| known.contains(name)) {
            continue;
        }
        known.extend(names);
        let module = planned.render()?;
        modules.push(module);
        wanted.push((name, planned));
    }
    let sources: Vec<Source<'_>> = modules.iter().map(Module::source).collect();
    compile_at_once(&sources, jit);
    wanted.into_iter().map(|(name, planned)| Ok((name, planned.compile_with(jit)?))).collect()
}

/// Compiles modules on all cores, so that they come from the cache when they are asked for; what goes wrong, is
/// said then.
fn compile_at_once(modules: &[Source<'_>], jit: &Jit) {
    let cores = available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..cores.min(modules.len()) {
            scope.spawn(|| {
                while let Some(source) = modules.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let _ = jit.load(*source);
                }
            });
        }
    });
}

/// Runs kernels by turns.
fn times(
    case: &Case,
    data: &Data,
    kernels: &[(String, CompiledKernel)],
    kernel: &Kernel,
    inputs: &Inputs,
    quick: bool,
) -> Result<Vec<Observation>> {
    let (sizes, assumed) = (kernel.known_sizes(), Machine::default());
    let mut out = Vec::new();
    let mut running = Vec::new();
    for (strategy, compiled) in kernels {
        let observation = Observation {
            statement: case.statement.clone(),
            strategy: strategy.clone(),
            data: data.describe(),
            time: 0.0,
            terms: compiled.planned().terms(sizes)?,
        };
        if observation.expected(&assumed) <= LONGEST {
            running.push(compiled.call(inputs.by_name(), &inputs.extents.indices)?);
            out.push(observation);
        }
    }
    let mut samples: Vec<Vec<Duration>> = vec![Vec::new(); running.len()];
    for round in 0..=if quick { QUICK_RUNS } else { RUNS } {
        for at in turns(running.len(), round) {
            running[at].reset();
            let time = running[at].run();
            if round > 0 {
                samples[at].push(time);
            }
        }
    }
    for (observation, samples) in out.iter_mut().zip(&mut samples) {
        // What else the machine does only adds to a time.
        let least = samples.iter().min().copied().unwrap_or_default();
        observation.time = least.as_secs_f64() * 1e9;
    }
    Ok(out)
}
