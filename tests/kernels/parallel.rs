//! Parallel loops against sequential ones (SPF §5.1): the dependence test says which loop may run in
//! parallel, and results are equal, bit by bit where no sum is reassociated.

use std::sync::Arc;

use siskin::kernel::Coiterate;
use siskin::packing::{PackOptions, pack};
use siskin::tensor::{Entries, IndexData, Values};
use siskin::{Kernel, Layout, Tensor};

/// A deterministic scramble of the numbers below 2^32.
fn scrambled(k: usize) -> usize {
    (k as u32).wrapping_mul(0x9E37_79B9).rotate_left(13).wrapping_mul(0x85EB_CA6B) as usize
}

/// About one in `sparsity` coordinates, with values that do not add up exactly.
fn tensor(layout: &str, dims: &[usize], sparsity: usize, seed: usize) -> Tensor {
    tensor_of(layout, dims, |k| scrambled(k + seed * 7919).is_multiple_of(sparsity))
}

/// The coordinates whose row-major places are `stored`.
fn tensor_of(layout: &str, dims: &[usize], stored: impl Fn(usize) -> bool) -> Tensor {
    let len: usize = dims.iter().product();
    let stored: Vec<usize> = (0..len).filter(|k| stored(*k)).collect();
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
    check_by(Coiterate::Auto, statement, tensors, output, expected);
}

