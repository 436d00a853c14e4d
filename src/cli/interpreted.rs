//! Programs that no kernel is made from: the dense interpreter runs them.
//!
//! In: the tree of a program, why it is not compiled, and what it is given. Out: what `run` says of results, and
//! that they are the interpreter's. It visits every iteration, and holds every tensor densely.

use std::sync::Arc;
use std::time::Instant;

use indexmap::IndexMap;
use serde_json::{Value, json};
use siskin::diagnostic::{Diagnostic, Result};
use siskin::formula::Name;
use siskin::kernel::is_written_in_place;
use siskin::layout::{DefaultFor, Layout};
use siskin::operators::Value as Number;
use siskin::packing::{self, PackOptions};
use siskin::program::finch::{Returned, Tree};
use siskin::program::{Dense, Elements};
use siskin::tensor::{DenseArray, Entries, IndexData, Tensor, ValueType};

use super::given::Given;
use super::listed;
use super::options::KernelOptions;
use super::output::{self, Output};
use super::program::file;
use super::result::{Summary, Target, whole};
use super::shown::time;
use super::tensor_argument::{FileArgument, Place};
use super::tensors::TensorOptions;

/// What is asked of a program.
pub struct Asked<'a> {
    pub tree: &'a Tree,
    pub tensors: &'a TensorOptions,
    pub options: &'a KernelOptions,
    /// `-o`
    pub output: &'a [String],
}

/// A result, and what is said of it.
struct Done {
    listed: Value,
    output: Value,
    text: String,
}

