//! Kernels of one statement and of several: their loops, their code, and what they compute.

#[path = "../study/mod.rs"]
mod study;

mod access_proofs;
mod beginnings;
mod constants;
mod empty_spaces;
mod fast_math;
mod generation;
mod index_arithmetic;
mod inner_loops;
mod looplets;
mod modules;
mod nests;
mod not_numbers;
mod parallel;
mod reductions;
mod registers;
mod remainders;
mod sequences;
mod stages;
mod strict_fp;
mod tiles;
mod transposes;
mod windows;
mod workspaces;
