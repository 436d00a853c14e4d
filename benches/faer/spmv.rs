//! Generated SpMV against faer, in turns, as ratios: `cargo run --release -p beside-faer`.

#[path = "../common/mod.rs"]
mod common;

use common::compare::{Competitor, compare, geometric_mean, verdict};
use common::generated::Generated;
use common::generators::generated_matrices;
use common::matrix::{Matrix, dense_vector, real_matrices};
use faer::sparse::linalg::matmul::sparse_dense_matmul;
use faer::sparse::{SparseRowMatRef, SymbolicSparseRowMatRef};
use faer::{Accum, MatMut, MatRef, Par};

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let generated = Generated::compile(None, folder.path());
    println!("SpMV, seconds of the generated kernel, and of faer relative to it");
    println!("{:<14} {:>9} {:>10} {:>9}", "matrix", "entries", "generated", "faer");
    let mut ratios = Vec::new();
    for a in real_matrices().into_iter().chain(generated_matrices()) {
        let (own, faer) = one_matrix(&a, &generated);
        println!("{:<14} {:>9} {:>9.1}u {:>9.2}", a.name, a.stored(), own * 1e6, faer / own);
        ratios.push(own / faer);
    }
    println!("\ngeometric mean over {} matrices:", ratios.len());
    let mean = geometric_mean(ratios.into_iter());
    verdict("generated / faer", mean, "< 1", mean < 1.0);
}

/// The arrays of `a` as a matrix of faer, with 32-bit indices like everybody's.
fn faer_view(a: &Matrix) -> SparseRowMatRef<'_, u32, f64> {
    let shape = SymbolicSparseRowMatRef::new_checked(a.rows, a.columns, &a.pos, None, &a.crd);
    SparseRowMatRef::new(shape, &a.val)
}

/// Seconds of the generated kernel and of faer.
fn one_matrix(a: &Matrix, generated: &Generated) -> (f64, f64) {
    let x = &dense_vector(a.columns, 1)[..];
    let faer = faer_view(a);
    let faer_x = MatRef::from_column_major_slice(x, a.columns, 1);
    let seconds = compare(
        &a.name,
        a.rows,
        &mut [
            Competitor::new("generated", |y| generated.spmv(a, x, y)),
            Competitor::new("faer", |y| {
                let y = MatMut::from_column_major_slice_mut(y, a.rows, 1);
                sparse_dense_matmul(y, Accum::Add, faer, faer_x, 1.0, Par::Seq);
            }),
        ],
    );
    (seconds[0], seconds[1])
}
