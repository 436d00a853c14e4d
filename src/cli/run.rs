//! `siskin run`: compile a kernel for data, run it, show or write the result.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use indexmap::IndexMap;
use serde_json::{Value, json};
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::exec::Jit;
use siskin::formula::{Affine, Name};
use siskin::kernel::{CompiledKernel, Kernel, places};
use siskin::layout::Layout;
use siskin::operators::Value as Number;
use siskin::packing::{self, PackOptions};
use siskin::program::Program;
use siskin::program::finch::Locate;
use siskin::tensor::Tensor;

use super::costs::copies;
use super::data::{self, Computed, Inputs};
use super::interpreted::Asked;
use super::leaves::with_leaves;
use super::listed;
use super::options::KernelOptions;
use super::output::{self, Output};
use super::program::{self, Part, Translated};
use super::result::{OutputLayout, Summary, Target, whole};
use super::sequence::{self, Kernels, Listing, Step, Wish};
use super::shown::{shape, time};
use super::tensors::{OutputWish, TensorOptions, by_result};
use super::written::Written;
use super::{finds, progress};

/// Compile a kernel for data and run it
#[derive(Args)]
#[command(after_help = include_str!("examples/run.txt"))]
pub struct Run {
    /// A statement of index notation, e.g. 'y[i] += A[i,j] * x[j]', or several with `;` between them
    #[arg(required_unless_present = "program")]
    expression: Option<String>,
    /// A program in the language of Finch, instead of a statement
    #[arg(long, value_name = "FILE", conflicts_with = "expression")]
    program: Option<PathBuf>,
    #[command(flatten)]
    tensors: TensorOptions,
    /// Write the result instead of showing it (`-:mtx`: to standard output); NAME=shares(INPUT) gives it
    /// the sparsity of an input (both may be given)
    #[arg(short, long, value_name = "[NAME=]FILE[:LAYOUT] | NAME=shares(INPUT)")]
    output: Vec<String>,
    /// Run each kernel so many times more; `--json` has all times, as `repeats`
    #[arg(long, value_name = "N", default_value_t = 0)]
    repeat: usize,
    #[command(flatten)]
    options: KernelOptions,
}

impl Run {
    pub fn execute(&self) -> Output {
        let output = self.output.clone();
        let mut written = Written::default();
        written.add_results(&output)?;
        if let Some(path) = &self.options.save_kernel {
            written.add_text("--save-kernel", path, &self.tensors)?;
        }
        let expression = self.expression.as_deref();
        let options = with_leaves(expression, &self.tensors, &self.output, &self.options)?;
        let path = match (&self.expression, &self.program) {
            (None, Some(path)) => path,
            (expression, _) => {
                let tensors = self.tensors.clone();
                let expression = expression.clone().unwrap_or_default();
                let kept = Vec::new();
                let repeat = self.repeat;
                let wish =
                    Wish { expression, tensors, output, options, repeat, kept, listed: None };
                let mut said = run_all(&wish, Kernels::Any, &mut IndexMap::new())?;
                return Ok(match (self.options.json, said.len()) {
                    (true, 2..) => together(read_again(&said)?).to_string(),
                    (_, 1) => said.remove(0),
                    _ => said.join("\n"),
                });
            }
        };
        let tree = program::tree(path, &self.tensors, &options)?;
        program::refuse_files(&tree, &output)?;
        // The program is right, but kernels are not made from it, or not in these layouts.
        let interpreted = |why: &Diagnostic| {
            let (tensors, options, output) = (&self.tensors, &options, output.as_slice());
            Asked { tree: &tree, tensors, options, output }.run(why)
        };
        let any_way = options.coiterate.as_deref().is_none_or(|way| matches!(way, "auto" | "find"))
            && options.union.is_none();
        let made = match program::of_tree(&tree, &self.tensors, &options, &output) {
            Ok(made) => made,
            Err(why) if why.code == Code::Program && options.save_kernel.is_none() => {
                return interpreted(&why);
            }
            Err(e) => return Err(e),
        };
        match self.run_parts(made) {
            Err(why) if why.code == Code::Space && any_way && options.save_kernel.is_none() => {
                interpreted(&why)
            }
            said => said,
        }
    }

