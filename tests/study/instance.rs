//! Small concrete index arrays that obey the declared properties, found by backtracking.

use rustc_hash::FxHashMap;
use siskin::formula::{Affine, Formula, Meaning, Name};
use siskin::iterspace::Space;

use super::random::Random;

/// Values of parameters and index arrays.
#[derive(Clone, Debug, Default)]
pub struct Instance {
    pub vars: FxHashMap<Name, i64>,
    /// Elements of each array by [`place`].
    pub cells: FxHashMap<Name, FxHashMap<i64, i64>>,
}

/// One number for the small arguments of a call.
fn place(at: &[i64]) -> i64 {
    at.iter().fold(0, |number, arg| number * 1_000 + arg)
}

/// `None` where a variable or an element is not (yet) known.
impl Meaning for Instance {
    fn variable(&self, name: &str) -> Option<i64> {
        self.vars.get(name).copied()
    }

    fn element(&self, array: &str, at: &[i64]) -> Option<i64> {
        self.cells.get(array)?.get(&place(at)).copied()
    }
}

impl Instance {
    /// All elements of an array of this shape, row by row.
    pub fn elements(&self, array: &str, shape: &[i64]) -> Vec<i64> {
        let mut places = vec![Vec::new()];
        for len in shape {
            let longer = |p: &Vec<i64>| {
                let p = p.clone();
                (0..*len).map(move |k| [p.clone(), vec![k]].concat())
            };
            places = places.iter().flat_map(longer).collect();
        }
        places.iter().map(|at| self.element(array, at).expect("a known element")).collect()
    }

    /// A random instance of the arrays of `space` with all extents at most `most`, or `None` if
    /// there is none for the sizes drawn.
    pub fn random(space: &Space, most: usize, random: &mut Random) -> Option<Instance> {
        let mut instance = Instance::default();
        for name in space.params() {
            // Mostly large: small extents leave nothing to visit.
            let size = random.below(most + 1).max(random.below(most + 1));
            instance.vars.insert(name, size as i64);
        }
        let mut cells = Vec::new();
        let mut tensors: Vec<&Name> = Vec::new();
        for o in space.operands.iter().filter(|o| !o.arrays.is_empty()) {
            if tensors.contains(&&o.tensor) {
                continue;
            }
            tensors.push(&o.tensor);
            for array in o.arrays.values() {
                let lens: Option<Vec<i64>> = array
                    .shape
                    .iter()
                    .map(|s| s.to_affine().expect("an affine shape").value(&instance))
                    .collect();
                let mut places = vec![Vec::new()];
                for len in lens? {
                    let longer = |p: &Vec<i64>| {
                        let p = p.clone();
                        (0..len).map(move |k| [p.clone(), vec![k]].concat())
                    };
                    places = places.iter().flat_map(longer).collect();
                }
                cells.extend(places.iter().map(|p| (array.name.clone(), place(p))));
                instance.cells.insert(array.name.clone(), FxHashMap::default());
            }
        }
        // `NNZ = pos(I)`, and every property at every small place.
        let mut rules: Vec<Formula> =
            space.facts.iter().cloned().map(Formula::Constraint).collect();
        for property in &space.properties {
            let free: Vec<Name> = property.formula.free_vars();
            let free: Vec<&Name> =
                free.iter().filter(|n| !instance.vars.contains_key(*n)).collect();
            let count = (most + 2).pow(free.len() as u32);
            for number in 0..count {
                let value = |n: &Name| {
                    let at = free.iter().position(|f| *f == n)?;
                    let digit = number / (most + 2).pow(at as u32) % (most + 2);
                    Some(Affine::constant(digit as i64))
                };
                let rule = property.formula.substitute(&value);
                if rule.holds(&instance) != Some(true) {
                    rules.push(rule);
                }
            }
        }
        let rules: Vec<&Formula> = rules.iter().collect();
        let mut fuel = 500;
        let values = (-(most as i64)..=most as i64 + 1).collect::<Vec<_>>();
        instance.fill(&cells, &rules, &values, random, &mut fuel).then_some(instance)
    }

    fn fill(
        &mut self,
        cells: &[(Name, i64)],
        rules: &[&Formula],
        values: &[i64],
        random: &mut Random,
        fuel: &mut usize,
    ) -> bool {
        // Only what is still open matters from here on.
        let mut open = Vec::new();
        for &rule in rules {
            match rule.holds(self) {
                Some(true) => {}
                Some(false) => return false,
                None => open.push(rule),
            }
        }
        let Some(((array, at), rest)) = cells.split_first() else { return true };
        let start = random.below(values.len());
        for k in 0..values.len() {
            if *fuel == 0 {
                break;
            }
            *fuel -= 1;
            let step = if start.is_multiple_of(2) { k } else { values.len() - k };
            let value = values[(start + step) % values.len()];
            self.cells.get_mut(array).expect("entered above").insert(*at, value);
            if self.fill(rest, &open, values, random, fuel) {
                return true;
            }
        }
        self.cells.get_mut(array).expect("entered above").remove(at);
        false
    }
}
