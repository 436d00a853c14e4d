//! The schema of a declaration file (design §2). Unknown keys are errors; strings keep their
//! places.
//!
//! ```text
//! name = "…"  summary = "…"
//! dims = ["i", "j"] | "any"          whole tensor
//! relation = "{ … }"                 whole tensor or level
//! value = "val(p1)"  value_shape = ["NNZ"]
//! fill = "0.0"  constant = "true"     of the values: whole tensor or leaf
//! short_circuit = true                of loops that update it: they end early
//! levels = ["dense(i)", …]           instead of relation and value; without `dims`: a level
//! [index.NAME]  domain  range  args  shape  fill  base
//!               outer = true         an array of an outer level: no domain, shape or fill
//! [params]      NNZ = "pos(I)" | R = 4 | K = "count"
//! [[property]]  kind  array | arrays  segments  strict  direction  formula
//!               when  extends_order  (level)
//! size  parent  child  options  root_only    (level; with `value` it is a leaf)
//! ```

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use toml::Spanned;

use super::source::{Source, Text};
use super::suggest::nearest;
use crate::diagnostic::{Code, Diagnostic, Result};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Declaration {
    pub name: Text,
    /// Loops that update an element end when nothing can change it any more.
    pub short_circuit: Option<Spanned<bool>>,
    #[serde(default)]
    pub summary: String,
    pub dims: Option<Spanned<Dims>>,
    pub relation: Option<Text>,
    pub value: Option<Text>,
    pub value_shape: Option<Spanned<Vec<Text>>>,
    pub levels: Option<Spanned<Vec<Text>>>,
    /// What is not stored. A leaf without it takes it as its argument.
    pub fill: Option<Text>,
    /// What all stored values are, so that no array of them is needed.
    pub constant: Option<Text>,
    #[serde(default)]
    index: BTreeMap<Text, Index>,
    #[serde(default)]
    params: BTreeMap<Text, Spanned<Param>>,
    #[serde(default)]
    pub property: Vec<Spanned<PropertyEntry>>,
    /// Level: number of own positions, given the number of parent positions.
    pub size: Option<Text>,
    /// Level: the parent's tuple, with which the relation's positions begin; the first position
    /// alone unless given. The first name stands for all components that the others leave.
    pub parent: Option<Text>,
    /// Level: the position tuple handed to the child; the own positions unless given.
    pub child: Option<Text>,
    #[serde(default)]
    options: BTreeMap<Text, bool>,
    /// Level: its positions belong to one parent only, so it must come first.
    pub root_only: Option<Spanned<bool>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Index {
    pub domain: Option<Text>,
    pub range: Option<Text>,
    /// Level: the array of this name that the nearest outer level declares. A range narrows its
    /// range.
    #[serde(default)]
    pub outer: bool,
    /// Order of the arguments, when neither range nor domain shows it.
    pub args: Option<Vec<Text>>,
    pub shape: Option<Vec<Text>>,
    pub fill: Option<i64>,
    /// What 0 is written as in files of arrays: 1 for positions and coordinates counted from 1.
    pub base: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PropertyEntry {
    pub kind: Option<Text>,
    pub array: Option<Text>,
    pub arrays: Option<Vec<Text>>,
    pub segments: Option<Text>,
    #[serde(default)]
    pub strict: bool,
    pub direction: Option<Text>,
    pub formula: Option<Text>,
    /// Options under which a level has the property.
    pub when: Option<Spanned<Conditions>>,
    /// The array continues the parent level's order: both together are lexicographic.
    #[serde(default)]
    pub extends_order: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Param {
    /// A constant; the default of a positional argument.
    Integer(i64),
    /// An expression, or `count`.
    Expression(String),
}

#[derive(Debug)]
pub(super) enum Dims {
    Any,
    Names(Vec<Text>),
}

/// `"ordered and not unique"` or `["ordered", "not unique"]`.
#[derive(Debug)]
pub(super) struct Conditions(pub Vec<String>);

impl Declaration {
    /// Reads a declaration; an error of the TOML syntax or the schema has its place.
    pub fn read(source: &Source) -> Result<Declaration> {
        let mut declaration: Declaration = toml::from_str(&source.text).map_err(|e| {
            let message = e.message().lines().next().unwrap_or("malformed file").to_string();
            let mut out = Diagnostic::new(
                Code::LayoutSchema,
                format!("layout file breaks the schema: {message}"),
            );
            if let Some(span) = e.span() {
                out = out.at(span, message);
            }
            let help = "`siskin layouts NAME --toml` shows how a shipped layout is declared";
            let near = misspelt(e.message());
            let near = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
            out.within(&source.name, &source.text).help(format!("{near}{help}"))
        })?;
        // A leaf is where its parent is, unless it says otherwise.
        if declaration.is_leaf() && declaration.relation.is_none() && declaration.child.is_none() {
            let span = declaration.value.as_ref().map_or(0..0, Spanned::span);
            declaration.relation = Some(Spanned::new(span.clone(), "{ [u] -> [] }".to_string()));
            declaration.child = Some(Spanned::new(span, "[u]".to_string()));
        }
        Ok(declaration)
    }

    /// Index arrays in the order of the file (TOML tables are unordered).
    pub fn index(&self) -> Vec<(&Text, &Index)> {
        in_file_order(&self.index)
    }

    /// Whether that index array is one of an outer level.
    pub fn is_outer(&self, name: &str) -> bool {
        self.index.iter().any(|(key, index)| key.get_ref() == name && index.outer)
    }

    /// Parameters in the order of the file.
    pub fn params(&self) -> Vec<(&Text, &Spanned<Param>)> {
        in_file_order(&self.params)
    }

    /// Options in the order of the file.
    pub fn options(&self) -> Vec<(&Text, &bool)> {
        in_file_order(&self.options)
    }

    /// Whether it is the leaf of nested names: it has values, but no dimensions.
    pub fn is_leaf(&self) -> bool {
        self.value.is_some() && self.dims.is_none() && self.levels.is_none()
    }

    /// The first key that only the other form of a declaration may have, with its place.
    pub fn level_only_key(&self) -> Option<(&'static str, std::ops::Range<usize>)> {
        let place = |t: &Text| t.span();
        let keys = [
            ("size", self.size.as_ref().map(place)),
            ("parent", self.parent.as_ref().map(place)),
            ("child", self.child.as_ref().map(place)),
            ("options", self.options().first().map(|(k, _)| k.span())),
            ("root_only", self.root_only.as_ref().map(Spanned::span)),
        ];
        let outer = || {
            let (name, _) = self.index().into_iter().find(|(_, index)| index.outer)?;
            Some(("outer", name.span()))
        };
        keys.into_iter().find_map(|(key, place)| Some((key, place?))).or_else(outer)
    }

    pub fn tensor_only_key(&self) -> Option<(&'static str, std::ops::Range<usize>)> {
        let keys = [
            ("dims", self.dims.as_ref().map(Spanned::span)),
            ("value", self.value.as_ref().map(Spanned::span)),
            ("value_shape", self.value_shape.as_ref().map(Spanned::span)),
            ("levels", self.levels.as_ref().map(Spanned::span)),
        ];
        keys.into_iter().find_map(|(key, place)| Some((key, place?)))
    }
}

/// The key that was meant by one that does not exist: ``unknown field `x`, expected one of `y`, `z` ``.
fn misspelt(message: &str) -> Option<&str> {
    let (given, known) = message.split_once(", expected")?;
    let given = given.strip_prefix("unknown field `")?.strip_suffix('`')?;
    nearest(given, known.split('`').skip(1).step_by(2))
}

fn in_file_order<V>(map: &BTreeMap<Text, V>) -> Vec<(&Text, &V)> {
    let mut out: Vec<_> = map.iter().collect();
    out.sort_by_key(|(key, _)| key.span().start);
    out
}

impl<'de> Deserialize<'de> for Param {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ParamVisitor;
        impl Visitor<'_> for ParamVisitor {
            type Value = Param;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an integer, an expression in quotes, or \"count\"")
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Param, E> {
                Ok(Param::Integer(value))
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<Param, E> {
                Ok(Param::Expression(value.to_string()))
            }
        }
        deserializer.deserialize_any(ParamVisitor)
    }
}

impl<'de> Deserialize<'de> for Dims {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DimsVisitor;
        impl<'de> Visitor<'de> for DimsVisitor {
            type Value = Dims;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of names, or \"any\"")
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<Dims, E> {
                match value {
                    "any" => Ok(Dims::Any),
                    _ => Err(E::custom("`dims` is a list of names, or \"any\"")),
                }
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Dims, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = seq.next_element()? {
                    names.push(name);
                }
                Ok(Dims::Names(names))
            }
        }
        deserializer.deserialize_any(DimsVisitor)
    }
}

impl<'de> Deserialize<'de> for Conditions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ConditionsVisitor;
        impl<'de> Visitor<'de> for ConditionsVisitor {
            type Value = Conditions;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("option names, each possibly after `not`")
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<Conditions, E> {
                Ok(Conditions(value.split(" and ").map(|c| c.trim().to_string()).collect()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Conditions, A::Error> {
                let mut out = Vec::new();
                while let Some(condition) = seq.next_element::<String>()? {
                    out.push(condition.trim().to_string());
                }
                Ok(Conditions(out))
            }
        }
        deserializer.deserialize_any(ConditionsVisitor)
    }
}
