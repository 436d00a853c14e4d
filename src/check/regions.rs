//! The regions into which a level cuts the coordinate axis (design §10).
//!
//! In: a layout. Out: for each position, outermost first, the dimensions whose coordinate is known
//! once it is fixed, and how: isl decides from the relation alone, index arrays that are read at
//! inner positions being unknown.

use std::fmt;
use std::rc::Rc;

use indexmap::IndexSet;
use serde::Serialize;

use crate::formula::{Affine, Atom, Call, Constraint, Name};
use crate::isl::{Frame, Set};
use crate::layout::Layout;

/// What a position stands for, with all outer positions fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RegionKind {
    /// One coordinate, read from an index array.
    Point,
    /// An interval of coordinates, all with one value.
    Run,
    /// Positions and coordinates in affine bijection.
    Lookup,
    /// None of these can be told.
    General,
}

impl fmt::Display for RegionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RegionKind::Point => "points",
            RegionKind::Run => "runs",
            RegionKind::Lookup => "lookup",
            RegionKind::General => "general",
        })
    }
}

/// The regions along some dimensions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Region {
    pub kind: RegionKind,
    /// The dimensions whose coordinate this decides.
    pub dims: Vec<String>,
    /// The positions that are fixed, outermost first.
    pub positions: Vec<String>,
    /// Which part of the relation, when it is a union of parts that are cut differently.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub piece: Option<usize>,
    /// Coordinates between regions are not stored.
    pub fill: bool,
}

/// `lookup of i by p0; points of j by (p0, p1); fill elsewhere`
pub(super) fn describe(regions: &[Region]) -> String {
    let mut out = String::new();
    let mut last = None;
    for region in regions {
        if let Some(piece) = last {
            out.push_str(if piece == region.piece { "; " } else { "; and " });
        }
        last = Some(region.piece);
        let positions = match region.positions.as_slice() {
            [] => String::new(),
            [one] => format!(" by {one}"),
            all => format!(" by ({})", all.join(", ")),
        };
        out.push_str(&format!("{} of {}{positions}", region.kind, region.dims.join(", ")));
    }
    if regions.iter().any(|r| r.fill) {
        out.push_str("; fill elsewhere");
    }
    out
}

/// With more positions, projecting them out one after the other takes too long.
const MOST_POSITIONS: usize = 12;

/// The regions of every piece; pieces that are cut the same way count once. None for layouts of
/// very many positions.
pub(super) fn regions(layout: &Layout) -> Vec<Region> {
    if layout.relation.positions.len() > MOST_POSITIONS {
        return Vec::new();
    }
    let mut kinds: Vec<Vec<Region>> = Vec::new();
    for piece in &layout.relation.pieces {
        let of_piece = of_piece(layout, piece);
        if !kinds.contains(&of_piece) {
            kinds.push(of_piece);
        }
    }
    let fill = !covers_everything(layout);
    let several = kinds.len() > 1;
    let mut out = Vec::new();
    for (k, regions) in kinds.into_iter().enumerate() {
        let piece = several.then_some(k);
        out.extend(regions.into_iter().map(|r| Region { piece, fill, ..r }));
    }
    out
}

