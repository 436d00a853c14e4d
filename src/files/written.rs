//! What became of writing: done, or why not.

use std::io;

use crate::diagnostic::Diagnostic;

/// Why something was not written: the data do not fit the format, or the disk failed.
pub(super) enum WriteFailure {
    Refused(Box<Diagnostic>),
    Io(io::Error),
}

impl From<Box<Diagnostic>> for WriteFailure {
    fn from(diagnostic: Box<Diagnostic>) -> Self {
        WriteFailure::Refused(diagnostic)
    }
}

impl From<io::Error> for WriteFailure {
    fn from(error: io::Error) -> Self {
        WriteFailure::Io(error)
    }
}

/// The result of writing one file.
pub(super) type Written = Result<(), WriteFailure>;
