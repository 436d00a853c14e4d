//! Tokens of the relation language, with byte ranges.

use std::ops::Range;

use crate::diagnostic::{Code, Diagnostic, Result};

#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    Ident(String),
    Int(i64),
    /// Operators and punctuation, in their normalised spelling.
    Sym(&'static str),
    End,
}

/// Longest first, so that `<=` is not read as `<`. The second column is the normalised spelling.
const SYMBOLS: &[(&str, &str)] = &[
    ("<->", "<->"),
    ("->", "->"),
    ("=>", "=>"),
    ("<=", "<="),
    (">=", ">="),
    ("!=", "!="),
    ("==", "="),
    ("&&", "and"),
    ("||", "or"),
    ("≤", "<="),
    ("≥", ">="),
    ("≠", "!="),
    ("∧", "and"),
    ("∨", "or"),
    ("¬", "not"),
    ("⇒", "=>"),
    ("∪", ";"),
    ("→", "->"),
    ("{", "{"),
    ("}", "}"),
    ("[", "["),
    ("]", "]"),
    ("(", "("),
    (")", ")"),
    (",", ","),
    (":", ":"),
    (";", ";"),
    ("+", "+"),
    ("-", "-"),
    ("*", "*"),
    ("/", "/"),
    ("%", "mod"),
    ("<", "<"),
    (">", ">"),
    ("=", "="),
    ("!", "not"),
];

const KEYWORDS: &[(&str, &str)] = &[
    ("and", "and"),
    ("or", "or"),
    ("not", "not"),
    ("implies", "=>"),
    ("mod", "mod"),
    ("true", "true"),
    ("false", "false"),
];

/// Splits `text` into tokens; the last one is [`Token::End`].
pub fn tokenize(text: &str) -> Result<Vec<(Token, Range<usize>)>> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let len;
        let token = if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        } else if c.is_ascii_digit() {
            len = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let value = rest[..len].parse().map_err(|_| {
                Diagnostic::new(Code::Syntax, "integer does not fit 64 bits")
                    .at(at..at + len, "too large")
            })?;
            Token::Int(value)
        } else if c.is_alphabetic() || c == '_' {
            len = rest
                .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\''))
                .unwrap_or(rest.len());
            match KEYWORDS.iter().find(|(k, _)| *k == &rest[..len]) {
                Some((_, norm)) => Token::Sym(norm),
                None => Token::Ident(rest[..len].to_string()),
            }
        } else if let Some((spelling, norm)) = SYMBOLS.iter().find(|(s, _)| rest.starts_with(s)) {
            len = spelling.len();
            Token::Sym(norm)
        } else {
            return Err(Diagnostic::new(Code::Syntax, format!("unexpected character `{c}`"))
                .at(at..at + c.len_utf8(), "not part of the relation language"));
        };
        out.push((token, at..at + len));
        at += len;
    }
    out.push((Token::End, text.len()..text.len()));
    Ok(out)
}
