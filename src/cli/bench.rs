//! `siskin bench`: every valid strategy side by side.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use indexmap::{IndexMap, IndexSet};
use serde_json::{Value, json};
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::exec::Jit;
use siskin::formula::Name;
use siskin::kernel::{Coiterate, CompiledKernel, Kernel, Planned};
use siskin::operators::Value as Number;
use siskin::synth::cost;

use super::data::{self, Computed, Inputs};
use super::leaves::with_leaves;
use super::options::KernelOptions;
use super::output::Output;
use super::program::{Part, Translated};
use super::sequence::{self, Step, Wish};
use super::tensors::{OutputWish, TensorOptions};
use super::{kernels, run, shown};

/// Time every strategy that is proved for a statement, on data
#[derive(Args)]
#[command(after_help = include_str!("examples/bench.txt"))]
pub struct Bench {
    /// A statement of index notation, e.g. 'y[i] += A[i,j] * x[j]', or several with `;` between them
    #[arg(required_unless_present = "program")]
    expression: Option<String>,
    /// A program in the language of Finch, instead of a statement
    #[arg(long, value_name = "FILE", conflicts_with = "expression")]
    program: Option<PathBuf>,
    #[command(flatten)]
    tensors: TensorOptions,
    /// Give the result the sparsity of an input
    #[arg(short, long, value_name = "NAME=shares(INPUT)")]
    output: Vec<String>,
    /// Strategies to time: all, or names as printed, separated by commas
    #[arg(long, default_value = "all")]
    strategies: String,
    /// Runs of each strategy
    #[arg(long, value_name = "N", default_value_t = 20)]
    samples: usize,
    /// Skip strategies whose estimated time of a run exceeds this; stop sampling beyond it
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    limit: f64,
    #[command(flatten)]
    options: KernelOptions,
}

/// A choice of templates to time.
struct Strategy {
    name: String,
    /// How operands are brought together, unless the options say it.
    scheme: Option<Coiterate>,
    /// Position and template; empty for the choice of a scheme.
    forced: Vec<(String, String)>,
    /// Estimated seconds of its finds.
    estimate: f64,
}

struct Row {
    strategy: String,
    /// What ran, for the automatic choice.
    templates: Vec<String>,
    seconds: Vec<f64>,
    /// To make the module, without `rustc`.
    generate: f64,
    /// Of the module.
    lines: usize,
    skipped: Option<String>,
}

/// What is measured of a kernel.
struct Timed {
    statement: String,
    rows: Vec<Row>,
    /// All strategies that are proved for it.
    known: Vec<String>,
}

impl fmt::Display for Timed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n{}", self.statement, table(&self.rows))
    }
}

impl Bench {
    pub fn execute(&self) -> Output {
        let expression = self.expression.as_deref();
        let options = with_leaves(expression, &self.tensors, &self.output, &self.options)?;
        // Also what is not a number.
        if !self.limit.is_sign_positive() || self.limit.is_nan() {
            return Err(Diagnostic::new(Code::Usage, format!("`--limit {}`", self.limit))
                .help("the limit is a number of seconds, 0 or more"));
        }
        if self.samples == 0 {
            return Err(Diagnostic::new(Code::Usage, "`--samples 0`")
                .help("each strategy runs at least once"));
        }
        let Some(expression) = &self.expression else {
            let path = self.program.as_deref().unwrap_or(Path::new(""));
            let made = super::program::translated(path, &self.tensors, &options, &self.output)?;
            return self.program(made);
        };
        let kernel = options.kernel(expression)?;
        let program = kernel.program()?;
        program.assignments()?;
        let wish = OutputWish::parse(&self.output, &program)?;
        wish.without_file("bench")?;
        let inputs = data::inputs(&program, &self.tensors, &options, &IndexMap::new())?;
        let kernel = wish.apply(run::for_data(kernel, &inputs)?, &program, &self.tensors)?;
        let timed = self.timed(&kernel, &inputs, &Jit::new()?, true)?;
        Ok(match options.json {
            true => json!({ "rows": as_json(&timed.rows) }).to_string(),
            false => timed.to_string(),
        })
    }

