//! Uses of levels: `dense(i), compressed(j, unique=false)`.
//!
//! ```text
//! list    := ['[' ident,* ']'] use (',' use)*
//! use     := name '(' [arg (',' arg)*] ')'
//! arg     := ident                       a logical dimension
//!          | int | int '..' | '*'         dimensions by number, of a layout for any rank
//!          | ident '=' (true | false | last | int)
//! ```
//! `last` is true on the last level and false before it. A use over several dimension numbers
//! (`1..`, `*`) stands for one use for each.

use std::ops::Range;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;

/// Which logical dimension a level stores.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum DimRef {
    Name(String),
    Number(usize),
    /// `1..`; `*` is `0..`.
    From(usize),
}

/// The value given to an option or an integer parameter of a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Setting {
    Flag(bool),
    /// True on the last level only.
    Last,
    Integer(i64),
}

/// `compressed(j, unique=false)`, with places in the parsed text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LevelUse {
    /// A name, or a path of a TOML file.
    pub level: String,
    pub level_span: Range<usize>,
    pub dims: Vec<(DimRef, Range<usize>)>,
    pub settings: Vec<(String, Setting, Range<usize>)>,
    pub span: Range<usize>,
}

impl LevelUse {
    /// The text of the use, along these dimensions.
    pub fn along(&self, dims: &[Name]) -> String {
        let settings = self.settings.iter().map(|(name, setting, _)| match setting {
            Setting::Flag(flag) => format!("{name}={flag}"),
            Setting::Last => format!("{name}=last"),
            Setting::Integer(n) => format!("{name}={n}"),
        });
        let arguments: Vec<String> = dims.iter().map(Name::to_string).chain(settings).collect();
        format!("{}({})", self.level, arguments.join(", "))
    }
}

/// A level list, and the order of subscripts when it is given.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LevelList {
    pub dims: Option<Vec<(String, Range<usize>)>>,
    pub uses: Vec<LevelUse>,
}

/// Parses a level list; error places are byte ranges of `text`.
pub(super) fn parse_list(text: &str) -> Result<LevelList> {
    let mut p = Parser { text, at: 0 };
    let mut dims = None;
    if p.eat("[") {
        let mut names = Vec::new();
        while !p.eat("]") {
            if !names.is_empty() {
                p.expect(",")?;
            }
            names.push(p.word("the name of a dimension", is_ident)?);
        }
        dims = Some(names);
    }
    let mut uses = Vec::new();
    if dims.is_none() || !p.rest().is_empty() {
        uses.push(p.level_use()?);
        while p.eat(",") {
            uses.push(p.level_use()?);
        }
    }
    if !p.rest().is_empty() {
        return Err(p.expected("`,` or the end"));
    }
    Ok(LevelList { dims, uses })
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

fn is_ident(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Level names may be paths.
pub(super) fn is_path(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '\\' | '+' | '~' | ':')
}

impl<'a> Parser<'a> {
    /// The rest of the text without leading white space.
    fn rest(&mut self) -> &'a str {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
        rest
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len();
        }
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<()> {
        if self.eat(symbol) { Ok(()) } else { Err(self.expected(&format!("`{symbol}`"))) }
    }

    fn expected(&mut self, what: &str) -> Box<Diagnostic> {
        let found = self.rest().chars().next();
        let end = self.at + found.map_or(0, char::len_utf8);
        let shown = found.map_or("the end of the text".to_string(), |c| format!("`{c}`"));
        Diagnostic::new(Code::Syntax, format!("expected {what}, found {shown}"))
            .at(self.at..end, format!("expected {what}"))
            .help("a level is used as `NAME(i)` or `NAME(i, OPTION=false)`")
    }

    fn word(&mut self, what: &str, part: fn(char) -> bool) -> Result<(String, Range<usize>)> {
        let rest = self.rest();
        let len = rest.find(|c| !part(c)).unwrap_or(rest.len());
        if len == 0 {
            return Err(self.expected(what));
        }
        let span = self.at..self.at + len;
        self.at += len;
        Ok((rest[..len].to_string(), span))
    }

    fn level_use(&mut self) -> Result<LevelUse> {
        let (level, level_span) = self.word("the name of a level", is_path)?;
        let mut out = LevelUse {
            level,
            span: level_span.clone(),
            level_span,
            dims: Vec::new(),
            settings: Vec::new(),
        };
        self.expect("(")?;
        while !self.eat(")") {
            if !(out.dims.is_empty() && out.settings.is_empty()) {
                self.expect(",")?;
            }
            self.argument(&mut out)?;
        }
        out.span.end = self.at;
        Ok(out)
    }

    fn argument(&mut self, out: &mut LevelUse) -> Result<()> {
        if self.eat("*") {
            out.dims.push((DimRef::From(0), self.at - 1..self.at));
            return Ok(());
        }
        let (word, span) = self.word("a dimension or an option", is_ident)?;
        if self.eat("=") {
            let (value, value_span) = self.word("`true`, `false` or an integer", is_ident)?;
            let setting = match value.as_str() {
                "true" => Setting::Flag(true),
                "false" => Setting::Flag(false),
                "last" => Setting::Last,
                _ => Setting::Integer(integer(&value, value_span.clone())?),
            };
            out.settings.push((word, setting, span.start..value_span.end));
            return Ok(());
        }
        if !word.starts_with(|c: char| c.is_ascii_digit()) {
            out.dims.push((DimRef::Name(word), span));
            return Ok(());
        }
        let number = usize::try_from(integer(&word, span.clone())?).unwrap_or(usize::MAX);
        match self.eat("..") {
            true => out.dims.push((DimRef::From(number), span.start..self.at)),
            false => out.dims.push((DimRef::Number(number), span)),
        }
        Ok(())
    }
}

fn integer(word: &str, span: Range<usize>) -> Result<i64> {
    word.parse().map_err(|_| {
        Diagnostic::new(Code::Syntax, format!("`{word}` is not an integer of 64 bits"))
            .at(span, "not an integer")
            .help("options are `true`, `false` or `last`; dimensions start with a letter")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_options_and_parameters_are_told_apart() {
        let list = parse_list("[i, j] a(j, R=4), ./b.toml( i , unique = false ), c(1.., x=last)");
        let list = list.unwrap();
        let dims: Vec<_> = list.dims.unwrap().into_iter().map(|(n, _)| n).collect();
        assert_eq!(dims, ["i", "j"]);
        assert_eq!(list.uses[0].settings[0].1, Setting::Integer(4));
        assert_eq!(list.uses[1].level, "./b.toml");
        assert_eq!(list.uses[1].settings[0].1, Setting::Flag(false));
        assert_eq!(list.uses[2].dims[0].0, DimRef::From(1));
        assert_eq!(list.uses[2].settings[0].1, Setting::Last);
    }

    #[test]
    fn an_error_names_its_place() {
        for (text, at) in [("a(i", 3..3), ("a(i) b", 5..6), ("a", 1..1), ("a(i, =)", 5..6)] {
            let e = parse_list(text).unwrap_err();
            assert_eq!(e.span.unwrap().0, at, "{text}");
        }
    }
}
