//! Tensor files, in and out.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use indexmap::IndexMap;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use siskin::code::IndexWidth;
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::files::{self, Loaded, ReadOptions};
use siskin::formula::Name;
use siskin::kernel::index_width;
use siskin::layout::{DefaultFor, Layout};
use siskin::packing::{self, PackOptions};
use siskin::program::Program;
use siskin::tensor::{Tensor, ValueType};

use super::options::{KernelOptions, StatedExtents};
use super::output::warn;
use super::tensor_argument::{FileArgument, named};

/// The tensors of a `run` or `bench`, packed and validated.
pub struct Inputs {
    pub tensors: IndexMap<Name, Tensor>,
    pub files: IndexMap<Name, PathBuf>,
    pub extents: StatedExtents,
    pub width: IndexWidth,
    pub read: Duration,
    pub pack: Duration,
    pub validate: Duration,
}

impl Inputs {
    /// Name and tensor, as kernels take them.
    pub fn by_name(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.tensors.iter().map(|(name, t)| (&**name, t))
    }
}

/// Reads, packs and validates the files of `-t`.
pub fn inputs(program: &Program, arguments: &[String], options: &KernelOptions) -> Result<Inputs> {
    let extents = options.extents(program)?;
    let ranks = program.tensors();
    let value_type = options.value_type()?;
    let mut files: IndexMap<Name, FileArgument> = IndexMap::new();
    for text in arguments {
        let (name, rest) = named("-t", text, "FILE[:LAYOUT]")?;
        if !ranks.contains_key(name) {
            let known: Vec<&str> = ranks.keys().map(|n| &**n).collect();
            return Err(Diagnostic::new(
                Code::Usage,
                format!("the expression has no tensor `{name}`"),
            )
            .at(0..name.len(), "")
            .within("-t", text)
            .help(format!("its tensors are {}", known.join(", "))));
        }
        if files.insert(name.into(), FileArgument::parse(rest)?).is_some() {
            return Err(Diagnostic::new(Code::Usage, format!("tensor `{name}` is given twice"))
                .at(0..text.len(), "")
                .within("-t", text)
                .help("give one file for each tensor"));
        }
    }
    let output = &program.output()?.tensor;
    for access in program.accesses() {
        if !files.contains_key(&access.tensor) && access.tensor != *output {
            return Err(Diagnostic::new(
                Code::Shape,
                format!("tensor `{}` is not given", access.tensor),
            )
            .at(access.span.clone(), "needs data")
            .within("<expression>", &program.text)
            .help(format!("pass its file: `-t {}=FILE[:LAYOUT]`", access.tensor)));
        }
    }
    let start = Instant::now();
    let mut loaded: IndexMap<Name, (Loaded, Arc<Layout>)> = IndexMap::new();
    for (name, file) in &files {
        let rank = ranks[name];
        let dims = extents.tensors.get(name).cloned();
        let data = load(&file.path, dims, Some(value_type))?;
        let data = with_rank(data, rank).map_err(|data| {
            Diagnostic::new(
                Code::Shape,
                format!(
                    "`{}` holds a tensor of rank {}, but `{name}` has {rank} subscript(s)",
                    file.path.display(),
                    data.dims().len()
                ),
            )
            .help("write one subscript for each dimension, or use another file")
        })?;
        let role = match name == output {
            true => DefaultFor::Output,
            false => default_role(&data),
        };
        let layout = match &file.layout {
            Some(text) => Layout::named_for_rank(text, rank)?,
            None => Layout::named_for_rank(&role.layout()?, rank)?,
        };
        loaded.insert(name.clone(), (data, Arc::new(layout)));
    }
    let read = start.elapsed();
    let width = match options.index_width()? {
        Some(width) => width,
        None => {
            let wide = loaded
                .values()
                .any(|(data, _)| index_width(data.dims(), data.stored()) == IndexWidth::U64);
            if wide { IndexWidth::U64 } else { IndexWidth::U32 }
        }
    };
    let mut tensors = IndexMap::new();
    let (mut packing, mut validating) = (Duration::ZERO, Duration::ZERO);
    for (name, (data, layout)) in loaded {
        let start = Instant::now();
        let about = |e: Box<Diagnostic>| {
            e.note(format!("for tensor `{name}` of `{}`", files[&name].path.display()))
        };
        let mut packed = pack(&layout, data, Some(width)).map_err(about)?;
        packing += start.elapsed();
        let start = Instant::now();
        packed.validate().map_err(about)?;
        validating += start.elapsed();
        tensors.insert(name.clone(), packed);
    }
    let files = files.into_iter().map(|(n, f)| (n, f.path)).collect();
    Ok(Inputs { tensors, files, extents, width, read, pack: packing, validate: validating })
}

/// The role whose default layout suits data without one.
pub fn default_role(data: &Loaded) -> DefaultFor {
    match data {
        Loaded::Entries(_) => DefaultFor::Entries,
        Loaded::Dense(_) => DefaultFor::Array,
    }
}

/// The data in a layout.
pub fn pack(layout: &Arc<Layout>, data: Loaded, width: Option<IndexWidth>) -> Result<Tensor> {
    let index_width = match width {
        None => packing::IndexWidth::Auto,
        Some(IndexWidth::U32) => packing::IndexWidth::U32,
        Some(IndexWidth::U64) => packing::IndexWidth::U64,
    };
    data.pack_with(layout, &PackOptions { index_width })
}

/// The data with `rank` dimensions: a matrix of one row or column may be a vector.
pub fn with_rank(data: Loaded, rank: usize) -> std::result::Result<Loaded, Box<Loaded>> {
    let data = match rank {
        1 => data.into_vector().unwrap_or_else(|other| other),
        _ => data,
    };
    if data.dims().len() == rank { Ok(data) } else { Err(Box::new(data)) }
}

/// Reads a file, with a progress bar if that takes long and somebody watches.
pub fn load(
    path: &Path,
    dims: Option<Vec<usize>>,
    value_type: Option<ValueType>,
) -> Result<Loaded> {
    let bar: RefCell<Option<ProgressBar>> = RefCell::new(None);
    let progress = |done: u64, total: u64| {
        let mut bar = bar.borrow_mut();
        let bar = bar.get_or_insert_with(|| {
            // Hidden unless stderr is a terminal.
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{msg} {bar:40} {bytes}/{total_bytes}")
            {
                bar.set_style(style);
            }
            bar.set_message(format!("reading {}", path.display()));
            bar
        });
        bar.set_position(done);
    };
    let options = ReadOptions { dims, value_type, progress: Some(&progress) };
    let file = files::read(path, &options);
    if let Some(bar) = bar.borrow().as_ref() {
        bar.finish_and_clear();
    }
    let file = file?;
    for w in &file.warnings {
        warn(&format!("{}: {w}", path.display()));
    }
    tracing::info!(
        "read {}: {:?}, {} stored",
        path.display(),
        file.loaded.dims(),
        file.loaded.stored()
    );
    Ok(file.loaded)
}

/// What a file of a tensor in `layout` holds: an array if the layout has no index arrays.
pub fn into_file(tensor: Tensor) -> Result<Loaded> {
    match tensor.layout().arrays.is_empty() {
        true => Ok(Loaded::Dense(tensor.into_dense()?)),
        false => Ok(Loaded::Entries(tensor.entries()?)),
    }
}
