//! `siskin run`: compile a kernel for data, run it, show or write the result.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::files::{self, Loaded};
use siskin::kernel::{CompiledKernel, Kernel};
use siskin::layout::Layout;
use siskin::packing::{self, PackOptions};
use siskin::program::Program;
use siskin::tensor::{Tensor, Values};

use super::data::{self, Inputs};
use super::finds;
use super::options::KernelOptions;
use super::output::Output;
use super::tensor_argument::FileArgument;

/// Results with at most so many elements are printed whole.
const PRINTED_WHOLE: usize = 20;

/// Compile a kernel for data and run it
#[derive(Args)]
#[command(after_help = include_str!("examples/run.txt"))]
pub struct Run {
    /// A statement of index notation, e.g. 'y[i] += A[i,j] * x[j]'
    expression: String,
    /// A tensor's file, and the layout to pack it into
    #[arg(short = 't', long = "tensor", value_name = "NAME=FILE[:LAYOUT]")]
    tensors: Vec<String>,
    /// Write the result instead of showing it; NAME=shares(INPUT) gives it the sparsity of an input
    /// (both may be given)
    #[arg(short, long, value_name = "FILE[:LAYOUT] | NAME=shares(INPUT)")]
    output: Vec<String>,
    #[command(flatten)]
    options: KernelOptions,
}

impl Run {
    pub fn execute(&self) -> Output {
        let kernel = self.options.kernel(&self.expression)?;
        let program = Program::parse(&self.expression)?;
        let written = program.output()?;
        let rank = written.rank();
        // Refused before any work is done.
        let (wishes, files): (Vec<&String>, Vec<&String>) =
            self.output.iter().partition(|text| sharing(text).is_some());
        let shared = one(&wishes)?.and_then(|text| sharing(text));
        let target = one(&files)?.map(|text| Target::parse(text, rank)).transpose()?;
        let inputs = data::inputs(&program, &self.tensors, &self.options)?;
        let mut kernel = for_data(kernel, &inputs)?;
        if let Some((name, layout)) = shared {
            if *name != *written.tensor {
                return Err(Diagnostic::new(
                    Code::Usage,
                    format!("`-o {name}={layout}`: `{name}` is not the output"),
                )
                .help(format!("the output is `{}`", written.tensor)));
            }
            kernel = kernel.layout(name, layout);
        }
        if let Some(Target { layout: OutputLayout::Shared(layout), .. }) = &target {
            kernel = kernel.layout(&written.tensor, layout);
        }
        let compiled = kernel.compile()?;
        self.options.save(compiled.module().text())?;
        let mut call = compiled.call(inputs.by_name(), &inputs.extents.indices)?;
        let seconds = call.run();
        let mut result = call.into_output();
        if let Some(target) = &target {
            result = target.convert(result)?;
        }
        let about = Summary::of(&result);
        // What is shown is taken before the result is given away: it may be half of the memory.
        let whole = if target.is_none() { whole(&result)? } else { String::new() };
        if let Some(target) = &target {
            target.write(result)?;
        }
        Ok(match self.options.json {
            true => self.json(&compiled, &inputs, &about, seconds),
            false => self.summary(&compiled, &inputs, &about, &whole, seconds),
        })
    }

    fn json(&self, k: &CompiledKernel, i: &Inputs, about: &Summary, kernel: Duration) -> String {
        let (rustc, cached) = k.built();
        let (unproved, accesses) = accesses(k);
        let name = &**k.planned().output();
        json!({
            "kernel": k.module().text(),
            "finds": finds::json(k.planned()),
            "parallel": parallel(k),
            "accesses": { "proved": accesses - unproved, "checked": unproved },
            "index": k.planned().index_width().unsigned(),
            "type": k.planned().value_type().as_str(),
            "seconds": {
                "read": i.read.as_secs_f64(),
                "pack": i.pack.as_secs_f64(),
                "validate": i.validate.as_secs_f64(),
                "generate": k.generated().as_secs_f64(),
                "rustc": rustc.as_secs_f64(),
                "kernel": kernel.as_secs_f64(),
            },
            "cached": cached,
            "tensors": i.tensors.iter().map(|(n, t)| json!({
                "name": &**n,
                "layout": t.layout().name,
                "dims": t.dims(),
                "stored": t.stored(),
            })).collect::<Vec<_>>(),
            "output": {
                "name": name,
                "layout": about.layout,
                "dims": about.dims,
                "stored": about.stored,
                "nonzero": about.nonzero,
                "sum": about.sum,
                "norm": about.norm,
                "file": self.output.iter().find(|text| sharing(text).is_none()),
            },
        })
        .to_string()
    }

