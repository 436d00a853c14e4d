//! Recursive-descent parser of the relation language (isl's notation with index-array calls).
//!
//! ```text
//! relation := '{' piece (';' piece)* '}'
//! piece    := tuple '->' tuple [':' formula]
//! tuple    := '[' [ident (',' ident)*] ']'
//! formula  := or ['=>' formula]
//! or       := and ('or' and)*
//! and      := unary ('and' unary)*
//! unary    := 'not' unary | 'true' | 'false' | '(' formula ')' | chain
//! chain    := sum (cmp sum)+ | ident '(' sums ')'          # the last: a predicate
//! sum      := term (('+' | '-') term)*
//! term     := factor (('*' | '/' | 'mod') factor)*
//! factor   := int [factor] | ident | ident '(' sums ')' | '(' sum ')' | '-' factor
//! ```
//! `floor(e/d)` and `ceil(e/d)` are recognised; `e/d` alone means `floor(e/d)`.

use std::ops::Range;

use super::token::{Token, tokenize};
use super::{Affine, Arith, Constraint, Formula, Name};
use crate::diagnostic::{Code, Diagnostic, Result};

/// One `[inputs] -> [outputs] : formula` of a relation.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    pub inputs: Vec<Name>,
    pub outputs: Vec<Name>,
    pub formula: Formula,
}

/// Names that stand for integers: the parameters of `bcsr(4,4)`. They are replaced before anything
/// else is decided, so `R*p0` is affine.
pub type Constants<'a> = &'a dyn Fn(&str) -> Option<i64>;

/// Parses `{ [..] -> [..] : .. ; .. }`.
pub fn relation(text: &str) -> Result<Vec<Piece>> {
    relation_with(text, &|_| None)
}

/// [`relation`] with integer parameters.
pub fn relation_with(text: &str, constants: Constants<'_>) -> Result<Vec<Piece>> {
    let mut p = Parser::with(text, constants)?;
    let mut pieces = Vec::new();
    // `{…} ∪ {…}` and `{… ; …}` are both unions.
    loop {
        p.expect("{")?;
        loop {
            pieces.push(p.piece()?);
            if !p.eat(";") {
                break;
            }
        }
        p.expect("}")?;
        if !(p.eat(";") || p.eat("or")) {
            break;
        }
    }
    p.finish()?;
    Ok(pieces)
}

/// Parses a formula, possibly with predicates.
pub fn formula(text: &str) -> Result<Formula> {
    formula_with(text, &|_| None)
}

/// [`formula`] with integer parameters.
pub fn formula_with(text: &str, constants: Constants<'_>) -> Result<Formula> {
    let mut p = Parser::with(text, constants)?;
    let f = p.formula()?;
    p.finish()?;
    Ok(f)
}

/// Parses an integer expression, affine or not.
pub fn arith(text: &str) -> Result<Arith> {
    arith_with(text, &|_| None)
}

/// [`arith`] with integer parameters.
pub fn arith_with(text: &str, constants: Constants<'_>) -> Result<Arith> {
    let mut p = Parser::with(text, constants)?;
    let (a, _) = p.sum()?;
    p.finish()?;
    Ok(a)
}

/// Parses an affine expression.
pub fn affine(text: &str) -> Result<Affine> {
    let mut p = Parser::new(text)?;
    let (a, span) = p.sum()?;
    p.finish()?;
    a.to_affine_at(span)
}

struct Parser {
    tokens: Vec<(Token, Range<usize>)>,
    at: usize,
    depth: usize,
    /// Sums that enclose the current place.
    sums: usize,
    /// Operators of the outermost of these sums so far.
    operators: usize,
}

/// Deeper nesting than any sensible declaration; bounds recursion on hostile input.
const MAX_DEPTH: usize = 200;

/// Operators of one expression. `a + b + c + …` nests to the left as deep as it is long, and all
/// that is done with expressions is recursive.
const MAX_OPERATORS: usize = 4096;

/// Words and signs of one text.
const MAX_TOKENS: usize = 100_000;

impl Parser {
    fn new(text: &str) -> Result<Self> {
        Parser::with(text, &|_| None)
    }

