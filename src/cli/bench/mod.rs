//! `siskin bench`: every valid strategy side by side.

mod agreement;
mod copying;
mod csv;
mod figures;
mod layouts;
mod measure;
mod operations;
mod page;
mod programs;
mod strategies;
mod sweep;
mod table;
mod timed;
mod variants;

use std::path::{Path, PathBuf};

use clap::Args;
use indexmap::{IndexMap, IndexSet};
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::exec::Jit;
use siskin::formula::Name;

use super::leaves::with_leaves;
use super::options::KernelOptions;
use super::output::{Output, write_text};
use super::tensors::{OutputWish, TensorOptions};
use super::written::Written;
use super::{data, kernels, running, standard};
use agreement::{Compared, Computed};
use figures::{Case, Row};
use measure::{Effort, Measured, measured};
use strategies::{Varied, automatic};
use sweep::Sweep;
use timed::Timed;
use variants::{Variant, variants};

/// Time every strategy that is proved for a statement, on data
#[derive(Args)]
#[command(after_help = include_str!("../examples/bench.txt"))]
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
    /// Also every order of the loops, every way to unite the terms of a sum, all threads of the machine, where valid
    #[arg(long, value_name = "orders,unions,threads", value_delimiter = ',')]
    vary: Vec<String>,
    /// Runs of each strategy
    #[arg(long, value_name = "N", default_value_t = 20)]
    samples: usize,
    /// Skip strategies whose estimated time of a run exceeds this; stop sampling beyond it
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    limit: f64,
    /// Also with a tensor in each of these layouts, e.g. 'A=csr,bcsr(4,4)'; without a name, the first sparse input.
    /// Lists of levels are separated by `;`
    #[arg(long, value_name = "[NAME=]LAYOUT,…", conflicts_with = "program")]
    layouts: Vec<String>,
    /// Also at densities of a random tensor whose logarithms are evenly spaced, e.g. x.density=1e-4..0.5
    #[arg(long, value_name = "NAME.density=FROM..TO", conflicts_with = "program")]
    sweep: Option<String>,
    /// Densities of a sweep
    #[arg(long, value_name = "N", default_value_t = 8, requires = "sweep")]
    sweep_points: usize,
    /// Write a line for each strategy to a file, or (-) to standard output instead of the tables
    #[arg(long, value_name = "FILE|-")]
    csv: Option<String>,
    /// Write one page with plots: times, the fastest strategy, the regret of the automatic choice, a roofline
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    options: KernelOptions,
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
        let csv_is_printed = self.csv.as_deref() == Some(standard::NAME);
        if csv_is_printed && options.json {
            return Err(Diagnostic::new(
                Code::Usage,
                "standard output cannot take both `--csv -` and `--json`",
            )
            .help("write the lines to a file: `--csv FILE`"));
        }
        let csv = self.csv.as_deref().filter(|_| !csv_is_printed).map(Path::new);
        let mut written = Written::default();
        for (option, path) in [("--csv", csv), ("--html", self.html.as_deref())] {
            if let Some(path) = path {
                written.add_text(option, path, &self.tensors, self.program.as_deref())?;
            }
        }
        let effort = Effort {
            strategies: &self.strategies,
            samples: self.samples,
            limit: self.limit,
            fills: !options.fill.is_empty(),
            varied: Varied::parse(&self.vary, &options)?,
        };
        let timed = match (&self.expression, &self.program) {
            (None, Some(path)) => {
                let made = super::program::translated(path, &self.tensors, &options, &self.output)?;
                programs::timed(made, &effort)
            }
            (expression, _) => {
                self.timed(expression.as_deref().unwrap_or_default(), &options, &effort)
            }
        };
        let timed = timed.map_err(|e| blamed(e, options.templates.as_deref()))?;
        if let Some(path) = &self.html {
            write_text(path, &page::html(&timed.report)?)?;
        }
        match self.csv.as_deref() {
            Some(standard::NAME) => return Ok(csv::text(&timed.report)),
            Some(path) => write_text(Path::new(path), &csv::text(&timed.report))?,
            None => {}
        }
        Ok(if options.json { timed.json.to_string() } else { timed.text })
    }

    fn timed(
        &self,
        expression: &str,
        options: &KernelOptions,
        effort: &Effort<'_>,
    ) -> Result<Timed> {
        if options.save_kernel.is_some() {
            return Err(Diagnostic::new(Code::Usage, "`bench` makes many kernels, and saves none")
                .help("write one of them with `siskin run … --save-kernel FILE`, which takes `--find`, too"));
        }
        let program = options.kernel(expression)?.program()?;
        program.assignments()?;
        let wish = OutputWish::parse(&self.output, &program)?;
        wish.without_file("bench")?;
        let sweep = self.sweep.as_deref().map(|text| Sweep::parse(text, self.sweep_points));
        let sweep = sweep.transpose()?;
        let all = variants(&program, &self.tensors, options, sweep.as_ref(), &self.layouts)?;
        let jit = Jit::new()?;
        let (mut cases, mut known) = (Vec::new(), IndexSet::new());
        let (mut first, mut refusal) = (None, None);
        for variant in &all {
            let measured = self.variant(expression, variant, &jit, effort, all.len() == 1);
            let case = match measured {
                Ok(Measured { case, known: own, computed }) => {
                    known.extend(own);
                    compare(&mut first, computed, variant)?;
                    case
                }
                // What cannot be stored or computed so is said of this layout, beside the others.
                Err(e) if variant.layouts.is_some() && all.len() > 1 && !e.code.is_defect() => {
                    let skipped = Some(e.message.clone());
                    refusal.get_or_insert(e);
                    let rows = vec![Row { skipped, ..Row::new(automatic()) }];
                    Case { statement: program.to_string(), rows, ..Case::default() }
                }
                Err(e) => return Err(e),
            };
            let (density, layouts) = (variant.density, variant.layouts.clone());
            cases.push(Case { density, layouts, ..case });
        }
        match refusal {
            Some(e) if known.is_empty() => return Err(e),
            _ => effort.check_names(&known.into_iter().collect::<Vec<_>>())?,
        }
        Ok(Timed::of_cases(cases, sweep.map(|sweep| sweep.tensor)))
    }

    fn variant(
        &self,
        expression: &str,
        variant: &Variant,
        jit: &Jit,
        effort: &Effort<'_>,
        strict: bool,
    ) -> Result<Measured> {
        let tensors = &variant.tensors;
        let options = with_leaves(Some(expression), tensors, &self.output, &self.options)?;
        let kernel = options.kernel(expression)?;
        let program = kernel.program()?;
        let wish = OutputWish::parse(&self.output, &program)?;
        let inputs = data::inputs(&program, tensors, &options, &IndexMap::new())?;
        let kernel = wish.apply(running::for_data(kernel, &inputs)?, &program, tensors)?;
        let is_given = |name: &Name| inputs.tensors.contains_key(name);
        let kernel = kernels::with_result_of_run(kernel, &program, is_given)?;
        let effort = Effort { fills: !options.fill.is_empty(), ..*effort };
        measured(&kernel, &inputs, jit, &effort, strict)
    }
}

/// What is no defect of ours where a user's templates are tried, too.
fn blamed(e: Box<Diagnostic>, templates: Option<&Path>) -> Box<Diagnostic> {
    match templates {
        Some(folder) if e.code.is_defect() => Diagnostic::new(Code::Find, e.message).help(format!(
            "a template in `{}` may find what is no match, or miss one: what its search does is for its author to prove; \
             without `--templates`, please report it",
            folder.display()
        )),
        _ => e,
    }
}

/// Compares what layouts of the same data compute, with that of the first of them.
fn compare(
    first: &mut Option<(Option<f64>, Computed)>,
    computed: Option<Computed>,
    variant: &Variant,
) -> Result<()> {
    let Some(mut computed) = computed else { return Ok(()) };
    if let Some(layouts) = &variant.layouts {
        computed.by = format!("{} of {layouts}", computed.by);
    }
    match first {
        Some((density, first)) if *density == variant.density => {
            agreement::check(first, &computed, Compared::Finite)
        }
        _ => {
            *first = Some((variant.density, computed));
            Ok(())
        }
    }
}
