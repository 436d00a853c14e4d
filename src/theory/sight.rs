//! The index-array calls in sight: what laws are instantiated on.

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::formula::{Call, Formula, Name};

/// A stack of distinct calls, numbered in the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct Sight {
    calls: IndexSet<Call, FxBuildHasher>,
    by_array: FxHashMap<Name, Vec<usize>>,
}

impl Sight {
    /// Whether the call is new.
    pub fn insert(&mut self, call: &Call) -> bool {
        if self.calls.contains(call) {
            return false;
        }
        self.by_array.entry(call.array.clone()).or_default().push(self.calls.len());
        self.calls.insert(call.clone())
    }

    pub fn insert_all(&mut self, formula: &Formula) {
        formula.visit_calls(&mut |call| {
            self.insert(call);
        });
    }

    pub fn contains(&self, call: &Call) -> bool {
        self.calls.contains(call)
    }

    pub fn len(&self) -> usize {
        self.calls.len()
    }

    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub(super) fn call(&self, number: usize) -> &Call {
        &self.calls[number]
    }

    /// The numbers of the calls of one array.
    pub(super) fn of(&self, array: &str) -> impl Iterator<Item = usize> + '_ {
        self.by_array.get(array).into_iter().flatten().copied()
    }

    /// Forgets all but the first `len` calls.
    pub(super) fn truncate(&mut self, len: usize) {
        while self.calls.len() > len {
            if let Some(call) = self.calls.pop()
                && let Some(numbers) = self.by_array.get_mut(&call.array)
            {
                numbers.pop();
            }
        }
    }
}
