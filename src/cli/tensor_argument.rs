//! `NAME=FILE[:LAYOUT]` and `NAME=LAYOUT`.

use std::path::{Path, PathBuf};

use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::layout::LayoutSpec;

/// A file, and the layout that was asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileArgument {
    pub path: PathBuf,
    pub layout: Option<String>,
}

impl FileArgument {
    /// `FILE[:LAYOUT]`. Either may contain colons, and a layout commas, parentheses and slashes: what
    /// follows a colon is a layout if it is the longest that is one.
    ///
    /// # Errors
    /// Those of the layout.
    pub fn parse(text: &str) -> Result<FileArgument> {
        let with = |at: usize| FileArgument {
            path: PathBuf::from(&text[..at]),
            layout: Some(text[at + 1..].trim().to_string()),
        };
        let colons: Vec<usize> =
            text.match_indices(':').map(|(at, _)| at).filter(|&at| at > 0).collect();
        let mut refusal = None;
        for &at in colons.iter().rev() {
            match LayoutSpec::parse(&text[at + 1..]) {
                Ok(_) => return Ok(with(at)),
                // The refusal that most likely is about what was meant.
                Err(e) if refusal.is_none() || Path::new(&text[..at]).is_file() => {
                    refusal = Some(e);
                }
                Err(_) => {}
            }
        }
        match refusal {
            Some(e) if !Path::new(text).is_file() => Err(e),
            _ => Ok(FileArgument { path: PathBuf::from(text), layout: None }),
        }
    }
}

/// Splits `NAME=REST`.
///
/// # Errors
/// [`Code::Usage`] if there is no name.
pub fn named<'a>(option: &str, text: &'a str, what: &str) -> Result<(&'a str, &'a str)> {
    match text.split_once('=') {
        Some((name, rest)) if !name.trim().is_empty() && !rest.trim().is_empty() => {
            Ok((name.trim(), rest.trim()))
        }
        _ => Err(Diagnostic::new(Code::Usage, format!("`{option}` takes NAME={what}"))
            .at(0..text.len(), "")
            .within(option, text)
            .help(format!("write `{option} NAME={what}`, the tensor's name first"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (String, Option<String>) {
        let a = FileArgument::parse(text).unwrap();
        (a.path.display().to_string(), a.layout)
    }

    #[test]
    fn the_layout_follows_the_last_colon_before_one() {
        let pair = |a: &str, b: &str| (a.to_string(), Some(b.to_string()));
        assert_eq!(parts("m.mtx"), ("m.mtx".to_string(), None));
        assert_eq!(parts("m.mtx:csr"), pair("m.mtx", "csr"));
        assert_eq!(parts("m.mtx:bcsr(4,4)"), pair("m.mtx", "bcsr(4,4)"));
        assert_eq!(parts("a:b.mtx:csr"), pair("a:b.mtx", "csr"));
        assert_eq!(
            parts("m.mtx:dense(i), compressed(j)"),
            pair("m.mtx", "dense(i), compressed(j)")
        );
    }

    #[test]
    fn an_unknown_layout_is_refused() {
        let error = FileArgument::parse("m.mtx:crs").unwrap_err();
        assert_eq!(error.code, Code::UnknownLayout);
    }
}
