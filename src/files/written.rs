//! What became of writing: done, or why not.

use std::io;
use std::path::Path;

use crate::diagnostic::{Code, Diagnostic};

/// Why something was not written: the data do not fit the format, or the disk failed.
#[derive(Debug)]
pub(super) enum WriteFailure {
    Refused(Box<Diagnostic>),
    Io(io::Error),
}

impl WriteFailure {
    /// What to tell of it.
    pub fn diagnostic(self, path: &Path) -> Box<Diagnostic> {
        match self {
            WriteFailure::Refused(diagnostic) => diagnostic,
            WriteFailure::Io(error) => {
                Diagnostic::new(Code::Io, format!("cannot write `{}`: {error}", path.display()))
                    .help("check that the folder can be written to and has space")
            }
        }
    }
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
