//! The packing plan of a layout: one part, or several that have index arrays of their own.
//!
//! ```text
//! { [p0, p1] -> [i, j] : p0 = i and i = j and p1 = 0 ; … pos(p0) <= p1 < pos(p0 + 1) and j = crd(p1) … }
//! ```
//! has two: the diagonal is packed by itself, and so are the rows. They share the value array only.

use std::fmt;

use indexmap::IndexSet;

use super::part::Part;
use crate::check::{refuse_unsound, values_apart};
use crate::diagnostic::Result;
use crate::formula::{Arith, Constraint, Name};
use crate::layout::Layout;
use crate::layout::memory::Memory;

/// How to pack entries into a layout, derived from its declaration by [`Plan::of`].
#[derive(Clone, Debug)]
pub struct Plan {
    name: String,
    value: Arith,
    pub(super) parts: Vec<Part>,
    /// Several pieces share arrays, or a position has several coordinates: what is stored must be
    /// compared with what was given.
    pub(super) verify: bool,
    /// It is not proved that a piece has one coordinate for a value.
    shares_values: bool,
}

static PLANS: Memory<Result<Plan>> = Memory::new();

impl Plan {
    /// Derives the packing plan of a layout from its relation and properties. Remembered.
    ///
    /// # Errors
    /// `Code::NotPackable` if an index array is neither a count, nor a coordinate, nor otherwise
    /// determined by the coordinates; the message names it. `Code::Contradiction` if the declared
    /// properties contradict each other, `Code::OutOfDomain` if an index array may be read outside its
    /// domain.
    pub fn of(layout: &Layout) -> Result<Plan> {
        PLANS.answer(layout, || {
            refuse_unsound(layout)?;
            Plan::derive(layout)
        })
    }

    fn derive(layout: &Layout) -> Result<Plan> {
        let mut parts: Vec<Part> = Vec::new();
        let mut uncounted = Vec::new();
        for layout in parts_of(layout) {
            let mut part = Part::derive(layout)?;
            // What an earlier part counts is known to later ones.
            part.counts.retain(|name, _| !parts.iter().any(|p| p.counts.contains_key(name)));
            uncounted.append(&mut part.uncounted);
            parts.push(part);
        }
        let is_counted = |name: &Name| parts.iter().any(|part| part.counts.contains_key(name));
        if let Some((_, refusal)) = uncounted.into_iter().find(|(name, _)| !is_counted(name)) {
            return Err(refusal);
        }
        let shared = parts.iter().any(|part| part.pieces.len() > 1);
        let apart = values_apart(layout);
        let shares_values = !apart.within_pieces;
        let verify = shared
            || !(apart.within_pieces && apart.between_pieces)
            || !parts.iter().all(|part| part.single_valued);
        Ok(Plan {
            name: layout.name.clone(),
            value: Arith::Call(layout.value.name.clone(), layout.value.index.clone()),
            parts,
            verify,
            shares_values,
        })
    }

    /// Whether values may be stored where no entry is: blocks, padding, dense dimensions.
    pub fn fills(&self) -> bool {
        self.parts.iter().any(Part::fills)
    }

    /// Whether one value serves several coordinates, whose entries must be equal.
    pub(super) fn has_equal_values(&self) -> bool {
        self.shares_values || self.parts.iter().any(Part::has_equal_values)
    }

    /// What the relation asks beyond what packing keeps by itself.
    pub fn open_conditions(&self) -> impl Iterator<Item = &Constraint> {
        self.parts.iter().flat_map(Part::open_conditions)
    }

    /// What is done, one statement each: `sort by (i, j)`, `pos(p0) = prefix count of p1`, …
    pub fn steps(&self) -> Vec<String> {
        let mut steps: Vec<String> = self.parts.iter().flat_map(Part::steps).collect();
        steps.push(self.value.to_string());
        steps
    }
}

/// One line: what the entries are sorted by, then every position, array and value.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pack {}: {}", self.name, self.steps().join("; "))
    }
}

/// The pieces of a relation, those together that read the same index arrays.
fn parts_of(layout: &Layout) -> Vec<Layout> {
    let mut parts: Vec<(IndexSet<Name>, Vec<Vec<Constraint>>)> = Vec::new();
    for piece in &layout.relation.pieces {
        let mut arrays: IndexSet<Name> = IndexSet::new();
        for c in piece {
            c.visit_calls(&mut |call| {
                arrays.insert(call.array.clone());
            });
        }
        let mut pieces = vec![piece.clone()];
        let alike = |other: &IndexSet<Name>| {
            arrays.is_empty() && other.is_empty() || !arrays.is_disjoint(other)
        };
        let (together, apart): (Vec<_>, Vec<_>) = parts.into_iter().partition(|(a, _)| alike(a));
        parts = apart;
        for (others, earlier) in together.into_iter().rev() {
            arrays.extend(others);
            pieces.splice(0..0, earlier);
        }
        parts.push((arrays, pieces));
    }
    if parts.len() <= 1 {
        return vec![layout.clone()];
    }
    let part = |(arrays, pieces): (IndexSet<Name>, Vec<Vec<Constraint>>)| {
        let mut out = layout.clone();
        out.relation.pieces = pieces;
        out.arrays.retain(|name, _| arrays.contains(name));
        out.properties.retain(|p| p.arrays.iter().all(|a| arrays.contains(a)));
        out
    };
    parts.into_iter().map(part).collect()
}
