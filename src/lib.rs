//! Siskin: a compiler for sparse and structured tensor kernels whose formats are declared, not coded.

pub mod check;
pub mod code;
pub mod diagnostic;
pub mod embedded;
pub mod exec;
pub mod files;
pub mod formula;
pub mod isl;
pub mod iterspace;
pub mod kernel;
pub mod layout;
pub mod loops;
pub mod module;
pub mod packing;
pub mod program;
pub mod prover;
pub mod scan;
pub mod synth;
pub mod tensor;
pub mod theory;

pub use kernel::Kernel;
pub use layout::Layout;
pub use tensor::Tensor;
