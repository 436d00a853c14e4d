//! What an operator means in mathematics: arithmetic that a prover understands.
//!
//! ```text
//! term := 'if' term 'then' term 'else' term | or
//! or   := and ('or' and)*        and := not ('and' not)*      not := 'not' not | cmp
//! cmp  := sum [('=' | '!=' | '<' | '<=' | '>' | '>=') sum]
//! sum  := prod (('+' | '-') prod)*                prod := unary (('*' | '/') unary)*
//! unary := '-' unary | number | name | 'true' | 'false' | 'floor' '(' term ')' | '(' term ')'
//! ```
//! In: a text and what its names stand for. Out: a [`Term`]. `if a <= b then a else b` over the
//! integers is `If(Le(a, b), a, b)`.

use std::ops::Range;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::prover::arithmetic::{Sort, Term};

const DEEPEST: usize = 40;
const LONGEST: usize = 2000;

/// Reads a definition whose names are those of `variables`; the result has the sort `wanted`.
///
/// # Errors
/// [`Code::Operator`] with the place in `text`.
pub fn parse(text: &str, variables: &[(&str, Sort)], wanted: Sort) -> Result<Term> {
    if text.len() > LONGEST {
        return Err(Diagnostic::new(Code::Operator, "the definition is too long")
            .at(0..0, "here")
            .help("leave `definition` out: claims are then tested, not proved"));
    }
    let mut parser = Parser { tokens: tokens(text)?, at: 0, variables, depth: 0, end: text.len() };
    let start = parser.place();
    let (term, sort) = parser.term()?;
    if parser.at < parser.tokens.len() {
        return Err(parser.error("the definition ends before this"));
    }
    if (sort == Sort::Truth) != (wanted == Sort::Truth) {
        let (found, wanted) = (said(sort), said(wanted));
        return Err(Diagnostic::new(
            Code::Operator,
            format!("the definition is {found}, the result {wanted}"),
        )
        .at(start.start..text.len(), "here")
        .help("a comparison is a truth value; `if c then 1 else 0` is a number"));
    }
    Ok(term)
}

fn said(sort: Sort) -> &'static str {
    if sort == Sort::Truth { "a truth value" } else { "a number" }
}

type Typed = (Term, Sort);

fn tokens(text: &str) -> Result<Vec<(&str, Range<usize>)>> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let word = |keep: fn(char) -> bool| rest.find(|c| !keep(c)).unwrap_or(rest.len());
        let n = match c {
            c if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            c if c.is_ascii_digit() => word(|c| c.is_ascii_digit() || c == '.'),
            c if c.is_ascii_alphabetic() || c == '_' => {
                word(|c| c.is_ascii_alphanumeric() || c == '_')
            }
            _ if ["!=", "<=", ">="].iter().any(|s| rest.starts_with(s)) => 2,
            '+' | '-' | '*' | '/' | '(' | ')' | '=' | '<' | '>' => 1,
            _ => {
                return Err(Diagnostic::new(
                    Code::Operator,
                    format!("`{c}` is not part of a definition"),
                )
                .at(at..at + c.len_utf8(), "here")
                .help("definitions have + - * /, comparisons, and, or, not, if then else, floor"));
            }
        };
        out.push((&text[at..at + n], at..at + n));
        at += n;
    }
    Ok(out)
}

