//! The files that a command writes: each is another one, and code or a table takes the place of no tensor that is read.

use std::path::{Path, PathBuf};

use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::files::{check_place, is_device, resolved};

use super::result::of_result;
use super::tensor_argument::{FileArgument, Place, named};
use super::tensors::TensorOptions;

/// Files that are written, each with the option that names it.
#[derive(Default)]
pub struct Written {
    files: Vec<(String, PathBuf)>,
}

impl Written {
    /// Adds a file.
    ///
    /// # Errors
    /// [`Code::Io`] if there can be none, [`Code::Usage`] if another option names it.
    pub fn add(&mut self, option: &str, path: &Path) -> Result<()> {
        check_place(path)?;
        let place = resolved(path);
        if let Some((other, _)) = self.files.iter().find(|(_, own)| *own == place) {
            let (file, both) = (path.display(), format!("`{other}` and `{option}`"));
            return Err(Diagnostic::new(
                Code::Usage,
                format!("{both} name the same file, `{file}`"),
            )
            .help("give each a file of its own"));
        }
        // All that is printed goes to the same place, and takes no other's.
        if !is_device(path) {
            self.files.push((option.to_string(), place));
        }
        Ok(())
    }

    /// Adds the files of results: `FILE[:LAYOUT]` and `NAME=FILE[:LAYOUT]`.
    ///
    /// # Errors
    /// The same, and if a result has two files.
    pub fn add_results(&mut self, output: &[String]) -> Result<()> {
        let mut names = Vec::new();
        for text in output {
            let (name, rest) = match of_result(text) {
                Some((name, rest)) => (Some(name), rest),
                None => (None, text.as_str()),
            };
            if rest.starts_with("shares(") {
                continue;
            }
            if names.contains(&name) {
                return Err(Diagnostic::new(
                    Code::Usage,
                    "more than one output is given for one result",
                )
                .at(0..text.len(), "the second one")
                .within("-o", text)
                .help("give one file; `siskin convert` makes others of it"));
            }
            names.push(name);
            if let Place::File(path) = FileArgument::parse(rest)?.place {
                self.add(&format!("-o {text}"), &path)?;
            }
        }
        Ok(())
    }

    /// Adds a file of something else than a tensor: code, or a table.
    ///
    /// # Errors
    /// Those of [`Written::add`], and if a tensor is read from it.
    pub fn add_text(&mut self, option: &str, path: &Path, read: &TensorOptions) -> Result<()> {
        self.add(option, path)?;
        let place = resolved(path);
        for text in read.tensors.iter().filter(|_| !is_device(path)) {
            let (_, rest) = named("-t", text, "FILE[:LAYOUT]")?;
            if matches!(FileArgument::input(rest)?.place, Place::File(own) if resolved(&own) == place)
            {
                let message = format!("`{option}` would replace the tensor that is read");
                return Err(Diagnostic::new(Code::Usage, message)
                    .at(0..text.len(), "this one")
                    .within("-t", text)
                    .help(format!("give `{option}` a file of its own")));
            }
        }
        Ok(())
    }
}
