//! Where a statement has something to compute (Array §5), and what it computes where operands are missing.
//!
//! In: a value over operands, of which some are stored everywhere. Out: by the algebra of its operators, the
//! points at which it may differ from zero, and simpler values for parts of them.
//!
//! ```text
//! a * b          →  a and b
//! a + b          →  a or b
//! (a + b) * c    →  (a or b) and c; where a is missing, b * c
//! ```

use super::value::{Apply, Value};
use crate::diagnostic::Result;
use crate::operators::algebra::{Expression, derive, region_for};
use crate::operators::{Given, Operators, Region, Simplified, Value as Number, simplify};
use crate::program::{Literal, Scalar};
use crate::tensor::ValueType;

/// Where `value` may differ from zero, of whatever type it is; `total` operands are stored everywhere.
/// Zeros that nobody stores annihilate what they are multiplied by.
///
/// A kernel is planned before its type is chosen, and `max(a - 2, 0)` is not zero for the zeros of `u8`.
///
/// # Errors
/// If a shipped operator is declared wrongly.
pub(super) fn region(value: &Value<usize>, total: &impl Fn(usize) -> bool) -> Result<Region> {
    let mut out = Region::Nothing;
    for ty in ValueType::ALL {
        // What a type does not have is refused when it is chosen.
        let Some(expression) = expression(value, total, ty)? else { continue };
        let Ok(derived) = derive(&expression, false) else { continue };
        let zero = Number::zero(derived.value_type);
        out = out.either(by_presence(&region_for(&derived, zero)));
    }
    Ok(out)
}

/// `None` if the type lacks a literal.
fn expression(
    value: &Value<usize>,
    total: &impl Fn(usize) -> bool,
    ty: ValueType,
) -> Result<Option<Expression>> {
    Ok(Some(match value {
        Value::Leaf(k) if total(*k) => Expression::Unknown(ty),
        Value::Leaf(k) => Expression::Operand { number: *k, fill: Number::zero(ty) },
        Value::Literal(literal) => match number(literal, ty) {
            Some(number) => Expression::Literal(number),
            None => return Ok(None),
        },
        Value::Apply(Apply { op, args, .. }) => {
            let mut parts = Vec::new();
            for arg in args {
                match expression(arg, total, ty)? {
                    Some(part) => parts.push(part),
                    None => return Ok(None),
                }
            }
            Expression::Apply(Operators::shipped()?.named(op.operator())?.clone(), parts)
        }
    }))
}

fn number(literal: &Literal, ty: ValueType) -> Option<Number> {
    match ty {
        ValueType::F64 => f64::literal(literal).map(Number::F64),
        ValueType::F32 => f32::literal(literal).map(Number::F32),
        ValueType::I64 => i64::literal(literal).map(Number::I64),
        ValueType::I32 => i32::literal(literal).map(Number::I32),
        ValueType::U8 => u8::literal(literal).map(Number::U8),
        ValueType::Bool => bool::literal(literal).map(Number::Bool),
    }
}

/// The region in terms of what is found. An entry that holds a zero is found, and yet may be in `not A`.
fn by_presence(region: &Region) -> Region {
    match region {
        Region::Not(_) => Region::All,
        Region::All | Region::Nothing | Region::Stored(_) => region.clone(),
        Region::Both(parts) => Region::all_of(parts.iter().map(by_presence)),
        Region::Either(parts) => Region::any_of(parts.iter().map(by_presence)),
    }
}

