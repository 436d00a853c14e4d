//! Tokens of Finch programs, with byte ranges: those of Julia that the grammar uses.
//!
//! The end of a line ends a statement, but not inside parentheses and brackets; there it is white space,
//! as in Julia.

use std::ops::Range;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::program::token::{continues_name, starts_name};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// Also the words of the grammar, which are names to the tokenizer.
    Name(String),
    /// In decimal digits: hexadecimal numbers are converted.
    Integer(String),
    /// With a point or an exponent.
    Float(String),
    /// A word behind `@`.
    Macro(String),
    Sym(&'static str),
    /// The end of a line, or `;`.
    Separator,
    End,
}

/// A token, its place, and whether it directly follows the one before: `f(x)` is a call, `f (x)` is none.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub token: Token,
    pub span: Range<usize>,
    pub adjacent: bool,
}

/// Longest first.
const SYMBOLS: [&str; 38] = [
    ">>=", "<<", ">>", "+=", "*=", "&=", "|=", ":=", ".=", "=>", "&&", "||", "==", "!=", "<=",
    ">=", "<", ">", "=", "+", "-", "*", "/", "%", "^", "&", "|", "!", "~", ":", ",", "(", ")", "[",
    "]", "$", "÷", "⊻",
];

/// How numbers begin that are not decimal, by which base they are written, and of what.
const RADICES: [(&str, u32, &str); 3] =
    [("0x", 16, "hexadecimal digits"), ("0b", 2, "binary digits"), ("0o", 8, "octal digits")];

/// Other spellings of Julia, and what they stand for.
const SYNONYMS: [(&str, &str); 4] = [("≤", "<="), ("≥", ">="), ("≠", "!="), ("∈", "in")];

/// Words that begin what `end` closes.
pub(super) const OPENING: [&str; 4] = ["begin", "for", "if", "let"];

/// Words of the grammar, which name nothing else.
pub(super) const RESERVED: [&str; 15] = [
    "begin", "for", "in", "if", "else", "elseif", "let", "end", "return", "true", "false", "Inf",
    "NaN", "missing", "nothing",
];

/// Splits `text`; the last token is [`Token::End`].
pub(super) fn tokenize(text: &str) -> Result<Vec<Placed>> {
    let mut out: Vec<Placed> = Vec::new();
    // What is open: a bracket, or a word that `end` closes.
    let mut open: Vec<&str> = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if let Some(length) = comment(rest, at)? {
            at += length;
            continue;
        }
        if c == '\n' || c == ';' {
            let inside = open.last().is_some_and(|o| matches!(*o, "(" | "["));
            if c == ';' || !inside {
                push(&mut out, Token::Separator, at..at + 1);
            }
            at += 1;
            continue;
        }
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let (token, length) = token(rest, at)?;
        match &token {
            Token::Sym(sym @ ("(" | "[")) => open.push(sym),
            Token::Sym(")" | "]") => drop(open.pop()),
            Token::Name(word) if word == "end" => drop(open.pop()),
            Token::Name(word) => open.extend(OPENING.iter().copied().filter(|o| o == word)),
            _ => {}
        }
        push(&mut out, token, at..at + length);
        at += length;
    }
    push(&mut out, Token::End, text.len()..text.len());
    Ok(out)
}

fn push(out: &mut Vec<Placed>, token: Token, span: Range<usize>) {
    let adjacent = out.last().is_some_and(|before| before.span.end == span.start);
    out.push(Placed { token, span, adjacent });
}

/// The length of the comment that `rest` begins with: `# …`, or `#= … =#`, which nests.
fn comment(rest: &str, at: usize) -> Result<Option<usize>> {
    if !rest.starts_with('#') {
        return Ok(None);
    }
    if !rest.starts_with("#=") {
        return Ok(Some(rest.find('\n').unwrap_or(rest.len())));
    }
    let (mut depth, mut length) = (0_usize, 0);
    while length < rest.len() {
        let inner = &rest[length..];
        if inner.starts_with("#=") {
            depth += 1;
            length += 2;
        } else if inner.starts_with("=#") {
            depth -= 1;
            length += 2;
            if depth == 0 {
                return Ok(Some(length));
            }
        } else {
            length += inner.chars().next().map_or(1, char::len_utf8);
        }
    }
    Err(Diagnostic::new(Code::Program, "a comment is not closed")
        .at(at..at + 2, "no `=#` before the end of the program")
        .help("insert `=#`, or write `#` for a comment up to the end of the line"))
}

