//! Parallel loops against sequential ones (SPF §5.1): the dependence test says which loop may run in
//! parallel, and results are equal, bit by bit where no sum is reassociated.

use std::sync::Arc;

use siskin::packing::{PackOptions, pack};
use siskin::tensor::{Entries, IndexData, Values};
use siskin::{Kernel, Layout, Tensor};

/// A deterministic scramble of the numbers below 2^32.
fn scrambled(k: usize) -> usize {
    (k as u32).wrapping_mul(0x9E37_79B9).rotate_left(13).wrapping_mul(0x85EB_CA6B) as usize
}

/// About one in `sparsity` coordinates, with values that do not add up exactly.
fn tensor(layout: &str, dims: &[usize], sparsity: usize, seed: usize) -> Tensor {
    let len: usize = dims.iter().product();
    let stored: Vec<usize> =
        (0..len).filter(|k| scrambled(k + seed * 7919).is_multiple_of(sparsity)).collect();
    let coords = (0..dims.len())
        .map(|d| {
            let inner: usize = dims[d + 1..].iter().product();
            IndexData::U32(stored.iter().map(|k| (k / inner % dims[d]) as u32).collect())
        })
        .collect();
    let values = stored.iter().map(|k| 1.0 / (1.0 + (scrambled(*k) % 97) as f64)).collect();
    let entries = Entries::new(dims.to_vec(), coords, Values::F64(values)).unwrap();
    let layout = Layout::named_for_rank(layout, dims.len()).unwrap();
    let mut tensor = pack(&Arc::new(layout), &entries, &PackOptions::default()).unwrap();
    tensor.validate().unwrap();
    tensor
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Expected {
    /// Each element is written by one thread.
    Bitwise,
    /// Each thread sums into a copy of its own.
    Reassociated,
}

fn check(
    statement: &str,
    tensors: &[(&str, &str, Tensor)],
    output: Option<(&str, &str)>,
    expected: Expected,
) {
    let kernel = |threads| {
        let mut kernel = Kernel::new(statement).threads(threads);
        for (name, layout, _) in tensors {
            kernel = kernel.layout(name, layout);
        }
        match output {
            Some((name, layout)) => kernel.layout(name, layout),
            None => kernel,
        }
    };
    let planned = kernel(2).plan().unwrap();
    for statement in planned.statements() {
        let parallel = statement.parallel().expect("a parallel loop");
        assert_eq!(parallel.private, expected == Expected::Reassociated);
        assert_eq!(parallel.level, 0, "the outermost loop");
    }
    let values = |threads| {
        let kernel = kernel(threads).compile().unwrap();
        let given: Vec<(&str, &Tensor)> =
            tensors.iter().map(|(name, _, tensor)| (*name, tensor)).collect();
        kernel.run(given).unwrap().values().as_slice::<f64>().unwrap().to_vec()
    };
    let one = values(1);
    assert!(one.iter().any(|x| *x != 0.0), "the data are not trivial");
    for threads in [2, 3, 8] {
        let many = values(threads);
        match expected {
            Expected::Bitwise => {
                let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&one), bits(&many), "{threads} threads");
            }
            Expected::Reassociated => {
                let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * (1.0 + a.abs());
                assert!(one.iter().zip(&many).all(close), "{threads} threads");
            }
        }
    }
}

#[test]
fn rows_that_are_stored_once_run_in_parallel() {
    let (a, x) = (tensor("dcsr", &[211, 97], 13, 1), tensor("dense", &[97], 1, 2));
    check("y[i] += A[i,j] * x[j]", &[("A", "dcsr", a), ("x", "dense", x)], None, Expected::Bitwise);
}

#[test]
fn columns_sum_into_private_copies() {
    let (a, x) = (tensor("csc", &[97, 211], 13, 1), tensor("dense", &[211], 1, 2));
    check(
        "y[i] += A[i,j] * x[j]",
        &[("A", "csc", a), ("x", "dense", x)],
        None,
        Expected::Reassociated,
    );
}

#[test]
fn a_product_of_matrices_runs_in_parallel_over_rows() {
    let (a, b) = (tensor("csr", &[83, 61], 7, 1), tensor("csr", &[61, 71], 5, 2));
    check(
        "C[i,j] += A[i,k] * B[k,j]",
        &[("A", "csr", a), ("B", "csr", b)],
        None,
        Expected::Bitwise,
    );
}

#[test]
fn searched_rows_keep_their_state_apart() {
    let (a, x) = (tensor("csr", &[211, 97], 5, 1), tensor("sparse", &[97], 3, 2));
    check("y[i] += A[i,j] * x[j]", &[("A", "csr", a), ("x", "sparse", x)], None, Expected::Bitwise);
}

#[test]
fn fibers_of_a_tensor_times_a_matrix_run_in_parallel() {
    let (a, b) = (tensor("csf", &[31, 17, 23], 11, 1), tensor("dense", &[23, 6], 1, 2));
    check(
        "C[i,j,l] += A[i,j,k] * B[k,l]",
        &[("A", "csf", a), ("B", "dense", b)],
        Some(("C", "shares(A)")),
        Expected::Bitwise,
    );
}

#[test]
fn a_scalar_is_summed_from_private_parts() {
    let a = tensor("csr", &[211, 97], 5, 1);
    check("s[] += A[i,j]", &[("A", "csr", a)], None, Expected::Reassociated);
}

/// At most one iteration reaches the update, but every thread adds its sum.
#[test]
fn a_sum_that_one_iteration_adds_to_is_kept_apart_by_every_thread() {
    let (a, b) = (tensor("sparse", &[97], 1, 1), tensor("dense", &[97], 1, 2));
    check(
        "s[] += a[i] * b[i] if i < 4 and i mod 5 = 2",
        &[("a", "sparse", a), ("b", "dense", b)],
        None,
        Expected::Reassociated,
    );
}

#[test]
fn a_sum_that_is_stored_without_a_match_is_a_write() {
    // One diagonal holds the elements of `A[i,i]`, but the iterations of all others add nothing to
    // `s`: that would lose what another thread adds meanwhile.
    let planned = Kernel::new("s[] += A[i,i]").layout("A", "dia").threads(4).plan().unwrap();
    let text = planned.render().unwrap().text().to_string();
    assert!(text.contains("on_threads_summing(threads, "), "{text}");
}

/// The range that is shared out ends at `max(e, 0)`; within it, `e` is positive.
#[test]
fn bounds_below_a_difference_that_may_be_negative_are_those_of_a_chunk() {
    let a = tensor("bcsr(3,4)", &[31, 17], 3, 1);
    check("y[i + 1] += A[2*i,i]", &[("A", "bcsr(3,4)", a)], None, Expected::Bitwise);
}
