//! The sizes that costs stand on: known from data, or assumed.

use serde_json::{Value, json};
use siskin::formula::Name;
use siskin::kernel::Grounds;
use siskin::loops::Statement;
use siskin::scan::Nest;
use siskin::synth::{Sizes, Statistic};

use super::figures::number;

/// A size, and where it comes from.
struct Size {
    name: Name,
    value: f64,
    meaning: String,
    known: bool,
}

/// Extents, numbers of stored entries, and the lengths of segments that loops run over.
fn sizes(statement: &Statement, grounds: &Grounds) -> Vec<Size> {
    let (space, sizes) = (statement.space(), &grounds.sizes);
    let mut out: Vec<Size> = Vec::new();
    let mut size = |name: &Name, meaning: String| {
        if !out.iter().any(|size| size.name == *name) {
            let known = sizes.params.contains_key(name);
            out.push(Size { name: name.clone(), value: sizes.extent(name), meaning, known });
        }
    };
    for (index, name) in &space.extents {
        size(name, format!("the extent of {index}"));
    }
    for operand in &space.operands {
        for name in operand.params.keys() {
            size(name, format!("a size of {}", operand.tensor));
        }
    }
    let nests = (0..statement.finds().len()).map(|k| statement.nest_of(k));
    for (statistic, array) in nests.chain([statement.nest()]).flat_map(|n| of_arrays(n, sizes)) {
        if !out.iter().any(|size| size.name == array) {
            let (known, value, meaning) = match statistic {
                Statistic::Mean(_) => {
                    (&sizes.means, sizes.mean(&array), "what its elements are on average")
                }
                _ => (
                    &sizes.steps,
                    sizes.segment(&array),
                    "by which it rises on average: the length of a segment",
                ),
            };
            let known = known.contains_key(&array);
            out.push(Size { value, name: array, meaning: meaning.to_string(), known });
        }
    }
    out
}

/// What the lengths of loops say of index arrays.
fn of_arrays(nest: &Nest, sizes: &Sizes) -> Vec<(Statistic, Name)> {
    let mut out = Vec::new();
    for length in sizes.trips_of(nest).values() {
        for name in length.names() {
            if let Some(statistic @ (Statistic::Step(_) | Statistic::Mean(_))) =
                Statistic::named(name)
                && let Some(array) = statistic.of().cloned()
            {
                out.push((statistic, array));
            }
        }
    }
    out
}

fn source(size: &Size) -> &'static str {
    if size.known { "known" } else { "assumed" }
}

pub fn text(statement: &Statement, grounds: &Grounds) -> String {
    let all = sizes(statement, grounds);
    let width = all.iter().map(|size| size.name.len()).max().unwrap_or(0);
    let line = |size: &Size| {
        let (name, value) = (&*size.name, number(size.value));
        format!("  {name:width$}  {value:>10}  {:7}  {}\n", source(size), size.meaning)
    };
    all.iter().map(line).collect()
}

pub fn json(statement: &Statement, grounds: &Grounds) -> Value {
    let row = |size: &Size| {
        json!({
            "name": &*size.name,
            "value": size.value,
            "source": source(size),
            "meaning": size.meaning,
        })
    };
    sizes(statement, grounds).iter().map(row).collect()
}
