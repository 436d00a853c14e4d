//! Generated SpMSpV, one kernel for each forced find, against a hand-written merge:
//! `cargo bench --bench spmspv`.
//!
//! Criterion times one matrix; then all matrices and densities of the vector are compared in turns.

mod common;

use common::compare::{Competitor, compare, geometric_mean, verdict};
use common::generated::Generated;
use common::generators::{generated_matrices, rmat};
use common::handwritten::Handwritten;
use common::matrix::{Matrix, Vector, real_matrices};
use criterion::{BenchmarkId, Criterion};

const DENSITIES: [f64; 5] = [1e-4, 1e-3, 1e-2, 1e-1, 0.5];
/// Forced templates, with the speed-up over the merge that is wanted of each.
const FINDS: [(&str, f64); 3] = [("seq", 3.0), ("bsearch", 6.0), ("hash", 15.0)];
/// A merge walks the vector once for every row. Beyond this many steps only every k-th row is
/// walked, and the time multiplied: it is the sum of the rows' times.
const STEPS: usize = 4_000_000;
/// Fewer rows than this say nothing about the others.
const FEWEST_ROWS: usize = 16;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let finds = FINDS.map(|(find, _)| Generated::compile(Some(find), folder.path()));
    let handwritten = Handwritten::compile(folder.path());
    let mut criterion = Criterion::default().configure_from_args();
    single(&mut criterion, &finds);
    criterion.final_summary();
    if !common::is_test_run() {
        ratios(&finds, &handwritten);
    }
}

fn single(criterion: &mut Criterion, finds: &[Generated]) {
    let mut group = criterion.benchmark_group("spmspv");
    group.sample_size(10);
    let a = rmat(17, 1_000_000);
    let x = Vector::random(a.columns, 1e-2, 1);
    let mut y = vec![0.0; a.rows];
    for (kernel, (find, _)) in finds.iter().zip(FINDS).skip(1) {
        group.bench_function(BenchmarkId::new(find, &a.name), |b| {
            b.iter(|| kernel.spmspv(&a, &x, &mut y));
        });
    }
    group.finish();
}

/// Speed-ups over the merge of one case: the branching merge, then the finds.
struct Case {
    density: f64,
    merge_branches: f64,
    finds: Vec<f64>,
}

fn ratios(finds: &[Generated], handwritten: &Handwritten) {
    println!("\nSpMSpV, seconds of the hand-written merge and speed-ups over it");
    println!(
        "{:<14} {:>8} {:>8} {:>11} {:>9} {:>9} {:>9} {:>9}",
        "matrix", "density", "stored x", "merge", "branching", "seq", "bsearch", "hash"
    );
    let mut cases = Vec::new();
    for a in real_matrices().into_iter().chain(generated_matrices()) {
        for density in DENSITIES {
            let x = Vector::random(a.columns, density, 2);
            let (merge, case) = one_case(&a, &x, density, finds, handwritten);
            println!(
                "{:<14} {:>8} {:>8} {:>10.1}u {:>9.2} {:>9.2} {:>9.2} {:>9.2}",
                a.name,
                density,
                x.crd.len(),
                merge * 1e6,
                case.merge_branches,
                case.finds[0],
                case.finds[1],
                case.finds[2]
            );
            cases.push(case);
        }
    }
    println!("\ngeometric means of the speed-up over the merge, {} cases:", cases.len());
    println!("{:<10} {:>9} {:>9} {:>9} {:>9}", "density", "branching", "seq", "bsearch", "hash");
    for density in DENSITIES {
        let here = || cases.iter().filter(move |c| c.density == density);
        let mean = |k: usize| geometric_mean(here().map(move |c| c.finds[k]));
        println!(
            "{density:<10} {:>9.2} {:>9.2} {:>9.2} {:>9.2}",
            geometric_mean(here().map(|c| c.merge_branches)),
            mean(0),
            mean(1),
            mean(2)
        );
    }
    for (k, (find, wanted)) in FINDS.iter().enumerate() {
        let mean = geometric_mean(cases.iter().map(|c| c.finds[k]));
        verdict(&format!("{find}, all cases"), mean, &format!(">= {wanted}"), mean >= *wanted);
        let branches = geometric_mean(cases.iter().map(|c| c.finds[k] / c.merge_branches));
        println!("{:<56} {branches:>8.2}", format!("{find} over the branching merge"));
    }
}

/// Seconds of the merge, and the ratios.
fn one_case(
    a: &Matrix,
    x: &Vector,
    density: f64,
    finds: &[Generated],
    handwritten: &Handwritten,
) -> (f64, Case) {
    // Walks are measured on every `step`-th row; searches, which may build a table, on all rows.
    let occupied = a.occupied();
    let steps = occupied * x.crd.len() + a.stored();
    let step = steps.div_ceil(STEPS).min(occupied / FEWEST_ROWS).max(1);
    let sample = if step == 1 { a.clone() } else { a.every(step) };
    let [seq, bsearch, hash] = finds else { unreachable!("one for each of FINDS") };
    let mut walks = compare(
        &a.name,
        sample.rows,
        &mut [
            Competitor::new("merge", |y| handwritten.merge(&sample, x, y)),
            Competitor::new("branching merge", |y| handwritten.merge_branches(&sample, x, y)),
            Competitor::new("seq", |y| seq.spmspv(&sample, x, y)),
            Competitor::new("hash", |y| hash.spmspv(&sample, x, y)),
        ],
    );
    for seconds in &mut walks {
        *seconds *= if step == 1 { 1.0 } else { occupied as f64 / sample.rows as f64 };
    }
    let searches = compare(
        &a.name,
        a.rows,
        &mut [
            Competitor::new("bsearch", |y| bsearch.spmspv(a, x, y)),
            Competitor::new("hash", |y| hash.spmspv(a, x, y)),
        ],
    );
    let merge = walks[0];
    let finds = vec![merge / walks[2], merge / searches[0], merge / searches[1]];
    (merge, Case { density, merge_branches: merge / walks[1], finds })
}