/// The value where the leaves for which `missing` holds are zero.
///
/// # Errors
/// As [`region`].
pub(super) fn without(
    value: &Value<usize>,
    missing: &impl Fn(usize) -> bool,
) -> Result<Value<usize>> {
    let Apply { op, args, span } = match value {
        Value::Leaf(k) if missing(*k) => return Ok(Value::zero()),
        Value::Leaf(_) | Value::Literal(_) => return Ok(value.clone()),
        Value::Apply(apply) => apply,
    };
    let args: Result<Vec<_>> = args.iter().map(|arg| without(arg, missing)).collect();
    let args = args?;
    // As it is written, where nothing is missing.
    let is_less = |arg: &Value<usize>| arg.leaves().into_iter().any(|k| missing(*k));
    let kept = Value::Apply(Apply { op: *op, args: args.clone(), span: span.clone() });
    if !is_less(value) {
        return Ok(kept);
    }
    let operator = Operators::shipped()?.named(op.operator())?;
    let mut found: Option<Simplified> = None;
    for ty in ValueType::ALL {
        let Some(given) = given(&args, ty) else { continue };
        let types = vec![ty; args.len()];
        if operator.signature(&types).is_err() {
            continue;
        }
        let simplified = match simplify(operator, &types, &given, true) {
            Simplified::Constant(number) => Simplified::Constant(number.cast(ValueType::F64)),
            other => other,
        };
        if found.is_some_and(|found| found != simplified) {
            return Ok(kept);
        }
        found = Some(simplified);
    }
    Ok(match found {
        Some(Simplified::Argument(k)) => args[k].clone(),
        // A literal has no sign.
        Some(Simplified::Constant(Number::F64(value))) if value.is_finite() && value >= 0.0 => {
            let text = format!("{value}");
            Value::Literal(Literal { value, text, span: span.0.clone() })
        }
        _ => kept,
    })
}

/// What is known of arguments; `None` if the type lacks a literal.
fn given(args: &[Value<usize>], ty: ValueType) -> Option<Vec<Given>> {
    let given = args.iter().enumerate().map(|(k, arg)| match arg {
        Value::Literal(literal) => number(literal, ty).map(Given::Known),
        _ => Some(Given::Unknown(k)),
    });
    given.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Expr, Program};

    const NAMES: [&str; 4] = ["a", "b", "c", "d"];

    fn value(text: &str) -> Value<usize> {
        let program = Program::parse(&format!("y = {text}")).unwrap();
        let number = |leaf: &Expr| NAMES.iter().position(|n| *n == leaf.to_string()).ok_or(());
        Value::of(program.assignment().unwrap().value, &mut |leaf| number(leaf)).unwrap()
    }

    #[test]
    fn regions_follow_from_the_operators() {
        // `d` is stored everywhere.
        for (text, expected) in [
            ("a * b", "a and b"),
            ("a + b - c", "a or b or c"),
            ("(a + b) * c", "c and (a or b)"),
            ("max(a, b) * -d", "a or b"),
            ("a / d", "a"),
            ("a / b", "a"),
            ("a + d", "everywhere"),
            ("min(a, 2)", "a"),
            ("min(a, 0 - 2)", "everywhere"),
            ("2 * a + 1", "everywhere"),
            // Not of `u8`, whose zeros are followed by 254.
            ("max(a - 2, 0)", "everywhere"),
            ("min(a, 9223372036854775807 + 1)", "everywhere"),
        ] {
            let region = region(&value(text), &|k| k == 3).unwrap();
            assert_eq!(region.map(&|k: &usize| NAMES[*k]).to_string(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_missing_leaves_the_rest() {
        let left = |text: &str, gone: &[&str]| {
            let value = without(&value(text), &|k| gone.contains(&NAMES[k])).unwrap();
            value.map(&|k: &usize| NAMES[*k]).to_string()
        };
        assert_eq!(left("a + b * c", &["a"]), "b * c");
        assert_eq!(left("a + b * c", &["c"]), "a");
        assert_eq!(left("a - b", &["b"]), "a");
        assert_eq!(left("min(a, b) * c", &["a"]), "min(0, b) * c");
        assert_eq!(left("min(a, b, 0) + c", &["a", "b"]), "c");
        assert_eq!(left("(a - b) / c", &["a", "b"]), "0");
        assert_eq!(left("a / b", &["b"]), "a / 0");
        assert_eq!(left("0 * a + b", &["b"]), "0 * a", "what is written stays");
    }
}
