//! Tensor files, in and out.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indexmap::IndexMap;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use siskin::code::IndexWidth;
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::files::{self, Loaded, ReadOptions, holds_arrays};
use siskin::formula::Name;
use siskin::kernel::{Planned, in_one_layout, index_width};
use siskin::layout::{DefaultFor, Layout, LayoutSpec};
use siskin::operators::Value as Number;
use siskin::packing::{self, PackOptions, Plan};
use siskin::program::Program;
use siskin::tensor::{FreedMemoryIsKept, Tensor, ValueType};

use super::copies::{From, refuse_difference};
use super::options::{KernelOptions, StatedExtents};
use super::output::warn;
use super::progress;
use super::shown;
use super::standard::Standard;
use super::tensor_argument::{FileArgument, Place};
use super::tensors::TensorOptions;

/// The tensors of a statement, packed and validated.
pub struct Inputs {
    pub tensors: IndexMap<Name, Tensor>,
    /// The same as some of these, in other layouts.
    pub copies: Vec<(Name, Tensor)>,
    /// Where each is from, as the user wrote it.
    pub files: IndexMap<Name, String>,
    pub extents: StatedExtents,
    pub width: IndexWidth,
    pub read: Duration,
    /// Finding out how entries are packed.
    pub plan: Duration,
    pub pack: Duration,
    pub validate: Duration,
}

impl Inputs {
    /// Name and tensor, as kernels take them: with all copies.
    pub fn by_name(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        let copies = self.copies.iter().map(|(name, t)| (&**name, t));
        self.tensors.iter().map(|(name, t)| (&**name, t)).chain(copies)
    }

    /// The tensors that a kernel reads: of copies that in the layout which is planned.
    pub fn read_by(&self, planned: &Planned) -> IndexMap<&Name, &Tensor> {
        let mut out: IndexMap<&Name, &Tensor> = self.tensors.iter().collect();
        for (name, tensor) in &self.copies {
            if planned.layouts()[name].same_as(tensor.layout()) {
                out.insert(name, tensor);
            }
        }
        out
    }

    /// Drops the copies that a kernel does not read.
    pub fn only_read_by(&mut self, planned: &Planned) {
        for (name, tensor) in std::mem::take(&mut self.copies) {
            if planned.layouts()[&name].same_as(tensor.layout()) {
                self.tensors.insert(name, tensor);
            }
        }
    }
}

/// What an earlier statement has computed.
pub struct Computed {
    pub tensor: Tensor,
    /// What it holds where it stores nothing, unless it is zero.
    pub fill: Option<Number>,
}

/// Reads, packs and validates the files of `-t`, one for each input that is not computed.
pub fn inputs(
    program: &Program,
    arguments: &TensorOptions,
    options: &KernelOptions,
    computed: &IndexMap<Name, Computed>,
) -> Result<Inputs> {
    let files = arguments.files(program)?;
    let temporaries = program.temporaries();
    let is_known = |name: &Name| {
        files.contains_key(name) || computed.contains_key(name) || temporaries.contains(name)
    };
    let output = &program.output()?.tensor;
    for access in program.accesses() {
        if !is_known(&access.tensor) && access.tensor != *output {
            return Err(Diagnostic::new(
                Code::Shape,
                format!("tensor `{}` is not given", access.tensor),
            )
            .at(access.span.clone(), "needs data")
            .within("<expression>", &program.text)
            .help(format!("pass its file: `-t {}=FILE[:LAYOUT]`", access.tensor)));
        }
    }
    some_inputs(program, arguments, options, computed)
}

