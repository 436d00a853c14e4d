//! One declared law, prepared to be instantiated.
//!
//! Laws are never given to a solver under a quantifier: refutations, which the search for finds needs
//! all the time, would not terminate. Leaving instances out can lose a proof but never accept a wrong
//! one. Before → after, at the calls `pos(a)` and `pos(a + 1)`:
//!
//! ```text
//! 0 <= p < q <= I => pos(p) <= pos(q)
//! 0 <= a < a + 1 <= I => pos(a) <= pos(a + 1)
//! ```

use indexmap::IndexMap;

use super::sight::Sight;
use crate::formula::{Affine, Atom, Call, Formula, Name};

/// No name of the relation language begins so: a bound variable captures nothing.
pub const BOUND: char = '∀';

/// With more calls in sight, only those that came close to each other are matched together: a law
/// about four calls has too many instances otherwise.
const MANY: usize = 48;

/// How many calls may have come between.
const NEAR: usize = 6;

/// A closed formula.
#[derive(Clone, Debug)]
pub struct Law {
    /// With its bound variables renamed apart from all names of a statement or layout.
    pub formula: Formula,
    /// The bound variables.
    pub variables: Vec<Name>,
    /// Its number among the declared properties; `None` for what holds of every declaration.
    pub property: Option<usize>,
    /// The function of which it says what it is, by others.
    pub(super) defines: Option<Name>,
    conjuncts: Vec<Conjunct>,
}

/// A conjunct of a law is instantiated on the calls that it mentions itself.
#[derive(Clone, Debug)]
struct Conjunct {
    formula: Formula,
    variables: Vec<Name>,
    /// Calls that, matched with calls at hand, give the variables values.
    patterns: Vec<Call>,
}

impl Law {
    /// The law that `formula` states for all values of its variables other than `parameters`.
    pub fn new(formula: &Formula, parameters: &[Name], property: Option<usize>) -> Law {
        let free = formula.free_vars();
        let bound: Vec<Name> = free.into_iter().filter(|n| !parameters.contains(n)).collect();
        let renamed = |n: &Name| Name::from(format!("{BOUND}{n}"));
        let formula = match bound.as_slice() {
            [] => formula.clone(),
            // Variables only: an array may have the name of a bound variable.
            _ => formula.substitute(&|n| bound.contains(n).then(|| Affine::var(renamed(n)))),
        };
        let mut conjuncts = Vec::new();
        split(&formula, &mut |part| conjuncts.extend(Conjunct::all(part, &is_bound)));
        Law {
            formula,
            variables: bound.iter().map(renamed).collect(),
            property,
            defines: None,
            conjuncts,
        }
    }

    /// What a function is, for all values of the variables other than `parameters`: instantiated on its calls
    /// alone, so that what it is defined by comes into sight.
    pub fn definition(function: &Name, formula: &Formula, parameters: &[Name]) -> Law {
        let mut law = Law::new(formula, parameters, None);
        for conjunct in &mut law.conjuncts {
            conjunct.patterns.retain(|call| call.array == *function);
        }
        Law { defines: Some(function.clone()), ..law }
    }

    /// Whether the law is about parameters and single elements only.
    pub fn is_ground(&self) -> bool {
        self.variables.is_empty()
    }

    /// Calls `found` on every instance in which each call of a conjunct is in sight and one of them is
    /// the call number `from` or a later one. Of ground conjuncts on their only one, if `from` is 0.
    pub(super) fn instances(&self, sight: &Sight, from: usize, found: &mut impl FnMut(Formula)) {
        for conjunct in &self.conjuncts {
            if !conjunct.variables.is_empty() {
                let bindings = IndexMap::new();
                let mut search = Search { conjunct, sight, from, bindings, first: None, found };
                search.run(0, from == 0);
            } else if from == 0 {
                found(conjunct.formula.clone());
            }
        }
    }
}

fn is_bound(name: &Name) -> bool {
    name.starts_with(BOUND)
}

