//! What is known of walks by regions.

use super::super::ir::Expr;
use crate::formula::Constraint;

/// When the region of a walk holds an index.
pub(super) struct Held {
    pub condition: Expr,
    /// What is known then.
    pub facts: Vec<Constraint>,
}
