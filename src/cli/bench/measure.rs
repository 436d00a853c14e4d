//! Running strategies by turns, so that what else the machine does meets all of them alike.

use std::time::{Duration, Instant};

use indexmap::IndexMap;
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::exec::Jit;
use siskin::formula::Name;
use siskin::kernel::{Call, CompiledKernel, Kernel};
use siskin::module::Module;
use siskin::tensor::Tensor;

use super::super::data::Inputs;
use super::super::finds;
use super::super::turns::{clock, runs, turns, warming};
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
    /// What is between the commas of the list. Names of layouts have commas, too.
    fn words(&self) -> Vec<&str> {
        words_of(self.strategies)
    }

    /// Refuses a name that is none of `known`.
    ///
    /// # Errors
    /// [`Code::Find`].
    pub fn check_names(&self, known: &[String]) -> Result<()> {
        let words = self.words();
        let mut rest = words.as_slice();
        let known_words: Vec<Vec<&str>> = known.iter().map(|name| words_of(name)).collect();
        while let Some((name, behind)) = rest.split_first() {
            let longest =
                known_words.iter().filter(|own| rest.starts_with(own)).map(Vec::len).max();
            rest = match longest {
                Some(len) => &rest[len..],
                None if *name == "all" => behind,
                None => break,
            };
        }
        match rest.first() {
            None => Ok(()),
            Some(name) => {
                let what = format!("`{name}` is no strategy that is proved for this statement");
                Err(Diagnostic::new(Code::Find, what)
                    .help(format!("the strategies are {}", known.join(", "))))
            }
        }
    }

    fn wants(&self, strategy: &str) -> bool {
        let own = words_of(strategy);
        self.strategies == "all" || self.words().windows(own.len()).any(|words| words == own)
    }
}

fn words_of(name: &str) -> Vec<&str> {
    name.split(',').map(str::trim).collect()
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
    /// In a sample, and before it.
    runs: usize,
    warming: usize,
}

impl Running<'_> {
    /// The first runs: one warms caches and pages, and one says how long a run is.
    fn begin(&mut self, clock: Duration) {
        self.spent += self.call.run();
        self.call.reset();
        let one = self.call.run();
        self.spent += one;
        let one = one.saturating_sub(clock);
        (self.runs, self.warming) = (runs(one), warming(one));
    }

    /// Seconds of a run: the mean of several, if it is short.
    fn sample(&mut self, clock: Duration) -> f64 {
        let start = Instant::now();
        let mut own = Duration::ZERO;
        for k in 0..self.warming + self.runs {
            // What is true already would end a search for truth at once.
            self.call.reset();
            let one = self.call.run().saturating_sub(clock);
            own += if k < self.warming { Duration::ZERO } else { one };
        }
        self.spent += start.elapsed();
        own.as_secs_f64() / self.runs as f64
    }
}

/// Code of the rows that make some; each is there once.
#[derive(Default)]
struct Made {
    texts: Vec<(String, usize)>,
}

impl Made {
    /// The first row with this code, if it is not that of `row` itself.
    fn first(&mut self, text: &str, row: usize) -> Option<usize> {
        let known = self.texts.iter().find(|(own, _)| own == text).map(|(_, first)| *first);
        if known.is_none() {
            self.texts.push((text.to_string(), row));
        }
        known
    }
}

