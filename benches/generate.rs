//! Time from an expression to the text of its kernel, without rustc: `cargo bench --bench generate`.

use std::time::Instant;

use criterion::Criterion;
use siskin::Kernel;

/// Expressions with the layouts of their tensors.
/// Name, statement, and the layouts of its tensors.
type Case = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const KERNELS: [Case; 7] = [
    ("SpMV", "y[i] += A[i,j] * x[j]", &[("A", "csr")]),
    ("SpMSpV", "y[i] += A[i,j] * x[j]", &[("A", "csr"), ("x", "sparse")]),
    ("coo times coo", "s[] += A[i,j] * B[i,j]", &[("A", "coo"), ("B", "coo")]),
    ("dcsr times csc", "s[] += A[i,j] * B[i,j]", &[("A", "dcsr"), ("B", "csc")]),
    ("a symmetric matrix", "C[i,j] += A[i,k] * B[k,j]", &[("A", "symmetric-csr"), ("B", "csr")]),
    ("eight vectors", "s[] += a[i]*b[i]*c[i]*d[i]*e[i]*f[i]*g[i]*h[i]", &EIGHT),
    ("SpGEMM-shaped", "C[i,j] += A[i,k] * B[k,j]", &[("A", "csr"), ("B", "csr")]),
];

const EIGHT: [(&str, &str); 8] = [
    ("a", "sparse"),
    ("b", "sparse"),
    ("c", "sparse"),
    ("d", "sparse"),
    ("e", "sparse"),
    ("f", "sparse"),
    ("g", "sparse"),
    ("h", "sparse"),
];

fn generate(expression: &str, layouts: &[(&str, &str)]) -> usize {
    let mut kernel = Kernel::new(expression);
    for (tensor, layout) in layouts {
        kernel = kernel.layout(tensor, layout);
    }
    let module = kernel.plan().and_then(|plan| plan.render()).expect("a kernel");
    module.text().len()
}

fn main() {
    // Before anything is warm: what one command pays.
    let first: Vec<f64> = KERNELS
        .iter()
        .map(|(_, expression, layouts)| {
            let start = Instant::now();
            generate(expression, layouts);
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("generate");
    group.sample_size(10);
    for (name, expression, layouts) in KERNELS {
        group.bench_function(name, |b| b.iter(|| generate(expression, layouts)));
    }
    group.finish();
    criterion.final_summary();
    println!("\nfirst time in this process, wanted below 50 ms each:");
    for ((name, ..), ms) in KERNELS.iter().zip(first) {
        println!("{name:<16} {ms:>7.1} ms   {}", if ms < 50.0 { "met" } else { "MISSED" });
    }
}
