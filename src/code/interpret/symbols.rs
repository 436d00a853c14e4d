//! The names of facts.

use rustc_hash::FxHashMap;

use crate::code::ir::{ArrayId, Body, VarId};
use crate::formula::Name;

/// What the names in facts stand for.
pub struct Symbols {
    pub variables: FxHashMap<Name, VarId>,
    pub arrays: FxHashMap<Name, ArrayId>,
}

impl Symbols {
    pub fn of(body: &Body) -> Symbols {
        Symbols {
            variables: body.variables().map(|(id, v)| (v.name.clone(), id)).collect(),
            arrays: body.arrays().map(|(id, a)| (a.name.clone(), id)).collect(),
        }
    }
}
