//! Recursive-descent parser of index notation; the grammar is in the module's doc. Statements of a
//! tree are read in `statement.rs`, with the expressions and accesses of this file.
//!
//! Subscripts and the restriction are handed to [`crate::formula::parse`]; what comes back is
//! checked by [`Program::verify`].

use std::ops::Range;
use std::sync::Arc;

use indexmap::IndexMap;

use super::SOURCE_NAME;
use super::ir::{Access, Apply, AssignOp, Expr, Literal, Program, Span, Stmt};
use super::sequence::sequence;
use super::sugar::Statement;
use super::token::{Form, Token, WORDS, form, is_reserved, tokenize};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Formula, Name, parse as formula_parse};
use crate::operators::symbols::{COMPARISON, TERM, strength};
use crate::operators::{Operator, Operators};

/// Longer than any sensible statement in index notation, in bytes.
pub(super) const MAX_LENGTH: usize = 4096;

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

/// What words of a text mean that the grammar does not know.
#[derive(Clone, Copy, Debug)]
pub struct Language<'a> {
    /// By name and by symbol.
    pub operators: &'a Operators,
    /// Numbers by name, for the ends of windows.
    pub parameters: &'a IndexMap<Name, i64>,
}

impl Program {
    /// Parses and verifies a statement of index notation, or a tree of statements as it is printed.
    ///
    /// # Errors
    /// [`Code::Program`], with the place in `text`.
    pub fn parse(text: &str) -> Result<Program> {
        let parameters = IndexMap::new();
        Program::parse_with(
            text,
            &Language { operators: Operators::shipped()?, parameters: &parameters },
        )
    }

    /// [`Program::parse`] in a language of the caller's choice.
    ///
    /// # Errors
    /// Those of [`Program::parse`].
    pub fn parse_with(text: &str, language: &Language<'_>) -> Result<Program> {
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
        let root = Parser::new(text, form, *language)
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
    operators: &'a Operators,
    parameters: &'a IndexMap<Name, i64>,
    depth: usize,
    /// Operators of the expression at hand.
    used: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, form: Form, language: Language<'a>) -> Result<Self> {
        Ok(Parser {
            text,
            tokens: tokenize(text, form)?,
            at: 0,
            scope: Vec::new(),
            form,
            operators: language.operators,
            parameters: language.parameters,
            depth: 0,
            used: 0,
        })
    }

    pub(super) fn is_tree(&self) -> bool {
        self.form == Form::Tree
    }

