//! Positions aligned with coordinates, and index arrays that are extremes of coordinates.
//!
//! Where a layout stores whole intervals of coordinates, single entries do not determine its arrays,
//! but all entries of an interval together do.
//!
//! In: the relation's constraints. Out: the equation of each such position, and [`Measure`]s.
//! ```text
//! ofs(p0) <= p1 < ofs(p0 + 1) and i = p1 + last(p0) + 1 - ofs(p0 + 1)
//! ```
//! gives `p1 = i - last(p0) - 1 + ofs(p0 + 1)`. Put into the bounds of `p1`, it says that
//! `last(p0) >= i`, so `last(p0)` is the greatest `i`; and then that the segment has at least
//! `last(p0) + 1 - i` positions, so its length is the greatest of these.

use indexmap::IndexMap;

use super::bounds::Bounds;
use super::part::{Measure, Measured};
use crate::formula::{Affine, Atom, Call, Constraint, Name, Relop};
use crate::layout::Layout;

/// The positions that are aligned, with their equations. Of those in one equation it is the one that is
/// bounded by an index array of the equation.
pub(super) fn alignments(
    layout: &Layout,
    pieces: &[Vec<Constraint>],
    open: &IndexMap<Name, Bounds>,
) -> IndexMap<Name, Affine> {
    let mut out: IndexMap<Name, Affine> = IndexMap::new();
    for bounded in [true, false] {
        for (position, bounds) in open {
            let Some(e) = alignment(layout, pieces, position) else { continue };
            let mut shared = bounds.calls().is_empty();
            e.visit_calls(&mut |call| shared |= bounds.calls().contains(call));
            let by_array = shared && !bounds.calls().is_empty();
            let settled = out.keys().any(|p| e.mentions(p)) || out.contains_key(position);
            if !settled && (by_array || !bounded && shared) {
                out.insert(position.clone(), e);
            }
        }
    }
    out
}

/// `position` by an equation with index arrays at other positions or with counted sizes, if the
/// relation has one.
fn alignment(layout: &Layout, pieces: &[Vec<Constraint>], position: &Name) -> Option<Affine> {
    let [piece] = pieces else { return None };
    let measured = |c: &Constraint| {
        c.affine.has_calls()
            || layout
                .params
                .iter()
                .any(|(name, definition)| definition.is_none() && c.mentions(name))
    };
    piece.iter().filter(|c| c.relop == Relop::Eq && measured(c)).find_map(|c| {
        let k = c.affine.coefficient_of_var(position);
        let rest = c.affine.clone() - Affine::var(position.clone()) * k;
        (k.abs() == 1 && !rest.mentions(position)).then(|| rest * -k)
    })
}

/// Measures for the calls that are open and for the bounds of aligned positions, each after those
/// that its forms mention.
///
/// # Errors
/// The first call that is not an extreme.
pub(super) fn measures(
    layout: &Layout,
    pieces: &[Vec<Constraint>],
    aligned: &IndexMap<Name, (Affine, Bounds)>,
    numbered: &IndexMap<Name, Bounds>,
    open: Vec<Call>,
) -> Result<Vec<Measure>, Call> {
    let ([piece], false) = (pieces, open.is_empty() && aligned.is_empty()) else {
        return open.into_iter().next().map_or(Ok(Vec::new()), Err);
    };
    let about = |c: &&Constraint| {
        let mut calls = false;
        c.visit_calls(&mut |call| calls |= open.contains(call));
        c.relop == Relop::Ge && (calls || aligned.keys().any(|p| c.mentions(p)))
    };
    let equation = |n: &Name| aligned.get(n).map(|(e, _)| e.clone());
    let constraints: Vec<Affine> =
        piece.iter().filter(about).map(|c| c.affine.substitute(&equation)).collect();

    // Sizes before lengths: an array of lengths is as long as a size says.
    let counted = layout.params.iter().filter(|(_, definition)| definition.is_none());
    let mut unknowns: Vec<Unknown> = open.into_iter().map(Unknown::Element).collect();
    unknowns.extend(counted.map(|(name, _)| Unknown::Size(name.clone())));
    unknowns.extend(aligned.values().filter(|(_, b)| b.segments().is_some()).filter_map(
        |(_, b)| {
            let mut calls = b.calls().into_iter();
            Some(Unknown::Length(calls.next()?, calls.next()?))
        },
    ));

    let mut out = Vec::new();
    loop {
        let solvable = |at: usize| {
            let [above, below] = unknowns[at].bounds(&constraints, &unknowns);
            (!(above.is_empty() && below.is_empty())).then_some((at, above, below))
        };
        let Some((at, above, below)) = (0..unknowns.len()).find_map(solvable) else { break };
        let two_sided = !above.is_empty() && !below.is_empty();
        let (greatest, of) = if below.is_empty() { (true, above) } else { (false, below) };
        let what = match unknowns.remove(at) {
            // An interval of limited length would have to be cut.
            Unknown::Element(call)
                if two_sided
                    && call.args.iter().any(|a| numbered.keys().any(|p| a.mentions(p))) =>
            {
                return Err(call);
            }
            Unknown::Element(call) => Measured::Element(call),
            Unknown::Length(start, _) => Measured::Length(start),
            Unknown::Size(name) => Measured::Size(name),
        };
        out.push(Measure { what, of, greatest });
    }
    match unknowns.into_iter().find_map(Unknown::call) {
        Some(call) => Err(call),
        None => Ok(out),
    }
}

