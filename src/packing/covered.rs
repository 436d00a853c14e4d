//! Runs that leave no gap: each begins where the one before ends, so that only its end is stored.
//!
//! ```text
//! ptr(u) <= q < ptr(u + 1) and q = ptr(u) and 0 <= i < right(q) ;
//! ptr(u) < q < ptr(u + 1) and right(q - 1) <= i < right(q)
//! ```
//! In: the pieces of such a declaration. Out: what all of them say, `i < right(q)`, from which the ends are
//! measured; and entries without gaps, among which fill has runs of its own.

use indexmap::IndexSet;

use super::options::PackOptions;
use super::part::{Covered, Forms, Part};
use super::room;
use crate::check::follow;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Constraint, Formula, Name, Relop};
use crate::layout::Layout;
use crate::tensor::{Entries, IndexData, Value};

/// The layout with one piece, of what follows from each of its pieces.
pub(super) fn common(layout: &Layout) -> Option<Layout> {
    let pieces = &layout.relation.pieces;
    if pieces.len() < 2 {
        return None;
    }
    let mut kept: Vec<Constraint> = Vec::new();
    for c in layout.relation.constraints() {
        if !kept.contains(c) {
            kept.push(c.clone());
        }
    }
    for piece in pieces {
        let mut facts: Vec<Formula> =
            layout.known_of_sizes().into_iter().map(Formula::Constraint).collect();
        facts.extend(piece.iter().cloned().map(Formula::Constraint));
        let mut shown = follow(&facts, &kept).into_iter();
        kept.retain(|_| shown.next() == Some(true));
    }
    let mut out = layout.clone();
    out.relation.pieces = vec![kept];
    Some(out)
}

impl Covered {
    pub fn of(part: &Part) -> Covered {
        let layout = &part.layout;
        let mut listed: IndexSet<Name> = IndexSet::new();
        for Forms { keys, .. } in &part.pieces {
            for (_, value) in keys.iter().flatten().flatten() {
                value.visit_vars(&mut |n| {
                    listed.insert(n.clone());
                });
            }
        }
        // What is looked up is listed, too, where nothing has to be sorted for it.
        let stated = layout.relation.pieces.iter().flatten().filter(|c| c.relop == Relop::Eq);
        for c in stated.filter(|c| c.affine.has_calls()) {
            let own = |d: &&Name| c.affine.mentions(d);
            listed.extend(layout.relation.coordinates.iter().filter(own).cloned());
        }
        let mut order: Vec<Name> =
            layout.stages.iter().flat_map(|stage| stage.dims.iter().cloned()).collect();
        if order.len() != layout.rank() {
            order = layout.relation.coordinates.clone();
        }
        let last = order.iter().rposition(|d| listed.contains(d)).map_or(0, |at| at + 1);
        let number = |d: &Name| layout.relation.coordinates.iter().position(|c| c == d);
        let numbers = |dims: &[Name]| dims.iter().filter_map(number).collect();
        Covered { some: numbers(&order[..last]), every: numbers(&order[last..]) }
    }

    /// The entries, with fill where they leave gaps.
    ///
    /// # Errors
    /// [`Code::Shape`] if these are too many.
    pub fn entries(&self, entries: &Entries, options: &PackOptions) -> Result<Entries> {
        let dims = entries.dims();
        // Which coordinates there are around the runs, and the number of them that each entry has.
        let mut around: IndexSet<Vec<usize>> = IndexSet::new();
        if self.some.is_empty() {
            around.insert(Vec::new());
        }
        let coordinate = |d: usize, k: usize| entries.coords()[d].get(k) as usize;
        let mut groups = Vec::new();
        for k in 0..entries.len() {
            groups.push(match self.some.is_empty() {
                true => 0,
                false => {
                    around.insert_full(self.some.iter().map(|&d| coordinate(d, k)).collect()).0
                }
            });
        }
        let fibre = self.every.iter().try_fold(1_usize, |n, &d| n.checked_mul(dims[d]));
        let count = fibre.and_then(|n| n.checked_mul(around.len()));
        let (Some(fibre), Some(count)) = (fibre, count.filter(|n| u32::try_from(*n).is_ok()))
        else {
            let message = "runs that cover every coordinate are too many to pack";
            return Err(Diagnostic::new(Code::Shape, message)
                .help("choose a format that stores what is not fill alone"));
        };
        let ty = entries.values().value_type();
        room::of_entries(count, dims.len(), ty)?;
        let mut stored = vec![false; count];
        for (k, group) in groups.into_iter().enumerate() {
            let linear = self.every.iter().fold(0, |at, &d| at * dims[d] + coordinate(d, k));
            stored[group * fibre + linear] = true;
        }
        let fill = options.fill.unwrap_or(Value::zero(ty)).cast(ty).repeated(1);
        let mut values = entries.values().clone();
        let mut coords: Vec<Vec<u64>> = entries
            .coords()
            .iter()
            .map(|column| column.iter_i64().map(|c| c as u64).collect())
            .collect();
        for at in (0..count).filter(|&at| !stored[at]) {
            let outer = around.get_index(at / fibre);
            for (&d, &c) in self.some.iter().zip(outer.into_iter().flatten()) {
                coords[d].push(c as u64);
            }
            let mut rest = at % fibre;
            for &d in self.every.iter().rev() {
                coords[d].push((rest % dims[d]) as u64);
                rest /= dims[d];
            }
            values.push_from(&fill, 0);
        }
        let coords = coords.into_iter().map(IndexData::U64).collect();
        Entries::new(dims.to_vec(), coords, values)
    }
}

