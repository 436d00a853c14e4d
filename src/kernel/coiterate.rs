//! How operands that are stored sparsely are brought together.

/// A scheme of co-iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coiterate {
    /// Whichever is expected to be the fastest.
    #[default]
    Auto,
    /// One is walked, and the others are searched for what it comes to.
    Find,
    /// All are walked at once, in the order of their coordinates.
    Merge,
    /// The regions in which each holds something are walked at once (Finch §4).
    Looplets,
}

impl Coiterate {
    /// Every one.
    pub const ALL: [Coiterate; 4] =
        [Coiterate::Auto, Coiterate::Find, Coiterate::Merge, Coiterate::Looplets];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Coiterate::Auto => "auto",
            Coiterate::Find => "find",
            Coiterate::Merge => "merge",
            Coiterate::Looplets => "looplets",
        }
    }
}
