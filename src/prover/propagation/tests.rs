//! What propagation sees, and that it sees nothing else: against another prover.

use indexmap::IndexSet;
use proptest::prelude::*;

use super::*;
use crate::formula::{Affine, Constraint, parse};
use crate::prover::{IslProver, Prover};

fn push(propagation: &mut Propagation, numbers: &mut IndexSet<Formula>, facts: &[Formula]) {
    let numbered: Vec<usize> =
        facts.iter().map(|fact| numbers.insert_full(fact.clone()).0).collect();
    propagation.push(numbered.into_iter().zip(facts));
}

fn contradict(texts: &[&str]) -> bool {
    let (mut propagation, mut numbers) = (Propagation::default(), IndexSet::new());
    for text in texts {
        push(&mut propagation, &mut numbers, &[parse::formula(text).unwrap()]);
    }
    let answer = propagation.contradict();
    assert_eq!(answer, propagation.contradict(), "asked again");
    for _ in texts {
        propagation.pop();
    }
    assert!(!propagation.contradict(), "nothing is left");
    answer
}

#[test]
fn bounds_follow_from_chains_of_them() {
    assert!(contradict(&["lo <= p and p + 7 < hi", "not (lo <= p + 3 and p + 3 < hi)"]));
    assert!(contradict(&["a < b and b < c and c < d", "d < a + 3"]));
    assert!(!contradict(&["a < b and b < c and c < d", "d < a + 4"]));
    assert!(contradict(&["2*a < 7 and 3*a > 8 and a != 3"]));
    assert!(contradict(&["2*a = 2*b + 1"]));
    assert!(contradict(&["a = b and b = c and a != c"]));
}

#[test]
fn laws_hold_where_their_conditions_follow() {
    let row = "0 <= p < I and pos(p) <= q and q < pos(p + 1)";
    let laws = "(0 <= p <= I => 0 <= pos(p)) and (-1 <= p < I => pos(p + 1) <= N)";
    assert!(contradict(&[laws, row, "not (0 <= q < N)"]));
    assert!(!contradict(&[laws, row, "not (0 < q < N)"]));
    let bits = "(f(p) >= 1 => b = 1) and (not f(p) >= 1 => b = 0)";
    assert!(!contradict(&[bits, "b = 0"]));
    assert!(contradict(&[bits, "b = 0 and f(p) >= 1"]));
    assert!(contradict(&["b = 0 or b = 1", "b != 0", "b < 1"]));
}

#[test]
fn calls_of_equal_arguments_are_equal() {
    assert!(contradict(&["p = q + 1", "pos(p) < pos(q + 1)"]));
    assert!(contradict(&["p = q", "not (pos(p) = pos(q) and pos(p + 1) = pos(q + 1))"]));
    assert!(contradict(&["f(a, b) != f(b, a)", "a <= b and b <= a"]));
    assert!(!contradict(&["pos(p) < pos(q)"]));
    assert!(!contradict(&["p = q", "pos(p) != crd(q)"]));
}

#[test]
fn sums_and_halves_are_taken_apart() {
    assert!(contradict(&["p + s <= hi and s >= 8", "hi < p + 8"]));
    assert!(contradict(&["0 <= i and 0 <= j", "i + j < 0"]));
    assert!(contradict(&["0 <= p and 2*p < I", "not (p < floor((I + 1) / 2))"]));
    assert!(contradict(&["n >= 2 and h = floor(n / 2)", "not (1 <= h and h <= n)"]));
    assert!(contradict(&["n >= 0 and h = floor(n / 2)", "n - h < h"]));
    assert!(!contradict(&["n >= 1 and h = floor(n / 2)", "h < 1"]));
}

#[test]
fn bounds_that_no_number_holds_are_left_out() {
    let (mut propagation, mut numbers) = (Propagation::default(), IndexSet::new());
    let [a, b, c] = ["a", "b", "c"].map(Affine::var);
    let large = Affine::constant(i64::MAX / 2 + 1);
    let more = |a: &Affine, b: &Affine| {
        Formula::Constraint(Constraint {
            affine: b.clone() - a.clone() - large.clone(),
            relop: Relop::Ge,
        })
    };
    let facts = [Formula::le(large.clone(), a.clone()), more(&a, &b), more(&b, &c)];
    push(&mut propagation, &mut numbers, &facts);
    assert!(!propagation.contradict());
    push(&mut propagation, &mut numbers, &[Formula::lt(b, a)]);
    assert!(propagation.contradict());
}

#[test]
fn factors_of_which_no_number_holds_sums_are_left_out() {
    let sum = |by: i64| Affine::var("a") * by + Affine::var("b") * 3;
    let facts = [i64::MAX - 1, i64::MAX - 3].map(|by| Formula::le(Affine::zero(), sum(by)));
    let (mut propagation, mut numbers) = (Propagation::default(), IndexSet::new());
    push(&mut propagation, &mut numbers, &facts);
    assert!(!propagation.contradict(), "a = b = 0");
}

#[test]
fn it_ends_where_sums_raise_bounds_without_end() {
    // Neither of both is the other's half, but no bound says so.
    assert!(!contradict(&["2*a >= b + c and 2*b >= a + c + 1 and 2*c >= a + b and a >= 0"]));
}

/// Terms, relations between them, and what is built of these.
fn formulas() -> impl Strategy<Value = Formula> {
    let atom = prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "c", "d"]).prop_map(Affine::var),
        2 => (prop::sample::select(vec!["a", "b", "c"]), -1..2_i64).prop_map(|(name, by)| {
            Affine::call("f", vec![Affine::var(name) + Affine::constant(by)])
        }),
        1 => (prop::sample::select(vec!["a", "b"]), 2..4_i64, -1..2_i64).prop_map(
            |(name, by, offset)| (Affine::var(name) + Affine::constant(offset)).floor_div(by)
        ),
    ];
    let sum =
        (prop::collection::vec((atom, -2..3_i64), 1..4), -3..4_i64).prop_map(|(terms, offset)| {
            let terms = terms.into_iter().map(|(atom, by)| atom * by);
            terms.fold(Affine::constant(offset), |all, term| all + term)
        });
    let relop = prop::sample::select(vec![Relop::Ge, Relop::Ge, Relop::Eq, Relop::Ne]);
    let leaf =
        (sum, relop).prop_map(|(affine, relop)| Formula::Constraint(Constraint { affine, relop }));
    leaf.prop_recursive(2, 6, 3, |inner| {
        let parts = || prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            parts().prop_map(Formula::and),
            parts().prop_map(Formula::or),
            inner.clone().prop_map(Formula::not),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a.implies(b)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    /// Another prover never has a model of what is said to contradict itself, in any order of scopes, and whatever
    /// was there before.
    #[test]
    fn what_contradicts_has_no_model(
        scopes in prop::collection::vec(prop::collection::vec(formulas(), 1..4), 1..4),
        left in formulas(),
    ) {
        let (mut propagation, mut numbers) = (Propagation::default(), IndexSet::new());
        let mut prover = IslProver::new();
        for facts in &scopes {
            push(&mut propagation, &mut numbers, std::slice::from_ref(&left));
            propagation.contradict();
            propagation.pop();
            push(&mut propagation, &mut numbers, facts);
            prover.push(facts);
            let says = propagation.contradict();
            prop_assert!(!says || !prover.check().is_sat(), "{scopes:?}");
        }
    }
}
