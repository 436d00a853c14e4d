//! What the benchmarks share: matrices, seeded generators, hand-written kernels, generated kernels,
//! and a harness that compares them fairly.

// Each benchmark is its own crate and uses a part of this.
#![allow(dead_code)]

pub mod compare;
pub mod dylib;
pub mod entries;
pub mod generated;
pub mod generators;
pub mod handwritten;
pub mod matrix;
pub mod random;

/// True when criterion runs each benchmark once as a test: no ratios are measured then.
pub fn is_test_run() -> bool {
    std::env::args().any(|a| a == "--test" || a == "--list")
}
