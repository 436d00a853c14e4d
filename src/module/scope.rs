//! How much of a module is written.

/// Compilers take a fifth less time where the functions that check tensors are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// All that a user of the module may call.
    Whole,
    /// What is called by a process that has checked the tensors.
    Loaded,
}