struct Parser<'a> {
    tokens: Vec<(&'a str, Range<usize>)>,
    at: usize,
    variables: &'a [(&'a str, Sort)],
    depth: usize,
    end: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a str {
        self.tokens.get(self.at).map_or("", |(text, _)| text)
    }

    fn place(&self) -> Range<usize> {
        self.tokens.get(self.at).map_or(self.end..self.end, |(_, place)| place.clone())
    }

    fn error(&self, message: impl Into<String>) -> Box<Diagnostic> {
        Diagnostic::new(Code::Operator, message)
            .at(self.place(), "here")
            .help("e.g. `if a <= b then a else b`")
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.peek() == text;
        self.at += usize::from(found);
        found
    }

    fn need(&mut self, text: &str) -> Result<()> {
        match self.take(text) {
            true => Ok(()),
            false => Err(self.error(format!("`{text}` is expected here"))),
        }
    }

    fn number(&self, typed: Typed) -> Result<Typed> {
        match typed.1 {
            Sort::Truth => Err(self.error("a number is needed before this, not a truth value")),
            _ => Ok(typed),
        }
    }

    fn truth(&self, typed: Typed) -> Result<Box<Term>> {
        match typed.1 {
            Sort::Truth => Ok(Box::new(typed.0)),
            _ => Err(self.error("a truth value is needed before this, not a number")),
        }
    }

    fn term(&mut self) -> Result<Typed> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error("the definition is too deeply nested"));
        }
        let out = self.alternative();
        self.depth -= 1;
        out
    }

    fn alternative(&mut self) -> Result<Typed> {
        if !self.take("if") {
            return self.or();
        }
        let condition = self.term()?;
        let condition = self.truth(condition)?;
        self.need("then")?;
        let (a, s) = self.term()?;
        self.need("else")?;
        let (b, t) = self.term()?;
        if (s == Sort::Truth) != (t == Sort::Truth) {
            return Err(self.error("one case is a number, the other a truth value"));
        }
        Ok((Term::If(condition, Box::new(a), Box::new(b)), joined(s, t)))
    }

    fn or(&mut self) -> Result<Typed> {
        let mut left = self.and()?;
        while self.take("or") {
            let right = self.and()?;
            left = (Term::Or(self.truth(left)?, self.truth(right)?), Sort::Truth);
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Typed> {
        let mut left = self.not()?;
        while self.take("and") {
            let right = self.not()?;
            left = (Term::And(self.truth(left)?, self.truth(right)?), Sort::Truth);
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Typed> {
        let mut negations = 0usize;
        while self.take("not") {
            negations += 1;
        }
        let mut inner = self.comparison()?;
        for _ in 0..negations.min(2 + negations % 2) {
            inner = (Term::Not(self.truth(inner)?), Sort::Truth);
        }
        Ok(inner)
    }

    fn comparison(&mut self) -> Result<Typed> {
        let left = self.sum()?;
        let op = self.peek();
        if !["=", "!=", "<", "<=", ">", ">="].contains(&op) {
            return Ok(left);
        }
        self.at += 1;
        let right = self.sum()?;
        if matches!(op, "=" | "!=") {
            if (left.1 == Sort::Truth) != (right.1 == Sort::Truth) {
                return Err(self.error("a number is compared with a truth value before this"));
            }
            let equal = Term::Eq(Box::new(left.0), Box::new(right.0));
            let term = if op == "=" { equal } else { Term::Not(Box::new(equal)) };
            return Ok((term, Sort::Truth));
        }
        let (a, b) = (Box::new(self.number(left)?.0), Box::new(self.number(right)?.0));
        let term = match op {
            "<" => Term::Lt(a, b),
            "<=" => Term::Le(a, b),
            ">" => Term::Lt(b, a),
            _ => Term::Le(b, a),
        };
        Ok((term, Sort::Truth))
    }

    fn sum(&mut self) -> Result<Typed> {
        let mut left = self.product()?;
        loop {
            let make = match self.peek() {
                "+" => Term::Add,
                "-" => Term::Sub,
                _ => return Ok(left),
            };
            self.at += 1;
            let right = self.product()?;
            let ((a, s), (b, t)) = (self.number(left)?, self.number(right)?);
            left = (make(Box::new(a), Box::new(b)), joined(s, t));
        }
    }

    fn product(&mut self) -> Result<Typed> {
        let mut left = self.unary()?;
        loop {
            let op = self.peek();
            if op != "*" && op != "/" {
                return Ok(left);
            }
            self.at += 1;
            let right = self.unary()?;
            let ((a, s), (b, t)) = (self.number(left)?, self.number(right)?);
            let (a, b) = (Box::new(a), Box::new(b));
            left = match op {
                "*" => (Term::Mul(a, b), joined(s, t)),
                _ => (Term::Div(a, b), Sort::Real),
            };
        }
    }

    fn unary(&mut self) -> Result<Typed> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error("the definition is too deeply nested"));
        }
        let out = self.primary();
        self.depth -= 1;
        out
    }

    fn primary(&mut self) -> Result<Typed> {
        if self.take("-") {
            let inner = self.unary()?;
            let (x, sort) = self.number(inner)?;
            return Ok((Term::Neg(Box::new(x)), sort));
        }
        if self.take("(") {
            let inner = self.term()?;
            self.need(")")?;
            return Ok(inner);
        }
        let word = self.peek();
        if let Some((_, sort)) = self.variables.iter().find(|(name, _)| *name == word) {
            self.at += 1;
            return Ok((Term::Variable(word.into(), *sort), *sort));
        }
        match word {
            "floor" => {
                self.at += 1;
                self.need("(")?;
                let inner = self.term()?;
                let (x, _) = self.number(inner)?;
                self.need(")")?;
                Ok((Term::Floor(Box::new(x)), Sort::Integer))
            }
            "true" | "false" => {
                self.at += 1;
                Ok((Term::Truth(word == "true"), Sort::Truth))
            }
            _ if word.starts_with(|c: char| c.is_ascii_digit()) => {
                if word.parse::<f64>().is_err() {
                    return Err(self.error("this is no number"));
                }
                self.at += 1;
                let sort = if word.contains('.') { Sort::Real } else { Sort::Integer };
                Ok((Term::Number(word.to_string()), sort))
            }
            "" => Err(self.error("the definition is not complete")),
            _ => {
                let names: Vec<String> =
                    self.variables.iter().map(|(n, _)| format!("`{n}`")).collect();
                Err(self
                    .error(format!("there is nothing called `{word}`"))
                    .help(format!("the arguments are {}", names.join(", "))))
            }
        }
    }
}