    /// The kernels of a program, one after the other, and all of them.
    fn program(&self, made: Translated) -> Output {
        let jit = Jit::new()?;
        let (name, text) = (made.name.clone(), made.text.clone());
        OutputWish { file: made.file()?, shared: None }.without_file("bench")?;
        let mut computed: IndexMap<Name, Computed> = IndexMap::new();
        let mut parts: Vec<Timed> = Vec::new();
        let mut places = Duration::ZERO;
        for part in made.parts {
            let Part { expression, tensors, options, output, kept, locates } = part;
            let (repeat, listed) = (0, None);
            let wish = Wish { expression, tensors, output, options, repeat, kept, listed };
            parts.extend(sequence::each(&wish, |step| self.step(step, &mut computed, &jit))?);
            for locate in locates {
                let start = Instant::now();
                let found = run::located(&locate, &computed);
                places += start.elapsed();
                let found = found.map_err(|e| e.within(&name, &text))?;
                computed.insert(locate.tensor, found);
            }
        }
        let named = |s: &str| parts.iter().flat_map(|p| &p.rows).any(|row| row.strategy == s);
        let asked = self.strategies.split(',').map(str::trim).filter(|s| *s != "all");
        if let Some(unknown) = asked.into_iter().find(|s| !named(s)) {
            let known = parts.iter().flat_map(|p| p.known.clone());
            return Err(no_strategy(unknown, known.collect::<IndexSet<_>>().iter()));
        }
        let json = self.options.json;
        if let ([only], true) = (parts.as_slice(), places.is_zero()) {
            return Ok(match json {
                true => json!({ "rows": as_json(&only.rows) }).to_string(),
                false => only.to_string(),
            });
        }
        let rows = whole(&parts, places);
        if json {
            let one = |p: &Timed| json!({ "statement": p.statement, "rows": as_json(&p.rows) });
            let kernels: Vec<Value> = parts.iter().map(one).collect();
            return Ok(json!({
                "rows": as_json(&rows),
                "kernels": kernels,
                "places": places.as_secs_f64(),
            })
            .to_string());
        }
        let mut out = String::new();
        for (k, part) in parts.iter().enumerate() {
            out.push_str(&format!("{}: {part}", kernels::name(k)));
        }
        let own = match places.is_zero() {
            true => String::new(),
            false => format!(", of which {} are between them", shown::time(places)),
        };
        out.push_str(&format!("all {} kernels of {name}{own}\n{}\n", parts.len(), table(&rows)));
        Ok(out)
    }

    /// The kernel of a statement of a program; what it computes is put to what is computed.
    fn step(
        &self,
        step: &Step,
        computed: &mut IndexMap<Name, Computed>,
        jit: &Jit,
    ) -> Result<Timed> {
        let asked = &step.wish;
        let mut kernel = asked.options.kernel(&asked.expression)?;
        let program = kernel.program()?;
        program.assignments()?;
        let output = program.output()?.tensor.clone();
        for access in program.accesses().into_iter().filter(|a| a.tensor != output) {
            if let Some(fill) = computed.get(&access.tensor).and_then(|known| known.fill) {
                kernel = kernel.fill(&access.tensor, fill);
            }
        }
        let wish = OutputWish::parse(&asked.output, &program)?;
        let inputs = data::inputs(&program, &asked.tensors, &asked.options, computed)?;
        kernel = wish.apply(run::for_data(kernel, &inputs)?, &program, &asked.tensors)?;
        match &step.layout {
            Some(layout) => kernel = kernel.layout(&output, layout),
            None if !inputs.tensors.contains_key(&output) => kernel = kernel.sparse_result(),
            None => {}
        }
        let timed = self.timed(&kernel, &inputs, jit, false)?;
        if step.temporary || asked.kept.contains(&output) {
            let compiled = kernel.compile_with(jit)?;
            let mut call = compiled.call(inputs.by_name(), &inputs.extents.indices)?;
            call.run();
            let fill = compiled.planned().result_fill();
            let fill = (!fill.same(Number::zero(fill.value_type()))).then_some(fill);
            computed.insert(output, Computed { tensor: call.into_output()?, fill });
        }
        Ok(timed)
    }

