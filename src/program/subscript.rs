//! Parsing the subscripts of an access: brackets and commas here, linear forms by
//! [`crate::formula::parse`].

use std::ops::Range;

use super::parse::{Parser, retargeted};
use super::token::Token;
use super::window::Window;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Atom, parse as formula_parse};

impl Parser<'_> {
    /// Finds the brackets and commas, and has each piece parsed as a linear form.
    pub(super) fn subscripts(
        &mut self,
        tensor: &str,
        bracket: &str,
    ) -> Result<(Vec<Affine>, Vec<Window>)> {
        let open = self.span();
        self.at += 1;
        let mut pieces = Vec::new();
        let mut start = open.end;
        let mut depth = 0_usize;
        loop {
            let span = self.span();
            match self.peek() {
                Token::Sym("[") => return Err(self.nested_access(tensor)),
                Token::Sym("(") => depth += 1,
                Token::Sym(")") if depth > 0 => depth -= 1,
                Token::Sym("," | "]" | ")") if depth == 0 => {
                    let sym = self.peek_sym();
                    pieces.push(start..span.start);
                    start = span.end;
                    if sym != "," {
                        if (sym == "]") != (bracket == "[") {
                            return Err(self.unclosed(bracket, open));
                        }
                        break;
                    }
                }
                Token::Sym("," | "+" | "-" | "*" | "/" | ":")
                | Token::Name(_)
                | Token::Number(_) => {}
                _ => return Err(self.unclosed(bracket, open)),
            }
            self.at += 1;
        }
        self.at += 1;
        // `a[]`: no subscript at all, rather than one that is empty.
        if let [only] = pieces.as_slice()
            && self.text[only.clone()].trim().is_empty()
        {
            return Ok((Vec::new(), Vec::new()));
        }
        let (mut subscripts, mut windows) = (Vec::new(), Vec::new());
        for (dimension, piece) in pieces.into_iter().enumerate() {
            match self.window(dimension, piece.clone())? {
                None => subscripts.push(self.subscript(tensor, piece)?),
                Some(window) => {
                    subscripts.push(window.affine());
                    windows.push(window);
                }
            }
        }
        Ok((subscripts, windows))
    }

    fn nested_access(&self, tensor: &str) -> Box<Diagnostic> {
        let (start, what) = match &self.tokens[self.at - 1] {
            (Token::Name(inner), span) => (span.start, format!("`{inner}`")),
            (_, span) => (span.end, "a bracket".to_string()),
        };
        Diagnostic::new(Code::Program, format!("a subscript of `{tensor}` reads {what}"))
            .at(start..self.span().end, "not an index")
            .help("subscripts are sums of indices: gather with an index instead, e.g. `B[i,k] * x[k]`")
    }

    fn subscript(&self, tensor: &str, piece: Range<usize>) -> Result<Affine> {
        let text = &self.text[piece.clone()];
        if text.trim().is_empty() {
            // Point at something visible: the punctuation on either side.
            let around = piece.start.saturating_sub(1)..piece.end + 1;
            return Err(Diagnostic::new(
                Code::Program,
                format!("a subscript of `{tensor}` is empty"),
            )
            .at(around, "nothing between these")
            .help("write one index per dimension"));
        }
        let help = "a subscript is a sum of indices, constant multiples of them and a constant: `2*i + j - 1`";
        let affine = formula_parse::affine(text).map_err(|e| {
            retargeted(e, piece.start, help).note(format!("in a subscript of `{tensor}`"))
        })?;
        // Trimmed: the place of the whole subscript.
        let start = piece.start + (text.len() - text.trim_start().len());
        let span = start..start + text.trim().len();
        let refused = |why: &str| {
            Diagnostic::new(Code::Program, format!("a subscript of `{tensor}` {why}"))
                .at(span.clone(), "not a sum of indices")
                .help(help)
        };
        if affine.has_calls() {
            return Err(refused("calls something"));
        }
        if affine.terms().iter().any(|(atom, _)| matches!(atom, Atom::Floor(..))) {
            return Err(refused("divides").note(
                "say it the other way round: give the quotient a name `q` and restrict it, e.g. \
                 `if q = floor(i/2)`",
            ));
        }
        Ok(affine)
    }
}
