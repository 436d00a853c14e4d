//! NaN among what is combined: an element of any result is what it is in a dense one.

use std::sync::Arc;

use siskin::packing::{PackOptions, pack};
use siskin::tensor::{Entries, Value};
use siskin::{Kernel, Layout, Tensor};

fn packed(points: &[(&[usize], f64)]) -> Tensor {
    let layout = Arc::new(Layout::named("csr").unwrap());
    let entries = Entries::from_points(&[3, 4], points).unwrap();
    pack(&layout, &entries, &PackOptions::default()).unwrap()
}

#[test]
fn of_an_infinity_and_nan_the_greatest_and_the_least_are_the_infinity() {
    let nan = f64::NAN;
    let a = packed(&[(&[0, 1], nan), (&[0, 3], nan), (&[2, 0], nan), (&[2, 2], 5.0)]);
    let b = packed(&[(&[0, 1], nan), (&[1, 0], nan), (&[2, 0], 2.0)]);
    for (statement, layouts) in [
        ("y[i] max= A[i,j]", &["sparse", "run-length"][..]),
        ("y[j] min= A[i,j] + 1", &["sparse", "run-length"]),
        ("C[i,j] max= A[i,j]", &["csr", "csc", "coo", "SparseList(SparseRunList(Element(-Inf)))"]),
        ("C[i,j] min= A[i,j]", &["csr", "csc", "coo"]),
        ("C[i,j] max= max(A[i,j], B[i,j])", &["csr", "dcsr"]),
    ] {
        let greatest = statement.contains("max=");
        let fill = Value::F64(if greatest { f64::NEG_INFINITY } else { f64::INFINITY });
        let read = [("A", &a), ("B", &b)].into_iter();
        let given: Vec<_> =
            read.filter(|(name, _)| statement.contains(&format!("{name}["))).collect();
        // As text, so that NaN is equal to itself.
        let run = |layout: Option<&str>| {
            let kernel = given.iter().fold(Kernel::new(statement), |kernel, (name, _)| {
                kernel.layout(name, "csr").fill(name, fill)
            });
            let kernel = match layout {
                Some(layout) => kernel.layout(&statement[..1], layout),
                None => kernel,
            };
            let result = kernel.compile().unwrap().run(given.iter().copied()).unwrap();
            let elements = result.dense_else(fill).unwrap();
            format!("{:?}", elements.values().as_slice::<f64>().unwrap())
        };
        let dense = run(None);
        assert!(dense.contains("inf"), "{statement}: {dense}");
        for layout in layouts {
            assert_eq!(run(Some(layout)), dense, "{statement} in {layout}");
        }
    }
}
