//! Annihilators that IEEE arithmetic does not grant: of what is missing always, of what is stored on request.

use std::sync::Arc;

use siskin::iterspace::Union;
use siskin::packing::{PackOptions, pack};
use siskin::tensor::Entries;
use siskin::{Kernel, Layout, Tensor};

fn packed(layout: &str, dims: &[usize], points: &[(&[usize], f64)]) -> Tensor {
    let layout = Arc::new(Layout::named_for_rank(layout, dims.len()).unwrap());
    let entries = Entries::from_points(dims, points).unwrap();
    pack(&layout, &entries, &PackOptions::default()).unwrap()
}

/// The result without fast math, and with it.
fn both(expression: &str, union: Union) -> [Vec<f64>; 2] {
    let inf = f64::INFINITY;
    let a = [(&[0, 0][..], inf), (&[0, 1], 0.0), (&[1, 1], f64::NAN), (&[1, 2], -inf)];
    let tensors = [
        ("A", "csr", packed("csr", &[2, 3], &a)),
        ("B", "csr", packed("csr", &[2, 3], &[(&[0, 0], 3.0), (&[1, 2], 4.0)])),
        ("x", "dense", packed("dense", &[3], &[(&[0], 0.0), (&[1], inf), (&[2], 2.0)])),
    ];
    let tensors: Vec<_> =
        tensors.iter().filter(|(name, ..)| expression.contains(&format!("{name}["))).collect();
    [false, true].map(|fast| {
        let kernel = Kernel::new(expression).union(union);
        let kernel = if fast { kernel.fast_math() } else { kernel };
        let kernel =
            tensors.iter().fold(kernel, |kernel, (name, layout, _)| kernel.layout(name, layout));
        let run = kernel.compile().unwrap().run(tensors.iter().map(|(name, _, t)| (*name, t)));
        run.unwrap().values().as_slice::<f64>().unwrap().to_vec()
    })
}

/// With NaN as text, so that it is equal to itself.
fn shown(values: &[f64]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_is_stored_is_annihilated_on_request() {
    for (expression, exact, fast) in [
        // Zeros of the text.
        ("C[i,j] = 0 * A[i,j] + B[i,j]", "NaN 0 0 0 NaN NaN", "3 0 0 0 0 4"),
        ("y[j] += 0 / x[j] + B[0,j]", "NaN 0 0", "3 0 0"),
        // A product is zero from its first zero on.
        ("p[] *= max(x[j], B[i,j] - B[i,j])", "NaN", "0"),
    ] {
        for union in [Union::Distribute, Union::Passes] {
            let [without, with] = both(expression, union);
            assert_eq!(shown(&without), exact, "{expression}, {union:?}");
            assert_eq!(shown(&with), fast, "{expression}, {union:?}, fast math");
        }
    }
}

#[test]
fn nothing_else_changes() {
    for expression in [
        "C[i,j] = A[i,j] * x[j] - B[i,j]",
        "C[i,j] = max(A[i,j], -inf) + min(B[i,j], inf)",
        "C[i,j] = A[i,j] - 1",
        "y[i] min= A[i,j] + B[i,j]",
        "s[] += A[i,j] * B[i,j]",
    ] {
        for union in [Union::Distribute, Union::Passes] {
            let [without, with] = both(expression, union);
            assert_eq!(shown(&without), shown(&with), "{expression}, {union:?}");
        }
    }
}

#[test]
fn what_a_zero_annihilates_is_not_visited() {
    let points = |fast: bool| {
        let kernel =
            Kernel::new("C[i,j] = 0 * A[i,j] + B[i,j]").layout("A", "csr").layout("B", "csr");
        let kernel = if fast { kernel.fast_math() } else { kernel };
        kernel.plan().unwrap().statements().len()
    };
    assert_eq!((points(false), points(true)), (2, 1));
}
