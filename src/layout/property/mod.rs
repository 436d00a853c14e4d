//! Properties of index arrays: each kind is sugar for a closed formula.
//!
//! In: a [`Statement`] about arrays whose domains are known. Out: a [`Property`] with the formula,
//! its domain guards included. One file per kind; [`guard`] holds the guards they share.
//!
//! ```text
//! kind = "monotonic"  array = "pos"      pos declared for 0 <= p0 <= I
//! ```
//! becomes `0 <= p < q and q <= I => pos(p) <= pos(q)`.

mod disjoint;
mod formula;
mod guard;
mod injective;
mod lexicographic;
mod monotonic;
mod periodic_lexicographic;
mod periodic_monotonic;
mod permutation;
mod probing;
mod range;

use std::fmt;

use indexmap::IndexMap;

use self::guard::Subject;
use super::source::Origin;
use super::{IndexArray, Property, PropertyKind};
use crate::diagnostic::{Code, Result};
use crate::formula::{Formula, Name};

/// A property as declared.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub kind: PropertyKind,
    pub arrays: Vec<Name>,
    pub segments: Option<Name>,
    pub strict: bool,
    pub decreasing: bool,
    /// Only of the kind `formula`.
    pub formula: Option<Formula>,
    pub origin: Origin,
}

impl Statement {
    pub fn new(kind: PropertyKind, array: &Name, origin: &Origin) -> Self {
        Statement {
            kind,
            arrays: vec![array.clone()],
            segments: None,
            strict: false,
            decreasing: false,
            formula: None,
            origin: origin.clone(),
        }
    }
}

/// The closed formula of a statement. `is_size` tells names that are taken by extents and
/// parameters, which the bound variables avoid.
pub(super) fn close(
    statement: &Statement,
    arrays: &IndexMap<Name, IndexArray>,
    is_size: &dyn Fn(&Name) -> bool,
) -> Result<Property> {
    let subject = Subject {
        arrays: statement.arrays.iter().filter_map(|n| arrays.get(n)).collect(),
        segments: statement.segments.as_ref().and_then(|n| arrays.get(n)),
        strict: statement.strict,
        decreasing: statement.decreasing,
        is_size,
    };
    let formula = match statement.kind {
        PropertyKind::Range => range::formula(&subject),
        PropertyKind::Injective => injective::formula(&subject),
        PropertyKind::Monotonic => monotonic::formula(&subject),
        PropertyKind::PeriodicMonotonic => periodic_monotonic::formula(&subject),
        PropertyKind::Lexicographic => lexicographic::formula(&subject),
        PropertyKind::PeriodicLexicographic => periodic_lexicographic::formula(&subject),
        PropertyKind::Permutation => permutation::formula(&subject),
        PropertyKind::Disjoint => disjoint::formula(&subject),
        PropertyKind::Probing => probing::formula(&subject),
        PropertyKind::Formula => formula::formula(&subject, statement.formula.as_ref()),
    }
    .map_err(|why| {
        let kind = statement.kind;
        statement
            .origin
            .error(Code::LayoutSchema, format!("a {kind} property {why}"), "this property")
            .help(kind.usage())
    })?;
    Ok(Property {
        kind: statement.kind,
        arrays: statement.arrays.clone(),
        segments: statement.segments.clone(),
        strict: statement.strict,
        decreasing: statement.decreasing,
        formula,
    })
}

/// The index arrays a formula calls, in order of occurrence.
pub(super) fn arrays_of(formula: &Formula) -> Vec<Name> {
    let mut out = Vec::new();
    formula.visit_calls(&mut |call| {
        if !out.contains(&call.array) {
            out.push(call.array.clone());
        }
    });
    out
}

impl PropertyKind {
    /// Every kind.
    pub const ALL: [PropertyKind; 10] = [
        PropertyKind::Range,
        PropertyKind::Injective,
        PropertyKind::Monotonic,
        PropertyKind::PeriodicMonotonic,
        PropertyKind::Lexicographic,
        PropertyKind::PeriodicLexicographic,
        PropertyKind::Permutation,
        PropertyKind::Disjoint,
        PropertyKind::Probing,
        PropertyKind::Formula,
    ];

    /// The spelling in declarations.
    pub fn as_str(self) -> &'static str {
        match self {
            PropertyKind::Range => "range",
            PropertyKind::Injective => "injective",
            PropertyKind::Monotonic => "monotonic",
            PropertyKind::PeriodicMonotonic => "periodic-monotonic",
            PropertyKind::Lexicographic => "lexicographic",
            PropertyKind::PeriodicLexicographic => "periodic-lexicographic",
            PropertyKind::Permutation => "permutation",
            PropertyKind::Disjoint => "disjoint",
            PropertyKind::Probing => "probing",
            PropertyKind::Formula => "formula",
        }
    }

    /// The kind of that spelling.
    pub fn named(text: &str) -> Option<PropertyKind> {
        PropertyKind::ALL.into_iter().find(|k| k.as_str() == text)
    }

    fn usage(self) -> &'static str {
        match self {
            PropertyKind::Range => "give `array`, and `range` in its [index] table",
            PropertyKind::Injective => {
                "give `array`, and `segments` if it holds inside segments only"
            }
            PropertyKind::Monotonic | PropertyKind::Permutation => "give `array = \"…\"`",
            PropertyKind::Probing => {
                "give `array = \"…\"`, whose last argument is the slot and whose range has -1"
            }
            PropertyKind::PeriodicMonotonic => "give `array = \"…\"` and `segments = \"…\"`",
            PropertyKind::Lexicographic => "give `arrays = [\"…\", …]`, the most significant first",
            PropertyKind::PeriodicLexicographic => {
                "give `arrays = [\"…\", …]` and `segments = \"…\"`"
            }
            PropertyKind::Disjoint => "give `arrays = [\"left\", \"right\"]`",
            PropertyKind::Formula => "give `formula = \"…\"`",
        }
    }
}

impl fmt::Display for PropertyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
