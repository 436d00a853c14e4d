//! Recursive-descent parser of index notation; the grammar is in the module's doc. Statements of a
//! tree are read in `statement.rs`, with the expressions and accesses of this file.
//!
//! Subscripts and the restriction are handed to [`crate::formula::parse`]; what comes back is
//! checked by [`Program::verify`].

use std::ops::Range;

use super::SOURCE_NAME;
use super::ir::{Access, Apply, AssignOp, Expr, Literal, Op, Program, Span, Stmt};
use super::notation::desugar;
use super::token::{Form, Token, form, is_reserved, tokenize};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Formula, Name, parse as formula_parse};

/// Longer than any sensible statement in index notation.
const MAX_LENGTH: usize = 4096;

/// Longer than any sensible tree.
const MAX_TREE: usize = 1 << 20;

/// Deeper than any sensible statement; bounds the recursion over nested parentheses and blocks.
const MAX_DEPTH: usize = 100;

/// Operators of one expression; bounds the recursion over long chains of them. As many as fit an
/// index notation of [`MAX_LENGTH`].
const MAX_OPERATORS: usize = MAX_LENGTH / 2;

const EXAMPLE: &str = "a statement looks like `y[i] += A[i,j] * x[j]`";
pub(super) const RESTRICTION_HELP: &str =
    "a restriction compares indices: `if j <= i and i < 2*j + 3`, with `and`, `or`, `not`";

impl Program {
    /// Parses and verifies a statement of index notation, or a tree of statements as it is printed.
    ///
    /// # Errors
    /// [`Code::Program`], with the place in `text`.
    pub fn parse(text: &str) -> Result<Program> {
        let form = form(text);
        let (what, most) = match form {
            Form::Notation => ("statement", MAX_LENGTH),
            Form::Tree => ("program", MAX_TREE),
        };
        if text.len() > most {
            return Err(Diagnostic::new(Code::Program, format!("{what} is too long"))
                .at(0..0, format!("{} bytes, at most {most} are read", text.len()))
                .within(SOURCE_NAME, text)
                .help("split the computation into several statements"));
        }
        let root = Parser::new(text, form)
            .and_then(|mut p| match form {
                Form::Notation => p.notation(),
                Form::Tree => p.tree(),
            })
            .map_err(|e| e.within(SOURCE_NAME, text))?;
        Program::new(root, text)
    }
}

/// What a bare name in an expression of a tree stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Binder {
    Loop,
    Let,
}

pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: Vec<(Token, Range<usize>)>,
    pub(super) at: usize,
    /// Names that enclosing statements bind; always none in index notation.
    pub(super) scope: Vec<(Name, Binder)>,
    form: Form,
    depth: usize,
    operators: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, form: Form) -> Result<Self> {
        let tokens = tokenize(text, form)?;
        Ok(Parser { text, tokens, at: 0, scope: Vec::new(), form, depth: 0, operators: 0 })
    }

    pub(super) fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    pub(super) fn peek_sym(&self) -> &'static str {
        match self.peek() {
            Token::Sym(s) => s,
            _ => "",
        }
    }

    pub(super) fn span(&self) -> Range<usize> {
        self.tokens[self.at].1.clone()
    }

    /// The end of the token before the current one.
    fn end(&self) -> usize {
        self.tokens[self.at.saturating_sub(1)].1.end
    }

    pub(super) fn eat(&mut self, sym: &str) -> bool {
        let hit = self.peek_sym() == sym;
        if hit {
            self.at += 1;
        }
        hit
    }

    fn found(&self) -> String {
        match self.peek() {
            Token::End if self.form == Form::Tree => "the end of the program".to_string(),
            Token::End => "the end of the statement".to_string(),
            _ => format!("`{}`", &self.text[self.span()]),
        }
    }

    pub(super) fn unexpected(&self, wanted: &str) -> Box<Diagnostic> {
        let message = format!("expected {wanted}, found {}", self.found());
        Diagnostic::new(Code::Program, message).at(self.span(), format!("expected {wanted}"))
    }

    fn notation(&mut self) -> Result<Stmt> {
        let output = match self.peek() {
            Token::Name(name) if Op::function(name).is_none() => self.access()?,
            _ => return Err(self.unexpected("the output tensor").help(EXAMPLE)),
        };
        let op = self.assign_op()?;
        let value = self.expression()?;
        let restriction = match self.peek() {
            Token::If => Some(self.restriction()?),
            Token::End => None,
            _ => return Err(self.unexpected_after_expression()),
        };
        Ok(desugar(output, op, value, restriction))
    }

    pub(super) fn assign_op(&mut self) -> Result<AssignOp> {
        let sym = self.peek_sym();
        if let Some(op) = AssignOp::ALL.into_iter().find(|op| op.as_str() == sym) {
            self.at += 1;
            return Ok(op);
        }
        let help = match sym {
            "==" => "write a single `=`",
            "-=" => "write `+=` and negate the right side",
            "/=" => "write `*=` and invert the right side",
            _ => "write the result first: `y[i] += A[i,j] * x[j]`",
        };
        Err(self.unexpected("an assignment (`=`, `+=`, `*=`, `min=`, `max=`)").help(help))
    }

    fn unexpected_after_expression(&self) -> Box<Diagnostic> {
        let help = match self.peek() {
            Token::Sym("]" | ")") => "remove it, or open it before",
            Token::Sym("," | "[") => "subscripts directly follow the name of a tensor: `A[i,j]`",
            Token::Sym("=" | "==" | "+=" | "-=" | "*=" | "/=" | "min=" | "max=") => {
                "a statement has one assignment; an equation belongs after `if`"
            }
            _ => "write `*` between factors",
        };
        self.unexpected("an operator, `if` or the end of the statement").help(help)
    }

    pub(super) fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Diagnostic::new(Code::Program, "expression is nested too deeply")
                .at(self.span(), format!("deeper than {MAX_DEPTH} levels"))
                .help("remove parentheses that are not needed"));
        }
        let out = f(self);
        self.depth -= 1;
        out
    }

    pub(super) fn expression(&mut self) -> Result<Expr> {
        self.operators = 0;
        self.sum()
    }

    fn sum(&mut self) -> Result<Expr> {
        let mut left = self.term()?;
        while let op @ ("+" | "-") = self.peek_sym() {
            self.operator()?;
            let op = if op == "+" { Op::Add } else { Op::Sub };
            left = Expr::binary(op, left, self.term()?);
        }
        Ok(left)
    }

    fn term(&mut self) -> Result<Expr> {
        let mut left = self.unary()?;
        while let op @ ("*" | "/") = self.peek_sym() {
            self.operator()?;
            let op = if op == "*" { Op::Mul } else { Op::Div };
            left = Expr::binary(op, left, self.unary()?);
        }
        Ok(left)
    }

    fn operator(&mut self) -> Result<()> {
        self.operators += 1;
        if self.operators > MAX_OPERATORS {
            return Err(Diagnostic::new(Code::Program, "expression is too long")
                .at(self.span(), format!("more than {MAX_OPERATORS} operators"))
                .help("split the computation into several statements"));
        }
        self.at += 1;
        Ok(())
    }

    fn unary(&mut self) -> Result<Expr> {
        if self.eat("-") {
            return Ok(Expr::negated(self.nested(Self::unary)?));
        }
        self.primary()
    }

    fn primary(&mut self) -> Result<Expr> {
        match self.peek().clone() {
            Token::Number(text) => self.literal(text).map(Expr::Literal),
            Token::Name(name) => match (Op::function(&name), self.bound(&name)) {
                (Some(op), _) => self.nested(|p| p.call(op)).map(Expr::Apply),
                (None, Some(bound)) => Ok(bound),
                (None, None) => self.access().map(Expr::Access),
            },
            Token::Sym("(") => {
                let open = self.span();
                self.at += 1;
                let inner = self.nested(Self::sum)?;
                if !self.eat(")") {
                    return Err(self.unclosed("(", open));
                }
                Ok(inner)
            }
            _ => Err(self.unexpected("a tensor or a number").help(EXAMPLE)),
        }
    }

    /// The index or value that `name` stands for here, unless it is a tensor.
    fn bound(&mut self, name: &str) -> Option<Expr> {
        let (name, binder) = self.scope.iter().rfind(|(n, _)| **n == *name)?.clone();
        if matches!(self.tokens[self.at + 1].0, Token::Sym("[" | "(")) || is_reserved(&name) {
            return None;
        }
        let span = Span(self.span());
        self.at += 1;
        Some(match binder {
            Binder::Loop => Expr::Index(name, span),
            Binder::Let => Expr::Name(name, span),
        })
    }

    pub(super) fn unclosed(&self, bracket: &str, open: Range<usize>) -> Box<Diagnostic> {
        let close = if bracket == "(" { ")" } else { "]" };
        Diagnostic::new(Code::Program, format!("`{bracket}` is not closed"))
            .at(open, format!("no `{close}` before {}", self.found()))
            .help(format!("insert `{close}`"))
    }

    pub(super) fn literal(&mut self, text: String) -> Result<Literal> {
        let span = self.span();
        let value = text.parse().ok().filter(|v: &f64| v.is_finite()).ok_or_else(|| {
            Diagnostic::new(Code::Program, format!("number `{text}` does not fit 64 bits"))
                .at(span.clone(), "too large")
                .help("pass it as a scalar tensor")
        })?;
        self.at += 1;
        Ok(Literal { value, text, span })
    }

    fn call(&mut self, op: Op) -> Result<Apply> {
        let function = op.as_str();
        let start = self.span().start;
        self.at += 1;
        let open = self.span();
        if !self.eat("(") {
            return Err(Diagnostic::new(
                Code::Program,
                format!("`{function}` is a function, not a tensor"),
            )
            .at(start..start + function.len(), "needs arguments in parentheses")
            .help(format!("write `{function}(a, b)`, or rename the tensor")));
        }
        let mut args = Vec::new();
        if self.peek_sym() != ")" {
            loop {
                args.push(self.sum()?);
                if !self.eat(",") {
                    break;
                }
            }
        }
        if !self.eat(")") {
            return Err(self.unclosed("(", open));
        }
        let span = start..self.end();
        if args.len() < 2 {
            return Err(Diagnostic::new(
                Code::Program,
                format!("`{function}` takes at least 2 arguments"),
            )
            .at(span, format!("{} given", args.len()))
            .help(format!("write `{function}(a, b)`")));
        }
        Ok(Apply { op, args, span: Span(span) })
    }

    /// A tensor's name, with or without subscripts.
    pub(super) fn access(&mut self) -> Result<Access> {
        let Token::Name(tensor) = self.peek().clone() else {
            return Err(self.unexpected("a tensor"));
        };
        let name_span = self.span();
        if is_reserved(&tensor) {
            return Err(Diagnostic::new(Code::Program, format!("`{tensor}` is a reserved word"))
                .at(name_span, "not a name")
                .help("rename the tensor"));
        }
        self.at += 1;
        let subscripts = match self.peek_sym() {
            bracket @ ("[" | "(") => self.subscripts(&tensor, bracket)?,
            _ => Vec::new(),
        };
        let span = name_span.start..self.end();
        Ok(Access { tensor: Name::from(tensor), subscripts, span })
    }

    fn restriction(&mut self) -> Result<(Formula, Span)> {
        let word = self.span();
        if self.text[word.end..].trim().is_empty() {
            return Err(Diagnostic::new(Code::Program, "`if` without a restriction")
                .at(word, "a comparison of indices must follow")
                .help(RESTRICTION_HELP));
        }
        self.formula(word.end..self.text.len())
    }

    /// What stands at `place`, read as a formula.
    pub(super) fn formula(&self, place: Range<usize>) -> Result<(Formula, Span)> {
        let formula = formula_parse::formula(&self.text[place.clone()])
            .map(simplified)
            .map_err(|e| retargeted(e, place.start, RESTRICTION_HELP))?;
        Ok((formula, Span(place)))
    }
}

/// Folds comparisons of constants, so that a restriction prints as it reads back.
fn simplified(formula: Formula) -> Formula {
    match formula {
        Formula::Constraint(c) => Formula::and([Formula::Constraint(c)]),
        Formula::And(parts) => Formula::and(parts.into_iter().map(simplified)),
        Formula::Or(parts) => Formula::or(parts.into_iter().map(simplified)),
        Formula::Not(inner) => simplified(*inner).not(),
        Formula::Implies(a, b) => simplified(*a).implies(simplified(*b)),
        predicate @ Formula::Predicate(..) => predicate,
    }
}

/// A diagnostic of the formula language as one of this stage: the parsed text began at `offset`.
pub(super) fn retargeted(mut e: Box<Diagnostic>, offset: usize, help: &str) -> Box<Diagnostic> {
    e.code = Code::Program;
    e.shifted(offset).help(help)
}

#[cfg(test)]
mod tests;
