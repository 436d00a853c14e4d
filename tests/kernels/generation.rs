//! Time from an expression to the text of its kernel, for statements with many factors.
//!
//! Times are bounded generously: a debug build on a busy machine must pass, an algorithm that is
//! exponential or a high power of the number of factors must not. `cargo bench --bench generate`
//! measures.

use std::time::{Duration, Instant};

use siskin::Kernel;
use siskin::diagnostic::Code;
use siskin::iterspace::MOST_CHOICES;

const MANY: usize = 20;

fn name(k: usize) -> String {
    format!("{}{}", (b'a' + (k % 26) as u8) as char, if k < 26 { "" } else { "a" })
}

/// The time of `expression`, with `layout` for each of `tensors`.
fn time(expression: &str, tensors: &[String], layout: &str) -> Duration {
    let mut kernel = Kernel::new(expression);
    for tensor in tensors {
        kernel = kernel.layout(tensor, layout);
    }
    let start = Instant::now();
    let planned = kernel.plan().unwrap_or_else(|e| panic!("{expression}: {e:#?}"));
    let plan = start.elapsed();
    planned.render().unwrap_or_else(|e| panic!("{expression}: {e:#?}"));
    let time = start.elapsed();
    println!("{layout}, {} factors: {plan:?}, then {:?}", tensors.len(), time - plan);
    time
}

/// What no machine needs unless the algorithm is exponential; how long it takes is measured by the
/// benchmark.
const LONGEST: Duration = Duration::from_secs(120);

fn elementwise(layout: &str, count: usize) -> Duration {
    let tensors: Vec<String> = (0..count).map(|k| format!("t{}", name(k))).collect();
    let factors: Vec<String> = tensors.iter().map(|t| format!("{t}[i]")).collect();
    time(&format!("y[i] += {}", factors.join(" * ")), &tensors, layout)
}

fn chain(same: bool, count: usize) -> Duration {
    let tensor = |k: usize| if same { "T".to_string() } else { format!("T{}", name(k)) };
    let mut tensors: Vec<String> = (0..count).map(tensor).collect();
    let factor = |k: usize| format!("{}[k{},k{}]", tensor(k), name(k), name(k + 1));
    let factors: Vec<String> = (0..count).map(factor).collect();
    tensors.dedup();
    time(&format!("s[] += {}", factors.join(" * ")), &tensors, "csr")
}

#[test]
fn twenty_sparse_factors_take_a_moment() {
    assert!(elementwise("sparse", MANY) < LONGEST);
}

#[test]
fn twenty_dense_factors_take_a_moment() {
    assert!(elementwise("dense", MANY) < LONGEST);
}

#[test]
fn twenty_accesses_of_one_tensor_take_a_moment() {
    for layout in ["sparse", "dense"] {
        let equal = vec!["x[i]"; MANY].join(" * ");
        assert!(time(&format!("y[i] += {equal}"), &["x".to_string()], layout) < LONGEST);
        let shifted: Vec<String> = (0..MANY).map(|k| format!("x[i + {k}]")).collect();
        let shifted = format!("y[i] += {}", shifted.join(" * "));
        assert!(time(&shifted, &["x".to_string()], layout) < LONGEST);
    }
}

#[test]
fn chains_of_matrices_take_a_moment() {
    assert!(chain(false, MANY) < LONGEST);
    assert!(chain(true, MANY) < LONGEST);
}

#[test]
fn too_many_choices_of_pieces_are_refused() {
    let plan = |factors: usize| {
        let text: Vec<String> = (0..factors).map(|k| format!("T{}[i,j]", name(k))).collect();
        let mut kernel = Kernel::new(&format!("s[] += {}", text.join(" * ")));
        for k in 0..factors {
            kernel = kernel.layout(&format!("T{}", name(k)), "symmetric-csr");
        }
        kernel.plan()
    };
    assert!(plan(2).is_ok());
    let refused = plan(MANY).unwrap_err();
    assert_eq!(refused.code, Code::Space);
    assert!(refused.notes.iter().any(|n| n.contains(&format!("at most {MOST_CHOICES}"))));
}
