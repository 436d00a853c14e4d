//! `siskin run`: compile a kernel for data, run it, show or write the result.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};
use siskin::diagnostic::{Code, Diagnostic, Result};

use super::compiler::Compiler;
use super::interpreted::Asked;
use super::leaves::with_leaves;
use super::listed;
use super::options::KernelOptions;
use super::output::Output;
use super::program::{self, Part, Translated};
use super::running::Runner;
use super::sequence::{Kernels, Listing, Wish};
use super::tensors::TensorOptions;
use super::written::Written;

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
            written.add_text("--save-kernel", path, &self.tensors, self.program.as_deref())?;
        }
        let compiler = Compiler::asked();
        let expression = self.expression.as_deref();
        let options = with_leaves(expression, &self.tensors, &self.output, &self.options)?;
        let path = match (&self.expression, &self.program) {
            (None, Some(path)) => path,
            (expression, _) => {
                let tensors = self.tensors.clone();
                let expression = expression.clone().unwrap_or_default();
                let kept = Vec::new();
                let repeat = self.repeat;
                let wish = Wish {
                    expression,
                    tensors,
                    output,
                    options,
                    repeat,
                    kept,
                    fresh: false,
                    listed: None,
                };
                let mut runner = Runner::new(&compiler);
                runner.add(&wish, Kernels::Any)?;
                let mut said = runner.end()?;
                return Ok(match (self.options.json, said.len()) {
                    (true, 2..) => together(read_again(&said)?).to_string(),
                    (_, 1) => said.remove(0),
                    // Nothing is left of what went elsewhere, beside a file on standard output.
                    _ => {
                        said.retain(|one| !one.is_empty());
                        said.join("\n")
                    }
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
        match self.run_parts(made, &compiler) {
            Err(why) if why.code == Code::Space && any_way && options.save_kernel.is_none() => {
                interpreted(&why)
            }
            said => said,
        }
    }

    /// The parts of a program, one after the other.
    fn run_parts(&self, made: Translated, compiler: &Compiler) -> Output {
        let whole = made.returned.iter().filter(|(_, parts, _)| parts.len() == 1);
        let called = whole.map(|(name, parts, _)| (parts[0].clone(), name.clone())).collect();
        let results = Listing { layouts: made.layouts, called, ..Listing::default() };
        let results = Rc::new(results);
        let mut runner = Runner::new(compiler);
        let mut locating = Duration::ZERO;
        for group in made.groups {
            group.each(|part, kernels| {
                let Part { expression, tensors, options, output, kept, locates } = part;
                let listed = Some(results.clone());
                let (repeat, fresh) = (self.repeat, true);
                let wish =
                    Wish { expression, tensors, output, options, repeat, kept, fresh, listed };
                runner.add(&wish, kernels)?;
                for locate in &locates {
                    runner.run_begun()?;
                    let start = Instant::now();
                    let found = runner.locate(locate);
                    found.map_err(|e| e.within(&made.name, &made.text))?;
                    locating += start.elapsed();
                }
                Ok(Vec::<()>::new())
            })?;
        }
        let mut said = runner.end()?;
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
