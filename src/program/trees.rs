//! What trees of statements mean, and which of them kernels are made from.

use indexmap::IndexMap;

use super::{OracleTensor, Program, Scalar, interpret, interpret_all, resolve};
use crate::diagnostic::{Code, Result};
use crate::formula::Name;

fn tensor<T: Clone>(dims: &[usize], values: &[T]) -> OracleTensor<T> {
    OracleTensor { dims: dims.to_vec(), values: values.to_vec() }
}

fn try_run<T: Scalar>(text: &str, tensors: &[(&str, OracleTensor<T>)]) -> Result<Vec<Vec<T>>> {
    let program = Program::parse(text)?;
    let tensors: IndexMap<Name, OracleTensor<T>> =
        tensors.iter().map(|(n, t)| (Name::from(*n), t.clone())).collect();
    let dims = tensors.iter().map(|(n, t)| (n.clone(), t.dims.clone())).collect();
    let extents = resolve(&program, &dims, &IndexMap::new())?;
    let outputs = interpret_all(&program, &tensors, &extents)?;
    Ok(outputs.into_values().map(|t| t.values).collect())
}

#[track_caller]
fn run<T: Scalar>(text: &str, tensors: &[(&str, OracleTensor<T>)]) -> Vec<Vec<T>> {
    try_run(text, tensors).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn refusal<T: Scalar>(text: &str, tensors: &[(&str, OracleTensor<T>)]) -> (String, String) {
    let e = try_run(text, tensors).unwrap_err();
    assert!(e.help.is_some() && e.source.is_some());
    (e.message.clone(), text[e.span.unwrap().0].to_string())
}

fn x() -> (&'static str, OracleTensor<i64>) {
    ("x", tensor(&[4], &[3, 1, 4, 1]))
}

#[test]
fn index_notation_is_its_tree() {
    for (notation, tree) in [
        ("y[i] += 2 * x[i]", "forall i { y[i] += 2 * x[i] }"),
        ("y[i] = x[i]", "{ declare y 0 forall i { y[i] += x[i] } }"),
        ("y min= x[i] if i > 1", "forall i { if i > 1 { y min= x[i] } }"),
        ("y = a", "{ declare y 0 y += a }"),
    ] {
        let (program, again) = (Program::parse(notation).unwrap(), Program::parse(tree).unwrap());
        assert_eq!(program, again, "{tree}");
        assert_eq!(again.to_string(), program.to_string());
    }
    let reduction = "C[i,j] = A[i,k] * B[k,j]";
    assert_eq!(
        Program::parse(reduction).unwrap().root().to_string(),
        "{\n  declare C 0\n  forall i {\n    forall j {\n      forall k {\n        C[i,j] += A[i,k] \
         * B[k,j]\n      }\n    }\n  }\n}"
    );
}

#[test]
fn keywords_of_trees_are_names_in_index_notation_and_in_trees() {
    let x = tensor(&[2], &[5, 6]);
    let run_one = |text: &str| run(text, &[("for", x.clone()), ("let", x.clone())]);
    assert_eq!(run_one("declare[in] = for[in] * let[in]"), [[25, 36]]);
    let text = "for for_ in 2 { forall[for_] += for[for_] else[for_] += let[for_] in_ += 1 }";
    assert_eq!(run_one(text), [vec![5, 6], vec![5, 6], vec![2]]);
    assert_eq!(
        run_one("for in in 2 { if in = 0 { y += for[in] } else { z += let[in] } }"),
        [[5], [6]]
    );
}

#[test]
fn both_branches_of_an_if_run() {
    let text = "forall i { if i < 2 { y[i] += x[i] } else { y[i] += -x[i] z += x[i] } }";
    assert_eq!(run(text, &[x()]), [vec![3, 1, -4, -1], vec![5]]);
    // Conditions nest, and may be empty on one side.
    let text = "forall i { if i > 0 { if i = 2 { } else { s += x[i] } } }";
    assert_eq!(run(text, &[x()]), [[2]]);
}

#[test]
fn a_choice_depends_on_values() {
    let text = "for i { when x[i] > 2 { s += x[i] } else { n += 1 } }";
    assert_eq!(run(text, &[x()]), [[7], [2]]);
    let text = "{ declare t 0 for i { t += x[i] when t > 3 { y[i] += t } } }";
    assert_eq!(run(text, &[x()]), [vec![9], vec![0, 4, 8, 9]]);
    let (message, place) = refusal("for i { when x[i] { s += 1 } }", &[x()]);
    assert_eq!(message, "a condition is a truth value, not of type i64");
    assert_eq!(place, "x[i]");
    // What reads outside chooses nothing.
    assert_eq!(run("for i in 5 { when x[i+1] > 0 { s += 1 } else { s += 1 } }", &[x()]), [[3]]);
}

#[test]
fn what_lies_outside_has_another_value() {
    let text = "for i in 6 { y[i] += within(x[i - 1], x[i - 1] * 10, -1) }";
    assert_eq!(run(text, &[x()]), [[-1, 30, 10, 40, 10, -1]]);
    // What is asked for, and not read, decides nothing else; the value that is not taken is not read.
    let text = "for i in 2 { y[i] += within(x[9*i], 1, x[3*i]) }";
    assert_eq!(run(text, &[x()]), [[1, 1]]);
    assert_eq!(run("for i in 2 { y[i] += within(x[i+3], x[i+9], 7) }", &[x()]), [[0, 7]]);
}

#[test]
fn values_are_subscripts() {
    let places = ("p", tensor(&[4], &[2, 0, 3, 3]));
    let gather = "forall i { let v = p[i] { y[i] += x[v] } }";
    assert_eq!(run(gather, &[x(), places.clone()]), [[4, 3, 1, 1]]);
    let scatter = "{ declare y given for i { let v = p[i] { y[v + 1] += x[i] } } }";
    let y = ("y", tensor(&[6], &[100, 0, 0, 0, 0, 0]));
    assert_eq!(run(scatter, &[x(), places.clone(), y]), [[100, 1, 0, 3, 5, 0]]);
    let outside = "for i { let v = p[i] { s += x[v + 1] } }";
    let (message, place) = refusal(outside, &[x(), places.clone()]);
    assert_eq!((message.as_str(), place.as_str()), ("a subscript leaves its tensor", "x[v + 1]"));
    let asked = "for i { let v = p[i] { y[i] += within(x[v + 1], x[v + 1], 9) } }";
    assert_eq!(run(asked, &[x(), places.clone()]), [[1, 1, 9, 9]]);
    let unknown = "for i { let v = p[i] { y[v] += x[i] } }";
    assert_eq!(refusal(unknown, &[x(), places]).0, "the dimensions of `y` are unknown");
    let floats = "for i in 1 { let v = f[i] { s += f[v] } }";
    let (message, _) = refusal(floats, &[("f", tensor(&[1], &[0.0]))]);
    assert_eq!(message, "`f[i]` is of type f64, no subscript");
}

#[test]
fn a_given_output_is_updated() {
    let y = ("y", tensor(&[4], &[10, 20, 30, 40]));
    let text = "{ declare y given forall i { when x[i] > 2 { y[i] = x[i] } } }";
    assert_eq!(run(text, &[x(), y]), [[3, 20, 4, 40]]);
    assert_eq!(refusal(text, &[x()]).0, "tensor `y` is not given");
    let (message, place) = refusal("for i { declare t given t += x[i] }", &[x()]);
    assert_eq!(
        (message.as_str(), place.as_str()),
        ("`t` is given, but declared inside a block", "t")
    );
}

#[test]
fn a_let_is_computed_once_before_its_block() {
    let text = "{ declare s 1 for i { let v = x[i] * 10 { s += v s *= 2 s += v * i } } }";
    let expected = [30, 10, 40, 10].iter().zip(0..).fold(1, |s, (v, i)| (s + v) * 2 + v * i);
    assert_eq!(run(text, &[x()]), [[expected]]);
    // It keeps its value when what it read has changed.
    let text = "{ declare t 3 let v = t[] { t += 4 y += v } }";
    assert_eq!(run::<i64>(text, &[]), [[7], [3]]);
}

#[test]
fn statements_that_read_outside_are_dropped_alone() {
    let text = "forall i in 5 { let v = x[i+1] { s += 1 r += v } n += 1 }";
    assert_eq!(run(text, &[x()]), [[3], [6], [5]]);
}

#[test]
fn statements_run_from_top_to_bottom() {
    let text =
        "{ forall i { t[i] += 2 * x[i] } forall j { s += t[j] } forall k { y[k] += s * x[k] } }";
    assert_eq!(run(text, &[x()]), [vec![6, 2, 8, 2], vec![18], vec![54, 18, 72, 18]]);
}

#[test]
fn fixed_loops_run_in_order() {
    let prefix = "{ declare s 0 for i { s += x[i] y[i] += s } }";
    assert_eq!(run(prefix, &[x()]), [vec![9], vec![3, 4, 8, 9]]);
    let last = "{ declare y 0 for i { y[] = x[i] * i } }";
    assert_eq!(run(last, &[x()]), [[3]]);
    let horner = "{ declare y 0 for i { y *= 10 y += x[i] } }";
    assert_eq!(run(horner, &[x()]), [[3141]]);
}

#[test]
fn a_declaration_inside_a_loop_is_fresh_each_time() {
    let a = tensor(&[2, 3], &[1, 2, 3, 4, 5, 6]);
    let text = "forall i { declare t 1 forall j { t *= A[i,j] } y[i] += t }";
    assert_eq!(run(text, &[("A", a.clone())]), [[6, 120]]);
    // A row as workspace, with its extent from the loop that writes it.
    let text = "forall i { declare w 0 forall j { w[j] = A[i,j] } forall k { y[i,k] += w[2-k] } }";
    assert_eq!(run(text, &[("A", a)]), [[3, 2, 1, 6, 5, 4]]);
}

#[test]
fn a_declaration_fills_with_any_number() {
    let x = tensor(&[3], &[3.0, 1.0, 4.0]);
    let run_on = |text: &str| run(text, &[("x", x.clone())]);
    assert_eq!(run_on("{ declare y inf forall i { y min= x[i] } }"), [[1.0]]);
    assert_eq!(
        run_on("{ declare y -inf forall i { if i > 9 { y max= x[i] } } }"),
        [[f64::NEG_INFINITY]]
    );
    assert_eq!(run_on("{ declare y -2.5 forall i { y[i+1] += x[i] } }"), [[-2.5, 0.5, -1.5, 1.5]]);
    let message = "`inf` is not a value of i64".to_string();
    assert_eq!(refusal::<i64>("{ declare y inf y += 1 }", &[]), (message, "y".into()));
    let message = "`0.5` is not a value of i64".to_string();
    assert_eq!(refusal::<i64>("{ declare y 0.5 y += 1 }", &[]), (message, "y".into()));
}

#[test]
fn indices_are_values() {
    let text = "forall i { y[i] += i * x[i] - i }";
    assert_eq!(run(text, &[x()]), [[0, 0, 6, 0]]);
    let message = "the value is of type i64, which `y` of type bool cannot hold".to_string();
    let found = refusal("forall i in 3 { y[i] += i }", &[("x", tensor(&[1], &[true]))]);
    assert_eq!(found, (message, "i".into()));
}

#[test]
fn loops_that_do_nothing_take_no_time() {
    let large = "forall i in 9000000000000000000";
    let text = format!("{{ {large} {{ }} forall j in 0 {{ {} {{ s += 1 }} }} s += 2 }}", {
        large.replace('i', "k").replace("kn", "in")
    });
    assert_eq!(run::<i64>(&text, &[]), [[2]]);
    let text = format!("{large} {{ s += 1 }}");
    let e = try_run::<i64>(&text, &[]).unwrap_err();
    assert_eq!(e.message, "the dense interpreter would visit 9000000000000000000 points");
}

#[test]
fn a_program_of_several_outputs_is_asked_for_all() {
    let program = Program::parse("{ s += 1 t += 2 }").unwrap();
    let extents = resolve(&program, &IndexMap::new(), &IndexMap::new()).unwrap();
    let e = interpret::<f64>(&program, &IndexMap::new(), &extents).unwrap_err();
    assert_eq!(e.message, "the program has 2 outputs");
    let names: Vec<Name> = program.outputs();
    assert_eq!(names.iter().map(|n| &**n).collect::<Vec<_>>(), ["s", "t"]);
}

#[test]
fn what_kernels_are_not_made_from_is_named_in_its_place() {
    for (text, message, place) in [
        ("for i { y[i] += x[i] }", "a loop of fixed order is not compiled yet", "i"),
        ("{ y += a z += a }", "more than one statement is not compiled yet", "z"),
        ("forall i { y[i] += x[i] z += x[i] }", "more than one statement is not compiled yet", "z"),
        ("let v = a { y += v }", "a `let` is not compiled yet", "v"),
        (
            "forall i { if i < 2 { y += x[i] } else { } }",
            "an `else` is not compiled yet",
            " i < 2 ",
        ),
        (
            "{ declare y 1 forall i { y += x[i] } }",
            "a `declare` other than to 0 before a sum is not compiled yet",
            "y",
        ),
        ("forall i { declare t 0 t += x[i] }", "more than one statement is not compiled yet", "t"),
        (
            "forall i in 3 { y += x[i] }",
            "an extent that the program states is not compiled yet",
            "i",
        ),
        (
            "forall i in 3 { y += 2 }",
            "a loop over `i`, which is no subscript, is not compiled yet",
            "i",
        ),
        (
            "forall j { forall i { y[i] += A[i,j] } }",
            "this nesting of loops is not compiled yet",
            "j",
        ),
        ("forall i { }", "an empty block is not compiled yet", ""),
    ] {
        let e = Program::parse(text).unwrap().assignment().expect_err(text);
        assert_eq!((e.code, e.message.as_str()), (Code::Program, message), "{text}");
        assert_eq!(&text[e.span.unwrap().0], place, "{text}");
        assert!(e.help.is_some() && e.source.is_some());
    }
}

#[test]
fn what_is_no_tree_is_refused_in_its_place() {
    for (text, message, at) in [
        ("forall i y[i] += x[i]", "expected `{`, found `y`", 9..10),
        ("for i in { }", "expected a number of iterations, found `{`", 9..10),
        ("for i in 1.5 { }", "`1.5` is not a number of iterations", 9..12),
        (
            "for i in 99999999999999999999 { }",
            "`99999999999999999999` is not a number of iterations",
            9..29,
        ),
        ("{ y += 1", "`{` is not closed", 0..1),
        ("{ y += 1 } }", "expected the end of the program, found `}`", 11..12),
        ("{ y += 1 } z += 2", "expected the end of the program, found `z`", 11..12),
        ("{ 2 }", "expected a statement, found `2`", 2..3),
        (
            "{ y += a b }",
            "expected an assignment (`=`, `+=`, `*=`, `min=`, `max=`), found `}`",
            11..12,
        ),
        ("let v 2 { }", "expected `=`, found `2`", 6..7),
        ("declare y", "expected a number or `inf`, found the end of the program", 9..9),
        ("if { }", "`if` without a condition", 0..2),
        (
            "for i { if i < { y += 1 } }",
            "expected an expression, found the end of the text",
            15..15,
        ),
        ("if 0 < 1", "expected `{`, found the end of the program", 8..8),
        ("{ y[{ += 2 }", "`[` is not closed", 3..4),
    ] {
        let e = Program::parse(text).expect_err(text);
        assert_eq!((e.code, e.message.as_str()), (Code::Program, message), "{text}");
        assert_eq!(e.span.unwrap().0, at, "{text}");
        assert!(e.help.is_some() && e.source.is_some(), "{text}");
    }
    let deep = format!("{}{}", "{".repeat(1000), "}".repeat(1000));
    assert!(Program::parse(&deep).unwrap_err().message.contains("too deeply"));
    let long = format!("{{ y += a{} }}", " + a".repeat(3000));
    assert_eq!(Program::parse(&long).unwrap_err().message, "expression is too long");
    let many = format!("{{ {} }}", "y += a ".repeat(3000));
    assert_eq!(Program::parse(&many).unwrap().assigns().len(), 3000);
}
