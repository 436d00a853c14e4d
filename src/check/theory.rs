//! A declaration as formulas: entries, sizes, and instances of the properties.
//!
//! In: a layout. Out: the facts about one stored entry, or two, and for any set of index-array
//! calls the instances of every property on them. Leaving instances out can lose a proof but
//! never accept a wrong claim.

use indexmap::IndexSet;

use crate::formula::{Affine, Arith, Atom, Call, Constraint, Formula, Name};
use crate::iterspace::instantiate;
use crate::layout::{IndexArray, Layout};
use crate::prover::Prover;

/// More calls than any claim about two entries makes; bounds the closure under instantiation.
const MOST_CALLS: usize = 96;

/// A property with its bound variables renamed apart from positions and coordinates.
pub(super) struct Law {
    pub formula: Formula,
    /// The bound variables.
    pub vars: Vec<Name>,
    /// Its number among the layout's properties; `None` for what holds of every layout.
    pub property: Option<usize>,
}

/// The formulas of one layout.
pub(super) struct Theory<'l> {
    pub layout: &'l Layout,
    /// Extents, then parameters.
    pub sizes: Vec<Name>,
    /// Size assumptions and definitions of parameters.
    pub base: Vec<Formula>,
    pub laws: Vec<Law>,
}

/// Which of two entries: the second one's positions and coordinates are primed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    First,
    Second,
}

impl Which {
    pub fn name(self, name: &Name) -> Name {
        match self {
            Which::First => name.clone(),
            Which::Second => Name::from(format!("{name}'")),
        }
    }
}

