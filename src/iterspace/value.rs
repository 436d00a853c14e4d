//! What a statement computes at a point: an expression whose leaves are operands of its space, or what
//! later stages make of them.
//!
//! ```text
//! value := leaf | number | value ('+' | '-' | '*' | '/') value | '-' value | op '(' value, … ')'
//! ```
//! It is printed with as few parentheses as index notation needs, and read back.

use std::fmt;
use std::ops::Range;

use crate::formula::split::{in_parentheses, split};
use crate::program::{Expr, Literal, Op, Span};

/// An expression over leaves of type `L`.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<L> {
    Leaf(L),
    Literal(Literal),
    Apply(Apply<L>),
}

/// An operator with its operands.
#[derive(Clone, Debug, PartialEq)]
pub struct Apply<L> {
    pub op: Op,
    pub args: Vec<Value<L>>,
    /// In the text of the program.
    pub span: Span,
}

impl<L> Value<L> {
    /// The leaves, from left to right.
    pub fn leaves(&self) -> Vec<&L> {
        let mut out = Vec::new();
        self.visit(&mut |v| {
            if let Value::Leaf(leaf) = v {
                out.push(leaf);
            }
        });
        out
    }

    fn visit<'v>(&'v self, f: &mut impl FnMut(&'v Value<L>)) {
        f(self);
        if let Value::Apply(apply) = self {
            apply.args.iter().for_each(|arg| arg.visit(f));
        }
    }

    /// The same expression over other leaves.
    pub fn map<M>(&self, f: &impl Fn(&L) -> M) -> Value<M> {
        match self {
            Value::Leaf(leaf) => Value::Leaf(f(leaf)),
            Value::Literal(literal) => Value::Literal(literal.clone()),
            Value::Apply(Apply { op, args, span }) => Value::Apply(Apply {
                op: *op,
                args: args.iter().map(|arg| arg.map(f)).collect(),
                span: span.clone(),
            }),
        }
    }

    /// From an expression of a program; `leaf` makes the leaves, and may refuse.
    pub fn of<E>(expr: &Expr, leaf: &mut impl FnMut(&Expr) -> Result<L, E>) -> Result<Value<L>, E> {
        Ok(match expr {
            Expr::Literal(literal) => Value::Literal(literal.clone()),
            Expr::Apply(apply) => Value::Apply(Apply {
                op: apply.op,
                args: apply
                    .args
                    .iter()
                    .map(|arg| Value::of(arg, leaf))
                    .collect::<Result<_, E>>()?,
                span: apply.span.clone(),
            }),
            other => Value::Leaf(leaf(other)?),
        })
    }

    /// The place in the text of the program; none of a leaf.
    pub fn place(&self) -> Option<Range<usize>> {
        match self {
            Value::Leaf(_) => None,
            Value::Literal(literal) => Some(literal.span.clone()),
            Value::Apply(apply) => Some(apply.span.0.clone()),
        }
    }

    pub fn zero() -> Value<L> {
        Value::Literal(Literal { value: 0.0, text: "0".to_string(), span: 0..0 })
    }

    /// The terms of a sum, with whether each is subtracted; just itself if it is none.
    pub fn terms(&self) -> Vec<(bool, &Value<L>)> {
        let mut out = Vec::new();
        self.collect_terms(false, &mut out);
        out
    }

    fn collect_terms<'v>(&'v self, negative: bool, out: &mut Vec<(bool, &'v Value<L>)>) {
        match self {
            Value::Apply(Apply { op: op @ (Op::Add | Op::Sub), args, .. }) if args.len() == 2 => {
                args[0].collect_terms(negative, out);
                args[1].collect_terms(negative != (*op == Op::Sub), out);
            }
            Value::Apply(Apply { op: Op::Neg, args, .. }) => {
                args.iter().for_each(|arg| arg.collect_terms(!negative, out));
            }
            other => out.push((negative, other)),
        }
    }

    pub fn negated(self) -> Value<L> {
        Value::Apply(Apply { op: Op::Neg, args: vec![self], span: Span::default() })
    }

