//! `siskin emit`: a kernel as a standalone Rust module.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::files;
use siskin::kernel::Kernel;
use siskin::program::Program;

use super::finds;
use super::options::KernelOptions;
use super::output::{self, Output};
use super::run::sharing;
use super::tensor_argument::named;

/// Write a kernel as a Rust module that depends on the standard library only
#[derive(Args)]
#[command(after_help = include_str!("examples/emit.txt"))]
pub struct Emit {
    /// A statement of index notation, e.g. 'y[i] += A[i,j] * x[j]'
    expression: String,
    /// The layout of a tensor
    #[arg(short = 'f', long = "format", value_name = "NAME=LAYOUT")]
    formats: Vec<String>,
    /// The file to write [default: stdout]
    #[arg(short, long, value_name = "FILE.rs")]
    output: Option<PathBuf>,
    /// Write a C header that declares the module's two entries
    #[arg(long, value_name = "FILE.h")]
    header: Option<PathBuf>,
    #[command(flatten)]
    options: KernelOptions,
}

impl Emit {
    pub fn execute(&self) -> Output {
        let output = self.output.as_ref().and_then(|path| path.to_str());
        if let Some((name, layout)) = output.and_then(sharing) {
            return Err(Diagnostic::new(Code::Usage, "`-o` takes the file of the module")
                .help(format!("the layout of the result is given by `-f {name}={layout}`")));
        }
        for path in self.output.iter().chain(&self.header) {
            files::check_place(path)?;
        }
        if self.output.is_some() && self.output == self.header {
            return Err(Diagnostic::new(Code::Usage, "`-o` and `--header` name the same file")
                .help("give the module and its header files of their own"));
        }
        let kernel = with_formats(&self.options, &self.expression, &self.formats)?;
        let planned = kernel.plan()?;
        let module = planned.render()?;
        self.options.save(module.text())?;
        if let Some(path) = &self.output {
            output::write_text(path, module.text())?;
        }
        if let Some(path) = &self.header {
            output::write_text(path, &module.c_header())?;
        }
        Ok(match (self.options.json, &self.output) {
            (true, _) => json!({
                "kernel": module.text().to_string(),
                "finds": finds::json(&planned),
                "output": self.output,
                "header": self.header,
            })
            .to_string(),
            (false, None) => module.text().to_string(),
            (false, Some(_)) => String::new(),
        })
    }
}

/// The kernel of an expression with the layouts of `-f`.
pub fn with_formats(
    options: &KernelOptions,
    expression: &str,
    formats: &[String],
) -> Result<Kernel> {
    let mut kernel = options.kernel(expression)?;
    // For the extents of `--dims`; the layouts' diagnostics come later, in the kernel's own words.
    let program = Program::parse(expression)?;
    options.extents(&program)?;
    let mut given: Vec<&str> = Vec::new();
    for text in formats {
        let (name, layout) = named("-f", text, "LAYOUT")?;
        if given.contains(&name) {
            return Err(Diagnostic::new(Code::Usage, format!("tensor `{name}` has two layouts"))
                .at(0..text.len(), "")
                .within("-f", text)
                .help("give one layout for each tensor"));
        }
        given.push(name);
        kernel = kernel.layout(name, layout);
    }
    Ok(kernel)
}
