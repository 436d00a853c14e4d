//! Options that several commands share, and what they mean.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use indexmap::IndexMap;
use siskin::code::IndexWidth;
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::formula::Name;
use siskin::iterspace::{Union, Wanted};
use siskin::kernel::{Coiterate, Kernel, calibrated, templates_of};
use siskin::operators::{Operators, Value};
use siskin::program::{Program, Types};
use siskin::tensor::ValueType;

/// More are a slip.
const MAX_THREADS: usize = 4096;

/// How the kernel is made.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Kernel options")]
pub struct KernelOptions {
    /// Force a find template for all finds, or for one position (pX=NAME)
    #[arg(long, value_name = "NAME|pX=NAME")]
    pub find: Vec<String>,
    /// A folder with more find templates, each a folder with template.toml and kernel.rs.j2
    #[arg(long, value_name = "DIR")]
    pub templates: Option<PathBuf>,
    /// Loop order, outermost first: indices or positions
    #[arg(long, value_name = "i,j,…", value_delimiter = ',')]
    pub order: Vec<String>,
    /// Tile an index or a position
    #[arg(long, value_name = "i=N")]
    pub tile: Vec<String>,
    /// Visit consecutive positions of one tensor as one loop; `--order` may have the outer ones behind the last
    #[arg(long, value_name = "pX0,pX1,…")]
    pub fuse: Vec<String>,
    /// How sums are computed: each term by itself (distribute), or in one pass for each tensor, looking up
    /// the others (passes), or all at once in the order of their coordinates (merge, into sparse results)
    /// [default: distribute where the statement adds, merge where that assembles a result]
    #[arg(long, value_name = "distribute|passes|merge")]
    pub union: Option<String>,
    /// How operands that are stored sparsely are brought together: one is walked and the others are searched
    /// (find), all are walked at once in the order of their coordinates (merge), or the regions in which they
    /// hold something are (looplets) [default: auto]
    #[arg(long, value_name = "find|merge|looplets|auto")]
    pub coiterate: Option<String>,
    /// A tensor in which positions, or regions of looplets, are sought at growing distances; of looplets, what is
    /// walked anew in each round of a loop is sought in any case
    #[arg(long, value_name = "TENSOR")]
    pub gallop: Vec<String>,
    /// Where a result of unknown structure is gathered before its entries are appended in order: dense,
    /// hash or sort [default: the cheapest]
    #[arg(long, value_name = "NAME")]
    pub workspace: Option<String>,
    /// What a workspace, or what a search keeps, may take, as far as the sizes are known: bytes, or 64K, 512M, 2G;
    /// a find that takes more is not chosen, and what cannot do with less is refused [default: 2G if there is a
    /// choice]
    #[arg(long, value_name = "BYTES")]
    pub workspace_limit: Option<String>,
    /// Choose by the costs of an assumed machine, even if `siskin calibrate` has measured this one
    #[arg(long)]
    pub no_calibration: bool,
    /// Take 0 * inf and 0 * nan for 0, also of values that are stored
    #[arg(long)]
    pub fast_math: bool,
    /// Add the terms of each sum of floats one after another, in the order of the loops, rather than several sums at
    /// once
    #[arg(long)]
    pub strict_fp: bool,
    /// Run the outermost loop on several threads; refused unless it is proved to be safe
    #[arg(long, value_name = "N")]
    pub threads: Option<String>,
    /// Width of index arrays [default: u32 if the sizes allow]
    #[arg(long, value_name = "u32|u64")]
    pub index: Option<String>,
    /// Type of all values (f64, f32, i64, i32, u8, bool), or of one tensor (A=bool) [default: f64]
    #[arg(long = "type", value_name = "TYPE | NAME=TYPE")]
    pub value_type: Vec<String>,
    /// A number that the expression names, in the ends of windows
    #[arg(short = 'p', long = "parameter", value_name = "NAME=N")]
    pub parameters: Vec<String>,
    /// A folder whose TOML files declare more operators
    #[arg(long, value_name = "DIR")]
    pub operators: Option<PathBuf>,
    /// Extents of a tensor (A=4,5) or of an index (i=4)
    #[arg(long, value_name = "NAME=N,…")]
    pub dims: Vec<String>,
    /// Value of what a tensor does not store (inf, -1, true) [default: 0]
    #[arg(long, value_name = "NAME=VALUE")]
    pub fill: Vec<String>,
    /// Print one JSON object on stdout, and nothing else
    #[arg(long)]
    pub json: bool,
    /// Write the generated module to a file
    #[arg(long, value_name = "FILE")]
    pub save_kernel: Option<PathBuf>,
}

