//! Parsing the subscripts of an access: brackets, commas and windows here, linear forms by
//! [`crate::formula::parse`].

use std::ops::Range;

use super::parse::{Parser, retargeted};
use super::token::Token;
use super::window::Window;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Atom, Name, parse as formula_parse};

const WINDOW: &str = "a window looks like `A[(2:10)(i)]`, or `A[(0:20:2)(i)]` in steps";

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
                Token::Sym("[") if bracket == "(" && depth == 0 => {
                    return Err(self.no_operator(tensor, open));
                }
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

    /// What looks like a function of tensors: the list of operators helps.
    fn no_operator(&self, name: &str, open: Range<usize>) -> Box<Diagnostic> {
        let place = open.start - name.len().min(open.start)..open.start;
        match self.operator(name) {
            Err(mut e) => {
                e.code = Code::Program;
                e.at(place, "not an operator")
            }
            Ok(_) => self.nested_access(name),
        }
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

    /// The window that a subscript is, if it is one.
    pub(super) fn window(&self, dimension: usize, piece: Range<usize>) -> Result<Option<Window>> {
        let text = &self.text[piece.clone()];
        let start = piece.start + (text.len() - text.trim_start().len());
        let text = text.trim();
        let (Some(inner), Some(close)) = (text.strip_prefix('('), closing(text)) else {
            return Ok(None);
        };
        let ends = &inner[..close - 1];
        if !ends.contains(':') {
            return Ok(None);
        }
        let place = start..start + text.len();
        let wrong = |what: &str| {
            Diagnostic::new(Code::Program, what.to_string())
                .at(place.clone(), "this window")
                .help(WINDOW)
        };
        let behind = text[close + 1..].trim();
        let index = behind.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).map(str::trim);
        let index = index.and_then(|index| formula_parse::affine(index).ok());
        let Some(index) = index.as_ref().and_then(Affine::as_var) else {
            return Err(wrong("a window has an index behind it, in parentheses"));
        };
        if self.is_tree() {
            return Err(wrong("a tree has no windows").help("say how often its loop runs: `in 8`"));
        }
        let mut numbers: Vec<Option<i64>> = Vec::new();
        let mut at = start + 1;
        for part in ends.split(':') {
            numbers.push(match part.trim() {
                "" => None,
                _ => Some(self.end_of_window(part, at)?),
            });
            at += part.len() + 1;
        }
        let (from, to, step) = match numbers[..] {
            [from, to] => (from, to, 1),
            [from, to, step] => (from, to, step.unwrap_or(1)),
            _ => return Err(wrong("a window has two ends and perhaps a step")),
        };
        let from = match (from, step) {
            (_, 0) => return Err(wrong("the step of a window is 0")),
            (Some(from), _) if from < 0 => {
                return Err(wrong(&format!("the window begins at {from}, places count from 0")));
            }
            (Some(from), _) => from,
            (None, step) if step > 0 => 0,
            (None, _) => return Err(wrong("a window that runs backwards says where it begins")),
        };
        // Backwards, it ends behind the first place of all.
        let to = if step < 0 { to.or(Some(-1)) } else { to };
        Ok(Some(Window { dimension, index: index.clone(), from, to, step }))
    }

    /// A number, or a sum of numbers and names that are given.
    fn end_of_window(&self, text: &str, at: usize) -> Result<i64> {
        let given = formula_parse::affine(text).map_err(|e| retargeted(e, at, WINDOW))?;
        let known = |n: &Name| self.given(n).map(Affine::constant);
        let value = given.substitute(&known);
        value.as_constant().ok_or_else(|| {
            let mut unknown = None;
            value.visit_vars(&mut |n| {
                unknown.get_or_insert(n.clone());
            });
            let name = unknown.unwrap_or(Name::from("n"));
            Diagnostic::new(Code::Program, format!("nothing is known of `{name}`"))
                .at(at..at + text.len(), "an end of a window is a number")
                .help(format!("give it: `-p {name}=10`"))
        })
    }
}

/// Where the parenthesis that a text begins with is closed.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::*;
    use crate::operators::Operators;
    use crate::program::{Language, Program};

    fn parse(text: &str) -> Result<Program> {
        let parameters = IndexMap::from([(Name::from("n"), 5), (Name::from("m"), -3)]);
        let language = Language { operators: Operators::shipped()?, parameters: &parameters };
        Program::parse_with(text, &language)
    }

    #[test]
    fn a_window_is_a_subscript_and_an_extent() {
        for (text, subscript, extent) in [
            ("(2:10)(i)", "i + 2", Some(8)),
            ("( 0 : 20 : 2 ) ( i )", "2*i", Some(10)),
            ("(1:20:3)(i)", "3*i + 1", Some(7)),
            ("(9:-1:-1)(i)", "-i + 9", Some(10)),
            ("(9:0:-2)(i)", "-2*i + 9", Some(5)),
            ("(9::-3)(i)", "-3*i + 9", Some(4)),
            ("(:n)(i)", "i", Some(5)),
            ("(n - 1:2*n + m)(i)", "i + 4", Some(3)),
            ("(4:2)(i)", "i + 4", Some(0)),
            ("(3:)(i)", "i + 3", None),
        ] {
            let program = parse(&format!("y[i] = A[{text},j]")).unwrap_or_else(|e| panic!("{e}"));
            let access = program.accesses()[0].clone();
            assert_eq!(access.subscripts[0].to_string(), subscript, "{text}");
            assert_eq!(program.loops()[0].extent, extent, "{text}");
            assert!(program.assignment().is_ok(), "{text}");
            let shown = program.to_string();
            let again = parse(&shown).unwrap_or_else(|e| panic!("{shown}: {e}"));
            assert_eq!((again.to_string(), &again), (shown, &program), "{text}");
        }
    }

    #[test]
    fn what_is_no_window_is_refused_in_its_place() {
        for (text, message, at) in [
            ("y[i] = A[(2:4)]", "a window has an index behind it, in parentheses", "(2:4)"),
            (
                "y[i] = A[(2:4)(i + j)]",
                "a window has an index behind it, in parentheses",
                "(2:4)(i + j)",
            ),
            ("y[i] = A[(2:4:0)(i)]", "the step of a window is 0", "(2:4:0)(i)"),
            ("y[i] = A[(-2:4)(i)]", "the window begins at -2, places count from 0", "(-2:4)(i)"),
            (
                "y[i] = A[(:4:-1)(i)]",
                "a window that runs backwards says where it begins",
                "(:4:-1)(i)",
            ),
            ("y[i] = A[(1:2:3:4)(i)]", "a window has two ends and perhaps a step", "(1:2:3:4)(i)"),
            ("y[i] = A[(2:k)(i)]", "nothing is known of `k`", "k"),
            ("y[i] = A[(2:4)(i)] * B[(2:5)(i)]", "`i` has 2 and 3 values", "B[(2:5)(i)]"),
            ("forall i { y[i] += A[(2:4)(i)] }", "a tree has no windows", "(2:4)(i)"),
        ] {
            let e = parse(text).expect_err(text);
            assert_eq!((e.code, e.message.as_str()), (Code::Program, message), "{text}");
            assert_eq!(&text[e.span.clone().unwrap().0], at, "{text}");
            assert!(e.help.is_some(), "{text}");
        }
    }
}
