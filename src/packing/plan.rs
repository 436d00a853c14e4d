//! The packing plan of a layout: one part, or several that have index arrays of their own.
//!
//! ```text
//! { [p0, p1] -> [i, j] : p0 = i and i = j and p1 = 0 ; … pos(p0) <= p1 < pos(p0 + 1) and j = crd(p1) … }
//! ```
//! has two: the diagonal is packed by itself, and so are the rows. They share the value array only.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexSet;

use super::part::Part;
use crate::check::{refuse_unsound, values_apart};
use crate::diagnostic::Result;
use crate::formula::{Affine, Arith, Constraint, Name};
use crate::layout::Layout;
use crate::layout::memory::Memory;

/// How to pack entries into a layout, derived from its declaration by [`Plan::of`].
#[derive(Clone, Debug)]
pub struct Plan {
    name: String,
    value: Arith,
    pub(super) parts: Vec<Part>,
    /// Instead of parts: outer and inner levels, one after the other.
    pub(super) staged: Option<Staged>,
    /// Several pieces share arrays, or a position has several coordinates: what is stored must be
    /// compared with what was given.
    pub(super) verify: bool,
    /// It is not proved that a piece has one coordinate for a value.
    shares_values: bool,
}

/// A layout in two parts, each with its plan.
#[derive(Clone, Debug)]
pub(super) struct Staged {
    pub outer: Arc<Layout>,
    pub inner: Arc<Layout>,
    pub plans: Box<[Plan; 2]>,
    /// The dimensions of each, in the whole.
    pub dims: [Vec<usize>; 2],
    /// The extents of the positions between them.
    pub handed: Vec<Affine>,
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
        let direct = Plan::direct(layout);
        let (late, measured) = match &direct {
            Ok(plan) => (
                plan.parts.iter().any(Part::numbers_late),
                plan.parts.iter().any(|part| !part.measures.is_empty()),
            ),
            Err(_) => (true, true),
        };
        let staged = if late || measured { Staged::of(layout) } else { None };
        match staged {
            Some(staged) => Ok(Plan {
                name: layout.name.clone(),
                value: Arith::Call(layout.value.name.clone(), layout.value.index.clone()),
                parts: Vec::new(),
                staged: Some(staged),
                verify: true,
                shares_values: true,
            }),
            None => direct,
        }
    }

    /// One stage for all levels.
    fn direct(layout: &Layout) -> Result<Plan> {
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
            || parts.iter().any(|part| part.covered.is_some())
            || !(apart.within_pieces && apart.between_pieces)
            || !parts.iter().all(|part| part.single_valued);
        Ok(Plan {
            name: layout.name.clone(),
            value: Arith::Call(layout.value.name.clone(), layout.value.index.clone()),
            parts,
            staged: None,
            verify,
            shares_values,
        })
    }

    /// Whether values may be stored where no entry is: blocks, padding, dense dimensions.
    pub fn fills(&self) -> bool {
        let staged = self.staged.iter().flat_map(|staged| staged.plans.iter());
        self.parts.iter().any(Part::fills) || staged.into_iter().any(Plan::fills)
    }

    /// Whether positions are only known when all entries are placed.
    pub(super) fn is_known_late(&self) -> bool {
        self.staged.is_some() || self.shares_values || self.parts.iter().any(Part::is_known_late)
    }

    /// Whether one value serves several coordinates, whose entries must be equal.
    pub(super) fn has_equal_values(&self) -> bool {
        self.shares_values || self.parts.iter().any(Part::has_equal_values)
    }

    /// What the relation asks beyond what packing keeps by itself.
    pub fn open_conditions(&self) -> Box<dyn Iterator<Item = &Constraint> + '_> {
        let staged = self.staged.iter().flat_map(|staged| staged.plans.iter());
        let own = self.parts.iter().flat_map(Part::open_conditions);
        Box::new(own.chain(staged.flat_map(Plan::open_conditions)))
    }

    /// What is done, one statement each: `sort by (i, j)`, `pos(p0) = prefix count of p1`, …
    pub fn steps(&self) -> Vec<String> {
        if let Some(staged) = &self.staged {
            let [outer, inner] = &*staged.plans;
            let mut steps = outer.steps();
            let last = steps.pop().unwrap_or_default();
            steps.push(format!("{last} = number of the subtensor below"));
            steps.extend(inner.steps());
            return steps;
        }
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