/// What a module does. Plans may differ and their code not: then the texts differ in what they tell of the plans.
fn code(module: &Module) -> String {
    match module.cores() {
        [only] => format!("{}\n{:?}", only.body(), module.signature()),
        _ => module.text().to_string(),
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
    let mut made = Made::default();
    for strategy in all.iter().filter(|s| effort.wants(&s.name)) {
        let at = case.rows.len();
        let own = strategy.apply(kernel);
        let (mut row, module) = prepared(strategy, &own, effort)?;
        match module.map(|module| made.first(&code(&module), at)) {
            Some(Some(first)) => row.same_as = Some(case.rows[first].strategy.clone()),
            Some(None) => kernels.push((at, own.compile_with(jit)?)),
            None => {}
        }
        case.rows.push(row);
    }
    for (row, compiled) in kernels.iter().filter(|_| !inputs.copies.is_empty()) {
        case.rows[*row].templates.splice(0..0, copies(inputs, compiled));
    }
    if let Some((_, compiled)) = kernels.first().filter(|_| !effort.fills) {
        case.operations = operations::counted(planned.program(), compiled, inputs)?;
    }
    let computed = run(&kernels, inputs, &mut case.rows, effort)?;
    share(&mut case.rows);
    Ok(Measured { case, known, computed })
}

/// `A=csc`, of each tensor that is given in several layouts.
fn copies(inputs: &Inputs, compiled: &CompiledKernel) -> Vec<String> {
    let read = inputs.read_by(compiled.planned()).into_iter();
    let several = read.filter(|(name, _)| inputs.copies.iter().any(|(other, _)| other == *name));
    several.map(|(name, tensor)| format!("{name}={}", tensor.layout().name)).collect()
}

/// The row and the module of a strategy, whose kernel this is; no module if it would take too long.
fn prepared(
    strategy: &Strategy,
    kernel: &Kernel,
    effort: &Effort<'_>,
) -> Result<(Row, Option<Module>)> {
    let mut row = Row::new(&strategy.name);
    // Of nothing, no quantity can be told.
    if strategy.estimate.is_finite() && strategy.estimate > effort.limit {
        row.skipped = Some(format!("estimated at {:.0} s", strategy.estimate));
        return Ok((row, None));
    }
    let start = Instant::now();
    let planned = kernel.plan()?;
    let module = planned.render()?;
    row.lines = module.text().lines().count();
    row.generate = start.elapsed().as_secs_f64();
    let chosen = finds::chosen(&planned);
    row.templates = chosen
        .map(|(_, find, plan)| format!("{}={}", find.problem.position, plan.template.name))
        .collect();
    Ok((row, Some(module)))
}

/// What was measured of a kernel is so of every strategy that makes it.
fn share(rows: &mut [Row]) {
    for at in 0..rows.len() {
        let (before, rest) = rows.split_at_mut(at);
        let first = before.iter().find(|row| rest[0].same_as.as_ref() == Some(&row.strategy));
        let Some(first) = first else { continue };
        rest[0].seconds = first.seconds.clone();
        rest[0].bytes = first.bytes;
        rest[0].skipped = first.skipped.clone();
    }
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
            Ok(call) => running.push(Running {
                row: *row,
                call,
                spent: Duration::ZERO,
                runs: 1,
                warming: 0,
            }),
            // The results of all of them are there at once.
            Err(e) if e.code == Code::Memory && !running.is_empty() => {
                rows[*row].skipped = Some("no room for one more result".to_string());
            }
            Err(e) => return Err(e),
        }
    }
    let clock = clock();
    running.iter_mut().for_each(|one| one.begin(clock));
    for round in 0..effort.samples {
        for at in turns(running.len(), round) {
            let one = &mut running[at];
            if round == 0 || one.spent <= limit {
                let seconds = one.sample(clock);
                rows[one.row].seconds.push(seconds);
            }
        }
    }
    let mut first: IndexMap<Name, Computed> = IndexMap::new();
    for Running { row, call, .. } in running {
        let Some((_, compiled)) = kernels.iter().find(|(at, _)| *at == row) else { continue };
        let planned = compiled.planned();
        let results = call.into_results()?;
        let read = inputs.read_by(planned);
        let operands = read.iter().filter(|(name, _)| !results.contains_key(**name));
        let tensors = operands.map(|(_, tensor)| *tensor).chain(results.values());
        rows[row].bytes = Some(tensors.map(Tensor::size_bytes).sum());
        for (name, tensor) in results {
            let fill = planned.fill_of_result(&name);
            let own = Computed { by: rows[row].strategy.clone(), tensor, fill };
            match first.get(&name) {
                Some(first) => agreement::check(first, &own, Compared::All)?,
                None => drop(first.insert(name, own)),
            }
        }
    }
    Ok(first.swap_remove_index(0).map(|(_, computed)| computed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_modules_run_once_for_all_their_strategies() {
        let mut made = Made::default();
        let firsts = ["a", "b", "a", "c", "b"].iter().enumerate().map(|(k, t)| made.first(t, k));
        assert_eq!(firsts.collect::<Vec<_>>(), [None, None, Some(0), None, Some(1)]);
        let same = |of: &str| Some(of.to_string());
        let mut rows = vec![
            Row { seconds: vec![2.0, 3.0], bytes: Some(8), ..Row::new("auto") },
            Row { seconds: vec![4.0], ..Row::new("px=a") },
            Row { same_as: same("auto"), ..Row::new("px=b") },
            Row { skipped: Some("no room".to_string()), ..Row::new("px=c") },
            Row { same_as: same("px=c"), ..Row::new("px=d") },
        ];
        share(&mut rows);
        assert_eq!((rows[2].seconds.as_slice(), rows[2].bytes), (&[2.0, 3.0][..], Some(8)));
        assert_eq!(rows[1].seconds, [4.0], "what ran by itself keeps its own times");
        assert_eq!(rows[4].skipped.as_deref(), Some("no room"));
    }
}