/// Reads, packs and validates the files of `-t`.
pub fn some_inputs(
    program: &Program,
    arguments: &TensorOptions,
    options: &KernelOptions,
    computed: &IndexMap<Name, Computed>,
) -> Result<Inputs> {
    let extents = options.extents(program)?;
    let files = arguments.files(program)?;
    for name in arguments.formats()?.keys() {
        if !program.tensors().contains_key(*name) {
            let known: Vec<String> = program.tensors().keys().map(ToString::to_string).collect();
            return Err(Diagnostic::new(
                Code::Shape,
                format!("a layout is given for `{name}`, which the expression does not use"),
            )
            .help(format!("the tensors of the expression are {}", known.join(", "))));
        }
    }
    let ranks = program.tensors();
    let types = options.types()?;
    let output = &program.output()?.tensor;
    let start = Instant::now();
    let _kept = FreedMemoryIsKept::begin();
    let mut data: IndexMap<Name, Given> = IndexMap::new();
    let is_made_up = |file: &FileArgument| matches!(file.place, Place::Generated(_));
    // What is made up has the extents that the others leave to it.
    let mut order: Vec<(&Name, &Vec<FileArgument>)> = files.iter().collect();
    order.sort_by_key(|(_, copies)| copies.iter().all(is_made_up));
    // Behind the first of each tensor, in the order of `-t`.
    let mut copies: Vec<(&Name, usize, Given)> = Vec::new();
    let all = order.into_iter().flat_map(|(name, own)| {
        let one = move |(k, file)| (name, k, file);
        own.iter().enumerate().map(one)
    });
    for (name, k, file) in all {
        let rank = ranks[name];
        let value_type = types.of(name);
        let dims = extents.tensors.get(name).cloned();
        if let Some(at) = same_place(&files[name], k) {
            let known = copies.iter().find(|(n, own, _)| *n == name && *own == at);
            let given = match known {
                Some((_, _, given)) => given.clone(),
                None => data[name].clone(),
            };
            copies.push((name, k, given));
            continue;
        }
        let found = match &file.place {
            Place::Generated(wish) => {
                let dims = match dims {
                    Some(dims) => dims,
                    None => implied(program, name, &data, &extents)?,
                };
                let made = wish.make(&dims, value_type, arguments.seed);
                Given::Loaded(made.map_err(|e| e.note(format!("for tensor `{name}`")))?)
            }
            _ => {
                let fill = options.fill_of(name, value_type)?;
                arguments.read.given(file, dims, Some(value_type), fill)?
            }
        };
        let found = found.with_rank(rank).map_err(|data| {
            Diagnostic::new(
                Code::Shape,
                format!(
                    "`{}` holds a tensor of rank {}, but `{name}` has {rank} subscript(s)",
                    file.name,
                    data.dims().len()
                ),
            )
            .help("write one subscript for each dimension, or use another file")
        })?;
        match k {
            0 => drop(data.insert(name.clone(), found)),
            _ => copies.push((name, k, found)),
        }
    }
    data.sort_by_key(|name, _| files.get_index_of(name));
    for (name, known) in computed.iter().filter(|(name, _)| ranks.contains_key(*name)) {
        data.insert(name.clone(), Given::Stored(known.tensor.clone()));
    }
    copies.sort_by_key(|(name, k, _)| (files.get_index_of(*name), *k));
    let mut loaded: Vec<(Name, usize, Given, Arc<Layout>)> = Vec::new();
    let firsts = data.into_iter().map(|(name, data)| (name, 0, data));
    let copies = copies.into_iter().map(|(name, k, data)| (name.clone(), k, data));
    for (name, k, data) in firsts.chain(copies) {
        let rank = ranks[&name];
        let role = match (name == *output, &data) {
            (true, _) => DefaultFor::Output,
            (false, Given::Loaded(data)) => default_role(data),
            (false, Given::Stored(_)) => DefaultFor::Entries,
        };
        // The initial value of an output that shares positions is stored as the kernel says.
        let asked = files.get(&name).and_then(|copies| copies[k].layout.as_ref());
        let asked = asked.filter(|text| !text.starts_with("shares("));
        let layout = match (asked, &data) {
            (Some(text), _) => Arc::new(Layout::named_for_rank(text, rank)?),
            (None, Given::Stored(tensor)) if name != *output => tensor.layout().clone(),
            (None, _) => Arc::new(Layout::named_for_rank(&role.layout()?, rank)?),
        };
        if loaded.iter().any(|(other, _, _, own)| *other == name && own.same_as(&layout)) {
            return Err(in_one_layout(&name).note(format!("both are stored as `{}`", layout.name)));
        }
        loaded.push((name, k, data, layout));
    }
    let read = start.elapsed();
    let width = match options.index_width()? {
        Some(width) => width,
        None => {
            let wide = loaded
                .iter()
                .any(|(_, _, data, _)| index_width(data.dims(), data.stored()) == IndexWidth::U64);
            if wide { IndexWidth::U64 } else { IndexWidth::U32 }
        }
    };
    let mut tensors: IndexMap<Name, Tensor> = IndexMap::new();
    let mut copies = Vec::new();
    let (mut planning, mut packing) = (Duration::ZERO, Duration::ZERO);
    let mut validating = Duration::ZERO;
    for (name, k, data, layout) in loaded {
        let about = |e: Box<Diagnostic>| match files.get(&name) {
            Some(copies) => e.note(format!("for tensor `{name}` of `{}`", copies[k].name)),
            None => e.note(format!("for tensor `{name}`")),
        };
        let fill = match computed.get(&name) {
            Some(known) => known.fill,
            None => options.fill_of(&name, types.of(&name))?,
        };
        let packing_options = PackOptions { index_width: packed_width(Some(width)), fill };
        let packed = data.pack_timed(&layout, &packing_options, &mut planning, &mut packing);
        let mut packed = packed.map_err(about)?;
        let start = Instant::now();
        packed.validate().map_err(about)?;
        let time = start.elapsed();
        tracing::info!("checked {name} against its declaration in {}", shown::time(time));
        validating += time;
        if k == 0 {
            tensors.insert(name, packed);
            continue;
        }
        let own = &files[&name];
        if same_place(own, k).is_none() {
            let first = From { tensor: &tensors[&name], file: &own[0].name };
            let other = From { tensor: &packed, file: &own[k].name };
            let zero = Number::zero(types.of(&name));
            refuse_difference(&name, first, other, fill.unwrap_or(zero))?;
        }
        copies.push((name, packed));
    }
    let named = |name: &Name| match files.get(name) {
        Some(copies) => copies[0].name.clone(),
        None => "an earlier statement".to_string(),
    };
    let files = tensors.keys().map(|name| (name.clone(), named(name))).collect();
    Ok(Inputs {
        tensors,
        copies,
        files,
        extents,
        width,
        read,
        plan: planning,
        pack: packing,
        validate: validating,
    })
}

