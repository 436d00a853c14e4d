//! The tensors of a statement on the command line: `-t`, `-f` and `-o NAME=…`, which mean the same to all
//! commands.

use clap::Args;
use indexmap::IndexMap;
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::formula::Name;
use siskin::kernel::{Kernel, in_one_layout};
use siskin::program::Program;

use super::given::ReadFiles;
use super::tensor_argument::{FileArgument, named};

/// Where tensors come from, and how they are stored.
#[derive(Args, Clone, Debug)]
pub struct TensorOptions {
    /// A tensor's file, and the layout to pack it into; `-` (or `-:mtx`) is standard input. Made up are `ones`,
    /// `random:DENSITY` (anywhere) and `random:FAMILY`: uniform(DENSITY), banded(WIDTH), blocks(SIZE,DENSITY),
    /// powerlaw(DENSITY) or grid (the five-point stencil), with the extents that `--dims` or other tensors state.
    /// A tensor may be given in several layouts, of which the kernel reads the one that is expected to take less time
    #[arg(short = 't', long = "tensor", value_name = "NAME=FILE[:LAYOUT]")]
    pub tensors: Vec<String>,
    /// The layout of a tensor
    #[arg(short = 'f', long = "format", value_name = "NAME=LAYOUT")]
    pub formats: Vec<String>,
    /// Which random tensors: with its name, the start of a tensor's generator (splitmix64)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    #[arg(skip)]
    pub read: ReadFiles,
}

impl TensorOptions {
    /// The files of `-t`, by tensor: one for each layout in which it is given, at least one.
    pub fn files(&self, program: &Program) -> Result<IndexMap<Name, Vec<FileArgument>>> {
        let mut files: IndexMap<Name, Vec<FileArgument>> = IndexMap::new();
        for text in &self.tensors {
            let (name, rest) = named("-t", text, "FILE[:LAYOUT]")?;
            known("-t", text, name, program)?;
            let mut file = FileArgument::input(rest)?;
            if let Some(format) = self.format(name)? {
                if file.layout.as_ref().is_some_and(|own| *own != format) {
                    return Err(Diagnostic::new(
                        Code::Usage,
                        format!("tensor `{name}` has two layouts"),
                    )
                    .at(0..text.len(), "")
                    .within("-t", text)
                    .help(format!("give one layout: leave `-f {name}={format}` out")));
                }
                file.layout = Some(format.to_string());
            }
            if file.is_standard() && files.values().flatten().any(FileArgument::is_standard) {
                return Err(Diagnostic::new(Code::Usage, "standard input is read twice")
                    .at(0..text.len(), "the second time")
                    .within("-t", text)
                    .help("give a file to one of the tensors"));
            }
            let copies = files.entry(name.into()).or_default();
            if copies.iter().any(|other| other.layout == file.layout) {
                return Err(in_one_layout(name).at(0..text.len(), "").within("-t", text));
            }
            if !copies.is_empty() && program.writes(name) {
                let what = format!("the output `{name}` is given twice");
                return Err(Diagnostic::new(Code::Usage, what)
                    .at(0..text.len(), "")
                    .within("-t", text)
                    .help("give one file for its initial value"));
            }
            copies.push(file);
        }
        Ok(files)
    }

    /// Refuses a tensor that is given several times, where one is needed.
    ///
    /// # Errors
    /// [`Code::Usage`].
    pub fn refuse_copies(&self, what: &str) -> Result<()> {
        let mut known: Vec<&str> = Vec::new();
        for text in &self.tensors {
            let (name, _) = named("-t", text, "FILE[:LAYOUT]")?;
            if known.contains(&name) {
                return Err(Diagnostic::new(
                    Code::Usage,
                    format!("tensor `{name}` is given twice"),
                )
                .at(0..text.len(), "")
                .within("-t", text)
                .help(format!("{what} reads each tensor in one layout: give one file for each")));
            }
            known.push(name);
        }
        Ok(())
    }

    /// The layouts of `-f`, by tensor.
    pub fn formats(&self) -> Result<IndexMap<&str, &str>> {
        let mut out: IndexMap<&str, &str> = IndexMap::new();
        for text in &self.formats {
            let (name, layout) = named("-f", text, "LAYOUT")?;
            if out.insert(name, layout).is_some() {
                return Err(Diagnostic::new(
                    Code::Usage,
                    format!("tensor `{name}` has two layouts"),
                )
                .at(0..text.len(), "")
                .within("-f", text)
                .help("give one layout for each tensor"));
            }
        }
        Ok(out)
    }

    pub fn format(&self, name: &str) -> Result<Option<&str>> {
        Ok(self.formats()?.get(name).copied())
    }
}