    /// The parts of a program, one after the other.
    fn run_parts(&self, made: Translated) -> Output {
        let whole = made.returned.iter().filter(|(_, parts, _)| parts.len() == 1);
        let called = whole.map(|(name, parts, _)| (parts[0].clone(), name.clone())).collect();
        let results = Listing { layouts: made.layouts, called, ..Listing::default() };
        let results = Rc::new(results);
        let mut computed = IndexMap::new();
        let mut said = Vec::new();
        let mut locating = Duration::ZERO;
        for group in made.groups {
            said.extend(group.each(|part, kernels| {
                let Part { expression, tensors, options, output, kept, locates } = part;
                let listed = Some(results.clone());
                let repeat = self.repeat;
                let wish = Wish { expression, tensors, output, options, repeat, kept, listed };
                let said = run_all(&wish, kernels, &mut computed)?;
                for locate in locates {
                    let start = Instant::now();
                    let found = located(&locate, &computed);
                    let found = found.map_err(|e| e.within(&made.name, &made.text))?;
                    computed.insert(locate.tensor, found);
                    locating += start.elapsed();
                }
                Ok(said)
            })?);
        }
        let results = results.results.borrow();
        if !self.options.json {
            said.extend(listed::texts(&made.returned, &results)?);
            return Ok(said.join("\n"));
        }
        let mut all = read_again(&said)?;
        let mut said = match all.len() {
            1 => all.remove(0),
            _ => together(all),
        };
        // What lies between kernels, where subscripts are computed.
        said["locate"] = json!(locating.as_secs_f64());
        said["outputs"] = json!(listed::outputs(&made.returned, &results)?);
        Ok(said.to_string())
    }
}

/// The objects that are said of kernels.
fn read_again(said: &[String]) -> Result<Vec<Value>> {
    let read = |text: &String| {
        serde_json::from_str::<Value>(text)
            .map_err(|e| Diagnostic::defect(format!("what is said is no JSON: {e}")))
    };
    said.iter().map(read).collect()
}

/// What is said of several kernels as of one: all texts, searches and loops, the sums of times, and the last output;
/// each is among the `statements`.
fn together(all: Vec<Value>) -> Value {
    let each = |key: &str| all.iter().map(|one| one[key].clone()).collect::<Vec<Value>>();
    let lists = |key: &str| {
        let lists = each(key).into_iter().filter_map(|one| one.as_array().cloned());
        lists.flatten().collect::<Vec<Value>>()
    };
    let texts: Vec<String> =
        each("kernel").iter().filter_map(Value::as_str).map(str::to_string).collect();
    let mut seconds = serde_json::Map::new();
    for (key, time) in each("seconds").iter().filter_map(Value::as_object).flatten() {
        let Some(time) = time.as_f64() else { continue };
        let sum = seconds.get(key).and_then(Value::as_f64).unwrap_or(0.0) + time;
        seconds.insert(key.clone(), json!(sum));
    }
    json!({
        "kernel": texts.join("\n"),
        "finds": lists("finds"),
        "parallel": lists("parallel"),
        "seconds": seconds,
        "cached": all.iter().all(|one| one["cached"] == true),
        "output": all.last().map_or(Value::Null, |one| one["output"].clone()),
        "statements": all,
    })
}

/// The places that an earlier kernel has computed, as a tensor.
pub fn located(locate: &Locate, computed: &IndexMap<Name, Computed>) -> Result<Computed> {
    let from =
        computed.get(&locate.from).ok_or_else(|| Diagnostic::defect("places are not computed"))?;
    let fill = from.fill.unwrap_or(Number::zero(from.tensor.value_type()));
    let tensor = places(locate, &from.tensor.dense_else(fill)?)?;
    Ok(Computed { tensor, fill: None })
}

