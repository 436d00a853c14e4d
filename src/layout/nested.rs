//! Nested names of formats, as Finch writes them: `Dense(SparseList(Element(0.0)))`.
//!
//! ```text
//! nested := level '(' nested ')' | leaf '(' [literal] ')'
//! level  := name ['{' digits '}']       a level's name, or the path of its file
//! ```
//! The outermost level has the last subscript of the tensor; the leaf, which has the values, states what
//! is not stored. `{N}` says how many subscripts a level has that is declared for any number.

use std::ops::Range;

use super::level_use::is_path;
use super::literal::Literal;
use crate::diagnostic::{Code, Diagnostic, Result};

/// More subscripts of one level are a slip.
const MOST: usize = 64;

/// A level of a nested name, with its places in the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NestedLevel {
    pub name: String,
    pub name_span: Range<usize>,
    /// `{N}`
    pub count: Option<(usize, Range<usize>)>,
}

/// A nested name, its levels from the outermost to the leaf.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Nested {
    pub levels: Vec<NestedLevel>,
    /// What stands in the innermost parentheses.
    pub argument: Option<(String, Range<usize>)>,
}

impl Nested {
    /// Whether only nested names look like this: one call in another, or a number in braces.
    pub fn is_sure(&self) -> bool {
        self.levels.len() > 1 || self.levels.iter().any(|level| level.count.is_some())
    }

    /// What the argument says, if it is a literal.
    pub fn literal(&self) -> Option<Literal> {
        Literal::parse(&self.argument.as_ref()?.0)
    }
}

/// Parses a text of the form `name(…)`; `None` if it has not that form. Places are byte ranges of `text`.
pub(super) fn parse(text: &str) -> Result<Option<Nested>> {
    let mut levels = Vec::new();
    let mut at = 0;
    // What is left to read, without the parentheses that close the levels so far.
    let mut end = text.trim_end().len();
    loop {
        at += text[at..end].len() - text[at..end].trim_start().len();
        let rest = &text[at..end];
        let name = &rest[..rest.find(|c| !is_path(c)).unwrap_or(rest.len())];
        let behind = rest[name.len()..].trim_start();
        if name.is_empty() || !behind.starts_with(['(', '{']) {
            return Ok(None);
        }
        let name_span = at..at + name.len();
        at = end - behind.len();
        let mut count = None;
        if behind.starts_with('{') {
            let Some(close) = behind.find('}') else {
                return Err(syntax(text, end..end, "expected `}`"));
            };
            let place = at + 1..at + close;
            let number = behind[1..close].trim().parse().ok().filter(|n| (1..=MOST).contains(n));
            let Some(number) = number else {
                return Err(syntax(text, place, "expected a number of subscripts"));
            };
            count = Some((number, place));
            at += close + 1;
            at += text[at..end].len() - text[at..end].trim_start().len();
        }
        if !text[at..end].starts_with('(') {
            return Err(syntax(text, at..end.min(at + 1), "expected `(`"));
        }
        if !text[at..end].ends_with(')') {
            if levels.is_empty() && count.is_none() {
                return Ok(None);
            }
            return Err(syntax(text, end..end, "expected `)`"));
        }
        levels.push(NestedLevel { name: name.to_string(), name_span, count });
        at += 1;
        end -= 1;
        end = at + text[at..end].trim_end().len();
        let inner = text[at..end].trim_start();
        if inner.is_empty() || Literal::parse(inner).is_some() || !is_call(inner) {
            let start = end - inner.len();
            let argument = (!inner.is_empty()).then(|| (inner.to_string(), start..end));
            return Ok(Some(Nested { levels, argument }));
        }
    }
}

/// Whether a text begins like a level with something in parentheses.
fn is_call(text: &str) -> bool {
    let behind = text.trim_start_matches(is_path);
    behind.len() < text.len() && behind.trim_start().starts_with(['(', '{'])
}

fn syntax(text: &str, place: Range<usize>, what: &str) -> Box<Diagnostic> {
    Diagnostic::new(Code::Syntax, format!("{what} in a nested name"))
        .at(place, what)
        .within("<layout>", text)
        .help("a nested name is written `LEVEL(LEVEL(LEAF(FILL)))`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_from_the_outermost_to_the_leaf() {
        let text = "Dense( Coo{2} (./my leaf.toml".replace(' ', "") + "(-Inf)))";
        let nested = parse(&text).unwrap().unwrap();
        let names: Vec<&str> = nested.levels.iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names, ["Dense", "Coo", "./myleaf.toml"]);
        assert_eq!(nested.levels[1].count.as_ref().map(|(n, _)| *n), Some(2));
        assert_eq!(nested.literal(), Some(Literal::F64(f64::NEG_INFINITY)));
        let nested = parse("A(B(Float32(0)))").unwrap().unwrap();
        assert_eq!((nested.levels.len(), nested.literal()), (2, Some(Literal::F32(0.0))));
    }

    #[test]
    fn lists_of_levels_and_layouts_with_parameters_are_told_apart() {
        for text in ["csr", "[i, j] dense(j), dense(i)"] {
            assert_eq!(parse(text).unwrap(), None, "{text}");
        }
        for text in ["bcsr(4, 4)", "dense(i), dense(j)", "dense(i)"] {
            assert!(!parse(text).unwrap().unwrap().is_sure(), "{text}");
        }
    }

    #[test]
    fn an_error_names_its_place() {
        for (text, at) in
            [("A{1}(B(0.0)", 10..10), ("A{x}(B())", 2..3), ("A{2(B())", 8..8), ("A{2}B()", 4..5)]
        {
            let e = parse(text).unwrap_err();
            assert_eq!(e.span.unwrap().0, at, "{text}");
        }
    }
}
