//! A result of unknown structure: in which layout it is assembled, how, and what its arrays are called.

use std::sync::Arc;

use indexmap::IndexMap;

use super::assemble::Assembling;
use crate::formula::Name;
use crate::layout::Layout;
use crate::operators::Value;
use crate::packing::Appending;

/// How a kernel makes its result, entry by entry.
#[derive(Clone, Debug)]
pub struct Assembled {
    pub tensor: Name,
    pub layout: Arc<Layout>,
    /// What is pushed for an entry.
    pub appending: Appending,
    /// Where entries come in order.
    pub assembling: Assembling,
    /// The index arrays, by what the layout calls them, as the kernel knows them.
    pub arrays: IndexMap<Name, Name>,
    /// The values, as the kernel knows them.
    pub values: Name,
    /// What elements are that nothing is written to; the identity of the operator, if nothing is said.
    pub begins: Option<Value>,
    /// The extents of the result, as the kernel knows them.
    pub extents: Vec<Name>,
}