    fn summary(
        &self,
        k: &CompiledKernel,
        i: &Inputs,
        about: &Summary,
        whole: &str,
        kernel: Duration,
    ) -> String {
        let mut out = format!("{}\n", k.planned().program());
        for (name, t) in &i.tensors {
            let file = i.files.get(name).map(|p| p.display().to_string()).unwrap_or_default();
            out.push_str(&format!("  {name}: {} from {file}\n", shape(t)));
        }
        out.push_str("proved\n");
        for (_, find, plan) in finds::chosen(k.planned()) {
            out.push_str(&format!("  {}: {plan}", find.problem.position));
            let others = finds::alternatives(find, plan);
            if !others.is_empty() {
                out.push_str(&format!("; also {}", others.join(", ")));
            }
            out.push('\n');
        }
        let (unproved, accesses) = accesses(k);
        out.push_str(&format!(
            "  {} of {accesses} array accesses are in bounds",
            accesses - unproved
        ));
        if unproved > 0 {
            out.push_str(&format!("; {unproved} checked at run time"));
        }
        let (rustc, cached) = k.built();
        out.push_str(&format!(
            "\ntime\n  read {}, pack {}, validate {}, generate {}, {} {}, kernel {}\n",
            time(i.read),
            time(i.pack),
            time(i.validate),
            time(k.generated()),
            if cached { "load from the cache" } else { "rustc" },
            time(rustc),
            time(kernel),
        ));
        let name = k.planned().output();
        out.push_str(&format!(
            "{name}: {}, {} nonzero, sum {}, norm {}\n",
            about.shape, about.nonzero, about.sum, about.norm
        ));
        match self.output.iter().find(|text| sharing(text).is_none()) {
            Some(file) => out.push_str(&format!("written to {file}\n")),
            None => out.push_str(whole),
        }
        out
    }
}

/// The kernel with the layouts, sizes and index width of the data.
pub fn for_data(kernel: Kernel, inputs: &Inputs) -> Result<Kernel> {
    let mut kernel = kernel.index(inputs.width);
    for (name, t) in &inputs.tensors {
        kernel = kernel.declared(name, t.layout());
    }
    kernel.measured(inputs.by_name(), &inputs.extents.indices)
}

/// Where the result goes.
struct Target {
    path: PathBuf,
    layout: OutputLayout,
}

enum OutputLayout {
    /// The kernel's own.
    Default,
    /// The result is converted.
    Asked(Arc<Layout>),
    /// `shares(A)`: the kernel writes at the positions of an input.
    Shared(String),
}

/// The parts of `C=shares(A)`.
pub fn sharing(text: &str) -> Option<(&str, &str)> {
    text.split_once('=').filter(|(_, layout)| layout.trim().starts_with("shares("))
}

/// The one option of its kind, if it was given.
fn one<'a>(texts: &[&'a String]) -> Result<Option<&'a str>> {
    match texts {
        [] => Ok(None),
        [text] => Ok(Some(text.as_str())),
        [_, second, ..] => Err(Diagnostic::new(Code::Usage, "more than one output is given")
            .at(0..second.len(), "the second one")
            .within("--output", second)
            .help("give one file, and one `NAME=shares(INPUT)`")),
    }
}

impl Target {
    fn parse(text: &str, rank: usize) -> Result<Target> {
        let file = FileArgument::parse(text)?;
        files::check_writable(&file.path, Some(rank))?;
        let layout = match file.layout {
            None => OutputLayout::Default,
            Some(layout) if layout.starts_with("shares(") => OutputLayout::Shared(layout),
            Some(layout) => OutputLayout::Asked(Arc::new(Layout::named_for_rank(&layout, rank)?)),
        };
        Ok(Target { path: file.path, layout })
    }

