//! How the relation bounds a position that is to be numbered.
//!
//! In: the constraints of a piece. Out: [`Bounds`]: between two elements of a segment array, between
//! the elements of two arrays, from an element by a count, below a count, or below a size.

use super::part::Role;
use super::refusal::refused;
use crate::diagnostic::Result;
use crate::formula::{Affine, Atom, Call, Constraint, Name, Relop};
use crate::layout::Layout;

/// The bounds of a numbered position `p`.
#[derive(Clone, Debug)]
pub(super) enum Bounds {
    /// `f(u) <= p < f(u + 1)`
    Segments(Call),
    /// `f(u) <= p < g(u)`
    Between { start: Call, end: Call },
    /// `f(u) <= p < f(u) + g(u)`
    Lengths { start: Call, count: Call },
    /// `first <= p < f(u) + offset`
    Counted { first: i64, count: Call, offset: i64 },
    /// `first <= p < size`
    Sized { first: i64, size: Affine },
}

/// One side of a bound; the upper side is exclusive.
enum Side {
    Constant(i64),
    Call(Call, i64),
    /// The sum of two elements.
    Sum([Call; 2]),
    Size(Affine),
    Other(Affine),
}

fn side(layout: &Layout, e: Affine) -> Side {
    if let Some(c) = e.as_constant() {
        return Side::Constant(c);
    }
    if let [(Atom::Call(call), 1)] = e.terms() {
        return Side::Call(call.clone(), e.offset());
    }
    if let ([(Atom::Call(a), 1), (Atom::Call(b), 1)], 0) = (e.terms(), e.offset()) {
        return Side::Sum([a.clone(), b.clone()]);
    }
    let extents = layout.extents();
    let mut sizes = !e.has_calls();
    e.visit_vars(&mut |n| sizes &= layout.params.contains_key(n) || extents.contains(n));
    if sizes { Side::Size(e) } else { Side::Other(e) }
}

/// The bounds of `position` in a piece of the relation.
pub(super) fn of_position(
    layout: &Layout,
    piece: &[Constraint],
    position: &Name,
) -> Result<Bounds> {
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    let p = Affine::var(position.clone());
    for c in piece.iter().filter(|c| c.relop == Relop::Ge) {
        let k = c.affine.coefficient_of_var(position);
        let rest = c.affine.clone() - p.clone() * k;
        // A condition on what is read at the position does not bound it; it is tested.
        if rest.mentions(position) {
            continue;
        }
        match k {
            0 => {}
            1 => lower.push(side(layout, -rest)),
            -1 => upper.push(side(layout, rest + Affine::constant(1))),
            _ => lower.push(Side::Other(c.affine.clone())),
        }
    }
    // A bound by an array says more than one by a size.
    let rank = |side: &Side| match side {
        Side::Call(..) | Side::Sum(_) => 0,
        Side::Size(_) => 1,
        Side::Constant(_) => 2,
        // A condition on outer positions may bound it further; it is tested.
        Side::Other(_) => 3,
    };
    lower.sort_by_key(rank);
    upper.sort_by_key(rank);
    let unbounded = || {
        refused(layout, format!("nothing bounds position `{position}`"))
            .help("bound it by a size, e.g. `0 <= p < N`, or by an index array")
    };
    let (Some(lower), Some(upper)) = (lower.into_iter().next(), upper.into_iter().next()) else {
        return Err(unbounded());
    };
    if let (Side::Other(e), _) | (_, Side::Other(e)) = (&lower, &upper) {
        return Err(refused(layout, format!("position `{position}` is bounded by `{e}`"))
            .note(format!("`{position}` is not a function of the coordinates, so it is numbered"))
            .help("bound it by sizes, or by index arrays at outer positions"));
    }
    match (lower, upper) {
        (Side::Call(start, 0), Side::Call(end, 0)) if start.array == end.array => {
            let segments = Bounds::Segments(start.clone());
            if !segments.calls().contains(&end) {
                return Err(refused(
                    layout,
                    format!(
                        "position `{position}` is bounded by distant elements of `{}`",
                        start.array
                    ),
                )
                .help(format!("write `{0}(u) <= {position} < {0}(u + 1)`", start.array)));
            }
            Ok(segments)
        }
        (Side::Call(start, 0), Side::Call(end, 0)) if start.args == end.args => {
            Ok(Bounds::Between { start, end })
        }
        (Side::Call(start, 0), Side::Sum([a, b]))
            if a.args == b.args && a.array != b.array && (a == start || b == start) =>
        {
            let count = if a == start { b } else { a };
            Ok(Bounds::Lengths { start, count })
        }
        (Side::Constant(first), Side::Call(count, offset)) => {
            Ok(Bounds::Counted { first, count, offset })
        }
        (Side::Constant(first), Side::Size(size)) => Ok(Bounds::Sized { first, size }),
        (Side::Constant(first), Side::Constant(end)) => {
            Ok(Bounds::Sized { first, size: Affine::constant(end) })
        }
        _ => Err(refused(
            layout,
            format!("position `{position}` has bounds of a form that packing does not know"),
        )
        .help("write `f(u) <= p < f(u + 1)`, `f(u) <= p < g(u)`, `f(u) <= p < f(u) + g(u)`, `0 <= p < f(u)` or \
                `0 <= p < N`")),
    }
}

