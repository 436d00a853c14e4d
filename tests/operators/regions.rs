//! Iteration algebras are sound: where a region leaves a point out, the result is the fill.

use std::sync::Arc;

use proptest::prelude::*;
use siskin::operators::algebra::{Derived, derive, region_for};
use siskin::operators::{Apply, Operator, Presence, SpecialResult, Tree, Value, samples};
use siskin::tensor::ValueType;

use super::shipped;

const OPERANDS: usize = 3;

/// An operand with its fill, or something unknown.
#[derive(Clone, Debug, PartialEq)]
enum Leaf {
    Operand { number: usize, fill: Value },
    Unknown(ValueType),
}

type Expression = Tree<Leaf>;

fn known(leaf: &Leaf) -> Derived {
    match leaf {
        Leaf::Operand { number, fill } => Derived::operand(*number, *fill),
        Leaf::Unknown(ty) => Derived::unknown(*ty),
    }
}

/// A value, and whether it is that of entries that are missing.
type Known = (Value, bool);

/// The value at a point. An argument that is missing decides what it is declared to, though IEEE
/// arithmetic may not grant it.
fn value_at(e: &Expression, held: &[Option<Value>], odd: &mut bool) -> Option<Known> {
    let found = match e {
        Tree::Leaf(Leaf::Operand { number, fill }) => {
            (held[*number].unwrap_or(*fill), held[*number].is_none())
        }
        Tree::Number(value) => (*value, false),
        Tree::Cast(ty, inner) => {
            let (value, missing) = value_at(inner, held, odd)?;
            (value.cast(*ty), missing)
        }
        Tree::If(_) => unreachable!("these expressions ask nothing"),
        Tree::Leaf(Leaf::Unknown(t)) => (samples(*t)[2 % samples(*t).len()], false),
        Tree::Apply(Apply { op, args }) => {
            let parts: Vec<Known> =
                args.iter().map(|a| value_at(a, held, odd)).collect::<Option<_>>()?;
            let types: Vec<ValueType> = parts.iter().map(|(v, _)| v.value_type()).collect();
            let signature = op.signature(&types).ok()?;
            let special = op.specials(signature.generic).into_iter().find_map(|s| {
                let (value, missing) = parts[s.argument];
                let here = value.cast(signature.arguments[s.argument]).same(s.value);
                match s.result {
                    SpecialResult::Value(result) if here && missing && !s.ieee => Some(result),
                    _ => None,
                }
            });
            let values: Vec<Value> = parts.iter().map(|(v, _)| *v).collect();
            match special {
                Some(value) => (value, true),
                None => (op.eval(&values)?, parts.iter().all(|(_, missing)| *missing)),
            }
        }
    };
    *odd |= !found.0.is_finite();
    Some(found)
}

fn operators(t: ValueType) -> Vec<Arc<Operator>> {
    let fits = |op: &Operator| {
        op.signature(&vec![t; op.arity()])
            .is_ok_and(|s| s.result == t || s.result == ValueType::Bool)
    };
    let names: Vec<&str> = shipped().all().filter(|op| fits(op)).map(|op| op.name()).collect();
    names.iter().map(|n| shipped().named(n).unwrap().clone()).collect()
}

fn value(t: ValueType) -> impl Strategy<Value = Value> {
    prop::sample::select(samples(t))
}

fn expression(t: ValueType, fills: Vec<Value>) -> impl Strategy<Value = Expression> {
    let operand = (0..OPERANDS)
        .prop_map(move |number| Tree::Leaf(Leaf::Operand { number, fill: fills[number] }));
    let leaf = prop_oneof![
        8 => operand,
        2 => value(t).prop_map(Tree::Number),
        1 => Just(Tree::Leaf(Leaf::Unknown(t))),
    ];
    leaf.prop_recursive(4, 12, 3, move |inner| {
        (prop::sample::select(operators(t)), prop::collection::vec(inner, 3)).prop_map(
            |(op, mut arguments)| {
                arguments.truncate(if op.is_variadic() { 3 } else { op.arity() });
                Tree::apply(&op, arguments)
            },
        )
    })
}