    /// An archive holds the layout that was asked for; a result without one is entries.
    fn write(&self, result: Tensor) -> Result<()> {
        match self.layout {
            OutputLayout::Default => files::write(&self.path, &Loaded::of(result)?),
            _ => files::write_tensor(&self.path, result).map(|_| ()),
        }
    }

    /// The result in the target's layout.
    fn convert(&self, result: Tensor) -> Result<Tensor> {
        match &self.layout {
            OutputLayout::Asked(layout) if layout != result.layout() => {
                packing::convert(&result, layout, &PackOptions::default())
            }
            _ => Ok(result),
        }
    }
}

/// The parallel loops, or `false`.
fn parallel(k: &CompiledKernel) -> Value {
    let loops: Vec<Value> = k
        .planned()
        .statements()
        .iter()
        .filter_map(|s| {
            let p = s.parallel()?;
            Some(json!({ "loop": &*s.nest().levels[p.level].var, "private_output": p.private }))
        })
        .collect();
    if loops.is_empty() { json!(false) } else { json!(loops) }
}

fn accesses(k: &CompiledKernel) -> (usize, usize) {
    let accesses = k.module().accesses();
    (accesses.iter().filter(|a| !a.proved).count(), accesses.len())
}

/// `csr, 4 × 5, 7 stored`
pub fn shape(t: &Tensor) -> String {
    let dims: Vec<String> = t.dims().iter().map(ToString::to_string).collect();
    let dims = if dims.is_empty() { "scalar".to_string() } else { dims.join(" × ") };
    format!("{}, {dims}, {} stored", t.layout().name, t.stored())
}

/// `1.23 ms`
pub fn time(t: Duration) -> String {
    let s = t.as_secs_f64();
    match s {
        _ if s >= 1.0 => format!("{s:.2} s"),
        _ if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        _ => format!("{:.2} µs", s * 1e6),
    }
}

/// What is said of a result.
struct Summary {
    shape: String,
    layout: String,
    dims: Vec<usize>,
    stored: usize,
    nonzero: usize,
    sum: f64,
    norm: f64,
}

impl Summary {
    fn of(t: &Tensor) -> Summary {
        let (nonzero, sum, squares) = match t.values() {
            Values::F64(v) => sums(v, |x| x),
            Values::F32(v) => sums(v, f64::from),
            Values::I64(v) => sums(v, |x| x as f64),
            Values::I32(v) => sums(v, f64::from),
            Values::Bool(v) => sums(v, f64::from),
        };
        Summary {
            shape: shape(t),
            layout: t.layout().name.clone(),
            dims: t.dims().to_vec(),
            stored: t.stored(),
            nonzero,
            sum,
            norm: squares.sqrt(),
        }
    }
}

/// How many values are not zero, their sum, and the sum of their squares.
fn sums<T: Copy>(values: &[T], number: impl Fn(T) -> f64) -> (usize, f64, f64) {
    values.iter().map(|&x| number(x)).fold((0, 0.0, 0.0), |(nonzero, sum, squares), x| {
        (nonzero + usize::from(x != 0.0), sum + x, squares + x * x)
    })
}

/// The elements of a small tensor, a line for each row. Nothing of a large one is looked at.
fn whole(t: &Tensor) -> Result<String> {
    let n = t.dims().iter().try_fold(1usize, |n, &extent| n.checked_mul(extent));
    if !t.layout().arrays.is_empty() || !n.is_some_and(|n| (1..=PRINTED_WHOLE).contains(&n)) {
        return Ok(String::new());
    }
    let array = t.dense()?;
    let row = array.dims().last().copied().unwrap_or(1).max(1);
    let texts: Vec<String> =
        (0..array.values().len()).map(|k| element(array.values(), k)).collect();
    let width = texts.iter().map(String::len).max().unwrap_or(0);
    let mut out = String::new();
    for line in texts.chunks(row) {
        let line: Vec<String> = line.iter().map(|t| format!("{t:>width$}")).collect();
        out.push_str(&format!("  {}\n", line.join(" ")));
    }
    Ok(out)
}

fn element(values: &Values, k: usize) -> String {
    match values {
        Values::F64(v) => format!("{:?}", v[k]),
        Values::F32(v) => format!("{:?}", v[k]),
        Values::I64(v) => v[k].to_string(),
        Values::I32(v) => v[k].to_string(),
        Values::Bool(v) => v[k].to_string(),
    }
}
