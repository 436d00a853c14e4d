//! Tokens of index notation and of the tree, with byte ranges.

use std::ops::Range;

use super::scalar::SUFFIX;
use crate::diagnostic::{Code, Diagnostic, Result};

#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    Name(String),
    /// A number as written, without sign.
    Number(String),
    Sym(&'static str),
    /// The word `if`. A formula follows, which has its own tokens: what stands before the next `;` in index
    /// notation, before the next `{` in a tree.
    If,
    End,
}

/// What a text is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Notation,
    Tree,
}

/// Longest first, so that `+=` is not read as `+`.
const SYMBOLS: &[&str] = &[
    "+=", "-=", "*=", "/=", "==", "!=", "<=", ">=", "<", ">", "=", "+", "-", "*", "/", "(", ")",
    "[", "]", ",", ":",
];

/// Of a tree only.
const BRACES: &[&str] = &["{", "}"];

/// Of index notation only: between statements.
const SEPARATOR: &str = ";";

/// The words that begin a statement of a tree and are followed by a name. They are not reserved:
/// index notation has no two names in a row.
pub const KEYWORDS: &[&str] = &["forall", "for", "let", "declare"];

/// The word that begins a choice by a value, which may begin with anything.
pub const WHEN: &str = "when";

/// What a tensor is declared to be that keeps its elements.
pub const GIVEN: &str = "given";

/// Words that stand for numbers.
pub const WORDS: [&str; 4] = ["inf", "nan", "true", "false"];

const RESERVED: &[&str] = &[
    "if", "and", "or", "not", "implies", "mod", "true", "false", "inf", "nan", "floor", "ceil",
    "min", "max",
];

/// Whether a name has a meaning in the language and so can be neither tensor nor index.
pub fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// What `text` is written in, as its beginning tells.
pub fn form(text: &str) -> Form {
    let text = text.trim_start();
    let (word, rest) = text.split_at(text.find(|c| !continues_name(c)).unwrap_or(text.len()));
    let named = rest.trim_start().starts_with(starts_name);
    let choice = word == WHEN && text.contains('{');
    let tree =
        text.starts_with('{') || word == "if" || (KEYWORDS.contains(&word) && named) || choice;
    if tree { Form::Tree } else { Form::Notation }
}

/// Splits `text`; the last token is [`Token::End`].
pub fn tokenize(text: &str, form: Form) -> Result<Vec<(Token, Range<usize>)>> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let brace = BRACES.iter().find(|b| form == Form::Tree && rest.starts_with(**b));
        let (token, len) = if let Some(brace) = brace {
            (Token::Sym(brace), 1)
        } else if form == Form::Notation && rest.starts_with(SEPARATOR) {
            (Token::Sym(SEPARATOR), SEPARATOR.len())
        } else if let Some(sym) = SYMBOLS.iter().find(|s| rest.starts_with(**s)) {
            (Token::Sym(sym), sym.len())
        } else if starts_name(c) {
            let len = rest.find(|c| !continues_name(c)).unwrap_or(rest.len());
            if &rest[..len] == "if" {
                out.push((Token::If, at..at + len));
                let end = if form == Form::Notation { ';' } else { '{' };
                at += rest.find(end).unwrap_or(rest.len());
                continue;
            }
            (Token::Name(rest[..len].to_string()), len)
        } else if let Some(len) = number_len(rest) {
            (Token::Number(rest[..len].to_string()), len)
        } else {
            return Err(unknown_character(c, at));
        };
        out.push((token, at..at + len));
        at += len;
    }
    out.push((Token::End, text.len()..text.len()));
    Ok(out)
}

pub fn starts_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

pub fn continues_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Length of the number that `text` starts with: `12`, `2.5`, `.5`, `3.`, `1e-9`, `12_i64`.
fn number_len(text: &str) -> Option<usize> {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(0);
    let mut len = whole;
    if whole > 0 && text[whole..].starts_with(SUFFIX) {
        return Some(whole + SUFFIX.len());
    }
    if text[len..].starts_with('.') {
        let fraction = digits(len + 1);
        if whole + fraction == 0 {
            return None;
        }
        len += 1 + fraction;
    }
    if len == 0 {
        return None;
    }
    if text[len..].starts_with(['e', 'E']) {
        let sign = usize::from(text[len + 1..].starts_with(['+', '-']));
        let exponent = digits(len + 1 + sign);
        if exponent > 0 {
            len += 1 + sign + exponent;
        }
    }
    Some(len)
}

fn unknown_character(c: char, at: usize) -> Box<Diagnostic> {
    let help = match c {
        ';' => "statements of a tree stand one after the other, without `;`",
        '!' => "write `not(a)`, or `a != b`",
        '&' | '|' | '%' => "operators have names: `band(a, b)`, `and(a, b)`, `mod(a, b)`",
        '{' | '}' => "subscripts are written `A[i,j]` or `A(i,j)`",
        '^' => "write `pow(a, b)`",
        _ => "a statement looks like `y[i] += A[i,j] * x[j]`",
    };
    Diagnostic::new(Code::Program, format!("unexpected character `{}`", c.escape_debug()))
        .at(at..at + c.len_utf8(), "not part of index notation")
        .help(help)
}

/// The words of a formula or linear form in `text[from..]`, with their places. The boundaries are
/// those of the formula language, whose words may contain `'` and any letter.
pub fn words(text: &str, from: usize) -> Vec<(&str, Range<usize>)> {
    let continues = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
    let mut out = Vec::new();
    let mut at = from;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = &text[at..];
        if c.is_alphabetic() || c == '_' {
            let len = rest.find(|c| !continues(c)).unwrap_or(rest.len());
            out.push((&rest[..len], at..at + len));
            at += len;
        } else {
            at += c.len_utf8();
        }
    }
    out
}
