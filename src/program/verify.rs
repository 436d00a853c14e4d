//! What a statement must satisfy beyond its grammar.

use std::ops::Range;

use super::SOURCE_NAME;
use super::ir::{Access, Expr, Program};
use super::parse::is_reserved;
use super::token::{continues_name, starts_name, words};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Atom, Formula};

impl Program {
    /// Checks the IR's invariants:
    /// names are identifiers and none is both a tensor and an index; a tensor has one rank; the
    /// output is not read; subscripts are linear in indices; the restriction mentions only indices
    /// of the statement and calls nothing; literals are finite and carry no sign.
    ///
    /// # Errors
    /// [`Code::Program`], with the place in [`Program::text`].
    pub fn verify(&self) -> Result<()> {
        self.verify_parts().map_err(|e| e.within(SOURCE_NAME, &self.text))
    }

    fn verify_parts(&self) -> Result<()> {
        for access in self.all_accesses() {
            verify_name(&access.tensor, access.name_span())?;
            for subscript in &access.subscripts {
                if subscript.terms().iter().any(|(atom, _)| !matches!(atom, Atom::Var(_))) {
                    return Err(wrong("subscript is not a sum of indices", access.span.clone())
                        .help("use only sums and constant multiples of indices"));
                }
            }
            let mut names = Ok(());
            access.visit_indices(&mut |index| {
                if names.is_ok() {
                    names = verify_name(index, self.place_of_index(access, index));
                }
            });
            names?;
        }
        self.verify_roles()?;
        self.verify_ranks()?;
        self.verify_output()?;
        self.verify_literals()?;
        match &self.restriction {
            Some(restriction) => self.verify_restriction(restriction),
            None => Ok(()),
        }
    }

    /// The place of the first occurrence of `index` in the subscripts of `access`.
    fn place_of_index(&self, access: &Access, index: &str) -> Range<usize> {
        words(&self.text, access.name_span().end)
            .into_iter()
            .find(|(word, span)| *word == index && span.end <= access.span.end)
            .map_or(access.span.clone(), |(_, span)| span)
    }

    fn verify_roles(&self) -> Result<()> {
        let accesses = self.all_accesses();
        for user in &accesses {
            let Some(named) = accesses.iter().find(|a| user.mentions(&a.tensor)) else { continue };
            let name = &named.tensor;
            let message = format!("`{name}` is both a tensor and an index");
            return Err(wrong(message, self.place_of_index(user, name))
                .note(format!("`{named}` uses it as a tensor, `{user}` as an index"))
                .help("give one of the two another name"));
        }
        Ok(())
    }

    fn verify_ranks(&self) -> Result<()> {
        let accesses = self.all_accesses();
        for (k, access) in accesses.iter().enumerate() {
            let other = accesses[..k]
                .iter()
                .find(|a| a.tensor == access.tensor && a.rank() != access.rank());
            if let Some(other) = other {
                let message = format!(
                    "`{}` has {} and {} subscripts",
                    access.tensor,
                    other.rank(),
                    access.rank()
                );
                return Err(wrong(message, access.span.clone())
                    .note(format!("it first occurs as `{other}`"))
                    .help("a tensor has one subscript per dimension, everywhere"));
            }
        }
        Ok(())
    }

    fn verify_output(&self) -> Result<()> {
        let name = &self.output.tensor;
        match self.accesses().into_iter().find(|a| a.tensor == *name) {
            Some(read) => Err(wrong(format!("output `{name}` is also read"), read.span.clone())
                .help(format!(
                    "give the output another name; `{name}[…] += …` already adds to `{name}`"
                ))),
            None => Ok(()),
        }
    }

    fn verify_literals(&self) -> Result<()> {
        let mut out = Ok(());
        self.rhs.visit(&mut |e| {
            if let Expr::Literal(literal) = e
                && !(literal.value.is_finite() && literal.value.is_sign_positive())
                && out.is_ok()
            {
                out = Err(wrong("literal is negative or not finite", literal.span.clone())
                    .help("negate it with a minus"));
            }
        });
        out
    }