/// `a or b and c` says that `a or b`.
fn looser(formula: &Formula) -> Vec<Formula> {
    let Formula::Or(parts) = formula else { return Vec::new() };
    let mut out = Vec::new();
    for (k, part) in parts.iter().enumerate() {
        let Formula::And(both) = part else { continue };
        let Some((last, first)) = both.split_last() else { continue };
        let first = Formula::and(first.iter().cloned());
        let inner = looser(last).into_iter().map(|last| Formula::and([first.clone(), last]));
        for part in std::iter::once(first.clone()).chain(inner) {
            let others = parts.iter().enumerate().filter(|(n, _)| *n != k).map(|(_, p)| p.clone());
            out.push(Formula::or(others.chain([part])));
        }
    }
    out
}

fn split(formula: &Formula, found: &mut impl FnMut(&Formula)) {
    match formula {
        Formula::And(parts) => parts.iter().for_each(|part| split(part, found)),
        other => found(other),
    }
}

impl Conjunct {
    /// `a => b and c` is both `a => b` and `a => c`: what one says of a call needs no call of the
    /// other's in sight. It stays whole where a part alone would not tell all its variables.
    ///
    /// Of a lexicographic order also what it says of its first arrays alone.
    fn all(formula: &Formula, is_bound: &impl Fn(&Name) -> bool) -> Vec<Conjunct> {
        let whole = || vec![Conjunct::new(formula, is_bound)];
        let Formula::Implies(premise, conclusion) = formula else { return whole() };
        let Formula::And(parts) = &**conclusion else {
            let mut all = whole();
            let calls = all[0].patterns.len();
            let looser = looser(conclusion).into_iter();
            let looser = looser.map(|part| (**premise).clone().implies(part));
            let looser = looser.map(|part| Conjunct::new(&part, is_bound));
            // What is about the same calls says nothing more.
            all.extend(looser.filter(|part| part.tells_all() && part.patterns.len() < calls));
            return all;
        };
        let parts: Vec<Conjunct> = parts
            .iter()
            .map(|part| Conjunct::new(&(**premise).clone().implies(part.clone()), is_bound))
            .collect();
        if parts.iter().all(Conjunct::tells_all) { parts } else { whole() }
    }

    /// Every variable is an argument of a call, so that calls at hand give it a value.
    fn tells_all(&self) -> bool {
        self.variables
            .iter()
            .all(|v| self.patterns.iter().any(|c| c.args.iter().any(|a| a.mentions(v))))
    }

    fn new(formula: &Formula, is_bound: &impl Fn(&Name) -> bool) -> Conjunct {
        let variables: Vec<Name> = formula.free_vars().into_iter().filter(is_bound).collect();
        let mut patterns: Vec<Call> = Vec::new();
        formula.visit_calls(&mut |c| {
            let open = c.args.iter().any(|a| variables.iter().any(|v| a.mentions(v)));
            // A call of another call's value, `home(W, crd(p))`, need not be in sight: the inner one
            // tells its arguments.
            let plain = |a: &Affine| {
                let calls = a.terms().iter().any(|(atom, _)| matches!(atom, Atom::Call(_)));
                !calls || !variables.iter().any(|v| a.mentions(v))
            };
            if open && c.args.iter().all(plain) && !patterns.contains(c) {
                patterns.push(c.clone());
            }
        });
        Conjunct { formula: formula.clone(), variables, patterns }
    }
}

/// The ways to match the patterns of a conjunct with calls in sight, in the order of the calls.
struct Search<'s, F> {
    conjunct: &'s Conjunct,
    sight: &'s Sight,
    from: usize,
    bindings: IndexMap<Name, Affine>,
    /// The call of the first pattern.
    first: Option<usize>,
    found: &'s mut F,
}

