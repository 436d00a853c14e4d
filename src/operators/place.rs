//! Texts of expressions: how large they may be, and where in them a part stands.

use std::ops::Range;

use proc_macro2::Span;

use crate::diagnostic::{Code, Diagnostic, Result};

/// Longer texts, and deeper ones, are no operators (and would exhaust the stack of a parser).
const LONGEST: usize = 2000;
const DEEPEST: usize = 40;

/// Refuses texts that are too long or too deep.
///
/// # Errors
/// [`Code::Operator`].
pub(super) fn check_size(text: &str) -> Result<()> {
    let refused = |what: &str, at: Range<usize>| {
        Err(Diagnostic::new(Code::Operator, format!("the expression is too {what}"))
            .at(at, "here")
            .help("declare several operators, and combine them where they are used"))
    };
    if text.len() > LONGEST {
        return refused("long", 0..0);
    }
    let (mut depth, mut prefixes) = (0usize, 0usize);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        prefixes = if "-!*&|".contains(c) {
            prefixes + 1
        } else if c.is_whitespace() {
            prefixes
        } else {
            0
        };
        if depth > DEEPEST || prefixes > DEEPEST {
            return refused("deeply nested", at..at + c.len_utf8());
        }
    }
    Ok(())
}

/// The place in `text` of a span of the text with a brace in front.
pub(super) fn byte_range(text: &str, span: Span) -> Range<usize> {
    let offset = |place: proc_macro2::LineColumn| {
        let line: usize =
            text.split_inclusive('\n').take(place.line.saturating_sub(1)).map(str::len).sum();
        let column = place.column.saturating_sub(usize::from(place.line == 1));
        let rest = text.get(line..).unwrap_or("");
        line + rest.chars().take(column).map(char::len_utf8).sum::<usize>()
    };
    let start = offset(span.start()).min(text.len());
    start..offset(span.end()).clamp(start, text.len())
}