    fn with(text: &str, constants: Constants<'_>) -> Result<Self> {
        let mut tokens = tokenize(text)?;
        if let Some((_, place)) = tokens.get(MAX_TOKENS) {
            return Err(too_long(place.clone(), "words and signs", MAX_TOKENS));
        }
        for (token, _) in &mut tokens {
            if let Token::Ident(name) = token
                && let Some(value) = constants(name)
            {
                *token = Token::Int(value);
            }
        }
        Ok(Parser { tokens, at: 0, depth: 0, sums: 0, operators: 0 })
    }

    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn peek_sym(&self) -> &'static str {
        match self.peek() {
            Token::Sym(s) => s,
            _ => "",
        }
    }

    fn span(&self) -> Range<usize> {
        self.tokens[self.at].1.clone()
    }

    fn span_from(&self, start: usize) -> Range<usize> {
        let last = self.at.saturating_sub(1).max(start);
        self.tokens[start].1.start..self.tokens[last].1.end
    }

    fn eat(&mut self, sym: &str) -> bool {
        let hit = self.peek_sym() == sym;
        if hit {
            self.at += 1;
        }
        hit
    }

    fn expect(&mut self, sym: &str) -> Result<()> {
        if self.eat(sym) { Ok(()) } else { Err(self.unexpected(&format!("`{sym}`"))) }
    }

    fn unexpected(&self, wanted: &str) -> Box<Diagnostic> {
        let found = match self.peek() {
            Token::Ident(s) => format!("`{s}`"),
            Token::Int(n) => format!("`{n}`"),
            Token::Sym(s) => format!("`{s}`"),
            Token::End => "the end of the text".to_string(),
        };
        Diagnostic::new(Code::Syntax, format!("expected {wanted}, found {found}"))
            .at(self.span(), format!("expected {wanted}"))
    }

    fn finish(&self) -> Result<()> {
        match self.peek() {
            Token::End => Ok(()),
            _ => Err(self.unexpected("the end of the expression")),
        }
    }

    fn ident(&mut self, what: &str) -> Result<Name> {
        match self.peek() {
            Token::Ident(s) => {
                let name = Name::from(s.as_str());
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.unexpected(what)),
        }
    }

    fn tuple(&mut self) -> Result<Vec<Name>> {
        self.expect("[")?;
        let mut names: Vec<Name> = Vec::new();
        if self.eat("]") {
            return Ok(names);
        }
        loop {
            let span = self.span();
            let name = self.ident("a variable name")?;
            if names.contains(&name) {
                return Err(Diagnostic::new(
                    Code::Syntax,
                    format!("variable `{name}` occurs twice in one tuple"),
                )
                .at(span, "second occurrence")
                .help("give it another name and add an equation"));
            }
            names.push(name);
            if !self.eat(",") {
                break;
            }
        }
        self.expect("]")?;
        Ok(names)
    }

    fn piece(&mut self) -> Result<Piece> {
        let inputs = self.tuple()?;
        self.expect("->")?;
        let outputs = self.tuple()?;
        let formula = if self.eat(":") { self.formula()? } else { Formula::truth(true) };
        Ok(Piece { inputs, outputs, formula })
    }

    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Diagnostic::new(Code::Syntax, "expression is nested too deeply")
                .at(self.span(), "here"));
        }
        let out = f(self);
        self.depth -= 1;
        out
    }

    fn formula(&mut self) -> Result<Formula> {
        self.nested(|p| {
            let left = p.disjunction()?;
            if p.eat("=>") {
                let right = p.formula()?;
                return Ok(left.implies(right));
            }
            if p.eat("<->") {
                let right = p.formula()?;
                return Ok(Formula::and([
                    left.clone().implies(right.clone()),
                    right.implies(left),
                ]));
            }
            Ok(left)
        })
    }

    fn disjunction(&mut self) -> Result<Formula> {
        let mut parts = vec![self.conjunction()?];
        while self.eat("or") {
            parts.push(self.conjunction()?);
        }
        Ok(Formula::or(parts))
    }

    fn conjunction(&mut self) -> Result<Formula> {
        let mut parts = vec![self.unary()?];
        while self.eat("and") {
            parts.push(self.unary()?);
        }
        Ok(Formula::and(parts))
    }

    fn unary(&mut self) -> Result<Formula> {
        if self.eat("not") {
            return Ok(self.nested(Self::unary)?.not());
        }
        if self.eat("true") {
            return Ok(Formula::truth(true));
        }
        if self.eat("false") {
            return Ok(Formula::truth(false));
        }
        if self.peek_sym() == "(" {
            // `(a < b) and …` or `(a + b) < c`: try the formula, fall back to the comparison.
            let (start, depth) = (self.at, self.depth);
            self.at += 1;
            if let Ok(inner) = self.formula()
                && self.eat(")")
                && !is_comparison(self.peek_sym())
                && !matches!(self.peek_sym(), "+" | "-" | "*" | "/" | "mod")
            {
                return Ok(inner);
            }
            (self.at, self.depth) = (start, depth);
        }
        self.chain()
    }

    fn chain(&mut self) -> Result<Formula> {
        let start = self.at;
        let (first, first_span) = self.sum()?;
        if !is_comparison(self.peek_sym()) {
            if let Arith::Call(name, args) = &first
                && self.at > start
            {
                let args: Result<Vec<_>> =
                    args.iter().map(|a| a.to_affine_at(first_span.clone())).collect();
                return Ok(Formula::Predicate(name.clone(), args?));
            }
            return Err(self.unexpected("a comparison (`<`, `<=`, `=`, `!=`, `>=`, `>`)"));
        }
        let mut left = first.to_affine_at(first_span)?;
        let mut parts = Vec::new();
        while is_comparison(self.peek_sym()) {
            let op = self.peek_sym();
            self.at += 1;
            let (right, span) = self.sum()?;
            let right = right.to_affine_at(span)?;
            parts.push(Formula::Constraint(compare(op, left, right.clone())));
            left = right;
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Formula::And(parts) })
    }

    fn sum(&mut self) -> Result<(Arith, Range<usize>)> {
        if self.sums == 0 {
            self.operators = 0;
        }
        self.sums += 1;
        let out = self.nested(|p| {
            let start = p.at;
            let mut left = p.term()?;
            loop {
                if p.eat("+") {
                    p.count_operator()?;
                    left = Arith::Add(Box::new(left), Box::new(p.term()?));
                } else if p.eat("-") {
                    p.count_operator()?;
                    left = Arith::Sub(Box::new(left), Box::new(p.term()?));
                } else {
                    return Ok((left, p.span_from(start)));
                }
            }
        });
        self.sums -= 1;
        out
    }

    fn count_operator(&mut self) -> Result<()> {
        self.operators += 1;
        match self.operators > MAX_OPERATORS {
            true => Err(too_long(self.span(), "operators", MAX_OPERATORS)),
            false => Ok(()),
        }
    }

    fn term(&mut self) -> Result<Arith> {
        let mut left = self.factor()?;
        loop {
            let build = match self.peek_sym() {
                "*" => Arith::Mul,
                "/" => Arith::Div,
                "mod" => Arith::Mod,
                _ => return Ok(left),
            };
            self.at += 1;
            self.count_operator()?;
            left = build(Box::new(left), Box::new(self.factor()?));
        }
    }

    fn factor(&mut self) -> Result<Arith> {
        if self.eat("-") {
            let inner = self.nested(Self::factor)?;
            return Ok(match inner {
                Arith::Int(n) => Arith::Int(-n),
                other => Arith::Mul(Box::new(Arith::Int(-1)), Box::new(other)),
            });
        }
        if self.eat("(") {
            let (inner, _) = self.sum()?;
            self.expect(")")?;
            return Ok(inner);
        }
        match self.peek().clone() {
            Token::Int(n) => {
                self.at += 1;
                // isl writes `2i` for `2 * i`.
                if matches!(self.peek(), Token::Ident(_)) {
                    let right = self.factor()?;
                    return Ok(Arith::Mul(Box::new(Arith::Int(n)), Box::new(right)));
                }
                Ok(Arith::Int(n))
            }
            Token::Ident(name) => {
                self.at += 1;
                if !self.eat("(") {
                    return Ok(Arith::Var(Name::from(name.as_str())));
                }
                let start = self.at - 2;
                let mut args = Vec::new();
                if !self.eat(")") {
                    loop {
                        args.push(self.sum()?.0);
                        if !self.eat(",") {
                            break;
                        }
                    }
                    self.expect(")")?;
                }
                self.builtin(&name, args, start)
            }
            _ => Err(self.unexpected("an expression")),
        }
    }

    /// `floor`, `ceil`, `min`, `max`, or else a call of an index array.
    fn builtin(&self, name: &str, mut args: Vec<Arith>, start: usize) -> Result<Arith> {
        let arity = |n: usize| {
            if args.len() == n {
                return Ok(());
            }
            Err(Diagnostic::new(Code::Syntax, format!("`{name}` takes {n} argument(s)"))
                .at(self.span_from(start), format!("{} given", args.len())))
        };
        match name {
            "floor" => {
                arity(1)?;
                Ok(args.remove(0))
            }
            "ceil" => {
                arity(1)?;
                Ok(match args.remove(0) {
                    // ceil(a / d) = floor((a + d - 1) / d)
                    Arith::Div(a, d) => Arith::Div(
                        Box::new(Arith::Add(
                            a,
                            Box::new(Arith::Sub(d.clone(), Box::new(Arith::Int(1)))),
                        )),
                        d,
                    ),
                    other => other,
                })
            }
            "min" | "max" => {
                arity(2)?;
                let b = Box::new(args.remove(1));
                let a = Box::new(args.remove(0));
                Ok(if name == "min" { Arith::Min(a, b) } else { Arith::Max(a, b) })
            }
            _ => Ok(Arith::Call(Name::from(name), args)),
        }
    }
}

