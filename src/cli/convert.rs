//! `siskin convert`: from one file format or layout to another.

use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use serde_json::json;
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::files::{self, Loaded};
use siskin::layout::{DefaultFor, Layout, LayoutSpec};
use siskin::tensor::{Tensor, Value, ValueType, Values};

use super::destination::Destination;
use super::generated::Generated;
use super::given::{self, Given};
use super::options::numbers_of;
use super::output::Output;
use super::tensor_argument::{FileArgument, Place};
use super::{progress, shown};

/// Convert a tensor file, through layouts if given; refuses to lose entries or precision
#[derive(Args)]
#[command(after_help = include_str!("examples/convert.txt"))]
pub struct Convert {
    /// The file to read, and the layout its entries must fit
    #[arg(value_name = "IN[:LAYOUT]")]
    input: String,
    /// The file to write, and the layout whose order and padding it gets
    #[arg(value_name = "OUT[:LAYOUT]")]
    output: String,
    /// Extents of the tensor, for files that do not hold them
    #[arg(long, value_name = "N,…")]
    dims: Option<String>,
    /// Convert the values; integers that have no such float, and floats that are no such integer, are refused
    #[arg(long = "type", value_name = "f64|f32|i64|i32|u8|bool")]
    value_type: Option<String>,
    /// Print one JSON object on stdout
    #[arg(long)]
    json: bool,
}

impl Convert {
    pub fn execute(&self) -> Output {
        let from = FileArgument::parse(&self.input)?;
        if let Place::File(path) = &from.place
            && !path.exists()
            && Generated::parse(&from.name).is_ok_and(|found| found.is_some())
        {
            return Err(Diagnostic::new(Code::Usage, format!("`{}` is no file", from.name))
                .help("tensors are made up for the statements of `run`, `bench` and `explain`"));
        }
        let to = Destination::parse(&self.output, None, self.json)?;
        let dims = match &self.dims {
            Some(text) => Some(numbers_of(text, 0, text)?),
            None => None,
        };
        let stated = stated(from.layout.as_deref(), to.layout.as_deref())?;
        let value_type = match self.value_type.as_deref() {
            Some(text) => Some(text.parse()?),
            None => stated.map(Value::value_type),
        };
        let own = match &from.place {
            Place::File(path) if given::is_archive(path) => files::fill_of(path)?,
            _ => None,
        };
        let is_zero = |fill: &Value| fill.same(Value::zero(fill.value_type()));
        let fill = own.or(stated.filter(|fill| !is_zero(fill)));
        let to_layout = match fill {
            None => to.layout.clone(),
            Some(fill) => Some(filled(&to, fill)?),
        };
        // As what they are: which of them `bool` would lose is not seen afterwards.
        let read_as = value_type.filter(|ty| *ty != ValueType::Bool);
        let mut given = given::given(&from, dims, read_as, fill)?;
        if value_type == Some(ValueType::Bool) {
            refuse_lost_numbers(given.values())?;
            given = given.into_type(ValueType::Bool)?;
        }
        if let Some(layout) = &from.layout {
            given = Given::Stored(packed(given, layout, fill)?);
        }
        if let Some(layout) = &to_layout {
            // What the first layout pads with is padding of the tensor from here on.
            let through = match (given, &from.layout) {
                (Given::Stored(tensor), Some(_)) => Given::Loaded(Loaded::of(tensor, fill)?),
                (given, _) => given,
            };
            given = Given::Stored(packed(through, layout, fill)?);
        }
        let (dims, stored, value_type) =
            (given.dims().to_vec(), given.stored(), given.value_type());
        let writing = format!("writing {}", to.name);
        let start = Instant::now();
        let (layout, what, holds) = match given {
            Given::Loaded(loaded) => {
                progress::during(&writing, || files::write(to.path(), &loaded))?;
                let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
                (None, format!("{}, {stored} stored", dims.join(" × ")), None)
            }
            Given::Stored(tensor) => {
                let (name, what) = (tensor.layout().name.clone(), shown::shape(&tensor));
                let write = || files::write_filled(to.path(), tensor, fill);
                let holds = progress::during(&writing, write)?.what;
                (Some(name), what, given::is_archive(to.path()).then_some(holds))
            }
        };
        tracing::info!("wrote {} in {}", to.name, shown::time(start.elapsed()));
        if self.json {
            return Ok(json!({
                "input": self.input,
                "output": to.name,
                "layout": layout,
                "dims": dims,
                "stored": stored,
                "type": value_type.as_str(),
                "holds": holds,
            })
            .to_string());
        }
        let holds = holds.map_or(String::new(), |holds| format!("; holds {holds}"));
        to.finish(format!("{}: {what}{holds}\n", to.name))
    }
}

/// Refuses values that are neither 0 nor 1, of which `bool` would keep only that they are not 0.
fn refuse_lost_numbers(values: &Values) -> Result<()> {
    let is_truth = |k: &usize| [0.0, 1.0].contains(&values.get_f64(*k));
    let Some(k) = (0..values.len()).find(|k| !is_truth(k)) else { return Ok(()) };
    let value = Value::element(values, k);
    let what =
        format!("value {value} (number {}) does not convert to bool: neither 0 nor 1", k + 1);
    Err(Diagnostic::new(Code::Data, what).help(
        "choose a type or layout with numbers; where a statement reads a tensor as bool, what is not 0 is true",
    ))
}

/// What is not stored, as the layouts of both sides state it.
fn stated(from: Option<&str>, to: Option<&str>) -> Result<Option<Value>> {
    let of = |layout: Option<&str>| -> Result<Option<Value>> {
        let spec = layout.map(LayoutSpec::parse).transpose()?;
        Ok(spec.and_then(|spec| spec.fill()).map(Value::from))
    };
    Ok(of(from)?.or(of(to)?))
}

/// The layout to write a tensor in that is `fill` where it stores nothing: archives say so, and arrays store
/// every element.
fn filled(to: &Destination, fill: Value) -> Result<String> {
    let (all, entries) = (DefaultFor::Array.layout()?, DefaultFor::Entries.layout()?);
    let is_array = to.path().extension().is_some_and(|e| e.eq_ignore_ascii_case("npy"));
    match &to.layout {
        None if is_array => Ok(all),
        Some(layout) if is_array && *layout == all => Ok(all),
        None if given::is_archive(to.path()) => Ok(entries),
        Some(layout) if given::is_archive(to.path()) => Ok(layout.clone()),
        _ => Err(Diagnostic::new(
            Code::Data,
            format!("`{}` cannot say that elements which are not stored are {fill}", to.name),
        )
        .help(format!("write an archive (`.npz`), or an array with every element (`.npy:{all}`)"))),
    }
}

/// The data in a layout; packing refuses entries that have no place in it.
fn packed(given: Given, layout: &str, fill: Option<Value>) -> Result<Tensor> {
    let spec = LayoutSpec::parse(layout)?;
    let rank = spec.rank().unwrap_or(given.dims().len());
    let found = given.dims().len();
    let given = given.with_rank(rank).map_err(|_| {
        Diagnostic::new(
            Code::Shape,
            format!("layout `{layout}` has rank {rank}, the tensor has rank {found}"),
        )
        .help("choose a layout of the tensor's rank; `siskin layouts` lists them")
    })?;
    let layout: Arc<Layout> = Arc::new(spec.instantiate(rank)?);
    given.pack(&layout, None, fill)
}
