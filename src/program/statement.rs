//! Parsing the statements of a tree; the grammar is that of the IR.

use super::ir::{
    Assign, Block, Declare, Expr, Fill, If, Let, Loop, Order, Span, Stmt, When, Within,
};
use super::parse::{Binder, Parser, RESTRICTION_HELP};
use super::token::{GIVEN, KEYWORDS, Token, WHEN, WORDS};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;

const LOOP: &str = "a loop looks like `forall i { … }` or `for i in 4 { … }`";

impl Parser<'_> {
    /// The whole text as one statement.
    pub(super) fn tree(&mut self) -> Result<Stmt> {
        let stmt = self.statement()?;
        match self.peek() {
            Token::End => Ok(stmt),
            _ => Err(self
                .unexpected("the end of the program")
                .help("write several statements between `{` and `}`")),
        }
    }

    fn statement(&mut self) -> Result<Stmt> {
        self.nested(|p| match p.keyword().as_str() {
            "forall" => p.repeat(Order::Free).map(Stmt::Loop),
            "for" => p.repeat(Order::Fixed).map(Stmt::Loop),
            "let" => p.binding().map(Stmt::Let),
            "declare" => p.declare().map(Stmt::Declare),
            _ if p.begins_choice() => p.choice().map(Stmt::When),
            _ => match p.peek() {
                Token::If => p.conditional().map(Stmt::If),
                Token::Sym("{") => p.block().map(Stmt::Block),
                Token::Name(_) => p.assign().map(Stmt::Assign),
                _ => Err(p.unexpected("a statement").help(
                    "statements begin with `forall`, `for`, `if`, `when`, `let`, `declare`, `{` or a tensor",
                )),
            },
        })
    }

    /// The keyword here, if a name follows it: otherwise it is a name itself.
    fn keyword(&self) -> String {
        match (self.peek(), self.tokens.get(self.at + 1)) {
            (Token::Name(word), Some((Token::Name(_), _))) if KEYWORDS.contains(&word.as_str()) => {
                word.clone()
            }
            _ => String::new(),
        }
    }

    /// The name after a keyword.
    fn name(&mut self) -> Result<(Name, Span)> {
        self.at += 1;
        let Token::Name(name) = self.peek() else { return Err(self.unexpected("a name")) };
        let out = (Name::from(name.as_str()), Span(self.span()));
        self.at += 1;
        Ok(out)
    }

    fn repeat(&mut self, order: Order) -> Result<Loop> {
        let (index, span) = self.name()?;
        let stated = matches!(self.peek(), Token::Name(word) if word == "in");
        let extent = if stated { Some(self.extent()?) } else { None };
        let body = self.scoped(&index, Binder::Loop)?;
        Ok(Loop { order, index, extent, body, span })
    }

    fn extent(&mut self) -> Result<usize> {
        self.at += 1;
        let Token::Number(text) = self.peek() else {
            return Err(self.unexpected("a number of iterations").help(LOOP));
        };
        let extent = text.parse().map_err(|_| {
            Diagnostic::new(Code::Program, format!("`{text}` is not a number of iterations"))
                .at(self.span(), "not a whole number of 64 bits")
                .help(LOOP)
        })?;
        self.at += 1;
        Ok(extent)
    }

    fn conditional(&mut self) -> Result<If> {
        let word = self.span();
        self.at += 1;
        let place = word.end..self.span().start;
        if self.text[place.clone()].trim().is_empty() {
            return Err(Diagnostic::new(Code::Program, "`if` without a condition")
                .at(word, "a comparison of indices must follow")
                .help(RESTRICTION_HELP));
        }
        let (condition, span) = self.formula(place)?;
        let (then, otherwise) = self.branches()?;
        Ok(If { condition, then, otherwise, span })
    }

    /// Whether `when` stands here with a value behind it, and is no tensor.
    fn begins_choice(&self) -> bool {
        let at = |k: usize| self.tokens.get(self.at + k).map(|(token, _)| token);
        let value = match at(1) {
            Some(Token::Name(_)) => at(2) != Some(&Token::Sym("=")),
            Some(Token::Number(_) | Token::Sym("(" | "-")) => true,
            _ => false,
        };
        matches!(self.peek(), Token::Name(word) if word == WHEN) && value
    }

    fn choice(&mut self) -> Result<When> {
        self.at += 1;
        let condition = self.expression()?;
        let span = Span(condition.span());
        let (then, otherwise) = self.branches()?;
        Ok(When { condition, then, otherwise, span })
    }

    /// `within(A[i + 1], A[i + 1], 0)`
    pub(super) fn within(&mut self) -> Result<Expr> {
        const HELP: &str = "write `within(A[i + 1], A[i + 1], 0)`";
        let start = self.span().start;
        self.at += 2;
        let access = self.access()?;
        let mut parts = Vec::new();
        for _ in 0..2 {
            if !self.eat(",") {
                return Err(self.unexpected("`,`").help(HELP));
            }
            parts.push(self.nested(Self::operand)?);
        }
        let end = self.span().end;
        let (Some(outside), Some(inside), true) = (parts.pop(), parts.pop(), self.eat(")")) else {
            return Err(self.unexpected("`)`").help(HELP));
        };
        Ok(Expr::Within(Box::new(Within { access, inside, outside, span: Span(start..end) })))
    }

    /// A block, and another behind `else`.
    fn branches(&mut self) -> Result<(Block, Option<Block>)> {
        let then = self.block()?;
        // A tensor of this name has a subscript or an assignment behind it.
        let next = self.tokens.get(self.at + 1).map(|(token, _)| token);
        let has_else = matches!(self.peek(), Token::Name(word) if word == "else")
            && matches!(next, Some(Token::Sym("{")));
        let otherwise = match has_else {
            true => {
                self.at += 1;
                Some(self.block()?)
            }
            false => None,
        };
        Ok((then, otherwise))
    }

    fn binding(&mut self) -> Result<Let> {
        let (name, span) = self.name()?;
        if !self.eat("=") {
            return Err(self.unexpected("`=`").help("a `let` looks like `let x = A[i,j] { … }`"));
        }
        let value = self.expression()?;
        let body = self.scoped(&name, Binder::Let)?;
        Ok(Let { name, value, body, span })
    }

    fn declare(&mut self) -> Result<Declare> {
        let (tensor, span) = self.name()?;
        let negative = self.eat("-");
        let fill = match self.peek().clone() {
            Token::Number(text) => Some(Fill { negative, literal: self.literal(text)? }),
            Token::Name(word) if WORDS.contains(&word.as_str()) => {
                Some(Fill { negative, literal: self.literal(word)? })
            }
            Token::Name(word) if word == GIVEN && !negative => {
                self.at += 1;
                None
            }
            _ => {
                return Err(self
                    .unexpected("a number or `inf`")
                    .help("a declaration looks like `declare t 0` or `declare t -inf`"));
            }
        };
        Ok(Declare { tensor, fill, span })
    }

    fn assign(&mut self) -> Result<Assign> {
        let output = self.access()?;
        let op = self.assign_op()?;
        let value = self.expression()?;
        Ok(Assign { output, op, value })
    }

    /// A block in which `name` is bound.
    fn scoped(&mut self, name: &Name, binder: Binder) -> Result<Block> {
        self.scope.push((name.clone(), binder));
        let block = self.block()?;
        self.scope.pop();
        Ok(block)
    }

    fn block(&mut self) -> Result<Block> {
        let open = self.span();
        if !self.eat("{") {
            return Err(self.unexpected("`{`").help("a block stands between `{` and `}`"));
        }
        let mut block = Vec::new();
        loop {
            if self.eat("}") {
                return Ok(block);
            }
            if *self.peek() == Token::End {
                return Err(Diagnostic::new(Code::Program, "`{` is not closed")
                    .at(open, "no `}` before the end of the program")
                    .help("insert `}`"));
            }
            block.push(self.statement()?);
        }
    }
}
