//! The sizes that costs stand on: known from data, or assumed.

use serde_json::{Value, json};
use siskin::formula::Name;
use siskin::kernel::Grounds;
use siskin::loops::Statement;
use siskin::scan::{Bind, Nest};

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
    for array in nests.chain([statement.nest()]).flat_map(bounding) {
        if !out.iter().any(|size| size.name == array) {
            let known = sizes.steps.contains_key(&array);
            let meaning = "by which it rises on average: the length of a segment".to_string();
            out.push(Size { value: sizes.segment(&array), name: array, meaning, known });
        }
    }
    out
}

/// The index arrays in the bounds of loops.
fn bounding(nest: &Nest) -> Vec<Name> {
    let mut out: Vec<Name> = Vec::new();
    for level in &nest.levels {
        if let Bind::Loop(range) = &level.bind {
            for bound in range.lower.iter().chain(&range.upper) {
                bound.visit_calls(&mut |call| {
                    if !out.contains(&call.array) {
                        out.push(call.array.clone());
                    }
                });
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
