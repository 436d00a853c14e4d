//! The find condition taken apart: what belongs to the searched position, what to the outer indices,
//! and which strict orderings could tell a walk to go on.

use std::rc::Rc;

use super::KeyPart;
use crate::formula::{Affine, Atom, Constraint, Formula, Name, Relop};
use crate::isl::{Frame, Set};

/// True if `atom` depends on the searched position `q`.
fn depends(atom: &Atom, q: &str) -> bool {
    match atom {
        Atom::Var(n) => &**n == q,
        Atom::Call(call) => call.args.iter().any(|a| a.mentions(q)),
        Atom::Floor(e, _) => e.mentions(q),
    }
}

/// `affine = inner + outer`, with `inner` all terms that depend on `q`.
pub fn split(affine: &Affine, q: &str) -> (Affine, Affine) {
    let (inner, outer): (Vec<_>, Vec<_>) =
        affine.terms().iter().cloned().partition(|(a, _)| depends(a, q));
    (Affine::from_terms(inner, 0), Affine::from_terms(outer, affine.offset()))
}

/// Strict orderings of the find condition. For equalities `inner = outer`, the lexicographic
/// `inner < outer` and `inner > outer`; for inequalities, the complement of each.
pub fn orderings(conditions: &[Constraint], q: &str) -> Vec<Formula> {
    let equalities: Vec<KeyPart> = equal_parts(conditions, q);
    if equalities.len() == conditions.len() {
        let inner: Vec<Affine> = equalities.iter().map(|k| k.inner.clone()).collect();
        let outer: Vec<Affine> = equalities.iter().map(|k| k.outer.clone()).collect();
        return vec![Formula::lex_lt(&inner, &outer), Formula::lex_lt(&outer, &inner)];
    }
    let mut out: Vec<Formula> = Vec::new();
    for c in conditions {
        match c.relop {
            Relop::Ge => out.push(Formula::Constraint(c.negated())),
            Relop::Eq => {
                let (inner, outer) = split(&c.affine, q);
                out.push(Formula::lt(inner.clone(), -outer.clone()));
                out.push(Formula::lt(-outer, inner));
            }
            Relop::Ne => {}
        }
    }
    out
}

/// Equalities as `inner = outer` with the first searched term positive.
fn equal_parts(conditions: &[Constraint], q: &str) -> Vec<KeyPart> {
    conditions
        .iter()
        .filter(|c| c.relop == Relop::Eq)
        .map(|c| {
            let (inner, outer) = split(&c.affine, q);
            let negative = inner.terms().first().is_some_and(|t| t.1 < 0);
            if negative {
                KeyPart { inner: -inner, outer }
            } else {
                KeyPart { inner, outer: -outer }
            }
        })
        .collect()
}

/// The find key: for each searched index-array value, its value as a quasi-affine function of the
/// outer indices, if the conditions determine it (isl-z3-notes §3, *find key*).
pub fn find_key(conditions: &[Constraint], q: &Name) -> Option<Vec<KeyPart>> {
    let mut searched: Vec<Atom> = Vec::new();
    let mut outer: Vec<Atom> = Vec::new();
    let mut direct = false;
    let mut collect = |atom: &Atom, into: &mut dyn FnMut(bool, Atom)| match atom {
        Atom::Var(n) if n == q => direct = true,
        other => into(depends(other, q), other.clone()),
    };
    fn atoms(a: &Affine, f: &mut dyn FnMut(&Atom)) {
        for (atom, _) in a.terms() {
            match atom {
                Atom::Floor(e, _) => atoms(e, f),
                other => f(other),
            }
        }
    }
    for c in conditions {
        atoms(&c.affine, &mut |atom| {
            collect(atom, &mut |inner, atom| {
                let list = if inner { &mut searched } else { &mut outer };
                if !list.contains(&atom) {
                    list.push(atom);
                }
            });
        });
    }
    if direct || searched.is_empty() {
        return None;
    }
    // Equalities need no set operation: `2*half(q) = i` has the key `2*half(q)`, also where no
    // position fits an odd `i`.
    let equalities = equal_parts(conditions, q);
    if equalities.len() == conditions.len() {
        return Some(equalities);
    }
    let dims: Vec<Atom> = outer.iter().chain(&searched).cloned().collect();
    let frame = Rc::new(Frame { params: Vec::new(), dims });
    let plain: Vec<Constraint> =
        conditions.iter().filter(|c| c.relop != Relop::Ne).cloned().collect();
    let set = Set::new(&frame, &plain).ok()?;
    if !set.is_single_valued(outer.len()) {
        return None;
    }
    let outputs = set.functional(outer.len())?;
    outputs
        .into_iter()
        .zip(searched)
        .map(|(pieces, atom)| match pieces.as_slice() {
            [(_, value)] => Some(KeyPart { inner: Affine::atom(atom), outer: value.clone() }),
            _ => None,
        })
        .collect()
}