/// `--dims`, by what the names are in the expression.
#[derive(Clone, Debug, Default)]
pub struct StatedExtents {
    pub tensors: IndexMap<Name, Vec<usize>>,
    pub indices: IndexMap<Name, usize>,
}

impl KernelOptions {
    /// The names of `--order`.
    pub fn order(&self) -> Vec<Name> {
        let names = self.order.iter().map(|name| name.trim());
        names.filter(|name| !name.is_empty()).map(Name::from).collect()
    }

    /// What `--type` says of the types of tensors.
    pub fn types(&self) -> Result<Types> {
        let mut types = Types::all(ValueType::F64);
        for text in self.value_type.iter().flat_map(|text| text.split(',')) {
            match text.split_once('=') {
                Some((name, ty)) => {
                    types.own.insert(Name::from(name.trim()), ty.trim().parse()?);
                }
                None => types.general = text.trim().parse()?,
            }
        }
        Ok(types)
    }

    /// Refuses options of which one would win over another without a word.
    ///
    /// # Errors
    /// [`Code::Usage`] at the second that says something of one name, or of all.
    pub fn refuse_repeated(&self) -> Result<()> {
        let stated = [
            ("--find", &self.find),
            ("--type", &self.value_type),
            ("--parameter", &self.parameters),
            ("--fill", &self.fill),
        ];
        for (option, texts) in stated {
            let mut known = Vec::new();
            for part in texts.iter().flat_map(|text| text.split(',')) {
                let name = part.split_once('=').map(|(name, _)| name.trim());
                if known.contains(&name) {
                    let of = name.map_or("all".to_string(), |name| format!("`{name}`"));
                    return Err(wrong(
                        option,
                        part,
                        0,
                        format!("{option} is given twice for {of}"),
                    )
                    .help("state it once"));
                }
                known.push(name);
            }
        }
        Ok(())
    }

    /// `None`: as the data need.
    pub fn index_width(&self) -> Result<Option<IndexWidth>> {
        match self.index.as_deref() {
            None => Ok(None),
            Some("u32") => Ok(Some(IndexWidth::U32)),
            Some("u64") => Ok(Some(IndexWidth::U64)),
            Some(other) => {
                Err(wrong("--index", other, 0, format!("`{other}` is not an index type"))
                    .help("the index types are u32 and u64"))
            }
        }
    }

    /// Refuses numbers that an expression does not name.
    pub fn refuse_unused(&self, expression: &str) -> Result<()> {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let words: Vec<&str> = expression.split(|c| !is_name(c)).collect();
        for text in &self.parameters {
            let name = text.split_once('=').map_or("", |(name, _)| name.trim());
            if !words.contains(&name) {
                let message = format!("the expression names no number `{name}`");
                return Err(wrong("--parameter", text, 0, message).help(
                    "leave this out; numbers are named in the ends of windows: `A[(lo:hi)(i)]`",
                ));
            }
            // What is wrong with the expression itself is said of it.
            let is_index = |program: Program| program.indices().iter().any(|i| **i == *name);
            if Program::parse(expression).is_ok_and(is_index) {
                let message = format!("`{name}` is an index of the expression, not a number");
                return Err(wrong("--parameter", text, 0, message)
                    .help("give how far it runs, `--dims NAME=N`, or restrict it: `… if i = 3`"));
            }
        }
        Ok(())
    }

