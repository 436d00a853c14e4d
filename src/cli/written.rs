//! The files that a command writes: each is another one, and code or a table takes the place of nothing that is read.

use std::path::{Path, PathBuf};

use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::files::{check_place, is_device, resolved};
use siskin::layout::LayoutSpec;

use super::result::of_result;
use super::standard;
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
        let (mut names, mut standard) = (Vec::new(), None);
        for text in output {
            let (name, rest) = match of_result(text) {
                Some((name, rest)) => (Some(name), rest),
                None => (None, text.as_str()),
            };
            if rest.starts_with("shares(") {
                continue;
            }
            let second = |message: &str, help: &str| {
                Diagnostic::new(Code::Usage, message)
                    .at(0..text.len(), "the second one")
                    .within("-o", text)
                    .help(help)
            };
            if names.contains(&name) {
                let message = "more than one output is given for one result";
                return Err(second(message, "give one file; `siskin convert` makes others of it"));
            }
            names.push(name);
            match FileArgument::parse(rest)?.place {
                Place::File(path) => self.add(&format!("-o {text}"), &path)?,
                Place::Standard(_) if standard.replace(text).is_some() => {
                    let message = "standard output cannot take two results";
                    return Err(second(message, "write all but one to files"));
                }
                Place::Standard(_) | Place::Generated(_) => {}
            }
        }
        Ok(())
    }

    /// Adds a file of something else than a tensor: code, or a table.
    ///
    /// # Errors
    /// Those of [`Written::add`], and if something is read from it: the program, a tensor, or its layout.
    pub fn add_text(
        &mut self,
        option: &str,
        path: &Path,
        tensors: &TensorOptions,
        program: Option<&Path>,
    ) -> Result<()> {
        if path.as_os_str() == standard::NAME {
            let message = format!("`{option}` takes a file, not standard output");
            return Err(Diagnostic::new(Code::Usage, message)
                .help(format!("give a file; `{option} ./-` is one of that name")));
        }
        self.add(option, path)?;
        if is_device(path) {
            return Ok(());
        }
        let place = resolved(path);
        let is_it = |own: &Path| resolved(own) == place;
        let replaced = |what: &str| {
            let message = format!("`{option}` would replace the {what} that is read");
            Diagnostic::new(Code::Usage, message).help(format!("give `{option}` a file of its own"))
        };
        if program.is_some_and(is_it) {
            return Err(replaced("program"));
        }
        let declares = |layout: &str| {
            let own = LayoutSpec::parse(layout).ok().and_then(|spec| spec.file());
            own.is_some_and(|own| is_it(&own))
        };
        let at = |what: &str, flag: &str, text: &String| {
            replaced(what).at(0..text.len(), "this one").within(flag, text)
        };
        for text in &tensors.tensors {
            let (_, rest) = named("-t", text, "FILE[:LAYOUT]")?;
            let file = FileArgument::input(rest)?;
            if matches!(&file.place, Place::File(own) if is_it(own)) {
                return Err(at("tensor", "-t", text));
            }
            if file.layout.as_deref().is_some_and(declares) {
                return Err(at("layout", "-t", text));
            }
        }
        for text in &tensors.formats {
            if declares(named("-f", text, "LAYOUT")?.1) {
                return Err(at("layout", "-f", text));
            }
        }
        Ok(())
    }
}
