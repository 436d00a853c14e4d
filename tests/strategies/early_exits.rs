//! Loops that end once nothing can change, and loops that go on.

use std::sync::Arc;

use siskin::packing::{PackOptions, pack};
use siskin::tensor::{Entries, ValueType};
use siskin::{Kernel, Layout, Tensor};

/// A kernel with layouts, all of one type.
fn kernel(expression: &str, ty: ValueType, layouts: &[(&str, &str)]) -> Kernel {
    let kernel = Kernel::new(expression).only_way().values(ty);
    layouts.iter().fold(kernel, |kernel, (tensor, layout)| kernel.layout(tensor, layout))
}

/// The tests after which a kernel's loops end.
fn exits(kernel: &Kernel) -> Vec<String> {
    let text = kernel.plan().unwrap().render().unwrap().text().to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let tests = lines
        .windows(2)
        .filter(|w| w[1] == "break;" && w[0].starts_with("if ") && w[0].contains("combined"));
    tests.map(|w| w[0].trim_start_matches("if ").trim_end_matches(" {").to_string()).collect()
}

#[test]
fn a_loop_ends_once_its_result_cannot_change() {
    use ValueType::{Bool, F64, I32, U8};
    let meets = "r[i] or= and(A[i,j], x[j])";
    for (expression, ty, layouts, expected) in [
        (meets, Bool, &[("A", "csr"), ("x", "sparse")][..], &["combined"][..]),
        (meets, Bool, &[("A", "csr"), ("x", "dense")], &["combined"]),
        ("s[] and= not(A[i,j])", Bool, &[("A", "csr")], &["!combined"]),
        ("s[] or= and(A[i,j], x[j])", Bool, &[("A", "csr")], &["combined"; 2]),
        ("p[i] *= A[i,j] + x[j]", I32, &[("A", "csr")], &["combined == 0"]),
        ("m[i] band= A[i,j] * x[j]", U8, &[("A", "csr"), ("x", "sparse")], &["combined == 0"]),
        ("m[i] max= A[i,j] * B[i,j]", U8, &[("A", "csr"), ("B", "csr")], &["combined == 255"]),
        (
            "m[i] min= A[i,j] * x[j]",
            F64,
            &[("A", "csr"), ("x", "sparse")],
            &["combined == f64::NEG_INFINITY"],
        ),
    ] {
        assert_eq!(exits(&kernel(expression, ty, layouts)), expected, "{expression}, {layouts:?}");
    }
}

#[test]
fn a_loop_goes_on_where_the_test_costs_more_or_nothing_ends_it() {
    use ValueType::{Bool, F64, I32};
    for (expression, ty, layouts, why) in [
        ("s[] or= x[i]", Bool, &[("x", "dense")][..], "vectors of truth values"),
        ("r[i] or= A[i,j]", Bool, &[("A", "csr")], "contiguous elements of a row"),
        ("m[i] max= A[i,j] * x[j]", I32, &[("A", "dense"), ("x", "dense")], "vectors"),
        ("m[i] min= A[i,j]", F64, &[("A", "csr")], "what is not stored is combined once"),
        ("p[i] *= A[i,j] + x[j]", F64, &[("A", "csr")], "0 * inf is NaN"),
        ("s[] += A[i,j] * x[j]", Bool, &[("A", "csr")], "a sum"),
        ("y[j] or= and(A[i,j], x[i])", Bool, &[("A", "csr")], "another element in each turn"),
        ("r[i] xor= and(A[i,j], x[j])", Bool, &[("A", "csr"), ("x", "sparse")], "no annihilator"),
    ] {
        assert_eq!(exits(&kernel(expression, ty, layouts)), [""; 0], "{expression}: {why}");
    }
}

/// What is asked before a kernel's loops.
fn guards(kernel: &Kernel) -> Vec<String> {
    let text = kernel.plan().unwrap().render().unwrap().text().to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let asked = |w: &&[&str]| w[0].starts_with("if ") && w[1].starts_with("for ");
    let tests = lines.windows(2).filter(asked);
    tests.map(|w| w[0].trim_start_matches("if ").trim_end_matches(" {").to_string()).collect()
}

