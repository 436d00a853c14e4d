//! Runs a nest on an instance: by plain scans of the nest itself, and as code, its finds by the
//! shipped templates, in the interpreter of code.

use std::collections::HashMap;

use siskin::code::interpret::{Arguments, Interpreter};
use siskin::code::{Body, IndexWidth, Path, realise};
use siskin::formula::{Affine, Arith, Formula, Name};
use siskin::iterspace::{Operand, Source};
use siskin::loops;
use siskin::prover::Z3Prover;
use siskin::scan::{Bind, Nest};
use siskin::synth::{Plan, Proved};
use siskin::tensor::{IndexData, Values};

use super::Study;
use super::instance::Instance;
use super::random::Random;

/// More than any run on a small instance needs.
const FUEL: u64 = 1_000_000;

/// The values of all dimensions at each visit of a plain scan, in order.
pub fn scan(nest: &Nest, instance: &Instance) -> Vec<Vec<i64>> {
    let mut scan = Scan { nest, instance: instance.clone(), visited: Vec::new() };
    if scan.all(&nest.guards) {
        scan.level(0);
    }
    scan.visited
}

struct Scan<'a> {
    nest: &'a Nest,
    instance: Instance,
    visited: Vec<Vec<i64>>,
}

impl Scan<'_> {
    fn all(&self, constraints: &[siskin::formula::Constraint]) -> bool {
        constraints.iter().all(|c| c.holds(&self.instance).unwrap_or_else(|| panic!("{c} unknown")))
    }

    fn truth(&self, f: &Formula) -> bool {
        f.holds(&self.instance).unwrap_or_else(|| panic!("{f} unknown"))
    }

    fn level(&mut self, d: usize) {
        let nest = self.nest;
        let Some(level) = nest.levels.get(d) else {
            let tuple = nest.levels.iter().map(|l| self.instance.vars[&l.var]).collect();
            self.visited.push(tuple);
            return;
        };
        let value =
            |a: &Affine| Affine::value(a, &self.instance).unwrap_or_else(|| panic!("{a} unknown"));
        let range = match &level.bind {
            Bind::Let(e) => value(e)..value(e) + 1,
            Bind::Loop(r) => {
                r.lower.iter().map(value).max().unwrap()..r.upper.iter().map(value).min().unwrap()
            }
        };
        for v in range {
            self.instance.vars.insert(level.var.clone(), v);
            let go = self.all(&level.guards)
                && level.restrictions.iter().all(|r| self.truth(r))
                && self.all(&level.conditions);
            if go {
                self.level(d + 1);
            }
        }
        self.instance.vars.remove(&level.var);
    }
}

/// The code of a nest whose finds scan, but for those at the levels of `plans`.
pub fn code(study: &Study, plans: &HashMap<usize, &Proved<Plan>>) -> Body {
    let mut statement = study.statement.clone().expect("a study of finds");
    for (k, find) in study.finds.iter().enumerate() {
        let plain = |p: &&Proved<Plan>| p.template.closed_form || p.template.obligations.is_empty();
        let plan = match plans.get(&find.problem.level) {
            Some(plan) => *plan,
            None => find.plans().find(plain).expect("a plan that is always right"),
        };
        assert!(statement.choose(k, &plan.template.name), "{plan} is not proved");
    }
    let mut prover = Z3Prover::new().with_any_model();
    let loops = loops::build(&[statement], None, &loops::Sequence::default());
    let codes = realise::templates(&loops, &mut prover).unwrap_or_else(|e| panic!("{e:#?}"));
    let body = realise::declare(&[&study.space], IndexWidth::U32, false, None);
    let mut path = Path::new(&study.space.theory, &mut prover);
    let body = realise::realise(body, &loops, &codes, None, &mut path)
        .unwrap_or_else(|e| panic!("{e:#?}"));
    body.verify().unwrap_or_else(|e| panic!("{e:#?}"));
    body
}

/// Numbers for all elements, so that the sum of products tells which points were visited.
pub struct Weights {
    values: HashMap<Name, Values>,
    indices: HashMap<Name, IndexData>,
}

impl Weights {
    pub fn of(study: &Study, instance: &Instance, seed: u64) -> Weights {
        let mut random = Random(seed);
        let (mut values, mut indices) = (HashMap::new(), HashMap::new());
        for (k, o) in study.space.operands.iter().enumerate() {
            let len: i64 = o.value_shape.iter().map(|e| number(e, instance)).product();
            let mut weight = || if k == 0 { 0 } else { random.next() as i64 };
            let list: Vec<i64> = (0..len.max(0)).map(|_| weight()).collect();
            values.entry(o.value_array.clone()).or_insert(Values::I64(list));
            for array in o.arrays.values() {
                let shape: Vec<i64> = array.shape.iter().map(|e| number(e, instance)).collect();
                let data = IndexData::I64(instance.elements(&array.name, &shape));
                indices.insert(array.name.clone(), data);
            }
        }
        Weights { values, indices }
    }

    /// The output, if these points are visited.
    pub fn sum(&self, study: &Study, instance: &Instance, visited: &[Vec<i64>]) -> Vec<i64> {
        let output = study.space.output();
        let mut out = vec![0_i64; self.values[&output.value_array].len()];
        let mut at = instance.clone();
        for point in visited {
            let names = study.nest.levels.iter().map(|l| l.var.clone());
            at.vars.extend(names.zip(point.iter().copied()));
            let mut product = 1_i64;
            for source in study.space.value.leaves() {
                let Source::Operand(k) = source else { panic!("{source} is no operand") };
                let o = &study.space.operands[*k];
                let Values::I64(list) = &self.values[&o.value_array] else { unreachable!("i64") };
                product = product.wrapping_mul(list[place(o, &at)]);
            }
            let element = &mut out[place(output, &at)];
            *element = element.wrapping_add(product);
        }
        out
    }

    /// The output of the code; an error is what its interpreter refuses.
    pub fn run(&self, study: &Study, body: &Body, instance: &Instance) -> Result<Vec<i64>, String> {
        let mut given = Arguments { threads: 1, ..Arguments::default() };
        for name in study.space.params() {
            let size = instance.vars[&name];
            given.sizes.insert(name, usize::try_from(size).expect("sizes are natural"));
        }
        given.indices.extend(self.indices.iter().map(|(n, a)| (n.clone(), a)));
        given.values.extend(self.values.iter().map(|(n, v)| (n.clone(), v)));
        let out = Interpreter::new(body).run(&given, FUEL).map_err(|e| e.to_string())?;
        match &out[&study.space.output().value_array] {
            Values::I64(list) => Ok(list.clone()),
            other => panic!("{other:?}"),
        }
    }
}

fn number(e: &Arith, instance: &Instance) -> i64 {
    e.value(instance).unwrap_or_else(|| panic!("{e} unknown"))
}

/// The row-major place of an operand's value.
fn place(o: &Operand, at: &Instance) -> usize {
    let place = o.value_index.iter().zip(&o.value_shape).fold(0, |place, (index, extent)| {
        let (index, extent) = (number(index, at), number(extent, at));
        assert!((0..extent).contains(&index), "{index} is outside 0..{extent}");
        place * extent + index
    });
    place as usize
}
