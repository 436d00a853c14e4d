//! `siskin bench`: every valid strategy side by side.

mod agreement;
mod copying;
mod csv;
mod figures;
mod measure;
mod operations;
mod programs;
mod strategies;
mod table;
mod timed;

use std::path::{Path, PathBuf};

use clap::Args;
use indexmap::IndexMap;
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::exec::Jit;
use siskin::files::check_place;

use super::leaves::with_leaves;
use super::options::KernelOptions;
use super::output::{Output, write_text};
use super::tensors::{OutputWish, TensorOptions};
use super::{data, run, standard};
use measure::{Effort, measured};
use timed::Timed;

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
    /// Runs of each strategy
    #[arg(long, value_name = "N", default_value_t = 20)]
    samples: usize,
    /// Skip strategies whose estimated time of a run exceeds this; stop sampling beyond it
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    limit: f64,
    /// Write a line for each strategy to a file, or (-) to standard output instead of the tables
    #[arg(long, value_name = "FILE|-")]
    csv: Option<String>,
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
        if let Some(path) = self.csv.as_deref().filter(|_| !csv_is_printed) {
            check_place(Path::new(path))?;
        }
        let effort = Effort {
            strategies: &self.strategies,
            samples: self.samples,
            limit: self.limit,
            fills: !options.fill.is_empty(),
        };
        let timed = match (&self.expression, &self.program) {
            (None, Some(path)) => {
                let made = super::program::translated(path, &self.tensors, &options, &self.output)?;
                programs::timed(made, &effort)?
            }
            (expression, _) => {
                self.timed(expression.as_deref().unwrap_or_default(), &options, &effort)?
            }
        };
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
        let kernel = options.kernel(expression)?;
        let program = kernel.program()?;
        program.assignments()?;
        let wish = OutputWish::parse(&self.output, &program)?;
        wish.without_file("bench")?;
        let inputs = data::inputs(&program, &self.tensors, options, &IndexMap::new())?;
        let kernel = wish.apply(run::for_data(kernel, &inputs)?, &program, &self.tensors)?;
        let case = measured(&kernel, &inputs, &Jit::new()?, effort, true)?.case;
        Ok(Timed::of_cases(vec![case]))
    }
}