    /// The kernel with every option that does not need data.
    pub fn kernel(&self, expression: &str) -> Result<Kernel> {
        if let Some(path) = &self.save_kernel {
            siskin::files::check_place(path)?;
        }
        self.refuse_repeated()?;
        let types = self.types()?;
        let mut kernel = Kernel::new(expression).values(types.general);
        for (name, ty) in &types.own {
            kernel = kernel.typed(name, *ty);
        }
        for text in &self.fill {
            let (name, fill) = fill(text)?;
            kernel = kernel.fill(name, fill);
        }
        for text in &self.parameters {
            let parts = text.split_once('=');
            let number = parts.and_then(|(name, n)| Some((name.trim(), n.trim().parse().ok()?)));
            let (name, number) = number.ok_or_else(|| {
                wrong("--parameter", text, 0, "a parameter is written NAME=N, with a whole N")
                    .help("e.g. `-p n=10`")
            })?;
            kernel = kernel.parameter(name, number);
        }
        if let Some(folder) = &self.operators {
            kernel = kernel.operators(&Arc::new(Operators::with_folder(folder)?));
        }
        if let Some(folder) = &self.templates {
            kernel = kernel.templates(&templates_of(folder)?);
        }
        if let Some(width) = self.index_width()? {
            kernel = kernel.index(width);
        }
        if !self.no_calibration {
            kernel = kernel.machine(&calibrated()?);
        }
        let order = self.order();
        kernel = kernel.order(&order.iter().map(|name| &**name).collect::<Vec<_>>());
        for text in &self.tile {
            let parts = text.split_once('=');
            let size = parts.and_then(|(_, n)| n.trim().parse::<i64>().ok()).filter(|&n| n > 0);
            let (Some((of, _)), Some(size)) = (parts, size) else {
                return Err(wrong("--tile", text, 0, "a tile is written i=N, with a positive N")
                    .help("e.g. `--tile i=32`"));
            };
            kernel = kernel.tile(of.trim(), size);
        }
        if let Some(workspace) = &self.workspace {
            kernel = kernel.workspace(workspace);
        }
        if let Some(text) = &self.workspace_limit {
            let Some(bytes) = bytes(text) else {
                return Err(wrong("--workspace-limit", text, 0, "this is no number of bytes")
                    .help("e.g. `--workspace-limit 64M`"));
            };
            kernel = kernel.workspace_limit(bytes);
        }
        if let Some(text) = &self.union {
            let Some(union) = Union::ALL.into_iter().find(|u| u.word() == text.trim()) else {
                let known = Union::ALL.map(Union::word).join(", ");
                return Err(wrong("--union", text, 0, format!("`{text}` is no way to unite"))
                    .help(format!("the ways are {known}")));
            };
            kernel = kernel.union(union);
        }
        if let Some(text) = &self.coiterate {
            let Some(scheme) = Coiterate::ALL.into_iter().find(|c| c.word() == text.trim()) else {
                let known = Coiterate::ALL.map(Coiterate::word).join(", ");
                return Err(wrong("--coiterate", text, 0, format!("`{text}` is no co-iteration"))
                    .help(format!("the schemes are {known}")));
            };
            kernel = kernel.coiterate(scheme);
        }
        for tensor in &self.gallop {
            kernel = kernel.gallop(tensor.trim());
        }
        if self.fast_math {
            kernel = kernel.fast_math();
        }
        if self.strict_fp {
            if self.fast_math {
                let what = "--fast-math and --strict-fp contradict each other";
                return Err(Diagnostic::new(Code::Usage, what)
                    .note("with --fast-math, terms that vanish for finite numbers may be left out of a sum")
                    .help("leave out one of the two"));
            }
            kernel = kernel.strict_fp();
        }
        for text in &self.fuse {
            let positions: Vec<&str> =
                text.split(',').map(str::trim).filter(|n| !n.is_empty()).collect();
            if positions.len() < 2 {
                return Err(wrong("--fuse", text, 0, "at least two positions are needed")
                    .help("e.g. `--fuse pA0,pA1`"));
            }
            kernel = kernel.fuse(&positions);
        }
        if let Some(text) = &self.threads {
            let threads = text.parse().ok().filter(|n| (1..=MAX_THREADS).contains(n));
            let Some(threads) = threads else {
                let why = format!("the number of threads is from 1 to {MAX_THREADS}");
                return Err(wrong("--threads", text, 0, why).help("e.g. `--threads 4`"));
            };
            kernel = kernel.threads(threads);
        }
        for wish in &self.find {
            kernel = match wish.split_once('=') {
                Some((position, template)) => kernel.find(Some(position.trim()), template.trim()),
                None => kernel.find(None, wish.trim()),
            };
        }
        Ok(kernel)
    }

    /// What `--fill` says of a tensor, in its type; none if it is zero.
    pub fn fill_of(&self, tensor: &Name, ty: ValueType) -> Result<Option<Value>> {
        let mut wanted = Wanted { types: Types::all(ty), ..Wanted::default() };
        for text in &self.fill {
            let (name, fill) = fill(text)?;
            wanted.fills.insert(name.into(), fill);
        }
        let fill = wanted.fill_of(tensor)?;
        Ok((!fill.same(Value::zero(ty))).then_some(fill))
    }

