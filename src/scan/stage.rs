//! When something is known during a scan.

/// Once so many dimensions are bound, before or after the calls that the last of them allows are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Before(usize),
    After(usize),
}

impl Stage {
    pub fn depth(self) -> usize {
        match self {
            Stage::Before(depth) | Stage::After(depth) => depth,
        }
    }
}

/// Once dimension `d` is bound, before its calls are read.
pub(super) const fn bare(d: usize) -> usize {
    2 * d + 1
}

/// Once the first `depth` dimensions are bound and their calls read.
pub(super) const fn after(depth: usize) -> usize {
    2 * depth
}
