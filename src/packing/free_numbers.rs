//! Positions that an index array holds: `q = val(k)`, and nothing says which number is whose.
//!
//! In: a declaration. Out: the declaration with `q = k`, and the arrays that hold all numbers in order.
//!
//! ```text
//! ptr(u) <= k < ptr(u + 1) and i = idx(k) and 0 <= q < Q and q = val(k),  val injective
//! ```
//! Packing may give child position `k` to entry `k`, so that `val(k) = k`, and `Q` is the number of entries.

use crate::formula::{Affine, Atom, Constraint, Name, Relop};
use crate::layout::{Layout, PropertyKind};

/// An array that holds its own positions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chosen {
    pub array: Name,
    /// The counted size that bounds the numbers.
    pub size: Name,
}

/// The layout without the arrays whose numbers packing is free to choose.
pub(super) fn chosen(mut layout: Layout) -> (Layout, Vec<Chosen>) {
    let mut out = Vec::new();
    while let Some(found) = find(&layout) {
        let Found { position, call_at, chosen } = found;
        let len = layout.arrays[&chosen.array].len.clone();
        for piece in &mut layout.relation.pieces {
            piece.retain(|c| !bounds(c, &position, &chosen.size) && !reads(c, &chosen.array));
            piece.push(Constraint::eq(Affine::var(position.clone()), call_at.clone()));
        }
        layout.arrays.shift_remove(&chosen.array);
        layout.properties.retain(|p| !p.arrays.contains(&chosen.array));
        layout.params.insert(chosen.size.clone(), Some(len));
        out.push(chosen);
    }
    (layout, out)
}

struct Found {
    position: Name,
    /// What the array is read at.
    call_at: Affine,
    chosen: Chosen,
}

fn find(layout: &Layout) -> Option<Found> {
    let injective = layout.properties.iter().filter(|p| {
        matches!(p.kind, PropertyKind::Injective | PropertyKind::Permutation)
            && p.segments.is_none()
    });
    let mut arrays: Vec<&Name> = injective.filter_map(|p| p.arrays.first()).collect();
    arrays.retain(|name| {
        let of_array = |p: &&crate::layout::Property| p.arrays.contains(name);
        let kinds = layout.properties.iter().filter(of_array).map(|p| p.kind);
        let free = [PropertyKind::Injective, PropertyKind::Permutation, PropertyKind::Range];
        layout.arrays.contains_key(*name) && kinds.into_iter().all(|kind| free.contains(&kind))
    });
    arrays.into_iter().find_map(|array| held(layout, array))
}

/// The position that the array holds, if it is used for nothing else.
fn held(layout: &Layout, array: &Name) -> Option<Found> {
    let mut found: Option<(Name, Affine)> = None;
    for piece in &layout.relation.pieces {
        let mut of_array = piece.iter().filter(|c| reads(c, array));
        let (Some(equation), None) = (of_array.next(), of_array.next()) else { return None };
        let [(a, x), (b, y)] = equation.affine.terms() else { return None };
        let (position, call) = match (a, b) {
            (Atom::Var(v), Atom::Call(call)) | (Atom::Call(call), Atom::Var(v)) => (v, call),
            _ => return None,
        };
        let [at] = call.args.as_slice() else { return None };
        let plain = equation.relop == Relop::Eq && *x == -*y && equation.affine.offset() == 0;
        let known = |n: &Name| layout.relation.positions.contains(n);
        let fits = plain && x.abs() == 1 && known(position) && at.as_var().is_some_and(known);
        let here = (position.clone(), at.clone());
        if !fits || found.as_ref().is_some_and(|other| *other != here) {
            return None;
        }
        found = Some(here);
    }
    let (position, call_at) = found?;
    let size = layout.params.iter().find(|(size, definition)| {
        definition.is_none()
            && layout.relation.pieces.iter().all(|piece| {
                let upper = piece.iter().filter(|c| c.mentions(size)).collect::<Vec<_>>();
                !upper.is_empty() && upper.iter().all(|c| bounds(c, &position, size))
            })
    });
    let size = size?.0.clone();
    Some(Found { position, call_at, chosen: Chosen { array: array.clone(), size } })
}

fn reads(c: &Constraint, array: &Name) -> bool {
    let mut found = false;
    c.visit_calls(&mut |call| found |= call.array == *array);
    found
}

/// `0 <= position` or `position < size`
fn bounds(c: &Constraint, position: &Name, size: &Name) -> bool {
    let at = Affine::var(position.clone());
    *c == Constraint::le(Affine::zero(), at.clone())
        || *c == Constraint::lt(at, Affine::var(size.clone()))
}
