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
    let mut loaded: IndexMap<Name, (Given, Arc<Layout>)> = IndexMap::new();
    for (name, file) in &files {
        let rank = ranks[name];
        let dims = extents.tensors.get(name).cloned();
        let data = given(&file.path, dims, Some(value_type))?;
        let data = data.with_rank(rank).map_err(|data| {
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
        let role = match (name == output, &data) {
            (true, _) => DefaultFor::Output,
            (false, Given::Loaded(data)) => default_role(data),
            (false, Given::Stored(_)) => DefaultFor::Entries,
        };
        let layout = match (&file.layout, &data) {
            (Some(text), _) => Arc::new(Layout::named_for_rank(text, rank)?),
            (None, Given::Stored(tensor)) if name != output => tensor.layout().clone(),
            (None, _) => Arc::new(Layout::named_for_rank(&role.layout()?, rank)?),
        };
        loaded.insert(name.clone(), (data, layout));
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
        let mut packed = data.pack(&layout, Some(width)).map_err(about)?;
        packing += start.elapsed();
        let start = Instant::now();
        packed.validate().map_err(about)?;
        validating += start.elapsed();
        tensors.insert(name.clone(), packed);
    }
    let files = files.into_iter().map(|(n, f)| (n, f.path)).collect();
    Ok(Inputs { tensors, files, extents, width, read, pack: packing, validate: validating })
}

/// What a file gives.
pub enum Given {
    /// Data to be packed.
    Loaded(Loaded),
    /// A tensor that is packed already: the file has its declaration.
    Stored(Tensor),
}

impl Given {
    pub fn dims(&self) -> &[usize] {
        match self {
            Given::Loaded(data) => data.dims(),
            Given::Stored(tensor) => tensor.dims(),
        }
    }

    pub fn stored(&self) -> usize {
        match self {
            Given::Loaded(data) => data.stored(),
            Given::Stored(tensor) => tensor.stored(),
        }
    }

    pub fn value_type(&self) -> ValueType {
        match self {
            Given::Loaded(data) => data.value_type(),
            Given::Stored(tensor) => tensor.value_type(),
        }
    }

    /// With `rank` dimensions; see [`with_rank`].
    pub fn with_rank(self, rank: usize) -> std::result::Result<Given, Box<Given>> {
        match self {
            Given::Loaded(data) => with_rank(data, rank)
                .map(Given::Loaded)
                .map_err(|data| Box::new(Given::Loaded(*data))),
            Given::Stored(tensor) if tensor.dims().len() == rank => Ok(Given::Stored(tensor)),
            Given::Stored(tensor) => Err(Box::new(Given::Stored(tensor))),
        }
    }

    /// In a layout; what is stored in it already stays as it is.
    pub fn pack(self, layout: &Arc<Layout>, width: Option<IndexWidth>) -> Result<Tensor> {
        match self {
            Given::Loaded(data) => pack(layout, data, width),
            Given::Stored(tensor) if tensor.layout().same_as(layout) => Ok(tensor),
            Given::Stored(tensor) => {
                packing::convert(&tensor, layout, &PackOptions { index_width: packed_width(width) })
            }
        }
    }
}

/// Reads a file, without unpacking what is packed.
pub fn given(
    path: &Path,
    dims: Option<Vec<usize>>,
    value_type: Option<ValueType>,
) -> Result<Given> {
    let stored = match is_archive(path) {
        true => files::read_stored(path)?,
        false => None,
    };
    let stated = |tensor: &Tensor| dims.as_ref().is_none_or(|dims| dims == tensor.dims());
    let Some(mut tensor) = stored.filter(stated) else {
        return load(path, dims, value_type).map(Given::Loaded);
    };
    let about = |e: Box<Diagnostic>| e.note(format!("in `{}`", path.display()));
    tensor.validate().map_err(about)?;
    if let Some(value_type) = value_type.filter(|t| *t != tensor.value_type()) {
        let (params, arrays) = (tensor.params().clone(), tensor.arrays().clone());
        let values = tensor.values().convert(value_type).map_err(about)?;
        let dims = tensor.dims().to_vec();
        tensor = Tensor::new(tensor.layout().clone(), dims, &params, arrays, values)?;
        tensor.validate().map_err(about)?;
    }
    tracing::info!("read {}: {}, as stored", path.display(), super::run::shape(&tensor));
    Ok(Given::Stored(tensor))
}

/// Whether a file is a NumPy archive by its name.
pub fn is_archive(path: &Path) -> bool {
    let name = path.to_string_lossy().to_ascii_lowercase();
    name.strip_suffix(".gz").unwrap_or(&name).ends_with(".npz")
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
    data.pack_with(layout, &PackOptions { index_width: packed_width(width) })
}

fn packed_width(width: Option<IndexWidth>) -> packing::IndexWidth {
    match width {
        None => packing::IndexWidth::Auto,
        Some(IndexWidth::U32) => packing::IndexWidth::U32,
        Some(IndexWidth::U64) => packing::IndexWidth::U64,
    }
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
