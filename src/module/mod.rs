//! Stage *module*: a standalone Rust module around the code of a kernel.
//!
//! In: one [`Statement`](crate::loops::Statement) per iteration space, each with its nest and a proved plan for every find.
//! Out: the text of a module that depends on `std` only: plain-data structs, a safe function that
//! validates, an unchecked core, and entries for C (design §12). What it takes and returns is a
//! [`Signature`], which everything that calls kernels reads.
//!
//! Unchecked indexing appears only where the bounds pass has a proof ([`AccessProof`](crate::code::AccessProof)).

mod calls;
mod core;
mod entry;
mod fastest;
mod functions;
mod grown;
mod header;
mod helpers;
mod parts;
mod probing;
mod reductions;
mod render;
mod scope;
mod signature;
mod spec;
mod structs;
mod validate;

pub use render::{Module, Source, render};
pub use signature::{ArrayField, Signature, TensorSignature, counted_fields, index_type};
pub use spec::{KernelSpec, Way, Ways};