/// The statements as one kernel, or one after the other. What later ones need is put to what is computed.
fn run_all(
    all: &Wish,
    kernels: Kernels,
    computed: &mut IndexMap<Name, Computed>,
) -> Result<Vec<String>> {
    let said = sequence::each(all, kernels, |step| {
        let (text, results) = run_one(step, computed)?;
        computed.extend(results);
        // A program's tensors are nobody's choice: all of its kernels are said.
        let is_said = !step.temporary || !step.wish.output.is_empty() || all.listed.is_some();
        Ok(is_said.then_some(text))
    })?;
    Ok(said.into_iter().flatten().collect())
}

/// Statements of one kernel, on files and on what others have computed; the results themselves that are kept.
fn run_one(
    step: &Step,
    computed: &IndexMap<Name, Computed>,
) -> Result<(String, IndexMap<Name, Computed>)> {
    let asked = &step.wish;
    let begin = Instant::now();
    let mut kernel = asked.options.kernel(&asked.expression)?;
    let program = kernel.program()?;
    let written = program.output()?;
    for access in program.accesses().into_iter().filter(|a| a.tensor != written.tensor) {
        if let Some(fill) = computed.get(&access.tensor).and_then(|known| known.fill) {
            kernel = kernel.fill(&access.tensor, fill);
        }
    }
    // Refused before any work is done, and before data are asked for.
    program.assignments()?;
    let (own, others) = by_result(&asked.output, &program)?;
    let wish = OutputWish::parse(&own, &program)?;
    let ranks = program.tensors();
    let mut targets: IndexMap<Name, Target> = IndexMap::new();
    let mut files: IndexMap<Name, String> = others;
    files.extend(wish.file.map(|file| (written.tensor.clone(), file.to_string())));
    for (name, file) in &files {
        let target = Target::parse(file, ranks[name], asked.options.json)?;
        targets.insert(name.clone(), target);
    }
    let mut generate = begin.elapsed();
    let mut inputs = data::inputs(&program, &asked.tensors, &asked.options, computed)?;
    let start = Instant::now();
    let mut kernel = wish.apply(for_data(kernel, &inputs)?, &program, &asked.tensors)?;
    let output = &written.tensor;
    match (targets.get(output), &step.layout) {
        (Some(Target { layout: OutputLayout::Shared(layout), .. }), _) => {
            kernel = kernel.layout(output, layout);
        }
        (_, Some(layout)) => kernel = kernel.layout(output, layout),
        (Some(Target { layout: OutputLayout::Asked(layout), .. }), None)
            if !inputs.tensors.contains_key(output) && asked.tensors.format(output)?.is_none() =>
        {
            kernel = kernel.declared(output, layout);
        }
        // A file of all elements asks for all of them.
        (Some(target), None) if target.is_dense() => {}
        _ if !inputs.tensors.contains_key(output) => kernel = kernel.sparse_result(),
        _ => {}
    }
    let compiled = match step.united {
        true => {
            let planned = kernel.plan()?;
            step.refuse_apart(&planned)?;
            planned.compile_with(&Jit::new()?)?
        }
        false => kernel.compile()?,
    };
    asked.options.save(compiled.module().text())?;
    generate += start.elapsed().saturating_sub(compiled.built().0);
    inputs.only_read_by(compiled.planned());
    let start = Instant::now();
    let sharable = || sharable(&program, &inputs, &compiled);
    let call = compiled.call(inputs.by_name(), &inputs.extents.indices);
    let mut call = call.map_err(|e| match (e.code, sharable()) {
        (Code::Memory, Some(input)) => e.help(format!(
            "store only what can be nonzero: `-o {0}=shares({input})`",
            written.tensor
        )),
        _ => e,
    })?;
    let prepare = start.elapsed();
    let hints = !asked.options.json;
    let assembling = compiled.planned().assembled().map(|a| &a.assembling);
    if let (true, Some(Some(Err(why)))) = (hints, assembling.map(|a| &a.threads)) {
        output::hint(&format!("`{}` is assembled on one thread: {why}", written.tensor));
    }
    let seconds = progress::during("running the kernel", || call.run());
    tracing::info!("ran the kernel in {}", time(seconds));
    let mut again = || {
        call.reset();
        call.run()
    };
    let repeats: Vec<Duration> = (0..asked.repeat).map(|_| again()).collect();
    let finishing = Instant::now();
    let results = call.into_results()?;
    if let Some(input) = sharable().filter(|_| wasteful(&results[output], &inputs.tensors)) {
        output::hint(&format!(
            "`-o {0}=shares({input})` stores only the elements of `{0}` that can be nonzero",
            written.tensor
        ));
    }
    let mut times = Times {
        generate,
        prepare,
        kernel: seconds,
        repeats,
        converted: Duration::ZERO,
        finish: Duration::ZERO,
        write: None,
        total: Duration::ZERO,
    };
    let mut kept = IndexMap::new();
    let mut about = Vec::new();
    for (name, result) in results {
        let fill = compiled.planned().fill_of_result(&name);
        let fill = (!fill.same(Number::zero(fill.value_type()))).then_some(fill);
        if asked.kept.contains(&name) || step.temporary && name == *output {
            kept.insert(name.clone(), Computed { tensor: result.clone(), fill });
        }
        let listing = asked.listed.as_deref();
        let file = targets.get(&name).map(|target| (target, files[&name].as_str()));
        about.push(finished((&name, result, fill), file, listing, &mut times)?);
    }
    times.finish = finishing.elapsed().saturating_sub(times.write.unwrap_or_default());
    for one in &about {
        if let (Some(fill), Some(file), true, Some(false)) =
            (one.fill, &one.file, hints, one.says_fill)
        {
            let name = &one.name;
            output::hint(&format!(
                "what `{name}` does not store is {fill}, which `{file}` does not say: read it with `--fill {name}={fill}`"
            ));
        }
    }
    times.total = begin.elapsed();
    let mut said = match asked.options.json {
        true => as_json(&compiled, &inputs, &about, &times),
        false => {
            let called = |name: &Name| {
                let listing = asked.listed.as_deref();
                listing.and_then(|l| l.called.get(name)).unwrap_or(name).clone()
            };
            summary(&compiled, &inputs, &about, &times, &called)
        }
    };
    for target in targets.values() {
        said = target.destination.finish(said)?;
    }
    Ok((said, kept))
}