    /// Reads back what is printed; `leaf` reads what is neither a number nor an operator.
    pub fn parse(text: &str, leaf: &impl Fn(&str) -> Option<L>) -> Option<Value<L>> {
        for (ops, binary) in
            [([" + ", " - "], [Op::Add, Op::Sub]), ([" * ", " / "], [Op::Mul, Op::Div])]
        {
            let last = |separator: &str| {
                let parts = split(text, separator);
                (parts.len() > 1).then(|| text.len() - parts[parts.len() - 1].len())
            };
            let (at, op) = match (last(ops[0]), last(ops[1])) {
                (Some(a), b) if Some(a) > b => (a, binary[0]),
                (_, Some(b)) => (b, binary[1]),
                _ => continue,
            };
            let (left, right) = (&text[..at - ops[0].len()], &text[at..]);
            let args = vec![Value::parse(left, leaf)?, Value::parse(right, leaf)?];
            return Some(Value::Apply(Apply { op, args, span: Span::default() }));
        }
        if let Some(rest) = text.strip_prefix('-') {
            return Some(Value::parse(rest, leaf)?.negated());
        }
        if let Some(inner) = in_parentheses(text) {
            return Value::parse(inner, leaf);
        }
        if let Some((name, rest)) = text.split_once('(')
            && let Some(op) = Op::function(name)
            && let Some(inner) = rest.strip_suffix(')')
        {
            let args = split(inner, ", ").into_iter().map(|arg| Value::parse(arg, leaf));
            let args = args.collect::<Option<Vec<_>>>()?;
            return Some(Value::Apply(Apply { op, args, span: Span::default() }));
        }
        if let Ok(value) = text.parse::<f64>() {
            return Some(Value::Literal(Literal { value, text: text.to_string(), span: 0..0 }));
        }
        Some(Value::Leaf(leaf(text)?))
    }
}

/// Binding strengths of the grammar's levels.
const SUM: u8 = 1;
const TERM: u8 = 2;
const UNARY: u8 = 3;

impl<L: fmt::Display> fmt::Display for Value<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f, SUM)
    }
}

impl<L: fmt::Display> Value<L> {
    /// Prints where the grammar wants at least the strength `min`.
    fn print(&self, f: &mut fmt::Formatter<'_>, min: u8) -> fmt::Result {
        let Apply { op, args, .. } = match self {
            Value::Leaf(leaf) => return write!(f, "{leaf}"),
            Value::Literal(literal) => return write!(f, "{literal}"),
            Value::Apply(apply) => apply,
        };
        let strength = match op {
            Op::Add | Op::Sub => SUM,
            Op::Mul | Op::Div => TERM,
            Op::Neg | Op::Min | Op::Max => UNARY,
        };
        match (strength, args.as_slice()) {
            (SUM | TERM, [left, right]) => {
                f.write_str(if strength < min { "(" } else { "" })?;
                left.print(f, strength)?;
                write!(f, " {} ", op.as_str())?;
                right.print(f, strength + 1)?;
                f.write_str(if strength < min { ")" } else { "" })
            }
            (_, [arg]) if *op == Op::Neg => {
                f.write_str("-")?;
                arg.print(f, UNARY)
            }
            _ => {
                write!(f, "{}(", op.as_str())?;
                for (k, arg) in args.iter().enumerate() {
                    f.write_str(if k > 0 { ", " } else { "" })?;
                    arg.print(f, SUM)?;
                }
                f.write_str(")")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Program;

    fn value(text: &str) -> Value<String> {
        let program = Program::parse(&format!("y = {text}")).unwrap();
        let assignment = program.assignment().unwrap();
        Value::of(assignment.value, &mut |leaf| Ok::<_, ()>(leaf.to_string())).unwrap()
    }

    #[test]
    fn what_is_printed_is_read_back() {
        for text in [
            "a",
            "2 * a * -b",
            "a - (b - c) + d",
            "a / (b * c) / d",
            "-(a + b) * 1.5",
            "min(a + 1, b, -c) * max(d, 2)",
            "--a",
        ] {
            let value = value(text);
            assert_eq!(value.to_string(), text);
            assert_eq!(Value::parse(text, &|leaf| Some(leaf.to_string())), Some(value), "{text}");
        }
    }

    #[test]
    fn a_sum_has_terms() {
        let v = value("a - (b - c * d) + -e");
        let terms: Vec<String> = v
            .terms()
            .into_iter()
            .map(|(minus, t)| format!("{}{t}", if minus { "-" } else { "+" }))
            .collect();
        assert_eq!(terms, ["+a", "-b", "+c * d", "-e"]);
    }
}
