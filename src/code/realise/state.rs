//! What is kept between the queries of a find.

use rustc_hash::FxHashMap;

use crate::code::ir::{ArrayId, VarId};
use crate::code::template::Variant;
use crate::formula::Name;
use crate::loops::Find;
use crate::synth::Direction;

/// The state of a find that was set up.
#[derive(Clone, Default)]
pub struct State {
    /// Variables of the template's setup, by the variables that hold them.
    pub variables: FxHashMap<VarId, VarId>,
    /// Where the state is kept for several values of its indices.
    pub array: Option<(ArrayId, Vec<Name>)>,
    /// The indices of the last query, to know when the state is another.
    pub last: Vec<(Name, VarId)>,
    /// Set once the first query has come, where no index tells.
    pub started: Option<VarId>,
}

/// Which code of its template a find needs.
pub fn variant(find: &Find) -> Variant {
    let plan = &find.plan;
    Variant {
        up: plan.direction != Some(Direction::Down),
        many: plan.many,
        resume: plan.resume,
        leave: find.leave,
    }
}
