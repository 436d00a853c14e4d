//! Recursive-descent parser of Finch programs: the statements. Expressions are in `parse_expr.rs`, the
//! grammar in the module's doc.

use std::ops::Range;

use super::syntax::{Assign, Branch, Declare, Expr, Extent, Finch, Ident, Stmt, Update};
use super::token::{Placed, RESERVED, Token, tokenize};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::program::ir::Span;

/// Longer than any sensible program.
const MAX_LENGTH: usize = 1 << 20;

/// Deeper than any sensible program; bounds the recursion over it.
const MAX_DEPTH: usize = 64;

/// More operations, branches, indices and names than any sensible statement has, and those around it; bounds the
/// recursion over it, too.
const MAX_PARTS: usize = 4000;

/// So many tokens before what is wrong may have caused it.
const NEAR: usize = 12;

const STATEMENT_HELP: &str = "statements are `for`, `if`, `let`, `begin`, `T .= 0`, `A[i] += x`, `@freeze(T)`, \
                              `@thaw(T)` and `return T`";

impl Finch {
    /// Parses a program; `name` is what diagnostics call its text.
    ///
    /// # Errors
    /// [`Code::Program`], with the place in `text`.
    pub fn parse(text: &str, name: &str) -> Result<Finch> {
        let parsed = || {
            if text.len() > MAX_LENGTH {
                return Err(Diagnostic::new(Code::Program, "the program is too long")
                    .at(0..0, format!("{} bytes, at most {MAX_LENGTH} are read", text.len()))
                    .help("split it into several programs"));
            }
            let mut parser = Parser { tokens: tokenize(text)?, text, at: 0, depth: 0, parts: 0 };
            parser.block(&[])
        };
        let body = parsed().map_err(|e: Box<Diagnostic>| e.within(name, text))?;
        Ok(Finch { body, text: text.to_string(), name: name.to_string() })
    }
}

pub(super) struct Parser<'a> {
    tokens: Vec<Placed>,
    text: &'a str,
    pub at: usize,
    depth: usize,
    /// Of the statements that are not complete.
    parts: usize,
}