/// Which copy before number `k` is read from the same place; an archive of arrays is read as its layout says, and may
/// hold something else for another.
fn same_place(copies: &[FileArgument], k: usize) -> Option<usize> {
    let place = &copies[k].place;
    let by_layout = matches!(place, Place::File(path) if is_archive(path));
    copies[..k].iter().position(|other| other.place == *place && !by_layout)
}

/// The extents of a tensor that is made up: those of its indices, which other tensors or `--dims` give.
fn implied(
    program: &Program,
    name: &Name,
    others: &IndexMap<Name, Given>,
    stated: &StatedExtents,
) -> Result<Vec<usize>> {
    let mut known = stated.indices.clone();
    for access in program.accesses() {
        let dims = match others.get(&access.tensor) {
            Some(given) => given.dims(),
            None => match stated.tensors.get(&access.tensor) {
                Some(dims) => dims,
                None => continue,
            },
        };
        for (d, &extent) in dims.iter().enumerate().take(access.rank()) {
            if let Some(index) = access.plain(d) {
                known.entry(index.clone()).or_insert(extent);
            }
        }
    }
    let access = program.accesses().into_iter().find(|access| access.tensor == *name);
    let plain = access.iter().flat_map(|access| (0..access.rank()).map(|d| access.plain(d)));
    let dims: Option<Vec<usize>> =
        plain.map(|index| index.and_then(|index| known.get(index)).copied()).collect();
    dims.ok_or_else(|| {
        Diagnostic::new(Code::Shape, format!("the extents of `{name}` are not known"))
            .help(format!("state them: `--dims {name}=N,…`"))
    })
}

/// What a file gives.
#[derive(Clone, Debug)]
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
    pub fn pack(
        self,
        layout: &Arc<Layout>,
        width: Option<IndexWidth>,
        fill: Option<Number>,
    ) -> Result<Tensor> {
        let (mut planning, mut packing) = (Duration::ZERO, Duration::ZERO);
        let options = PackOptions { index_width: packed_width(width), fill };
        self.pack_timed(layout, &options, &mut planning, &mut packing)
    }

    /// As [`Given::pack`], with the time that it took to find out how, and to do it.
    fn pack_timed(
        self,
        layout: &Arc<Layout>,
        options: &PackOptions,
        planning: &mut Duration,
        packing: &mut Duration,
    ) -> Result<Tensor> {
        let mut start = Instant::now();
        let packed = match self {
            Given::Loaded(Loaded::Entries(entries)) => {
                let plan = Plan::of(layout)?;
                plan.steps().iter().for_each(|step| tracing::debug!("{}: {step}", layout.name));
                *planning += start.elapsed();
                start = Instant::now();
                let work = || plan.pack(layout, &entries, options);
                progress::during(&format!("packing {}", layout.name), work)?
            }
            Given::Loaded(data) => data.pack_with(layout, options)?,
            Given::Stored(tensor) if tensor.layout().same_as(layout) => return Ok(tensor),
            Given::Stored(tensor) => {
                let work = || packing::convert(&tensor, layout, options);
                progress::during(&format!("packing {}", layout.name), work)?
            }
        };
        let time = start.elapsed();
        *packing += time;
        tracing::info!("packed {} in {}", shown::shape(&packed), shown::time(time));
        Ok(packed)
    }
}

