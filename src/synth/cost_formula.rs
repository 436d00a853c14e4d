//! Formulas of cost and memory: small typed expressions over quantities and constants of the machine.
//!
//! ```text
//! sum     := product (("+" | "-") product)*
//! product := factor (("*" | "/") factor)*
//! factor  := NUMBER | NAME | FUNCTION "(" sum ("," sum)* ")" | "(" sum ")" | "-" factor
//! ```
//!
//! A formula is parsed once, when its template is read; which names it may use is checked there. It has a
//! value over `f64`, prints as it reads, and prints as Rust over variables.
//!
//! Before → after, of [`CostFormula::to_rust`]:
//!
//! ```text
//! queries * log2(1 + length)   →   queries * f64::log2(1.0 + length)
//! ```

use std::fmt;
use std::ops::Range;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::layout::nearest;

/// An expression over named numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum CostFormula {
    Number(f64),
    /// A quantity, or a constant of the machine.
    Named(Box<str>),
    Negated(Box<CostFormula>),
    Binary(Operation, Box<CostFormula>, Box<CostFormula>),
    /// As many arguments as [`Function::arity`] says.
    Call(Function, Vec<CostFormula>),
}

/// An operation between two formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// What formulas may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Min,
    Max,
    Log2,
    /// Of so many branches that are not foreseen, those that a call does not know from the one before, where there are
    /// so many others and so many are remembered: [`MISSED`].
    Missed,
}

/// Deeper formulas are refused: they are read by recursion.
const MOST_NESTED: usize = 64;

/// How tightly a part must bind where it stands.
const SUM: u8 = 0;
const PRODUCT: u8 = 1;
const FACTOR: u8 = 2;

impl Operation {
    fn symbol(self) -> char {
        match self {
            Operation::Add => '+',
            Operation::Subtract => '-',
            Operation::Multiply => '*',
            Operation::Divide => '/',
        }
    }

    fn level(self) -> u8 {
        match self {
            Operation::Add | Operation::Subtract => SUM,
            Operation::Multiply | Operation::Divide => PRODUCT,
        }
    }

    pub(super) fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Operation::Add => a + b,
            Operation::Subtract => a - b,
            Operation::Multiply => a * b,
            Operation::Divide => a / b,
        }
    }
}

impl Function {
    const ALL: [Function; 4] = [Function::Min, Function::Max, Function::Log2, Function::Missed];

    fn name(self) -> &'static str {
        match self {
            Function::Min => "min",
            Function::Max => "max",
            Function::Log2 => "log2",
            Function::Missed => "missed",
        }
    }

    /// How many arguments it takes.
    pub fn arity(self) -> usize {
        match self {
            Function::Min | Function::Max => 2,
            Function::Log2 => 1,
            Function::Missed => 3,
        }
    }
}

impl CostFormula {
    /// Reads a formula over the names of `known`.
    ///
    /// # Errors
    /// [`Code::Find`] at the place in `text`: a slip of syntax, or a name that is not known.
    pub fn parse(text: &str, known: &[&str]) -> Result<CostFormula> {
        let mut parser = Parser { text, at: 0, known, nested: 0 };
        let formula = parser.sum()?;
        let (rest, token) = parser.next();
        match token {
            Token::End => Ok(formula),
            _ => Err(parser.unexpected(rest, "the end of the formula, or an operation")),
        }
    }

    /// Its value, where `of` is that of each name. What has no value (0/0) is infinite: it is never the least.
    pub fn value(&self, of: &dyn Fn(&str) -> f64) -> f64 {
        let value = self.of(of);
        if value.is_nan() { f64::INFINITY } else { value }
    }

    fn of(&self, named: &dyn Fn(&str) -> f64) -> f64 {
        match self {
            CostFormula::Number(number) => *number,
            CostFormula::Named(name) => named(name),
            CostFormula::Negated(a) => -a.of(named),
            CostFormula::Binary(operation, a, b) => operation.of(a.of(named), b.of(named)),
            CostFormula::Call(function, arguments) => {
                let mut values = arguments.iter().map(|a| a.of(named));
                let mut next = || values.next().unwrap_or(f64::NAN);
                match function {
                    Function::Min => next().min(next()),
                    Function::Max => next().max(next()),
                    Function::Log2 => next().log2(),
                    Function::Missed => missed(next(), next(), next()),
                }
            }
        }
    }

    /// The names that it uses, once each, in the order in which they come.
    pub fn names(&self) -> Vec<&str> {
        let mut out = Vec::new();
        self.visit_names(&mut |name| {
            if !out.contains(&name) {
                out.push(name);
            }
        });
        out
    }

