//! Numbers beside integers of few bits: as in Julia, they have 64.

use serde_json::{Value, json};
use siskin::tensor::Values;

use super::Inputs;
use super::compiled::Given;

fn inputs() -> Inputs {
    Inputs::default()
        .tensor("a", &[4], Values::U8(vec![200, 100, 255, 0]))
        .tensor("n", &[4], Values::I32(vec![i32::MAX, -5, 0, i32::MIN]))
        .bools("b", &[4], &[true, true, false, true])
        .tensor("f", &[4], Values::F32(vec![16_777_216.0, 1.0, 1.0, 1.0]))
}

#[track_caller]
fn is(value: &str, expected: Value) {
    let text = format!("y .= 0\nfor i = 1:4\n y[i] = {value}\nend\nreturn y");
    for sparse in [false, true] {
        let layout = |_, _| sparse.then(|| "sparse".to_string());
        let said = Given::new(&inputs(), &text, &layout).said();
        let said = said.unwrap_or_else(|e| panic!("{text}\n{e}"));
        assert_eq!(said["outputs"][0]["values"], expected, "{text}");
    }
    let numbers = match inputs().run(&text).remove(0) {
        Values::I64(values) => json!(values),
        Values::Bool(values) => json!(values),
        other => json!((0..other.len()).map(|k| other.get_f64(k)).collect::<Vec<_>>()),
    };
    let same = |a: &Value, b: &Value| a.as_f64() == b.as_f64();
    let (all, wanted) = (numbers.as_array().unwrap(), expected.as_array().unwrap());
    assert!(all.iter().zip(wanted).all(|(a, b)| same(a, b) || a == b), "{text} {numbers}");
}

#[test]
fn numbers_have_64_bits_beside_bytes() {
    is("a[i] + 1", json!([201, 101, 256, 1]));
    is("a[i] - 150", json!([50, -50, 105, -150]));
    is("abs(a[i] - 150)", json!([50, 50, 105, 150]));
    is("2 * a[i] + 3 * a[i]", json!([1000, 500, 1275, 0]));
    is("max(a[i], -1)", json!([200, 100, 255, 0]));
    is("min(a[i], 300)", json!([200, 100, 255, 0]));
    is("ifelse(a[i] > 100, a[i], -1)", json!([200, -1, 255, -1]));
    is("(a[i] & 255) + 1", json!([201, 101, 256, 1]));
    is("div(a[i], 16) * 16 + a[i]", json!([392, 196, 495, 0]));
    // Not every choice of so many bytes can be tried.
    is("max(a[i], a[i], a[i], a[i], a[i], a[i], a[i], 1)", json!([200, 100, 255, 1]));
    is("max(a[i], a[i], a[i], a[i], a[i], a[i], a[i], -1)", json!([200, 100, 255, 0]));
    // Bytes are added first, and the number last.
    is("a[i] + a[i] + a[i] + a[i] + a[i] + a[i] + 1", json!([177, 89, 251, 1]));
    // Bytes among themselves are bytes.
    is("a[i] + a[i]", json!([144, 200, 254, 0]));
    is("div(a[i], 16)", json!([12, 6, 15, 0]));
    is("a[i] & 0x0f", json!([8, 4, 15, 0]));
    is("0.5 * a[i]", json!([100.0, 50.0, 127.5, 0.0]));
}

#[test]
fn numbers_have_64_bits_beside_integers_of_32() {
    is("n[i] + 1", json!([2_147_483_648_i64, -4, 1, -2_147_483_647_i64]));
    is("n[i] * 2", json!([4_294_967_294_i64, -10, 0, -4_294_967_296_i64]));
    is(
        "max(n[i], 3000000000)",
        json!([3_000_000_000_i64, 3_000_000_000_i64, 3_000_000_000_i64, 3_000_000_000_i64]),
    );
    is("n[i] + n[i]", json!([-2, -10, 0, 0]));
}

#[test]
fn what_may_lie_outside_has_the_type_of_both() {
    is("coalesce(a[~(i + 1)], -1) + a[i]", json!([300, 355, 255, -1]));
    is("coalesce(a[~(i + 1)], 300) * a[i]", json!([20000, 25500, 0, 0]));
    is("coalesce(a[~(i + 1)], i) + a[i]", json!([300, 355, 255, 4]));
    is("coalesce(a[~(i + 1)], 0.5) + a[i]", json!([300.0, 355.0, 255.0, 0.5]));
    is("coalesce(a[~(i + 1)], 5) + a[i]", json!([44, 99, 255, 5]));
    is("coalesce(n[~(i - 3)], -9) + a[i] * 2", json!([391, 191, 501, 2_147_483_647_i64]));
}

#[test]
fn truth_values_are_counted_where_what_may_lie_outside_is_a_number() {
    is("b[i] + coalesce(b[~(i + 1)], 0.0)", json!([2.0, 1.0, 1.0, 1.0]));
    is("b[i] + coalesce(b[~(i - 1)], 5)", json!([6, 2, 1, 1]));
    is("coalesce(b[~(i + 1)], 0) + coalesce(b[~(i - 1)], 0) + b[i]", json!([2, 2, 2, 1]));
    is("coalesce(a[~(i + 1)], true) + b[i]", json!([101, 256, 0, 2]));
    is("coalesce(b[~(i + 1)], false) + b[i]", json!([2, 1, 1, 1]));
}

#[test]
fn comparisons_with_numbers_are_of_64_bits() {
    let counted = |condition: &str, expected: i64| {
        let text = format!("y .= 0\nfor i = _\n if {condition}\n y[] += 1\n end\nend\nreturn y");
        assert_eq!(inputs().run(&text), [Values::I64(vec![expected])], "{text}");
        let said = Given::new(&inputs(), &text, &|_, _| None).said().unwrap();
        assert_eq!(said["outputs"][0]["values"], json!(expected), "{text}");
    };
    counted("a[i] > -1", 4);
    counted("a[i] == -1", 0);
    counted("a[i] - 150 > 0", 2);
    counted("a[i] < 300", 4);
    counted("n[i] < 3000000000", 4);
}

#[test]
fn what_begins_with_a_fraction_is_a_float_of_64_bits() {
    let text = |begin: &str| format!("y .= {begin}\nfor i = _\n y[] += f[i]\nend\nreturn y");
    assert_eq!(inputs().run(&text("0.0")), [Values::F64(vec![16_777_219.0])]);
    assert!(matches!(inputs().run(&text("0"))[0], Values::F32(_)));
    let said = Given::new(&inputs(), &text("0.0"), &|_, _| None).said().unwrap();
    assert_eq!(said["outputs"][0]["values"], json!(16_777_219.0));
}
