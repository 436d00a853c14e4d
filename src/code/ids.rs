//! What variables, arrays and other declarations of a body are known by.

/// A variable of a [`Body`](super::ir::Body).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VarId(pub(super) u32);

/// An array of a [`Body`](super::ir::Body).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArrayId(pub(super) u32);

/// A block that can be left by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LabelId(pub(super) u32);

/// A type that a template brings: a multimap from keys to positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub(super) u32);

/// A workspace of a [`Body`](super::ir::Body).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkspaceId(pub(super) u32);
