//! Declaration texts, and places inside the strings they hold.
//!
//! In: a byte range inside the decoded value of a TOML string. Out: the byte range in the file, so
//! that a diagnostic about a relation points at the very character of the file.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use toml::Spanned;

use crate::diagnostic::{Code, Diagnostic, Result};

/// A string of a declaration and where its (quoted) form stands.
pub(super) type Text = Spanned<String>;

/// A declaration as text: a file, or a level list of the command line.
#[derive(Debug)]
pub(super) struct Source {
    /// What diagnostics show as its origin.
    pub name: String,
    pub text: String,
    /// Where to look for the levels that the declaration names; none for shipped ones.
    pub folder: Option<PathBuf>,
}

impl Source {
    pub fn error(
        &self,
        code: Code,
        message: impl Into<String>,
        span: Range<usize>,
        label: impl Into<String>,
    ) -> Box<Diagnostic> {
        Diagnostic::new(code, message).at(span, label).within(&self.name, &self.text)
    }

    /// Turns the error of a parser that saw only `text` into one about the whole declaration.
    pub fn lift(&self, text: &Text, mut diagnostic: Box<Diagnostic>) -> Box<Diagnostic> {
        let (inner, label) =
            diagnostic.span.take().unwrap_or_else(|| (0..text.get_ref().len(), "here".to_string()));
        diagnostic.at(self.place(text, inner), label).within(&self.name, &self.text)
    }

    /// Parses the content of `text`; errors point into the declaration.
    pub fn parse<T>(&self, text: &Text, parser: impl FnOnce(&str) -> Result<T>) -> Result<T> {
        parser(text.get_ref()).map_err(|e| self.lift(text, e))
    }

    /// The place in the declaration of a byte range inside the decoded `text`.
    pub fn place(&self, text: &Text, inner: Range<usize>) -> Range<usize> {
        let span = text.span();
        let Some(raw) = self.text.get(span.clone()) else { return span };
        let start = raw_offset(raw, text.get_ref(), inner.start);
        let end = raw_offset(raw, text.get_ref(), inner.end).max(start);
        span.start + start..span.start + end
    }

    /// The place of the first whole word `word` in `text`, or of all of it.
    pub fn word(&self, text: &Text, word: &str) -> Range<usize> {
        let content = text.get_ref();
        let part_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
        content
            .match_indices(word)
            .find(|(at, _)| {
                !content[..*at].chars().next_back().is_some_and(part_of_name)
                    && !content[at + word.len()..].chars().next().is_some_and(part_of_name)
            })
            .map_or_else(|| text.span(), |(at, _)| self.place(text, at..at + word.len()))
    }

    /// How often the declaration has the word, comments left out.
    pub fn mentions(&self, word: &str) -> usize {
        let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
        let code = |line: &str| line.split('#').next().unwrap_or_default().to_string();
        let words = |line: String| line.split(|c| !part_of_name(c)).filter(|w| *w == word).count();
        self.text.lines().map(|line| words(code(line))).sum()
    }

    /// The line of a place, as `csr.toml:4`; none in texts that are not files.
    pub fn line(&self, at: usize) -> Option<String> {
        let before = self.text.get(..at).filter(|_| self.name.ends_with(".toml"))?;
        Some(format!("{}:{}", self.name, before.matches('\n').count() + 1))
    }

    pub fn origin(self: &Arc<Self>, span: Range<usize>) -> Origin {
        Origin { source: self.clone(), span }
    }
}

/// Where a part of a layout was declared, for errors found after composition.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub source: Arc<Source>,
    pub span: Range<usize>,
}

impl Origin {
    pub fn line(&self) -> Option<String> {
        self.source.line(self.span.start)
    }

    pub fn error(
        &self,
        code: Code,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Box<Diagnostic> {
        self.source.error(code, message, self.span.clone(), label)
    }
}

/// Maps byte `at` of the decoded string to a byte of its quoted form `raw`.
fn raw_offset(raw: &str, decoded: &str, at: usize) -> usize {
    let (quote, escapes) = match raw.as_bytes() {
        [b'"', b'"', b'"', ..] if raw.len() >= 6 => (3, true),
        [b'\'', b'\'', b'\'', ..] if raw.len() >= 6 => (3, false),
        [b'"', ..] => (1, true),
        [b'\'', ..] => (1, false),
        _ => (0, false),
    };
    let bytes = raw.as_bytes();
    let mut r = quote;
    if quote == 3 {
        // The newline right after the opening quotes is not part of the string.
        let rest = &bytes[r..];
        r += if rest.starts_with(b"\r\n") { 2 } else { usize::from(rest.starts_with(b"\n")) };
    }
    let mut d = 0;
    while d < at && r < bytes.len() {
        let width = |text: &str, k: usize| text.get(k..)?.chars().next().map(char::len_utf8);
        if escapes && bytes[r] == b'\\' {
            match bytes.get(r + 1) {
                // A backslash before the end of the line swallows the following white space.
                Some(b' ' | b'\t' | b'\r' | b'\n') => {
                    r += 1;
                    while bytes.get(r).is_some_and(u8::is_ascii_whitespace) {
                        r += 1;
                    }
                    continue;
                }
                Some(b'x') => r += 4,
                Some(b'u') => r += 6,
                Some(b'U') => r += 10,
                _ => r += 2,
            }
            d += width(decoded, d).unwrap_or(1);
        } else if bytes[r] == b'\r' && decoded.as_bytes().get(d) == Some(&b'\n') {
            r += 1; // the line end was normalised
        } else {
            let Some(step) = width(raw, r) else { break };
            r += step;
            d += step;
        }
    }
    r.min(raw.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_in_quoted_strings_point_at_the_same_character() {
        // (quoted form, decoded form, what to find)
        let cases = [
            ("\"abc def\"", "abc def", "def"),
            ("'abc def'", "abc def", "def"),
            ("\"\"\"\nabc\ndef\"\"\"", "abc\ndef", "def"),
            ("\"\"\"\r\nabc\r\ndef\"\"\"", "abc\ndef", "def"),
            ("\"\"\"abc \\\n     def\"\"\"", "abc def", "ef"),
            ("\"\\u222A \\t def\"", "∪ \t def", "def"),
            ("'''∪ def'''", "∪ def", "def"),
            ("dense(i)", "dense(i)", "i"),
        ];
        for (raw, decoded, word) in cases {
            let at = decoded.find(word).unwrap();
            assert_eq!(raw_offset(raw, decoded, at), raw.find(word).unwrap(), "{raw}");
        }
    }
}