fn of_piece(layout: &Layout, piece: &[Constraint]) -> Vec<Region> {
    let positions = &layout.relation.positions;
    let mut left: Vec<Name> = layout.relation.coordinates.clone();
    let mut out = Vec::new();
    let strings = |names: &[Name]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    for fixed in 0..=positions.len() {
        if left.is_empty() {
            break;
        }
        let mut known: Vec<Name> = Vec::new();
        let mut kind = RegionKind::Point;
        for dim in &left {
            let Some(set) = shadow(layout, piece, fixed, fixed, dim) else { return Vec::new() };
            if !set.is_single_valued(0) {
                continue;
            }
            known.push(dim.clone());
            // A function of the position alone, index arrays read at it left open?
            if fixed > 0
                && let Some(set) = shadow(layout, piece, fixed - 1, fixed, dim)
                && set.is_single_valued(1)
                && set.is_injective(1)
            {
                kind = RegionKind::Lookup;
            }
        }
        if !known.is_empty() {
            left.retain(|d| !known.contains(d));
            let positions = strings(&positions[..fixed]);
            out.push(Region { kind, dims: strings(&known), positions, piece: None, fill: true });
        }
    }
    if !left.is_empty() {
        let run = left.iter().all(|dim| {
            shadow(layout, piece, positions.len(), positions.len(), dim)
                .is_some_and(|s| s.has_lower_bound(0) && s.has_upper_bound(0))
        });
        let kind = if run { RegionKind::Run } else { RegionKind::General };
        let positions = strings(positions);
        out.push(Region { kind, dims: strings(&left), positions, piece: None, fill: true });
    }
    out
}

/// The piece over the positions `params..kept` and the coordinate `dim`: positions before are
/// parameters, as are the calls that only need them; everything else is projected out.
fn shadow(
    layout: &Layout,
    piece: &[Constraint],
    params: usize,
    kept: usize,
    dim: &Name,
) -> Option<Set> {
    let relation = &layout.relation;
    let var = |n: &Name| Atom::Var(n.clone());
    let fixed = |n: &Name| {
        let inner = relation.positions[params..].contains(n) || relation.coordinates.contains(n);
        !inner
    };
    let mut calls: IndexSet<Call> = IndexSet::new();
    piece.iter().for_each(|c| {
        c.visit_calls(&mut |call| {
            calls.insert(call.clone());
        })
    });
    let (known, open): (Vec<Call>, Vec<Call>) = calls.into_iter().partition(|call| {
        let mut known = true;
        call.args.iter().for_each(|a| a.visit_vars(&mut |n| known &= fixed(n)));
        known
    });
    let mut sizes = layout.extents();
    sizes.extend(layout.params.keys().cloned());
    let mut outer: Vec<Atom> = sizes.iter().map(var).collect();
    outer.extend(relation.positions[..params].iter().map(var));
    outer.extend(known.into_iter().map(Atom::Call));
    let mut dims: Vec<Atom> = relation.positions[params..kept].iter().map(var).collect();
    dims.push(Atom::Var(dim.clone()));
    let visible = dims.len();
    dims.extend(relation.positions[kept..].iter().map(var));
    dims.extend(relation.coordinates.iter().filter(|d| *d != dim).map(var));
    dims.extend(open.into_iter().map(Atom::Call));
    let frame = Rc::new(Frame::new(outer, dims));
    Some(Set::new(&frame, piece).ok()?.keep_first_dims(visible))
}

/// Whether every coordinate within the extents is stored, so that nothing is fill.
fn covers_everything(layout: &Layout) -> bool {
    if !layout.arrays.is_empty() {
        return false;
    }
    let relation = &layout.relation;
    let var = |n: &Name| Atom::Var(n.clone());
    let mut sizes = layout.extents();
    sizes.extend(layout.params.keys().cloned());
    let outer: Vec<Atom> = sizes.iter().map(var).collect();
    let mut dims: Vec<Atom> = relation.coordinates.iter().map(var).collect();
    dims.extend(relation.positions.iter().map(var));
    let frame = Rc::new(Frame::new(outer.clone(), dims));
    let Ok(stored) = Set::from_dnf(&frame, &relation.pieces) else { return false };
    let stored = stored.keep_first_dims(relation.coordinates.len());
    let mut inside: Vec<Constraint> = layout.assumptions.clone();
    for dim in &relation.coordinates {
        let at = Affine::var(dim.clone());
        let extent = Affine::var(Layout::extent_name(dim));
        inside.push(Constraint::le(Affine::zero(), at.clone()));
        inside.push(Constraint::lt(at, extent));
    }
    Set::new(stored.frame(), &inside).is_ok_and(|all| all.is_subset(&stored))
}
