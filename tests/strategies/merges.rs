//! Merges of operands that are no one loop inside loops that they share: one for each index.

use siskin::diagnostic::Code;
use siskin::kernel::Coiterate;
use siskin::{Kernel, Tensor};

use crate::study::random::Random;
use crate::study::tensors::stored;

/// Layouts of which each index is an ordered list or counted, by rows.
const ORDERED: [&str; 6] = [
    "csr",
    "dcsr",
    "coo",
    "ell",
    "compressed(i), compressed(j)",
    "compressed(i, unique=false), singleton(j)",
];

fn kernel(expression: &str, layouts: &[(&str, &str)], scheme: Coiterate) -> Kernel {
    let kernel = Kernel::new(expression).coiterate(scheme);
    layouts.iter().fold(kernel, |kernel, (tensor, layout)| kernel.layout(tensor, layout))
}

/// The loops of a merge, in which nothing is searched for; it computes what finds do.
fn merged(expression: &str, layouts: &[(&str, &str)], dims: &[usize]) -> String {
    // Small whole numbers: sums are exact in any order.
    let mut random = Random(3);
    let mut tensor = |layout| stored(&mut random, layout, dims, 40, |r| 1.0 + r.below(5) as f64);
    let tensors: Vec<(&str, Tensor)> =
        layouts.iter().map(|(name, layout)| (*name, tensor(layout))).collect();
    let run = |scheme| {
        let kernel = kernel(expression, layouts, scheme);
        let inputs = tensors.iter().map(|(name, tensor)| (*name, tensor));
        let result = kernel.compile().unwrap().run(inputs).unwrap();
        result.values().as_slice().map(<[f64]>::to_vec)
    };
    assert_eq!(run(Coiterate::Merge), run(Coiterate::Find), "{expression} {layouts:?}");
    let planned = kernel(expression, layouts, Coiterate::Merge).plan().unwrap();
    assert!(planned.statements().iter().all(|s| s.finds().is_empty()), "{layouts:?}");
    planned.loops().to_string()
}

#[test]
fn ordered_lists_are_merged_index_by_index() {
    for (k, a) in ORDERED.iter().enumerate() {
        for b in &ORDERED[k..] {
            let expression = ["s[] += A[i,j] * B[i,j]", "C[i,j] = A[i,j] + B[i,j]"][k % 2];
            let loops = merged(expression, &[("A", a), ("B", b)], &[5, 4]);
            assert!(loops.contains("merge ") || loops.contains("step j"), "{a} {b}\n{loops}");
        }
    }
}

#[test]
fn trees_of_lists_are_merged_list_by_list() {
    let loops = merged("s[] += A[i,j,k] * B[i,j,k]", &[("A", "csf"), ("B", "csf")], &[4, 3, 5]);
    let steps = loops.lines().filter(|line| line.trim_start().starts_with("step "));
    assert_eq!(steps.count(), 3, "{loops}");
    assert!(!loops.contains("sought"), "{loops}");
}

#[test]
fn three_are_merged_at_once() {
    let layouts = [("A", "dcsr"), ("B", "coo"), ("D", "csr")];
    let loops = merged("C[i,j] = (A[i,j] + B[i,j]) * D[i,j]", &layouts, &[6, 5]);
    assert!(loops.contains("step i") && loops.contains("step j"), "{loops}");
}

#[test]
fn runs_blocks_and_bands_are_merged_region_by_region() {
    let levels = ["SparseList", "SparseRunList", "SparseBlockList", "SparseBand"];
    let formats = levels.map(|level| format!("{level}(Element(0.0))"));
    let pairs =
        formats.iter().enumerate().flat_map(|(k, x)| formats[k..].iter().map(move |y| (x, y)));
    let runs = "RunList(Element(0.0))".to_string();
    for (x, y) in pairs.chain([(&runs, &runs), (&runs, &formats[1])]) {
        let loops = merged("s[] += x[i] * y[i]", &[("x", x), ("y", y)], &[7]);
        assert!(loops.contains("merge ") || loops.contains("step i"), "{x} {y}\n{loops}");
    }
    for a in ["dcsr", "csr", "coo"] {
        let b = "Dense(SparseBlockList(Element(0.0)))";
        // Columns are the outer level of the second.
        let loops = merged("s[] += A[i,j] * B[j,i]", &[("A", a), ("B", b)], &[5, 5]);
        assert!(loops.contains("step "), "{a}\n{loops}");
    }
}

#[test]
fn what_has_no_order_is_not_merged() {
    for (a, b) in [("dcsr", "coo-unsorted"), ("csr", "csc"), ("dcsr", "hash")] {
        let kernel =
            kernel("s[] += A[i,j] * B[i,j]", &[("A", a), ("B", b)], Coiterate::Merge).plan();
        let refused = kernel.expect_err(b);
        assert_eq!(refused.code, Code::Space, "{b}");
        assert!(refused.message.contains("cannot be merged"), "{b}: {refused:?}");
    }
}
