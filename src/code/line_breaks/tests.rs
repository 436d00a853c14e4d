//! Text that rustfmt leaves as it is.

use super::*;

fn words(n: usize) -> Vec<Doc> {
    (0..n).map(|k| Doc::text(format!("argument_{k}"))).collect()
}

fn long(k: usize, width: usize) -> Doc {
    Doc::text(format!("{}{k}", "a".repeat(width - 1)))
}

#[test]
fn what_fits_stays_on_one_line() {
    assert_eq!(Doc::call("f", words(2)).render(Shape::line(4, 1)), "f(argument_0, argument_1)");
}

#[test]
fn many_arguments_go_below_each_other() {
    let got = Doc::call("f", words(6).into_iter().map(|w| w.cast("usize")).collect());
    let got = got.render(Shape::line(4, 1));
    assert!(got.starts_with("f(\n        argument_0 as usize,\n"), "{got}");
    assert!(got.ends_with("argument_5 as usize,\n    )"), "{got}");
}

#[test]
fn a_converted_call_may_overflow_from_a_chain() {
    let at =
        |array: &str, k: &str| Doc::call("at", vec![Doc::text(array), Doc::text(k)]).cast("usize");
    let lo = Doc::Parentheses(Box::new(at("right1_A", "pA1_4 - 1")));
    let lo = lo.method("max", vec![at("right1_B", "pB1_4 - 1")]);
    let range = Doc::Range { lo: Box::new(lo), dots: "..", hi: Box::new(Doc::text("x")) };
    let line = |indent: usize| Shape::line(indent, 0).after(4).unwrap();
    let got = assignment("i in", &range, line(32));
    assert!(got.starts_with("i in\n"), "{got}");
    let got = assignment("i in", &range, line(36));
    assert!(got.contains(".max(at(\n"), "{got}");
    let got = assignment("i in", &range, line(28));
    assert!(got.ends_with("as usize)\n                                ..x"), "{got}");
}

#[test]
fn a_method_of_a_field_is_a_chain() {
    let pushed = |n| Doc::text("part").field("values").method("push", vec![long(0, n)]);
    let got = |n| pushed(n).render(Shape::line(0, 1));
    let line = |n| long(0, n).flat();
    assert_eq!(got(42), format!("part.values.push({})", line(42)));
    assert_eq!(got(43), format!("part.values\n    .push({})", line(43)));
}

#[test]
fn a_closure_behind_other_arguments_has_room_for_its_parameters() {
    let sum = || long(1, 30).binary("+", long(2, 30));
    let closure = || Doc::Closure {
        parameters: "x, y".to_string(),
        lets: Vec::new(),
        result: Box::new(sum()),
    };
    let call = |n| Doc::text("w").method("combine", vec![long(0, n), closure()]);
    let got = |n| call(n).render(Shape::line(0, 1));
    let result = sum().flat();
    assert!(got(49).ends_with(&format!("|x, y| {{\n    {result}\n}})")));
    assert!(got(50).ends_with(&format!("\n    |x, y| {result},\n)")));
}

#[test]
fn operators_start_the_lines_of_a_long_chain() {
    let chain = long(0, 50).binary("&&", long(1, 50)).binary("&&", long(2, 50));
    let got = chain.render(Shape::line(0, 0));
    assert_eq!(got.lines().count(), 3);
    assert!(got.lines().skip(1).all(|l| l.starts_with("    && ")), "{got}");
}

#[test]
fn a_value_moves_to_the_next_line_where_it_fits_there() {
    let got = assignment("let x =", &long(0, 44).binary("+", long(1, 48)), Shape::line(0, 1));
    assert!(got.starts_with("let x =\n    aaa"), "{got}");
    let got = assignment("let x =", &long(0, 60).binary("+", long(1, 60)), Shape::line(0, 1));
    assert!(got.starts_with("let x = aaa") && got.contains("\n    + aaa"), "{got}");
}

#[test]
fn a_call_moves_to_the_next_line_whose_path_has_no_room() {
    let call = |path: usize| Doc::call("f".repeat(path), vec![long(0, 60), long(1, 60)]);
    let got = |path| assignment(&"x".repeat(60), &call(path), Shape::line(0, 1));
    assert!(
        got(38).starts_with(&format!("{} {}(\n", "x".repeat(60), "f".repeat(38))),
        "{}",
        got(38)
    );
    assert!(got(39).starts_with(&format!("{}\n    {}(\n", "x".repeat(60), "f".repeat(39))));
}

#[test]
fn methods_stand_below_what_ends_in_a_literal() {
    let sum = |last: &str| {
        let sum = long(0, 60).binary("+", long(1, 60)).binary("+", Doc::text(last));
        sum.parentheses().method("max", words(1)).render(Shape::line(0, 0))
    };
    assert!(sum("1").ends_with("+ 1)\n.max(argument_0)"), "{}", sum("1"));
    assert!(sum("k").ends_with("+ k)\n    .max(argument_0)"), "{}", sum("k"));
    assert!(sum("10").ends_with("+ 10)\n    .max(argument_0)"), "{}", sum("10"));
}

#[test]
fn a_binding_shares_its_line_only_with_a_name() {
    let binding = || Doc::binding("let Some(p) =", Doc::call("f", words(1)));
    let after = |first: Doc| first.binary("&&", binding()).render(Shape::line(0, 2));
    assert_eq!(after(Doc::prefix("!", Doc::text("a"))), "!a && let Some(p) = f(argument_0)");
    let two = after(Doc::text("alpha").binary("<", Doc::text("b")));
    assert_eq!(two, "alpha < b\n    && let Some(p) = f(argument_0)");
}