/// What is said of a result.
struct Finished {
    name: Name,
    about: Summary,
    /// What its elements are that are not stored, unless it is zero.
    fill: Option<Number>,
    /// Its elements, or where they are.
    shown: String,
    file: Option<String>,
    /// Whether the file says the fill.
    says_fill: Option<bool>,
}

/// A result in the layout that is asked for, listed and written.
fn finished(
    (name, mut result, mut fill): (&Name, Tensor, Option<Number>),
    file: Option<(&Target, &str)>,
    listing: Option<&Listing>,
    times: &mut Times,
) -> Result<Finished> {
    let start = Instant::now();
    let wished = listing.and_then(|listed| listed.layouts.get(name));
    if let Some((target, _)) = file {
        result = target.convert(result, fill)?;
    } else if let Some((layout, begins)) = wished {
        let layout = Arc::new(Layout::named_for_rank(layout, result.dims().len())?);
        fill = begins.filter(|fill| !fill.same(Number::zero(fill.value_type())));
        let options = PackOptions { fill, ..PackOptions::default() };
        result = packing::convert(&result, &layout, &options)?;
    }
    times.converted += start.elapsed();
    let about = Summary::of(&result, fill)?;
    // What is shown is taken before the result is given away: it may be half of the memory.
    if let Some(listing) = listing {
        let value = listed::listed(name, &result, fill)?;
        listing.results.borrow_mut().insert(name.clone(), value);
    }
    let name = name.clone();
    let Some((target, file)) = file else {
        let shown = whole(&result, fill)?;
        return Ok(Finished { name, about, fill, shown, file: None, says_fill: None });
    };
    let place = &target.destination.name;
    let start = Instant::now();
    let write = || target.write(result, fill);
    let says_fill = Some(progress::during(&format!("writing {place}"), write)?);
    *times.write.get_or_insert_default() += start.elapsed();
    tracing::info!("wrote {place} in {}", time(start.elapsed()));
    let file = if target.destination.is_standard() { "standard output" } else { file };
    let shown = format!("written to {file}\n");
    Ok(Finished { name, about, fill, shown, file: Some(file.to_string()), says_fill })
}

