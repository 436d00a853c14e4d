//! Recursive-descent parser of index notation; the grammar is in the module's doc.
//!
//! Subscripts and the restriction are handed to [`crate::formula::parse`]; what comes back is
//! checked by [`Program::verify`].

use std::ops::Range;

use super::ir::{Access, AssignOp, Expr, FunctionCall, Literal, Program};
use super::token::{Token, tokenize};
use super::{FUNCTIONS, SOURCE_NAME};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Formula, Name, parse as formula_parse};

/// Longer than any sensible statement; bounds the recursion over long chains of operators.
const MAX_LENGTH: usize = 4096;

/// Deeper than any sensible statement; bounds the recursion over nested parentheses.
const MAX_DEPTH: usize = 100;

const RESERVED: &[&str] =
    &["if", "and", "or", "not", "implies", "mod", "true", "false", "floor", "ceil", "min", "max"];

const EXAMPLE: &str = "a statement looks like `y[i] += A[i,j] * x[j]`";
const RESTRICTION_HELP: &str =
    "a restriction compares indices: `if j <= i and i < 2*j + 3`, with `and`, `or`, `not`";

impl Program {
    /// Parses and verifies one statement.
    ///
    /// # Errors
    /// [`Code::Program`], with the place in `text`.
    pub fn parse(text: &str) -> Result<Program> {
        if text.len() > MAX_LENGTH {
            return Err(Diagnostic::new(Code::Program, "statement is too long")
                .at(0..0, format!("{} bytes, at most {MAX_LENGTH} are read", text.len()))
                .within(SOURCE_NAME, text)
                .help("split the computation into several statements"));
        }
        let program = Parser::new(text)
            .and_then(|mut p| p.program())
            .map_err(|e| e.within(SOURCE_NAME, text))?;
        program.verify()?;
        Ok(program)
    }
}