    pub(super) fn operator(&self, name: &str) -> Result<&'a Arc<Operator>> {
        self.operators.named(name)
    }

    /// The number that a name is given.
    pub(super) fn given(&self, name: &str) -> Option<i64> {
        self.parameters.get(name).copied()
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

    /// Statements with `;` between them; the last may end in one.
    fn notation(&mut self) -> Result<Stmt> {
        let mut statements = Vec::new();
        loop {
            statements.push(self.assignment()?);
            if self.peek_sym() != ";" {
                break;
            }
            self.at += 1;
            if *self.peek() == Token::End {
                break;
            }
        }
        sequence(statements)
    }

    fn assignment(&mut self) -> Result<Statement> {
        let output = match self.peek() {
            Token::Name(name) if !is_reserved(name) => self.access()?,
            _ => return Err(self.unexpected("the output tensor").help(EXAMPLE)),
        };
        let subtracts = self.peek_sym() == "-=";
        let mut op = self.assign_op()?;
        let mut value = self.expression()?;
        if let (true, Some(sum), Some(minus)) =
            (subtracts, self.operators.infix("+"), self.operators.prefix("-"))
        {
            // What is taken away in any order is the sum of what is opposite.
            let span = Span(value.span());
            op = AssignOp::Combine(sum.clone());
            value = Expr::Apply(Apply { op: minus.clone(), args: vec![value], span });
        }
        let restriction = match self.peek() {
            Token::If => Some(self.restriction()?),
            Token::End | Token::Sym(";") => None,
            _ => return Err(self.unexpected_after_expression()),
        };
        let mut indices: Vec<Name> = Vec::new();
        for access in std::iter::once(&output).chain(value.accesses()) {
            access.visit_indices(&mut |index| indices.push(index.clone()));
        }
        name_indices(&mut value, &indices);
        Ok(Statement { output, op, value, restriction })
    }

    pub(super) fn assign_op(&mut self) -> Result<AssignOp> {
        let op = match (self.peek().clone(), self.tokens.get(self.at + 1)) {
            (Token::Sym("="), _) => {
                self.at += 1;
                return Ok(AssignOp::Assign);
            }
            (Token::Sym(sym @ ("+=" | "-=" | "*=" | "/=")), _) => {
                self.operators.infix(&sym[..1]).cloned()
            }
            (Token::Name(name), Some((Token::Sym("="), _))) => {
                let op = self.operators.named(&name);
                self.at += 1;
                Some(op.map_err(|e| misnamed(e, self.tokens[self.at - 1].1.clone()))?.clone())
            }
            _ => None,
        };
        let Some(op) = op else {
            let help = match self.peek_sym() {
                "==" => "write a single `=`",
                _ => "write the result first: `y[i] += A[i,j] * x[j]`",
            };
            return Err(self
                .unexpected("an assignment (`=`, `+=`, `*=`, `min=`, `max=`)")
                .help(help));
        };
        if op.arity() != 2 {
            let message = format!("`{}` has {} argument(s)", op.name(), op.arity());
            return Err(Diagnostic::new(Code::Program, message)
                .at(self.span(), "combines an element with a value")
                .help("use an operator of two arguments"));
        }
        self.at += 1;
        Ok(AssignOp::Combine(op))
    }

    fn unexpected_after_expression(&self) -> Box<Diagnostic> {
        let help = match self.peek() {
            Token::Sym("]" | ")") => "remove it, or open it before",
            Token::Sym("," | "[") => "subscripts directly follow the name of a tensor: `A[i,j]`",
            Token::Sym("==" | "!=" | "<" | "<=" | ">" | ">=") => {
                "comparisons stand in no chain: write parentheses, or `and(a < b, b < c)`"
            }
            Token::Sym("=" | "+=" | "-=" | "*=" | "/=") => {
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
        self.used = 0;
        self.binary(COMPARISON)
    }

    /// An expression that is a part of another.
    pub(super) fn operand(&mut self) -> Result<Expr> {
        self.binary(COMPARISON)
    }

    /// An expression whose operators bind at least so strongly.
    fn binary(&mut self, own: u8) -> Result<Expr> {
        let inner = |p: &mut Self| match own {
            TERM => p.unary(),
            _ => p.binary(own + 1),
        };
        let mut left = inner(self)?;
        while strength(self.peek_sym()) == Some(own) {
            let symbol = self.peek_sym();
            let op = self.operators.infix(symbol).cloned();
            let op = op.ok_or_else(|| self.unexpected("an operator").help(EXAMPLE))?;
            self.count()?;
            left = Expr::binary(&op, left, inner(self)?);
            if own == COMPARISON {
                break;
            }
        }
        Ok(left)
    }

    /// Takes an operator's token.
    fn count(&mut self) -> Result<()> {
        self.used += 1;
        if self.used > MAX_OPERATORS {
            return Err(Diagnostic::new(Code::Program, "expression is too long")
                .at(self.span(), format!("more than {MAX_OPERATORS} operators"))
                .help("split the computation into several statements"));
        }
        self.at += 1;
        Ok(())
    }

    fn unary(&mut self) -> Result<Expr> {
        let start = self.span();
        if !self.eat("-") {
            return self.primary();
        }
        let Some(op) = self.operators.prefix("-").cloned() else {
            return Err(self.unexpected("a tensor or a number").help(EXAMPLE));
        };
        let arg = self.nested(Self::unary)?;
        let span = Span(start.start..arg.span().end);
        Ok(Expr::Apply(Apply { op, args: vec![arg], span }))
    }

    fn primary(&mut self) -> Result<Expr> {
        match self.peek().clone() {
            Token::Number(text) => self.literal(text).map(Expr::Literal),
            Token::Name(word) if WORDS.contains(&word.as_str()) => {
                self.literal(word).map(Expr::Literal)
            }
            Token::Name(name) => {
                let called = self.tokens[self.at + 1].0 == Token::Sym("(");
                if name == "within" && called {
                    return self.within();
                }
                match (self.operators.named(&name), self.bound(&name)) {
                    (_, Some(bound)) => Ok(bound),
                    (Ok(op), None) if called => {
                        let op = op.clone();
                        self.nested(|p| p.call(&op)).map(Expr::Apply)
                    }
                    (Ok(_), None) if is_reserved(&name) => Err(self.no_call(&name)),
                    _ => self.access().map(Expr::Access),
                }
            }
            Token::Sym("(") => {
                let open = self.span();
                self.at += 1;
                let inner = self.nested(|p| p.binary(COMPARISON))?;
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
        let literal = Literal { text, span };
        if !literal.is_finite() && !WORDS.contains(&literal.text.as_str()) {
            let message = format!("number `{literal}` does not fit 64 bits");
            return Err(Diagnostic::new(Code::Program, message)
                .at(literal.span, "too large")
                .help("write `inf`, or pass it as a scalar tensor"));
        }
        self.at += 1;
        Ok(literal)
    }

    fn no_call(&self, name: &str) -> Box<Diagnostic> {
        Diagnostic::new(Code::Program, format!("`{name}` is a function, not a tensor"))
            .at(self.span(), "needs arguments in parentheses")
            .help(format!("write `{name}(a, b)`, or rename the tensor"))
    }

    fn call(&mut self, op: &Arc<Operator>) -> Result<Apply> {
        let start = self.span().start;
        self.at += 1;
        let open = self.span();
        self.at += 1;
        let mut args = Vec::new();
        if self.peek_sym() != ")" {
            loop {
                args.push(self.binary(COMPARISON)?);
                if !self.eat(",") {
                    break;
                }
            }
        }
        if !self.eat(")") {
            return Err(self.unclosed("(", open));
        }
        let span = start..self.end();
        op.accepts(args.len()).map_err(|e| misnamed(e, span.clone()))?;
        Ok(Apply { op: op.clone(), args, span: Span(span) })
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
        let (subscripts, windows) = match self.peek_sym() {
            bracket @ ("[" | "(") => self.subscripts(&tensor, bracket)?,
            _ => (Vec::new(), Vec::new()),
        };
        let span = name_span.start..self.end();
        Ok(Access { tensor: Name::from(tensor), subscripts, windows, span })
    }

    /// What stands between the word `if` and the end of the statement.
    fn restriction(&mut self) -> Result<(Formula, Span)> {
        let word = self.span();
        self.at += 1;
        let end = self.span().start;
        if self.text[word.end..end].trim().is_empty() {
            return Err(Diagnostic::new(Code::Program, "`if` without a restriction")
                .at(word, "a comparison of indices must follow")
                .help(RESTRICTION_HELP));
        }
        self.formula(word.end..end)
    }

    /// What stands at `place`, read as a formula.
    pub(super) fn formula(&self, place: Range<usize>) -> Result<(Formula, Span)> {
        let formula = formula_parse::formula(&self.text[place.clone()])
            .map(simplified)
            .map_err(|e| retargeted(e, place.start, RESTRICTION_HELP))?;
        Ok((formula, Span(place)))
    }
}

/// Bare names that are subscripts elsewhere stand for the values of their indices.
fn name_indices(value: &mut Expr, indices: &[Name]) {
    match value {
        Expr::Access(a) if a.span.len() == a.tensor.len() && indices.contains(&a.tensor) => {
            *value = Expr::Index(a.tensor.clone(), Span(a.span.clone()));
        }
        Expr::Apply(apply) => apply.args.iter_mut().for_each(|arg| name_indices(arg, indices)),
        Expr::Within(within) => {
            name_indices(&mut within.inside, indices);
            name_indices(&mut within.outside, indices);
        }
        Expr::Access(_) | Expr::Literal(_) | Expr::Index(..) | Expr::Name(..) => {}
    }
}

/// A diagnostic about an operator as one of this stage, in its place.
fn misnamed(mut e: Box<Diagnostic>, place: Range<usize>) -> Box<Diagnostic> {
    e.code = Code::Program;
    e.at(place, "used here")
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