    fn visit_names<'a>(&'a self, visit: &mut impl FnMut(&'a str)) {
        match self {
            CostFormula::Number(_) => {}
            CostFormula::Named(name) => visit(name),
            CostFormula::Negated(a) => a.visit_names(visit),
            CostFormula::Binary(_, a, b) => {
                a.visit_names(visit);
                b.visit_names(visit);
            }
            CostFormula::Call(_, arguments) => arguments.iter().for_each(|a| a.visit_names(visit)),
        }
    }

    /// Whether it calls a function.
    pub fn calls(&self, function: Function) -> bool {
        match self {
            CostFormula::Number(_) | CostFormula::Named(_) => false,
            CostFormula::Negated(a) => a.calls(function),
            CostFormula::Binary(_, a, b) => a.calls(function) || b.calls(function),
            CostFormula::Call(called, arguments) => {
                *called == function || arguments.iter().any(|a| a.calls(function))
            }
        }
    }

    /// The same with other names for some.
    #[must_use]
    pub fn renamed(&self, other: &dyn Fn(&str) -> Option<String>) -> CostFormula {
        let again = |formula: &CostFormula| Box::new(formula.renamed(other));
        match self {
            CostFormula::Number(n) => CostFormula::Number(*n),
            CostFormula::Named(name) => {
                CostFormula::Named(other(name).map_or_else(|| name.clone(), String::into_boxed_str))
            }
            CostFormula::Negated(inner) => CostFormula::Negated(again(inner)),
            CostFormula::Binary(operation, a, b) => {
                CostFormula::Binary(*operation, again(a), again(b))
            }
            CostFormula::Call(function, arguments) => {
                let arguments = arguments.iter().map(|a| a.renamed(other));
                CostFormula::Call(*function, arguments.collect())
            }
        }
    }

    /// An expression of Rust over `f64`, in which `name_of` says what stands for each name: a variable, or a
    /// literal. It needs no parentheses as a whole where a sum may stand.
    pub fn to_rust(&self, name_of: impl Fn(&str) -> String) -> String {
        let number = |n: f64| match n.is_infinite() {
            true if n > 0.0 => "f64::INFINITY".to_string(),
            true => "f64::NEG_INFINITY".to_string(),
            false => format!("{n:?}"),
        };
        let call = |f: Function| match f {
            Function::Missed => f.name().to_string(),
            Function::Min | Function::Max | Function::Log2 => format!("f64::{}", f.name()),
        };
        self.written(SUM, &Writing { number: &number, name: &name_of, call: &call })
    }

    /// The same with some names replaced by numbers, as it is printed for people.
    pub fn with_values(&self, name_of: impl Fn(&str) -> String) -> String {
        let call = |f: Function| f.name().to_string();
        self.written(SUM, &Writing { number: &shown, name: &name_of, call: &call })
    }

    fn written(&self, needed: u8, how: &Writing<'_>) -> String {
        let (own, text) = match self {
            CostFormula::Number(number) => (FACTOR, (how.number)(*number)),
            CostFormula::Named(name) => (FACTOR, (how.name)(name)),
            // A sign before another would read as a decrement.
            CostFormula::Negated(a) => (PRODUCT, format!("-{}", a.written(FACTOR, how))),
            CostFormula::Binary(operation, a, b) => {
                let level = operation.level();
                let (a, b) = (a.written(level, how), b.written(level + 1, how));
                (level, format!("{a} {} {b}", operation.symbol()))
            }
            CostFormula::Call(function, arguments) => {
                let arguments: Vec<String> =
                    arguments.iter().map(|a| a.written(SUM, how)).collect();
                (FACTOR, format!("{}({})", (how.call)(*function), arguments.join(", ")))
            }
        };
        if own < needed { format!("({text})") } else { text }
    }
}

/// How many of so many branches that are not foreseen a processor misses that has run the same code on the same data
/// before: half of them where there are, with `others`, as many as are `remembered`. Of few it remembers how each
/// went, of many none.
fn missed(branches: f64, others: f64, remembered: f64) -> f64 {
    let share = ((branches + others) / remembered).powi(3).min(1e9);
    branches * share / (1.0 + share)
}

/// The same in Rust, as [`CostFormula::to_rust`] calls it.
pub const MISSED: &str = "
/// How many of so many branches that are not foreseen are missed where the same data were there before.
fn missed(branches: f64, others: f64, remembered: f64) -> f64 {
    let share = ((branches + others) / remembered).powi(3).min(1e9);
    branches * share / (1.0 + share)
}
";

/// How the parts of a formula are spelled.
struct Writing<'a> {
    number: &'a dyn Fn(f64) -> String,
    name: &'a dyn Fn(&str) -> String,
    call: &'a dyn Fn(Function) -> String,
}

