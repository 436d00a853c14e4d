//! What a program returns, as it is said: each result with its elements, tuples as lists, what is missing as
//! `null`.

use indexmap::IndexMap;
use serde_json::{Value, json};
use siskin::diagnostic::{Diagnostic, Result};
use siskin::formula::Name;
use siskin::operators::Value as Number;
use siskin::program::finch::Kind;
use siskin::tensor::{Tensor, Values};

use super::result::PRINTED_WHOLE;

/// What a program returns, the tensors that hold it, and what each of them holds.
pub type Results = (Name, Vec<Name>, Vec<Kind>);

/// Larger results are not printed element by element.
const MAX_PRINTED: usize = 10_000;

/// A result, `stored` elements of which are, with all of them if they are not too many: `values[i][j]` is element
/// `i, j`.
pub fn listed(name: &str, result: &Tensor, fill: Option<Number>, stored: usize) -> Result<Value> {
    let fill = fill.unwrap_or(Number::zero(result.value_type()));
    let mut out = json!({ "name": name, "dims": result.dims(), "stored": stored });
    let count = result.dims().iter().try_fold(1_usize, |n, &extent| n.checked_mul(extent));
    if count.is_some_and(|n| n <= MAX_PRINTED) {
        let array = result.dense_else(fill)?;
        out["values"] = nested(array.dims(), array.values(), &mut 0);
    }
    Ok(out)
}

/// What the program returns, of the tensors that hold it.
pub fn outputs(returned: &[Results], listed: &IndexMap<Name, Value>) -> Result<Vec<Value>> {
    let mut out = Vec::new();
    for (name, parts, kinds) in returned {
        out.push(joined(name, kinds, &found(parts, listed)?));
    }
    Ok(out)
}

/// The same in words, of those whose elements are no plain numbers.
pub fn texts(returned: &[Results], listed: &IndexMap<Name, Value>) -> Result<Vec<String>> {
    let mut out = Vec::new();
    for (name, parts, kinds) in returned {
        out.extend(in_words(name, kinds, &found(parts, listed)?));
    }
    Ok(out)
}

fn found(parts: &[Name], listed: &IndexMap<Name, Value>) -> Result<Vec<Value>> {
    let one = |own: &Name| {
        let found = listed.get(own).cloned();
        found.ok_or_else(|| Diagnostic::defect(format!("`{own}` is not computed")))
    };
    parts.iter().map(one).collect()
}

/// What is listed of the parts of a result, as one.
pub fn joined(name: &str, kinds: &[Kind], all: &[Value]) -> Value {
    let Some(first) = all.first() else { return Value::Null };
    let mut value = first.clone();
    value["name"] = json!(name);
    if let Some(values) = elements(kinds, all, &|_| Value::Null) {
        value["values"] = values;
    }
    value
}

/// The elements of a result in words, if some of them may be missing, or they are tuples.
pub fn in_words(name: &str, kinds: &[Kind], all: &[Value]) -> Option<String> {
    if kinds.len() < 2 {
        return None;
    }
    let values = elements(kinds, all, &|word| json!(word))?;
    let rank = all.first()?["dims"].as_array().map_or(0, Vec::len);
    let mut rows: Vec<Vec<String>> = Vec::new();
    words(&values, rank, &mut rows);
    let count = |word: &str| rows.iter().flatten().filter(|text| text.contains(word)).count();
    let mut counts = Vec::new();
    for word in ["missing", "nothing"] {
        if count(word) > 0 {
            counts.push(format!("{} {word}", count(word)));
        }
    }
    let shape: Vec<String> =
        all.first()?["dims"].as_array()?.iter().map(ToString::to_string).collect();
    if counts.is_empty() && kinds.iter().any(|kind| *kind != Kind::Number) {
        counts.push("all there".to_string());
    }
    let shape = if rank == 0 { "scalar".to_string() } else { shape.join(" x ") };
    let about: Vec<String> = [shape].into_iter().chain(counts).collect();
    let mut out = format!("{name}: {}\n", about.join(", "));
    if rows.iter().flatten().count() <= PRINTED_WHOLE {
        let width = rows.iter().flatten().map(String::len).max().unwrap_or(0);
        for row in rows {
            let row: Vec<String> = row.iter().map(|t| format!("{t:>width$}")).collect();
            out.push_str(&format!("  {}\n", row.join(" ")));
        }
    }
    Some(out)
}

/// The elements, a list for each row.
fn words(values: &Value, rank: usize, rows: &mut Vec<Vec<String>>) {
    fn word(v: &Value) -> String {
        match (v.as_str(), v.as_array()) {
            (Some(word), _) => word.to_string(),
            (None, Some(parts)) => {
                format!("({})", parts.iter().map(word).collect::<Vec<_>>().join(", "))
            }
            (None, None) => v.to_string(),
        }
    }
    match (rank, values.as_array()) {
        (2.., Some(all)) => all.iter().for_each(|v| words(v, rank - 1, rows)),
        (1, Some(all)) => rows.push(all.iter().map(word).collect()),
        _ => rows.push(vec![word(values)]),
    }
}

/// The elements of a result whose parts are listed, if all of these say theirs; `absent` is what stands for those that are not
/// there.
fn elements(kinds: &[Kind], all: &[Value], absent: &dyn Fn(&str) -> Value) -> Option<Value> {
    let rank = all.first()?["dims"].as_array()?.len();
    let values: Option<Vec<&Value>> = all.iter().map(|v| v.get("values")).collect();
    Some(zipped(kinds, &values?, rank, absent))
}

fn zipped(kinds: &[Kind], parts: &[&Value], rank: usize, absent: &dyn Fn(&str) -> Value) -> Value {
    if let (1.., Some(first)) = (rank, parts[0].as_array()) {
        let at = |k: usize| parts.iter().map(|part| &part[k]).collect::<Vec<_>>();
        return (0..first.len()).map(|k| zipped(kinds, &at(k), rank - 1, absent)).collect();
    }
    let mut out: Vec<Value> = Vec::new();
    for (kind, part) in kinds.iter().zip(parts) {
        let (word, there) = match kind {
            Kind::Number => {
                out.push((*part).clone());
                continue;
            }
            Kind::Missing { there } => ("missing", there),
            Kind::Nothing { there } => ("nothing", there),
        };
        if let (true, Some(last)) = (part.as_bool() != Some(*there), out.last_mut()) {
            *last = absent(word);
        }
    }
    match out.len() {
        1 => out.swap_remove(0),
        _ => Value::Array(out),
    }
}

fn nested(dims: &[usize], values: &Values, at: &mut usize) -> Value {
    let Some((first, rest)) = dims.split_first() else {
        *at += 1;
        return element(values, *at - 1);
    };
    (0..*first).map(|_| nested(rest, values, at)).collect()
}

fn element(values: &Values, k: usize) -> Value {
    let float = |x: f64| match x {
        _ if x.is_nan() => json!("NaN"),
        f64::INFINITY => json!("Inf"),
        f64::NEG_INFINITY => json!("-Inf"),
        x => json!(x),
    };
    match values {
        Values::F64(v) => float(v[k]),
        Values::F32(v) => float(f64::from(v[k])),
        Values::I64(v) => json!(v[k]),
        Values::I32(v) => json!(v[k]),
        Values::U8(v) => json!(v[k]),
        Values::Bool(v) => json!(v[k]),
    }
}
