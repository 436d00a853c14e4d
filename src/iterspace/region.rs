//! Where a statement has something to compute: a Boolean algebra over operands (Array §5).
//!
//! In: a value over operands, of which some are stored everywhere. Out: the points at which the value may
//! differ from what it is where nothing is stored.
//!
//! ```text
//! a * b          →  a and b
//! a + b          →  a or b
//! (a + b) * c    →  (a or b) and c
//! ```

use std::fmt;

use super::value::{Apply, Value};
use crate::formula::split::{in_parentheses, split};
use crate::program::Op;

/// A set of points, by what is stored there.
#[derive(Clone, Debug, PartialEq)]
pub enum Region<K = usize> {
    All,
    Nothing,
    /// Where operand number … is stored.
    Stored(K),
    Not(Box<Region<K>>),
    Both(Vec<Region<K>>),
    Either(Vec<Region<K>>),
}

impl<K: Clone + PartialEq> Region<K> {
    pub fn both(parts: impl IntoIterator<Item = Region<K>>) -> Region<K> {
        let mut out: Vec<Region<K>> = Vec::new();
        for part in parts {
            match part {
                Region::All => {}
                Region::Nothing => return Region::Nothing,
                Region::Both(inner) => inner.into_iter().for_each(|p| insert(&mut out, p)),
                part => insert(&mut out, part),
            }
        }
        one_or(out, Region::All, Region::Both)
    }

    pub fn either(parts: impl IntoIterator<Item = Region<K>>) -> Region<K> {
        let mut out: Vec<Region<K>> = Vec::new();
        for part in parts {
            match part {
                Region::Nothing => {}
                Region::All => return Region::All,
                Region::Either(inner) => inner.into_iter().for_each(|p| insert(&mut out, p)),
                part => insert(&mut out, part),
            }
        }
        one_or(out, Region::Nothing, Region::Either)
    }

    pub fn complement(self) -> Region<K> {
        match self {
            Region::All => Region::Nothing,
            Region::Nothing => Region::All,
            Region::Not(inner) => *inner,
            other => Region::Not(Box::new(other)),
        }
    }

    /// The region once it is known of an operand whether it is stored.
    pub fn with(&self, operand: &K, stored: bool) -> Region<K> {
        match self {
            Region::Stored(k) if k == operand => match stored {
                true => Region::All,
                false => Region::Nothing,
            },
            Region::All | Region::Nothing | Region::Stored(_) => self.clone(),
            Region::Not(inner) => inner.with(operand, stored).complement(),
            Region::Both(parts) => Region::both(parts.iter().map(|p| p.with(operand, stored))),
            Region::Either(parts) => Region::either(parts.iter().map(|p| p.with(operand, stored))),
        }
    }

    /// The operands that it mentions, in order of occurrence.
    pub fn operands(&self) -> Vec<K> {
        let mut out = Vec::new();
        self.collect(&mut out);
        out
    }

    fn collect(&self, out: &mut Vec<K>) {
        match self {
            Region::Stored(k) if !out.contains(k) => out.push(k.clone()),
            Region::Stored(_) | Region::All | Region::Nothing => {}
            Region::Not(inner) => inner.collect(out),
            Region::Both(parts) | Region::Either(parts) => {
                parts.iter().for_each(|p| p.collect(out))
            }
        }
    }

    /// Whether it holds where none of the operands is stored.
    pub fn holds_without_any(&self) -> bool {
        let operands = self.operands();
        operands.iter().fold(self.clone(), |r, k| r.with(k, false)) == Region::All
    }

    /// The same region by other names.
    pub fn map<M: Clone + PartialEq>(&self, f: &impl Fn(&K) -> M) -> Region<M> {
        match self {
            Region::All => Region::All,
            Region::Nothing => Region::Nothing,
            Region::Stored(k) => Region::Stored(f(k)),
            Region::Not(inner) => inner.map(f).complement(),
            Region::Both(parts) => Region::both(parts.iter().map(|p| p.map(f))),
            Region::Either(parts) => Region::either(parts.iter().map(|p| p.map(f))),
        }
    }
}

