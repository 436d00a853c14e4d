//! That a value was proved, as a type.

use std::fmt;
use std::ops::Deref;

use crate::synth::{Placement, Plan};

/// What the prover was asked about and confirmed. Only the file above makes one: whoever holds a
/// `Proved<Plan>` need not ask again, and nobody can hold one of a plan that was changed.
///
/// ```compile_fail
/// use siskin::synth::{Plan, Proved};
///
/// fn trusted(plan: Plan) -> Proved<Plan> {
///     Proved(plan)
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Proved<T>(T);

impl<T> Proved<T> {
    pub(super) fn new(value: T) -> Proved<T> {
        Proved(value)
    }
}

impl Proved<Plan> {
    /// The same plan with a state that begins anew before a level: whatever was asked before, it answers the queries that
    /// follow as it does those that follow its beginning.
    #[must_use]
    pub fn begun_before(&self, before: usize) -> Proved<Plan> {
        Proved(Plan { placement: Some(Placement::Prefix { before }), ..self.0.clone() })
    }
}

impl<T> Deref for Proved<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: fmt::Display> fmt::Display for Proved<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
