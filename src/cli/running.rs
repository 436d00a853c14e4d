//! Running kernels, one after the other: each is planned while those before it are compiled, unless it needs what they
//! compute.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use indexmap::IndexMap;
use siskin::diagnostic::{Diagnostic, Result};
use siskin::formula::{Affine, Name};
use siskin::kernel::{CompiledKernel, Compiling, Kernel, SPARSER, places};
use siskin::layout::Layout;
use siskin::operators::Value as Number;
use siskin::packing::{self, PackOptions};
use siskin::program::Program;
use siskin::program::finch::Locate;
use siskin::tensor::Tensor;

use super::compiler::Compiler;
use super::data::{self, Computed, Inputs};
use super::listed;
use super::output;
use super::progress;
use super::result::{OutputLayout, Summary, Target, whole};
use super::run_report::{Finished, Times, as_json, summary};
use super::sequence::{self, Kernels, Listing, Step, Wish};
use super::shown::time;
use super::tensors::{OutputWish, by_result};

/// Kernels that are run in turn, and what they have computed.
pub struct Runner<'a> {
    compiler: &'a Compiler,
    computed: IndexMap<Name, Computed>,
    /// What is being compiled, in turn.
    begun: VecDeque<Begun>,
    said: Vec<String>,
    /// Nothing is run after what failed.
    failed: Option<Box<Diagnostic>>,
}

impl Runner<'_> {
    pub fn new(compiler: &Compiler) -> Runner<'_> {
        Runner {
            compiler,
            computed: IndexMap::new(),
            begun: VecDeque::new(),
            said: Vec::new(),
            failed: None,
        }
    }

    /// The statements as one kernel, or one after the other.
    ///
    /// # Errors
    /// Those of what is asked, and of kernels before it.
    pub fn add(&mut self, all: &Wish, kernels: Kernels) -> Result<()> {
        sequence::each(all, kernels, |step| self.add_step(step))?;
        Ok(())
    }

    fn add_step(&mut self, step: &Step) -> Result<()> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        let kernel = step.wish.options.kernel(&step.wish.expression)?;
        let program = kernel.program()?;
        let cores = available_parallelism().map_or(1, NonZero::get);
        let tensors = program.tensors();
        let is_needed = |begun: &Begun| begun.results.iter().any(|r| tensors.contains_key(r));
        if self.begun.len() >= cores || self.begun.iter().any(is_needed) {
            self.run_begun()?;
        }
        let begun = Begun::plan(step, (kernel, program), &self.computed, self.compiler)?;
        self.begun.push_back(begun);
        Ok(())
    }

    /// Runs what is being compiled, when all of it is: a compiler beside a kernel would take its time.
    ///
    /// # Errors
    /// That of the first kernel which fails, now or before.
    pub fn run_begun(&mut self) -> Result<()> {
        for begun in &mut self.begun {
            let start = Instant::now();
            begun.compiling.wait();
            begun.total += start.elapsed();
        }
        while let Some(begun) = self.begun.pop_front().filter(|_| self.failed.is_none()) {
            self.failed = self.run(begun).err();
        }
        self.failed.clone().map_or(Ok(()), Err)
    }

    fn run(&mut self, begun: Begun) -> Result<()> {
        let step = &begun.step;
        // A program's tensors are nobody's choice: all of its kernels are said.
        let (wish, temporary) = (&step.wish, step.temporary);
        let is_said = !temporary || !wish.output.is_empty() || wish.listed.is_some();
        let (said, computed) = begun.run()?;
        self.computed.extend(computed);
        self.said.extend(is_said.then_some(said));
        Ok(())
    }

    /// The places that an earlier kernel has computed, as a tensor of their own.
    ///
    /// # Errors
    /// If there are none in what was [run](Self::run_begun), or they are outside.
    pub fn locate(&mut self, locate: &Locate) -> Result<()> {
        let found = located(locate, &self.computed)?;
        self.computed.insert(locate.tensor.clone(), found);
        Ok(())
    }

    /// Runs what is left, and tells of each kernel.
    ///
    /// # Errors
    /// That of the first kernel which fails.
    pub fn end(mut self) -> Result<Vec<String>> {
        self.run_begun()?;
        Ok(self.said)
    }
}

/// The places that an earlier kernel has computed, as a tensor.
pub fn located(locate: &Locate, computed: &IndexMap<Name, Computed>) -> Result<Computed> {
    let from =
        computed.get(&locate.from).ok_or_else(|| Diagnostic::defect("places are not computed"))?;
    let fill = from.fill.unwrap_or(Number::zero(from.tensor.value_type()));
    let tensor = places(locate, &from.tensor.dense_else(fill)?)?;
    Ok(Computed { tensor, fill: None })
}

/// Statements of one kernel that is being compiled, and what it is for.
struct Begun {
    step: Step,
    program: Program,
    /// All that it computes.
    results: Vec<Name>,
    inputs: Inputs,
    targets: IndexMap<Name, Target>,
    files: IndexMap<Name, String>,
    compiling: Compiling,
    generate: Duration,
    /// All that was done up to here, waiting included.
    total: Duration,
}