impl<'l> Theory<'l> {
    pub fn new(layout: &'l Layout) -> Theory<'l> {
        let mut sizes = layout.extents();
        sizes.extend(layout.params.keys().cloned());
        let mut base: Vec<Formula> =
            layout.assumptions.iter().cloned().map(Formula::Constraint).collect();
        for (name, definition) in &layout.params {
            if let Some(Ok(value)) = definition.as_ref().map(|d| d.to_affine()) {
                base.push(Formula::eq(Affine::var(name.clone()), value));
            }
        }
        let mut laws = Vec::new();
        for (k, property) in layout.properties.iter().enumerate() {
            laws.push(law(&property.formula, &sizes, Some(k)));
        }
        for array in layout.arrays.values() {
            laws.extend(overlap(array).iter().map(|formula| law(formula, &sizes, None)));
        }
        Theory { layout, sizes, base, laws }
    }

    /// `which` entry's version of a term of the relation.
    pub fn of(&self, which: Which, affine: &Affine) -> Affine {
        affine.rename(&|n| {
            let relation = &self.layout.relation;
            let own = relation.positions.contains(n) || relation.coordinates.contains(n);
            own.then(|| which.name(n))
        })
    }

    /// The constraints of a piece of the relation, for `which` entry.
    pub fn piece(&self, piece: usize, which: Which) -> Vec<Constraint> {
        self.layout.relation.pieces[piece].iter().map(|c| c.map(|a| self.of(which, a))).collect()
    }

    /// `which` entry is stored by that piece, at coordinates within the extents.
    pub fn entry(&self, piece: usize, which: Which) -> Vec<Formula> {
        let mut out: Vec<Formula> =
            self.piece(piece, which).into_iter().map(Formula::Constraint).collect();
        for dim in &self.layout.relation.coordinates {
            let at = Affine::var(which.name(dim));
            out.push(Formula::le(Affine::zero(), at.clone()));
            out.push(Formula::lt(at, Affine::var(Layout::extent_name(dim))));
        }
        out
    }

    pub fn positions(&self, which: Which) -> Vec<Affine> {
        vars(&self.layout.relation.positions, which)
    }

    pub fn coordinates(&self, which: Which) -> Vec<Affine> {
        vars(&self.layout.relation.coordinates, which)
    }

    /// Instances of the laws that `keep` on the calls of `facts`, on those of closed laws and
    /// definitions, and on the calls that such instances add.
    pub fn instances(&self, facts: &[Formula], keep: &dyn Fn(&Law) -> bool) -> Vec<Formula> {
        let mut calls: IndexSet<Call> = IndexSet::new();
        let mut add = |f: &Formula| {
            f.visit_calls(&mut |call| {
                if calls.len() < MOST_CALLS {
                    calls.insert(call.clone());
                }
            });
        };
        facts.iter().chain(&self.base).for_each(&mut add);
        let laws: Vec<&Law> = self.laws.iter().filter(|law| keep(law)).collect();
        laws.iter().filter(|law| law.vars.is_empty()).for_each(|law| add(&law.formula));

        let is_free = |n: &str| !n.starts_with(BOUND);
        let mut out: IndexSet<Formula> = IndexSet::new();
        // A second round sees the calls of the first one's instances: `pos(u)` where only `crd(p)`
        // and `pos(u + 1)` were written.
        for _ in 0..2 {
            let known: Vec<Call> = calls.iter().cloned().collect();
            let before = known.len();
            for law in &laws {
                for instance in instantiate(&law.formula, &known, &is_free) {
                    instance.visit_calls(&mut |call| {
                        if calls.len() < MOST_CALLS {
                            calls.insert(call.clone());
                        }
                    });
                    out.insert(instance);
                }
            }
            if calls.len() == before {
                break;
            }
        }
        out.into_iter().collect()
    }

    /// Whether the declaration, `facts` and the negation of `claim` have no model.
    pub fn proves(&self, facts: &[Formula], claim: &Formula, prover: &mut dyn Prover) -> bool {
        self.proves_by(&|_| true, facts, claim, prover)
    }

    /// [`Theory::proves`] by the laws that `keep`.
    pub fn proves_by(
        &self,
        keep: &dyn Fn(&Law) -> bool,
        facts: &[Formula],
        claim: &Formula,
        prover: &mut dyn Prover,
    ) -> bool {
        let mut all = facts.to_vec();
        all.push(claim.clone().not());
        let instances = self.instances(&all, keep);
        all.extend(self.base.iter().cloned());
        all.extend(instances);
        prover.is_unsat(&all)
    }
}

fn vars(names: &[Name], which: Which) -> Vec<Affine> {
    names.iter().map(|n| Affine::var(which.name(n))).collect()
}

/// No name of the relation language begins so.
pub(super) const BOUND: char = '∀';

fn law(formula: &Formula, sizes: &[Name], property: Option<usize>) -> Law {
    let vars: Vec<Name> = formula.free_vars().into_iter().filter(|n| !sizes.contains(n)).collect();
    let renamed = |n: &Name| Name::from(format!("{BOUND}{n}"));
    let formula = formula.map_affine(&|a| {
        a.map_atoms(&mut |atom| match &atom {
            Atom::Var(n) if vars.contains(n) => Affine::var(renamed(n)),
            _ => Affine::atom(atom),
        })
    });
    Law { formula, vars: vars.iter().map(renamed).collect(), property }
}

/// Whether the last argument may equal its extent: rows then overlap, `f(a, N)` being the element
/// of `f(a + 1, 0)`.
pub(super) fn rows_overlap(array: &IndexArray) -> bool {
    let (Some(last), Some(Ok(extent))) =
        (array.args.last(), array.shape.last().map(Arith::to_affine))
    else {
        return false;
    };
    let at_extent = Constraint::le(Affine::var(last.clone()), extent);
    array.args.len() > 1 && array.domain.contains(&at_extent)
}

/// What overlapping rows mean: the end of a row is the start of the next one.
fn overlap(array: &IndexArray) -> Vec<Formula> {
    let shape: Result<Vec<Affine>, String> = array.shape.iter().map(Arith::to_affine).collect();
    let Ok(shape) = shape else { return Vec::new() };
    if !rows_overlap(array) {
        return Vec::new();
    }
    let last = shape.len() - 1;
    let row: Vec<Affine> = (0..last).map(|d| Affine::var(format!("row{d}''"))).collect();
    let one = || Affine::constant(1);
    // The index that advances is `d`; those after it start again.
    let carry = |d: usize| {
        let full = (d + 1..last).map(|e| Formula::eq(row[e].clone() + one(), shape[e].clone()));
        let inside = [
            Formula::le(Affine::zero(), row[d].clone()),
            Formula::lt(row[d].clone() + one(), shape[d].clone()),
        ];
        let mut end = row.clone();
        end.push(shape[last].clone());
        let mut start = vec![Affine::zero(); last + 1];
        start[..d].clone_from_slice(&row[..d]);
        start[d] = row[d].clone() + one();
        let at = |args| Affine::call(array.name.clone(), args);
        Formula::and(full.chain(inside)).implies(Formula::eq(at(end), at(start)))
    };
    (0..last).map(carry).collect()
}
