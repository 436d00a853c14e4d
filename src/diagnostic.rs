//! The one diagnostic type. Every stage reports a wrong input as a [`Diagnostic`]; only the command
//! line renders it (`cli/render.rs`), so the library never prints.
//!
//! A diagnostic answers three questions: *where* ([`Diagnostic::at`]), *why* (the message and the
//! notes) and *what now* ([`Diagnostic::help`]).

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// `Result` whose error is a user-facing diagnostic (boxed: it is the cold path).
pub type Result<T, E = Box<Diagnostic>> = std::result::Result<T, E>;

/// Stable codes, grouped by stage. A code is never reused for another meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[rustfmt::skip]
pub enum Code {
    /// A file cannot be opened, read or written.
    Io,
    /// What was asked does not fit into the memory that is free.
    Memory,
    /// A relation, property or value expression does not parse.
    Syntax,
    /// An expression is neither affine nor a call of an index array.
    NotAffine,
    /// A layout file breaks the schema (missing key, unknown key, wrong type).
    LayoutSchema,
    /// A layout is named that is neither shipped nor a file.
    UnknownLayout,
    /// A declaration's properties contradict each other.
    Contradiction,
    /// A layout cannot be packed from its declaration.
    NotPackable,
    /// A declaration reads an index array, or the values, out of bounds.
    OutOfDomain,
    /// An index-notation expression does not parse.
    Program,
    /// Tensors and indices do not fit: ranks, extents, missing tensors.
    Shape,
    /// An operator's declaration is wrong, or makes a claim that does not hold; or an operator is
    /// used that does not exist, or not for these types.
    Operator,
    /// A loop order that no scan can follow.
    LoopOrder,
    /// A find template was forced that is not proved, or does not exist.
    Find,
    /// The iteration space is of a form that is not supported.
    Space,
    /// A data file is malformed.
    Data,
    /// A tensor breaks a property its layout declares.
    Property,
    /// `rustc` is missing, or lacks something (a linker, space on the disk).
    Rustc,
    /// `rustc` refused a generated module: no input is wrong, the compiler is.
    RefusedModule,
    /// A command-line option is wrong.
    Usage,
    /// A transformation or a parallel loop that the dependence test refuses.
    Dependence,
    /// A stage broke a promise: a defect of Siskin, not of its input.
    Internal,
}

impl Code {
    /// Every code, in the order of their numbers.
    pub const ALL: [Code; 22] = [
        Code::Io,
        Code::Usage,
        Code::Memory,
        Code::Syntax,
        Code::NotAffine,
        Code::LayoutSchema,
        Code::UnknownLayout,
        Code::Contradiction,
        Code::NotPackable,
        Code::OutOfDomain,
        Code::Program,
        Code::Shape,
        Code::Operator,
        Code::LoopOrder,
        Code::Space,
        Code::Dependence,
        Code::Find,
        Code::Data,
        Code::Property,
        Code::Rustc,
        Code::RefusedModule,
        Code::Internal,
    ];

    /// True if nothing that the user gave is wrong: Siskin itself is, and should be reported.
    pub fn is_defect(self) -> bool {
        matches!(self, Code::RefusedModule | Code::Internal)
    }

    /// The stable spelling, e.g. `S0102`.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::Io => "S0001",
            Code::Usage => "S0002",
            Code::Memory => "S0003",
            Code::Syntax => "S0101",
            Code::NotAffine => "S0102",
            Code::LayoutSchema => "S0103",
            Code::UnknownLayout => "S0104",
            Code::Contradiction => "S0105",
            Code::NotPackable => "S0106",
            Code::OutOfDomain => "S0107",
            Code::Program => "S0201",
            Code::Shape => "S0202",
            Code::Operator => "S0203",
            Code::LoopOrder => "S0301",
            Code::Space => "S0302",
            Code::Dependence => "S0303",
            Code::Find => "S0401",
            Code::Data => "S0501",
            Code::Property => "S0502",
            Code::Rustc => "S0601",
            Code::RefusedModule => "S0602",
            Code::Internal => "S0901",
        }
    }
}

