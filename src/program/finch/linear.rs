//! Expressions as linear forms over indices and values of `let`.
//!
//! The forms are over the values that a program speaks of, which count from 1.

use super::syntax::{Expr, Ident, Literal};
use crate::formula::{Affine, Formula};
use crate::program::ir::Span;

/// What a name is in a linear form.
pub(super) trait Names {
    /// Whether it may occur.
    fn is_linear(&self, name: &str) -> bool;
}

impl<F: Fn(&str) -> bool> Names for F {
    fn is_linear(&self, name: &str) -> bool {
        self(name)
    }
}

/// Larger numbers are no places, and products of smaller ones do not overflow.
pub(super) const LARGEST: i64 = 1 << 40;

/// The linear form of an expression; none if it has no such form. Floor divisions by a constant are in
/// forms of conditions only.
pub(super) fn affine(e: &Expr, names: &impl Names, divisions: bool) -> Option<Affine> {
    let inner = |e: &Expr| affine(e, names, divisions);
    let small = |a: Affine| {
        let fits = |c: i64| c.abs() <= LARGEST;
        (fits(a.offset()) && a.terms().iter().all(|(_, c)| fits(*c))).then_some(a)
    };
    let out = match e {
        Expr::Literal(Literal::Integer(text), _) => Affine::constant(text.parse().ok()?),
        Expr::Name(Ident { name, .. }) if names.is_linear(name) => Affine::var(name.as_str()),
        Expr::Prefix("-", a, _) => -inner(a)?,
        Expr::Prefix("+", a, _) => inner(a)?,
        Expr::Infix("+", a, b) => inner(a)? + inner(b)?,
        Expr::Infix("-", a, b) => inner(a)? - inner(b)?,
        Expr::Infix("*", a, b) => {
            let (a, b) = (inner(a)?, inner(b)?);
            match (a.as_constant(), b.as_constant()) {
                (Some(c), _) => b * c,
                (_, Some(c)) => a * c,
                _ => return None,
            }
        }
        Expr::Call(f, args, _) => match (&**f, args.as_slice()) {
            (Expr::Name(f), [a, b]) if f.name == "fld" && divisions => {
                let divisor = inner(b)?.as_constant().filter(|d| *d > 0)?;
                inner(a)?.floor_div(divisor)
            }
            _ => return None,
        },
        _ => return None,
    };
    small(out)
}

/// Where an expression has a number that is too large for linear forms.
pub(super) fn too_large(e: &Expr) -> Option<&Span> {
    let mut found = None;
    e.visit(&mut |part| {
        if let Expr::Literal(Literal::Integer(text), span) = part
            && !text.parse::<i64>().is_ok_and(|n| n <= LARGEST)
        {
            found = found.or(Some(span));
        }
    });
    found
}

/// The formula of a condition that compares indices and nothing else; none if it is another.
pub(super) fn formula(e: &Expr, names: &impl Names) -> Option<Formula> {
    let inner = |e: &Expr| formula(e, names);
    match e {
        Expr::Literal(Literal::Bool(value), _) => Some(Formula::truth(*value)),
        Expr::Prefix("!", a, _) => Some(inner(a)?.not()),
        Expr::Infix("&&" | "&", a, b) => Some(Formula::and([inner(a)?, inner(b)?])),
        Expr::Infix("||" | "|", a, b) => Some(Formula::or([inner(a)?, inner(b)?])),
        Expr::Chain(first, rest) => {
            let mut left = affine(first, names, true)?;
            let mut parts = Vec::new();
            for (op, e) in rest {
                let right = affine(e, names, true)?;
                let (a, b) = (left, right.clone());
                parts.push(match *op {
                    "==" => Formula::eq(a, b),
                    "!=" => Formula::ne(a, b),
                    "<" => Formula::lt(a, b),
                    "<=" => Formula::le(a, b),
                    ">" => Formula::lt(b, a),
                    _ => Formula::le(b, a),
                });
                left = right;
            }
            Some(Formula::and(parts))
        }
        _ => None,
    }
}

/// The parts of a condition that must all hold, in the order of the text.
pub(super) fn conjuncts(e: &Expr) -> Vec<&Expr> {
    match e {
        Expr::Infix("&&", a, b) => {
            let mut out = conjuncts(a);
            out.extend(conjuncts(b));
            out
        }
        other => vec![other],
    }
}
