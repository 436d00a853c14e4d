//! Small tensors that keep every property, searched for one that breaks a claim.
//!
//! In: the layout's formulas, and facts about one or two entries. Out: a whole tensor, if some
//! tensor within the box satisfies them. Every property is instantiated on every place of the
//! box, so what comes out is a legal tensor, not just a few places of one.

use indexmap::IndexMap;

use super::declared::{Declared, Which};
use super::report::{Counterexample, Entry, SmallArray};
use crate::formula::{Affine, Arith, Atom, Call, Formula, Name};
use crate::layout::probing::{HOME, home_slot};
use crate::prover::{Model, Prover, Z3Prover};
use crate::theory::{Law, rows_overlap};

/// Arguments of index arrays are `0..=PLACES`, so an array has at most this many elements (and one
/// more, for the end of the last segment) along each axis.
const PLACES: i64 = 3;

/// Larger constants (of blocks, say) do not enlarge the box any more.
const MOST_CONSTANT: i64 = 8;

/// Instances of one property; with more, the extents shrink.
const MOST_INSTANCES: usize = 5000;

/// Arrays with more arguments have too many places.
const MOST_ARGUMENTS: usize = 4;

/// More positions or coordinates than this are not searched.
const MOST_DIMENSIONS: usize = 8;

/// The search for small tensors of one layout.
pub(super) struct SmallTensors<'t> {
    declared: &'t Declared<'t>,
    prover: Z3Prover,
    /// Extents are at most this.
    extent: i64,
    /// Whether the facts of the box are on the prover's stack: they are needed for refutations only.
    ready: bool,
    /// Whether the box is small enough to be searched.
    feasible: bool,
}

impl<'t> SmallTensors<'t> {
    pub fn new(declared: &'t Declared<'t>) -> Self {
        let mut constant = 1;
        for c in declared.layout.relation.constraints() {
            for (_, k) in c.affine.terms() {
                constant = constant.max(k.abs().min(MOST_CONSTANT));
            }
        }
        // Two whole blocks and a partial one.
        let mut extent = PLACES.max(2 * constant + 1);
        let instances = |extent: i64| {
            let of = |law: &Law| {
                highest(law, extent).iter().fold(1_usize, |n, h| n.saturating_mul(*h as usize + 1))
            };
            declared.theory.laws.iter().map(of).max().unwrap_or(0)
        };
        while extent > PLACES && instances(extent) > MOST_INSTANCES {
            extent -= 1;
        }
        let layout = declared.layout;
        let feasible = instances(extent) <= MOST_INSTANCES
            && layout.arrays.values().all(|a| a.args.len() <= MOST_ARGUMENTS)
            && layout.relation.positions.len().max(layout.rank()) <= MOST_DIMENSIONS;
        SmallTensors { declared, prover: Z3Prover::new(), extent, ready: false, feasible }
    }

    /// Why nothing is known after a search that found nothing.
    pub fn describe(&self) -> String {
        if !self.feasible {
            return "too many index arrays and dimensions to try small tensors".to_string();
        }
        format!(
            "no proof was found, and no counterexample with extents up to {} and index arrays of up to {} elements",
            self.extent,
            PLACES + 1
        )
    }

    /// The greatest extent in the box.
    pub fn extent(&self) -> i64 {
        self.extent
    }

    /// The least tensor in the box that satisfies `facts`.
    pub fn find(&mut self, facts: &[Formula]) -> Option<Found<'t>> {
        if !self.feasible {
            return None;
        }
        if !self.ready {
            let facts = self.facts();
            self.prover.push(&facts);
            self.ready = true;
        }
        let model = self.prover.illustrate(facts)?;
        Some(Found { declared: self.declared, model })
    }

    /// Sizes, places and properties in the box.
    fn facts(&self) -> Vec<Formula> {
        let declared = self.declared;
        let mut out = declared.theory.base.clone();
        for size in &declared.theory.parameters {
            out.push(Formula::le(Affine::var(size.clone()), Affine::constant(self.extent)));
        }
        for array in declared.layout.arrays.values() {
            for extent in array.shape.iter().flat_map(Arith::to_affine) {
                out.push(Formula::le(extent, Affine::constant(PLACES + 1)));
            }
            // Mentions every place, so that the model has it; the bounds exclude nothing small.
            for place in places(array.args.len()) {
                let value = Affine::call(array.name.clone(), place);
                out.push(Formula::le(Affine::constant(-64), value.clone()));
                out.push(Formula::le(value, Affine::constant(64)));
            }
        }
        for law in &declared.theory.laws {
            self.instances(law, &mut out);
        }
        // The function symbol is what it stands for, so that tables are legal.
        let mut homes = false;
        declared
            .theory
            .laws
            .iter()
            .for_each(|law| law.formula.visit_calls(&mut |c| homes |= *c.array == *HOME));
        for slots in (0..=PLACES + 1).filter(|_| homes) {
            for coordinate in 0..=self.extent {
                let args = vec![Affine::constant(slots), Affine::constant(coordinate)];
                let home = home_slot(coordinate, slots as usize) as i64;
                out.push(Formula::eq(Affine::call(HOME, args), Affine::constant(home)));
            }
        }
        out
    }

    /// All instances of a law in the box.
    fn instances(&self, law: &Law, out: &mut Vec<Formula>) {
        let highest = highest(law, self.extent);
        let mut at = vec![0; law.variables.len()];
        loop {
            let value = |n: &Name| {
                let k = law.variables.iter().position(|v| v == n)?;
                Some(Affine::constant(at[k]))
            };
            let instance = law.formula.substitute(&value).folded();
            if !instance.is_true() {
                out.push(instance);
            }
            let Some(k) = (0..at.len()).rev().find(|&k| at[k] < highest[k]) else { break };
            at[k] += 1;
            at[k + 1..].fill(0);
        }
    }
}

