//! Counterexamples: integers for the variables and small concrete arrays for the calls.

use std::fmt;

use indexmap::IndexMap;

use super::terms::Terms;
use crate::formula::{Affine, Atom, Atoms, Call, Formula, Meaning, Name};

/// Values that satisfy some facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    /// In the order in which the facts mention them.
    pub vars: IndexMap<Name, i64>,
    /// Every call of the facts with its arguments evaluated: `((array, args), value)`, without
    /// duplicates, sorted by array and arguments.
    pub calls: Vec<((Name, Vec<i64>), i64)>,
}

impl Model {
    /// Evaluates `terms` with values from a prover. `None` when a value exceeds 64 bits.
    pub(super) fn new(terms: &Terms, value: impl Fn(&Atom) -> Option<i64>) -> Option<Model> {
        let mut model = Model::default();
        for name in &terms.vars {
            model.vars.insert(name.clone(), value(&Atom::Var(name.clone()))?);
        }
        for call in &terms.calls {
            let args: Option<Vec<i64>> =
                call.args.iter().map(|a| a.value(&Atoms(&value))).collect();
            model.calls.push(((call.array.clone(), args?), value(&Atom::Call(call.clone()))?));
        }
        model.calls.sort();
        model.calls.dedup();
        Some(model)
    }

    /// What is left of the model when only `formula` matters: its variables, and the array places
    /// that it or `facts` mention in terms of those variables.
    #[must_use]
    pub fn about<'f>(
        &self,
        formula: &'f Formula,
        facts: impl IntoIterator<Item = &'f Formula>,
    ) -> Model {
        let own = Terms::of([formula]);
        let mut places: Vec<(Name, Vec<i64>)> = Vec::new();
        let mut keep = |call: &Call| {
            let args: Option<Vec<i64>> = call.args.iter().map(|a| self.value(a)).collect();
            places.extend(args.map(|args| (call.array.clone(), args)));
        };
        own.calls.iter().for_each(&mut keep);
        for call in &Terms::of(facts).calls {
            let mut vars = 0;
            let mut known = true;
            for arg in &call.args {
                arg.visit_vars(&mut |n| {
                    vars += 1;
                    known &= own.vars.contains(n);
                });
            }
            if vars > 0 && known {
                keep(call);
            }
        }
        Model {
            vars: self
                .vars
                .iter()
                .filter(|(n, _)| own.vars.contains(*n))
                .map(|(n, v)| (n.clone(), *v))
                .collect(),
            calls: self.calls.iter().filter(|(place, _)| places.contains(place)).cloned().collect(),
        }
    }

    /// The value of an array at a place that the facts mention.
    pub fn call(&self, array: &str, args: &[i64]) -> Option<i64> {
        let found = self
            .calls
            .binary_search_by(|((name, at), _)| (&**name, at.as_slice()).cmp(&(array, args)));
        found.ok().map(|k| self.calls[k].1)
    }

    /// The value of a linear form. `None` when it needs a variable or a place of an array that the
    /// model lacks, or exceeds 64 bits.
    pub fn value(&self, affine: &Affine) -> Option<i64> {
        affine.value(self)
    }

    /// The truth of a formula; `None` as in [`Model::value`].
    pub fn satisfies(&self, formula: &Formula) -> Option<bool> {
        formula.holds(self)
    }
}

impl Meaning for Model {
    fn variable(&self, name: &str) -> Option<i64> {
        self.vars.get(name).copied()
    }

    fn element(&self, array: &str, at: &[i64]) -> Option<i64> {
        self.call(array, at)
    }
}

/// `i = 2, crd_x = [0, 3, 3], pos(7) = 1`: an array whose known places are `0..n` prints as a list.
impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = self.vars.iter().map(|(n, v)| format!("{n} = {v}")).collect();
        for places in self.calls.chunk_by(|a, b| a.0.0 == b.0.0) {
            let dense = places.iter().enumerate().all(|(k, ((_, args), _))| args[..] == [k as i64]);
            if dense {
                let values: Vec<String> = places.iter().map(|(_, v)| v.to_string()).collect();
                parts.push(format!("{} = [{}]", places[0].0.0, values.join(", ")));
            } else {
                parts.extend(places.iter().map(|((array, args), value)| {
                    let args: Vec<String> = args.iter().map(i64::to_string).collect();
                    format!("{array}({}) = {value}", args.join(", "))
                }));
            }
        }
        f.write_str(&parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::parse;

    fn model() -> Model {
        let name = Name::from;
        let mut calls: Vec<_> =
            [(0, 0), (1, 3), (2, 3)].map(|(at, value)| ((name("crd_x"), vec![at]), value)).to_vec();
        calls.push(((name("pos"), vec![3]), 7));
        Model { vars: [(name("i"), 2), (name("q"), 1)].into_iter().collect(), calls }
    }

    #[test]
    fn arrays_print_as_lists_unless_they_have_gaps() {
        assert_eq!(model().to_string(), "i = 2, q = 1, crd_x = [0, 3, 3], pos(3) = 7");
    }

    #[test]
    fn formulas_are_evaluated_with_nested_calls_and_floors() {
        for (text, expected) in [
            ("pos(crd_x(q)) = 7 and floor((0 - q)/2) = -1", Some(true)),
            ("crd_x(q) < i => pos(9) = 0", Some(true)),
            ("not crd_x(i) = 3", Some(false)),
            ("pos(0) = 1", None),
            ("pos(0) = 1 or i = 2", Some(true)),
            ("pos(0) = 1 => i = 2", Some(true)),
            ("pos(0) = 1 => i = 3", None),
            ("z = 0", None),
        ] {
            assert_eq!(model().satisfies(&parse::formula(text).unwrap()), expected, "{text}");
        }
    }
}
