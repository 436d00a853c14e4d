//! Where a result goes: a file, or standard output.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::files;

use super::output::Output;
use super::standard::Standard;
use super::tensor_argument::{FileArgument, Place};

/// A place to write to, which was found to be one before any work is done.
pub struct Destination {
    path: PathBuf,
    standard: Option<Standard>,
    pub layout: Option<String>,
    /// As the user wrote it.
    pub name: String,
}

impl Destination {
    /// `FILE[:LAYOUT]` or `-:TYPE[:LAYOUT]`, for a tensor of this rank if it is known; `json` says that
    /// standard output has another use.
    ///
    /// # Errors
    /// [`Code::Usage`], [`Code::Io`], [`Code::Shape`].
    pub fn parse(text: &str, rank: Option<usize>, json: bool) -> Result<Destination> {
        let FileArgument { place, layout, name } = FileArgument::parse(text)?;
        let (path, standard) = match place {
            Place::File(path) => (path, None),
            Place::Standard(_) if json => {
                return Err(Diagnostic::new(
                    Code::Usage,
                    "standard output cannot take both the file and `--json`",
                )
                .help("write the result to a file, or leave `--json` out"));
            }
            Place::Standard(extension) => {
                let standard = Standard::output(extension.as_deref())?;
                (standard.path().to_path_buf(), Some(standard))
            }
            Place::Generated(_) => return Err(Diagnostic::defect("nothing is written there")),
        };
        // A layout's own arrays fit into an archive at any rank.
        files::check_writable(&path, rank.filter(|_| layout.is_none()))?;
        Ok(Destination { path, standard, layout, name })
    }

    pub fn is_standard(&self) -> bool {
        self.standard.is_some()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is printed in the end: the file itself if it goes to standard output, where it is alone.
    pub fn finish(&self, said: String) -> Output {
        let Some(standard) = &self.standard else { return Ok(said) };
        standard.print()?;
        let line = if said.ends_with('\n') { "" } else { "\n" };
        let _ = write!(io::stderr(), "{said}{line}");
        Ok(String::new())
    }
}