fn known(option: &str, text: &str, name: &str, program: &Program) -> Result<()> {
    let tensors = program.tensors();
    if tensors.contains_key(name) {
        return Ok(());
    }
    let known: Vec<&str> = tensors.keys().map(|n| &**n).collect();
    Err(Diagnostic::new(Code::Usage, format!("the expression has no tensor `{name}`"))
        .at(0..name.len(), "")
        .within(option, text)
        .help(format!("its tensors are {}", known.join(", "))))
}

/// What `-o` says of the last of several results, and the files of the others.
///
/// # Errors
/// [`Code::Space`] if another one shall share the sparsity of an input: its kernel is another.
pub fn by_result(
    texts: &[String],
    program: &Program,
) -> Result<(Vec<String>, IndexMap<Name, String>)> {
    let results = program.results();
    let (mut last, mut others) = (Vec::new(), IndexMap::new());
    for text in texts {
        let named = text.split_once('=').map(|(name, rest)| (name.trim(), rest.trim()));
        let other = named.and_then(|(name, rest)| {
            let own = results.iter().skip(1).find(|own| ***own == *name)?;
            Some((own.clone(), rest))
        });
        match other {
            None => last.push(text.clone()),
            Some((name, rest)) if rest.starts_with("shares(") => {
                let what = format!("`{name}` is not the last result, and shares a sparsity");
                return Err(Diagnostic::new(Code::Space, what));
            }
            Some((name, rest)) => drop(others.insert(name, rest.to_string())),
        }
    }
    Ok((last, others))
}

/// What `-o` says of a statement's output.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutputWish<'a> {
    /// `FILE[:LAYOUT]`
    pub file: Option<&'a str>,
    /// `shares(A)`
    pub shared: Option<&'a str>,
}

impl<'a> OutputWish<'a> {
    /// Reads `FILE[:LAYOUT]`, `NAME=FILE[:LAYOUT]` and `NAME=shares(INPUT)`, each at most once.
    pub fn parse(texts: &'a [String], program: &Program) -> Result<OutputWish<'a>> {
        let output = &program.output()?.tensor;
        let mut wish = OutputWish::default();
        for text in texts {
            // A name that is no tensor is the beginning of a file's.
            let named = text.split_once('=').map(|(name, rest)| (name.trim(), rest.trim()));
            let shares = |rest: &str| rest.starts_with("shares(") && rest.ends_with(')');
            let named =
                named.filter(|(name, rest)| shares(rest) || program.tensors().contains_key(*name));
            let rest = match named {
                None => text.as_str(),
                Some((name, rest)) if *name == **output => rest,
                Some((name, _)) => {
                    return Err(Diagnostic::new(
                        Code::Usage,
                        format!("`-o {text}`: `{name}` is not the output"),
                    )
                    .at(0..name.len(), "")
                    .within("-o", text)
                    .help(format!("the output is `{output}`")));
                }
            };
            let place = if shares(rest) { &mut wish.shared } else { &mut wish.file };
            if place.replace(rest).is_some() {
                return Err(Diagnostic::new(Code::Usage, "more than one output is given")
                    .at(0..text.len(), "the second one")
                    .within("-o", text)
                    .help("give one file, and one `NAME=shares(INPUT)`"));
            }
        }
        Ok(wish)
    }

    /// Refuses a file where no result is written.
    pub fn without_file(&self, command: &str) -> Result<()> {
        match self.file {
            None => Ok(()),
            Some(file) => Err(Diagnostic::new(
                Code::Usage,
                format!("`-o {file}`: `siskin {command}` writes no result"),
            )
            .help("`-o NAME=shares(INPUT)` gives the result the sparsity of an input")),
        }
    }

    /// The kernel whose output is stored as `-o` or `-f` says, and other results as `-f` does.
    pub fn apply(
        &self,
        mut kernel: Kernel,
        program: &Program,
        tensors: &TensorOptions,
    ) -> Result<Kernel> {
        let output = &program.output()?.tensor;
        if let (Some(format), Some(shared)) = (tensors.format(output)?, self.shared)
            && format != shared
        {
            return Err(Diagnostic::new(
                Code::Usage,
                format!("the output `{output}` has two layouts"),
            )
            .help(format!("leave `-f {output}={format}` or `-o {output}={shared}` out")));
        }
        for result in program.results() {
            if let Some(layout) = tensors.format(&result)? {
                kernel = kernel.layout(&result, layout);
            }
        }
        if let Some(shared) = self.shared {
            kernel = kernel.layout(output, shared);
        }
        Ok(kernel)
    }
}
