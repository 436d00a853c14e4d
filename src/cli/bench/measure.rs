//! Running strategies by turns, so that what else the machine does meets all of them alike.

use std::time::{Duration, Instant};

use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::exec::Jit;
use siskin::kernel::{Call, CompiledKernel, Kernel};
use siskin::operators::Value as Number;

use super::super::data::Inputs;
use super::super::finds;
use super::agreement::{self, Compared, Computed};
use super::figures::{Case, Row};
use super::operations;
use super::strategies::{Strategy, Varied, strategies};

/// Which strategies, and for how long.
#[derive(Clone, Copy)]
pub struct Effort<'a> {
    /// `all`, or names separated by commas.
    pub strategies: &'a str,
    pub samples: usize,
    /// For each strategy, in seconds.
    pub limit: f64,
    /// What is not stored is zero: only then are operations counted.
    pub fills: bool,
    pub varied: Varied,
}

impl Effort<'_> {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.strategies.split(',').map(str::trim).filter(|name| *name != "all")
    }

    /// Refuses a name that is none of `known`.
    ///
    /// # Errors
    /// [`Code::Find`].
    pub fn check_names(&self, known: &[String]) -> Result<()> {
        match self.names().find(|name| !known.iter().any(|k| k == name)) {
            None => Ok(()),
            Some(name) => {
                let what = format!("`{name}` is no strategy that is proved for this statement");
                Err(Diagnostic::new(Code::Find, what)
                    .help(format!("the strategies are {}", known.join(", "))))
            }
        }
    }

    fn wants(&self, strategy: &str) -> bool {
        self.strategies == "all" || self.names().any(|name| name == strategy)
    }
}

/// What is measured of a kernel.
pub struct Measured {
    pub case: Case,
    /// All strategies that are proved for it.
    pub known: Vec<String>,
    /// The result of one of those that ran.
    pub computed: Option<Computed>,
}

/// A strategy between its runs.
struct Running<'a> {
    row: usize,
    call: Call<'a>,
    spent: Duration,
}

impl Running<'_> {
    fn sample(&mut self) -> f64 {
        let start = Instant::now();
        // What is true already would end a search for truth at once.
        self.call.reset();
        let seconds = self.call.run().as_secs_f64();
        self.spent += start.elapsed();
        seconds
    }
}

/// The rows of a kernel: those of all strategies that are asked for. `strict` refuses names that it does not have.
///
/// # Errors
/// Those of kernels; [`Code::Internal`] if two strategies compute different things.
pub fn measured(
    kernel: &Kernel,
    inputs: &Inputs,
    jit: &Jit,
    effort: &Effort<'_>,
    strict: bool,
) -> Result<Measured> {
    let planned = kernel.plan()?;
    let all = strategies(&planned, kernel, effort.varied)?;
    let known: Vec<String> = all.iter().map(|s| s.name.clone()).collect();
    if strict {
        effort.check_names(&known)?;
    }
    let mut case = Case { statement: planned.program().to_string(), ..Case::default() };
    let mut kernels: Vec<(usize, CompiledKernel)> = Vec::new();
    for strategy in all.iter().filter(|s| effort.wants(&s.name)) {
        let (row, compiled) = prepared(strategy, kernel, jit, effort)?;
        kernels.extend(compiled.map(|compiled| (case.rows.len(), compiled)));
        case.rows.push(row);
    }
    for (row, compiled) in kernels.iter().filter(|_| !inputs.copies.is_empty()) {
        case.rows[*row].templates.splice(0..0, copies(inputs, compiled));
    }
    if let Some((_, compiled)) = kernels.first().filter(|_| !effort.fills) {
        case.operations = operations::counted(planned.program(), compiled, inputs)?;
    }
    let computed = run(&kernels, inputs, &mut case.rows, effort)?;
    Ok(Measured { case, known, computed })
}

/// `A=csc`, of each tensor that is given in several layouts.
fn copies(inputs: &Inputs, compiled: &CompiledKernel) -> Vec<String> {
    let read = inputs.read_by(compiled.planned()).into_iter();
    let several = read.filter(|(name, _)| inputs.copies.iter().any(|(other, _)| other == *name));
    several.map(|(name, tensor)| format!("{name}={}", tensor.layout().name)).collect()
}

/// The kernel of a strategy; none if it would take too long.
fn prepared(
    strategy: &Strategy,
    kernel: &Kernel,
    jit: &Jit,
    effort: &Effort<'_>,
) -> Result<(Row, Option<CompiledKernel>)> {
    let kernel = strategy.apply(kernel);
    let mut row = Row::new(&strategy.name);
    if strategy.estimate > effort.limit {
        row.skipped = Some(format!("estimated at {:.0} s", strategy.estimate));
        return Ok((row, None));
    }
    let start = Instant::now();
    row.lines = kernel.plan()?.render()?.text().lines().count();
    row.generate = start.elapsed().as_secs_f64();
    let compiled = kernel.compile_with(jit)?;
    let chosen = finds::chosen(compiled.planned());
    row.templates = chosen
        .map(|(_, find, plan)| format!("{}={}", find.problem.position, plan.template.name))
        .collect();
    Ok((row, Some(compiled)))
}

/// Runs all of them by turns, and compares what they compute.
fn run(
    kernels: &[(usize, CompiledKernel)],
    inputs: &Inputs,
    rows: &mut [Row],
    effort: &Effort<'_>,
) -> Result<Option<Computed>> {
    let limit = Duration::from_secs_f64(effort.limit.clamp(0.0, 1e6));
    let mut running: Vec<Running<'_>> = Vec::new();
    for (row, compiled) in kernels {
        match compiled.call(inputs.by_name(), &inputs.extents.indices) {
            Ok(call) => running.push(Running { row: *row, call, spent: Duration::ZERO }),
            // The results of all of them are there at once.
            Err(e) if e.code == Code::Memory && !running.is_empty() => {
                rows[*row].skipped = Some("no room for one more result".to_string());
            }
            Err(e) => return Err(e),
        }
    }
    // The first run warms caches and pages.
    for one in &mut running {
        one.spent += one.call.run();
    }
    for round in 0..effort.samples {
        for one in running.iter_mut().filter(|one| round == 0 || one.spent <= limit) {
            let seconds = one.sample();
            rows[one.row].seconds.push(seconds);
        }
    }
    let mut first: Option<Computed> = None;
    for Running { row, call, .. } in running {
        let planned = kernels.iter().find(|(at, _)| *at == row).map(|(_, k)| k.planned());
        let fill = planned.map_or(Number::F64(0.0), |planned| planned.result_fill());
        let tensor = call.into_output()?;
        let read = planned.map(|planned| inputs.read_by(planned)).unwrap_or_default();
        let output = planned.map(|planned| planned.output());
        let operands = read.iter().filter(|(name, _)| Some(**name) != output);
        let bytes = operands.map(|(_, t)| t.size_bytes()).sum::<usize>() + tensor.size_bytes();
        rows[row].bytes = Some(bytes);
        let own = Computed { by: rows[row].strategy.clone(), tensor, fill };
        match &first {
            Some(first) => agreement::check(first, &own, Compared::All)?,
            None => first = Some(own),
        }
    }
    Ok(first)
}