impl<F: FnMut(Formula)> Search<'_, F> {
    /// Matches the patterns from number `at` on; `fresh` if a new call was matched already.
    fn run(&mut self, at: usize, fresh: bool) {
        let (conjunct, sight) = (self.conjunct, self.sight);
        let Some(pattern) = conjunct.patterns.get(at) else { return self.finish() };
        let last = at + 1 == conjunct.patterns.len();
        for number in sight.of(&pattern.array) {
            if self.first.is_some_and(|first| sight.len() > MANY && first.abs_diff(number) > NEAR) {
                continue;
            }
            let here = fresh || number >= self.from;
            if last && !here {
                continue;
            }
            let call = sight.call(number);
            let before = self.bindings.len();
            let mut mismatch = false;
            let fits = pattern.args.len() == call.args.len()
                && pattern.args.iter().zip(&call.args).all(|(p, ground)| {
                    self.unify(p, ground).unwrap_or_else(|| {
                        mismatch = true;
                        true
                    })
                });
            // `crd(r, q)` with `r` bound to `a` already, at the call `crd(b, c)`: an instance about
            // `crd(a, c)`, of use where `a = b` holds without being written.
            if fits && (!mismatch || self.bindings.len() > before) {
                let first = self.first;
                self.first = first.or(Some(number));
                self.run(at + 1, here);
                self.first = first;
            }
            self.bindings.truncate(before);
        }
    }

    fn finish(&mut self) {
        let Search { conjunct, bindings, .. } = self;
        if conjunct.variables.iter().all(|v| bindings.contains_key(v)) {
            let instance = conjunct.formula.substitute(&|n| bindings.get(n).cloned()).folded();
            if !instance.is_true() {
                (self.found)(instance);
            }
        }
    }

    /// Solves `pattern = ground` for the one unbound variable of the pattern, if it has coefficient 1.
    /// `None`: everything is bound, to another term.
    fn unify(&mut self, pattern: &Affine, ground: &Affine) -> Option<bool> {
        let bound = pattern.substitute(&|n| self.bindings.get(n).cloned());
        let mut unbound = self.conjunct.variables.iter().filter(|v| bound.mentions(v));
        let (first, second) = (unbound.next(), unbound.next());
        match (first, second) {
            (None, _) => (bound == *ground).then_some(true),
            (Some(v), None) => {
                let atom = Atom::Var(v.clone());
                if bound.coefficient(&atom) != 1 {
                    return Some(false);
                }
                let rest = bound - Affine::atom(atom);
                if rest.mentions(v) {
                    return Some(false);
                }
                self.bindings.insert(v.clone(), ground.clone() - rest);
                Some(true)
            }
            _ => Some(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::parse;

    fn see(text: &str) -> Sight {
        let mut sight = Sight::default();
        parse::formula(text).unwrap().visit_calls(&mut |c| {
            sight.insert(c);
        });
        sight
    }

    fn law(property: &str) -> Law {
        let property = parse::formula(property).unwrap();
        let free = property.free_vars();
        let sizes: Vec<Name> =
            free.into_iter().filter(|n| n.chars().all(char::is_uppercase)).collect();
        Law::new(&property, &sizes, None)
    }

    fn new_instances(property: &str, sight: &Sight, from: usize) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        law(property).instances(sight, from, &mut |f| {
            let text = f.to_string();
            if !out.contains(&text) {
                out.push(text);
            }
        });
        out
    }

    fn instances(property: &str, at: &str) -> Vec<String> {
        new_instances(property, &see(at), 0)
    }

    #[test]
    fn monotonicity_is_instantiated_on_ordered_pairs_of_distinct_calls() {
        let got = instances("p < q => pos(p) <= pos(q)", "pos(a) = pos(a + 1)");
        // (a, a+1) survives; (a+1, a) has the false premise a + 1 < a; (a, a) likewise.
        assert_eq!(got, ["pos(a) <= pos(a + 1)"]);
    }

    #[test]
    fn a_segment_needs_both_of_its_ends() {
        let property = "pos(u) <= p and p < q and q < pos(u + 1) => crd(p) < crd(q)";
        let got = instances(property, "pos(a) <= pos(a + 1) and crd(x) = crd(y)");
        assert_eq!(got.len(), 2, "{got:?}");
        assert!(got[0].contains("pos(a) <= x"), "{got:?}");
        assert!(instances(property, "pos(a) = 0 and crd(x) = crd(y)").is_empty());
    }

    #[test]
    fn rows_that_are_equal_without_being_written_so_are_related() {
        let property = "p < q => crd(r, p) < crd(r, q)";
        let got = instances(property, "crd(a, x) = crd(b, y)");
        assert!(got.contains(&"x < y => crd(a, x) < crd(a, y)".to_string()), "{got:?}");
    }

    #[test]
    fn each_part_of_a_conclusion_is_instantiated_by_itself() {
        let law = "0 <= p and p < N => 0 <= crd(p, 0) and 0 <= crd(p, 1)";
        let got = instances(law, "crd(a, 0) = 1");
        assert!(got.iter().any(|f| f.contains("crd(a, 0)") && !f.contains("crd(a, 1)")), "{got:?}");
    }

    #[test]
    fn each_conjunct_is_instantiated_on_the_calls_it_mentions() {
        let property = "(p < q => crd(p) != crd(q)) and (crd(p) >= 0 => home(W, crd(p)) <= p)";
        let got = instances(property, "crd(a) = crd(b)");
        assert!(got.contains(&"a < b => crd(a) != crd(b)".to_string()), "{got:?}");
        // No call of `home` is in sight: the call inside it tells its arguments.
        assert!(got.contains(&"crd(b) >= 0 => home(W, crd(b)) <= b".to_string()), "{got:?}");
        assert_eq!(got.len(), 4, "{got:?}");
    }

    #[test]
    fn an_order_by_several_arrays_says_something_of_the_first_alone() {
        let property = "p < q => row(p) < row(q) or row(p) = row(q) and col(p) < col(q)";
        let got = instances(property, "row(a) = row(b)");
        assert!(
            got.contains(&"a < b => row(a) < row(b) or row(a) = row(b)".to_string()),
            "{got:?}"
        );
        assert_eq!(got.len(), 2, "{got:?}");
    }

    #[test]
    fn a_ground_formula_is_its_own_instance() {
        assert_eq!(instances("pos(0) = 0", "x = 1"), ["pos(0) = 0"]);
    }

    #[test]
    fn an_index_with_the_name_of_a_bound_variable_is_not_captured() {
        let got = instances("p < q => pos(p) <= pos(q)", "pos(q) = pos(p)");
        assert_eq!(got, ["p < q => pos(p) <= pos(q)", "q < p => pos(q) <= pos(p)"]);
    }

    #[test]
    fn of_very_many_calls_only_close_ones_are_matched() {
        let all: Vec<String> = (0..200).map(|k| format!("pos(x{k}) >= 0")).collect();
        let got = instances("p < q => pos(p) <= pos(q)", &all.join(" and "));
        assert!(got.len() <= 200 * 2 * NEAR, "{}", got.len());
        assert!(got.contains(&"x5 < x7 => pos(x5) <= pos(x7)".to_string()));
    }

    #[test]
    fn later_calls_add_only_the_instances_that_mention_them() {
        let property = "p < q => pos(p) <= pos(q)";
        let mut sight = see("pos(a) = pos(b)");
        let mut all = new_instances(property, &sight, 0);
        let from = sight.len();
        sight.insert(&Call { array: "pos".into(), args: vec![Affine::var("c")] });
        let more = new_instances(property, &sight, from);
        assert_eq!(more.len(), 4, "{more:?}");
        assert!(more.iter().all(|f| f.contains("pos(c)")), "{more:?}");
        all.extend(more);
        all.sort();
        let mut whole = new_instances(property, &sight, 0);
        whole.sort();
        assert_eq!(all, whole);
    }
}