/// Whether the relation says that run `q` of each segment of `segments` is `begin <= i < ends(q)`, where `begin` is 0
/// for the first and `ends(q - 1)` for the others, and nothing else of `q` and `i`.
pub(super) fn is_chain(
    layout: &Layout,
    q: &Name,
    (segments, at): (&Name, &[Affine]),
    ends: &Name,
    i: &Name,
) -> bool {
    let pieces = &layout.relation.pieces;
    let Some(extent) = layout.relation.coordinates.iter().position(|c| c == i) else {
        return false;
    };
    let Some((last, around)) = at.split_last() else { return false };
    let one = || Affine::constant(1);
    let (position, coordinate) = (Affine::var(q.clone()), Affine::var(i.clone()));
    let first = Affine::call(segments.clone(), at.to_vec());
    let next = around.iter().cloned().chain([last.clone() + one()]).collect();
    let behind = Affine::call(segments.clone(), next);
    let end = Affine::call(ends.clone(), vec![position.clone()]);
    let before = Affine::call(ends.clone(), vec![position.clone() - one()]);
    let within = [
        Constraint::le(first.clone(), position.clone()),
        Constraint::lt(position.clone(), behind),
        Constraint::lt(coordinate.clone(), end),
    ];
    let leading = [
        Constraint::eq(position.clone(), first.clone()),
        Constraint::le(Affine::zero(), coordinate.clone()),
    ];
    let following = [Constraint::lt(first, position), Constraint::le(before, coordinate.clone())];
    // True of all elements, whatever the relation says.
    let bounds = [
        Constraint::le(Affine::zero(), coordinate.clone()),
        Constraint::lt(coordinate, Affine::var(layout.extents()[extent].clone())),
    ];
    let is = |piece: &Vec<Constraint>, own: &[Constraint]| {
        let says: Vec<Constraint> = within.iter().chain(own).cloned().collect();
        let others = piece.iter().filter(|c| !c.mentions(q) && !c.mentions(i)).cloned();
        let made: Vec<Constraint> = says.iter().cloned().chain(others).collect();
        let all_follow = |given: &[Constraint], claims: &[Constraint]| {
            let known = given.iter().chain(&bounds).cloned().chain(layout.known_of_sizes());
            let facts: Vec<Formula> = known.map(Formula::Constraint).collect();
            !follow(&facts, claims).contains(&false)
        };
        all_follow(piece, &says) && all_follow(&made, piece)
    };
    match pieces.as_slice() {
        [a, b] => is(a, &leading) && is(b, &following) || is(b, &leading) && is(a, &following),
        _ => false,
    }
}

/// Whether every condition on the ends of runs is one from above.
pub(super) fn is_chained(layout: &Layout) -> bool {
    // A piece reads an array at a position and at the one before.
    let shifted = |piece: &Vec<Constraint>| {
        let mut found = false;
        for c in piece {
            c.visit_calls(&mut |call| {
                found |= call.args.iter().any(|a| {
                    a.offset() == -1
                        && (a.clone() + Affine::constant(1))
                            .as_var()
                            .is_some_and(|n| layout.relation.positions.contains(n))
                });
            });
        }
        found
    };
    layout.relation.pieces.iter().any(shifted)
}
