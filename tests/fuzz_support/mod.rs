//! Random kernels and how they are judged.

pub mod case;
pub mod judge;
pub mod layouts;
pub mod names;
pub mod programs;
#[path = "../study/random.rs"]
pub mod random;
pub mod remembering;
