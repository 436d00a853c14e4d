//! The schema of an operator's file. Unknown keys are errors; strings keep their places.
//!
//! ```text
//! name = "…"  summary = "…"  symbol = "…"
//! arguments = ["a", "b", "c: bool"]      result = "same" | "float" | "bool"
//! variadic  commutative  associative  idempotent = true
//! inverse = "…"     additive = ["a"]
//! parameters = 1    by = "…"
//! missing  nothing = "result" | "skipped" | "chosen" | "refused"
//! definition = "…" | { TYPES = "…" }
//! [rust]            TYPES = "…"
//! [[identity]]      value  arguments
//! [[annihilator]]   value  arguments  ieee
//! [[fill]]          argument  value  result
//! [[morphism]]      argument  of  to
//! [iteration]       region  fill
//! ```
//! TYPES is a type, or a group: `float`, `integer`, `signed`, `all`. The narrowest that has a type is
//! the type's.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::value::{Value, is_integer};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::layout::nearest;
use crate::tensor::ValueType;

/// A string and its place, quotes included.
pub(super) type Text = Spanned<String>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Declaration {
    pub name: Text,
    pub summary: String,
    pub symbol: Option<Text>,
    pub arguments: Option<Spanned<Vec<Text>>>,
    pub arity: Option<Spanned<i64>>,
    pub result: Option<Text>,
    pub variadic: Option<Spanned<bool>>,
    pub commutative: Option<Spanned<bool>>,
    pub associative: Option<Spanned<bool>>,
    pub idempotent: Option<Spanned<bool>>,
    pub inverse: Option<Text>,
    pub parameters: Option<Spanned<i64>>,
    pub missing: Option<Text>,
    pub nothing: Option<Text>,
    pub by: Option<Text>,
    pub additive: Option<Vec<Text>>,
    pub definition: Option<Spanned<OneOrTable>>,
    pub rust: Spanned<BTreeMap<Text, Text>>,
    #[serde(default)]
    pub identity: Vec<Spanned<Element>>,
    #[serde(default)]
    pub annihilator: Vec<Spanned<Element>>,
    #[serde(default)]
    pub fill: Vec<Spanned<Fill>>,
    #[serde(default)]
    pub morphism: Vec<Spanned<Through>>,
    pub iteration: Option<Spanned<Iteration>>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrTable {
    One(String),
    Table(BTreeMap<String, String>),
}

/// An identity or an annihilator.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Element {
    pub value: Spanned<toml::Value>,
    pub arguments: Option<Vec<Text>>,
    pub ieee: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fill {
    pub argument: Text,
    pub value: Spanned<toml::Value>,
    pub result: Spanned<toml::Value>,
    pub ieee: Option<bool>,
}

/// A morphism, of one operator to another.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Through {
    pub argument: Text,
    pub of: Text,
    pub to: Text,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Iteration {
    pub region: Text,
    pub fill: Spanned<toml::Value>,
}

/// A text and what diagnostics call it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Source {
    pub name: String,
    pub text: String,
}

impl Source {
    pub fn error(&self, message: impl Into<String>, at: Range<usize>) -> Box<Diagnostic> {
        Diagnostic::new(Code::Operator, message).at(at, "here").within(&self.name, &self.text)
    }

    /// An error about a part of a quoted text, as one about the file. Escapes and multi-line quotes
    /// make the place that of the whole text.
    pub fn lift(&self, text: &str, place: Range<usize>, e: Box<Diagnostic>) -> Box<Diagnostic> {
        let raw = self.text.get(place.clone()).unwrap_or_default();
        let quotes = if raw.starts_with("\"\"\"") || raw.starts_with("'''") { 3 } else { 1 };
        let skipped = quotes
            + usize::from(raw.get(quotes..).is_some_and(|r| quotes == 3 && r.starts_with('\n')));
        let direct = raw.get(skipped..).is_some_and(|r| r.starts_with(text));
        let mut e = e;
        let (inner, label) = e.span.take().unwrap_or((0..text.len(), "here".into()));
        let at = match direct {
            true => place.start + skipped + inner.start..place.start + skipped + inner.end,
            false => place,
        };
        e.at(at, label).within(&self.name, &self.text)
    }
}