/// The greatest value of each bound variable in the box.
fn highest(law: &Law, extent: i64) -> Vec<i64> {
    let of = |v: &Name| if is_argument(v, &law.formula) { PLACES } else { extent };
    law.variables.iter().map(of).collect()
}

/// Every tuple of arguments in the box.
fn places(arity: usize) -> Vec<Vec<Affine>> {
    let mut out = vec![Vec::new()];
    for _ in 0..arity {
        out = out
            .into_iter()
            .flat_map(|place: Vec<Affine>| {
                (0..=PLACES).map(move |k| {
                    let mut place = place.clone();
                    place.push(Affine::constant(k));
                    place
                })
            })
            .collect();
    }
    out
}

/// Whether the variable is an argument of a call, up to a constant, and only of such calls.
fn is_argument(var: &Name, formula: &Formula) -> bool {
    let (mut plain, mut other) = (false, false);
    formula.visit_calls(&mut |call: &Call| {
        for arg in call.args.iter().filter(|a| a.mentions(var)) {
            let rest = arg.clone() - Affine::var(var.clone());
            match rest.as_constant() {
                Some(_) => plain = true,
                None => other = true,
            }
        }
    });
    plain && !other
}

/// A tensor of the box with the entries that the facts speak about.
pub(super) struct Found<'t> {
    declared: &'t Declared<'t>,
    model: Model,
}

impl Found<'_> {
    /// The value of a term over sizes, positions and coordinates.
    pub fn value(&self, affine: &Affine) -> Option<i64> {
        // A variable that no fact mentions may have any value.
        let known =
            affine.substitute(&|n| (!self.model.vars.contains_key(n)).then(|| Affine::constant(0)));
        self.model.value(&known)
    }

    /// The call with its arguments evaluated: `pos(2)`.
    pub fn call(&self, call: &Call) -> String {
        let args = call.args.iter().map(|a| Affine::constant(self.value(a).unwrap_or_default()));
        Atom::Call(Call { array: call.array.clone(), args: args.collect() }).to_string()
    }

    pub fn entry(&self, which: Which) -> Entry {
        let relation = &self.declared.layout.relation;
        let values = |names: &[Name]| {
            let value = |n: &Name| self.value(&Affine::var(which.name(n))).unwrap_or_default();
            names.iter().map(|n| (n.to_string(), value(n))).collect()
        };
        Entry { position: values(&relation.positions), coordinate: values(&relation.coordinates) }
    }

    /// The tensor, with what it shows of these entries.
    pub fn showing(&self, entries: Vec<Entry>, shows: String) -> Box<Counterexample> {
        let layout = self.declared.layout;
        let value = |n: &Name| self.value(&Affine::var(n.clone())).unwrap_or_default();
        let sizes: IndexMap<String, i64> =
            self.declared.theory.parameters.iter().map(|n| (n.to_string(), value(n))).collect();
        let mut arrays = IndexMap::new();
        for array in layout.arrays.values() {
            let lookup = |n: &str| sizes.get(n).copied();
            let call = |f: &str, args: &[i64]| self.model.call(f, args);
            let shape: Option<Vec<i64>> =
                array.shape.iter().map(|e| e.value(&(lookup, call))).collect();
            let shape: Vec<i64> = shape.unwrap_or_default().iter().map(|e| *e.max(&0)).collect();
            let mut values: Vec<i64> = Vec::new();
            let mut add = |args: &[i64]| {
                values.extend(self.model.call(&array.name, args).or(array.fill));
            };
            let mut args = vec![0; shape.len()];
            if shape.iter().all(|e| *e > 0) {
                loop {
                    add(&args);
                    let next = (0..args.len()).rev().find(|&k| args[k] + 1 < shape[k]);
                    let Some(k) = next else { break };
                    args[k] += 1;
                    args[k + 1..].fill(0);
                }
                if rows_overlap(array) {
                    if let Some(last) = args.last_mut() {
                        *last += 1;
                    }
                    add(&args);
                }
            }
            arrays.insert(array.name.to_string(), SmallArray { shape, values });
        }
        Box::new(Counterexample { sizes, arrays, entries, shows })
    }
}
