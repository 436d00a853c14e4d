//! Operators that choose, and elements that are missing or nothing: by the interpreter, and as kernels.

use serde_json::{Value, json};

use super::Inputs;
use super::compiled::Given;

fn inputs() -> Inputs {
    Inputs::default()
        .integers("x", &[4], &[3, 1, 4, 1])
        .floats("f", &[4], &[0.5, 0.0, -2.0, 0.0])
        .integers("p", &[4], &[2, 2, 1, 4])
        .integers("A", &[2, 4], &[1, 0, 0, 2, 0, 0, 3, 0])
}

/// What the program returns, whoever runs it; and whether that is a kernel.
fn run(text: &str) -> (Vec<Value>, bool) {
    let given = Given::new(&inputs(), text, &|_, _| None);
    let said = given.said().unwrap_or_else(|e| panic!("{text}\n{e}"));
    let outputs = said["outputs"].as_array().unwrap();
    (outputs.iter().map(|o| o["values"].clone()).collect(), said.get("interpreted").is_none())
}

#[track_caller]
fn is(text: &str, expected: Value) {
    assert_eq!(run(text).0, [expected], "{text}");
}

/// As a kernel.
#[track_caller]
fn compiled(text: &str, expected: Value) {
    assert_eq!(run(text), (vec![expected], true), "{text}");
}

#[test]
fn operators_that_choose_are_updates() {
    let of = |update: &str| format!("s .= 5\nfor i = _\n s[] {update} x[i]\nend");
    compiled(&of("<<overwrite>>="), json!(1));
    compiled(&of("<<initwrite(5)>>="), json!(1));
    compiled(&of("<<choose(5)>>="), json!(3));
    is(&of("<<coalesce>>="), json!(5));
    is(&of("<<something>>="), json!(5));
    is(&of("<<minby>>="), json!(1));
    is(&of("<<maxby>>="), json!(5));
    let each = |update: &str| format!("y .= 1\nfor i = _\n y[i] {update} x[i]\nend");
    compiled(&each("<<minby>>="), json!([1, 1, 1, 1]));
    compiled(&each("<<maxby>>="), json!([3, 1, 4, 1]));
    compiled(&each("<<coalesce>>="), json!([1, 1, 1, 1]));
    compiled(&each("<<overwrite>>="), json!([3, 1, 4, 1]));
    is(&each("<<filterop(7)>>="), json!([3, 1, 4, 1]));
    is(
        "y .= false\nfor i = _\n y[i] = x[i] > 2\nend\nz .= 0\nfor i = _\n z[i] <<filterop(9)>>= x[i]\nend\nreturn z",
        json!([9, 9, 9, 9]),
    );
}

#[test]
fn operators_that_choose_are_functions() {
    let value = |e: &str, expected: Value| {
        compiled(&format!("y .= 0\nfor i = 1:4\n y[i] = {e}\nend"), expected);
    };
    value("filterop(0)(x[i] > 2, f[i])", json!([0.5, 0.0, -2.0, 0.0]));
    value("filterop(7)(x[i] > 3, x[i])", json!([7, 7, 4, 7]));
    value("choose(1)(x[i], i)", json!([3, 2, 4, 4]));
    value("overwrite(x[i], i)", json!([1, 2, 3, 4]));
    value("initwrite(0)(x[i], i)", json!([1, 2, 3, 4]));
    value("minby(x[i], 2)", json!([2, 1, 2, 1]));
    value("last(maxby(x[i] => i, 2 => 9))", json!([1, 9, 3, 9]));
    value("coalesce(x[~(i + 1)], missing, i, 7)", json!([1, 4, 1, 4]));
    value("something(nothing, x[i])", json!([3, 1, 4, 1]));
}