impl Asked<'_> {
    /// Runs the program; `why` is why no kernel does.
    pub fn run(&self, why: &Diagnostic) -> Output {
        let targets = self.targets()?;
        let start = Instant::now();
        let mut given = IndexMap::new();
        let mut stored = Elements::new();
        for (own, host) in &self.tree.given {
            if !given.contains_key(host) {
                let (dense, elements) = self.given(own, host)?;
                given.insert(host.clone(), dense);
                stored.extend(elements.map(|elements| (host.clone(), elements)));
            }
        }
        let read = start.elapsed();
        let start = Instant::now();
        let results = self.tree.interpret_stored(&given, &stored, &self.sparse_results()?)?;
        let ran = start.elapsed();
        let mut done: Vec<Done> = Vec::new();
        let mut finished = None;
        for returned in &self.tree.returned {
            let (one, said) = self.result(returned, &results[&returned.name], &targets)?;
            finished = finished.or(said);
            done.push(one);
        }
        let said = match self.options.json {
            true => {
                let mut said = json!({
                    "kernel": "",
                    "interpreted": why.message,
                    "finds": [],
                    "parallel": false,
                    "seconds": {
                        "read": read.as_secs_f64(),
                        "generate": 0.0,
                        "rustc": 0.0,
                        "kernel": ran.as_secs_f64(),
                    },
                    "cached": false,
                    "outputs": done.iter().map(|one| one.listed.clone()).collect::<Vec<_>>(),
                });
                said["output"] = done.last().map_or(Value::Null, |one| one.output.clone());
                said.to_string()
            }
            false => {
                output::hint(&format!("the dense interpreter runs this program: {}", why.message));
                let results: String = done.iter().map(|one| one.text.as_str()).collect();
                let (read, ran) = (time(read), time(ran));
                format!("{}\ntime\n  read {read}, interpret {ran}\n{results}", self.tree.name)
            }
        };
        match finished {
            Some(target) => target.destination.finish(said),
            None => Ok(said),
        }
    }

    /// The files of `-o`, by result; refused before any work is done.
    fn targets(&self) -> Result<IndexMap<Name, Target>> {
        let mut out = IndexMap::new();
        for text in self.output {
            let named = text.split_once('=').map(|(name, rest)| (name.trim(), rest.trim()));
            let of = |name: &str| self.tree.returned.iter().find(|r| *r.name == *name);
            let (returned, rest) = match named.and_then(|(name, rest)| Some((of(name)?, rest))) {
                Some(found) => found,
                None => match self.tree.returned.last() {
                    Some(last) => (last, text.as_str()),
                    None => continue,
                },
            };
            let rank = returned.dims.len();
            out.insert(returned.name.clone(), Target::parse(rest, rank, self.options.json)?);
        }
        Ok(out)
    }

    /// The results that need not store all of their elements.
    fn sparse_results(&self) -> Result<Vec<Name>> {
        let mut out = Vec::new();
        for returned in &self.tree.returned {
            let Some(layout) = self.tensors.format(&returned.name)? else { continue };
            if !is_written_in_place(&Layout::named_for_rank(layout, returned.dims.len())?) {
                out.push(returned.name.clone());
            }
        }
        Ok(out)
    }

    /// What the host gives, as all its elements, and which are stored, if not all are.
    fn given(&self, own: &Name, host: &Name) -> Result<(Dense, Option<Vec<bool>>)> {
        let ty = self.tree.types.of(own);
        let dims = &self.tree.extents.tensors[own];
        let fill = self.options.fill_of(host, ty)?;
        let Some(file) = file(host, self.tensors)? else {
            return Err(Diagnostic::new(
                siskin::diagnostic::Code::Shape,
                format!("tensor `{host}` is not given"),
            )
            .help(format!("pass its file: `-t {host}=FILE[:LAYOUT]`")));
        };
        let found = match &file.place {
            Place::Generated(wish) => {
                Given::Loaded(wish.make(dims, ty, (self.tensors.seed, host))?)
            }
            _ => self.tensors.read.given(&file, Some(dims.clone()), Some(ty), fill)?,
        };
        let found = found.with_rank(dims.len());
        let found = found.map_err(|_| Diagnostic::defect("a tensor has changed its rank"))?;
        let packed = found.pack(&self.layout(host, &file, dims.len())?, None, fill)?;
        let nothing = fill.unwrap_or(Number::zero(ty));
        let array = packed.dense_else(nothing)?.into_type(ty)?;
        let dense = Dense { dims: array.dims().to_vec(), values: array.into_values() };
        if is_written_in_place(packed.layout()) {
            return Ok((dense, None));
        }
        let mut stored = vec![false; dense.values.len()];
        let entries = packed.entries_else(nothing)?;
        for k in 0..entries.len() {
            let at = entries.point(k).iter().zip(&dense.dims).fold(0, |at, (c, n)| at * n + c);
            stored[at] = true;
        }
        Ok((dense, Some(stored)))
    }

    /// The layout that is asked for is that of the data, too: they must fit it.
    fn layout(&self, host: &Name, file: &FileArgument, rank: usize) -> Result<Arc<Layout>> {
        let asked = file.layout.as_deref().or(self.tensors.format(host)?);
        let default = DefaultFor::Array.layout()?;
        Layout::named_for_rank(asked.unwrap_or(&default), rank).map(Arc::new)
    }

    fn result<'t>(
        &self,
        returned: &Returned,
        parts: &[(Dense, Option<Vec<bool>>)],
        targets: &'t IndexMap<Name, Target>,
    ) -> Result<(Done, Option<&'t Target>)> {
        let name = &returned.name;
        let mut all = Vec::new();
        let (mut output, mut text) = (Value::Null, String::new());
        let mut finished = None;
        for (k, (part, stored)) in parts.iter().enumerate() {
            let ty = part.values.value_type();
            let begins = returned.fill.as_ref().and_then(|fills| fills.get(k)?.value(ty));
            let fill = begins.filter(|fill| !fill.same(Number::zero(ty)));
            let mut result = dense(part, ty)?;
            let options = PackOptions { fill, ..PackOptions::default() };
            if let Some(layout) = self.tensors.format(name)? {
                let layout = Arc::new(Layout::named_for_rank(layout, part.dims.len())?);
                result = match stored {
                    Some(stored) => packing::pack(&layout, &entries(part, stored, ty)?, &options)?,
                    None => packing::convert(&result, &layout, &options)?,
                };
            }
            let target = targets.get(name).filter(|_| parts.len() == 1);
            if let Some(target) = target {
                result = target.convert(result, fill)?;
                finished = target.destination.is_standard().then_some(target);
            }
            let about = Summary::of(&result, fill, true)?;
            all.push(listed::listed(name, &result, fill, about.stored)?);
            let file = target.map(|target| target.destination.name.clone());
            output = about.json(name, file.as_deref());
            let shown = match &file {
                Some(file) => format!("written to {file}\n"),
                None => whole(&result, fill)?,
            };
            text.push_str(&about.text(name, &shown));
            if let Some(target) = target {
                target.write(result, fill)?;
            }
        }
        if let Some(words) = listed::in_words(name, &returned.kinds, &all) {
            text = words;
        }
        Ok((Done { listed: listed::joined(name, &returned.kinds, &all), output, text }, finished))
    }
}

/// The elements that are stored.
fn entries(part: &Dense, stored: &[bool], ty: ValueType) -> Result<Entries> {
    let places: Vec<usize> = (0..stored.len()).filter(|k| stored[*k]).collect();
    let mut inner = 1usize;
    let mut coords = Vec::new();
    for &n in part.dims.iter().rev() {
        coords.push(IndexData::U64(places.iter().map(|at| (at / inner % n) as u64).collect()));
        inner *= n;
    }
    coords.reverse();
    Entries::new(part.dims.clone(), coords, part.values.gather(&places))?.into_type(ty)
}

/// All elements as a tensor.
fn dense(part: &Dense, ty: ValueType) -> Result<Tensor> {
    let layout = DefaultFor::Array.layout()?;
    let layout = Arc::new(Layout::named_for_rank(&layout, part.dims.len())?);
    let array = DenseArray::new(part.dims.clone(), part.values.clone())?.into_type(ty)?;
    siskin::files::Loaded::Dense(array).pack_with(&layout, &PackOptions::default())
}