fn check_by(
    scheme: Coiterate,
    statement: &str,
    tensors: &[(&str, &str, Tensor)],
    output: Option<(&str, &str)>,
    expected: Expected,
) {
    let kernel = |threads| {
        // Another way would add in another order.
        let mut kernel = Kernel::new(statement).threads(threads).only_way().coiterate(scheme);
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
        let outermost = &statement.nest().levels[0].var;
        assert!(parallel.var == *outermost || scheme == Coiterate::Looplets, "{parallel:?}");
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
fn threads_take_chunks_of_the_rows_that_looplets_walk() {
    for (a, b) in [("csr", "dcsr"), ("coo", "dcsr"), ("coo", "csr"), ("bcsr(2,2)", "coo")] {
        let data = |layout, seed| tensor(layout, &[212, 96], 13, seed);
        check_by(
            Coiterate::Looplets,
            "y[i] += A[i,j] * B[i,j] + B[i,j]",
            &[("A", a, data(a, 1)), ("B", b, data(b, 2))],
            None,
            Expected::Bitwise,
        );
    }
}

#[test]
fn threads_take_chunks_of_the_indices_of_regions() {
    for (x, z) in [
        ("sparse", "sparse"),
        ("SparseBlockList(Element(0.0))", "sparse"),
        ("SparseBlockList(Element(0.0))", "SparseRunList(Element(0.0))"),
        ("RunList(Element(0.0))", "SparseBand(Element(0.0))"),
    ] {
        let data = |layout, seed| tensor(layout, &[3011], 3, seed);
        for statement in ["s += x[i] * z[i]", "s += x[i] * z[i] + z[i]"] {
            let tensors = [("x", x, data(x, 1)), ("z", z, data(z, 2))];
            check_by(Coiterate::Looplets, statement, &tensors, None, Expected::Reassociated);
        }
    }
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

/// What a tensor is made of, to the bit.
fn bytes(tensor: &Tensor) -> (Vec<(String, IndexData)>, Vec<u64>) {
    let arrays = tensor.arrays().iter().map(|(name, data)| (name.to_string(), data.clone()));
    let values = tensor.values().as_slice::<f64>().unwrap();
    (arrays.collect(), values.iter().map(|x| x.to_bits()).collect())
}

/// Matrices of 211 rows: some, few, or no entries, all in few rows, all in one row, one entry.
fn matrices(layout: &str, columns: usize, seed: usize) -> Vec<Tensor> {
    let dims = [211, columns];
    let some = |n: usize| move |k: usize| scrambled(k + seed).is_multiple_of(n);
    vec![
        tensor_of(layout, &dims, some(9)),
        tensor_of(layout, &dims, some(400)),
        tensor_of(layout, &dims, |_| false),
        tensor_of(layout, &dims, |k| k / columns % 50 == 3 && some(2)(k)),
        tensor_of(layout, &dims, |k| k / columns == 77),
        tensor_of(layout, &dims, |k| k == 5 * columns + 1),
        tensor_of(layout, &[3, columns], some(2)),
        tensor_of(layout, &[0, columns], some(2)),
    ]
}

/// A result that threads assemble in parts is the one that a single thread assembles, to the bit.
fn assembled(
    wish: impl Fn(Kernel) -> Kernel,
    statement: &str,
    layouts: &[(&str, &str)],
    out: &str,
) {
    let kernel = |threads| {
        let kernel = layouts.iter().fold(Kernel::new(statement), |k, (t, l)| k.layout(t, l));
        wish(kernel.layout("C", out)).threads(threads)
    };
    let planned = kernel(2).plan().unwrap();
    let threads = planned.assembled().unwrap().assembling.threads.clone();
    assert!(matches!(threads, Some(Ok(_))), "{statement} {layouts:?}: {threads:?}");
    let one = kernel(1).compile().unwrap();
    let many: Vec<_> = [2, 3, 7].map(|threads| kernel(threads).compile().unwrap()).into();
    let (mut entries, others) = (0, 37);
    for first in matrices(layouts[0].1, others, 1) {
        let rows = first.dims()[0];
        let mut given = vec![(layouts[0].0, first)];
        for (seed, (name, layout)) in layouts.iter().enumerate().skip(1) {
            let rank = planned.program().tensors()[*name];
            // As many rows as the first has, or as it has columns.
            let rows = if statement.contains("[k,j]") { others } else { rows };
            let dims = if rank == 1 { vec![others] } else { vec![rows, others] };
            given.push((*name, tensor(layout, &dims, 3, seed + 5)));
        }
        let given: Vec<(&str, &Tensor)> = given.iter().map(|(n, t)| (*n, t)).collect();
        let expected = one.run(given.clone()).unwrap();
        entries += expected.stored();
        for (kernel, threads) in many.iter().zip([2, 3, 7]) {
            let mut got = kernel.run(given.clone()).unwrap();
            assert_eq!(bytes(&got), bytes(&expected), "{statement} {layouts:?} {threads} threads");
            got.validate().unwrap();
        }
    }
    assert!(entries > 100, "the results are not trivial");
}

#[test]
fn products_are_assembled_in_parts_by_every_workspace() {
    let csr = [("A", "csr"), ("B", "csr")];
    for workspace in siskin::synth::workspaces().unwrap() {
        let name = workspace.name.as_str();
        assembled(|k| k.workspace(name), "C[i,j] += A[i,k] * B[k,j]", &csr, "csr");
    }
}

#[test]
fn products_are_assembled_in_parts_of_every_layout() {
    for out in ["csc", "dcsr", "coo", "dense(i), compressed(j, ordered=false)", "bcsr(3,4)"] {
        // Columns come in order by the columns of the second.
        let inputs = match out {
            "csc" => [("A", "csc"), ("B", "csc")],
            _ => [("A", "csr"), ("B", "csr")],
        };
        assembled(|k| k, "C[i,j] += A[i,k] * B[k,j]", &inputs, out);
    }
}

#[test]
fn sums_are_merged_in_parts() {
    let sum = "C[i,j] = A[i,j] + B[i,j]";
    for out in ["csr", "coo", "dcsr"] {
        assembled(|k| k, sum, &[("A", "csr"), ("B", "csr")], out);
    }
    // No loop is around these: chunks are of the first coordinate.
    for out in ["coo", "csr", "dcsr"] {
        assembled(|k| k, sum, &[("A", "coo"), ("B", "coo")], out);
    }
    let three = [("A", "coo"), ("B", "coo"), ("D", "coo")];
    assembled(|k| k, "C[i,j] = A[i,j] + 2 * B[i,j] + D[i,j]", &three, "csr");
}

/// Each thread has the state of its searches from part to part; tables that are only read are shared.
#[test]
fn searches_keep_their_state_in_parts() {
    let product = "C[i,j] = A[i,j] * B[i,j]";
    for (second, template) in
        [("csr", "seq"), ("csr", "hash"), ("coo", "seq"), ("coo", "hash"), ("coo", "bsearch")]
    {
        let wish = |k: Kernel| k.find(None, template);
        assembled(wish, product, &[("A", "csr"), ("B", second)], "csr");
    }
}

/// A row of entries may begin in one part and go on in the next.
#[test]
fn rows_that_several_parts_share_are_joined() {
    for out in ["csr", "dcsr", "coo", "compressed(i), compressed(j)"] {
        assembled(|k| k, "C[i,j] = A[i,j] * x[j]", &[("A", "coo"), ("x", "dense")], out);
    }
}

/// Of three levels, the outer two may go on.
#[test]
fn fibers_that_several_parts_share_are_joined() {
    let halves = ["dense(i), compressed(j), compressed(k)", "dense(i), dense(j), compressed(k)"];
    ["csf", "coo"].into_iter().chain(halves).for_each(fibers);
}

fn fibers(out: &str) {
    let kernel = |threads| {
        let kernel = Kernel::new("C[i,j,k] = A[i,j,k] * x[k]").layout("A", "coo");
        kernel.layout("C", out).threads(threads).compile().unwrap()
    };
    let (one, x) = (kernel(1), tensor("dense", &[40], 1, 2));
    for many in [kernel(2), kernel(3), kernel(7)] {
        for (n, first) in [(2, 0), (30, 0), (3, 7)] {
            let stored = |k: usize| scrambled(k + first).is_multiple_of(n);
            let cube = tensor_of("coo", &[5, 6, 40], stored);
            let given = [("A", &cube), ("x", &x)];
            let (expected, mut got) = (one.run(given).unwrap(), many.run(given).unwrap());
            assert_eq!(bytes(&got), bytes(&expected), "{out}");
            assert!(got.stored() > 20);
            got.validate().unwrap();
        }
    }
}

#[test]
fn what_comes_in_order_only_at_the_end_is_assembled_on_one_thread() {
    let kernel = Kernel::new("C[i,j] += A[k,i] * B[k,j]").layout("A", "csr").layout("B", "csr");
    let kernel = kernel.layout("C", "csr").threads(2);
    let planned = kernel.clone().order(&["k", "i", "j"]).plan().unwrap();
    let why = match &planned.assembled().unwrap().assembling.threads {
        Some(Err(why)) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(why, "entries come in order only when all loops have run");
    assert!(!planned.render().unwrap().text().contains("threads"));
    // Another order is ours to choose: the entries of A are searched as one list.
    let chosen = kernel.plan().unwrap();
    assert!(chosen.assembled().unwrap().assembling.threads.as_ref().unwrap().is_ok());
    assert_eq!(chosen.statements()[0].space().fused.len(), 1);
}