#[test]
fn what_lies_outside_is_missing_in_a_result() {
    compiled("y .= 0\nfor i = _\n y[i] = x[i] + x[~(i + 1)]\nend", json!([4, 5, 5, null]));
    compiled("y .= missing\nfor i = 1:5\n y[i] = x[~(i - 1)]\nend", json!([null, 3, 1, 4, 1]));
    compiled(
        "y .= missing\nfor i = 1:5\n y[i] = f[~(i - 1)]\nend",
        json!([null, 0.5, 0.0, -2.0, 0.0]),
    );
    compiled(
        "B .= missing\nfor j = 1:4, i = _\n B[i, j] = A[i, ~(j + 2)] * 2\nend",
        json!([[0, 4, null, null], [6, 0, null, null]]),
    );
    // By a value.
    compiled("y .= 0\nfor i = _\n y[i] = x[~(p[i] + 2)]\nend", json!([1, 1, 4, null]));
}

#[test]
fn what_is_not_assigned_stays_missing() {
    compiled(
        "y .= missing\nfor i = _\n if x[i] > 1\n y[i] = x[i]\nend\nend",
        json!([3, null, 4, null]),
    );
    compiled(
        "y .= missing\nfor i = _\n if i > 2\n y[i] = x[i]\nend\nend",
        json!([null, null, 4, 1]),
    );
    compiled(
        "y .= nothing\nfor i = _\n if x[i] > 1\n y[i] = x[i]\nend\nend",
        json!([3, null, 4, null]),
    );
    let text = "y .= missing\nfor i = _\n y[p[i]] = i\nend";
    let given = Given::new(&inputs().size("y", &[4]), text, &|_, _| None);
    let said = given.said().unwrap();
    assert_eq!(said["outputs"][0]["values"], json!([3, 2, null, 4]));
}

#[test]
fn literals_may_be_missing() {
    compiled(
        "y .= 0\nfor i = _\n y[i] = ifelse(x[i] == 1, missing, x[i])\nend",
        json!([3, null, 4, null]),
    );
    compiled(
        "y .= 0\nfor i = _\n if x[i] == 1\n y[i] = missing\nelse\n y[i] = 2\nend\nend",
        json!([2, null, 2, null]),
    );
    is("y .= 0\ny[] = missing", json!(null));
    is(
        "y .= 0\nfor i = 1:4\n y[i] = ifelse(i == 1, nothing, ifelse(i == 2, missing, i))\nend\nz .= 0\nfor i = _\n z[i] = something(y[i], 7)\nend\nw .= 0\nfor i = _\n w[i] = coalesce(z[i], 8)\nend\nreturn w",
        json!([7, 8, 3, 4]),
    );
}

#[test]
fn elements_that_may_be_missing_are_read() {
    let with = |e: &str| {
        format!(
            "w .= missing\nfor i = 1:4\n w[i] = x[~(i + 1)]\nend\ny .= 0\nfor i = 1:4\n y[i] = {e}\nend\nreturn y"
        )
    };
    compiled(&with("coalesce(w[i], 9)"), json!([1, 4, 1, 9]));
    compiled(&with("w[i] + 1"), json!([2, 5, 2, null]));
    compiled(&with("coalesce(w[~(i + 1)], x[~(i - 1)], 5)"), json!([4, 1, 1, 4]));
    compiled(&with("coalesce(w[~(i + 1)], w[~(i + 2)])"), json!([4, 1, null, null]));
    compiled(&with("ifelse(x[i] > 1, w[i], i)"), json!([1, 2, 1, 4]));
}

#[test]
fn what_is_missing_is_updated() {
    // A sum with what is missing is missing.
    compiled("s .= 0\nfor i = 1:4\n s[] += x[~(i + 1)]\nend", json!(null));
    compiled("s .= 0\nfor i = 1:4\n s[] += coalesce(x[~(i + 1)], 10)\nend", json!(16));
    compiled("y .= 0\nfor j = 1:2, i = 1:4\n y[i] += x[~(i + j)]\nend", json!([5, 5, null, null]));
    is("s .= missing\nfor i = _\n s[] += x[i]\nend", json!(null));
    is("s .= missing\nfor i = 1:4\n s[] <<coalesce>>= x[~(5 - i - 1)]\nend", json!(4));
    is(
        "y .= missing\nfor j = 1:3, i = 1:4\n y[i] <<coalesce>>= x[~(i + j)]\nend",
        json!([1, 4, 1, null]),
    );
    is("s .= nothing\nfor i = _\n s[] <<something>>= x[i]\nend", json!(3));
    is("s .= 0\nfor i = 1:4\n s[] <<overwrite>>= x[~(i + 1)]\nend", json!(null));
    is("s .= 5\nfor i = 1:4\n s[] <<choose(5)>>= coalesce(x[~(i + 1)], 5)\nend", json!(1));
}