impl Bounds {
    /// The calls among the bounds.
    pub fn calls(&self) -> Vec<Call> {
        match self {
            Bounds::Segments(start) => {
                let mut end = start.clone();
                if let Some(last) = end.args.last_mut() {
                    *last = last.clone() + Affine::constant(1);
                }
                vec![start.clone(), end]
            }
            Bounds::Between { start, end } | Bounds::Lengths { start, count: end } => {
                vec![start.clone(), end.clone()]
            }
            Bounds::Counted { count, .. } => vec![count.clone()],
            Bounds::Sized { .. } => Vec::new(),
        }
    }

    /// What the numbering is relative to, as far as the bounds say.
    pub fn group(&self) -> Vec<Affine> {
        match self {
            Bounds::Segments(call) | Bounds::Counted { count: call, .. } => call.args.clone(),
            Bounds::Between { start, .. } | Bounds::Lengths { start, .. } => start.args.clone(),
            Bounds::Sized { .. } => Vec::new(),
        }
    }

    /// Whether the bounds alone say what the numbering is relative to.
    pub fn group_is_closed(&self) -> bool {
        !matches!(self, Bounds::Sized { .. })
    }

    /// Whether numbers start again in each group.
    pub fn restarts(&self) -> bool {
        matches!(self, Bounds::Counted { .. } | Bounds::Sized { .. })
    }

    pub fn first(&self) -> i64 {
        match self {
            Bounds::Counted { first, .. } | Bounds::Sized { first, .. } => *first,
            _ => 0,
        }
    }

    /// The exclusive upper bound in sizes.
    pub fn size(&self) -> Option<&Affine> {
        match self {
            Bounds::Sized { size, .. } => Some(size),
            _ => None,
        }
    }

    /// The array that bounds the segments.
    pub fn segments(&self) -> Option<&Name> {
        match self {
            Bounds::Segments(call) => Some(&call.array),
            _ => None,
        }
    }

    /// What the bounding arrays hold.
    pub fn roles(&self, level: usize) -> Vec<(Name, Role)> {
        let name = |call: &Call| call.array.clone();
        match self {
            Bounds::Segments(call) => {
                vec![(name(call), Role::Segments { level, args: call.args.clone() })]
            }
            Bounds::Between { start, end } => vec![
                (name(start), Role::Starts { level, args: start.args.clone() }),
                (name(end), Role::Ends { level, args: end.args.clone() }),
            ],
            Bounds::Lengths { start, count } => vec![
                (name(start), Role::Starts { level, args: start.args.clone() }),
                (name(count), Role::Counts { level, args: count.args.clone(), offset: 0 }),
            ],
            Bounds::Counted { count, offset, .. } => {
                let (args, offset) = (count.args.clone(), *offset);
                vec![(name(count), Role::Counts { level, args, offset })]
            }
            Bounds::Sized { .. } => Vec::new(),
        }
    }
}
