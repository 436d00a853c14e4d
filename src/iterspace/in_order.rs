//! Whether elements are visited in an order of their coordinates, so that a result can be appended.
//!
//! Two visits of loops that agree on all outer ones and differ in one: the later writes an element
//! whose key comes later, lexicographically. With the declared properties instantiated on both, as in
//! the dependence test, the negation has no solution; a key that repeats is a solution too.

use super::Space;
use crate::formula::{Affine, Formula, Name};
use crate::prover::Prover;
use crate::theory::Known;

/// The points of a space, with the coordinates that tell its elements apart.
#[derive(Clone, Debug)]
pub struct Keyed<'a> {
    pub space: &'a Space,
    /// The dimensions of the loops around, outermost first.
    pub loops: Vec<Name>,
    /// Over these dimensions, most significant first.
    pub key: Vec<Affine>,
}

/// True if it is proved that what `later` writes in a later iteration of the loops has a greater key than
/// what `earlier` wrote, and in the same iteration the same key. Both spaces are of one statement; they
/// share the loops, whatever they call them.
pub fn in_order(earlier: &Keyed<'_>, later: &Keyed<'_>, prover: &mut dyn Prover) -> bool {
    rises_where_equal(earlier, later, 0, prover)
}

/// True if it is proved that of two visits whose keys begin with the same `group` parts, the later has the greater key:
/// each group comes in order, whatever comes between.
pub fn in_order_by_groups(visits: &Keyed<'_>, group: usize, prover: &mut dyn Prover) -> bool {
    rises_where_equal(visits, visits, group, prover)
}

/// [`in_order`] among visits of which the first `group` parts of the keys are equal.
fn rises_where_equal(
    earlier: &Keyed<'_>,
    later: &Keyed<'_>,
    group: usize,
    prover: &mut dyn Prover,
) -> bool {
    let mut pair = Pair::new(earlier, later);
    let same: Vec<Formula> = equal(&pair.keys.0, &pair.keys.1, group).collect();
    pair.facts.extend(same);
    let mut known = Known::new(&earlier.space.theory, prover);
    let mut none = |facts: Vec<Formula>| known.excludes(&facts);
    (0..earlier.loops.len()).all(|d| none(pair.out_of_order(d))) && none(pair.different_keys())
}

/// True if it is proved that the same key comes in one iteration of the loops only, in both spaces.
pub fn in_one_iteration(a: &Keyed<'_>, b: &Keyed<'_>, prover: &mut dyn Prover) -> bool {
    let pair = Pair::new(a, b);
    let mut known = Known::new(&a.space.theory, prover);
    let mut facts = pair.facts.clone();
    facts.extend(equal(&pair.keys.0, &pair.keys.1, pair.keys.0.len()));
    let loops = pair.loops.0.iter().zip(&pair.loops.1);
    facts.push(Formula::or(loops.map(|(x, y)| Formula::eq(x.clone(), y.clone()).not())));
    known.excludes(&facts)
}

/// A visit of each space; all dimensions of the second have names of their own.
struct Pair {
    facts: Vec<Formula>,
    loops: (Vec<Affine>, Vec<Affine>),
    keys: (Vec<Affine>, Vec<Affine>),
}

impl Pair {
    fn new(earlier: &Keyed<'_>, later: &Keyed<'_>) -> Pair {
        let own: Vec<Name> = later.space.dimensions();
        let apart = |n: &Name| own.contains(n).then(|| Affine::var(Name::from(format!("{n}'"))));
        let of = |space: &Space| -> Vec<Formula> {
            let constraints = space.constraints.iter().cloned().map(Formula::Constraint);
            constraints.chain(space.guards.iter().cloned()).collect()
        };
        let mut facts = of(earlier.space);
        facts.extend(of(later.space).iter().map(|f| f.substitute(&apart)));
        let variables = |loops: &[Name]| loops.iter().map(|n| Affine::var(n.clone())).collect();
        let second = |forms: Vec<Affine>| forms.iter().map(|a| a.substitute(&apart)).collect();
        Pair {
            facts,
            loops: (variables(&earlier.loops), second(variables(&later.loops))),
            keys: (earlier.key.clone(), second(later.key.clone())),
        }
    }

    /// The loops agree down to number `d`, and the keys do not rise with it.
    fn out_of_order(&self, d: usize) -> Vec<Formula> {
        let mut facts = self.facts.clone();
        let (first, second) = &self.loops;
        facts.extend(equal(first, second, d));
        facts.push(Formula::lt(first[d].clone(), second[d].clone()));
        facts.push(at_most(&self.keys.1, &self.keys.0));
        facts
    }

    fn different_keys(&self) -> Vec<Formula> {
        let mut facts = self.facts.clone();
        facts.extend(equal(&self.loops.0, &self.loops.1, self.loops.0.len()));
        let pairs = self.keys.0.iter().zip(&self.keys.1);
        let differ = pairs.map(|(a, b)| Formula::eq(a.clone(), b.clone()).not());
        facts.push(Formula::or(differ));
        facts
    }
}

/// The first `n` forms of both are equal.
fn equal<'a>(a: &'a [Affine], b: &'a [Affine], n: usize) -> impl Iterator<Item = Formula> + 'a {
    let pairs = a.iter().zip(b).take(n);
    pairs.map(|(x, y)| Formula::eq(x.clone(), y.clone()))
}

/// `a` is at most `b`, lexicographically.
fn at_most(a: &[Affine], b: &[Affine]) -> Formula {
    let less = (0..a.len())
        .map(|k| Formula::and(equal(a, b, k).chain([Formula::lt(a[k].clone(), b[k].clone())])));
    Formula::or(less.chain([Formula::and(equal(a, b, a.len()))]))
}