#[test]
fn parts_of_tuples_may_be_missing() {
    is(
        "y .= (0, missing)\nfor i = _\n y[i] = (x[i], x[~(i + 1)])\nend",
        json!([[3, 1], [1, 4], [4, 1], [1, null]]),
    );
    compiled("m .= Inf => missing\nfor i = _\n m[] <<minby>>= f[i] => i\nend", json!([-2.0, 3]));
}

#[test]
fn results_that_may_be_missing_have_no_file() {
    let text = "y .= missing\nfor i = 1:4\n y[i] = x[~(i + 1)]\nend";
    let mut given = Given::new(&inputs(), text, &|_, _| None);
    given.option("-o", "y=y.npy");
    let e = given.said().unwrap_err();
    assert!(e.contains("elements of `y` may be missing: no file holds them"), "{e}");
}

#[test]
fn an_update_by_a_choice_that_may_lie_outside_is_dropped_there() {
    let text = "y .= 0\nfor i = _\n y[~(p[i] - 1)] <<choose(0)>>= i\nend";
    let given = Given::new(&inputs().size("y", &[2]), text, &|_, _| None);
    assert_eq!(given.said().unwrap()["outputs"][0]["values"], json!([1, 0]));
}

#[test]
fn what_a_condition_leaves_out_is_not_stored_and_what_a_choice_assigns_is() {
    let stored = |text: &str| {
        let mut given = Given::new(&inputs(), text, &|_, _| None);
        given.result("y", "sparse");
        given.said().unwrap()["outputs"][0]["stored"].clone()
    };
    assert_eq!(stored("y .= 0\nfor i = _\n if x[i] > 1\n y[i] = x[i]\nend\nend"), json!(2));
    assert_eq!(stored("y .= 0\nfor i = _\n y[i] = ifelse(x[i] > 1, x[i], 0)\nend"), json!(4));
    assert_eq!(stored("y .= 0\nfor i = _\n y[i] = filterop(0)(x[i] > 1, x[i])\nend"), json!(4));
}

#[test]
fn loops_without_iterations_ask_for_nothing() {
    compiled("s .= 0\nfor j = 1:0, i = _\n s[] += x[p[i] + 10]\nend", json!(0));
}

#[test]
fn numbers_that_nobody_uses_are_refused() {
    let text = "y .= 0\nfor i = _\n y[i] = n * x[i]\nend";
    let mut given = Given::new(&inputs(), text, &|_, _| None);
    given.option("-p", "n=2");
    assert_eq!(given.run().unwrap()[0].1, json!([6, 2, 8, 2]));
    given.option("-p", "m=2");
    let e = given.said().unwrap_err();
    assert!(e.contains("the program uses no number `m`") && e.contains("its numbers are n"), "{e}");
}

#[test]
fn a_file_of_another_rank_is_refused_where_the_program_uses_it() {
    let text = "y .= 0\nfor i = _\n y[i] = A[i]\nend";
    let e = Given::new(&inputs(), text, &|_, _| None).said().unwrap_err();
    assert!(e.contains("holds a tensor of rank 2") && e.contains("made.finch:3:9"), "{e}");
}

