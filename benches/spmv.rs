//! Generated SpMV against hand-written loops and sprs: `cargo bench --bench spmv`. (`benches/faer`: against faer.)
//!
//! Criterion times three matrices; then all matrices are compared in turns, as ratios.

mod common;

use common::compare::{Competitor, compare, geometric_mean, verdict};
use common::generated::Generated;
use common::generators::{band, generated_matrices, poisson2, rmat};
use common::handwritten::Handwritten;
use common::matrix::{Matrix, dense_vector, real_matrices};
use criterion::{BenchmarkId, Criterion, Throughput};
use sprs::prod::mul_acc_mat_vec_csr;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let generated = Generated::compile(None, folder.path());
    let handwritten = Handwritten::compile(folder.path());
    let mut criterion = Criterion::default().configure_from_args();
    single(&mut criterion, &generated, &handwritten);
    criterion.final_summary();
    if !common::is_test_run() {
        ratios(&generated, &handwritten);
    }
}

fn single(criterion: &mut Criterion, generated: &Generated, handwritten: &Handwritten) {
    let mut group = criterion.benchmark_group("spmv");
    group.sample_size(20);
    for a in [poisson2(450), band(90_000, 5), rmat(17, 1_000_000)] {
        let x = dense_vector(a.columns, 1);
        let mut y = vec![0.0; a.rows];
        group.throughput(Throughput::Elements(a.stored() as u64));
        group.bench_function(BenchmarkId::new("generated", &a.name), |b| {
            b.iter(|| generated.spmv(&a, &x, &mut y));
        });
        group.bench_function(BenchmarkId::new("four accumulators", &a.name), |b| {
            b.iter(|| handwritten.spmv_four(&a, &x, &mut y));
        });
    }
    group.finish();
}

const NAMES: [&str; 4] = ["generated", "four acc.", "safe", "sprs"];

fn ratios(generated: &Generated, handwritten: &Handwritten) {
    println!("\nSpMV, seconds of the generated kernel and times relative to it");
    println!(
        "{:<14} {:>9} {:>10} {:>9} {:>9} {:>9}",
        "matrix", "entries", "generated", NAMES[1], NAMES[2], NAMES[3]
    );
    let mut all: Vec<Vec<f64>> = Vec::new();
    for a in real_matrices().into_iter().chain(generated_matrices()) {
        let seconds = one_matrix(&a, generated, handwritten);
        let relative: Vec<f64> = seconds.iter().map(|s| s / seconds[0]).collect();
        println!(
            "{:<14} {:>9} {:>9.1}u {:>9.2} {:>9.2} {:>9.2}",
            a.name,
            a.stored(),
            seconds[0] * 1e6,
            relative[1],
            relative[2],
            relative[3]
        );
        all.push(relative);
    }
    let mean = |k: usize| geometric_mean(all.iter().map(|r| 1.0 / r[k]));
    println!("\ngeometric means over {} matrices, generated / other:", all.len());
    verdict("generated / hand-written with four accumulators", mean(1), "<= 1", mean(1) <= 1.0);
    println!("{:<56} {:>8.2}", "generated / safe, one accumulator", mean(2));
    verdict("generated / sprs", mean(3), "< 1", mean(3) < 1.0);
}

/// Seconds in the order of [`NAMES`].
fn one_matrix(a: &Matrix, generated: &Generated, handwritten: &Handwritten) -> Vec<f64> {
    let x = &dense_vector(a.columns, 1)[..];
    let sprs = sprs::CsMatViewI::<f64, u32>::new((a.rows, a.columns), &a.pos, &a.crd, &a.val);
    compare(
        &a.name,
        a.rows,
        &mut [
            Competitor::new(NAMES[0], |y| generated.spmv(a, x, y)),
            Competitor::new(NAMES[1], |y| handwritten.spmv_four(a, x, y)),
            Competitor::new(NAMES[2], |y| handwritten.spmv_safe(a, x, y)),
            Competitor::new(NAMES[3], |y| mul_acc_mat_vec_csr(sprs, x, y)),
        ],
    )
}
