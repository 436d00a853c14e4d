//! Operators that choose: whether the result is one of the arguments, of numbers, of what may be missing and of
//! tuples.
//!
//! ```text
//! missing = "skipped"      coalesce(missing, 2) = 2
//! missing = "chosen"       select(true, missing, 2) = missing
//! by = "lt"                minby((3, 1), (2, 7)) = (2, 7), as 2 < 3
//! parameters = 1           choose(0)(a, b) = choose(a, b, 0)
//! ```

use super::absent::Absent;
use super::expr::{Binary, OpExpr};
use super::operator::{Operator, ResultRule};
use super::schema::{Declaration, Source, Text};
use super::value::Value;
use crate::diagnostic::Result;
use crate::tensor::ValueType;

/// What the key of a declaration says.
pub(super) fn absent(source: &Source, key: Option<&Text>, otherwise: Absent) -> Result<Absent> {
    let Some(text) = key else { return Ok(otherwise) };
    let found = Absent::ALL.iter().find(|(word, _)| word == text.get_ref());
    found.map(|(_, own)| *own).ok_or_else(|| {
        source
            .error(
                format!("`{}` is nothing that becomes of arguments", text.get_ref()),
                text.span(),
            )
            .help("say \"result\", \"skipped\", \"chosen\" or \"refused\"")
    })
}

/// Refuses what the number of arguments or their choice does not bear out.
pub(super) fn fits(op: &Operator, d: &Declaration) -> Result<()> {
    let error =
        |message: &str, at: &Text, help: &str| Err(op.source.error(message, at.span()).help(help));
    if let Some(key) = &d.parameters
        && !(0..op.arguments.len() as i64).contains(key.get_ref())
    {
        let message = format!("these are {} arguments", op.arguments.len());
        return Err(op.source.error(message, key.span()).help(
            "`parameters` is how many of the last arguments are given first: fewer than all",
        ));
    }
    for key in [&d.missing, &d.nothing].into_iter().flatten() {
        match key.get_ref().as_str() {
            "skipped" if op.kept() != Some(0) => {
                let help = "of numbers, it must be its first argument: `all = \"a\"`";
                return error("it does not skip its arguments", key, help);
            }
            "chosen" if !op.is_selection() => {
                let help = "of numbers, it must be `if c { a } else { b }`, with `c: bool`";
                return error("it does not choose by its first argument", key, help);
            }
            _ => {}
        }
    }
    if let Some(by) = &d.by
        && !(op.arity() == 2
            && op.result == ResultRule::Same
            && op.arguments.iter().all(|a| a.exact.is_none()))
    {
        let help = "it needs two arguments of the result's type";
        return error("it cannot choose between tuples", by, help);
    }
    Ok(())
}

/// Tests that what chooses between tuples chooses between their first parts. Nothing if it claims nothing.
pub(super) fn verify_by<'a>(
    op: &Operator,
    find: &dyn Fn(&str) -> Option<&'a Operator>,
    samples: &dyn Fn(ValueType) -> Vec<Value>,
) -> Result<Option<usize>> {
    let Some((name, place)) = &op.by else { return Ok(None) };
    let refused = |message: String| {
        let help =
            "name an operator of two numbers that is true where the first replaces the second";
        Err(op.source.error(message, place.clone()).help(help))
    };
    let Some(by) = find(name).filter(|by| by.arity() == 2 && by.result == ResultRule::Bool) else {
        return refused(format!("`{name}` compares no two numbers"));
    };
    let mut count = 0;
    for ty in op.types() {
        for a in samples(ty) {
            for b in samples(ty) {
                count += 1;
                let replaced = by.eval(&[b, a]).map(|v| v.same(Value::Bool(true)));
                let (Some(replaced), Some(found)) = (replaced, op.eval(&[a, b])) else {
                    return refused(format!("`{name}` does not exist for {ty}"));
                };
                let expected = if replaced { b } else { a };
                if !found.same(expected) {
                    return refused(format!(
                        "it does not choose by `{name}`: of {a} and {b} it is {found}"
                    ));
                }
            }
        }
    }
    Ok(Some(count))
}

impl Operator {
    /// How many of its last arguments are parameters: `choose(0)(a, b)` is `choose(a, b, 0)`.
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// What becomes of arguments that are missing.
    pub fn missing(&self) -> Absent {
        self.missing
    }

    /// What becomes of arguments that are nothing.
    pub fn nothing(&self) -> Absent {
        self.nothing
    }

    /// Of two tuples it is the second if this operator holds for its first part and that of the first; by name.
    pub fn by(&self) -> Option<&str> {
        self.by.as_ref().map(|(name, _)| name.as_str())
    }

    /// The number of the argument that it always is, for all types.
    pub fn kept(&self) -> Option<usize> {
        let (OpExpr::Argument(first, _), true) =
            (self.trees().next()?, !self.variadic || self.arity() == 2)
        else {
            return None;
        };
        let same = |e: &OpExpr| matches!(e, OpExpr::Argument(k, _) if k == first);
        self.trees().all(same).then_some(*first)
    }

    /// Whether it is its second argument where the first, a truth value, holds, and else the third.
    pub fn is_selection(&self) -> bool {
        let chosen = |e: &OpExpr| match e {
            OpExpr::If(c, a, b) => is_argument(c, 0) && is_argument(a, 1) && is_argument(b, 2),
            _ => false,
        };
        self.arguments[0].exact == Some(ValueType::Bool) && self.trees().all(chosen)
    }

    /// Whether it is its first argument if that is not the third, and else the second.
    pub fn is_first_unlike(&self) -> bool {
        let chosen = |e: &OpExpr| match e {
            OpExpr::If(c, a, b) => {
                let unlike = matches!(&**c, OpExpr::Binary(Binary::Ne, x, z)
                    if is_argument(x, 0) && is_argument(z, 2));
                unlike && is_argument(a, 0) && is_argument(b, 1)
            }
            _ => false,
        };
        self.trees().all(chosen)
    }

    fn trees(&self) -> impl Iterator<Item = &OpExpr> {
        self.bodies.iter().map(|b| &b.tree)
    }
}

fn is_argument(e: &OpExpr, wanted: usize) -> bool {
    match e {
        OpExpr::Argument(k, _) => *k == wanted,
        OpExpr::Block(stmts, e) => stmts.is_empty() && is_argument(e, wanted),
        _ => false,
    }
}
