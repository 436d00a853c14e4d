//! Values that are spread over their coordinates: what is missing adds nothing, whatever it meets.

use siskin::code::IndexWidth;
use siskin::diagnostic::Code;
use siskin::tensor::ValueType;
use siskin::{Kernel, Tensor};

use crate::study::random::Random;
use crate::study::tensors::{dims_of, stored};

/// A statement, the layouts of its tensors, and the order of its loops: by the last two, each row or column is spread.
type Statement = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

const STATEMENTS: [Statement; 6] = [
    ("y[i] += A[i,j] * x[j]", &[("A", "csr"), ("x", "sparse")], &[]),
    ("y[i] += 2 * x[j] * A[i,j]", &[("A", "coo"), ("x", "sparse")], &[]),
    ("s[] += a[j] * b[j]", &[("a", "sparse"), ("b", "sparse")], &[]),
    ("y[i] += A[i,j] * x[j] * z[j]", &[("A", "csr"), ("x", "sparse"), ("z", "sparse")], &[]),
    ("y[i] += A[i,j] * x[j]", &[("A", "csr"), ("x", "sparse")], &["pA0", "px"]),
    ("C[i,k] += A[i,j] * B[j,k]", &[("A", "csr"), ("B", "csc")], &["k", "i", "j"]),
];

fn kernel((expression, layouts, order): Statement) -> Kernel {
    let kernel = Kernel::new(expression).order(order);
    layouts.iter().fold(kernel, |k, (tensor, layout)| k.layout(tensor, layout))
}

/// A small whole number, so that sums are exact in any order; some are no finite number.
fn value(random: &mut Random) -> f64 {
    match random.below(12) {
        0 => f64::INFINITY,
        1 => f64::NEG_INFINITY,
        2 => f64::NAN,
        3 => 0.0,
        n => n as f64 - 7.0,
    }
}

fn text(kernel: &Kernel) -> String {
    kernel.plan().unwrap().render().unwrap().text().to_string()
}

/// Compares what two kernels compute of random tensors; how many results are no finite number.
fn compare((expression, layouts, order): Statement, plain: &Kernel, spread: &Kernel) -> usize {
    let mut random = Random(7);
    let (plain, spread) = (plain.compile().unwrap(), spread.compile().unwrap());
    let mut not_finite = 0;
    for _ in 0..40 {
        let extents = [random.below(7), random.below(12), random.below(5)];
        let tensors: Vec<(&str, Tensor)> = layouts
            .iter()
            .map(|(name, layout)| {
                let dims = dims_of(expression, name, extents);
                (*name, stored(&mut random, layout, &dims, 40, value))
            })
            .collect();
        let given = || tensors.iter().map(|(name, tensor)| (*name, tensor));
        let (expected, got) = (plain.run(given()).unwrap(), spread.run(given()).unwrap());
        let expected = expected.values().as_slice::<f64>().unwrap();
        let got = got.values().as_slice::<f64>().unwrap();
        for (e, g) in expected.iter().zip(got) {
            assert!(e == g || e.is_nan() && g.is_nan(), "{expression} by {order:?}: {e} {g}");
            not_finite += usize::from(!e.is_finite());
        }
    }
    not_finite
}

#[test]
fn what_is_missing_adds_nothing_to_what_is_infinite_or_no_number() {
    let mut not_finite = 0;
    for statement in STATEMENTS {
        let plain = kernel(statement).find(None, "scan");
        for template in ["expand", "masked"] {
            let spread = kernel(statement).find(None, template);
            assert!(text(&spread).contains("_value: Vec<f64>"), "{statement:?}, {template}");
            not_finite += compare(statement, &plain, &spread);
        }
    }
    assert!(not_finite > 100, "{not_finite}");
}

#[test]
fn what_was_spread_is_cleared_where_a_loop_is_left_early() {
    const LEFT: &[(&str, &str)] = &[("B", "coo"), ("D", "dcsr"), ("w", "dense")];
    let statement: Statement = ("y[i] += w[i] * B[k,j] * D[k,j]", LEFT, &["i", "pD0", "pB"]);
    let plain = kernel(statement).find(None, "scan");
    let spread = kernel(statement).find(Some("pD1"), "masked").find(Some("pB"), "seq");
    let text = text(&spread);
    let early = text.split("if pB >= P0_B {").nth(1).expect("the loop is left");
    assert!(early.split("break;").next().unwrap().contains("= false;"), "{text}");
    assert!(compare(statement, &plain, &spread) > 0);
}