/// A number as a formula has it: `4e6`, `0.25`, `12`.
fn shown(number: f64) -> String {
    match number.abs() {
        n if n != 0.0 && !(1e-4..1e6).contains(&n) => format!("{number:e}"),
        _ => number.to_string(),
    }
}

/// As it reads.
impl fmt::Display for CostFormula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.with_values(str::to_string))
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(f64),
    Name,
    Symbol(char),
    End,
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    known: &'a [&'a str],
    nested: usize,
}

impl Parser<'_> {
    /// The token at the place, which is not moved, and its bytes.
    fn peek(&self) -> (Range<usize>, Token) {
        let rest = &self.text[self.at..];
        let start = self.at + (rest.len() - rest.trim_start().len());
        let rest = &self.text[start..];
        let Some(first) = rest.chars().next() else { return (start..start, Token::End) };
        if first.is_ascii_digit() || first == '.' {
            let length = number_length(rest);
            // What is no number is pointed at as a symbol.
            let number = rest[..length].parse::<f64>().ok().filter(|n| n.is_finite());
            let token = number.map_or(Token::Symbol(first), Token::Number);
            return (start..start + length.max(1), token);
        }
        if first.is_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            return (start..start + end.unwrap_or(rest.len()), Token::Name);
        }
        (start..start + first.len_utf8(), Token::Symbol(first))
    }

    fn next(&mut self) -> (Range<usize>, Token) {
        let (span, token) = self.peek();
        self.at = span.end;
        (span, token)
    }

    /// Takes one of these symbols, if it comes next.
    fn one_of(&mut self, symbols: &[char]) -> Option<char> {
        match self.peek() {
            (span, Token::Symbol(symbol)) if symbols.contains(&symbol) => {
                self.at = span.end;
                Some(symbol)
            }
            _ => None,
        }
    }

    fn expect(&mut self, symbol: char) -> Result<()> {
        match self.next() {
            (_, Token::Symbol(found)) if found == symbol => Ok(()),
            (span, _) => Err(self.unexpected(span, &format!("`{symbol}`"))),
        }
    }

    fn sum(&mut self) -> Result<CostFormula> {
        let mut out = self.product()?;
        while let Some(symbol) = self.one_of(&['+', '-']) {
            let operation = if symbol == '+' { Operation::Add } else { Operation::Subtract };
            out = CostFormula::Binary(operation, Box::new(out), Box::new(self.product()?));
        }
        Ok(out)
    }

    fn product(&mut self) -> Result<CostFormula> {
        let mut out = self.factor()?;
        while let Some(symbol) = self.one_of(&['*', '/']) {
            let operation = if symbol == '*' { Operation::Multiply } else { Operation::Divide };
            out = CostFormula::Binary(operation, Box::new(out), Box::new(self.factor()?));
        }
        Ok(out)
    }

    fn factor(&mut self) -> Result<CostFormula> {
        let (span, token) = self.next();
        self.nested += 1;
        if self.nested > MOST_NESTED {
            let deep = format!("the formula is nested more than {MOST_NESTED} times");
            return Err(Diagnostic::new(Code::Find, deep).at(span, "here").help("make it simpler"));
        }
        let out = match token {
            Token::Number(number) => CostFormula::Number(number),
            Token::Symbol('-') => CostFormula::Negated(Box::new(self.factor()?)),
            Token::Symbol('(') => {
                let inner = self.sum()?;
                self.expect(')')?;
                inner
            }
            Token::Name => self.named(span)?,
            _ => return Err(self.unexpected(span, "a number, a name or `(`")),
        };
        self.nested -= 1;
        Ok(out)
    }

    fn named(&mut self, span: Range<usize>) -> Result<CostFormula> {
        let name = &self.text[span.clone()];
        if self.one_of(&['(']).is_none() {
            return match self.known.contains(&name) {
                true => Ok(CostFormula::Named(name.into())),
                false => Err(self.unknown(span, "quantity or constant", self.known)),
            };
        }
        let Some(function) = Function::ALL.into_iter().find(|f| f.name() == name) else {
            return Err(self.unknown(span, "function", &Function::ALL.map(Function::name)));
        };
        let mut arguments = vec![self.sum()?];
        while self.one_of(&[',']).is_some() {
            arguments.push(self.sum()?);
        }
        self.expect(')')?;
        if arguments.len() != function.arity() {
            let takes = match function.arity() {
                1 => "one argument".to_string(),
                n => format!("{n} arguments"),
            };
            let given = arguments.len();
            return Err(Diagnostic::new(
                Code::Find,
                format!("`{name}` takes {takes}, not {given}"),
            )
            .at(span, "here")
            .help("nest calls to combine more: `min(a, min(b, c))`"));
        }
        Ok(CostFormula::Call(function, arguments))
    }

    fn unexpected(&self, span: Range<usize>, wanted: &str) -> Box<Diagnostic> {
        let what = match &self.text[span.clone()] {
            "" => "the formula ends too early".to_string(),
            found => format!("`{found}` is not expected in a formula"),
        };
        Diagnostic::new(Code::Find, what).at(span, format!("{wanted} should be here")).help(
            "a formula has numbers, names, + - * /, min(a, b), max(a, b), log2(a), missed(a, b, c) and \
             parentheses",
        )
    }

    fn unknown(&self, span: Range<usize>, what: &str, known: &[&str]) -> Box<Diagnostic> {
        let name = &self.text[span.clone()];
        let near = nearest(name, known.iter().copied());
        let near = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
        Diagnostic::new(Code::Find, format!("a formula has no {what} `{name}`"))
            .at(span, "not known")
            .help(format!("{near}it may use {}", known.join(", ")))
    }
}