impl Region {
    /// Where `value` may differ from zero; `total` operands are stored everywhere. Zeros that nobody
    /// stores annihilate what they are multiplied by.
    pub fn of(value: &Value<usize>, total: &impl Fn(usize) -> bool) -> Region {
        let Apply { op, args, .. } = match value {
            Value::Leaf(k) if total(*k) => return Region::All,
            Value::Leaf(k) => return Region::Stored(*k),
            Value::Literal(literal) if literal.value == 0.0 => return Region::Nothing,
            Value::Literal(_) => return Region::All,
            Value::Apply(apply) => apply,
        };
        let mut parts = args.iter().map(|arg| Region::of(arg, total));
        match op {
            Op::Mul => Region::both(parts),
            Op::Neg | Op::Add | Op::Sub | Op::Min | Op::Max => Region::either(parts),
            // Nothing by nothing is not a number, so that only the divisor's being everywhere helps.
            Op::Div => match (parts.next(), parts.next()) {
                (Some(dividend), Some(Region::All)) => dividend,
                _ => Region::All,
            },
        }
    }
}

fn insert<K: PartialEq>(out: &mut Vec<Region<K>>, part: Region<K>) {
    if !out.contains(&part) {
        out.push(part);
    }
}

fn one_or<K>(
    mut parts: Vec<Region<K>>,
    none: Region<K>,
    many: fn(Vec<Region<K>>) -> Region<K>,
) -> Region<K> {
    match (parts.pop(), parts.is_empty()) {
        (None, _) => none,
        (Some(only), true) => only,
        (Some(last), false) => {
            parts.push(last);
            many(parts)
        }
    }
}

/// `a and not (b or c)`
impl<K: fmt::Display> fmt::Display for Region<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f, 0)
    }
}

impl<K: fmt::Display> Region<K> {
    fn print(&self, f: &mut fmt::Formatter<'_>, min: u8) -> fmt::Result {
        let (strength, word, parts) = match self {
            Region::All => return f.write_str("everywhere"),
            Region::Nothing => return f.write_str("nowhere"),
            Region::Stored(k) => return k.fmt(f),
            Region::Not(inner) => {
                f.write_str("not ")?;
                return inner.print(f, 2);
            }
            Region::Either(parts) => (0, " or ", parts),
            Region::Both(parts) => (1, " and ", parts),
        };
        f.write_str(if strength < min { "(" } else { "" })?;
        for (k, part) in parts.iter().enumerate() {
            f.write_str(if k > 0 { word } else { "" })?;
            part.print(f, strength + 1)?;
        }
        f.write_str(if strength < min { ")" } else { "" })
    }
}

impl<K: Clone + PartialEq> Region<K> {
    /// Reads back what is printed; `name` reads what an operand is called.
    pub fn parse(text: &str, name: &impl Fn(&str) -> Option<K>) -> Option<Region<K>> {
        let parts = |separator: &str| -> Option<Vec<Region<K>>> {
            split(text, separator).into_iter().map(|part| Region::parse(part, name)).collect()
        };
        if split(text, " or ").len() > 1 {
            return Some(Region::either(parts(" or ")?));
        }
        if split(text, " and ").len() > 1 {
            return Some(Region::both(parts(" and ")?));
        }
        if let Some(inner) = text.strip_prefix("not ") {
            return Some(Region::parse(inner, name)?.complement());
        }
        match (text, in_parentheses(text)) {
            ("everywhere", _) => Some(Region::All),
            ("nowhere", _) => Some(Region::Nothing),
            (_, Some(inner)) => Region::parse(inner, name),
            _ => Some(Region::Stored(name(text)?)),
        }
    }
}