#[test]
fn positions_are_kept_in_one_array_of_which_what_was_entered_is_cleared() {
    let (mut summed, mut not_finite) = (0, 0);
    for statement in STATEMENTS {
        let plain = kernel(statement).find(None, "scan");
        for (width, zeros) in
            [(IndexWidth::U32, "_places = vec![0_u32;"), (IndexWidth::U64, "_places = vec![0_u64;")]
        {
            let direct = kernel(statement).find(None, "direct").index(width);
            let text = text(&direct);
            assert!(text.contains(zeros) && !text.contains("struct DirectTable"), "{text}");
            // Where many are there, none is asked for by a branch.
            summed += usize::from(text.contains("_there = 0 < at(&p"));
            not_finite += compare(statement, &plain, &direct);
        }
    }
    assert!(summed >= 8 && not_finite > 100, "{summed}, {not_finite}");
}

#[test]
fn blocks_are_kept_in_one_array_and_looked_for_below_its_end() {
    // The last block may be cut off.
    const BLOCKS: &[(&str, &str)] = &[("A", "bcsr(2,3)"), ("x", "sparse"), ("y", "dense")];
    let statement: Statement = ("y[i] += A[i,j] * x[j]", BLOCKS, &["pA0", "px", "pA1"]);
    let plain = kernel(statement).find(Some("pA1"), "scan");
    let (direct, rank) = (
        kernel(statement).find(Some("pA1"), "direct"),
        kernel(statement).find(Some("pA1"), "rank"),
    );
    assert!(text(&direct).contains("pA1_places = vec![0_u32; J.div_ceil(3)]"), "{}", text(&direct));
    assert!(text(&rank).contains("RankTable::<1>::new(J.div_ceil(3))"), "{}", text(&rank));
    assert!(text(&rank).contains("pA1_table.first_within([(j / 3)"), "{}", text(&rank));
    for kernel in [direct, rank] {
        assert!(compare(statement, &plain, &kernel) > 0);
    }
}

#[test]
fn tables_of_many_keys_are_asked_without_a_branch() {
    let (mut summed, mut not_finite) = (0, 0);
    for statement in STATEMENTS {
        let plain = kernel(statement).find(None, "scan");
        for width in [IndexWidth::U32, IndexWidth::U64] {
            let rank = kernel(statement).find(None, "rank").index(width);
            // Keys are below the extent of what they are looked up in.
            let text = text(&rank);
            assert!(text.contains(".first_within([") && !text.contains(".first(["), "{text}");
            summed += usize::from(text.contains(".near(["));
            not_finite += compare(statement, &plain, &rank);
        }
    }
    assert!(summed >= 8 && not_finite > 100, "{summed}, {not_finite}");
}

#[test]
fn what_is_summed_in_order_is_not_asked_without_a_branch() {
    let rank = kernel(STATEMENTS[0]).find(None, "rank");
    assert!(text(&rank).contains("table.is_dense() {"));
    let (in_order, least) =
        (rank.strict_fp(), kernel(("y[i] min= A[i,j] * x[j]", STATEMENTS[0].1, &[])));
    for kernel in [in_order, least.find(None, "rank")] {
        assert!(!text(&kernel).contains("table.is_dense() {"));
    }
}

#[test]
fn keys_that_may_be_beyond_the_extent_are_tested() {
    for expression in ["y[i] += A[i,j] * x[i+j]", "y[i] += A[i,j] * x[i-j]"] {
        let statement: Statement = (expression, STATEMENTS[0].1, &[]);
        let rank = kernel(statement).find(Some("px"), "rank");
        assert!(text(&rank).contains("px_table.first(["), "{expression}");
    }
}

#[test]
fn positions_are_in_a_table_where_each_query_asks_for_its_state() {
    const FOUND: &[(&str, &str)] = &[("B", "coo"), ("D", "dcsr"), ("w", "dense")];
    let statement: Statement = ("y[i] += w[i] * B[k,j] * D[k,j]", FOUND, &["i", "pD0", "pB"]);
    let plain = kernel(statement).find(None, "scan");
    let direct = kernel(statement).find(Some("pD1"), "direct").find(Some("pB"), "seq");
    assert!(text(&direct).contains("struct DirectTable"));
    assert!(compare(statement, &plain, &direct) > 0);
}

