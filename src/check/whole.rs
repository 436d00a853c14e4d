//! Whether every coordinate is stored, and pieces of a relation that may be read as one.

use super::declared::Declared;
use crate::formula::{Affine, Constraint, Formula, Name, Relop};
use crate::layout::memory::Memory;
use crate::layout::{self, Joined, Layout, Piecewise};
use crate::prover::{Prover, Z3Prover};
use crate::theory::Theory;

static JOINED: Memory<Option<Joined>> = Memory::new();
static WHOLE: Memory<bool> = Memory::new();

/// The relation in fewer pieces, if some differ in nothing but a bound ([`layout::joined`]), and if it is proved
/// that the element that gives the bound may be read where it does not matter, its subscripts being zero where
/// they would be negative. Remembered.
pub fn joined(layout: &Layout) -> Option<Joined> {
    if layout.relation.pieces.len() < 2 {
        return None;
    }
    JOINED.answer(layout, || {
        let joined = layout::joined(layout)?;
        let declared = Declared::new(layout);
        let mut prover = Z3Prover::new().with_any_model();
        let is_read = |bound: &Piecewise| is_readable(&declared, bound, &mut prover);
        joined.bounds.iter().all(is_read).then_some(joined)
    })
}

fn is_readable(declared: &Declared<'_>, bound: &Piecewise, prover: &mut dyn Prover) -> bool {
    let Some(array) = declared.layout.arrays.get(&bound.otherwise.array) else { return false };
    let mut facts: Vec<Formula> = bound.domain.iter().cloned().map(Formula::Constraint).collect();
    let mut args = Vec::new();
    for (k, arg) in bound.otherwise.args.iter().enumerate() {
        let read = Affine::var(format!("read{k}''"));
        let zero = Affine::zero();
        facts.push(Formula::or([
            Formula::and([
                Formula::le(zero.clone(), arg.clone()),
                Formula::eq(read.clone(), arg.clone()),
            ]),
            Formula::and([Formula::lt(arg.clone(), zero.clone()), Formula::eq(read.clone(), zero)]),
        ]));
        args.push(read);
    }
    let inside = Formula::and(array.domain_at(&args).into_iter().map(Formula::Constraint));
    !array.domain.is_empty() && declared.proves(&facts, &inside, prover)
}

/// Whether it is proved that every tensor of this layout stores an entry at each coordinate, so that nothing of it
/// is fill. Remembered, where the relation is one of which that can be.
pub fn stores_every_coordinate(layout: &Layout) -> bool {
    let (pieces, bounds) = match joined(layout) {
        Some(Joined { pieces, bounds }) => (pieces, bounds),
        None => (layout.relation.pieces.clone(), Vec::new()),
    };
    let [piece] = pieces.as_slice() else { return false };
    let positions = &layout.relation.positions;
    let last = |c: &&Constraint| positions.iter().rposition(|p| c.mentions(p));
    let at = |k: Option<usize>| -> Vec<Constraint> {
        piece.iter().filter(|c| last(c) == k).cloned().collect()
    };
    let held = |(k, p): (usize, &Name)| Held::of(layout, p, at(Some(k)));
    let held: Option<Vec<Held>> = positions.iter().enumerate().map(held).collect();
    let Some(held) = held else { return false };
    WHOLE.answer(layout, || {
        let mut theory = Declared::new(layout).theory;
        bounds.iter().for_each(|bound| theory.define(bound));
        let facts = layout.within_extents().into_iter().map(Formula::Constraint).collect();
        let mut prover = Z3Prover::new().with_any_model();
        let mut whole = Whole { theory, facts, prover: &mut prover };
        whole.proves_all(&at(None)) && held.iter().all(|held| whole.holds(held))
    })
}

/// The conditions on a position that hold no later one.
enum Held {
    /// An equation gives it; the others have to hold then.
    Solved { is: Constraint, others: Vec<Constraint> },
    /// It is one of several, of which each has a region of a coordinate.
    Among(Regions),
}

/// The position `p` in `lo..hi` holds the coordinates in `begin..end`, which may be any in `0..extent`.
struct Regions {
    p: Name,
    lo: Affine,
    hi: Affine,
    begin: Affine,
    end: Affine,
    extent: Affine,
    conditions: Vec<Constraint>,
}

