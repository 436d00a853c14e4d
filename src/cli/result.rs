//! A result: where it goes, and what is said of it.

use std::sync::Arc;

use serde_json::{Value, json};
use siskin::check::has_one_coordinate;
use siskin::diagnostic::Result;
use siskin::files::{self, Loaded};
use siskin::layout::Layout;
use siskin::operators::Value as Number;
use siskin::packing::{self, Appending, PackOptions};
use siskin::tensor::{Tensor, Values};

use super::destination::Destination;
use super::shown::shape_storing;

/// Results with at most so many elements are printed whole.
pub const PRINTED_WHOLE: usize = 20;

/// Where the result goes.
pub struct Target {
    pub destination: Destination,
    pub layout: OutputLayout,
}

pub enum OutputLayout {
    /// The kernel's own.
    Default,
    /// The result is converted.
    Asked(Arc<Layout>),
    /// `shares(A)`: the kernel writes at the positions of an input.
    Shared(String),
}

/// The name of `-o NAME=FILE` if it is that of no result.
pub fn other_result(text: &str, is_result: impl Fn(&str) -> bool) -> Option<&str> {
    let (name, _) = of_result(text)?;
    (!is_result(name)).then_some(name)
}

/// `NAME=REST`, where what comes first is a name.
pub fn of_result(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once('=')?;
    let (name, rest) = (name.trim(), rest.trim());
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then_some((name, rest))
}

impl Target {
    pub fn parse(text: &str, rank: usize, json: bool) -> Result<Target> {
        let destination = Destination::parse(text, Some(rank), json)?;
        let layout = match &destination.layout {
            None => OutputLayout::Default,
            Some(layout) if layout.starts_with("shares(") => OutputLayout::Shared(layout.clone()),
            Some(layout) => OutputLayout::Asked(Arc::new(Layout::named_for_rank(layout, rank)?)),
        };
        Ok(Target { destination, layout })
    }

    /// Whether the file lists every element.
    pub fn is_dense(&self) -> bool {
        let name = self.destination.name.trim_end_matches(".gz");
        name.ends_with(".npy")
    }

    /// An archive holds the layout that was asked for; a result without one is entries, or all elements.
    /// True if the file says what it does not store.
    pub fn write(&self, result: Tensor, fill: Option<Number>) -> Result<bool> {
        let path = self.destination.path();
        match self.layout {
            OutputLayout::Default if fill.is_none() => {
                files::write(path, &Loaded::of(result, fill)?).map(|()| false)
            }
            _ => files::write_filled(path, result, fill).map(|wrote| wrote.says_fill),
        }
    }

    /// The result in the target's layout.
    pub fn convert(&self, result: Tensor, fill: Option<Number>) -> Result<Tensor> {
        match &self.layout {
            OutputLayout::Asked(layout) if layout != result.layout() => {
                packing::convert(&result, layout, &PackOptions { fill, ..PackOptions::default() })
            }
            _ => Ok(result),
        }
    }
}

/// What is said of a result.
pub struct Summary {
    shape: String,
    layout: String,
    dims: Vec<usize>,
    /// What elements are that are not stored, unless it is zero.
    fill: Option<Number>,
    pub stored: usize,
    /// How many elements are not zero, their sum and norm, of those that are stored: a run counts as often as it is
    /// long. Of very many, these are not computed.
    elements: Option<(usize, f64, f64)>,
}

/// If values stand for several elements, sums are of at most so many.
const MOST_SUMMED: usize = 1 << 24;

/// So many values are read one by one in less time than it takes to find out that this is not needed.
const FEW: usize = 1 << 16;

