//! `--layouts A=csr,bcsr(4,4)`: the same statement with a tensor in each of several layouts.

use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::layout::LayoutSpec;
use siskin::program::Program;

use super::super::options::wrong;
use super::super::tensor_argument::{FileArgument, named};
use super::super::tensors::TensorOptions;

/// The layouts of one tensor.
#[derive(Debug)]
pub struct Choice {
    /// None: the first sparse input.
    pub tensor: Option<String>,
    pub layouts: Vec<String>,
}

impl Choice {
    /// Layouts are separated by commas outside parentheses or, where a layout has such commas, by semicolons.
    ///
    /// # Errors
    /// [`Code::Usage`]; those of the layouts.
    pub fn parse(text: &str) -> Result<Choice> {
        let is_name =
            |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let (tensor, list) = match text.split_once('=') {
            Some((name, list)) if is_name(name.trim()) => (Some(name.trim().to_string()), list),
            _ => (None, text),
        };
        let at = text.len() - list.len();
        let separator = if list.contains(';') { ';' } else { ',' };
        let mut layouts: Vec<String> = Vec::new();
        for (start, part) in split(list, separator) {
            let name = part.trim();
            let refused = |what: String| {
                Diagnostic::new(Code::Usage, what)
                    .at(at + start..at + start + part.len(), "")
                    .within("--layouts", text)
                    .help("layouts are separated by commas: `--layouts A=csr,bcsr(4,4)`; lists of levels, which have commas, by `;`")
            };
            if name.is_empty() {
                return Err(refused("a layout is missing".to_string()));
            }
            if layouts.iter().any(|known| known == name) {
                return Err(refused(format!("`{name}` is named twice")));
            }
            LayoutSpec::parse(name)?;
            layouts.push(name.to_string());
        }
        Ok(Choice { tensor, layouts })
    }

    /// Refuses a tensor that the statement does not have, or whose data are read only once.
    ///
    /// # Errors
    /// [`Code::Usage`].
    pub fn check(&self, tensor: &str, given: &TensorOptions, program: &Program) -> Result<()> {
        let known: Vec<String> = program.tensors().keys().map(ToString::to_string).collect();
        if !known.iter().any(|name| name == tensor) {
            let what = format!("the expression has no tensor `{tensor}`");
            return Err(wrong("--layouts", tensor, 0, what)
                .help(format!("its tensors are {}", known.join(", "))));
        }
        let files = given.files(program)?;
        if files.get(tensor).is_some_and(|copies| copies.len() > 1) {
            let what = format!("`{tensor}` is given in several layouts already");
            return Err(wrong("--layouts", tensor, 0, what).help(
                "give it once, or leave its `--layouts` out: copies are timed side by side",
            ));
        }
        let standard = files.values().flatten().any(FileArgument::is_standard);
        if standard && self.layouts.len() > 1 {
            let what = "standard input can be packed into one layout only";
            return Err(Diagnostic::new(Code::Usage, what).help("give a file, which is read again"));
        }
        Ok(())
    }
}

/// Parts between separators outside parentheses, with where they begin.
fn split(text: &str, separator: char) -> Vec<(usize, &str)> {
    let (mut out, mut start, mut depth) = (Vec::new(), 0, 0usize);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if c == separator && depth == 0 => {
                out.push((start, &text[start..at]));
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    out.push((start, &text[start..]));
    out
}

/// The tensors with one of them in this layout, whatever was said of it.
///
/// # Errors
/// Those of `-t`.
pub fn stored_as(given: &TensorOptions, tensor: &str, layout: &str) -> Result<TensorOptions> {
    let mut out = given.clone();
    for text in &mut out.tensors {
        let (name, rest) = named("-t", text, "FILE[:LAYOUT]")?;
        let file = FileArgument::input(rest)?;
        if name == tensor && file.layout.is_some() {
            *text = format!("{name}={}", file.name);
        }
    }
    let is_other =
        |text: &String| text.split_once('=').is_none_or(|(name, _)| name.trim() != tensor);
    out.formats.retain(is_other);
    out.formats.push(format!("{tensor}={layout}"));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_separated_outside_parentheses() {
        let of = |text: &str| Choice::parse(text).map(|c| (c.tensor, c.layouts));
        let texts = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(
            of("A=csr, bcsr(4,4)").unwrap(),
            (Some("A".to_string()), texts(&["csr", "bcsr(4,4)"]))
        );
        assert_eq!(of("csr").unwrap(), (None, texts(&["csr"])));
        let levels = "dense(i), compressed(j)";
        assert_eq!(of(&format!("{levels};csc")).unwrap().1, texts(&[levels, "csc"]));
        for wrong in ["", "A=", "csr,", "A=csr,csr", "A=csr,,csc"] {
            assert_eq!(of(wrong).unwrap_err().code, Code::Usage, "{wrong}");
        }
        assert_eq!(of("A=crs").unwrap_err().code, Code::UnknownLayout);
    }

    #[test]
    fn a_layout_takes_the_place_of_the_one_that_was_given() {
        let given = TensorOptions {
            tensors: vec!["A=random:0.5:csr".to_string(), "x=x.mtx:sparse".to_string()],
            formats: vec!["A=csr".to_string(), "y=dense".to_string()],
            seed: 0,
            read: Default::default(),
        };
        let out = stored_as(&given, "A", "csc").unwrap();
        assert_eq!(out.tensors, ["A=random:0.5", "x=x.mtx:sparse"]);
        assert_eq!(out.formats, ["y=dense", "A=csc"]);
    }
}
