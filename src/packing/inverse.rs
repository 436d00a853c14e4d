//! The inverse of one piece of a relation: what the coordinates determine.
//!
//! In: a conjunction over positions, coordinates and index-array calls. Every call and every size
//! parameter is read as a fresh unknown. Out: for a position or a call, the quasi-affine function
//! of the coordinates that gives it, when there is one.
//!
//! ```text
//! i = 2*p0 + p2 and 0 <= p2 < 2 and j = crd(p1) and pos(p0) <= p1 < pos(p0 + 1)
//! ```
//! determines `p0 = floor(i/2)`, `p2 = i - 2*floor(i/2)` and `crd(p1) = j`, but not `p1`.

use std::rc::Rc;

use crate::formula::{Affine, Atom, Constraint, Name};
use crate::isl::{Frame, Piece, Set};
use crate::layout::Layout;

/// A quasi-affine function by cases: where each applies, and its value. One case applies wherever
/// the relation has a point.
pub(super) type Form = Vec<Piece>;

/// One piece of a relation, ready to be inverted.
pub(super) struct Inverse {
    set: Set,
    coordinates: Vec<Atom>,
    extents: Vec<Atom>,
}

impl Inverse {
    pub fn new(layout: &Layout, piece: &[Constraint]) -> Inverse {
        let var = |n: &Name| Atom::Var(n.clone());
        let extents: Vec<Atom> = layout.extents().iter().map(var).collect();
        let coordinates: Vec<Atom> = layout.relation.coordinates.iter().map(var).collect();
        let mut dims = coordinates.clone();
        dims.extend(layout.relation.positions.iter().map(var));
        // Sizes are unknown until the tensor is packed, and calls always.
        dims.extend(layout.params.keys().map(var));
        for call in calls(piece) {
            dims.push(call);
        }
        let mut constraints = piece.to_vec();
        for (c, e) in coordinates.iter().zip(&extents) {
            constraints.extend(within(c, e));
        }
        constraints.extend(ranges(layout, piece));
        // Whatever else occurs is unknown as well.
        for c in &constraints {
            c.affine.visit_vars(&mut |n| {
                let atom = var(n);
                if !dims.contains(&atom) && !extents.contains(&atom) {
                    dims.push(atom);
                }
            });
        }
        let frame = Rc::new(Frame::new(extents.clone(), dims));
        let set = Set::new(&frame, &constraints).unwrap_or_else(|_| Set::universe(&frame));
        Inverse { set, coordinates, extents }
    }

    /// `output` as a function of `inputs`.
    pub fn function(&self, inputs: &[Atom], output: &Atom) -> Option<Form> {
        let mut wanted = inputs.to_vec();
        wanted.push(output.clone());
        let mut form = self.shadow(&wanted)?.functional(inputs.len())?.pop()?;
        // Cases that agree are one.
        if let Some((_, first)) = form.first().cloned()
            && form.iter().all(|(_, value)| *value == first)
        {
            form = vec![(Vec::new(), first)];
        }
        Some(form)
    }

    /// `output` as a function of the coordinates.
    pub fn of_coordinates(&self, output: &Atom) -> Option<Form> {
        self.function(&self.coordinates, output)
    }

    /// Where the coordinates have a position, as a union of conjunctions; `None` if everywhere
    /// within the extents.
    pub fn domain(&self) -> Option<Vec<Vec<Constraint>>> {
        let domain = self.shadow(&self.coordinates)?;
        let bounds: Vec<Constraint> =
            self.coordinates.iter().zip(&self.extents).flat_map(|(c, e)| within(c, e)).collect();
        let all = Set::new(domain.frame(), &bounds).ok()?;
        if all.is_subset(&domain) {
            return None;
        }
        Some(domain.gist(&all).constraints())
    }

    /// Projects onto `atoms`, in that order.
    fn shadow(&self, atoms: &[Atom]) -> Option<Set> {
        let mut set = self.set.clone();
        let dims = set.frame().dims.clone();
        for (k, atom) in dims.iter().enumerate().rev() {
            if !atoms.contains(atom) {
                set = set.project_out(k, 1);
            }
        }
        if set.frame().dims.len() != atoms.len() {
            return None;
        }
        let frame = Frame::new(set.frame().params.clone(), atoms.to_vec());
        Some(set.with_frame(&Rc::new(frame)))
    }
}

/// The declared ranges of the calls of a conjunction: they too tell positions apart, e.g.
/// `i = 64*p0 + row(p2)` with `0 <= row(p2) < 64`.
fn ranges(layout: &Layout, piece: &[Constraint]) -> Vec<Constraint> {
    let mut out = Vec::new();
    for atom in calls(piece) {
        let Atom::Call(call) = atom else { continue };
        let Some(array) = layout.arrays.get(&call.array) else { continue };
        let actual = |n: &Name| {
            array.args.iter().position(|a| a == n).and_then(|k| call.args.get(k)).cloned()
        };
        out.extend(array.range.iter().map(|c| c.substitute(&actual)));
    }
    out
}

/// The distinct calls of a conjunction, inner ones first.
pub(super) fn calls(piece: &[Constraint]) -> Vec<Atom> {
    let mut out: Vec<Atom> = Vec::new();
    for c in piece {
        c.visit_calls(&mut |call| {
            let atom = Atom::Call(call.clone());
            if !out.contains(&atom) {
                out.push(atom);
            }
        });
    }
    out
}

fn within(coordinate: &Atom, extent: &Atom) -> [Constraint; 2] {
    let (c, e) = (Affine::atom(coordinate.clone()), Affine::atom(extent.clone()));
    [Constraint::le(Affine::zero(), c.clone()), Constraint::lt(c, e)]
}
