//! Ways in which a body runs faster, if its accesses are there under fewer conditions: what decides about loops is
//! asked before them, values are spread over coordinates, tables of many keys are asked without a branch, sums are kept
//! in registers, also while a row stays the same, extremes begin with a number, iterations that do nothing are passed
//! over, results are streamed over in blocks, rows are fetched ahead, segments end behind loops, entries are appended to
//! one array after the other, or without a branch, and numbers are not asked whether they are NaN.

use super::ir::{Block, Body};

/// Changes a body; true if that changed anything.
pub type Faster = fn(&mut Body) -> bool;

impl Body {
    /// All of them. What may be pushed without a branch is seen when segments end elsewhere.
    pub const FASTER: [Faster; 13] = [
        Body::guard_loops,
        Body::spread_values,
        Body::ask_without_branches,
        Body::keep_sums,
        Body::keep_running_sums,
        Body::begin_with_numbers,
        Body::pass_over,
        Body::stream_in_blocks,
        Body::fetch_ahead,
        Body::end_segments_later,
        Body::append_one_by_one,
        Body::push_conditionally,
        Body::ask_for_numbers,
    ];

    /// Changes all statements; true if that changed anything.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut Body, &mut Block) -> bool) -> bool {
        let mut block = std::mem::take(&mut self.block);
        let changed = change(self, &mut block);
        self.block = block;
        changed
    }
}
