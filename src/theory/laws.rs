//! What is declared of a statement or a layout.

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use super::law::Law;
use super::sight::Sight;
use crate::formula::{Affine, Arith, Constraint, Formula, Name};
use crate::layout::{IndexArray, Piecewise};
use crate::prover::Prover;

/// Calls in sight after which their closure under instantiation ends: more than any claim about two
/// entries makes.
const MOST_CALLS: usize = 96;

/// The declared laws, and what is known of the sizes that they mention.
#[derive(Clone, Debug, Default)]
pub struct Theory {
    /// Everything constant: extents and sizes.
    pub parameters: Vec<Name>,
    /// What holds of the parameters.
    pub base: Vec<Formula>,
    pub laws: Vec<Law>,
}

impl Theory {
    pub fn new(parameters: Vec<Name>, base: Vec<Formula>) -> Theory {
        Theory { parameters, base, laws: Vec::new() }
    }

    /// Adds a declared law; all variables but the parameters are universally quantified.
    pub fn add(&mut self, formula: &Formula, property: Option<usize>) {
        self.laws.push(Law::new(formula, &self.parameters, property));
    }

    /// Adds what a function is that no array stores, once.
    pub fn define(&mut self, function: &Piecewise) {
        if self.laws.iter().any(|law| law.defines.as_ref() == Some(&function.name)) {
            return;
        }
        let formula = function.definition();
        self.laws.push(Law::definition(&function.name, &formula, &self.parameters));
    }

    /// Brings the calls into sight by which functions are defined that are in sight, from call number `from` on.
    pub(super) fn see_definitions(&self, sight: &mut Sight, mut from: usize) {
        let definitions: Vec<&Law> = self.laws.iter().filter(|law| law.defines.is_some()).collect();
        while !definitions.is_empty() && from < sight.len() {
            let known = sight.clone();
            for law in &definitions {
                law.instances(&known, from, &mut |instance| sight.insert_all(&instance));
            }
            from = known.len();
        }
    }

    /// Adds what holds of an array whatever is declared: overlapping rows.
    pub fn add_array(&mut self, array: &IndexArray) {
        for formula in overlap(array) {
            self.add(&formula, None);
        }
    }

    /// The calls of the definitions and of ground laws, which are in sight everywhere.
    pub fn sight(&self) -> Sight {
        let mut sight = Sight::default();
        self.base.iter().for_each(|f| sight.insert_all(f));
        let ground = self.laws.iter().filter(|law| law.is_ground());
        ground.for_each(|law| sight.insert_all(&law.formula));
        self.see_definitions(&mut sight, 0);
        sight
    }

    /// Every instance of the laws on the calls in sight, once.
    pub fn instances(&self, sight: &Sight) -> Vec<Formula> {
        let mut out: IndexSet<Formula, FxBuildHasher> = IndexSet::default();
        for law in &self.laws {
            law.instances(sight, 0, &mut |instance| {
                out.insert(instance);
            });
        }
        out.into_iter().collect()
    }

    /// Instances of the laws that `keep` on the calls of `facts`, and on the calls that such
    /// instances add: `pos(u)` where only `crd(p)` and `pos(u + 1)` were written.
    pub fn closure(&self, facts: &[Formula], keep: &dyn Fn(&Law) -> bool) -> Vec<Formula> {
        let mut sight = Sight::default();
        let mut add = |f: &Formula| {
            f.visit_calls(&mut |call| {
                if sight.len() < MOST_CALLS {
                    sight.insert(call);
                }
            });
        };
        facts.iter().chain(&self.base).for_each(&mut add);
        let laws: Vec<&Law> = self.laws.iter().filter(|law| keep(law)).collect();
        laws.iter().filter(|law| law.is_ground()).for_each(|law| add(&law.formula));

        if sight.len() < MOST_CALLS {
            self.see_definitions(&mut sight, 0);
        }

        let mut out: IndexSet<Formula, FxBuildHasher> = IndexSet::default();
        let mut from = 0;
        for _ in 0..2 {
            let known = sight.clone();
            for law in &laws {
                law.instances(&known, from, &mut |instance| {
                    instance.visit_calls(&mut |call| {
                        if sight.len() < MOST_CALLS {
                            sight.insert(call);
                        }
                    });
                    out.insert(instance);
                });
            }
            from = known.len();
            if sight.len() == from {
                break;
            }
        }
        out.into_iter().collect()
    }

    /// Whether the declaration, `facts` and the negation of `claim` have no model, by the laws that
    /// `keep`.
    pub fn proves(
        &self,
        keep: &dyn Fn(&Law) -> bool,
        facts: &[Formula],
        claim: &Formula,
        prover: &mut dyn Prover,
    ) -> bool {
        let mut all = facts.to_vec();
        all.push(claim.clone().not());
        let instances = self.closure(&all, keep);
        all.extend(self.base.iter().cloned());
        all.extend(instances);
        prover.is_unsat(&all)
    }
}

/// Whether the last argument may equal its extent: rows then overlap, `f(a, N)` being the element
/// of `f(a + 1, 0)`.
pub fn rows_overlap(array: &IndexArray) -> bool {
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