/// Bytes of the number that `text` begins with: `12`, `.5`, `4.0e6`, `1e-3`.
fn number_length(text: &str) -> usize {
    let digits = |from: usize| {
        let rest = text.as_bytes().get(from..).unwrap_or_default();
        from + rest.iter().take_while(|b| b.is_ascii_digit()).count()
    };
    let mut end = digits(0);
    if text[end..].starts_with('.') {
        end = digits(end + 1);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 3] = ["queries", "length", "branch_miss"];

    fn read(text: &str) -> CostFormula {
        CostFormula::parse(text, &KNOWN).unwrap()
    }

    fn valued(text: &str) -> f64 {
        read(text).value(&|name| match name {
            "queries" => 100.0,
            "length" => 8.0,
            _ => 6.0,
        })
    }

    #[test]
    fn formulas_have_the_values_of_arithmetic() {
        for (text, value) in [
            ("1 + 2 * 3", 7.0),
            ("10 - 2 - 3", 5.0),
            ("16 / 4 / 2", 2.0),
            ("16 / (4 / 2)", 8.0),
            ("-2 * -3", 6.0),
            ("2 - -3", 5.0),
            // Queries are 100: half, eight of nine, one of nine, and one of nine since there are others.
            ("missed(queries, 0, 100)", 50.0),
            ("9 * missed(queries, 0, 50)", 800.0),
            ("9 * missed(queries, 0, 200)", 100.0),
            ("9 * missed(queries, 100, 400)", 100.0),
            ("missed(0, 0, 80)", 0.0),
            ("queries * (0.5 + log2(length))", 350.0),
            ("min(queries, 4e1) + max(length, .5)", 48.0),
            ("branch_miss*1.5e-1", 0.9),
        ] {
            assert!((valued(text) - value).abs() < 1e-12, "{text} is {}", valued(text));
        }
        assert_eq!(valued("0 / 0"), f64::INFINITY, "what has no value is never the least");
    }

    #[test]
    fn what_is_printed_reads_as_the_same_formula() {
        for text in [
            "queries * (1 + 2 * length) - (length - 1) / 2",
            "4e6 / (queries / (length * 2))",
            "-(queries + 1) * (-length) - -(-2)",
            "min(queries + 1, max(length, 2)) * log2(1 + length)",
        ] {
            let formula = read(text);
            assert_eq!(formula.to_string(), text);
            assert_eq!(read(&formula.to_string()), formula);
        }
        assert_eq!(read("((queries)) + (1 * 2)").to_string(), "queries + 1 * 2");
        assert_eq!(read("1 + length * length").names(), ["length"]);
    }

    #[test]
    fn what_is_wrong_is_pointed_at() {
        for (text, span, part) in [
            ("queries * lenght", 10..16, "did you mean `length`?"),
            ("queries *", 9..9, "parentheses"),
            ("(queries", 8..8, "parentheses"),
            ("queries length", 8..14, "parentheses"),
            ("sqrt(queries)", 0..4, "min, max, log2"),
            ("min(queries)", 0..3, "nest calls"),
            ("1..5", 2..4, "parentheses"),
            ("2 ^ 3", 2..3, "parentheses"),
            ("é", 0..2, "queries"),
            ("1e999", 0..5, "parentheses"),
        ] {
            let error = CostFormula::parse(text, &KNOWN).unwrap_err();
            assert_eq!(error.code, Code::Find);
            assert_eq!(error.span.as_ref().unwrap().0, span, "{text}: {error:?}");
            assert!(error.help.as_ref().unwrap().contains(part), "{text}: {error:?}");
        }
        let deep = format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000));
        assert!(CostFormula::parse(&deep, &KNOWN).unwrap_err().message.contains("nested"));
        let long = vec!["1"; 1000].join(" + ");
        assert_eq!(valued(&long), 1000.0);
    }
}