/// The sort of a result of arithmetic on both.
fn joined(a: Sort, b: Sort) -> Sort {
    match (a, b) {
        (Sort::Real, _) | (_, Sort::Real) => Sort::Real,
        (a, _) => a,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_read_with_the_usual_precedence() {
        let names = [("a", Sort::Integer), ("b", Sort::Integer), ("c", Sort::Truth)];
        let same = |x: &str, y: &str| {
            let wanted = if x.contains("and") { Sort::Truth } else { Sort::Integer };
            assert_eq!(parse(x, &names, wanted).unwrap(), parse(y, &names, wanted).unwrap(), "{x}");
        };
        same("a + b * a - b", "(a + (b * a)) - b");
        same("not a < b and c or c", "((not (a < b)) and c) or c");
        same("if c then a else if c then b else a", "if c then a else (if c then b else a)");
        same("- -a", "-(-a)");
    }

    #[test]
    fn wrong_definitions_are_refused_at_their_place() {
        let names = [("a", Sort::Integer), ("c", Sort::Truth)];
        let refused = |text: &str, place: Range<usize>| {
            let e = parse(text, &names, Sort::Integer).unwrap_err();
            assert_eq!(e.span.map(|(s, _)| s), Some(place), "{text}: {}", e.message);
        };
        refused("a + x", 4..5);
        refused("a +", 3..3);
        refused("a ^ 2", 2..3);
        refused("a < 1", 0..5);
        refused("a 1", 2..3);
        refused("1.2.3", 0..5);
        let deep = format!("{}a", "(".repeat(100));
        assert!(parse(&deep, &names, Sort::Integer).unwrap_err().message.contains("nested"));
        let long = format!("{}c", "not ".repeat(10_000));
        assert!(parse(&long, &names, Sort::Integer).unwrap_err().message.contains("too long"));
        let long = format!("{}c", "not ".repeat(400));
        assert!(parse(&long, &names, Sort::Integer).unwrap_err().message.contains("truth value"));
    }
}