impl Held {
    fn of(layout: &Layout, p: &Name, own: Vec<Constraint>) -> Option<Held> {
        let solved = |c: &&Constraint| {
            let k = c.affine.coefficient_of_var(p);
            let rest = c.affine.clone() - Affine::var(p.clone()) * k;
            c.relop == Relop::Eq && k.abs() == 1 && !rest.mentions(p)
        };
        if let Some(is) = own.iter().find(solved).cloned() {
            let others = own.into_iter().filter(|c| *c != is).collect();
            return Some(Held::Solved { is, others });
        }
        let coordinates = &layout.relation.coordinates;
        let (mut lo, mut hi, mut begin, mut end) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut along: Vec<usize> = Vec::new();
        for c in &own {
            let coordinate = coordinates.iter().position(|i| c.mentions(i));
            let of = coordinate.map_or(p, |number| &coordinates[number]);
            let k = c.affine.coefficient_of_var(of);
            let rest = c.affine.clone() - Affine::var(of.clone()) * k;
            let is_alone = !rest.mentions(of) && !coordinates.iter().any(|i| rest.mentions(i));
            if c.relop != Relop::Ge || !is_alone {
                return None;
            }
            along.extend(coordinate);
            match (coordinate.is_some(), k) {
                (false, 1) => lo.push(-rest),
                (false, -1) => hi.push(rest + Affine::constant(1)),
                (true, 1) => begin.push(-rest),
                (true, -1) => end.push(rest + Affine::constant(1)),
                _ => return None,
            }
        }
        along.dedup();
        let ([lo], [hi], [begin], [end], [along]) =
            (&lo[..], &hi[..], &begin[..], &end[..], &along[..])
        else {
            return None;
        };
        Some(Held::Among(Regions {
            p: p.clone(),
            lo: lo.clone(),
            hi: hi.clone(),
            begin: begin.clone(),
            end: end.clone(),
            extent: Affine::var(layout.extents()[*along].clone()),
            conditions: own,
        }))
    }
}

/// An entry with given coordinates is looked for, position by position.
struct Whole<'a> {
    theory: Theory,
    /// What is known of the coordinates, and of the positions that are found.
    facts: Vec<Formula>,
    prover: &'a mut dyn Prover,
}

impl Whole<'_> {
    fn proves(&mut self, more: &[Constraint], claim: Formula) -> bool {
        let more = more.iter().cloned().map(Formula::Constraint);
        let facts: Vec<Formula> = self.facts.iter().cloned().chain(more).collect();
        self.theory.proves(&|_| true, &facts, &claim, self.prover)
    }

    fn proves_all(&mut self, claims: &[Constraint]) -> bool {
        let all = Formula::and(claims.iter().cloned().map(Formula::Constraint));
        claims.is_empty() || self.proves(&[], all)
    }

    fn learn(&mut self, constraints: &[Constraint]) {
        self.facts.extend(constraints.iter().cloned().map(Formula::Constraint));
    }

    /// Whether there is such a position, which is known from then on.
    fn holds(&mut self, held: &Held) -> bool {
        match held {
            Held::Solved { is, others } => {
                self.learn(std::slice::from_ref(is));
                let found = self.proves_all(others);
                self.learn(others);
                found
            }
            Held::Among(regions) => {
                let found = self.cover(regions);
                self.learn(&regions.conditions);
                found
            }
        }
    }

    /// Whether one of the positions holds the coordinate: the first one begins at its least value or before, each
    /// where the one before ends or before that, and the last one ends where its values do.
    fn cover(&mut self, regions: &Regions) -> bool {
        let Regions { p, lo, hi, begin, end, extent, .. } = regions;
        let at = |e: &Affine, there: &Affine| e.substitute(&|n| (n == p).then(|| there.clone()));
        let here = Affine::var(p.clone());
        let next = here.clone() + Affine::constant(1);
        let last = hi.clone() - Affine::constant(1);
        if !self.proves(&[], Formula::lt(lo.clone(), hi.clone())) {
            return false;
        }
        self.learn(&[Constraint::lt(lo.clone(), hi.clone())]);
        let both = [Constraint::le(lo.clone(), here), Constraint::lt(next.clone(), hi.clone())];
        self.proves(&[], Formula::le(at(begin, lo), Affine::zero()))
            && self.proves(&[], Formula::le(extent.clone(), at(end, &last)))
            && self.proves(&both, Formula::le(at(begin, &next), end.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Layout {
        Layout::named(name).unwrap()
    }

    #[test]
    fn what_is_stored_everywhere() {
        for (name, whole) in [
            ("dense(i), dense(j)", true),
            ("csr", false),
            ("Dense(RunList(Element(0.0)))", true),
            ("RunList(Element(0))", true),
            ("RunList(RunList(Element(0)))", false),
            ("SparseList(RunList(Element(0.0)))", false),
            ("SparsePoint(RunList(Element(0.0)))", false),
            ("Dense(Dense(RunList(Element(0.0))))", true),
            ("RunList(SparseList(Element(0.0)))", false),
            ("Dense(SparseRunList(Element(0.0)))", false),
            ("Dense(SparseByteMap(Element(0.0)))", false),
            ("Dense(SparseBand(Element(0.0)))", false),
        ] {
            assert_eq!(stores_every_coordinate(&named(name)), whole, "{name}");
        }
    }

    #[test]
    fn runs_of_which_ends_are_stored_are_read_as_one_piece() {
        let runs = joined(&named("RunList(RunList(Element(0)))")).unwrap();
        assert_eq!((runs.pieces.len(), runs.bounds.len()), (1, 2));
        assert_eq!(joined(&named("symmetric-csr")), None);
    }
}
