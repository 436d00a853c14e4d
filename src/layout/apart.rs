//! Pieces of a relation that share no position with its coordinates.
//!
//! A relation is a set: what two of its pieces hold is stored once. Loops go through piece after piece, and would
//! come to it twice.
//!
//! ```text
//! j < 2 ; i < 2    →    j < 2 ; i < 2 and j >= 2
//! ```
//! isl decides, with index-array calls as values of which nothing is known. What it cannot tell apart is split,
//! which changes no relation.

use std::rc::Rc;

use indexmap::IndexSet;

use crate::formula::{Atom, Constraint, Formula};
use crate::isl::{Frame, Set};

/// The same relation as pieces of which no two meet; `None` if these are more than `most`.
pub(super) fn apart(pieces: Vec<Vec<Constraint>>, most: usize) -> Option<Vec<Vec<Constraint>>> {
    if pieces.len() < 2 {
        return Some(pieces);
    }
    let mut atoms: IndexSet<Atom> = IndexSet::new();
    for c in pieces.iter().flatten() {
        c.affine.visit_atoms(&mut |atom| {
            atoms.insert(atom.clone());
        });
    }
    let frame = Rc::new(Frame::new(Vec::new(), atoms.into_iter().collect()));
    // What isl does not read may have points.
    let has_points =
        |piece: &[Constraint]| Set::new(&frame, piece).map_or(true, |set| !set.is_empty());
    let mut out: Vec<Vec<Constraint>> = Vec::new();
    for piece in pieces {
        let mut left = vec![piece];
        for earlier in &out {
            let parts = left.into_iter().flat_map(|part| {
                match has_points(&[&earlier[..], &part].concat()) {
                    true => {
                        without(part, earlier).into_iter().filter(|part| has_points(part)).collect()
                    }
                    false => vec![part],
                }
            });
            left = parts.collect();
            if out.len() + left.len() > most {
                return None;
            }
        }
        out.extend(left);
    }
    Some(out)
}

/// A conjunction without another one: `a and b` without `c and d` is `a and b and not c`, and `a and b and c and not d`.
fn without(piece: Vec<Constraint>, other: &[Constraint]) -> Vec<Vec<Constraint>> {
    let mut within = piece;
    let mut out = Vec::new();
    for c in other {
        if within.contains(c) {
            continue;
        }
        for outside in Formula::Constraint(c.negated()).to_dnf() {
            out.push([&within[..], &outside].concat());
        }
        within.push(c.clone());
    }
    out
}
