//! Siskin: a compiler for sparse and structured tensor kernels whose formats are declared, not coded.

pub mod diagnostic;
pub mod formula;
pub mod layout;
