//! The variants of a template's code.

use serde::Serialize;

/// What decides the structure of a template's code: the fields of `find` in its macros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Variant {
    /// The walk moves towards greater positions.
    pub up: bool,
    /// Visit all matches.
    pub many: bool,
    /// The state moves past a match.
    pub resume: bool,
    /// The loop around the find may be left once nothing can match any more.
    pub leave: bool,
}