#[test]
fn rows_that_are_found_are_spread_where_they_are_found() {
    const ROWS: &[(&str, &str)] = &[("A", "dcsr"), ("B", "dcsr")];
    let statement: Statement = ("y[i] += A[i,j] * B[i,j]", ROWS, &["pA0", "pB0", "pB1"]);
    let plain = kernel(statement).find(None, "scan");
    let spread = kernel(statement).find(Some("pA1"), "expand").find(Some("pB0"), "seq");
    assert!(text(&spread).contains("pA1_value: Vec<f64>"));
    compare(statement, &plain, &spread);
}

#[test]
fn whole_numbers_need_no_mask() {
    for (ty, masked) in [(ValueType::F64, true), (ValueType::F32, true), (ValueType::I64, false)] {
        let kernel = kernel(STATEMENTS[0]).values(ty).find(None, "expand");
        let text = text(&kernel);
        assert!(text.contains("px_value"), "{text}");
        assert_eq!(text.contains("px_there"), masked, "{ty}");
    }
}

#[test]
fn only_what_vanishes_is_expanded() {
    for (expression, why) in [
        ("y[i] min= A[i,j] * x[j]", "zero is less than some"),
        ("y[i] *= A[i,j] * x[j]", "zero is not neutral in products"),
    ] {
        let refused = kernel((expression, STATEMENTS[0].1, &[])).find(None, "expand").plan();
        assert_eq!(refused.map(|_| ()).unwrap_err().code, Code::Find, "{expression}: {why}");
    }
}

/// A list of columns whose rows are read as `row` says, below `end`.
fn columns(row: &str, arrays: &str) -> String {
    format!(
        r#"
name = "columns"
dims = ["i", "j"]
relation = "{{ [p0,p1] -> [i,j] : 0 <= p0 < J and j = p0 and ptr(p0) <= p1 < ptr(p0+1) and i = {row} and 0 <= i < I }}"
value = "val(p1)"
index.ptr = {{ domain = "0 <= p0 <= J", range = "0 <= ptr(p0) <= NNZ" }}
{arrays}
params.NNZ = "ptr(J)"
[[property]]
kind = "monotonic"
array = "ptr"
[[property]]
formula = "ptr(0) = 0"
[[property]]
formula = "0 <= c and c < J and ptr(c) <= p and p < q and q < ptr(c+1) => {} < {}"
"#,
        row.replace("p1", "p"),
        row.replace("p1", "q")
    )
}

#[test]
fn values_are_spread_over_coordinates_or_not_at_all() {
    let of = |array: &str, range: &str| {
        format!("index.{array} = {{ domain = \"0 <= p1 < NNZ\", range = \"{range}\" }}\n")
    };
    let from_one = columns("row(p1) - 1", &of("row", "1 <= row(p1) <= I"));
    let halves = of("hi", "0 <= hi(p1) < ceil(I/4)") + &of("lo", "0 <= lo(p1) < 4");
    let halves = columns("4*hi(p1) + lo(p1)", &halves);
    let folder = tempfile::tempdir().unwrap();
    for (text, spread) in [(&from_one, true), (&halves, false)] {
        let path = folder.path().join("columns.toml");
        std::fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap();
        let kernel = Kernel::new("s[] += A[i,j] * B[i,j]").layout("A", path).layout("B", path);
        let planned = kernel.plan().unwrap();
        let finds = planned.statements()[0].finds();
        let by_values = finds.iter().flat_map(|f| f.plans()).filter(|p| p.template.values);
        let names: Vec<String> = by_values.map(|p| p.template.name.clone()).collect();
        assert_eq!(!names.is_empty(), spread, "{text}");
        for name in &names {
            let by_it = self::text(&kernel.clone().find(None, name));
            assert!(by_it.contains("_value: Vec<f64> = vec![0.0; I + 1]"), "{by_it}");
            assert!(!by_it.contains("Table::<1>::new"), "{by_it}");
        }
    }
}