    /// The rows of a kernel: those of all strategies that are asked for.
    fn timed(&self, kernel: &Kernel, inputs: &Inputs, jit: &Jit, strict: bool) -> Result<Timed> {
        let planned = kernel.plan()?;
        let all = strategies(&planned, kernel)?;
        let known: Vec<String> = all.iter().map(|s| s.name.clone()).collect();
        let names: Vec<&str> = self.strategies.split(',').map(str::trim).collect();
        let is_known = |name: &&&str| known.iter().any(|known| known == **name);
        let everything = self.strategies == "all";
        if let Some(unknown) = names.iter().find(|n| !is_known(n)).filter(|_| strict && !everything)
        {
            return Err(no_strategy(unknown, known.iter()));
        }
        let mut rows = Vec::new();
        for s in all.into_iter().filter(|s| everything || names.contains(&s.name.as_str())) {
            rows.push(self.time(kernel, inputs, jit, s)?);
        }
        Ok(Timed { statement: planned.program().to_string(), rows, known })
    }

    fn time(&self, kernel: &Kernel, inputs: &Inputs, jit: &Jit, s: Strategy) -> Result<Row> {
        let mut kernel = kernel.clone();
        for (position, template) in &s.forced {
            kernel = kernel.find(Some(position), template);
        }
        if let Some(scheme) = s.scheme {
            kernel = kernel.coiterate(scheme);
        }
        let mut row = Row {
            strategy: s.name,
            templates: Vec::new(),
            seconds: Vec::new(),
            generate: 0.0,
            lines: 0,
            skipped: None,
        };
        if s.estimate > self.limit {
            row.skipped = Some(format!("estimated at {:.0} s", s.estimate));
            return Ok(row);
        }
        let start = Instant::now();
        row.lines = kernel.plan()?.render()?.text().lines().count();
        row.generate = start.elapsed().as_secs_f64();
        let compiled = kernel.compile_with(jit)?;
        row.templates = templates(&compiled);
        let mut call = compiled.call(inputs.by_name(), &inputs.extents.indices)?;
        let start = Instant::now();
        let limit = Duration::from_secs_f64(self.limit.clamp(0.0, 1e6));
        // The first run warms caches and pages.
        call.run();
        for _ in 0..self.samples {
            // What is true already would end a search for truth at once.
            call.reset();
            row.seconds.push(call.run().as_secs_f64());
            if start.elapsed() > limit {
                break;
            }
        }
        Ok(row)
    }
}

fn no_strategy<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> Box<Diagnostic> {
    let what = format!("`{name}` is no strategy that is proved for this statement");
    let known: Vec<&str> = known.map(String::as_str).collect();
    Diagnostic::new(Code::Find, what).help(format!("the strategies are {}", known.join(", ")))
}

/// A run of all kernels, by each scheme that makes something else of one of them: the sums of their medians, and
/// what is done between them.
fn whole(parts: &[Timed], between: Duration) -> Vec<Row> {
    let schemes = [Coiterate::Find, Coiterate::Merge, Coiterate::Looplets].map(Coiterate::word);
    let mut out = Vec::new();
    for name in ["auto"].into_iter().chain(schemes) {
        let of = |part: &'_ Timed, name: &str| part.rows.iter().position(|r| r.strategy == name);
        let is_new = parts.iter().any(|part| of(part, name).is_some());
        // Where the scheme makes nothing else, the automatic choice is what it makes.
        let own = parts.iter().map(|part| {
            let row = &part.rows[of(part, name).or_else(|| of(part, "auto"))?];
            Some((median(&row.seconds)?, row))
        });
        let Some(own) = own.collect::<Option<Vec<_>>>().filter(|_| is_new) else { continue };
        let seconds = own.iter().map(|(seconds, _)| seconds).sum::<f64>() + between.as_secs_f64();
        out.push(Row {
            strategy: name.to_string(),
            templates: Vec::new(),
            seconds: vec![seconds],
            generate: own.iter().map(|(_, row)| row.generate).sum(),
            lines: own.iter().map(|(_, row)| row.lines).sum(),
            skipped: None,
        });
    }
    out
}

