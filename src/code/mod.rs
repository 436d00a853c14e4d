//! Stage *code*: a kernel as a small typed imperative language.
//!
//! In: a loop nest with a proved plan for each find. Out: a [`Body`], whose every access is proved
//! to be in bounds or tested, and its text.
//!
//! ```text
//! body   := (size | array)* block
//! stmt   := 'let' ['mut'] v '=' e | v ['+']'=' e | a[e, …] ['+']'=' e | 'let' 'mut' a '=' 'vec'[e; n]
//!         | 'if' e block ['else' block] | 'while' e block | 'for' v 'in' e..e block
//!         | 'label: block | 'break' ['label] | block | comment
//!         | 'prefetch'(a, e) | a.'push'(e) | a.'push_if'(e, e) | w.'combine'(key, e, op) | 'for' key, v 'in' w.'drain'(op) block
//!         | t.'insert'(key, e) | ('for' | 'if' first) v 'in' t.'matches'(key) block
//!         | 'parallel' v 'in' e..e ('shared' a | 'private' a | 'parts' levels) [setup] block | 'given' facts block
//! e      := integer | number | bool | v | a[e, …] | op e | e op e | e 'as' type | 'sum' v 'in' e..e of e
//! ```
//! Integers (`usize`, `isize`), Booleans and values of tensors are different types; subscripts are
//! tuples, and only printing linearises them.

mod appended;
pub mod bounds;
mod branches;
mod branchless;
mod build;
mod chains;
mod conditional_pushes;
mod copies;
mod decided;
mod doc;
mod extremes;
mod faster;
mod guards;
mod hole;
mod ids;
pub mod interpret;
mod ir;
mod line_breaks;
mod lines;
mod magnitude;
mod meaning;
mod merged_stores;
pub mod naming;
mod notation;
mod numbers;
mod one_iteration;
mod operation;
mod parse;
mod parts;
mod passed_over;
mod path;
mod places;
mod prefetch;
mod prefix;
mod print;
mod print_expr;
mod print_grown;
mod print_parallel;
mod read;
mod read_grown;
mod read_parallel;
pub mod realise;
mod registers;
mod row_blocks;
mod running_sums;
mod segment_ends;
mod spread;
mod sums;
mod tables;
pub mod template;
mod types;
mod unused;
mod used;
mod visit;
mod written_once;

pub use bounds::{AccessProof, prove_bounds};
pub use doc::Doc;
pub use ir::*;
pub use line_breaks::NARROW;
pub use lines::Lines;
pub use magnitude::{Magnitude, size_limit};
pub use path::Path;
pub use print::{Argument, Printed};
pub use registers::USUAL_ROWS;
pub use visit::{Part, visit};