impl Begun {
    /// Plans statements, on files and on what others have computed.
    fn plan(
        step: &Step,
        (mut kernel, program): (Kernel, Program),
        computed: &IndexMap<Name, Computed>,
        compiler: &Compiler,
    ) -> Result<Begun> {
        let begin = Instant::now();
        let asked = &step.wish;
        let written = program.output()?;
        for access in program.accesses().into_iter().filter(|a| a.tensor != written.tensor) {
            if let Some(fill) = computed.get(&access.tensor).and_then(|known| known.fill) {
                kernel = kernel.fill(&access.tensor, fill);
            }
        }
        // Refused before any work is done, and before data are asked for.
        let assignments = program.assignments()?;
        let results = assignments.iter().map(|a| a.output.tensor.clone()).collect();
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
        let generate = begin.elapsed();
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
                if !inputs.tensors.contains_key(output)
                    && asked.tensors.format(output)?.is_none() =>
            {
                kernel = kernel.declared(output, layout);
            }
            // A file of all elements asks for all of them.
            (Some(target), None) if target.is_dense() => {}
            _ if !inputs.tensors.contains_key(output) => kernel = kernel.sparse_result(),
            _ => {}
        }
        let kernel = step.tell_fresh(kernel, &program, |n| inputs.tensors.contains_key(n));
        let planned = kernel.plan()?;
        step.refuse_apart(&planned)?;
        inputs.only_read_by(&planned);
        let generate = generate + start.elapsed();
        let compiling = planned.begin_compiling(compiler.jit()?)?;
        let (step, total) = (step.clone(), begin.elapsed());
        Ok(Begun { step, program, results, inputs, targets, files, compiling, generate, total })
    }

    /// Runs the kernel; what is said of it, and the results themselves that are kept.
    fn run(self) -> Result<(String, IndexMap<Name, Computed>)> {
        let begin = Instant::now();
        let Begun { step, program, inputs, targets, files, generate, .. } = self;
        let (asked, written) = (&step.wish, program.output()?);
        let output = &written.tensor;
        let compiled = self.compiling.finish()?;
        let generate = generate + compiled.generated();
        asked.options.save(compiled.module().text())?;
        let start = Instant::now();
        let sharable = || sharable(&program, &inputs, &compiled);
        let call = compiled.call(inputs.by_name(), &inputs.extents.indices);
        let mut call = call.map_err(|e| match sharable() {
            Some(input) if e.help.as_deref() == Some(SPARSER) => e.help(format!(
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
        let mut times = Times { generate, prepare, kernel: seconds, repeats, ..Times::default() };
        let mut kept = IndexMap::new();
        let mut about = Vec::new();
        for (name, mut result) in results {
            let fill = compiled.planned().fill_of_result(&name);
            let fill = (!fill.same(Number::zero(fill.value_type()))).then_some(fill);
            if let Some(layout) = step.converted.as_ref().filter(|_| name == *output) {
                let start = Instant::now();
                let options = PackOptions { fill, ..PackOptions::default() };
                result = packing::convert(&result, layout, &options)?;
                times.converted += start.elapsed();
            }
            if asked.kept.contains(&name) || step.temporary && name == *output {
                kept.insert(name.clone(), Computed { tensor: result.clone(), fill });
            }
            let listing = asked.listed.as_deref();
            let file = targets.get(&name).map(|target| (target, files[&name].as_str()));
            let assembled = name == *output && compiled.planned().assembled().is_some();
            about.push(finished((&name, result, fill), assembled, file, listing, &mut times)?);
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
        times.total = self.total + begin.elapsed();
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
}

/// A result in the layout that is asked for, listed and written.
fn finished(
    (name, mut result, mut fill): (&Name, Tensor, Option<Number>),
    assembled: bool,
    file: Option<(&Target, &str)>,
    listing: Option<&Listing>,
    times: &mut Times,
) -> Result<Finished> {
    let start = Instant::now();
    let given = result.layout().clone();
    let wished = listing.and_then(|listed| listed.layouts.get(name));
    if let Some((target, _)) = file {
        result = target.convert(result, fill)?;
    } else if let Some((layout, begins)) = wished {
        let layout = Arc::new(Layout::named_for_rank(layout, result.dims().len())?);
        fill = begins.filter(|fill| !fill.same(Number::zero(fill.value_type())));
        if layout != given {
            let options = PackOptions { fill, ..PackOptions::default() };
            result = packing::convert(&result, &layout, &options)?;
        }
    }
    times.converted += start.elapsed();
    let packed = assembled || *result.layout() != given;
    let about = Summary::of(&result, fill, packed)?;
    // What is shown is taken before the result is given away: it may be half of the memory.
    if let Some(listing) = listing {
        let value = listed::listed(name, &result, fill, about.stored)?;
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

/// The kernel with the layouts, sizes and index width of the data, and a choice where there are copies.
pub fn for_data(kernel: Kernel, inputs: &Inputs) -> Result<Kernel> {
    let mut kernel = kernel.index(inputs.width);
    let has_copies = |name: &Name| inputs.copies.iter().any(|(other, _)| other == name);
    for (name, t) in inputs.tensors.iter().filter(|(name, _)| !has_copies(name)) {
        kernel = kernel.declared(name, t.layout());
    }
    kernel.measured(inputs.by_name(), &inputs.extents.indices)
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
