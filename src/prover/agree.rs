//! Both provers at once, for tests.

use super::{Answer, IslProver, Model, Prover, Z3Prover, smtlib};
use crate::formula::Formula;

/// Answers as [`Z3Prover`] does, and panics when [`IslProver`] disagrees or when a model does not
/// satisfy the facts.
#[derive(Default)]
pub struct AgreeingProver {
    z3: Z3Prover,
    isl: IslProver,
    stack: Vec<Vec<Formula>>,
    compared: usize,
}

impl AgreeingProver {
    pub fn new() -> Self {
        Self::default()
    }

    /// How many queries both provers have decided.
    pub fn compared(&self) -> usize {
        self.compared
    }
}

impl Prover for AgreeingProver {
    fn push(&mut self, facts: &[Formula]) {
        self.z3.push(facts);
        self.isl.push(facts);
        self.stack.push(facts.to_vec());
    }

    fn pop(&mut self) {
        self.z3.pop();
        self.isl.pop();
        self.stack.pop();
    }

    fn illustrate(&mut self, query: &[Formula]) -> Option<Model> {
        self.z3.illustrate(query)
    }

    fn check(&mut self) -> Answer {
        let (first, second) = (self.z3.check(), self.isl.check());
        let query = || smtlib::script(self.stack.iter().flatten());
        for answer in [&first, &second] {
            for fact in self.stack.iter().flatten() {
                if let Some(model) = answer.model() {
                    let truth = model.satisfies(fact);
                    assert_eq!(truth, Some(true), "{model} must satisfy {fact} in\n{}", query());
                }
            }
        }
        if let (Answer::Unknown(_), _) | (_, Answer::Unknown(_)) = (&first, &second) {
            return first;
        }
        self.compared += 1;
        assert_eq!(
            first.verdict(),
            second.verdict(),
            "Z3 (left) and isl (right) disagree about\n{}",
            query()
        );
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::{Affine, Atom, Atoms, Constraint, Name, Relop, parse};
    use proptest::prelude::*;

    fn facts(texts: &[&str]) -> Vec<Formula> {
        texts.iter().map(|text| parse::formula(text).unwrap()).collect()
    }

    fn is_unsat(texts: &[&str]) -> bool {
        let mut prover = AgreeingProver::new();
        let answer = prover.prove_unsat(&facts(texts));
        assert_eq!(prover.compared(), 1, "undecided: {answer:?}");
        answer.is_unsat()
    }

    #[test]
    fn a_strictly_increasing_array_holds_no_value_twice() {
        let increasing = "p < q => crd(p) < crd(q)";
        assert!(is_unsat(&[increasing, "0 <= p", "p < q", "q < n", "crd(p) = j", "crd(q) = j"]));
        assert!(!is_unsat(&["p < q => crd(p) <= crd(q)", "p < q", "crd(p) = j", "crd(q) = j"]));
    }

    #[test]
    fn equal_arguments_have_equal_values_also_when_nested() {
        assert!(is_unsat(&["i = p0 + 1", "pos(i) = a", "pos(p0 + 1) = b", "a != b"]));
        assert!(is_unsat(&["f(f(f(x))) = x", "f(f(f(f(f(x))))) = x", "f(x) != x"]));
        assert!(!is_unsat(&["f(f(f(x))) = x", "f(f(x)) != x", "f(x) != x"]));
        assert!(is_unsat(&["g(a, b) < g(c, d)", "a = c", "b = d"]));
        assert!(!is_unsat(&["g(a, b) < g(c, d)", "a = c"]));
    }

    #[test]
    fn floors_round_down() {
        assert!(is_unsat(&["x = 0 - 1", "floor(x/2) != 0 - 1"]));
        assert!(is_unsat(&["0 <= r < 3", "x = 3*b + r", "floor(x/3) != b"]));
        assert!(!is_unsat(&["0 <= r < 4", "x = 3*b + r", "floor(x/3) != b"]));
        assert!(is_unsat(&[
            "col(floor(i/2)) = 1",
            "col(floor(j/2)) = 2",
            "2*b <= i < 2*b + 2",
            "2*b <= j < 2*b + 2"
        ]));
    }

    #[test]
    fn trivial_facts_are_decided() {
        assert!(!is_unsat(&[]));
        assert!(!is_unsat(&["true"]));
        assert!(is_unsat(&["false"]));
        assert!(is_unsat(&["x = x + 1"]));
        let nested = Formula::Not(Box::new(Formula::And(vec![Formula::Or(vec![])])));
        assert!(AgreeingProver::new().prove_unsat(&[nested]).is_sat());
    }

    #[test]
    fn popped_facts_are_forgotten() {
        let mut prover = AgreeingProver::new();
        prover.push(&facts(&["0 <= i < n"]));
        assert!(prover.prove_unsat(&facts(&["n = 0"])).is_unsat());
        prover.push(&facts(&["n <= 1"]));
        assert!(prover.prove_unsat(&facts(&["i != 0"])).is_unsat());
        prover.pop();
        assert!(prover.prove_unsat(&facts(&["i != 0"])).is_sat());
        assert_eq!(prover.compared(), 3);
    }

    #[test]
    fn a_find_that_skips_too_much_is_refuted_with_a_small_instance() {
        // Sorted but not strictly: after a hit the next key may be the same.
        let mut prover = AgreeingProver::new();
        prover.push(&facts(&[
            "0 <= q < n",
            "0 <= i < m",
            "0 <= i2 < m",
            "i < i2",
            "i < i2 => ia(i) <= ia(i2)",
        ]));
        let hit_again = facts(&["ib(q) = ia(i)", "ib(q) = ia(i2)"]);
        let answer = prover.prove_unsat(&hit_again);
        let model = answer.model().expect("keys may repeat");
        assert!(model.vars.values().all(|v| (0..=4).contains(v)), "{model}");
        prover.push(&facts(&["i < i2 => ia(i) < ia(i2)"]));
        assert!(prover.prove_unsat(&hit_again).is_unsat());
    }

    /// Linear forms over `a`, `b`, `c`, calls of `f` at a variable, or nested, and floors.
    fn a_form(in_box: bool) -> impl Strategy<Value = Affine> {
        let var = || prop::sample::select(vec!["a", "b", "c"]).prop_map(Affine::var);
        let once = var().prop_map(|v| Affine::call("f", vec![v]));
        let twice = once.clone().prop_map(|v| Affine::call("f", vec![v]));
        let other = (var(), var(), -1..2_i64).prop_map(move |(v, w, k)| {
            if in_box { v } else { Affine::call("g", vec![v + Affine::constant(k), w]) }
        });
        let floor =
            (var(), var(), -3..4_i64, 2..4_i64).prop_map(|(v, w, c, d)| (v + w * c).floor_div(d));
        let atom = prop_oneof![3 => var(), 2 => once, 1 => twice, 1 => other, 1 => floor];
        (prop::collection::vec((atom, -2..3_i64), 1..4), -3..4_i64).prop_map(|(terms, k)| {
            terms.into_iter().fold(Affine::constant(k), |sum, (atom, c)| sum + atom * c)
        })
    }

    fn a_formula(in_box: bool) -> impl Strategy<Value = Formula> {
        let relop = prop::sample::select(vec![Relop::Eq, Relop::Ge, Relop::Ge, Relop::Ne]);
        let leaf = (a_form(in_box), relop)
            .prop_map(|(affine, relop)| Formula::Constraint(Constraint { affine, relop }));
        leaf.prop_recursive(3, 10, 3, |inner| {
            let some = || prop::collection::vec(inner.clone(), 0..3);
            prop_oneof![
                some().prop_map(Formula::And),
                some().prop_map(Formula::Or),
                inner.clone().prop_map(|f| Formula::Not(Box::new(f))),
                (inner.clone(), inner.clone())
                    .prop_map(|(a, b)| Formula::Implies(Box::new(a), Box::new(b))),
            ]
        })
    }

    /// Whether some `a`, `b`, `c` in `0..3` and some `f: 0..3 -> 0..3` satisfy all facts.
    fn has_instance(facts: &[Formula]) -> bool {
        let digits = |k: usize| [k % 3, k / 3 % 3, k / 9].map(|digit| digit as i64);
        (0..27).any(|point| {
            (0..27).any(|table| {
                let (point, table) = (digits(point), digits(table));
                let value = |affine: &Affine| value_in(affine, point, table);
                let atom = |atom: &Atom| Some(value(&Affine::atom(atom.clone())));
                facts.iter().all(|fact| fact.holds(&Atoms(&atom)) == Some(true))
            })
        })
    }

    fn value_in(affine: &Affine, point: [i64; 3], table: [i64; 3]) -> i64 {
        let folded = affine.map_atoms(&mut |atom| match atom {
            Atom::Var(name) => Affine::constant(point["abc".find(&*name).unwrap()]),
            Atom::Call(call) => {
                Affine::constant(table[call.args[0].as_constant().unwrap() as usize])
            }
            floor => Affine::atom(floor),
        });
        folded.as_constant().unwrap()
    }

    /// Variables and every value of `f` in `0..3`.
    fn in_the_box(query: &[Formula]) -> Vec<Formula> {
        let mut out = query.to_vec();
        let mut bound = |affine: Affine| {
            out.push(Formula::le(Affine::zero(), affine.clone()));
            out.push(Formula::le(affine, Affine::constant(2)));
        };
        ["a", "b", "c"].into_iter().map(Affine::var).for_each(&mut bound);
        for fact in query {
            fact.visit_calls(&mut |call| bound(Affine::atom(Atom::Call(call.clone()))));
        }
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(150))]

        #[test]
        fn provers_agree_with_enumeration(query in prop::collection::vec(a_formula(true), 1..4)) {
            let query = in_the_box(&query);
            let mut prover = AgreeingProver::new();
            let answer = prover.prove_unsat(&query);
            prop_assert_eq!(prover.compared(), 1, "undecided: {:?}", answer);
            prop_assert_eq!(answer.is_sat(), has_instance(&query));
        }

        #[test]
        fn provers_agree_on_unbounded_queries(
            query in prop::collection::vec(a_formula(false), 1..5),
        ) {
            // Disagreement and wrong models panic inside.
            let answer = AgreeingProver::new().prove_unsat(&query);
            prop_assert!(!matches!(answer, Answer::Unknown(_)), "{:?}", answer);
            let names: Vec<Name> = query.iter().flat_map(Formula::free_vars).collect();
            if let Some(model) = answer.model() {
                prop_assert!(names.iter().all(|name| model.vars.contains_key(name)));
            }
        }
    }
}
