//! Packing: from entries to a tensor in a declared layout.
//!
//! In: entries in any order, and a [`Layout`](crate::layout::Layout). Out: a
//! [`Tensor`](crate::tensor::Tensor). Nothing here knows a format: the relation is inverted
//! (`inverse`), which gives a [`Plan`] of parts (`derive`), and the plan is carried out (`pack`), one sorting
//! after another (`run`) and column by column. [`convert`](convert()) reads a tensor back and packs
//! its entries in another layout.
//!
//! ```text
//! { [p0, p1] -> [i, j] : 0 <= p0 < I and i = p0 and pos(p0) <= p1 < pos(p0 + 1) and j = crd(p1) }
//! ```
//! becomes
//! ```text
//! sort by (i, j); p0 = i; p1 = rank of (p0, j); pos(p0) = prefix count of p1; crd(p1) = j; val(p1)
//! ```

mod accumulate;
mod agree;
mod append;
mod arrays;
mod bounds;
mod columns;
mod complete;
mod confirm;
mod convert;
mod counts;
mod covered;
mod cuts;
mod deal;
mod derive;
mod elements;
mod fits;
mod free_numbers;
mod in_order;
mod intervals;
mod inverse;
mod linear;
mod measure;
mod number;
mod options;
mod order;
mod pack;
mod packer;
mod part;
mod pieces;
mod plan;
mod probing;
mod refusal;
mod room;
mod run;
mod sort;
mod staged;
mod stated;
mod store;
mod ties;

pub use append::{Appending, Group, Numbered, Run};
pub use convert::convert;
pub use elements::pack_array;
pub use options::{IndexWidth, PackOptions};
pub use pack::pack;
pub use plan::Plan;