fn as_json(k: &CompiledKernel, i: &Inputs, results: &[Finished], times: &Times) -> String {
    let (rustc, cached) = k.built();
    let (unproved, accesses) = accesses(k);
    let name = &**k.planned().output();
    let all: Vec<Value> =
        results.iter().map(|one| one.about.json(&one.name, one.file.as_deref())).collect();
    json!({
        "kernel": k.module().text(),
        "copies": copies::json(k.planned()),
        "finds": finds::json(k.planned()),
        "parallel": parallel(k),
        "accesses": { "proved": accesses - unproved, "checked": unproved },
        "index": k.planned().index_width().unsigned(),
        "type": k.planned().types().of(name).as_str(),
        "seconds": {
            "read": i.read.as_secs_f64(),
            "plan": i.plan.as_secs_f64(),
            "pack": i.pack.as_secs_f64(),
            "validate": i.validate.as_secs_f64(),
            "generate": times.generate.as_secs_f64(),
            "rustc": rustc.as_secs_f64(),
            "prepare": times.prepare.as_secs_f64(),
            "kernel": times.kernel.as_secs_f64(),
            "repeats": times.repeats.iter().map(Duration::as_secs_f64).collect::<Vec<_>>(),
            "convert": times.converted.as_secs_f64(),
            "finish": times.finish.as_secs_f64(),
            "write": times.write.map(|t| t.as_secs_f64()),
            "total": times.total.as_secs_f64(),
        },
        "cached": cached,
        "tensors": i.tensors.iter().map(|(n, t)| json!({
            "name": &**n,
            "layout": t.layout().name,
            "dims": t.dims(),
            "stored": t.stored(),
        })).collect::<Vec<_>>(),
        "output": all.first(),
        "results": all,
    })
    .to_string()
}

fn summary(
    k: &CompiledKernel,
    i: &Inputs,
    results: &[Finished],
    times: &Times,
    called: &dyn Fn(&Name) -> Name,
) -> String {
    let mut out = format!("{}\n", k.planned().program());
    for (name, t) in &i.tensors {
        let file = i.files.get(name).cloned().unwrap_or_default();
        out.push_str(&format!("  {name}: {} from {file}\n", shape(t)));
    }
    out.push_str(&copies::text(k.planned()));
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
    out.push_str(&format!("  {} of {accesses} array accesses are in bounds", accesses - unproved));
    if unproved > 0 {
        out.push_str(&format!("; {unproved} checked at run time"));
    }
    let (rustc, cached) = k.built();
    out.push_str(&format!(
        "\ntime\n  read {}, plan {}, pack {}, validate {}, generate {}, {} {}, prepare {}, kernel {}",
        time(i.read),
        time(i.plan),
        time(i.pack),
        time(i.validate),
        time(times.generate),
        if cached { "load from the cache" } else { "rustc" },
        time(rustc),
        time(times.prepare),
        time(times.kernel),
    ));
    if !times.repeats.is_empty() {
        out.push_str(&format!(", repeats {}", time(times.repeats.iter().sum())));
    }
    out.push_str(&format!(", finish {}", time(times.finish)));
    if let Some(write) = times.write {
        out.push_str(&format!(", write {}", time(write)));
    }
    out.push_str(&format!(", total {}\n", time(times.total)));
    for one in results {
        out.push_str(&one.about.text(&called(&one.name), &one.shown));
    }
    out
}