fn too_long(place: Range<usize>, what: &str, most: usize) -> Box<Diagnostic> {
    Diagnostic::new(Code::Syntax, format!("expression is too long: more than {most} {what}"))
        .at(place, "here")
        .help("use an index array, or a derived size in [params]")
}

fn is_comparison(sym: &str) -> bool {
    matches!(sym, "<" | "<=" | "=" | "!=" | ">" | ">=")
}

fn compare(op: &str, a: Affine, b: Affine) -> Constraint {
    match op {
        "<" => Constraint::lt(a, b),
        "<=" => Constraint::le(a, b),
        ">" => Constraint::lt(b, a),
        ">=" => Constraint::le(b, a),
        "=" => Constraint::eq(a, b),
        _ => Constraint::ne(a, b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_reads_back() {
        for text in [
            "0 <= p0 < I and i = p0 and pos(p0) <= p1 < pos(p0 + 1) and j = crd(p1)",
            "p < q and pos(p) = pos(q) => crd(p) < crd(q)",
            "i != j or 2*i + 3*j <= 7",
            "not (a < b and b < c) => a >= c",
            "i = floor(j/2) and crd(q) = floor((j + 1)/3)",
            "match(q, I) and not continue(q, J)",
            "(a + b) < c and (a < b or b < a)",
        ] {
            let f = formula(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            let printed = f.to_string();
            let again = formula(&printed).unwrap_or_else(|e| panic!("{printed}: {e}"));
            assert_eq!(printed, again.to_string(), "printing is a fixed point for {text}");
            assert_eq!(f.to_dnf_if_plain(), again.to_dnf_if_plain(), "{text} => {printed}");
        }
    }

    impl Formula {
        fn to_dnf_if_plain(&self) -> Option<Vec<Vec<Constraint>>> {
            let mut plain = true;
            let _ = self.expand_predicates::<()>(&mut |_, _| {
                plain = false;
                Ok(Formula::truth(true))
            });
            plain.then(|| {
                let mut dnf = self.to_dnf();
                dnf.iter_mut().for_each(|c| c.sort());
                dnf
            })
        }
    }

    #[test]
    fn an_error_names_its_place() {
        let e = relation("{ [p] -> [i] : 0 <= p < and i = p }").unwrap_err();
        assert_eq!(e.code, Code::Syntax);
        assert_eq!(e.span.as_ref().unwrap().0, 24..27);
        let e = formula("i * j = 3").unwrap_err();
        assert_eq!(e.code, Code::NotAffine);
        let e = formula("i = 3 $ 4").unwrap_err();
        assert_eq!(e.span.as_ref().unwrap().0, 6..7);
    }

    #[test]
    fn hostile_nesting_is_refused_without_overflow() {
        let text = format!("{}1{} < 2", "(".repeat(5000), ")".repeat(5000));
        assert!(formula(&text).is_err());
    }

    #[test]
    fn long_sums_and_products_are_refused_without_overflow() {
        for sign in [" + ", " - ", "*"] {
            let text = vec!["x"; 100_001].join(sign);
            let e = arith(&text).unwrap_err();
            assert!(e.message.contains("too long"), "{}", e.message);
            let e = formula(&format!("{text} < 2")).unwrap_err();
            assert!(e.span.is_some() && e.help.is_some());
            // Nested at the left end, each level short.
            let nested = (0..150).fold("x".to_string(), |inner, _| {
                format!("({inner}){sign}{}", vec!["x"; 100].join(sign))
            });
            assert!(arith(&nested).is_err());
        }
        let longest = vec!["x"; 1001].join(" + ");
        assert_eq!(affine(&longest).unwrap().to_string(), "1001*x");
        let many = vec!["x < y"; 3000].join(" and ");
        assert!(formula(&many).is_ok(), "the bound is on one expression");
    }

    #[test]
    fn guards_print_as_chains_beside_disjunctions() {
        let text = "0 <= p < I and 0 <= q < N and (p < q or q < p) and 0 <= r < J => f(p) < f(q)";
        assert_eq!(formula(text).unwrap().to_string(), text);
    }

    #[test]
    fn unions_have_two_spellings() {
        let a = relation("{ [p] -> [i] : i = p ; [p] -> [i] : i = p + 1 }").unwrap();
        let b = relation("{ [p] -> [i] : i = p } ∪ { [p] -> [i] : i = p + 1 }").unwrap();
        assert_eq!(a, b);
        assert_eq!(a.len(), 2);
    }
}
