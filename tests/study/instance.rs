//! Small concrete index arrays that obey the declared properties, found by backtracking.

use rustc_hash::FxHashMap;
use siskin::formula::{Affine, Atom, Constraint, Formula, Name, Relop};
use siskin::iterspace::Space;

/// SplitMix64: the same numbers everywhere.
pub struct Random(pub u64);

impl Random {
    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

/// Values of parameters and index arrays.
#[derive(Clone, Debug, Default)]
pub struct Instance {
    pub vars: FxHashMap<Name, i64>,
    /// Elements of each array by [`place`].
    pub cells: FxHashMap<Name, FxHashMap<i64, i64>>,
}

/// One number for the small arguments of a call.
fn place(args: impl Iterator<Item = Option<i64>>) -> Option<i64> {
    args.into_iter().try_fold(0, |number, arg| Some(number * 1_000 + arg?))
}

impl Instance {
    /// `None` where a variable or an element is not (yet) known.
    pub fn value(&self, affine: &Affine) -> Option<i64> {
        let mut total = affine.offset();
        for (atom, k) in affine.terms() {
            total += k * match atom {
                Atom::Var(n) => *self.vars.get(n)?,
                Atom::Floor(inner, d) => self.value(inner)?.div_euclid(*d),
                Atom::Call(call) => {
                    let at = place(call.args.iter().map(|a| self.value(a)))?;
                    *self.cells.get(&call.array)?.get(&at)?
                }
            };
        }
        Some(total)
    }

    pub fn holds(&self, c: &Constraint) -> Option<bool> {
        let value = self.value(&c.affine)?;
        Some(match c.relop {
            Relop::Eq => value == 0,
            Relop::Ge => value >= 0,
            Relop::Ne => value != 0,
        })
    }

    /// Kleene's three values: `None` is unknown.
    pub fn truth(&self, f: &Formula) -> Option<bool> {
        match f {
            Formula::Constraint(c) => self.holds(c),
            Formula::And(parts) => self.all(parts, true),
            Formula::Or(parts) => self.all(parts, false),
            Formula::Not(x) => self.truth(x).map(|t| !t),
            Formula::Implies(a, b) => match (self.truth(a), self.truth(b)) {
                (Some(false), _) | (_, Some(true)) => Some(true),
                (Some(true), Some(false)) => Some(false),
                _ => None,
            },
            Formula::Predicate(name, _) => panic!("unexpanded predicate {name}"),
        }
    }

    fn all(&self, parts: &[Formula], neutral: bool) -> Option<bool> {
        let mut unknown = false;
        for part in parts {
            match self.truth(part) {
                Some(t) if t == neutral => {}
                Some(t) => return Some(t),
                None => unknown = true,
            }
        }
        if unknown { None } else { Some(neutral) }
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
                    .map(|s| instance.value(&s.to_affine().expect("an affine shape")))
                    .collect();
                let mut places = vec![Vec::new()];
                for len in lens? {
                    let longer = |p: &Vec<i64>| {
                        let p = p.clone();
                        (0..len).map(move |k| [p.clone(), vec![k]].concat())
                    };
                    places = places.iter().flat_map(longer).collect();
                }
                let number = |p: Vec<i64>| place(p.into_iter().map(Some)).expect("known");
                cells.extend(places.into_iter().map(|p| (array.name.clone(), number(p))));
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
                if instance.truth(&rule) != Some(true) {
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
            match self.truth(rule) {
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