/// The size `name` as the greatest of what the relation says that it is not below: forms over
/// positions, coordinates and other sizes that all pieces state.
///
/// ```text
/// 0 <= p1 <= W  gives  W = greatest p1
/// ```
pub(super) fn extreme(layout: &Layout, name: &Name) -> Option<Measure> {
    let relation = &layout.relation;
    let known = |n: &Name| {
        relation.positions.contains(n)
            || relation.coordinates.contains(n)
            || layout.extents().contains(n)
    };
    let below = |piece: &Vec<Constraint>| -> Vec<Affine> {
        let form = |c: &Constraint| {
            let rest = c.affine.clone() - Affine::var(name.clone());
            let mut plain = c.relop == Relop::Ge && !rest.has_calls() && !rest.mentions(name);
            rest.visit_vars(&mut |n| plain &= known(n));
            plain.then(|| -rest)
        };
        piece.iter().filter_map(form).collect()
    };
    let mut forms = relation.pieces.iter().map(below);
    let mut of = forms.next()?;
    for others in forms {
        of.retain(|form| others.contains(form));
    }
    (!of.is_empty()).then(|| Measure { what: Measured::Size(name.clone()), of, greatest: true })
}

enum Unknown {
    Element(Call),
    /// The difference of two neighbours, start and end.
    Length(Call, Call),
    Size(Name),
}

impl Unknown {
    fn call(self) -> Option<Call> {
        match self {
            Unknown::Element(call) | Unknown::Length(call, _) => Some(call),
            Unknown::Size(_) => None,
        }
    }

    /// The coefficient and the rest; `None` if it occurs otherwise than linearly.
    fn split(&self, e: &Affine) -> Option<(i64, Affine)> {
        match self {
            Unknown::Element(call) => {
                let atom = Atom::Call(call.clone());
                let k = e.coefficient(&atom);
                let rest = e.clone() - Affine::atom(atom) * k;
                let mut nested = false;
                rest.visit_calls(&mut |c| nested |= c == call);
                (!nested).then_some((k, rest))
            }
            Unknown::Length(start, end) => {
                let (start, end) = (Atom::Call(start.clone()), Atom::Call(end.clone()));
                let k = e.coefficient(&end);
                let rest = e.clone() - (Affine::atom(end) - Affine::atom(start.clone())) * k;
                (rest.coefficient(&start) == 0).then_some((k, rest))
            }
            Unknown::Size(name) => {
                let k = e.coefficient_of_var(name);
                let rest = e.clone() - Affine::var(name.clone()) * k;
                (!rest.mentions(name)).then_some((k, rest))
            }
        }
    }

    /// The forms that it is at least, and those that it is at most, by constraints without
    /// another unknown.
    fn bounds(&self, constraints: &[Affine], unknowns: &[Unknown]) -> [Vec<Affine>; 2] {
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for c in constraints {
            let Some((k, rest)) = self.split(c) else { continue };
            let known = |u: &Unknown| matches!(u.split(&rest), Some((0, _)));
            if k.abs() != 1 || !unknowns.iter().all(known) {
                continue;
            }
            let (side, form) = if k == 1 { (&mut above, -rest) } else { (&mut below, rest) };
            if !side.contains(&form) {
                side.push(form);
            }
        }
        [above, below]
    }
}
