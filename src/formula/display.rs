//! Printing, so that it reads back and reads well: negative terms move to the other side,
//! `a - b - 1 >= 0` prints as `b < a`, and neighbouring bounds of one term join into a chain.

use std::fmt;

use super::{Affine, Arith, Atom, Constraint, Formula, Relop};

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Atom::Var(n) => f.write_str(n),
            Atom::Call(call) => {
                write!(f, "{}(", call.array)?;
                for (k, a) in call.args.iter().enumerate() {
                    let comma = if k > 0 { ", " } else { "" };
                    write!(f, "{comma}{a}")?;
                }
                f.write_str(")")
            }
            Atom::Floor(inner, d) => {
                if inner.terms().len() + usize::from(inner.offset() != 0) > 1
                    || inner.terms().first().is_some_and(|t| t.1 != 1)
                {
                    write!(f, "floor(({inner})/{d})")
                } else {
                    write!(f, "floor({inner}/{d})")
                }
            }
        }
    }
}

impl fmt::Display for Affine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        // Positive terms first: `j - 2*q`, not `-2*q + j`.
        let (positive, negative): (Vec<_>, Vec<_>) = self.terms().iter().partition(|t| t.1 > 0);
        for (atom, c) in positive.into_iter().chain(negative) {
            match (first, *c < 0) {
                (true, true) => f.write_str("-")?,
                (true, false) => {}
                (false, true) => f.write_str(" - ")?,
                (false, false) => f.write_str(" + ")?,
            }
            match c.abs() {
                1 => write!(f, "{atom}")?,
                k => write!(f, "{k}*{atom}")?,
            }
            first = false;
        }
        match (first, self.offset()) {
            (true, c) => write!(f, "{c}"),
            (false, 0) => Ok(()),
            (false, c) if c < 0 => write!(f, " - {}", -c),
            (false, c) => write!(f, " + {c}"),
        }
    }
}

/// `left op right` with all coefficients positive on both sides.
struct Sides {
    left: Affine,
    op: &'static str,
    right: Affine,
}

fn sides(c: &Constraint) -> Sides {
    let split = |a: &Affine| {
        let (pos, neg): (Vec<_>, Vec<_>) = a.terms().iter().cloned().partition(|t| t.1 > 0);
        let neg = neg.into_iter().map(|(a, c)| (a, -c));
        (Affine::from_terms(pos, 0), Affine::from_terms(neg, 0), a.offset())
    };
    match c.relop {
        Relop::Eq | Relop::Ne => {
            let (mut left, mut right, offset) = split(&c.affine);
            // A lone unit atom goes to the left: `i = p0`, `crd(p1) = j`.
            if left.as_atom().is_none() && right.as_atom().is_some() {
                std::mem::swap(&mut left, &mut right);
                let (l, r) = place_constant(left, right, -offset);
                return Sides { left: l, op: eq_op(c.relop), right: r };
            }
            let (left, right) = place_constant(left, right, offset);
            Sides { left, op: eq_op(c.relop), right }
        }
        Relop::Ge => {
            // pos - neg + k >= 0. Prefer `x >= 5`-like forms for a lone positive atom, otherwise
            // `neg < pos` / `neg <= pos + k`.
            let (pos, neg, k) = split(&c.affine);
            if neg.terms().is_empty() {
                return Sides { left: pos, op: ">=", right: Affine::constant(-k) };
            }
            if k < 0 {
                let left = neg + Affine::constant(-k - 1);
                return Sides { left, op: "<", right: pos };
            }
            Sides { left: neg, op: "<=", right: pos + Affine::constant(k) }
        }
    }
}

fn eq_op(relop: Relop) -> &'static str {
    if relop == Relop::Eq { "=" } else { "!=" }
}

/// `left - right + k (=) 0`: puts the constant where it prints as positive, or on the right.
fn place_constant(left: Affine, right: Affine, k: i64) -> (Affine, Affine) {
    if right.terms().is_empty() || k <= 0 {
        (left, right + Affine::constant(-k))
    } else if left.as_atom().is_some() {
        (left, right - Affine::constant(k))
    } else {
        (left + Affine::constant(k), right)
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = sides(self);
        write!(f, "{} {} {}", s.left, s.op, s.right)
    }
}

/// Prints a conjunction with chains: `0 <= p0 < I and i = p0`.
pub fn conjunction(constraints: &[Constraint]) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut used = vec![false; constraints.len()];
    for (k, c) in constraints.iter().enumerate() {
        if used[k] {
            continue;
        }
        used[k] = true;
        // A lower bound `lo <= x` joins the first later upper bound `x < hi` of the same atom.
        if let Some((lo, op, x)) = lower_bound(c) {
            let upper = constraints
                .iter()
                .enumerate()
                .skip(k + 1)
                .filter(|(m, _)| !used[*m])
                .find_map(|(m, d)| upper_bound(d, &x).map(|(op2, hi)| (m, op2, hi)));
            if let Some((m, op2, hi)) = upper {
                used[m] = true;
                out.push(format!("{lo} {op} {x} {op2} {hi}"));
                continue;
            }
        }
        out.push(c.to_string());
    }
    if out.is_empty() { "true".to_string() } else { out.join(" and ") }
}