    fn verify_restriction(&self, restriction: &Formula) -> Result<()> {
        // The restriction is the last part of the text, after everything else.
        let from = self.rhs.span().end;
        let words = words(&self.text, from);
        let keyword = words.iter().position(|(word, _)| *word == "if").map_or(0, |k| k + 1);
        let place = |name: &str| {
            words[keyword..]
                .iter()
                .find(|(word, _)| *word == name)
                .map_or(from..self.text.len().max(from), |(_, span)| span.clone())
        };
        let mut called = predicate(restriction);
        restriction.visit_calls(&mut |call| {
            called.get_or_insert(call.array.to_string());
        });
        if let Some(called) = called {
            return Err(wrong(format!("the restriction reads `{called}`"), place(&called))
                .help("a restriction compares indices only: multiply by a mask tensor instead"));
        }
        let indices = self.indices();
        // The first in the text: the canonical form has another order.
        let unknown = restriction.free_vars().into_iter().filter(|v| !indices.contains(v));
        match unknown.min_by_key(|v| place(v).start) {
            Some(unknown) => {
                let message =
                    format!("the restriction mentions `{unknown}`, which is not an index");
                Err(wrong(message, place(&unknown)).help(format!(
                    "an index of the statement is a subscript of a tensor: {}",
                    list(indices.iter().map(|i| &**i))
                )))
            }
            None => Ok(()),
        }
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|n| format!("`{n}`")).collect();
    if names.is_empty() { "here there is none".to_string() } else { names.join(", ") }
}

/// The name of the first predicate in a formula.
fn predicate(formula: &Formula) -> Option<String> {
    match formula {
        Formula::Constraint(_) => None,
        Formula::And(parts) | Formula::Or(parts) => parts.iter().find_map(predicate),
        Formula::Not(inner) => predicate(inner),
        Formula::Implies(a, b) => predicate(a).or_else(|| predicate(b)),
        Formula::Predicate(name, _) => Some(name.to_string()),
    }
}

fn verify_name(name: &str, span: Range<usize>) -> Result<()> {
    let identifier = name.starts_with(starts_name) && name.chars().all(continues_name);
    if identifier && !is_reserved(name) && name != "_" {
        return Ok(());
    }
    let why = if is_reserved(name) { "a reserved word" } else { "not an identifier" };
    Err(wrong(format!("`{name}` is {why}"), span)
        .help("a name is a letter or `_`, then letters, digits and `_`"))
}

fn wrong(message: impl Into<String>, span: Range<usize>) -> Box<Diagnostic> {
    Diagnostic::new(Code::Program, message).at(span, "here")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_broken_invariant_is_refused_in_its_place() {
        for (text, message, at) in [
            ("y[i] = y[i] * x[i]", "output `y` is also read", 7..11),
            ("y[i] = x[i] + i", "`i` is both a tensor and an index", 2..3),
            ("y[i] = x[i] * A[2*i + x,i]", "`x` is both a tensor and an index", 22..23),
            ("y[y] = x[i]", "`y` is both a tensor and an index", 2..3),
            ("y[i] = x[i] * x[i,j]", "`x` has 1 and 2 subscripts", 14..20),
            ("y[i] = x[i] * x", "`x` has 1 and 0 subscripts", 14..15),
            ("y[ceil] = x[ceil]", "`ceil` is a reserved word", 2..6),
            ("y[_] = x[_]", "`_` is not an identifier", 2..3),
            (
                "y[i] = x[i] if j < i + ii",
                "the restriction mentions `j`, which is not an index",
                15..16,
            ),
            (
                "y[i] = x[i] if i < ii + N",
                "the restriction mentions `ii`, which is not an index",
                19..21,
            ),
            ("y[i] = x[i] if i < x(i)", "the restriction reads `x`", 19..20),
            ("y[i] = x[i] if i < 3 and on(i)", "the restriction reads `on`", 25..27),
            ("y[i] = x[i] if i < α", "the restriction mentions `α`, which is not an index", 19..21),
        ] {
            let e = Program::parse(text).unwrap_err();
            assert_eq!((e.code, e.message.as_str()), (Code::Program, message), "{text}");
            assert_eq!(e.span.as_ref().unwrap().0, at, "{text}");
            assert!(e.help.is_some(), "{text}");
            assert_eq!(e.source.as_ref().unwrap().name, SOURCE_NAME);
        }
    }

    #[test]
    fn a_hand_made_program_is_verified_too() {
        let mut program = Program::parse("y[i] = x[i]").unwrap();
        program.output.subscripts[0] = program.output.subscripts[0].clone().floor_div(2);
        assert_eq!(program.verify().unwrap_err().message, "subscript is not a sum of indices");
        let mut program = Program::parse("y[i] = 2").unwrap();
        if let Expr::Literal(literal) = &mut program.rhs {
            literal.value = -2.0;
        }
        assert_eq!(program.verify().unwrap_err().message, "literal is negative or not finite");
    }
}