impl Parser<'_> {
    pub fn peek(&self) -> &Token {
        &self.tokens[self.at].token
    }

    pub fn next_token(&self) -> Option<&Token> {
        self.tokens.get(self.at + 1).map(|t| &t.token)
    }

    /// From the current token on.
    pub fn ahead(&self) -> &[Placed] {
        &self.tokens[self.at..]
    }

    pub fn peek_sym(&self) -> &'static str {
        match self.peek() {
            Token::Sym(s) => s,
            _ => "",
        }
    }

    /// Whether the current token directly follows the one before.
    pub fn adjacent(&self) -> bool {
        self.tokens[self.at].adjacent
    }

    pub fn span(&self) -> Range<usize> {
        self.tokens[self.at].span.clone()
    }

    /// From `start` to the end of the token before the current one.
    pub fn since(&self, start: usize) -> Span {
        Span(start..self.tokens[self.at.saturating_sub(1)].span.end)
    }

    pub fn eat(&mut self, sym: &str) -> bool {
        let hit = self.peek_sym() == sym;
        if hit {
            self.at += 1;
        }
        hit
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Name(name) if name == word)
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let hit = self.is_word(word);
        if hit {
            self.at += 1;
        }
        hit
    }

    /// Where a line may end although the statement does not.
    pub fn skip_lines(&mut self) {
        while *self.peek() == Token::Separator {
            self.at += 1;
        }
    }

    pub fn unexpected(&self, wanted: &str) -> Box<Diagnostic> {
        let found = match self.peek() {
            Token::End => "the end of the program".to_string(),
            Token::Separator => "the end of the statement".to_string(),
            _ => format!("`{}`", &self.text[self.span()]),
        };
        let refused = Diagnostic::new(Code::Program, format!("expected {wanted}, found {found}"))
            .at(self.span(), format!("expected {wanted}"));
        match self.written_elsewhere() {
            Some(instead) => refused.note(instead),
            None => refused,
        }
    }

    /// How that is written of which other languages have what stands here, or before it in the line.
    fn written_elsewhere(&self) -> Option<&'static str> {
        let before = |k: usize| self.at.checked_sub(k).and_then(|at| self.tokens.get(at));
        let tokens = (0..NEAR).map_while(before).map(|placed| &placed.token);
        let tokens = tokens.take_while(|token| **token != Token::Separator);
        let star = |placed: &Placed| placed.token == Token::Sym("*");
        tokens.enumerate().find_map(|(k, token)| match token {
            Token::Name(word) => match word.as_str() {
                "and" => Some("`and` is written `&&`"),
                "or" => Some("`or` is written `||`"),
                "not" => Some("`not` is written `!`"),
                "elif" | "elsif" => Some("another condition is asked by `elseif`"),
                "then" | "do" => Some("nothing stands between a condition and what it decides"),
                _ => None,
            },
            Token::Sym("=") if k == 0 => Some("whether two are equal is asked by `==`"),
            Token::Sym("*") if k == 0 && before(1).is_some_and(star) => {
                Some("a power is written `x^2`")
            }
            _ => None,
        })
    }

    pub fn expect(&mut self, sym: &str, help: &str) -> Result<()> {
        match self.eat(sym) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{sym}`")).help(help)),
        }
    }

    pub fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Diagnostic::new(Code::Program, "the program is nested too deeply")
                .at(self.span(), format!("deeper than {MAX_DEPTH} levels"))
                .help("remove parentheses that are not needed, or bind parts by `let`"));
        }
        let out = f(self);
        self.depth -= 1;
        out
    }

    /// One more part of a statement.
    pub fn part(&mut self) -> Result<()> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return Err(Diagnostic::new(Code::Program, "the statement is too long")
                .at(self.span(), format!("more than {MAX_PARTS} operations, branches and names"))
                .help("split it into several statements"));
        }
        Ok(())
    }

    /// A name that is no word of the grammar.
    pub fn ident(&mut self, what: &str, help: &str) -> Result<Ident> {
        match self.peek().clone() {
            Token::Name(name) if !RESERVED.contains(&name.as_str()) => {
                let span = Span(self.span());
                self.at += 1;
                Ok(Ident { name, span })
            }
            _ => Err(self.unexpected(what).help(help)),
        }
    }

    /// Statements up to one of the words, which is not taken; up to the end of the program if there is none.
    fn block(&mut self, until: &[&str]) -> Result<Vec<Stmt>> {
        let mut out = Vec::new();
        loop {
            self.skip_lines();
            if until.iter().any(|word| self.is_word(word)) {
                return Ok(out);
            }
            if *self.peek() == Token::End {
                if until.is_empty() {
                    return Ok(out);
                }
                return Err(self.unexpected("`end`").help("close the statement: `end`"));
            }
            out.push(self.statement()?);
            let ended = matches!(self.peek(), Token::Separator | Token::End)
                || until.iter().any(|word| self.is_word(word));
            if !ended {
                return Err(self
                    .unexpected("the end of the statement")
                    .help("statements stand on lines of their own, or with `;` between them"));
            }
        }
    }

    /// Statements up to `end`, which is taken.
    fn body(&mut self) -> Result<Vec<Stmt>> {
        let body = self.block(&["end"])?;
        self.at += 1;
        Ok(body)
    }

    fn statement(&mut self) -> Result<Stmt> {
        let around = self.parts;
        let statement = self.statement_within()?;
        self.parts = around;
        Ok(statement)
    }

    fn statement_within(&mut self) -> Result<Stmt> {
        self.nested(|p| match p.peek().clone() {
            Token::Name(word) => match word.as_str() {
                "begin" => {
                    p.at += 1;
                    p.body().map(Stmt::Block)
                }
                "for" => p.repeat(),
                "if" => p.conditional(),
                "let" => p.binding(),
                "return" => p.give_back(),
                "while" | "break" | "continue" | "function" | "global" | "local" => {
                    let message = format!("`{word}` is not part of the Finch language");
                    Err(Diagnostic::new(Code::Program, message)
                        .at(p.span(), "no statement of it")
                        .help(STATEMENT_HELP))
                }
                _ => p.update(),
            },
            Token::Macro(name) => p.life_cycle(&name),
            Token::Sym("(") => p.grouped(),
            _ => Err(p.unexpected("a statement").help(STATEMENT_HELP)),
        })
    }

    /// `(a; b)`
    fn grouped(&mut self) -> Result<Stmt> {
        let open = self.span();
        self.at += 1;
        let mut out = Vec::new();
        loop {
            self.skip_lines();
            if self.eat(")") {
                return Ok(Stmt::Block(out));
            }
            if *self.peek() == Token::End {
                return Err(Diagnostic::new(Code::Program, "`(` is not closed")
                    .at(open, "no `)` before the end of the program")
                    .help("insert `)`"));
            }
            out.push(self.statement()?);
            if !matches!(self.peek(), Token::Separator | Token::Sym(")")) {
                return Err(self.unexpected("`;` or `)`").help("statements are `(a; b)`"));
            }
        }
    }

    fn repeat(&mut self) -> Result<Stmt> {
        const HELP: &str = "a loop looks like `for j = _, i = 1:n … end`";
        self.at += 1;
        let mut indices = Vec::new();
        loop {
            self.part()?;
            let index = self.ident("an index", HELP)?;
            if !(self.eat("=") || self.eat_word("in")) {
                return Err(self.unexpected("`=`").help(HELP));
            }
            indices.push((index, self.extent()?));
            if !self.eat(",") {
                break;
            }
            self.skip_lines();
        }
        Ok(Stmt::For(indices, self.body()?))
    }

    fn extent(&mut self) -> Result<Extent> {
        const HELP: &str = "an index runs over `_`, which the tensors decide, or over `a:b`";
        let start = self.span().start;
        let called = self.next_token() == Some(&Token::Sym("("));
        match self.peek().clone() {
            Token::Name(name) if name == "_" => {
                self.at += 1;
                Ok(Extent::Infer(self.since(start)))
            }
            Token::Sym(":") => Err(self.unexpected("an extent").help("write `_`")),
            Token::Name(name) if called && name == "realextent" => {
                Err(Diagnostic::new(Code::Program, "loops over real numbers are not supported")
                    .at(self.span(), "here")
                    .help(HELP))
            }
            Token::Name(name) if called && name == "extent" => {
                self.at += 2;
                let from = self.expression()?;
                self.expect(",", HELP)?;
                let to = self.expression()?;
                self.expect(")", HELP)?;
                Ok(Extent::Range(Box::new(from), Box::new(to), self.since(start)))
            }
            Token::Name(name) if called && name == "parallel" => {
                self.at += 2;
                let inner = self.nested(Self::extent)?;
                let mut rest = Vec::new();
                while self.eat(",") {
                    rest.push(self.expression()?);
                }
                self.expect(")", "write `parallel(_)`")?;
                Ok(Extent::Parallel(Box::new(inner), rest, self.since(start)))
            }
            _ => {
                let from = self.expression()?;
                if !self.eat(":") {
                    return Err(self.unexpected("`:`").help(HELP));
                }
                let to = self.expression()?;
                if self.peek_sym() == ":" {
                    return Err(self
                        .unexpected("the body of the loop")
                        .help("loops run in steps of 1: compute with the index"));
                }
                Ok(Extent::Range(Box::new(from), Box::new(to), self.since(start)))
            }
        }
    }

    fn conditional(&mut self) -> Result<Stmt> {
        let mut branches = Vec::new();
        loop {
            self.at += 1;
            let condition = self.expression()?;
            let body = self.block(&["elseif", "else", "end"])?;
            branches.push(Branch { condition, body });
            if !self.is_word("elseif") {
                break;
            }
        }
        if self.eat_word("else") {
            return Ok(Stmt::If(branches, Some(self.body()?)));
        }
        self.at += 1;
        Ok(Stmt::If(branches, None))
    }

    fn binding(&mut self) -> Result<Stmt> {
        const HELP: &str = "a `let` looks like `let x = A[i, j], y = 2 … end`";
        self.at += 1;
        let mut bound = Vec::new();
        loop {
            let name = self.ident("a name", HELP)?;
            self.expect("=", HELP)?;
            self.skip_lines();
            bound.push((name, self.expression()?));
            if !self.eat(",") {
                break;
            }
            self.skip_lines();
        }
        Ok(Stmt::Let(bound, self.body()?))
    }

    fn give_back(&mut self) -> Result<Stmt> {
        const HELP: &str = "a program returns tensors: `return T` or `return (T, U)`";
        let start = self.span().start;
        self.at += 1;
        let mut tensors = Vec::new();
        if self.eat("(") {
            loop {
                tensors.push(self.ident("a tensor", HELP)?);
                if !self.eat(",") || self.peek_sym() == ")" {
                    break;
                }
            }
            self.expect(")", HELP)?;
        } else {
            tensors.push(self.ident("a tensor", HELP)?);
        }
        Ok(Stmt::Return(tensors, self.since(start)))
    }

    fn life_cycle(&mut self, name: &str) -> Result<Stmt> {
        const HELP: &str = "write `@freeze(T)`, `@thaw(T)` or `@declare(T, 0, +)`";
        if !matches!(name, "declare" | "freeze" | "thaw") {
            let help = match name {
                "finch" => {
                    "a file holds the program only: write what stands between `@finch begin` and `end`"
                }
                _ => HELP,
            };
            let message = format!("`@{name}` is not part of the Finch language");
            return Err(Diagnostic::new(Code::Program, message).at(self.span(), "here").help(help));
        }
        self.at += 1;
        self.expect("(", HELP)?;
        let tensor = self.ident("a tensor", HELP)?;
        let mut args = Vec::new();
        while self.eat(",") {
            args.push(self.operator_or_expression()?);
        }
        let place = self.span();
        self.expect(")", HELP)?;
        let wrong = |message: &str| {
            Err(Diagnostic::new(Code::Program, message).at(place.clone(), "here").help(HELP))
        };
        let mut args = args.into_iter();
        let stmt = match name {
            "declare" => match args.next() {
                Some(init) => Stmt::Declare(Declare { tensor, init, op: args.next() }),
                None => return wrong("`@declare` needs what the elements begin with"),
            },
            "freeze" => Stmt::Freeze(tensor, args.next()),
            _ => Stmt::Thaw(tensor, args.next()),
        };
        match args.next() {
            None => Ok(stmt),
            Some(_) => wrong(&format!("`@{name}` has too many arguments")),
        }
    }

    /// `T .= 0`, or `A[i] += x`
    fn update(&mut self) -> Result<Stmt> {
        let output = self.postfix()?;
        if self.eat(".=") {
            self.skip_lines();
            let Expr::Name(tensor) = output else {
                return Err(Diagnostic::new(Code::Program, "`.=` declares a tensor")
                    .at(output.span(), "no name of a tensor")
                    .help("write `T .= 0`; an element is written `T[i] = 0`"));
            };
            let init = self.expression()?;
            return Ok(Stmt::Declare(Declare { tensor, init, op: None }));
        }
        let op = self.update_op(&output)?;
        self.skip_lines();
        let Expr::Access(output) = output else {
            let help = match &output {
                Expr::Name(name) => format!(
                    "write `{0}[]` for a scalar tensor, `{0} .= 0` to declare a tensor, or `let {0} = …`",
                    name.name
                ),
                _ => STATEMENT_HELP.to_string(),
            };
            return Err(Diagnostic::new(Code::Program, "only elements of tensors are assigned to")
                .at(output.span(), "no element")
                .help(help));
        };
        let value = self.expression()?;
        Ok(Stmt::Assign(Assign { output, op, value }))
    }

    fn update_op(&mut self, output: &Expr) -> Result<Update> {
        let span = Span(self.span());
        let symbol = self.peek_sym();
        if symbol == "<<" {
            self.at += 1;
            let op = self.operator_or_expression()?;
            self.expect(">>=", "an update looks like `A[i] <<min>>= x`")?;
            return Ok(Update::By(op));
        }
        let op = match symbol {
            "=" => Update::Init(span),
            ":=" => Update::Overwrite(span),
            "+=" | "*=" | "&=" | "|=" => Update::Symbol(&symbol[..1], span),
            "-" | "/" if self.next_token() == Some(&Token::Sym("=")) => {
                let text = format!("`{symbol}=` is not part of the Finch language");
                return Err(Diagnostic::new(Code::Program, text)
                    .at(self.span(), "here")
                    .help(format!("write `<<{symbol}>>=`, or `+=` and `*=` of the inverse")));
            }
            _ => {
                let place = match output {
                    Expr::Access(_) | Expr::Name(_) => self.span(),
                    _ => output.span(),
                };
                return Err(self
                    .unexpected("an assignment")
                    .at(place, "no statement")
                    .help("an assignment is `=`, `+=`, `*=`, `&=`, `|=`, `:=` or `<<op>>=`"));
            }
        };
        self.at += 1;
        Ok(op)
    }
}
