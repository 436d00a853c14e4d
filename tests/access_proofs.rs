//! Every access of every kernel over the shipped layouts is proved to be in bounds (design §8).

use siskin::Kernel;
use siskin::layout::{LayoutSpec, shipped};
use siskin::prover::AgreeingProver;

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
