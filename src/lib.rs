//! Siskin: a compiler for sparse and structured tensor kernels whose formats are declared, not coded.
//!
//! [`Kernel`] takes an expression and a [`Layout`] for each [`Tensor`], and gives a plan, a module or a
//! result. What can go wrong is a [`Diagnostic`](diagnostic::Diagnostic).
//!
//! The stages between an expression and its kernel are modules, too, which are not listed here: the
//! `siskin` command, the tests and the benchmarks use them, and they change as the compiler does.
//! ARCHITECTURE.md follows one kernel through them.

#![warn(clippy::undocumented_unsafe_blocks)]

pub mod diagnostic;
pub mod files;
pub mod kernel;
pub mod layout;
pub mod packing;
pub mod program;
pub mod tensor;

#[doc(hidden)]
pub mod check;
#[doc(hidden)]
pub mod code;
#[doc(hidden)]
pub mod embedded;
#[doc(hidden)]
pub mod exec;
#[doc(hidden)]
pub mod formula;
#[doc(hidden)]
pub mod isl;
#[doc(hidden)]
pub mod iterspace;
#[doc(hidden)]
pub mod looplets;
#[doc(hidden)]
pub mod loops;
#[doc(hidden)]
pub mod module;
#[doc(hidden)]
pub mod operators;
#[doc(hidden)]
pub mod prover;
#[doc(hidden)]
pub mod scan;
#[doc(hidden)]
pub mod schedule;
#[doc(hidden)]
pub mod synth;
#[doc(hidden)]
pub mod temporary;
#[doc(hidden)]
pub mod theory;

pub use kernel::Kernel;
pub use layout::Layout;
pub use tensor::Tensor;