/// Reads a file or standard input, without unpacking what is packed.
pub fn given(
    file: &FileArgument,
    dims: Option<Vec<usize>>,
    value_type: Option<ValueType>,
    fill: Option<Number>,
) -> Result<Given> {
    let layout = file.layout.as_deref();
    let standard = match &file.place {
        Place::File(path) => return of_file(path, &file.name, layout, dims, value_type, fill),
        Place::Standard(extension) => Standard::input(extension.as_deref())?,
        Place::Generated(_) => {
            return Err(Diagnostic::defect("what is made up is not read"));
        }
    };
    of_file(standard.path(), "<stdin>", layout, dims, value_type, fill).map_err(|mut e| {
        // The name of the temporary file says nothing.
        let path = standard.path().display().to_string();
        let renamed = |text: &str| text.replace(&path, "<stdin>");
        e.message = renamed(&e.message);
        e.notes = e.notes.iter().map(|note| renamed(note)).collect();
        if let Some(source) = &mut e.source {
            source.name = renamed(&source.name);
        }
        e
    })
}

fn of_file(
    path: &Path,
    name: &str,
    layout: Option<&str>,
    dims: Option<Vec<usize>>,
    value_type: Option<ValueType>,
    fill: Option<Number>,
) -> Result<Given> {
    let stored = match is_archive(path) {
        true => match files::read_stored(path, fill)? {
            None => undeclared(path, layout)?,
            stored => stored,
        },
        false => None,
    };
    let stated = |tensor: &Tensor| dims.as_ref().is_none_or(|dims| dims == tensor.dims());
    let Some(mut tensor) = stored.filter(stated) else {
        return load(path, name, dims, value_type, fill).map(Given::Loaded);
    };
    let about = |e: Box<Diagnostic>| e.note(format!("in `{name}`"));
    tensor.validate().map_err(about)?;
    if let Some(value_type) = value_type.filter(|t| *t != tensor.value_type()) {
        let (params, arrays) = (tensor.params().clone(), tensor.arrays().clone());
        let values = tensor.values().convert(value_type).map_err(about)?;
        let dims = tensor.dims().to_vec();
        // What its format states is about the values that it had.
        let mut layout = Layout::clone(tensor.layout());
        (layout.fill, layout.value.constant) = (None, None);
        tensor = Tensor::new(Arc::new(layout), dims, &params, arrays, values)?;
        tensor.validate().map_err(about)?;
    }
    tracing::info!("read {name}: {}, as stored", shown::shape(&tensor));
    Ok(Given::Stored(tensor))
}

/// The tensor of an archive without a declaration that holds the arrays of the layout which is asked for.
fn undeclared(path: &Path, layout: Option<&str>) -> Result<Option<Tensor>> {
    let Some(layout) = layout.filter(|layout| !layout.starts_with("shares(")) else {
        return Ok(None);
    };
    let spec = LayoutSpec::parse(layout)?;
    let Some(rank) = spec.rank().filter(|_| holds_arrays(path).unwrap_or(false)) else {
        return Ok(None);
    };
    Tensor::read_arrays(&Arc::new(spec.instantiate(rank)?), path).map(Some)
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
    data.pack_with(layout, &PackOptions { index_width: packed_width(width), fill: None })
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
    name: &str,
    dims: Option<Vec<usize>>,
    value_type: Option<ValueType>,
    fill: Option<Number>,
) -> Result<Loaded> {
    let start = Instant::now();
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
            bar.set_message(format!("reading {name}"));
            bar
        });
        bar.set_position(done);
    };
    let options = ReadOptions { dims, value_type, fill, progress: Some(&progress) };
    let file = files::read(path, &options);
    if let Some(bar) = bar.borrow().as_ref() {
        bar.finish_and_clear();
    }
    let file = file?;
    for w in &file.warnings {
        warn(&format!("{name}: {w}"));
    }
    tracing::info!(
        "read {name}: {:?}, {} stored in {}",
        file.loaded.dims(),
        file.loaded.stored(),
        shown::time(start.elapsed())
    );
    Ok(file.loaded)
}