#[test]
fn a_loop_is_not_entered_where_nothing_in_it_counts() {
    use ValueType::{Bool, F64, I64};
    let csr = &[("A", "csr")][..];
    for (expression, ty, types, expected) in [
        ("y[j] += select(and(m[i], A[i,j] > 2), A[i,j], 0)", I64, &["m"][..], &["val_m_"][..]),
        ("y[i] or= and(m[i], A[i,j], x[j])", Bool, &[], &["val_m_"]),
        ("y[j] or= and(A[i,j], m[i])", Bool, &[], &["val_m_"]),
        // It changes within the loop.
        ("y[j] += select(and(m[j], A[i,j] > 2), A[i,j], 0)", I64, &["m"], &[]),
        ("y[j] or= and(A[i,j], m[j])", Bool, &[], &[]),
        // Only what is chosen where the condition fails leaves the element as it is: infinity is the least of NaN
        // and infinity.
        ("y[j] min= select(and(m[i], A[i,j] > 2), A[i,j], inf)", F64, &["m"], &[]),
    ] {
        let kernel = kernel(expression, ty, csr);
        let kernel = types.iter().fold(kernel, |kernel, tensor| kernel.typed(tensor, Bool));
        assert_eq!(guards(&kernel), expected, "{expression}");
    }
}

#[test]
fn a_state_that_outlives_the_loop_keeps_it_going() {
    let meets = "r[i] or= and(A[i,j], x[j])";
    let layouts = [("A", "csr"), ("x", "sparse")];
    let planned = kernel(meets, ValueType::Bool, &layouts).plan().unwrap();
    let mut states = 0;
    for plan in planned.statements()[0].finds()[0].plans() {
        let forced = kernel(meets, ValueType::Bool, &layouts).find(None, &plan.template.name);
        // A walk begins again in every row; a table is for all rows, and does not change.
        assert_eq!(exits(&forced), ["combined"], "{plan}");
        states += usize::from(plan.placement.is_some());
    }
    assert!(states >= 2, "{states}");
    // The walk of each row of a block goes on in the next block.
    let blocks = [("A", "bcsr(2,2)"), ("x", "sparse")];
    let kept = |find| exits(&kernel(meets, ValueType::Bool, &blocks).find(None, find));
    assert_eq!(kept("seq"), [""; 0]);
    assert_eq!(kept("bsearch"), ["combined"]);
}

/// Pseudo-random numbers that repeat.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

#[test]
fn kernels_that_end_early_agree_with_those_that_go_on() {
    let mut random = Random(7);
    let (rows, columns) = (40, 60);
    let mut entries = |dims: &[usize], count: usize| -> Vec<(Vec<usize>, f64)> {
        let mut out: Vec<(Vec<usize>, f64)> = Vec::new();
        for _ in 0..count {
            let at: Vec<usize> = dims.iter().map(|n| random.below(*n)).collect();
            if out.iter().all(|(other, _)| *other != at) {
                out.push((at, 1.0));
            }
        }
        out
    };
    let (a, x) = (entries(&[rows, columns], 300), entries(&[columns], 12));
    let mut expected = vec![false; rows];
    for (at, _) in &a {
        expected[at[0]] |= x.iter().any(|(j, _)| j[0] == at[1]);
    }
    assert!(expected.iter().any(|met| *met) && expected.iter().any(|met| !met));
    let packed = |layout: &str, dims: &[usize], points: &[(Vec<usize>, f64)]| -> Tensor {
        let layout = Arc::new(Layout::named_for_rank(layout, dims.len()).unwrap());
        let points: Vec<(&[usize], f64)> = points.iter().map(|(at, v)| (&**at, *v)).collect();
        let entries = Entries::from_points(dims, &points).unwrap();
        let entries = entries.into_type(ValueType::Bool).unwrap();
        pack(&layout, &entries, &PackOptions::default()).unwrap()
    };
    let meets = "r[i] or= and(A[i,j], x[j])";
    for find in ["seq", "bsearch", "hash", "scan"] {
        for threads in [1, 3] {
            let layouts = [("A", "csr"), ("x", "sparse")];
            let kernel = kernel(meets, ValueType::Bool, &layouts).find(None, find).threads(threads);
            assert_eq!(exits(&kernel), ["combined"], "{find}");
            let (a, x) = (packed("csr", &[rows, columns], &a), packed("sparse", &[columns], &x));
            let r = kernel.compile().unwrap().run([("A", &a), ("x", &x)]).unwrap();
            assert_eq!(r.values().as_slice::<bool>(), Some(&expected[..]), "{find}, {threads}");
        }
    }
}
