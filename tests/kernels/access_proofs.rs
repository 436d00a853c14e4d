//! Every access of every kernel over the shipped layouts is proved to be in bounds (design §8).

use std::sync::Arc;

use indexmap::IndexMap;
use siskin::formula::Name;
use siskin::layout::{LayoutSpec, shipped};
use siskin::packing::{PackOptions, pack};
use siskin::prover::AgreeingProver;
use siskin::tensor::{Entries, IndexData, Values};
use siskin::{Kernel, Layout, Tensor};

/// Statements by the rank of `A`.
const STATEMENTS: [&[&str]; 4] = [
    &[],
    &["s[] += A[i]", "s[] += A[i] * x[i]", "y[i] += A[i] * x[i]"],
    &[
        "s[] += A[i,j]",
        "y[i] += A[i,j] * x[j]",
        "y[i] += A[j,i] * x[j]",
        "C[i,j] += A[i,k] * B[k,j]",
    ],
    &["s[] += A[i,j,k]", "y[i,j] += A[i,j,k] * x[k]", "C[i,j,l] += A[i,j,k] * B[k,l]"],
];

/// Bounds are asked of the prover that is given: Z3 and isl must agree about each.
#[test]
fn both_provers_agree_about_the_bounds_of_accesses() {
    let (mut kernels, mut compared) = (0, 0);
    for (statement, layouts) in [
        ("y[i] += A[i,j] * x[j]", [("A", "csr"), ("x", "sparse")]),
        ("y[i] += A[i,j] * x[j]", [("A", "bcsr"), ("x", "dense")]),
        ("s[] += A[i,j] * B[j,i]", [("A", "coo"), ("B", "csc")]),
        ("C[i,j] += A[i,k] * B[k,j]", [("A", "ell"), ("B", "dcsr")]),
        ("s[] += A[i,j] * A[i,j] * x[i]", [("A", "symmetric-csr"), ("x", "run-length")]),
        ("y[i] += A[i,j] * x[j]", [("A", "skyline"), ("x", "hash")]),
    ] {
        let mut kernel = Kernel::new(statement);
        for (tensor, layout) in layouts {
            kernel = kernel.layout(tensor, layout);
        }
        let planned = kernel.plan().unwrap();
        let mut prover = AgreeingProver::new();
        let module = planned.render_with(&mut prover).unwrap();
        assert_eq!(module.text(), planned.render().unwrap().text(), "{statement}");
        kernels += 1;
        compared += prover.compared();
    }
    println!("{kernels} kernels, {compared} questions");
    assert!(compared > 10 * kernels, "{compared}");
}

#[test]
fn no_access_over_a_shipped_layout_needs_a_check() {
    let (mut kernels, mut accesses) = (0, 0);
    for (name, _) in shipped() {
        let own = LayoutSpec::parse(&name).unwrap().rank();
        for rank in own.map_or(vec![1, 2, 3], |rank| vec![rank]) {
            for statement in STATEMENTS[rank] {
                for (x, threads) in [("dense", 1), ("sparse", 1), ("dense", 2)] {
                    let mut kernel = Kernel::new(statement).layout("A", &name).threads(threads);
                    if statement.contains("x[") && !statement.contains("x[k]") {
                        kernel = kernel.layout("x", x);
                    }
                    if statement.contains("B[") {
                        kernel = kernel.layout("B", if x == "sparse" { "csr" } else { "dense" });
                    }
                    let module = match kernel.plan().and_then(|plan| plan.render()) {
                        Ok(module) => module,
                        // Not every loop over every layout may run in parallel.
                        Err(_) if threads > 1 => continue,
                        Err(e) => panic!("{name}: {statement}: {e}"),
                    };
                    kernels += 1;
                    for access in module.accesses() {
                        accesses += 1;
                        assert!(access.proved, "{name}, x {x}: {statement}: {}", access.access);
                    }
                }
            }
        }
    }
    println!("{kernels} kernels, {accesses} accesses");
    assert!(kernels > 150 && accesses > 600);
}

/// The end of a row of blocks is the start of the next: `pos(b, 3)` is an element, though there are
/// three columns of blocks. That the array of rows stays in range takes an induction, so this is tested.
#[test]
fn an_access_that_is_tested_may_end_its_row() {
    let layout = r#"
        name = "grid"
        dims = ["i", "j"]
        relation = """{ [p0, p1, p2] -> [i, j] : 0 <= p0 < N and 0 <= p1 and 2*p1 < J
            and pos(r(p0), p1) <= p2 < pos(r(p0), p1 + 1)
            and i = p0 and j = 2*p1 + col(p2) and i < I and j < J }"""
        value = "val(p2)"
        [index.r]
        domain = "0 <= p0 < N"
        [index.pos]
        args = ["b", "c"]
        domain = "0 <= b < N and 0 <= c <= ceil(J/2)"
        range = "0 <= pos(b, c) <= NNZ"
        shape = ["N", "ceil(J/2)"]
        [index.col]
        domain = "0 <= p2 < NNZ"
        range = "0 <= col(p2) < 2"
        [params]
        N = "count"
        NNZ = "count"
        [[property]]
        formula = "0 <= p and p + 1 < N => r(p + 1) < r(p)"
        [[property]]
        formula = "0 < N => r(0) < N and 0 <= r(N - 1)"
    "#;
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    std::fs::write(file.path(), layout).unwrap();
    let name = file.path().to_str().unwrap();
    let layout = Arc::new(Layout::named(name).unwrap());
    let arrays = [
        ("r", vec![2, 1, 0]),
        ("pos", vec![0, 1, 1, 2, 2, 3, 4, 5, 5, 6]),
        ("col", vec![0, 0, 1, 0, 1, 0]),
    ];
    let arrays = arrays.map(|(name, a)| (Name::from(name), IndexData::U32(a)));
    let values = Values::F64(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let counts = IndexMap::default();
    let mut a = Tensor::new(layout, vec![3, 5], &counts, arrays.into(), values).unwrap();
    a.validate().unwrap();
    let powers = Values::F64((0..5).map(|j| 10.0_f64.powi(j)).collect());
    let x = Entries::new(vec![5], vec![IndexData::U32((0..5).collect())], powers).unwrap();
    let dense = Arc::new(Layout::named_for_rank("dense", 1).unwrap());
    let x = pack(&dense, &x, &PackOptions::default()).unwrap();
    let kernel = Kernel::new("y[i] += A[i,j] * x[j]").layout("A", name);
    let text = kernel.plan().unwrap().render().unwrap().text().to_string();
    let end = "[inside_or_end([at(r_A, pA0) as usize, pA1 + 1], [N_A, J.div_ceil(2)])]";
    assert!(text.contains(end), "{text}");
    let y = kernel.compile().unwrap().run([("A", &a), ("x", &x)]).unwrap();
    assert_eq!(y.values().as_slice(), Some(&[60050.0, 43000.0, 20001.0][..]));
}