/// Fills, an expression over them, and what is stored at one point.
fn case(t: ValueType) -> impl Strategy<Value = (Expression, Vec<Value>, Vec<Option<Value>>)> {
    // Fills that mean something to operators come often.
    let common: Vec<Value> = [0, 1]
        .iter()
        .filter_map(|x| Value::integer(*x, t))
        .chain([Value::greatest(t), Value::least(t)])
        .collect();
    let fill = prop_oneof![3 => prop::sample::select(common), 1 => value(t)];
    let fills = prop::collection::vec(fill, OPERANDS);
    let stored = prop::collection::vec(prop::option::of(value(t)), OPERANDS);
    (fills, stored).prop_flat_map(move |(fills, stored)| {
        (expression(t, fills.clone()), Just(fills), Just(stored))
    })
}

/// Whether the region leaves the point out, after checking that it may.
fn check(e: &Expression, fills: &[Value], held: &[Option<Value>]) -> Result<bool, TestCaseError> {
    let Ok(Derived { fill: Some(fill), region, .. }) = derive(e, &known, false) else {
        return Ok(false);
    };
    let presence = |k: &usize| match held[*k] {
        None => Presence::Missing,
        Some(v) if v.same(fills[*k]) => Presence::Fill,
        Some(_) => Presence::Differs,
    };
    if region.contains(&presence) {
        return Ok(false);
    }
    let mut odd = false;
    let Some((found, _)) = value_at(e, held, &mut odd) else { return Ok(false) };
    let shown = region.map(&|&k: &usize| ["A", "B", "C"][k]).to_string();
    prop_assert!(
        found.same(fill) || (odd && matches!(fill, Value::F64(_) | Value::F32(_) | Value::Bool(_))),
        "{}, stored {held:?}: {found:?}, not {fill:?}, though outside of {shown}",
        text(e)
    );
    if grants(e) {
        prop_assert!(
            found.identical(fill),
            "{}, stored {held:?}: {found:?}, not {fill:?}",
            text(e)
        );
    }
    Ok(true)
}

/// An expression with its operands' fills, `min(A:0, 3)`.
fn text(e: &Expression) -> String {
    match e {
        Tree::Leaf(Leaf::Operand { number, fill }) => {
            format!("{}:{fill}", ["A", "B", "C"][*number])
        }
        Tree::Leaf(Leaf::Unknown(_)) => "?".to_string(),
        Tree::Number(value) => value.to_string(),
        Tree::Cast(ty, inner) => format!("{ty}({})", text(inner)),
        Tree::If(choice) => format!("if({}, {})", text(&choice.then), choice.otherwise),
        Tree::Apply(Apply { op, args }) => {
            let parts: Vec<String> = args.iter().map(text).collect();
            format!("{}({})", op.name(), parts.join(", "))
        }
    }
}

/// Whether no special case is applied that IEEE arithmetic does not grant.
fn grants(e: &Expression) -> bool {
    match e {
        Tree::Apply(Apply { op, args }) => {
            let all = op.types().flat_map(|t| op.specials(t));
            all.into_iter().all(|s| s.ieee || matches!(s.result, SpecialResult::Argument(_)))
                && op.iteration_text().is_none()
                && args.iter().all(grants)
        }
        _ => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn regions_of_integers_leave_out_only_what_is_the_fill((e, fills, held) in case(ValueType::I32)) {
        check(&e, &fills, &held)?;
    }

    #[test]
    fn regions_of_bytes_leave_out_only_what_is_the_fill((e, fills, held) in case(ValueType::U8)) {
        check(&e, &fills, &held)?;
    }

    #[test]
    fn regions_of_truth_values_leave_out_only_what_is_the_fill((e, fills, held) in case(ValueType::Bool)) {
        check(&e, &fills, &held)?;
    }

    #[test]
    fn regions_of_floats_leave_out_only_what_is_the_fill((e, fills, held) in case(ValueType::F64)) {
        check(&e, &fills, &held)?;
    }
}

#[test]
fn random_expressions_leave_out_many_points() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut left_out = 0;
    for t in [ValueType::I32, ValueType::F64] {
        for _ in 0..500 {
            let (e, fills, held) = case(t).new_tree(&mut runner).expect("a case").current();
            left_out += usize::from(check(&e, &fills, &held).expect("sound"));
        }
    }
    assert!(left_out > 200, "{left_out} points");
}