/// Whether a name has a meaning in the language and so can be neither tensor nor index.
pub(super) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: Vec<(Token, Range<usize>)>,
    pub(super) at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self> {
        Ok(Parser { text, tokens: tokenize(text)?, at: 0, depth: 0 })
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

    fn eat(&mut self, sym: &str) -> bool {
        let hit = self.peek_sym() == sym;
        if hit {
            self.at += 1;
        }
        hit
    }

    fn found(&self) -> String {
        match self.peek() {
            Token::End => "the end of the statement".to_string(),
            _ => format!("`{}`", &self.text[self.span()]),
        }
    }

    fn unexpected(&self, wanted: &str) -> Box<Diagnostic> {
        let message = format!("expected {wanted}, found {}", self.found());
        Diagnostic::new(Code::Program, message).at(self.span(), format!("expected {wanted}"))
    }

    fn program(&mut self) -> Result<Program> {
        let output = match self.peek() {
            Token::Name(name) if !FUNCTIONS.contains(&name.as_str()) => self.access()?,
            _ => return Err(self.unexpected("the output tensor").help(EXAMPLE)),
        };
        let op = self.assign_op()?;
        let rhs = self.sum()?;
        let restriction = match self.peek() {
            Token::If => Some(self.restriction()?),
            Token::End => None,
            _ => return Err(self.unexpected_after_expression()),
        };
        Ok(Program { output, op, rhs, restriction, text: self.text.to_string() })
    }

    fn assign_op(&mut self) -> Result<AssignOp> {
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

    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
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

    fn sum(&mut self) -> Result<Expr> {
        let mut left = self.term()?;
        loop {
            if self.eat("+") {
                left = Expr::Add(Box::new(left), Box::new(self.term()?));
            } else if self.eat("-") {
                left = Expr::Sub(Box::new(left), Box::new(self.term()?));
            } else {
                return Ok(left);
            }
        }
    }

    fn term(&mut self) -> Result<Expr> {
        let mut left = self.unary()?;
        loop {
            if self.eat("*") {
                left = Expr::Mul(Box::new(left), Box::new(self.unary()?));
            } else if self.eat("/") {
                left = Expr::Div(Box::new(left), Box::new(self.unary()?));
            } else {
                return Ok(left);
            }
        }
    }

    fn unary(&mut self) -> Result<Expr> {
        if self.eat("-") {
            return Ok(Expr::Neg(Box::new(self.nested(Self::unary)?)));
        }
        self.primary()
    }

    fn primary(&mut self) -> Result<Expr> {
        match self.peek().clone() {
            Token::Number(text) => self.literal(text).map(Expr::Literal),
            Token::Name(name) if FUNCTIONS.contains(&name.as_str()) => {
                self.nested(|p| p.call(&name)).map(Expr::Call)
            }
            Token::Name(_) => self.access().map(Expr::Access),
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

    pub(super) fn unclosed(&self, bracket: &str, open: Range<usize>) -> Box<Diagnostic> {
        let close = if bracket == "(" { ")" } else { "]" };
        Diagnostic::new(Code::Program, format!("`{bracket}` is not closed"))
            .at(open, format!("no `{close}` before {}", self.found()))
            .help(format!("insert `{close}`"))
    }

    fn literal(&mut self, text: String) -> Result<Literal> {
        let span = self.span();
        let value = text.parse().ok().filter(|v: &f64| v.is_finite()).ok_or_else(|| {
            Diagnostic::new(Code::Program, format!("number `{text}` does not fit 64 bits"))
                .at(span.clone(), "too large")
                .help("pass it as a scalar tensor")
        })?;
        self.at += 1;
        Ok(Literal { value, text, span })
    }

    fn call(&mut self, function: &str) -> Result<FunctionCall> {
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
        Ok(FunctionCall { function: Name::from(function), args, span })
    }

    /// A tensor's name, with or without subscripts.
    fn access(&mut self) -> Result<Access> {
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

    fn restriction(&mut self) -> Result<Formula> {
        let word = self.span();
        let rest = &self.text[word.end..];
        if rest.trim().is_empty() {
            return Err(Diagnostic::new(Code::Program, "`if` without a restriction")
                .at(word, "a comparison of indices must follow")
                .help(RESTRICTION_HELP));
        }
        formula_parse::formula(rest)
            .map(simplified)
            .map_err(|e| retargeted(e, word.end, RESTRICTION_HELP))
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
mod tests {
    use super::*;

    fn parse(text: &str) -> Program {
        Program::parse(text).unwrap_or_else(|e| panic!("{text}: {e} at {:?}", e.span))
    }

    fn strings<T: ToString>(list: impl IntoIterator<Item = T>) -> Vec<String> {
        list.into_iter().map(|x| x.to_string()).collect()
    }

    #[test]
    fn what_is_printed_reads_back() {
        for (text, printed) in [
            ("y[i] += A[i,j] * x[j]", "y[i] += A[i,j] * x[j]"),
            ("C[i,j]=A[i,k]*B[k,j]", "C[i,j] = A[i,k] * B[k,j]"),
            ("a[] += x[i] * y[i]", "a[] += x[i] * y[i]"),
            ("a += x[i]*y[i]", "a[] += x[i] * y[i]"),
            ("a() = b", "a[] = b"),
            ("y(i) = A(i,j) * x(j)", "y[i] = A[i,j] * x[j]"),
            ("B[i,j] = 2.5 * alpha * A[i,j]", "B[i,j] = 2.5 * alpha * A[i,j]"),
            ("y[i] = A[i,i] * x[i+j] * x[2*i+1]", "y[i] = A[i,i] * x[i + j] * x[2*i + 1]"),
            ("y(j) = A(3, 2*(j - (1)))", "y[j] = A[3,2*j - 2]"),
            ("y[i] += A[i,j]*x[j] if j<=i", "y[i] += A[i,j] * x[j] if j <= i"),
            (
                "a += A[i,j] if i<j or not (i<3 and j>4)",
                "a[] += A[i,j] if i < j or i >= 3 or j <= 4",
            ),
            ("a = x[i] if 0 < 1 < i", "a[] = x[i] if i >= 2"),
            ("a = x[i] if 1 < 0 < i", "a[] = x[i] if false"),
            ("a min= b[i] - (c[i] - d[i]) / -2e-3", "a[] min= b[i] - (c[i] - d[i]) / -2e-3"),
            ("a max= --b[i] - -c[i]", "a[] max= --b[i] - -c[i]"),
            ("a *= max(b, (c + d)) * -(e + f)", "a[] *= max(b, c + d) * -(e + f)"),
            ("min_1 = minimum * iff * .5", "min_1[] = minimum * iff * .5"),
        ] {
            let program = parse(text);
            if !text.contains("not") {
                assert_eq!(program.to_string(), printed);
            }
            let again = parse(&program.to_string());
            assert_eq!(program, again, "{text} => {program}");
            assert_eq!(program.to_string(), again.to_string());
            assert_eq!(again.verify(), Ok(()));
        }
    }

    #[test]
    fn operators_bind_as_in_mathematics() {
        for (text, explicit) in [
            ("a + b * c", "a + (b * c)"),
            ("a - b - c", "(a - b) - c"),
            ("a / b * c", "(a / b) * c"),
            ("-a * b", "(-a) * b"),
            ("-a + b", "(-a) + b"),
            ("a * -b + c", "(a * (-b)) + c"),
            ("a - b * c / d + e", "(a - ((b * c) / d)) + e"),
        ] {
            let rhs = |text: &str| parse(&format!("y = {text}")).rhs;
            assert_eq!(rhs(text), rhs(explicit), "{text}");
            assert_eq!(rhs(explicit).to_string(), text, "no parentheses beyond need");
        }
        assert_ne!(parse("y = a - (b - c)"), parse("y = a - b - c"));
    }

    #[test]
    fn indices_come_in_order_of_first_occurrence() {
        let program = parse("C[k,i] = A[i,j] * s * B[j+l,k] * B[j,k] if i < l");
        assert_eq!(strings(program.indices()), ["k", "i", "j", "l"]);
        assert_eq!(strings(program.reduced()), ["j", "l"]);
        assert_eq!(strings(program.accesses()), ["A[i,j]", "s", "B[j + l,k]", "B[j,k]"]);
        let ranks: Vec<_> = program.tensors().into_iter().map(|(n, r)| format!("{n}{r}")).collect();
        assert_eq!(ranks, ["C2", "A2", "s0", "B2"]);
        assert_eq!(program.op, AssignOp::Assign);
    }

    #[test]
    fn spans_are_exact() {
        let text = "y[i] = 2.5*max(A[ i, 2*j ], alpha)";
        let program = parse(text);
        let at = |span: Range<usize>| &text[span];
        assert_eq!(at(program.output.span.clone()), "y[i]");
        let accesses = program.accesses();
        assert_eq!(at(accesses[0].span.clone()), "A[ i, 2*j ]");
        assert_eq!(at(accesses[0].name_span()), "A");
        assert_eq!(at(accesses[1].span.clone()), "alpha");
        assert_eq!(at(program.rhs.span()), "2.5*max(A[ i, 2*j ], alpha)");
        let Expr::Mul(literal, call) = &program.rhs else { panic!("{:?}", program.rhs) };
        assert_eq!((at(literal.span()), at(call.span())), ("2.5", "max(A[ i, 2*j ], alpha)"));
    }

    #[test]
    fn each_error_has_its_message_and_place() {
        for (text, message, at) in [
            ("", "expected the output tensor, found the end of the statement", 0..0),
            ("2 = x", "expected the output tensor, found `2`", 0..1),
            ("min(i) = x", "expected the output tensor, found `min`", 0..3),
            (
                "A[i,j] * x[j]",
                "expected an assignment (`=`, `+=`, `*=`, `min=`, `max=`), found `*`",
                7..8,
            ),
            (
                "y[i] -= x[i]",
                "expected an assignment (`=`, `+=`, `*=`, `min=`, `max=`), found `-=`",
                5..7,
            ),
            (
                "y == x",
                "expected an assignment (`=`, `+=`, `*=`, `min=`, `max=`), found `==`",
                2..4,
            ),
            ("y[i] =", "expected a tensor or a number, found the end of the statement", 6..6),
            ("y = a * * b", "expected a tensor or a number, found `*`", 8..9),
            ("y = a b", "expected an operator, `if` or the end of the statement, found `b`", 6..7),
            ("y = 2 a", "expected an operator, `if` or the end of the statement, found `a`", 6..7),
            ("y = a)", "expected an operator, `if` or the end of the statement, found `)`", 5..6),
            (
                "y = a = b",
                "expected an operator, `if` or the end of the statement, found `=`",
                6..7,
            ),
            ("y = (a + b", "`(` is not closed", 4..5),
            ("y[i = x[i]", "`[` is not closed", 1..2),
            ("y[i] = x[i)", "`[` is not closed", 8..9),
            ("y[i] = x(i", "`(` is not closed", 8..9),
            ("y[i] = x[i if i < 3", "`[` is not closed", 8..9),
            ("y[i] = max(x[i], 2", "`(` is not closed", 10..11),
            (
                "y[i] = x[]] ",
                "expected an operator, `if` or the end of the statement, found `]`",
                10..11,
            ),
            ("y[i] = A[i,]", "a subscript of `A` is empty", 10..12),
            ("y[i] = A[,i]", "a subscript of `A` is empty", 8..10),
            ("y[i] = x[p[i]]", "a subscript of `x` reads `p`", 9..11),
            ("y[i] = x[p(i)]", "a subscript of `x` calls something", 9..13),
            ("y[i] = x[ i/2 ]", "a subscript of `x` divides", 10..13),
            ("y[i] = x[i + 1.5]", "unexpected character `.`", 14..15),
            (
                "y[i] = x[i, i*j]",
                "expression is not affine: `(i) * (j)` multiplies two unknowns",
                12..15,
            ),
            ("y[i] = x[i j]", "expected the end of the expression, found `j`", 11..12),
            ("y[i] = x[i+]", "expected an expression, found the end of the text", 11..11),
            ("y[i] = x[9223372036854775807*i]", "numbers are too large", 9..30),
            ("y[i] = x[9223372036854775808]", "integer does not fit 64 bits", 9..28),
            ("y = 1e999", "number `1e999` does not fit 64 bits", 4..9),
            ("y = min", "`min` is a function, not a tensor", 4..7),
            ("y = max[i]", "`max` is a function, not a tensor", 4..7),
            ("y = max(a)", "`max` takes at least 2 arguments", 4..10),
            ("y = max()", "`max` takes at least 2 arguments", 4..9),
            ("y = mod * a", "`mod` is a reserved word", 4..7),
            ("y[i] = x[i] if", "`if` without a restriction", 12..14),
            (
                "y[i] = x[i] if i",
                "expected a comparison (`<`, `<=`, `=`, `!=`, `>=`, `>`), found the end of the text",
                16..16,
            ),
            ("y[i] = x[i] if i <  ", "expected an expression, found the end of the text", 20..20),
            (
                "y[i] = x[i] if i*i < 4",
                "expression is not affine: `(i) * (i)` multiplies two unknowns",
                15..18,
            ),
            ("y[i] = x[i] if i $ 4", "unexpected character `$`", 17..18),
            ("y = a; z = b", "unexpected character `;`", 5..6),
            ("y = a < b", "unexpected character `<`", 6..7),
            ("y = é", "unexpected character `é`", 4..6),
            ("y[i'] = x[i']", "unexpected character `\\'`", 3..4),
        ] {
            let e = Program::parse(text).expect_err(text);
            assert_eq!((e.code, e.message.as_str()), (Code::Program, message), "{text}");
            let (span, label) = e.span.as_ref().expect("a place");
            assert_eq!(*span, at, "{text}");
            assert!(!label.is_empty() && e.help.is_some(), "{text}");
            let source = e.source.as_ref().expect("a source");
            assert_eq!((source.name.as_str(), &*source.text), (SOURCE_NAME, text));
        }
    }

    #[test]
    fn hostile_lengths_and_depths_are_refused() {
        for text in [
            format!("y = {}a{}", "(".repeat(1000), ")".repeat(1000)),
            format!("y = {}a", "-".repeat(1000)),
            format!("y = {}a, a{}", "min(".repeat(900), ")".repeat(900)),
            format!("y = a[{}1{}]", "(".repeat(1000), ")".repeat(1000)),
            format!("y = a[i] if {}1 < i{}", "(".repeat(1000), ")".repeat(1000)),
            format!("y = a{}", " + a".repeat(2000)),
        ] {
            let e = Program::parse(&text).unwrap_err();
            assert_eq!(e.code, Code::Program);
            assert!(e.message.contains("too deeply") || e.message.contains("too long"), "{e}");
        }
        let long = format!("y = a{}", "+a".repeat((MAX_LENGTH - 5) / 2));
        assert_eq!(parse(&long).accesses().len(), 1 + (MAX_LENGTH - 5) / 2);
        assert!(parse(&long).to_string().len() > long.len());
        let long = format!("y = x[i] if {}i < 4", "i+".repeat((MAX_LENGTH - 20) / 2));
        assert!(parse(&long).to_string().contains("*i"));
    }
}