/// The kernel with the layouts, sizes and index width of the data, and a choice where there are copies.
pub fn for_data(kernel: Kernel, inputs: &Inputs) -> Result<Kernel> {
    let mut kernel = kernel.index(inputs.width);
    let has_copies = |name: &Name| inputs.copies.iter().any(|(other, _)| other == name);
    for (name, t) in inputs.tensors.iter().filter(|(name, _)| !has_copies(name)) {
        kernel = kernel.declared(name, t.layout());
    }
    kernel.measured(inputs.by_name(), &inputs.extents.indices)
}

/// How long the stages behind the inputs took, and all of them.
struct Times {
    /// From the statement to a module, with what is measured and proved for it.
    generate: Duration,
    /// Checking what a call relies on, and making room for the result.
    prepare: Duration,
    kernel: Duration,
    repeats: Vec<Duration>,
    /// Of the result, into the layout that is asked for; a part of `finish`.
    converted: Duration,
    /// From what the kernel has written to the result, and what is said of it.
    finish: Duration,
    write: Option<Duration>,
    total: Duration,
}

/// Fewer elements are no waste.
const MANY: usize = 1 << 16;

/// Whether a dense result takes much more than all inputs together.
fn wasteful(result: &Tensor, inputs: &IndexMap<Name, Tensor>) -> bool {
    let stored: usize = inputs.values().map(Tensor::stored).sum();
    result.stored() > MANY && result.stored() / 4 > stored
}

/// A factor at whose positions every element of the output is that can be nonzero, if the output is dense
/// and could share them.
fn sharable(program: &Program, inputs: &Inputs, kernel: &CompiledKernel) -> Option<Name> {
    let output = program.output().ok()?;
    if !kernel.planned().layouts().get(&output.tensor)?.arrays.is_empty() {
        return None;
    }
    let statements = kernel.planned().statements();
    let found = program.accesses().into_iter().find(|access| {
        // Where something is computed without it, its positions are too few.
        let everywhere = statements
            .iter()
            .all(|s| s.space().present().any(|operand| operand.tensor == access.tensor));
        if !everywhere {
            return false;
        }
        let place = |s: &Affine| {
            let index = s.as_var()?;
            (0..access.rank()).find(|&d| access.plain(d) == Some(index))
        };
        let shared: Option<Vec<Option<usize>>> = output
            .subscripts
            .iter()
            .map(|s| Some(Some(s.as_var().and_then(|_| place(s))?)))
            .collect();
        let layout = inputs.tensors.get(&access.tensor).map(Tensor::layout);
        match (shared, layout) {
            (Some(shared), Some(layout)) if !layout.arrays.is_empty() && !shared.is_empty() => {
                siskin::layout::share(layout, &shared).is_ok()
            }
            _ => false,
        }
    });
    found.map(|access| access.tensor.clone())
}

/// The parallel loops, or `false`.
fn parallel(k: &CompiledKernel) -> Value {
    if let Some(var) = k.planned().assembled().and_then(|a| a.assembling.in_parts()) {
        return json!([{ "loop": &**var, "private_output": true }]);
    }
    let loops: Vec<Value> = k
        .planned()
        .statements()
        .iter()
        .filter_map(|s| {
            let p = s.parallel()?;
            Some(json!({ "loop": &*p.var, "private_output": p.private }))
        })
        .collect();
    if loops.is_empty() { json!(false) } else { json!(loops) }
}

fn accesses(k: &CompiledKernel) -> (usize, usize) {
    let accesses = k.module().accesses();
    (accesses.iter().filter(|a| !a.proved).count(), accesses.len())
}