fn apply(name: &str, arguments: Vec<Expression>) -> Expression {
    Tree::apply(shipped().named(name).unwrap(), arguments)
}

fn operand(number: usize, fill: f64) -> Expression {
    Tree::Leaf(Leaf::Operand { number, fill: Value::F64(fill) })
}

fn truth(number: usize) -> Expression {
    Tree::Leaf(Leaf::Operand { number, fill: Value::Bool(false) })
}

fn integer(number: usize, fill: i32) -> Expression {
    Tree::Leaf(Leaf::Operand { number, fill: Value::I32(fill) })
}

/// The fill and the region as text.
fn derived(e: &Expression) -> String {
    let d = derive(e, &known, false).unwrap();
    let fill = d.fill.map_or("?".to_string(), |v| v.to_string());
    format!("{fill}: {}", d.region.map(&|&k: &usize| ["A", "B", "C"][k]))
}

#[test]
fn the_four_cases_of_the_paper_give_its_regions() {
    let inf = f64::INFINITY;
    let (a, b, c) = (operand(0, 0.0), operand(1, 0.0), operand(2, 0.0));
    let product = apply("mul", vec![a.clone(), apply("add", vec![b.clone(), c.clone()])]);
    assert_eq!(derived(&product), "0.0: A and (B or C)");
    // (1) an annihilator: max(A, B, C) with fills inf, inf, 0.
    let most = apply("max", vec![operand(0, inf), operand(1, inf), c.clone()]);
    assert_eq!(derived(&most), "inf: A and B");
    // (2) idempotent: any fill.
    assert_eq!(derived(&apply("min", vec![operand(0, 42.0), operand(1, 42.0)])), "42.0: A or B");
    // (3) an identity: the fill is that of the other.
    let most = apply("max", vec![operand(0, -inf), operand(1, 42.0)]);
    assert_eq!(derived(&most), "42.0: A or B");
    // (4) positions: only the dividend annihilates.
    assert_eq!(derived(&apply("div", vec![a.clone(), operand(1, 1.0)])), "0.0: A");
    let (x, y, z) = (integer(0, 0), integer(1, 0), integer(2, 0));
    let bits = apply("band", vec![apply("gcd", vec![x, y]), z]);
    assert_eq!(derived(&bits), "0: C and (A or B)");
    // Points that are left out of the middle.
    assert_eq!(
        derived(&apply("xor", vec![truth(0), truth(1)])),
        "false: (A or B) and (not A or not B)"
    );
    let choice = apply("select", vec![truth(0), b, operand(2, 7.0)]);
    assert_eq!(derived(&choice), "7.0: A or C");
    // The choice decides the sign of a zero, though both are equal.
    let signed = vec![truth(0), operand(2, 0.0), Tree::Number(Value::F64(-0.0))];
    assert_eq!(derived(&apply("select", signed)), "-0.0: A");
    let unsigned = vec![truth(0), operand(2, 0.0), Tree::Number(Value::F64(0.0))];
    assert_eq!(derived(&apply("select", unsigned)), "0.0: A and C");
    let free = apply("mul", vec![a, Tree::Leaf(Leaf::Unknown(ValueType::F64))]);
    assert_eq!(derived(&free), "0.0: A");
    assert_eq!(
        derived(&apply("add", vec![c, Tree::Leaf(Leaf::Unknown(ValueType::F64))])),
        "?: everywhere"
    );
}

#[test]
fn zeros_of_the_text_annihilate_floats_only_with_fast_math() {
    let e = apply("mul", vec![Tree::Number(Value::F64(0.0)), operand(0, 1.0)]);
    assert_eq!(derived(&e), "0.0: A");
    assert_eq!(derive(&e, &known, true).unwrap().region.map(&|_| "A").to_string(), "nowhere");
    let d = derive(&e, &known, true).unwrap();
    assert_eq!(region_for(&d, Value::F64(1.0)).map(&|_| "A").to_string(), "everywhere");
}

#[test]
fn the_complement_of_an_expression_is_not_taken_from_where_it_may_differ() {
    // A xor B differs from its fill at fewer points than its region has.
    let inner = apply("xor", vec![truth(0), truth(1)]);
    let outer = apply("xor", vec![inner, truth(2)]);
    assert_eq!(derived(&outer), "false: C or ((A or B) and (not A or not B))");
}
