//! What the file of a tensor gives, and what becomes of it in a layout.
//!
//! In: a place, and what is asked of it. Out: data to be packed, or a tensor as it is stored. A command that needs a
//! file more than once reads it once ([`ReadFiles`]): a program is translated by what it is given, and each of its
//! kernels packs it.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use siskin::code::IndexWidth;
use siskin::diagnostic::{Diagnostic, Result};
use siskin::files::{self, Loaded, ReadOptions, holds_arrays};
use siskin::layout::{DefaultFor, Layout, LayoutSpec};
use siskin::operators::Value as Number;
use siskin::packing::{self, PackOptions, Plan};
use siskin::tensor::{Tensor, ValueType, Values};

use super::output::warn;
use super::progress;
use super::shown;
use super::standard::Standard;
use super::tensor_argument::{FileArgument, Place};

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

    /// Its layout if none is asked for.
    ///
    /// # Errors
    /// Those of the layouts that ship.
    pub fn layout(&self, rank: usize) -> Result<Arc<Layout>> {
        let role = match self {
            Given::Stored(tensor) => return Ok(tensor.layout().clone()),
            Given::Loaded(Loaded::Entries(_)) => DefaultFor::Entries,
            Given::Loaded(Loaded::Dense(_)) => DefaultFor::Array,
        };
        Layout::named_for_rank(&role.layout()?, rank).map(Arc::new)
    }

    pub fn stored(&self) -> usize {
        match self {
            Given::Loaded(data) => data.stored(),
            Given::Stored(tensor) => tensor.stored(),
        }
    }

    pub fn values(&self) -> &Values {
        match self {
            Given::Loaded(data) => data.values(),
            Given::Stored(tensor) => tensor.values(),
        }
    }

    pub fn value_type(&self) -> ValueType {
        match self {
            Given::Loaded(data) => data.value_type(),
            Given::Stored(tensor) => tensor.value_type(),
        }
    }

    /// With values of another type.
    ///
    /// # Errors
    /// Those of [`Values::convert`].
    pub fn into_type(self, value_type: ValueType) -> Result<Given> {
        match self {
            Given::Loaded(data) => data.into_type(value_type).map(Given::Loaded),
            Given::Stored(tensor) => in_type(tensor, value_type).map(Given::Stored),
        }
    }

    /// With `rank` dimensions; see [`Loaded::into_rank`].
    pub fn with_rank(self, rank: usize) -> std::result::Result<Given, Box<Given>> {
        match self {
            Given::Loaded(data) => data
                .into_rank(rank)
                .map(Given::Loaded)
                .map_err(|data| Box::new(Given::Loaded(data))),
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
    pub fn pack_timed(
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

/// A tensor as it is stored, with values of another type.
fn in_type(tensor: Tensor, value_type: ValueType) -> Result<Tensor> {
    if value_type == tensor.value_type() {
        return Ok(tensor);
    }
    let (params, arrays) = (tensor.params().clone(), tensor.arrays().clone());
    let values = tensor.values().convert(value_type)?;
    let dims = tensor.dims().to_vec();
    // What its format states is about the values that it had.
    let mut layout = Layout::clone(tensor.layout());
    (layout.fill, layout.value.constant) = (None, None);
    let mut out = Tensor::new(Arc::new(layout), dims, &params, arrays, values)?;
    out.validate()?;
    Ok(out)
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
    if let Some(value_type) = value_type {
        tensor = in_type(tensor, value_type).map_err(about)?;
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

/// The data in a layout.
pub fn pack(layout: &Arc<Layout>, data: Loaded, width: Option<IndexWidth>) -> Result<Tensor> {
    data.pack_with(layout, &PackOptions { index_width: packed_width(width), fill: None })
}

pub fn packed_width(width: Option<IndexWidth>) -> packing::IndexWidth {
    match width {
        None => packing::IndexWidth::Auto,
        Some(IndexWidth::U32) => packing::IndexWidth::U32,
        Some(IndexWidth::U64) => packing::IndexWidth::U64,
    }
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

/// The files that were read; nothing is kept of them unless it was asked for. Clones share what they know.
#[derive(Clone, Debug, Default)]
pub struct ReadFiles(Rc<RefCell<Option<Vec<Known>>>>);

#[derive(Debug)]
struct Known {
    file: FileArgument,
    fill: Option<Number>,
    given: Given,
}

impl ReadFiles {
    /// Keeps what is read from now on.
    pub fn keep(&self) {
        self.0.borrow_mut().get_or_insert_default();
    }

    /// As [`given`].
    pub fn given(
        &self,
        file: &FileArgument,
        dims: Option<Vec<usize>>,
        value_type: Option<ValueType>,
        fill: Option<Number>,
    ) -> Result<Given> {
        let known = self.0.borrow().as_ref().and_then(|all| {
            let known = all.iter().find(|known| {
                known.is_of(file, fill)
                    && dims.as_ref().is_none_or(|dims| dims == known.given.dims())
                    && value_type.is_none_or(|ty| ty == known.given.value_type())
            });
            known.map(|known| known.given.clone())
        });
        if let Some(given) = known {
            return Ok(given);
        }
        let given = given(file, dims, value_type, fill)?;
        if let Some(all) = self.0.borrow_mut().as_mut() {
            all.push(Known { file: file.clone(), fill, given: given.clone() });
        }
        Ok(given)
    }
}

impl Known {
    /// Whether it was read from there in the same way: what an archive holds depends on more than its place.
    fn is_of(&self, file: &FileArgument, fill: Option<Number>) -> bool {
        let by_more = matches!(&file.place, Place::File(path) if is_archive(path));
        self.file.place == file.place
            && (!by_more || self.file.layout == file.layout && self.fill == fill)
    }
}
