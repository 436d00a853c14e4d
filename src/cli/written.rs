//! The files that a command writes: each is another one, and code or a table takes the place of no tensor that is read.

use std::path::{Path, PathBuf};

use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::files::check_place;

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
        if is_replaced(path) {
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
            let parts = text.split_once('=').map(|(name, rest)| (name.trim(), rest.trim()));
            let is_name = |c: char| c.is_alphanumeric() || c == '_';
            let parts = parts.filter(|(name, _)| !name.is_empty() && name.chars().all(is_name));
            let (name, rest) =
                parts.map_or((None, text.as_str()), |(name, rest)| (Some(name), rest));
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
        for text in read.tensors.iter().filter(|_| is_replaced(path)) {
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

/// Whether what is written takes the place of what is there: devices and pipes take all that comes.
fn is_replaced(path: &Path) -> bool {
    std::fs::metadata(path).map_or(true, |about| about.is_file())
}

/// The file, whatever links lead to it.
fn resolved(path: &Path) -> PathBuf {
    let whole = path.canonicalize();
    let within = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
        Some(folder.join(path.file_name()?))
    };
    whole.ok().or_else(within).unwrap_or_else(|| path.to_path_buf())
}