fn lower_bound(c: &Constraint) -> Option<(String, &'static str, String)> {
    if c.relop != Relop::Ge {
        return None;
    }
    let s = sides(c);
    match s.op {
        ">=" => Some((s.right.to_string(), "<=", s.left.to_string())),
        op => s.right.as_atom().map(|x| (s.left.to_string(), op, x.to_string())),
    }
}

fn upper_bound(c: &Constraint, x: &str) -> Option<(&'static str, String)> {
    if c.relop != Relop::Ge {
        return None;
    }
    let s = sides(c);
    if s.op == ">=" || s.left.to_string() != x {
        return None;
    }
    Some((s.op, s.right.to_string()))
}

/// Binding strength, for parentheses.
fn strength(f: &Formula) -> u8 {
    match f {
        Formula::Implies(..) => 0,
        Formula::Or(v) if v.len() > 1 => 1,
        Formula::And(v) if v.len() > 1 => 2,
        _ => 3,
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let child = |f: &mut fmt::Formatter<'_>, x: &Formula, min: u8| {
            if strength(x) < min { write!(f, "({x})") } else { write!(f, "{x}") }
        };
        match self {
            Formula::Constraint(c) => write!(f, "{c}"),
            Formula::And(v) if v.is_empty() => f.write_str("true"),
            Formula::Or(v) if v.is_empty() => f.write_str("false"),
            Formula::And(v) => {
                // Neighbouring constraints are printed as chains, whatever stands between them.
                let mut first = true;
                for group in v.chunk_by(|a, b| constraint(a).is_some() && constraint(b).is_some()) {
                    if !std::mem::take(&mut first) {
                        f.write_str(" and ")?;
                    }
                    let plain: Vec<Constraint> = group.iter().filter_map(constraint).collect();
                    match plain.is_empty() {
                        true => group.iter().try_for_each(|x| child(f, x, 3))?,
                        false => f.write_str(&conjunction(&plain))?,
                    }
                }
                Ok(())
            }
            Formula::Or(v) => {
                for (k, x) in v.iter().enumerate() {
                    if k > 0 {
                        f.write_str(" or ")?;
                    }
                    child(f, x, 2)?;
                }
                Ok(())
            }
            Formula::Not(x) => match &**x {
                Formula::Predicate(..) => write!(f, "not {x}"),
                _ => write!(f, "not ({x})"),
            },
            Formula::Implies(a, b) => {
                child(f, a, 1)?;
                f.write_str(" => ")?;
                child(f, b, 0)
            }
            Formula::Predicate(n, args) => {
                let args: Vec<String> = args.iter().map(ToString::to_string).collect();
                write!(f, "{n}({})", args.join(", "))
            }
        }
    }
}

fn constraint(f: &Formula) -> Option<Constraint> {
    match f {
        Formula::Constraint(c) => Some(c.clone()),
        _ => None,
    }
}

impl fmt::Display for Arith {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn go(a: &Arith, f: &mut fmt::Formatter<'_>, min: u8) -> fmt::Result {
            let (level, left, op, right) = match a {
                Arith::Int(n) => return write!(f, "{n}"),
                Arith::Var(n) => return f.write_str(n),
                Arith::Call(n, args) => {
                    write!(f, "{n}(")?;
                    for (k, x) in args.iter().enumerate() {
                        if k > 0 {
                            f.write_str(", ")?;
                        }
                        go(x, f, 0)?;
                    }
                    return f.write_str(")");
                }
                Arith::Min(x, y) | Arith::Max(x, y) => {
                    f.write_str(if matches!(a, Arith::Min(..)) { "min(" } else { "max(" })?;
                    go(x, f, 0)?;
                    f.write_str(", ")?;
                    go(y, f, 0)?;
                    return f.write_str(")");
                }
                Arith::Add(x, y) => (1, x, " + ", y),
                Arith::Sub(x, y) => (1, x, " - ", y),
                Arith::Mul(x, y) => (2, x, "*", y),
                Arith::Div(x, y) => (2, x, "/", y),
                Arith::Mod(x, y) => (2, x, " mod ", y),
            };
            if level < min {
                f.write_str("(")?;
            }
            go(left, f, level)?;
            f.write_str(op)?;
            go(right, f, level + 1)?;
            if level < min {
                f.write_str(")")?;
            }
            Ok(())
        }
        go(self, f, 0)
    }
}
