//! `siskin emit`: a kernel as a standalone Rust module.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::kernel::{Kernel, Planned};

use super::kernels::{self, One};
use super::leaves::with_leaves;
use super::options::KernelOptions;
use super::output::{self, Output};
use super::result::of_result;
use super::tensors::{OutputWish, TensorOptions};
use super::written::Written;
use super::{costs, finds, standard};

/// Write a kernel as a Rust module of edition 2024 that depends on the standard library only
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
        let (kernels, text, output) = match &self.expression {
            Some(expression) => {
                let kernel = options.kernel(expression)?;
                let program = kernel.program()?;
                let wish = OutputWish::parse(&self.output, &program)?;
                let output = self.places(wish.file)?;
                let kernel =
                    kernels::with_tensors(kernel, &options, &program, &self.tensors, &wish)?;
                let one = One::new(kernel.plan()?, &options)?;
                let text = one.module.text().to_string();
                (vec![one], text, output)
            }
            None => {
                let path = self.program.as_deref().unwrap_or(Path::new(""));
                let (file, wishes) = module_file(&self.output)?;
                let made = super::program::translated(path, &self.tensors, &options, &wishes)?;
                let output = self.places(file)?;
                let (returned, measured) = (made.returned.clone(), made.measured.clone());
                let kernels = kernels::kernels(made, &mut Kernel::plan)?;
                let text = kernels::text(path, &returned, &measured, &kernels)?;
                (kernels, text, output)
            }
        };
        if !options.json {
            kernels.iter().for_each(|one| packed_afterwards(&one.planned));
        }
        options.save(&text)?;
        if let Some(path) = &output {
            output::write_text(path, &text)?;
        }
        if let Some(path) = &self.header {
            let headers: Vec<String> = kernels.iter().map(|one| one.module.c_header()).collect();
            output::write_text(path, &headers.join("\n"))?;
        }
        if !options.json {
            return Ok(if output.is_none() { text } else { String::new() });
        }
        let all = kernels.iter().flat_map(|one| match finds::json(&one.planned) {
            Value::Array(rows) => rows,
            _ => Vec::new(),
        });
        let ways: Result<Vec<Vec<Value>>> =
            kernels.iter().map(|one| costs::ways_json(&one.planned)).collect();
        let ways = ways?.concat();
        let mut said = json!({
            "kernel": text,
            "finds": all.collect::<Vec<_>>(),
            "ways": ways,
            "output": output,
            "header": self.header,
        });
        if kernels.len() > 1 {
            let one = |(k, one): (usize, &One)| {
                json!({
                    "name": kernels::name(k),
                    "statement": one.planned.program().to_string(),
                    "entry": one.module.entry(),
                    "finds": finds::json(&one.planned),
                    "then": one.locates.iter().map(kernels::located).collect::<Vec<_>>(),
                })
            };
            said["kernels"] = kernels.iter().enumerate().map(one).collect();
        }
        Ok(said.to_string())
    }

    /// The file of the module, if files can be written where they shall be.
    fn places(&self, file: Option<&str>) -> Result<Option<PathBuf>> {
        let output = file.filter(|file| *file != standard::NAME).map(PathBuf::from);
        let saved = &self.options.save_kernel;
        let mut written = Written::default();
        for (option, path) in
            [("-o", &output), ("--header", &self.header), ("--save-kernel", saved)]
        {
            if let Some(path) = path {
                written.add_text(option, path, &self.tensors, self.program.as_deref())?;
            }
        }
        Ok(output)
    }
}

/// What `-o` says of the module of a program, which is one for all results; the rest is of results.
fn module_file(output: &[String]) -> Result<(Option<&str>, Vec<String>)> {
    let shares = |text: &str| of_result(text).is_some_and(|(_, rest)| rest.starts_with("shares("));
    let (wishes, files): (Vec<&String>, Vec<&String>) =
        output.iter().partition(|text| shares(text));
    let wrong = |text: &str, message: &str| {
        Diagnostic::new(Code::Usage, message)
            .at(0..text.len(), "")
            .within("-o", text)
            .help("give one file, `-o FILE.rs`: all kernels are written to it")
    };
    if let Some(second) = files.get(1) {
        return Err(wrong(second, "more than one output is given"));
    }
    if let Some(named) = files.iter().find(|text| of_result(text).is_some()) {
        return Err(wrong(named, "a module is not of one result"));
    }
    Ok((files.first().map(|text| text.as_str()), wishes.into_iter().cloned().collect()))
}

/// Says so if the module makes something else than what was wished.
fn packed_afterwards(planned: &Planned) {
    if let Some(wanted) = planned.packed_as() {
        let output = planned.output();
        let made = match planned.assembled() {
            Some(made) => &made.layout.name,
            None => &planned.layouts()[output].name,
        };
        output::hint(&format!(
            "entries cannot be appended as `{}`: the module makes `{output}` as `{made}`, which is packed afterwards",
            wanted.name
        ));
    }
}