/// The text a diagnostic points into: a file's content, or an argument of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// What to show as its origin: a path, or e.g. `<expression>`.
    pub name: String,
    /// The whole text, or the one line that matters when the file is large.
    pub text: Arc<str>,
    /// 1-based number of the first line of `text` in the file.
    pub first_line: usize,
}

/// A user-facing error: code, message, place, notes and remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What went wrong, in a stable spelling.
    pub code: Code,
    /// One sentence, no final period, lower case.
    pub message: String,
    /// The text that `span` points into.
    pub source: Option<SourceText>,
    /// Byte range in `source.text`, with the words to put under it.
    pub span: Option<(Range<usize>, String)>,
    /// More to know, a line each.
    pub notes: Vec<String>,
    /// What the user can do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// What nothing that a user writes can cause.
    pub fn defect(message: impl Into<String>) -> Box<Self> {
        Diagnostic::new(Code::Internal, message)
            .help("this is a defect of siskin: please report it with the command that caused it")
    }

    /// A diagnostic without a place; `at` and `within` give it one.
    pub fn new(code: Code, message: impl Into<String>) -> Box<Self> {
        Box::new(Diagnostic {
            code,
            message: message.into(),
            source: None,
            span: None,
            notes: Vec::new(),
            help: None,
        })
    }

    /// Points at `span` of the text that [`Diagnostic::within`] names.
    #[must_use]
    pub fn at(mut self: Box<Self>, span: Range<usize>, label: impl Into<String>) -> Box<Self> {
        self.span = Some((span, label.into()));
        self
    }

    /// Names the text; keeps an earlier, more precise one.
    #[must_use]
    pub fn within(mut self: Box<Self>, name: impl Into<String>, text: &str) -> Box<Self> {
        if self.source.is_none() {
            self.source =
                Some(SourceText { name: name.into(), text: Arc::from(text), first_line: 1 });
        }
        self
    }

    /// Points at a whole line of a data file: `path:line`.
    #[must_use]
    pub fn at_line(
        mut self: Box<Self>,
        path: impl Into<String>,
        line_number: usize,
        line: &str,
        label: impl Into<String>,
    ) -> Box<Self> {
        let shown: String = line.chars().take(120).collect();
        self.span = Some((0..shown.len(), label.into()));
        self.source = Some(SourceText {
            name: path.into(),
            text: Arc::from(shown.as_str()),
            first_line: line_number,
        });
        self
    }

    /// Adds a line to know.
    #[must_use]
    pub fn note(mut self: Box<Self>, note: impl Into<String>) -> Box<Self> {
        self.notes.push(note.into());
        self
    }

    /// Says what to do; the last one stays.
    #[must_use]
    pub fn help(mut self: Box<Self>, help: impl Into<String>) -> Box<Self> {
        self.help = Some(help.into());
        self
    }

    /// Moves the span by `offset` bytes: the parsed text was a part of a larger one.
    #[must_use]
    pub fn shifted(mut self: Box<Self>, offset: usize) -> Box<Self> {
        if let Some((span, _)) = &mut self.span {
            *span = span.start + offset..span.end + offset;
        }
        self
    }
}

/// The plain one-line form, for logs and `{}`; the command line renders the full form.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}]: {}", self.code.as_str(), self.message)?;
        if let Some(source) = &self.source {
            write!(f, " (in {})", source.name)?;
        }
        if let Some(help) = &self.help {
            write!(f, "; {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_listed_once_in_the_order_of_its_number() {
        // `Internal` is the last variant that is declared.
        assert_eq!(Code::ALL.len(), Code::Internal as usize + 1);
        assert!(Code::ALL.windows(2).all(|w| w[0].as_str() < w[1].as_str()));
    }
}
