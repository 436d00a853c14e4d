//! Expressions, built of operators and numbers.

use std::sync::Arc;

use super::functions::operator;
use crate::diagnostic::Result;
use crate::formula::{Affine, Atom, Name};
use crate::operators::{Operator, Operators, Value};
use crate::program::ir::{Access, Apply, Expr, Literal, Span};
use crate::tensor::ValueType;

/// What no position is: the identity of the minimum of positions.
pub const NOWHERE: i64 = i64::MAX;

/// A function of Julia, applied.
pub(super) fn call(name: &str, args: Vec<Expr>) -> Result<Expr> {
    Ok(applied(&operator(name, Operators::shipped()?, &Span::default())?, args))
}

pub(super) fn applied(op: &Arc<Operator>, args: Vec<Expr>) -> Expr {
    Expr::Apply(Apply { op: op.clone(), args, span: Span::default() })
}

pub(super) fn literal(text: impl Into<String>) -> Expr {
    Expr::Literal(Literal { text: text.into(), span: 0..0 })
}

/// A number of any type; what has a sign is an operation.
pub(super) fn constant(value: Value) -> Result<Expr> {
    let float = |text: String, negative: bool| match negative {
        true => call("neg", vec![literal(text)]),
        false => Ok(literal(text)),
    };
    let whole = |value: i64| match value {
        i64::MIN => {
            call("-", vec![call("neg", vec![literal(i64::MAX.to_string())])?, literal("1")])
        }
        negative if negative < 0 => call("neg", vec![literal(negative.unsigned_abs().to_string())]),
        value => Ok(literal(value.to_string())),
    };
    match value {
        Value::F64(x) if x.is_nan() => Ok(literal("nan")),
        Value::F32(x) if x.is_nan() => Ok(literal("nan")),
        Value::F64(x) => float(format!("{:?}", x.abs()), x.is_sign_negative()),
        Value::F32(x) => float(format!("{:?}", x.abs()), x.is_sign_negative()),
        Value::I64(x) => whole(x),
        Value::I32(i32::MIN) => {
            call("-", vec![call("neg", vec![literal(i32::MAX.to_string())])?, literal("1")])
        }
        Value::I32(x) => whole(i64::from(x)),
        Value::U8(x) => Ok(literal(x.to_string())),
        Value::Bool(x) => Ok(literal(x.to_string())),
    }
}

pub(super) fn zero(ty: ValueType) -> Result<Expr> {
    constant(Value::zero(ty))
}

/// The value if all conditions hold, else another.
pub(super) fn guarded(conditions: &[Expr], value: Expr, otherwise: Expr) -> Result<Expr> {
    match all(conditions)? {
        None => Ok(value),
        Some(condition) => call("select", vec![condition, value, otherwise]),
    }
}

/// What a value is guarded by, and the value: the inverse of [`guarded`].
pub(super) fn unguarded<'e>(value: &'e Expr, otherwise: &Expr) -> (Option<&'e Expr>, &'e Expr) {
    if let Expr::Apply(Apply { op, args, .. }) = value
        && let [condition, inner, other] = args.as_slice()
        && op.is_selection()
        && other == otherwise
    {
        return (Some(condition), inner);
    }
    (None, value)
}

/// That all of them hold, if there are any.
pub(super) fn all(conditions: &[Expr]) -> Result<Option<Expr>> {
    let Some((first, rest)) = conditions.split_first() else { return Ok(None) };
    let both = |a: Expr, b: &Expr| call("&&", vec![a, b.clone()]);
    rest.iter().try_fold(first.clone(), both).map(Some)
}

/// That a number is not negative, and below an extent.
pub(super) fn below(number: Expr, extent: usize) -> Result<[Expr; 2]> {
    let least = call(">=", vec![number.clone(), literal("0")])?;
    Ok([least, call("<", vec![number, literal(extent.to_string())])?])
}

/// A linear form of indices and of values by name.
pub(super) fn form(affine: &Affine, value: &impl Fn(&Name) -> Expr) -> Result<Expr> {
    let mut out: Option<Expr> = None;
    for (atom, coefficient) in affine.terms() {
        let Atom::Var(name) = atom else { continue };
        let term = match coefficient {
            1 => value(name),
            c => call("*", vec![constant(Value::I64(*c))?, value(name)])?,
        };
        out = Some(match out {
            None => term,
            Some(sum) => call("+", vec![sum, term])?,
        });
    }
    let offset = affine.offset();
    Ok(match (out, offset) {
        (None, offset) => constant(Value::I64(offset))?,
        (Some(sum), 0) => sum,
        (Some(sum), offset) if offset < 0 && offset != i64::MIN => {
            call("-", vec![sum, literal(offset.unsigned_abs().to_string())])?
        }
        (Some(sum), offset) => call("+", vec![sum, constant(Value::I64(offset))?])?,
    })
}

pub(super) fn index(name: &Name) -> Expr {
    Expr::Index(name.clone(), Span::default())
}

/// All indices that decide a value.
pub(super) fn indices(e: &Expr) -> Vec<Name> {
    let mut out = Vec::new();
    e.visit(&mut |e| {
        if let Expr::Index(name, _) = e {
            out.push(name.clone());
        }
    });
    for access in e.accesses() {
        access.visit_indices(&mut |index| out.push(index.clone()));
    }
    out
}

/// An element at indices.
pub(super) fn element(tensor: &Name, indices: &[Name]) -> Access {
    let subscripts = indices.iter().map(|i| Affine::var(i.clone())).collect();
    Access { tensor: tensor.clone(), subscripts, windows: Vec::new(), span: 0..0 }
}

/// An expression with all its accesses changed, and what asks whether one lies inside.
pub(super) fn with_leaves(
    e: &Expr,
    change: &mut impl FnMut(&Expr) -> Result<Option<Expr>>,
) -> Result<Expr> {
    if let Some(changed) = change(e)? {
        return Ok(changed);
    }
    Ok(match e {
        Expr::Apply(apply) => {
            let args: Result<Vec<Expr>> =
                apply.args.iter().map(|arg| with_leaves(arg, change)).collect();
            Expr::Apply(Apply { op: apply.op.clone(), args: args?, span: apply.span.clone() })
        }
        Expr::Within(within) => {
            let mut within = within.clone();
            within.inside = with_leaves(&within.inside, change)?;
            within.outside = with_leaves(&within.outside, change)?;
            Expr::Within(within)
        }
        other => other.clone(),
    })
}

/// Whether an element of a tensor is read; asking whether it lies inside reads nothing.
pub(super) fn reads(e: &Expr, tensor: &Name) -> bool {
    let mut found = false;
    e.visit(&mut |e| found |= matches!(e, Expr::Access(a) if a.tensor == *tensor));
    found
}
