//! Whether elements are visited in an order of their coordinates, so that a result can be appended.
//!
//! Two visits of the nest that agree on all outer loops and differ in one: the later writes an element
//! whose key comes later, lexicographically. With the declared properties instantiated on both, as in
//! the dependence test, the negation has no solution; a key that repeats is a solution too.

use super::Space;
use crate::formula::{Affine, Constraint, Formula, Name};
use crate::prover::{Answer, Prover};
use crate::theory::Known;

/// The points of a space, with the coordinates that tell its elements apart.
#[derive(Clone, Debug)]
pub struct Keyed<'a> {
    pub space: &'a Space,
    /// Over the dimensions that are fixed, most significant first.
    pub key: Vec<Affine>,
}

/// True if it is proved that what `later` writes in a later iteration of the loops over `dims` has a
/// greater key than what `earlier` wrote, and in the same iteration the same key. Both spaces are of one
/// statement, and call these dimensions the same.
pub fn in_order(
    earlier: &Keyed<'_>,
    later: &Keyed<'_>,
    dims: &[Name],
    prover: &mut dyn Prover,
) -> bool {
    let same = different_keys(earlier, later, dims);
    let mut none = |facts: Vec<Formula>| {
        let mut known = Known::new(&earlier.space.theory, prover);
        matches!(known.ask(&facts), Answer::Unsat)
    };
    let steps = (0..dims.len()).all(|d| none(out_of_order(earlier, later, dims, d)));
    steps && none(same)
}

/// The dimensions that both visits share keep their names; all others of the later visit have another.
fn apart(later: &Keyed<'_>, shared: &[Name]) -> impl Fn(&Name) -> Option<Affine> {
    let own: Vec<Name> =
        later.space.dimensions().into_iter().filter(|d| !shared.contains(d)).collect();
    move |n: &Name| own.contains(n).then(|| Affine::var(Name::from(format!("{n}'"))))
}

fn points(
    earlier: &Keyed<'_>,
    later: &Keyed<'_>,
    renamed: &impl Fn(&Name) -> Option<Affine>,
) -> Vec<Formula> {
    let of = |space: &Space| -> Vec<Formula> {
        let constraints = space.constraints.iter().cloned().map(Formula::Constraint);
        constraints.chain(space.guards.iter().cloned()).collect()
    };
    let mut facts = of(earlier.space);
    facts.extend(of(later.space).iter().map(|f| f.substitute(renamed)));
    facts
}

fn out_of_order(earlier: &Keyed<'_>, later: &Keyed<'_>, dims: &[Name], d: usize) -> Vec<Formula> {
    let renamed = apart(later, &dims[..d]);
    let mut facts = points(earlier, later, &renamed);
    let here = Affine::var(dims[d].clone());
    facts.push(Formula::lt(here.clone(), here.substitute(&renamed)));
    let second: Vec<Affine> = later.key.iter().map(|k| k.substitute(&renamed)).collect();
    facts.push(at_most(&second, &earlier.key));
    facts
}

fn different_keys(earlier: &Keyed<'_>, later: &Keyed<'_>, dims: &[Name]) -> Vec<Formula> {
    let renamed = apart(later, dims);
    let mut facts = points(earlier, later, &renamed);
    let pairs = earlier.key.iter().zip(&later.key);
    let differ = pairs.flat_map(|(a, b)| {
        let b = b.substitute(&renamed);
        [Formula::lt(a.clone(), b.clone()), Formula::lt(b, a.clone())]
    });
    facts.push(Formula::or(differ));
    facts
}

/// `a` is at most `b`, lexicographically.
fn at_most(a: &[Affine], b: &[Affine]) -> Formula {
    let equal = |k: usize| {
        let pairs = a.iter().zip(b).take(k);
        pairs.map(|(x, y)| Formula::Constraint(Constraint::eq(x.clone(), y.clone())))
    };
    let less = (0..a.len())
        .map(|k| Formula::and(equal(k).chain([Formula::lt(a[k].clone(), b[k].clone())])));
    Formula::or(less.chain([Formula::and(equal(a.len()))]))
}
