//! The tensors of a statement: read, packed and validated.

use std::sync::Arc;
use std::time::{Duration, Instant};

use indexmap::IndexMap;
use siskin::code::IndexWidth;
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::formula::Name;
use siskin::kernel::{Planned, in_one_layout, index_width};
use siskin::layout::{DefaultFor, Layout};
use siskin::operators::Value as Number;
use siskin::packing::PackOptions;
use siskin::program::{Program, resolve};
use siskin::tensor::{FreedMemoryIsKept, Tensor};

use super::copies::{From, refuse_difference};
use super::given::{Given, is_archive, packed_width};
use super::options::{KernelOptions, StatedExtents};
use super::shown;
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

    /// What `--dims` states of a result says how far its indices go; no further than they go is it written.
    fn take_extents_of_results(&mut self, program: &Program) -> Result<()> {
        let stated = self.extents.tensors.iter();
        let is_result = |name: &Name| program.writes(name) && !self.tensors.contains_key(name);
        let stated: IndexMap<Name, Vec<usize>> = stated
            .filter(|(name, _)| is_result(name))
            .map(|(name, dims)| (name.clone(), dims.clone()))
            .collect();
        if stated.is_empty() {
            return Ok(());
        }
        let given: IndexMap<Name, Vec<usize>> =
            self.tensors.iter().map(|(name, t)| (name.clone(), t.dims().to_vec())).collect();
        let all = given.iter().chain(&stated).map(|(name, dims)| (name.clone(), dims.clone()));
        self.extents.indices = resolve(program, &all.collect(), &self.extents.indices)?.indices;
        let found = resolve(program, &given, &self.extents.indices)?;
        let shown = |dims: &[usize]| {
            let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
            dims.join(",")
        };
        for (name, dims) in &stated {
            let reached = &found.tensors[name];
            if reached != dims {
                let (reached, stated) = (shown(reached), shown(dims));
                let what = format!("`{name}` is stated as {stated}, and is {reached}");
                let mut written = program.assigns().into_iter().map(|a| &a.output);
                let span = written.find(|output| output.tensor == *name).map(|o| o.span.clone());
                return Err(Diagnostic::new(Code::Shape, what)
                    .at(span.unwrap_or_default(), "a result reaches as far as its subscripts do")
                    .within("<expression>", &program.text)
                    .help(format!("leave `--dims {name}={stated}` out")));
            }
        }
        Ok(())
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
    let mut inputs = some_inputs(program, arguments, options, computed)?;
    inputs.take_extents_of_results(program)?;
    Ok(inputs)
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
                let made = wish.make(&dims, value_type, (arguments.seed, name));
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
        // The initial value of an output that shares positions is stored as the kernel says.
        let asked = files.get(&name).and_then(|copies| copies[k].layout.as_ref());
        let asked = asked.filter(|text| !text.starts_with("shares("));
        let layout = match asked {
            Some(text) => {
                let layout = Layout::named_for_rank(text, rank);
                Arc::new(layout.map_err(|e| e.note(format!("it is the layout of `{name}`")))?)
            }
            None if name == *output => {
                Arc::new(Layout::named_for_rank(&DefaultFor::Output.layout()?, rank)?)
            }
            None => data.layout(rank)?,
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
            let wide = loaded.iter().any(|(_, _, data, layout)| {
                index_width(layout, data.dims(), data.stored()) == IndexWidth::U64
            });
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
