//! What operators make of arguments that are not there.

/// What becomes of an argument that is missing, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// The result is, too.
    Result,
    /// The result is the first argument that is there.
    Skipped,
    /// The first argument is there, and says which of the others is the result, there or not.
    Chosen,
    /// No argument may be.
    Refused,
}

impl Absent {
    pub(super) const ALL: [(&'static str, Absent); 4] = [
        ("result", Absent::Result),
        ("skipped", Absent::Skipped),
        ("chosen", Absent::Chosen),
        ("refused", Absent::Refused),
    ];

    /// The word of a declaration.
    pub fn as_str(self) -> &'static str {
        Absent::ALL.iter().find(|(_, own)| *own == self).map_or("", |(word, _)| word)
    }
}
