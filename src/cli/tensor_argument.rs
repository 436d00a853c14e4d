//! `NAME=FILE[:LAYOUT]` and `NAME=LAYOUT`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::files::EXTENSIONS;
use siskin::layout::LayoutSpec;

use super::generated::Generated;
use super::standard;

/// Where a tensor is.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    File(PathBuf),
    /// Standard input or output, with the type that was said.
    Standard(Option<String>),
    Generated(Generated),
}

/// A tensor's place, and the layout that was asked for it.
#[derive(Clone, Debug, PartialEq)]
pub struct FileArgument {
    pub place: Place,
    pub layout: Option<String>,
    /// As it was written, without the layout.
    pub name: String,
}

/// An argument as clap takes it: `-:mtx` would be an option.
pub fn protected(argument: OsString) -> OsString {
    match argument.to_str() {
        Some(text) if text.starts_with("-:") => format!(":{text}").into(),
        _ => argument,
    }
}

impl FileArgument {
    /// `FILE[:LAYOUT]`, `-[:TYPE][:LAYOUT]`. File and layout may contain colons, and a layout commas,
    /// parentheses and slashes: what follows a colon is a layout if it is the longest that is one.
    ///
    /// # Errors
    /// Those of the layout.
    pub fn parse(text: &str) -> Result<FileArgument> {
        let text = text.strip_prefix(':').filter(|t| t.starts_with("-:")).unwrap_or(text);
        if text == standard::NAME {
            return Ok(FileArgument::standard(None, None));
        }
        if let Some(rest) = text.strip_prefix("-:") {
            let (extension, layout) = match standard::split_type(rest) {
                Some((extension, layout)) => (Some(extension), layout),
                None => (None, Some(rest)),
            };
            if let Some(layout) = layout.filter(|layout| !layout.starts_with("shares(")) {
                LayoutSpec::parse(layout)?;
            }
            return Ok(FileArgument::standard(extension, layout));
        }
        // No layout ends like a tensor's file, so that the colons belong to the name of one.
        let ending = text.strip_suffix(".gz").unwrap_or(text);
        if EXTENSIONS.iter().any(|extension| ending.ends_with(extension)) {
            return Ok(FileArgument {
                place: Place::File(PathBuf::from(text)),
                layout: None,
                name: text.to_string(),
            });
        }
        let with = |at: usize| FileArgument {
            place: Place::File(PathBuf::from(&text[..at])),
            layout: Some(text[at + 1..].trim().to_string()),
            name: text[..at].to_string(),
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
            _ => Ok(FileArgument {
                place: Place::File(PathBuf::from(text)),
                layout: None,
                name: text.to_string(),
            }),
        }
    }

    /// What may be read: also `ones[:LAYOUT]` and `random:FAMILY[:LAYOUT]`. A file of such a name is
    /// given as `./ones`.
    ///
    /// # Errors
    /// Those of the layout, and of the family.
    pub fn input(text: &str) -> Result<FileArgument> {
        let words = match text.starts_with("random:") {
            true => 2,
            false => 1,
        };
        let end = text.match_indices(':').nth(words - 1).map_or(text.len(), |(at, _)| at);
        let Some(generated) = Generated::parse(&text[..end])? else {
            return FileArgument::parse(text);
        };
        let layout = text.get(end + 1..).map(|layout| layout.trim().to_string());
        if let Some(layout) = &layout {
            LayoutSpec::parse(layout)?;
        }
        Ok(FileArgument {
            place: Place::Generated(generated),
            layout,
            name: text[..end].to_string(),
        })
    }

    fn standard(extension: Option<&str>, layout: Option<&str>) -> FileArgument {
        FileArgument {
            place: Place::Standard(extension.map(str::to_string)),
            layout: layout.map(|layout| layout.trim().to_string()),
            name: standard::NAME.to_string(),
        }
    }

    pub fn is_standard(&self) -> bool {
        matches!(self.place, Place::Standard(_))
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
    use super::super::generated::Family;
    use super::*;

    fn parts(text: &str) -> (String, Option<String>) {
        let a = FileArgument::parse(text).unwrap();
        (a.name, a.layout)
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
    fn standard_input_may_have_a_type_a_layout_or_both() {
        let of = |text: &str| {
            let a = FileArgument::parse(text).unwrap();
            (a.place, a.layout)
        };
        let standard = |extension: Option<&str>| Place::Standard(extension.map(str::to_string));
        assert_eq!(of("-"), (standard(None), None));
        assert_eq!(of("-:mtx"), (standard(Some("mtx")), None));
        assert_eq!(of("-:tns.gz:csf"), (standard(Some("tns.gz")), Some("csf".to_string())));
        assert_eq!(of("-:csr"), (standard(None), Some("csr".to_string())));
        assert!(FileArgument::parse("-:crs").is_err());
    }

    #[test]
    fn what_is_made_up_may_have_a_layout() {
        let of = |text: &str| {
            let a = FileArgument::input(text).unwrap();
            (a.place, a.layout)
        };
        let random = Place::Generated(Generated::Random(Family::Uniform(0.25)));
        assert_eq!(of("ones"), (Place::Generated(Generated::Ones), None));
        assert_eq!(of("random:0.25"), (random.clone(), None));
        assert_eq!(of("random:0.25:csr"), (random, Some("csr".to_string())));
        assert_eq!(of("./ones"), (Place::File("./ones".into()), None));
        assert!(FileArgument::input("random:2").is_err());
        assert!(FileArgument::input("ones:crs").is_err());
    }

    #[test]
    fn an_unknown_layout_is_refused() {
        let error = FileArgument::parse("m.mtx:crs").unwrap_err();
        assert_eq!(error.code, Code::UnknownLayout);
    }
}
