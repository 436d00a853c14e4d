//! Find templates of a user: a folder like the shipped ones, `DIR/NAME/template.toml` with `DIR/NAME/kernel.rs.j2`.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::code::template::{check, items};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::prover::Z3Prover;
use crate::synth::{Template, templates};

const DECLARATION: &str = "template.toml";
const KERNEL: &str = "kernel.rs.j2";

/// The templates of a folder. Each is checked as those that ship are, but that whether its obligations are
/// enough for its algorithm is for its author to know.
///
/// # Errors
/// [`Code::Io`] if a file cannot be read; [`Code::Find`], with the file, if a template is malformed, may step
/// outside its range, has items that nothing is proved of, or the name of another.
pub fn templates_of(folder: &Path) -> Result<Vec<Rc<Template>>> {
    let unreadable = |path: &Path, e: std::io::Error| {
        let what = format!("cannot read the templates of `{}`: {e}", path.display());
        Diagnostic::new(Code::Io, what)
            .help(format!("give a folder with folders in it, each with {DECLARATION} and {KERNEL}"))
    };
    let mut folders: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| unreadable(folder, e))? {
        let path = entry.map_err(|e| unreadable(folder, e))?.path();
        if path.join(DECLARATION).exists() {
            folders.push(path);
        }
    }
    // The order of a folder is the system's.
    folders.sort();
    if folders.is_empty() {
        return Err(Diagnostic::new(
            Code::Find,
            format!("the folder `{}` has no template", folder.display()),
        )
        .help(format!("each template is a folder in it, with {DECLARATION} and {KERNEL}")));
    }
    let mut prover = Z3Prover::new().with_any_model();
    let mut out: Vec<Rc<Template>> = Vec::new();
    for own in folders {
        let text = |name: &str| {
            let path = own.join(name);
            std::fs::read_to_string(&path).map_err(|e| unreadable(&path, e))
        };
        let place = own.join(DECLARATION).display().to_string();
        let template = Template::parse(&place, &text(DECLARATION)?, &text(KERNEL)?)?;
        let wrong =
            |what: String| Diagnostic::new(Code::Find, what).note(format!("declared in `{place}`"));
        let name = &template.name;
        if templates()?.iter().chain(&out).any(|known| known.name == *name) {
            return Err(wrong(format!("there are two find templates `{name}`"))
                .help("give it another name"));
        }
        if template.table.is_some() || !items(&template, "u32")?.trim().is_empty() {
            return Err(wrong(format!("template `{name}` has items of its own"))
                .note("what a table returns is not proved to be a position: those that ship are tested")
                .help("leave `table` out, let the macro `items` be empty, and search in the range"));
        }
        if template.shared {
            return Err(wrong(format!("template `{name}` shares its state with other threads"))
                .note("that no query changes it is not proved")
                .help("leave `shared` out"));
        }
        check(&template, &mut prover)?;
        out.push(Rc::new(template));
    }
    Ok(out)
}