/// Siskin's own statements refuse numbers outside of a tensor; the language's `~` says what is there instead.
#[test]
fn what_a_number_reads_outside_is_missing_in_any_update() {
    let nowhere = "y .= 0\nfor j = _\n y[j] <<max>>= A[~9, j]\nend\nreturn y";
    is(nowhere, json!([null, null, null, null]));
    let sum = "y .= 0\nfor j = _\n y[j] += x[j] + A[~0, j]\nend\nreturn y";
    is(sum, json!([null, null, null, null]));
    let scalar = "s .= 5\nfor i = _\n s[] <<min>>= coalesce(x[~7], x[i])\nend\nreturn s";
    is(scalar, json!(1));
    let empty = "C .= 0\nfor j = 1:0, i = 1:2\n C[i, j] = 1\nend\nt .= 1\nfor i = 1:2\n t[i] <<max>>= coalesce(C[i, ~2], 7)\nend\nreturn t";
    is(empty, json!([7, 7]));
}

/// Programs whose accesses may lie outside, over inputs and results in formats of their own.
#[test]
fn what_may_lie_outside_is_read_from_every_format() {
    const LISTS: &str = "SparseDict(SparseList(Element(0.0)))";
    let numbers = |n: usize| (0..n).map(|k| (k * 7 % 5) as f64 - 1.0).collect::<Vec<f64>>();
    let inputs = Inputs::default()
        .floats("A", &[5, 5], &numbers(25))
        .floats("x", &[5], &numbers(5))
        .floats("z", &[1], &numbers(1));
    let cases = [
        // Runs without ends of their own, at a difference and at a sum of indices.
        (
            "y .= Inf\nfor k = 1:1, i = 1:5\n y[i] <<min>>= coalesce(z[~(i + k - 2)], 0.0) * coalesce(A[~(i - 2), i], 5)\nend",
            ["RunList(Element(0.0))", "hash"],
            None,
        ),
        (
            "s .= 0.0\nfor j = 1:5, k = 1:5\n if k <= j - 1\n  s[] += -(A[k, j] * coalesce(A[~(k + j - 1), k], 5))\n end\nend",
            ["dense", "RunList(RunList(Element(0.0)))"],
            None,
        ),
        (
            "y .= 0.0\nfor i = 1:5, j = 1:5\n y[j] <<max>>= coalesce(x[~(j - i)], 1)\nend",
            ["RunList(Element(0.0))", "dense"],
            None,
        ),
        // A number that a value decides, between ends that are the greatest and the least of several.
        (
            "y .= 0\nfor k = 1:3, j = 1:3\n y[j] <<choose(0)>>= coalesce(x[~(k - 1)], 0) * coalesce(x[k + j], 0.0)\nend",
            ["dense", "dense"],
            None,
        ),
        // A value that is one of two literals.
        (
            "y .= 0.0\nfor i = _\n y[i] = max(coalesce(x[~(i - 1)], 0.0), coalesce(A[~(3 * i), i], 0)) + x[i]\nend",
            ["SparseBlockList(Element(0.0))", LISTS],
            Some("SparseBlockList(Element(0.0))"),
        ),
        // What is declared and not yet updated, and what is updated in two ways.
        (
            "r .= true\ny .= 0.0\nfor i = _\n if A[i, i] < coalesce(r[~(2 * i)], 0)\n  y[i] <<max>>= x[i]\n end\nend\nfor i = 1:0\n r[i] &= false\nend\nreturn y",
            ["dense", LISTS],
            Some("SparseDict(Element(0.0))"),
        ),
        (
            "r .= 1.0\nfor i = _\n r[i] = x[i]\nend\nfor i = _\n r[i] *= x[i]\nend\ny .= 0.0\nfor i = _\n y[i] = x[i] * coalesce(r[~(i + 1)], 0)\nend\nreturn y",
            ["SparseList(Element(0.0))", LISTS],
            Some("SparseList(Element(0.0))"),
        ),
    ];
    for (text, [vector, matrix], result) in cases {
        let format = |_: usize, rank: usize| Some([vector, matrix][rank - 1].to_string());
        let mut given = Given::new(&inputs, text, &format);
        if let Some(result) = result {
            given.result("y", result);
        }
        given.agrees(&inputs, text);
    }
}
