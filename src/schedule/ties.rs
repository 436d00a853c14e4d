//! Which dimensions of a space are tied to each other, as its constraints tell.

use crate::formula::{Affine, Atom, Constraint, Name, Relop};
use crate::iterspace::Space;

/// Logical indices tied to position `p` by an equation or, failing that, an inequality with an
/// index array: `j = crd(p)`, `left(p) <= i`.
pub(super) fn connected(space: &Space, p: &Name) -> Vec<Name> {
    connected_where(space, p, |_| true)
}

pub(super) fn connected_where(
    space: &Space,
    p: &Name,
    counts: impl Fn(&Constraint) -> bool,
) -> Vec<Name> {
    let mut out = Vec::new();
    let ties = |c: &Constraint| {
        let in_call = {
            let mut found = false;
            c.visit_calls(&mut |call| found |= call.args.iter().any(|a| a.mentions(p)));
            found
        };
        in_call || (c.relop == Relop::Eq && c.mentions(p))
    };
    for c in space.constraints.iter().filter(|c| ties(c) && counts(c)) {
        for i in &space.indices {
            if c.mentions(i) && !out.contains(i) {
                out.push(i.clone());
            }
        }
    }
    out
}

/// True if `p` is tied to its indices without any index array: `p = i`, `i = 4*p + r`.
pub(super) fn is_dense_like(space: &Space, p: &Name) -> bool {
    space
        .constraints
        .iter()
        .filter(|c| c.relop == Relop::Eq && c.mentions(p))
        .any(|c| !c.affine.has_calls() && c.affine.coefficient_of_var(p) != 0)
}

/// True if `p` is every so many numbers for an index, whose numbers each give one of it: `p = 3*i + 1`.
pub(super) fn is_strided(space: &Space, p: &Name, i: &Name) -> bool {
    let dims = space.dimensions();
    space.constraints.iter().filter(|c| c.relop == Relop::Eq && !c.affine.has_calls()).any(|c| {
        let mut others = false;
        c.affine.visit_vars(&mut |n| others |= n != p && n != i && dims.contains(n));
        let factor = |n: &Name| c.affine.coefficient_of_var(n).abs();
        !others && factor(p) == 1 && factor(i) > 1
    })
}

/// Positions whose index-array calls bound `p`: they must be visited first.
pub(super) fn prerequisites(space: &Space, p: &Name) -> Vec<Name> {
    let mut out: Vec<Name> = Vec::new();
    for c in space.constraints.iter().filter(|c| c.affine.coefficient_of_var(p) != 0) {
        if c.relop != Relop::Ge {
            continue;
        }
        c.visit_calls(&mut |call| {
            for a in &call.args {
                a.visit_vars(&mut |n| {
                    let is_position = space.owner(n).is_some();
                    if is_position && n != p && !out.contains(n) {
                        out.push(n.clone());
                    }
                });
            }
        });
    }
    out
}

/// An equation says what `i` is, in terms of what is placed.
pub(super) fn is_decided(space: &Space, i: &Name, is_placed: impl Fn(&Name) -> bool) -> bool {
    let dims = space.dimensions();
    let others_placed = |affine: &Affine| {
        let others = affine.terms().iter().filter(|(a, _)| *a != Atom::Var(i.clone()));
        let rest = Affine::from_terms(others.cloned(), 0);
        let mut placed = true;
        rest.visit_vars(&mut |n| placed &= n != i && (!dims.contains(n) || is_placed(n)));
        placed
    };
    let decides = |c: &Constraint| c.relop == Relop::Eq && c.affine.coefficient_of_var(i) != 0;
    space.constraints.iter().any(|c| decides(c) && others_placed(&c.affine))
}
