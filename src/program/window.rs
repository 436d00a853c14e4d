//! Windows: a part of a dimension, from one end to the other in steps, as if it were a dimension.
//!
//! ```text
//! A[(2:10)(i)]       ⟼   A[i + 2], with 8 values of i
//! A[(0:n:2)(i)]      ⟼   A[2*i], with 10 values of i                 (n = 20)
//! A[(9:-1:-1)(i)]    ⟼   A[9 - i], with 10 values of i: backwards
//! ```
//! Ends are half-open and count from 0; they are numbers, or names that are given. Without a first end a
//! window begins at 0, without a last one the tensor ends it.

use std::fmt;
use std::ops::Range;

use super::parse::{Parser, retargeted};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Name, parse as formula_parse};

const HELP: &str = "a window looks like `A[(2:10)(i)]`, or `A[(0:20:2)(i)]` in steps";

/// A subscript that is a window.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Which subscript it is.
    pub dimension: usize,
    /// The index that runs along it.
    pub index: Name,
    /// The first place.
    pub from: i64,
    /// The place before which it ends; `None`: where the tensor does.
    pub to: Option<i64>,
    /// Not 0.
    pub step: i64,
}

impl Window {
    /// The number of places; `None` if the tensor decides it.
    pub fn extent(&self) -> Option<usize> {
        let (from, to, step) = (i128::from(self.from), i128::from(self.to?), i128::from(self.step));
        let length = if step > 0 { to - from } else { from - to };
        let places = length.max(0).unsigned_abs().div_ceil(step.unsigned_abs());
        Some(usize::try_from(places).unwrap_or(usize::MAX))
    }

    /// The subscript.
    pub fn affine(&self) -> Affine {
        Affine::var(self.index.clone()) * self.step + Affine::constant(self.from)
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}:", self.from)?;
        if let Some(to) = self.to {
            write!(f, "{to}")?;
        }
        if self.step != 1 {
            write!(f, ":{}", self.step)?;
        }
        write!(f, ")({})", self.index)
    }
}

impl Parser<'_> {
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
                .help(HELP)
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
        let given = formula_parse::affine(text).map_err(|e| retargeted(e, at, HELP))?;
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
            ("(9:-1:-1)(i)", "9 - i", Some(10)),
            ("(9:0:-2)(i)", "9 - 2*i", Some(5)),
            ("(9::-3)(i)", "9 - 3*i", Some(4)),
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