impl Summary {
    /// `packed`: nobody else chose the index arrays.
    pub fn of(t: &Tensor, fill: Option<Number>, packed: bool) -> Result<Summary> {
        // Each value is an entry of its own.
        let listed = packed && t.stored() > FEW && Appending::of(t.layout()).is_some();
        let n = t.dims().iter().try_fold(1usize, |n, &extent| n.checked_mul(extent));
        // What there is room for, and is no element, is not zero if the fill is not.
        let nothing = fill.unwrap_or(Number::zero(t.value_type()));
        let elements = match has_one_coordinate(t.layout()) && (listed || fill.is_none()) {
            true => Some(sums_of(t.values())),
            false if n.is_some_and(|n| n <= MOST_SUMMED) => {
                Some(sums_of(t.entries_else(nothing)?.values()))
            }
            false => None,
        };
        let stored = if listed { t.stored() } else { stored(t, nothing)? };
        Ok(Summary {
            shape: shape_storing(t, stored),
            layout: t.layout().name.clone(),
            dims: t.dims().to_vec(),
            fill,
            stored,
            elements: elements.map(|(nonzero, sum, squares)| (nonzero, sum, squares.sqrt())),
        })
    }

    pub fn json(&self, name: &str, file: Option<&str>) -> Value {
        json!({
            "name": name,
            "layout": self.layout,
            "dims": self.dims,
            "stored": self.stored,
            "fill": self.fill.map_or("0".to_string(), |fill| fill.to_string()),
            "nonzero": self.elements.map(|(nonzero, ..)| nonzero),
            "sum": self.elements.map(|(_, sum, _)| sum),
            "norm": self.elements.map(|(.., norm)| norm),
            "file": file,
        })
    }

    /// A line, and the elements or where they are.
    pub fn text(&self, name: &str, shown: &str) -> String {
        let fill = self.fill.map_or(String::new(), |fill| format!(", else {fill}"));
        let sums = self.elements.map_or(String::new(), |(nonzero, sum, norm)| {
            format!(", {nonzero} nonzero, sum {sum}, norm {norm}")
        });
        format!("{name}: {}{fill}{sums}\n{shown}", self.shape)
    }
}

/// How many elements a result stores that is `fill` elsewhere; some layouts have room for others, too.
fn stored(result: &Tensor, fill: Number) -> Result<usize> {
    let layout = result.layout();
    match !layout.arrays.is_empty() && has_one_coordinate(layout) {
        true => Ok(result.entries_else(fill)?.len()),
        false => Ok(result.stored()),
    }
}

fn sums_of(values: &Values) -> (usize, f64, f64) {
    match values {
        Values::F64(v) => sums(v, |x| x),
        Values::F32(v) => sums(v, f64::from),
        Values::I64(v) => sums(v, |x| x as f64),
        Values::I32(v) => sums(v, f64::from),
        Values::U8(v) => sums(v, f64::from),
        Values::Bool(v) => sums(v, f64::from),
    }
}

/// How many values are not zero, their sum, and the sum of their squares.
fn sums<T: Copy>(values: &[T], number: impl Fn(T) -> f64) -> (usize, f64, f64) {
    values.iter().map(|&x| number(x)).fold((0, 0.0, 0.0), |(nonzero, sum, squares), x| {
        (nonzero + usize::from(x != 0.0), sum + x, squares + x * x)
    })
}

/// The elements of a small tensor, a line for each row. Nothing of a large one is looked at.
pub fn whole(t: &Tensor, fill: Option<Number>) -> Result<String> {
    let n = t.dims().iter().try_fold(1usize, |n, &extent| n.checked_mul(extent));
    if !n.is_some_and(|n| (1..=PRINTED_WHOLE).contains(&n)) {
        return Ok(String::new());
    }
    let array = t.dense_else(fill.unwrap_or(Number::zero(t.value_type())))?;
    let row = array.dims().last().copied().unwrap_or(1).max(1);
    let texts: Vec<String> =
        (0..array.values().len()).map(|k| element(array.values(), k)).collect();
    let width = texts.iter().map(String::len).max().unwrap_or(0);
    let mut out = String::new();
    for line in texts.chunks(row) {
        let line: Vec<String> = line.iter().map(|t| format!("{t:>width$}")).collect();
        out.push_str(&format!("  {}\n", line.join(" ")));
    }
    Ok(out)
}

fn element(values: &Values, k: usize) -> String {
    match values {
        Values::F64(v) => format!("{:?}", v[k]),
        Values::F32(v) => format!("{:?}", v[k]),
        Values::I64(v) => v[k].to_string(),
        Values::I32(v) => v[k].to_string(),
        Values::U8(v) => v[k].to_string(),
        Values::Bool(v) => v[k].to_string(),
    }
}