fn token(rest: &str, at: usize) -> Result<(Token, usize)> {
    let word = |text: &str| text.find(|c| !continues_name(c)).unwrap_or(text.len());
    if rest.starts_with(starts_name) {
        let length = word(rest);
        if rest[length..].starts_with('!') && !rest[length..].starts_with("!=") {
            return Err(unknown('!', at + length));
        }
        return Ok((Token::Name(rest[..length].to_string()), length));
    }
    if let Some(name) = rest.strip_prefix('@') {
        let length = word(name);
        return Ok((Token::Macro(name[..length].to_string()), 1 + length));
    }
    let fraction =
        rest.strip_prefix('.').is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()));
    if rest.starts_with(|c: char| c.is_ascii_digit()) || fraction {
        return number(rest, at);
    }
    for (synonym, symbol) in SYNONYMS {
        if rest.starts_with(synonym) {
            let token = match SYMBOLS.iter().find(|s| **s == symbol) {
                Some(symbol) => Token::Sym(symbol),
                None => Token::Name(symbol.to_string()),
            };
            return Ok((token, synonym.len()));
        }
    }
    match SYMBOLS.iter().find(|s| rest.starts_with(**s)) {
        Some(symbol) => Ok((Token::Sym(symbol), symbol.len())),
        None => Err(unknown(rest.chars().next().unwrap_or(' '), at)),
    }
}

/// A number: `12`, `1_000`, `0xff`, `0b101`, `0o17`, `2.5`, `.5`, `1e-9`, `2.5f0`.
fn number(rest: &str, at: usize) -> Result<(Token, usize)> {
    let run = |text: &str, radix: u32| {
        text.find(|c: char| !(c.is_digit(radix) || c == '_')).unwrap_or(text.len())
    };
    let in_radix = RADICES
        .iter()
        .find_map(|(prefix, radix, what)| Some((prefix, *radix, what, rest.strip_prefix(prefix)?)));
    if let Some((prefix, radix, what, digits)) = in_radix {
        let length = run(digits, radix);
        let value = i64::from_str_radix(&digits[..length].replace('_', ""), radix).ok();
        let word = digits.find(|c| !continues_name(c)).unwrap_or(digits.len());
        let value = value.filter(|_| word <= length).ok_or_else(|| {
            Diagnostic::new(Code::Program, format!("`{prefix}{}` is no number", &digits[..word]))
                .at(at..at + 2 + word, format!("{what} of a 64-bit integer must follow `{prefix}`"))
                .help("write e.g. `0xff`, or a decimal number")
        })?;
        return Ok((Token::Integer(value.to_string()), 2 + length));
    }
    let mut length = run(rest, 10);
    let mut float = false;
    // `1:2` is a range, `1.+2` a dotted operator, which is refused.
    let digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    if rest[length..].starts_with('.') && (length > 0 || digit(&rest[length + 1..])) {
        float = true;
        length += 1 + run(&rest[length + 1..], 10);
    }
    let mut is_single = false;
    if rest[length..].starts_with(['e', 'E', 'f']) {
        let sign = usize::from(rest[length + 1..].starts_with(['+', '-']));
        if digit(&rest[length + 1 + sign..]) {
            float = true;
            is_single = rest[length..].starts_with('f');
            length += 1 + sign + run(&rest[length + 1 + sign..], 10);
        }
    }
    let mut text = rest[..length].replace('_', "");
    if is_single {
        // As near to it as a float of 32 bits is.
        let single = text.replace('f', "e").parse().ok().filter(|n: &f32| n.is_finite());
        let single = single.ok_or_else(|| {
            Diagnostic::new(Code::Program, format!("`{text}` is no number"))
                .at(at..at + length, "it is beyond floats of 32 bits")
                .help(format!("write `{}`", text.replace('f', "e")))
        })?;
        text = format!("{:?}", f64::from(single));
    }
    Ok((if float { Token::Float(text) } else { Token::Integer(text) }, length))
}

fn unknown(c: char, at: usize) -> Box<Diagnostic> {
    let shown = if c.is_control() { c.escape_debug().to_string() } else { c.to_string() };
    let help = match c {
        '?' => "write `ifelse(c, a, b)`",
        '!' => "a name has letters, digits and `_`",
        '.' => "operators work on elements: write `+` instead of `.+`, within a loop",
        '\'' => "swap the indices, or write `swizzle(A, 2, 1)[i, j]`",
        '"' => "there are no texts in Finch programs",
        '{' | '}' => "blocks stand between `begin` and `end`",
        _ => "a statement looks like `y[i] += A[i, j] * x[j]`",
    };
    Diagnostic::new(Code::Program, format!("unexpected character `{shown}`"))
        .at(at..at + c.len_utf8(), "not part of the Finch language")
        .help(help)
}
