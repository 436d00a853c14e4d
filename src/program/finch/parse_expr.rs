//! Parsing expressions, with the precedence of Julia.

use super::parse::Parser;
use super::precedence::{COMPARISON, IN_FRONT, PAIR, above, strength};
use super::syntax::{Access, Expr, Ident, Literal, Tensor};
use super::token::{RESERVED, Token};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::program::ir::Span;

/// Operators that can stand alone, as what updates an element, or is called.
const ALONE: [&str; 21] = [
    "+", "-", "*", "/", "%", "÷", "^", "&", "|", "⊻", "&&", "||", "==", "!=", "<", "<=", ">", ">=",
    "!", ">>", "<<",
];

const EXPRESSION_HELP: &str = "an expression looks like `A[i, j] * x[j] + 1`";

impl Parser<'_> {
    pub fn expression(&mut self) -> Result<Expr> {
        self.part()?;
        self.nested(|p| p.binary(PAIR))
    }

    /// `+` alone, or an expression.
    pub fn operator_or_expression(&mut self) -> Result<Expr> {
        let alone = ALONE.contains(&self.peek_sym())
            && matches!(self.next_token(), Some(Token::Sym(">>=" | ")" | ",")));
        if !alone {
            return self.expression();
        }
        let out = Expr::Operator(self.peek_sym(), Span(self.span()));
        self.at += 1;
        Ok(out)
    }

    /// An expression whose operators bind at least so strongly.
    fn binary(&mut self, least: u8) -> Result<Expr> {
        let mut left = self.prefix()?;
        while let Some(level) = strength(self.peek_sym()).filter(|level| *level >= least) {
            self.part()?;
            let symbol = self.peek_sym();
            if level == COMPARISON {
                left = self.chain(left)?;
                continue;
            }
            self.at += 1;
            self.skip_lines();
            let operand = if level == PAIR { PAIR } else { above(level) };
            let right = self.nested(|p| p.binary(operand))?;
            left = Expr::Infix(symbol, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn chain(&mut self, first: Expr) -> Result<Expr> {
        let mut rest = Vec::new();
        while strength(self.peek_sym()) == Some(COMPARISON) {
            self.part()?;
            let symbol = self.peek_sym();
            self.at += 1;
            self.skip_lines();
            rest.push((symbol, self.nested(|p| p.binary(above(COMPARISON)))?));
        }
        Ok(Expr::Chain(Box::new(first), rest))
    }

    fn prefix(&mut self) -> Result<Expr> {
        let symbol = self.peek_sym();
        if !IN_FRONT.contains(&symbol) || self.calls_operator() {
            return self.power();
        }
        let start = self.span().start;
        self.at += 1;
        let operand = self.nested(Self::prefix)?;
        Ok(Expr::Prefix(symbol, Box::new(operand), self.since(start)))
    }

    /// Whether an operator is called like a function: `*(a, b)`. Of those that may stand in front of an operand,
    /// as in `-(a)`, several operands tell it.
    fn calls_operator(&self) -> bool {
        let symbol = self.peek_sym();
        let behind = self.ahead().get(1..).unwrap_or_default();
        let is_opened = behind.first().is_some_and(|t| t.adjacent && t.token == Token::Sym("("));
        let has_several = || {
            let mut depth = 0;
            let end = behind.iter().find(|t| {
                match t.token {
                    Token::Sym("(" | "[") => depth += 1,
                    Token::Sym(")" | "]") => depth -= 1,
                    _ => {}
                }
                depth == 0 || depth == 1 && t.token == Token::Sym(",")
            });
            end.is_some_and(|t| t.token == Token::Sym(","))
        };
        ALONE.contains(&symbol) && is_opened && (!IN_FRONT.contains(&symbol) || has_several())
    }

    /// Whether what comes is multiplied by the number before it: `2x`, `2(x + 1)`.
    fn is_multiplied(&self) -> bool {
        let is_factor = match self.peek() {
            Token::Name(word) => ["Inf", "NaN"].contains(&&**word) || !RESERVED.contains(&&**word),
            Token::Sym(symbol) => *symbol == "(",
            _ => false,
        };
        is_factor && self.adjacent()
    }

    /// `a ^ b`, where `b` may have a sign; `2x ^ 2` is `2 * x ^ 2`.
    fn power(&mut self) -> Result<Expr> {
        if matches!(self.peek(), Token::Integer(_) | Token::Float(_)) {
            let number = self.primary()?;
            return match self.is_multiplied() {
                true => {
                    self.part()?;
                    let factor = self.nested(Self::power)?;
                    Ok(Expr::Infix("*", Box::new(number), Box::new(factor)))
                }
                false => self.raised(number),
            };
        }
        let base = self.postfix()?;
        self.raised(base)
    }

    fn raised(&mut self, base: Expr) -> Result<Expr> {
        if !self.eat("^") {
            return Ok(base);
        }
        self.skip_lines();
        let exponent = self.nested(Self::prefix)?;
        Ok(Expr::Infix("^", Box::new(base), Box::new(exponent)))
    }

    /// What is called or accessed, any number of times.
    pub fn postfix(&mut self) -> Result<Expr> {
        let start = self.span().start;
        let mut out = self.primary()?;
        loop {
            match self.peek_sym() {
                "(" if self.adjacent() => {
                    self.part()?;
                    let args = self.list(")")?;
                    out = match out {
                        Expr::Operator(symbol, _) if args.len() >= 2 => {
                            operation(symbol, args, self.since(start))
                        }
                        Expr::Name(_) | Expr::Call(..) | Expr::Operator(..) => {
                            Expr::Call(Box::new(out), args, self.since(start))
                        }
                        other => return Err(self.no_function(&other)),
                    };
                }
                "[" if self.adjacent() => {
                    self.part()?;
                    let tensor = self.tensor(out)?;
                    let subscripts = self.list("]")?;
                    out = Expr::Access(Access { tensor, subscripts, span: self.since(start) });
                }
                _ => return Ok(out),
            }
        }
    }

    fn no_function(&self, called: &Expr) -> Box<Diagnostic> {
        Diagnostic::new(Code::Program, "this is no function")
            .at(called.span(), "called here")
            .help("write `*` between factors")
    }

    /// Arguments or subscripts, with their brackets.
    fn list(&mut self, close: &str) -> Result<Vec<Expr>> {
        let open = self.span();
        self.at += 1;
        let mut out = Vec::new();
        while self.peek_sym() != close {
            if self.peek_sym() == ":" {
                return Err(self.unexpected("an index").help(
                    "name every index: `for i = _ … end` with `A[i, j]`; a part is `A[(2:4)(i)]`",
                ));
            }
            out.push(self.expression()?);
            if !self.eat(",") {
                break;
            }
        }
        if !self.eat(close) {
            let message = format!("`{}` is not closed", if close == ")" { "(" } else { "[" });
            let found = self.unexpected(&format!("`,` or `{close}`")).message.clone();
            return Err(Diagnostic::new(Code::Program, message)
                .at(open, found)
                .help(format!("insert `{close}`")));
        }
        Ok(out)
    }

    /// What stands before the brackets of an access.
    fn tensor(&self, e: Expr) -> Result<Tensor> {
        match e {
            Expr::Name(name) => Ok(Tensor::Named(name)),
            Expr::Call(f, args, span) => {
                let wrapper = match *f {
                    Expr::Name(name) => name,
                    other => return Err(no_tensor(&other)),
                };
                match wrapper.name.as_str() {
                    "swizzle" => self.swizzle(args, span),
                    "chunkmask" | "splitmask" => Ok(Tensor::Mask(wrapper, args)),
                    name => {
                        let help = match name {
                            "toeplitz" => "write `A[i + j]`",
                            "window" => "write `A[(a:b)(i)]`",
                            "permissive" => "write `A[~i]`",
                            "protocolize" => "write `A[gallop(i), j]`",
                            _ => {
                                "tensors are wrapped by `swizzle(A, 2, 1)`; shift an index by `A[i + c]`"
                            }
                        };
                        Err(Diagnostic::new(
                            Code::Program,
                            format!("`{name}(…)` is no tensor of the language"),
                        )
                        .at(span.0, "accessed here")
                        .help(help))
                    }
                }
            }
            other => Err(no_tensor(&other)),
        }
    }

    fn swizzle(&self, args: Vec<Expr>, span: Span) -> Result<Tensor> {
        let wrong = || {
            Diagnostic::new(
                Code::Program,
                "a swizzle names a tensor and an order of its dimensions",
            )
            .at(span.0.clone(), "here")
            .help("write e.g. `swizzle(A, 2, 1)[i, j]`, which is `A[j, i]`")
        };
        let mut args = args.into_iter();
        let inner = args.next().ok_or_else(wrong)?;
        let inner = self.tensor(inner)?;
        let order: Option<Vec<usize>> = args
            .map(|arg| match arg {
                Expr::Literal(Literal::Integer(text), _) => text.parse().ok(),
                _ => None,
            })
            .collect();
        let order = order.ok_or_else(wrong)?;
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if sorted != (1..=order.len()).collect::<Vec<_>>() {
            return Err(wrong());
        }
        Ok(Tensor::Swizzle(Box::new(inner), order, span))
    }

    fn primary(&mut self) -> Result<Expr> {
        let span = Span(self.span());
        let literal = |p: &mut Self, literal| {
            p.at += 1;
            Ok(Expr::Literal(literal, span.clone()))
        };
        match self.peek().clone() {
            Token::Integer(text) => literal(self, Literal::Integer(text)),
            Token::Float(text) => literal(self, Literal::Float(text)),
            Token::Name(word) => match word.as_str() {
                "true" => literal(self, Literal::Bool(true)),
                "false" => literal(self, Literal::Bool(false)),
                "Inf" => literal(self, Literal::Inf),
                "NaN" => literal(self, Literal::Nan),
                "missing" => literal(self, Literal::Missing),
                "nothing" => literal(self, Literal::Nothing),
                "Eps" => Err(Diagnostic::new(Code::Program, "`Eps` is for real coordinates")
                    .at(span.0, "coordinates are whole numbers here")
                    .help("use whole numbers")),
                word if RESERVED.contains(&word) => {
                    Err(self.unexpected("an expression").help(match word {
                        "end" => "an `end` closes one `for`, `if`, `let` or `begin`: leave it out if none is open",
                        "else" | "elseif" => "it stands between `if` and its `end`: is there one too many before it?",
                        _ => EXPRESSION_HELP,
                    }))
                }
                _ => {
                    self.at += 1;
                    Ok(Expr::Name(Ident { name: word, span }))
                }
            },
            Token::Sym("$") => {
                self.at += 1;
                let name = self.ident("a name", "write `$x` for a number that is given")?;
                Ok(Expr::Name(name))
            }
            Token::Sym("(") => self.parenthesised(),
            Token::Sym(symbol) if self.calls_operator() => {
                self.at += 1;
                Ok(Expr::Operator(symbol, span))
            }
            _ => Err(self.unexpected("an expression").help(EXPRESSION_HELP)),
        }
    }

    /// `(a)`, `(a, b)`, `(a:b)(i)`
    fn parenthesised(&mut self) -> Result<Expr> {
        let open = self.span();
        self.at += 1;
        if self.peek_sym() == ")" {
            return Err(self.unexpected("an expression").help(EXPRESSION_HELP));
        }
        let operator = self.operator_alone();
        if let Some(operator) = operator {
            return Ok(operator);
        }
        let first = self.expression()?;
        if self.eat(":") {
            return self.window(first, open.start);
        }
        if self.eat(")") {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.eat(",") {
            if self.peek_sym() == ")" {
                break;
            }
            parts.push(self.expression()?);
        }
        if !self.eat(")") {
            return Err(Diagnostic::new(Code::Program, "`(` is not closed")
                .at(open, self.unexpected("`)`").message.clone())
                .help("insert `)`"));
        }
        Ok(Expr::Tuple(parts, self.since(open.start)))
    }

    /// `(+)`, behind its parenthesis.
    fn operator_alone(&mut self) -> Option<Expr> {
        let symbol = self.peek_sym();
        if !ALONE.contains(&symbol) || self.next_token() != Some(&Token::Sym(")")) {
            return None;
        }
        let out = Expr::Operator(symbol, Span(self.span()));
        self.at += 2;
        Some(out)
    }

    /// `(a:b)(i)`, behind the colon.
    fn window(&mut self, from: Expr, start: usize) -> Result<Expr> {
        const HELP: &str = "a window looks like `A[(2:4)(i)]`";
        let to = self.expression()?;
        if self.peek_sym() == ":" {
            return Err(self.unexpected("`)`").help("windows have no steps"));
        }
        self.expect(")", HELP)?;
        if self.peek_sym() != "(" || !self.adjacent() {
            return Err(self.unexpected("`(`").help(HELP));
        }
        self.at += 1;
        let index = self.expression()?;
        self.expect(")", HELP)?;
        let span = self.since(start);
        Ok(Expr::Window(Box::new(from), Box::new(to), Box::new(index), span))
    }
}

/// An operator that is called, as it is written between its operands: `<(i, j)` is `i < j`.
fn operation(symbol: &'static str, mut args: Vec<Expr>, span: Span) -> Expr {
    let is_chained = ["+", "*", "&", "|", "⊻"].contains(&symbol);
    let is_between = strength(symbol).is_some() || symbol == "^";
    if !is_between || args.len() > 2 && !is_chained {
        return Expr::Call(Box::new(Expr::Operator(symbol, span.clone())), args, span);
    }
    let rest = args.split_off(1);
    let first = args.remove(0);
    rest.into_iter().fold(first, |left, right| match strength(symbol) {
        Some(COMPARISON) => Expr::Chain(Box::new(left), vec![(symbol, right)]),
        _ => Expr::Infix(symbol, Box::new(left), Box::new(right)),
    })
}

fn no_tensor(e: &Expr) -> Box<Diagnostic> {
    Diagnostic::new(Code::Program, "only tensors are accessed by `[…]`")
        .at(e.span(), "no tensor")
        .help("write `T[i]`, with the name of a tensor")
}