impl Declaration {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Code::Operator`] with the place, if it breaks the schema.
    pub fn read(source: &Source) -> Result<Declaration> {
        toml::from_str(&source.text).map_err(|e| {
            let message = e.message().lines().next().unwrap_or("malformed file").to_string();
            let error = source.error(
                format!("operator file breaks the schema: {message}"),
                e.span().unwrap_or(0..0),
            );
            let near = misspelt(e.message());
            let near = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
            error.help(format!(
                "{near}`siskin operators NAME --toml` shows how a shipped operator is declared"
            ))
        })
    }
}

/// The key that was meant by one that does not exist.
fn misspelt(message: &str) -> Option<&str> {
    let (given, known) = message.split_once(", expected")?;
    let given = given.strip_prefix("unknown field `")?.strip_suffix('`')?;
    nearest(given, known.split('`').skip(1).step_by(2))
}

/// How narrow a key of TYPES is that has the type: 0 is the type itself. `None`: it has not.
pub(super) fn narrowness(key: &str, t: ValueType) -> Option<usize> {
    let signed = matches!(t, ValueType::I64 | ValueType::I32);
    match key {
        key if key == t.as_str() => Some(0),
        "signed" if signed => Some(1),
        "integer" if is_integer(t) => Some(2),
        "float" if t.is_float() => Some(2),
        "all" => Some(3),
        _ => None,
    }
}

/// Refuses keys that are no TYPES.
pub(super) fn check_types<'a>(
    source: &Source,
    keys: impl IntoIterator<Item = (&'a str, Range<usize>)>,
) -> Result<()> {
    const GROUPS: [&str; 4] = ["float", "integer", "signed", "all"];
    for (key, place) in keys {
        let types = ValueType::ALL.map(ValueType::as_str);
        if !GROUPS.contains(&key) && !types.contains(&key) {
            let near = nearest(key, GROUPS.into_iter().chain(types));
            let near = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
            return Err(source.error(format!("`{key}` is no type"), place).help(format!(
                "{near}the types are {}; groups of them {}",
                types.join(", "),
                GROUPS.join(", ")
            )));
        }
    }
    Ok(())
}

/// A number of a declaration: for each type its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Number(toml::Value);

impl Number {
    /// Checks the form; whether types have the value is known per type.
    pub fn new(source: &Source, value: &Spanned<toml::Value>) -> Result<Number> {
        let one = |v: &toml::Value| match v {
            toml::Value::Integer(_) | toml::Value::Float(_) | toml::Value::Boolean(_) => true,
            toml::Value::String(s) => s == "greatest" || s == "least",
            _ => false,
        };
        let fits = match value.get_ref() {
            toml::Value::Table(table) => {
                check_types(source, table.keys().map(|k| (k.as_str(), value.span())))?;
                !table.is_empty() && table.values().all(one)
            }
            other => one(other),
        };
        match fits {
            true => Ok(Number(value.get_ref().clone())),
            false => Err(source.error("this is no value of an operator", value.span()).help(
                "give a number, true, false, \"greatest\" or \"least\", or a table of them by type: \
                 { float = inf, integer = \"greatest\" }",
            )),
        }
    }

    /// What is said for a type; `None` if nothing is.
    pub fn said(&self, t: ValueType) -> Option<&toml::Value> {
        match &self.0 {
            toml::Value::Table(table) => table
                .iter()
                .filter_map(|(key, v)| Some((narrowness(key, t)?, v)))
                .min_by_key(|(n, _)| *n)
                .map(|(_, v)| v),
            other => Some(other),
        }
    }

    /// The value of the type; `None` if nothing is said, or the type does not have it.
    pub fn value(&self, t: ValueType) -> Option<Value> {
        match self.said(t)? {
            toml::Value::Integer(x) => Value::integer(*x, t),
            toml::Value::Float(x) => Value::float(*x, t),
            toml::Value::Boolean(x) => Some(Value::Bool(*x).cast(t)),
            toml::Value::String(s) if s == "greatest" => Some(Value::greatest(t)),
            toml::Value::String(_) => Some(Value::least(t)),
            _ => None,
        }
    }
}
