//! `siskin emit`: a kernel as a standalone Rust module.

use std::path::{Path, PathBuf};

use clap::Args;
use indexmap::IndexMap;
use serde_json::json;
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::files;
use siskin::kernel::Kernel;
use siskin::program::Program;

use super::leaves::with_leaves;
use super::options::KernelOptions;
use super::output::{self, Output};
use super::tensors::{OutputWish, TensorOptions};
use super::{data, finds, run, standard};

/// Write a kernel as a Rust module that depends on the standard library only
#[derive(Args)]
#[command(after_help = include_str!("examples/emit.txt"))]
pub struct Emit {
    /// A statement of index notation, e.g. 'y[i] += A[i,j] * x[j]', or several with `;` between them
    #[arg(required_unless_present = "program")]
    expression: Option<String>,
    /// A program in the language of Finch, instead of a statement
    #[arg(long, value_name = "FILE", conflicts_with = "expression")]
    program: Option<PathBuf>,
    #[command(flatten)]
    tensors: TensorOptions,
    /// The file to write [default: stdout]; NAME=shares(INPUT) gives the result the sparsity of an input
    /// (both may be given)
    #[arg(short, long, value_name = "FILE.rs | NAME=shares(INPUT)")]
    output: Vec<String>,
    /// Write a C header that declares the module's two entries
    #[arg(long, value_name = "FILE.h")]
    header: Option<PathBuf>,
    #[command(flatten)]
    options: KernelOptions,
}

impl Emit {
    pub fn execute(&self) -> Output {
        let expression = self.expression.as_deref();
        let options = with_leaves(expression, &self.tensors, &self.output, &self.options)?;
        let Some(expression) = &self.expression else {
            let path = self.program.as_deref().unwrap_or(Path::new(""));
            let made = super::program::translated(path, &self.tensors, &options, &self.output)?;
            let made = made.single("emit")?;
            let of_statements = Emit {
                expression: Some(made.expression),
                program: None,
                tensors: made.tensors,
                options: made.options,
                output: made.output,
                header: self.header.clone(),
            };
            return of_statements.execute();
        };
        let kernel = options.kernel(expression)?;
        let program = kernel.program()?;
        let wish = OutputWish::parse(&self.output, &program)?;
        let output = wish.file.filter(|file| *file != standard::NAME).map(PathBuf::from);
        for path in output.iter().chain(&self.header) {
            files::check_place(path)?;
        }
        if output.is_some() && output == self.header {
            return Err(Diagnostic::new(Code::Usage, "`-o` and `--header` name the same file")
                .help("give the module and its header files of their own"));
        }
        let kernel = with_tensors(kernel, &options, &program, &self.tensors, &wish)?;
        let planned = kernel.plan()?;
        let module = planned.render()?;
        let wanted = &planned.layouts()[planned.output()];
        if let Some(made) = planned.assembled().filter(|made| !made.layout.same_as(wanted))
            && !options.json
        {
            output::hint(&format!(
                "entries cannot be appended as `{}`: the module makes `{}` as `{}`, which is packed afterwards",
                wanted.name, made.tensor, made.layout.name
            ));
        }
        options.save(module.text())?;
        if let Some(path) = &output {
            output::write_text(path, module.text())?;
        }
        if let Some(path) = &self.header {
            output::write_text(path, &module.c_header())?;
        }
        Ok(match (options.json, &output) {
            (true, _) => json!({
                "kernel": module.text().to_string(),
                "finds": finds::json(&planned),
                "output": output,
                "header": self.header,
            })
            .to_string(),
            (false, None) => module.text().to_string(),
            (false, Some(_)) => String::new(),
        })
    }
}

/// The kernel of an expression with the layouts of `-f` and `-t`, priced for the data of `-t` if these are
/// all that it needs.
pub fn with_tensors(
    mut kernel: Kernel,
    options: &KernelOptions,
    program: &Program,
    tensors: &TensorOptions,
    wish: &OutputWish<'_>,
) -> Result<Kernel> {
    // For the extents of `--dims`; the layouts' diagnostics come later, in the kernel's own words.
    options.extents(program)?;
    for (name, layout) in tensors.formats()? {
        kernel = kernel.layout(name, layout);
    }
    if !tensors.tensors.is_empty() {
        program.assignments()?;
        let inputs = data::some_inputs(program, tensors, options, &IndexMap::new())?;
        let all = program
            .accesses()
            .iter()
            .all(|a| program.writes(&a.tensor) || inputs.tensors.contains_key(&a.tensor));
        kernel = match all {
            true => run::for_data(kernel, &inputs)?,
            false => inputs.tensors.iter().fold(kernel.index(inputs.width), |kernel, (name, t)| {
                kernel.declared(name, t.layout())
            }),
        };
    }
    wish.apply(kernel, program, tensors)
}
