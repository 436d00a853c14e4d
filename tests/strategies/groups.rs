//! Entries that are taken together because they have coordinates in common.

use siskin::exec::Jit;
use siskin::formula::Name;
use siskin::synth::{Sizes, templates};
use siskin::{Kernel, Tensor};

use crate::study::random::Random;
use crate::study::tensors::{dims_of, stored};

/// A statement, the layouts of its tensors, and whether entries are taken together.
type Case = (&'static str, &'static [(&'static str, &'static str)], bool);

const CASES: [Case; 22] = [
    ("s[] += A[i,j] * B[i,j]", &[("A", "coo"), ("B", "csr")], true),
    ("y[i] += A[i,j] * B[i,j]", &[("A", "coo"), ("B", "dcsr")], true),
    ("y[j] += A[i,j] * B[i,j]", &[("A", "coo"), ("B", "csr")], true),
    ("C[i,j] = A[i,j] * B[i,j]", &[("A", "coo"), ("B", "dcsr"), ("C", "csr")], true),
    ("C[i,j] = A[i,j] * B[i,j]", &[("A", "coo"), ("B", "csr"), ("C", "coo")], true),
    ("y[i] += A[i,j] * B[i,j] * D[i,j]", &[("A", "coo"), ("B", "csr"), ("D", "dcsr")], true),
    ("s[] += A[i,j,k] * B[i,j,k]", &[("A", "coo"), ("B", "csf")], true),
    ("y[i] += A[i,j] * B[j,i]", &[("A", "coo"), ("B", "csc")], true),
    // Rows are searched for behind what each entry asks, or begin anew for each.
    ("y[i] += A[i,j] * x[j] * B[i,j]", &[("A", "coo"), ("x", "sparse"), ("B", "dcsr")], false),
    ("y[i] += A[i,j] * B[j,i]", &[("A", "coo"), ("B", "csr")], false),
    ("s[] += A[i,j] * B[i,j] * D[i,j]", &[("A", "coo"), ("B", "csc"), ("D", "ell")], false),
    ("s[] += A[i,j] * B[i,j] if i < j", &[("A", "coo"), ("B", "csr")], false),
    ("s[] += A[i,j] * B[i,j] if i < 4", &[("A", "coo"), ("B", "dcsr")], false),
    // Of a row, several entries match, and would come before the next of the group; or there are loops.
    ("C[i,j,k] = A[i,j] * B[i,k]", &[("A", "coo"), ("B", "coo"), ("C", "csf")], false),
    ("s[] += A[i,j] * B[i,k] * D[i,j,k]", &[("A", "coo"), ("B", "coo"), ("D", "coo")], false),
    ("s[] += A[i,j] * B[i,k] * x[k]", &[("A", "coo"), ("B", "dcsr"), ("x", "sparse")], false),
    // Others do something for each entry, too.
    ("y[i] max= A[i,j] * B[i,j]", &[("A", "coo"), ("B", "dcsr")], false),
    ("y[i] += A[i,j] * B[i,j] + x[i]", &[("A", "coo"), ("B", "csr")], false),
    ("T[i,j] = A[i,j] * B[i,j]; y[i] += T[i,j] * A[i,j]", &[("A", "coo"), ("B", "csr")], false),
    // Nothing is spared.
    ("y[i] += A[i,j] * x[j]", &[("A", "coo"), ("x", "sparse")], false),
    ("s[] += A[i,j] * B[i,j]", &[("A", "csr"), ("B", "csr")], false),
    // Entries that follow each other have nothing in common.
    ("s[] += A[i,j] * B[i,j]", &[("A", "coo-unsorted"), ("B", "csr")], false),
];

fn kernel((statement, layouts, _): Case) -> Kernel {
    let kernel = Kernel::new(statement).only_way().in_default_order();
    layouts.iter().fold(kernel, |kernel, (tensor, layout)| kernel.layout(tensor, layout))
}

/// So many entries that follow each other have each coordinate in common.
fn runs_of(entries: f64) -> Sizes {
    let arrays = ["crd0_A", "crd1_A", "crd_A"].map(|array| (Name::from(array), entries));
    Sizes { run_lengths: arrays.into_iter().collect(), ..Sizes::default() }
}

fn takes_together(kernel: &Kernel) -> bool {
    kernel.plan().unwrap().loops().to_string().contains("group pA")
}

#[test]
fn entries_are_taken_together_where_that_spares_searches_or_states() {
    for case in CASES {
        assert_eq!(takes_together(&kernel(case)), case.2, "{case:?}");
        assert!(!takes_together(&kernel(case).sizes(runs_of(1.5))), "{case:?}");
    }
}

#[test]
fn all_finds_within_groups_find_what_a_scan_finds() {
    let jit = Jit::new().unwrap();
    let mut random = Random(3);
    let mut compared = 0;
    for case in CASES.into_iter().filter(|case| case.2) {
        let (statement, layouts, _) = case;
        let output = statement.split('[').next().unwrap_or_default();
        let alone = kernel(case).sizes(runs_of(1.0)).find(None, "scan").compile_with(&jit).unwrap();
        let mut others = Vec::new();
        for template in templates().unwrap() {
            let on_threads = ["seq", "expand"].contains(&template.name.as_str());
            for threads in if on_threads { 1..3 } else { 1..2 } {
                let kernel = kernel(case).find(None, &template.name).threads(threads);
                let Ok(planned) = kernel.plan() else { continue };
                let module = planned.render().unwrap();
                assert!(module.accesses().iter().all(|access| access.proved), "{}", module.text());
                others.push(kernel.compile_with(&jit).unwrap());
            }
        }
        for turn in 0..30 {
            let extents = [random.below(9), random.below(12), random.below(4)];
            let inputs: Vec<(&str, Tensor)> = layouts
                .iter()
                .filter(|(name, _)| *name != output)
                .map(|(name, layout)| {
                    let dims = dims_of(statement, name, extents);
                    let percent = [0, 10, 40, 100][turn % 4];
                    let small = |random: &mut Random| random.below(9) as f64 - 4.0;
                    (*name, stored(&mut random, layout, &dims, percent, small))
                })
                .collect();
            let given = || inputs.iter().map(|(name, tensor)| (*name, tensor));
            let expected = alone.run(given()).unwrap();
            for kernel in &others {
                let got = kernel.run(given()).unwrap();
                let same = expected.values() == got.values() && expected.arrays() == got.arrays();
                assert!(same, "{statement} {extents:?}\n{}", kernel.module().text());
                compared += 1;
            }
        }
    }
    assert!(compared > 2_000, "{compared}");
}
