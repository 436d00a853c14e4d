//! A matrix by rows times a sparse vector: `cargo run --release --example spmspv`.
//!
//! Reads the matrix and the vector of the demo, compiles the kernel that fits their sizes, and
//! compares two strategies.

use siskin::layout::Layout;
use siskin::{Kernel, Tensor};

fn main() -> siskin::diagnostic::Result<()> {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
    let a = Tensor::read(format!("{data}/bcsstk13.mtx.gz"))?.pack(&Layout::named("csr")?)?;
    let x = Tensor::read(format!("{data}/x2003.mtx"))?.pack(&Layout::named("sparse")?)?;
    let kernel = Kernel::new("y[i] += A[i,j] * x[j]").layout("A", "csr").layout("x", "sparse");
    for find in ["hash", "seq"] {
        let compiled = kernel.clone().find(Some("px"), find).compile()?;
        let y = compiled.run([("A", &a), ("x", &x)])?;
        let sum: f64 = (0..y.stored()).map(|k| y.values().get_f64(k)).sum();
        println!("{find:<5} sum of y = {sum:.1}");
    }
    Ok(())
}
