//! Whether every coordinate is stored, and pieces of a relation that may be read as one.

use super::declared::Declared;
use crate::formula::{Affine, Atom, Constraint, Formula, Name, Relop};
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
/// is fill. Remembered.
pub fn stores_every_coordinate(layout: &Layout) -> bool {
    WHOLE.answer(layout, || {
        let (pieces, bounds) = match joined(layout) {
            Some(Joined { pieces, bounds }) => (pieces, bounds),
            None => (layout.relation.pieces.clone(), Vec::new()),
        };
        let [piece] = pieces.as_slice() else { return false };
        let mut theory = Declared::new(layout).theory;
        bounds.iter().for_each(|bound| theory.define(bound));
        let within = layout.within_extents();
        let facts = within.iter().cloned().map(Formula::Constraint).collect();
        let mut prover = Z3Prover::new().with_any_model();
        Whole { layout, theory, facts, prover: &mut prover }.holds(piece)
    })
}

/// Entries with given coordinates are looked for, position by position.
struct Whole<'a> {
    layout: &'a Layout,
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

    fn learn(&mut self, constraints: &[Constraint]) {
        self.facts.extend(constraints.iter().cloned().map(Formula::Constraint));
    }

    fn holds(&mut self, piece: &[Constraint]) -> bool {
        let positions = self.layout.relation.positions.clone();
        let last = |c: &Constraint| positions.iter().rposition(|p| c.mentions(p));
        let at = |k: Option<usize>| -> Vec<Constraint> {
            piece.iter().filter(|c| last(c) == k).cloned().collect()
        };
        let all = |this: &mut Self, claims: &[Constraint]| {
            this.proves(&[], Formula::and(claims.iter().cloned().map(Formula::Constraint)))
        };
        if !all(self, &at(None)) {
            return false;
        }
        for (k, p) in positions.iter().enumerate() {
            let own = at(Some(k));
            let is = own.iter().find(|c| c.relop == Relop::Eq && is_solved(c, p));
            let found = match is {
                Some(is) => {
                    let others: Vec<Constraint> =
                        own.iter().filter(|c| *c != is).cloned().collect();
                    self.learn(std::slice::from_ref(is));
                    all(self, &others)
                }
                None => self.is_among(p, &own),
            };
            if !found {
                return false;
            }
            self.learn(&own);
        }
        true
    }

    /// Whether one of the positions holds the coordinate: the first one begins at its least value or before, each
    /// where the one before ends or before that, and the last one ends where its values do.
    fn is_among(&mut self, p: &Name, own: &[Constraint]) -> bool {
        let here = Affine::var(p.clone());
        let coordinates = self.layout.relation.coordinates.clone();
        let (mut lo, mut hi, mut begin, mut end) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut along: Vec<&Name> = Vec::new();
        for c in own {
            let coordinate = coordinates.iter().find(|i| c.mentions(i));
            let of = coordinate.unwrap_or(p);
            let k = c.affine.coefficient(&Atom::Var(of.clone()));
            let rest = c.affine.clone() - Affine::var(of.clone()) * k;
            let is_alone = !rest.mentions(of) && !coordinates.iter().any(|i| rest.mentions(i));
            if c.relop != Relop::Ge || !is_alone || coordinate.is_none() && rest.mentions(p) {
                return false;
            }
            along.extend(coordinate);
            match (coordinate.is_some(), k) {
                (false, 1) => lo.push(-rest),
                (false, -1) => hi.push(rest + Affine::constant(1)),
                (true, 1) => begin.push(-rest),
                (true, -1) => end.push(rest + Affine::constant(1)),
                _ => return false,
            }
        }
        along.dedup();
        let ([lo], [hi], [begin], [end], [along]) =
            (&lo[..], &hi[..], &begin[..], &end[..], &along[..])
        else {
            return false;
        };
        let at = |e: &Affine, p2: &Affine| e.substitute(&|n| (n == p).then(|| p2.clone()));
        let next = here.clone() + Affine::constant(1);
        let both = [Constraint::le(lo.clone(), here), Constraint::lt(next.clone(), hi.clone())];
        let extents = self.layout.extents();
        let number = coordinates.iter().position(|i| i == *along).unwrap_or_default();
        let extent = Affine::var(extents[number].clone());
        if !self.proves(&[], Formula::lt(lo.clone(), hi.clone())) {
            return false;
        }
        self.learn(&[Constraint::lt(lo.clone(), hi.clone())]);
        self.proves(&[], Formula::le(at(begin, lo), Affine::zero()))
            && self.proves(&[], Formula::le(extent, at(end, &(hi.clone() - Affine::constant(1)))))
            && self.proves(&both, Formula::le(at(begin, &next), end.clone()))
    }
}

/// Whether an equation gives the value of a variable.
fn is_solved(c: &Constraint, p: &Name) -> bool {
    let k = c.affine.coefficient(&Atom::Var(p.clone()));
    let rest = c.affine.clone() - Affine::var(p.clone()) * k;
    k.abs() == 1 && !rest.mentions(p)
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