/// The automatic choice, every scheme of co-iteration that makes something else of the statement, and every proved
/// template of every find, one at a time.
fn strategies(planned: &Planned, kernel: &Kernel) -> Result<Vec<Strategy>> {
    let of = |name: &str, scheme| {
        let (name, forced) = (name.to_string(), Vec::new());
        Strategy { name, scheme, forced, estimate: 0.0 }
    };
    let mut out = vec![of("auto", None)];
    let mut known = vec![planned.render()?.text().to_string()];
    for scheme in [Coiterate::Find, Coiterate::Merge, Coiterate::Looplets] {
        // What a scheme cannot do is no strategy; what the options ask for stays as it is.
        let own = kernel.clone().coiterate(scheme);
        let made = own.plan().and_then(|planned| planned.render());
        let Ok(module) = made else { continue };
        let text = module.text().to_string();
        if !known.contains(&text) && !kernel.states_coiteration() {
            out.push(of(scheme.word(), Some(scheme)));
            known.push(text);
        }
    }
    let searched = |s: &&siskin::synth::Find| s.plans().count() > 1;
    let finds = planned
        .statements()
        .iter()
        .flat_map(|s| s.finds().iter().enumerate().map(move |(k, f)| (s.nest_of(k), f)));
    let finds: Vec<_> = finds.filter(|(_, f)| searched(f)).collect();
    for (nest, find) in &finds {
        let position = find.problem.position.to_string();
        for plan in find.plans() {
            let template = plan.template.name.clone();
            let name = match finds.len() {
                1 => template.clone(),
                _ => format!("{position}={template}"),
            };
            if out.iter().any(|s| s.name == name) {
                continue;
            }
            let nanoseconds = cost(plan, find, nest, kernel.known_sizes())?;
            let forced = vec![(position.clone(), template)];
            let estimate = nanoseconds * 1e-9;
            out.push(Strategy { name, scheme: None, forced, estimate });
        }
    }
    Ok(out)
}

fn templates(compiled: &CompiledKernel) -> Vec<String> {
    let plans = super::finds::chosen(compiled.planned());
    plans
        .map(|(_, find, plan)| format!("{}={}", find.problem.position, plan.template.name))
        .collect()
}

fn median(seconds: &[f64]) -> Option<f64> {
    let mut sorted = seconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    match n {
        0 => None,
        _ if n % 2 == 1 => Some(sorted[n / 2]),
        _ => Some((sorted[n / 2 - 1] + sorted[n / 2]) / 2.0),
    }
}

fn as_json(rows: &[Row]) -> Vec<Value> {
    let merge = rows.iter().find(|row| row.strategy == Coiterate::Merge.word());
    let merge = merge.and_then(|row| median(&row.seconds));
    rows.iter()
        .map(|row| {
            json!({
                "strategy": row.strategy,
                "templates": row.templates,
                "seconds": row.seconds,
                "median": median(&row.seconds),
                // The two-finger merge is the baseline, where there is one.
                "ratio_to_merge": merge.zip(median(&row.seconds)).map(|(merge, own)| merge / own),
                "generate": row.generate,
                "lines": row.lines,
                "skipped": row.skipped,
            })
        })
        .collect()
}

fn table(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let header =
        ["strategy", "median", "least", "runs", "against the fastest", "generate", "lines"];
    table.set_header(header.into_iter().chain([""]));
    let fastest = rows.iter().filter_map(|r| median(&r.seconds)).fold(f64::INFINITY, f64::min);
    let time = |s: f64| shown::time(Duration::from_secs_f64(s));
    for row in rows {
        let Some(middle) = median(&row.seconds) else {
            let why = row.skipped.clone().unwrap_or_default();
            let skipped = format!("skipped: {why}");
            table.add_row([row.strategy.as_str(), "", "", "0", "", "", "", &skipped]);
            continue;
        };
        let least = row.seconds.iter().copied().fold(f64::INFINITY, f64::min);
        table.add_row([
            row.strategy.clone(),
            time(middle),
            time(least),
            row.seconds.len().to_string(),
            format!("{:.2}×", middle / fastest),
            time(row.generate),
            row.lines.to_string(),
            row.templates.join(", "),
        ]);
    }
    for column in 1..7 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|l| format!("{}\n", l.strip_prefix(' ').unwrap_or(&l).trim_end())).collect()
}