    /// What `--dims` states of the tensors and indices of `program`.
    pub fn extents(&self, program: &Program) -> Result<StatedExtents> {
        let mut out = StatedExtents::default();
        for text in &self.dims {
            let Some((name, numbers)) = text.split_once('=') else {
                return Err(wrong("--dims", text, 0, "extents are written NAME=N,…")
                    .help("e.g. `--dims A=4,5` for a tensor, `--dims i=4` for an index"));
            };
            let at = name.len() + 1;
            let dims = numbers_of(text, at, numbers)?;
            let name = Name::from(name.trim());
            if out.tensors.contains_key(&name) || out.indices.contains_key(&name) {
                return Err(wrong("--dims", text, 0, format!("`{name}` is given twice"))
                    .help("state the extents of a name once"));
            }
            if program.tensors().contains_key(&name) {
                out.tensors.insert(name, dims);
            } else if program.indices().contains(&name) {
                let [extent] = dims[..] else {
                    return Err(wrong("--dims", text, at, format!("`{name}` is an index"))
                        .help(format!("give it one extent: `--dims {name}=N`")));
                };
                out.indices.insert(name, extent);
            } else {
                let known: Vec<String> = program
                    .tensors()
                    .keys()
                    .chain(&program.indices())
                    .map(ToString::to_string)
                    .collect();
                return Err(wrong("--dims", text, 0, format!("the expression has no `{name}`"))
                    .help(format!("its tensors and indices are {}", known.join(", "))));
            }
        }
        Ok(out)
    }

    /// Writes the module where `--save-kernel` says.
    pub fn save(&self, module: &str) -> Result<()> {
        match &self.save_kernel {
            Some(path) => super::output::write_text(path, module),
            None => Ok(()),
        }
    }
}

/// `4,5` at byte `at` of `text`.
pub fn numbers_of(text: &str, at: usize, numbers: &str) -> Result<Vec<usize>> {
    let mut out = Vec::new();
    let mut start = at;
    for part in numbers.split(',') {
        match part.trim().parse::<usize>() {
            Ok(n) if i64::try_from(n).is_ok() => out.push(n),
            _ => {
                return Err(Diagnostic::new(Code::Usage, format!("`{part}` is not an extent"))
                    .at(start..start + part.len(), "not a number from 0 to 2^63 - 1")
                    .within("--dims", text)
                    .help("extents are whole numbers, separated by commas"));
            }
        }
        start += part.len() + 1;
    }
    Ok(out)
}

/// A usage diagnostic that points into an option's text.
/// `A=inf`
fn fill(text: &str) -> Result<(&str, Value)> {
    let wrong =
        || wrong("--fill", text, 0, "a fill is written NAME=VALUE").help("e.g. `--fill A=inf`");
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    let value = value.trim();
    let number = match (value.parse::<bool>(), value.parse::<i64>(), value.parse::<f64>()) {
        (Ok(truth), ..) => Value::Bool(truth),
        (_, Ok(whole), _) => Value::I64(whole),
        (_, _, Ok(number)) => Value::F64(number),
        _ => return Err(wrong()),
    };
    Ok((name.trim(), number))
}

pub fn wrong(option: &str, text: &str, at: usize, message: impl Into<String>) -> Box<Diagnostic> {
    Diagnostic::new(Code::Usage, message).at(at..text.len(), "").within(option, text)
}

/// A number of bytes, or of 1024, 1024², 1024³ of them.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, unit) = match text.char_indices().next_back()? {
        (at, 'K' | 'k') => (&text[..at], 1 << 10),
        (at, 'M' | 'm') => (&text[..at], 1 << 20),
        (at, 'G' | 'g') => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_that_are_no_numbers_are_pointed_at() {
        let error = numbers_of("A=4,nan", 2, "4,nan").unwrap_err();
        assert_eq!((error.code, error.span.as_ref().unwrap().0.clone()), (Code::Usage, 4..7));
        assert_eq!(numbers_of("A=4, 5", 2, "4, 5").unwrap(), [4, 5]);
        assert!(numbers_of("A=", 2, "").is_err());
        assert!(numbers_of("A=-1", 2, "-1").is_err());
        assert!(numbers_of("A=1,99999999999999999999", 2, "1,99999999999999999999").is_err());
    }

    #[test]
    fn numbers_of_bytes_have_units() {
        assert_eq!(["7", "2k", "3M", " 1G "].map(bytes), [7, 2 << 10, 3 << 20, 1 << 30].map(Some));
        for wrong in
            ["", "M", "-1", "1.5G", "1T", "1 é", "99999999999999999999", "18446744073709551615G"]
        {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}
