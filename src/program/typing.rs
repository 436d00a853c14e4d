//! Types: every tensor has one, and where two meet, the values are converted as NumPy converts them.
//!
//! In: an expression, the types of its leaves, and the type of what is assigned to. Out: a
//! [`Tree`] with every conversion written out.
//!
//! - Operators say in which type their arguments meet and what they give (`siskin operators`).
//! - A number takes the type of what it stands beside (NumPy's *weak* scalars): `2` is an `i32` beside
//!   one. Beside integers a number with a fraction or an exponent is an `f64`, and so are `inf` and `nan`;
//!   beside `bool`, a whole number is an `i64`. What is written `2_i64` is one anyway.
//! - The value of an index is an `i64`.
//! - What is assigned is converted to the element's type: to a wider one, or within floats and within
//!   integers also to a narrower one. A float is not stored as an integer, and only `bool` as `bool`.
//!
//! Before → after, with `n` of type `i32` and `x` and `y` of type `f64`:
//!
//! ```text
//! y[i] = 2 * n[i] + x[i]   ⟼   f64(2_i32 * n[i]) + x[i]
//! ```

use std::ops::Range;
use std::sync::Arc;

use indexmap::IndexMap;

use super::ir::{Expr, Literal};
use super::scalar::{SUFFIX, number};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;
use crate::operators::{Operator, Operators, ResultRule, Tree, promote};
use crate::tensor::ValueType;

/// The types of the tensors of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Types {
    /// Of tensors that have one of their own.
    pub own: IndexMap<Name, ValueType>,
    /// Of all others.
    pub general: ValueType,
}

impl Types {
    /// One type for all tensors.
    pub fn all(general: ValueType) -> Types {
        Types { own: IndexMap::new(), general }
    }

    /// The type of a tensor.
    pub fn of(&self, tensor: &str) -> ValueType {
        self.own.get(tensor).copied().unwrap_or(self.general)
    }
}

/// The tree of `expr`, of type `wanted`; `target` is what it is assigned to. `leaf` makes the leaves and
/// says of which type they are, and may refuse.
///
/// # Errors
/// [`Code::Program`], with the place, if an operator does not exist for the types of its arguments, a
/// number is none of its type, or the value is of a type that `target` cannot hold.
pub fn typed<L>(
    expr: &Expr,
    wanted: ValueType,
    target: &str,
    leaf: &mut dyn FnMut(&Expr) -> Result<(L, ValueType)>,
) -> Result<Tree<L>> {
    match infer(expr, leaf)? {
        Inferred::Weak { float } if float && !wanted.is_float() => {
            Err(lossy(expr, ValueType::F64, wanted, target))
        }
        Inferred::Weak { .. } => as_type(expr, wanted),
        Inferred::Strong(tree, ty) if fits(ty, wanted) => Ok(tree.converted(ty, wanted)),
        Inferred::Strong(_, ty) => Err(lossy(expr, ty, wanted, target)),
    }
}

/// The tree of `expr`, of its own type.
///
/// # Errors
/// As [`typed`].
pub fn typed_freely<L>(
    expr: &Expr,
    leaf: &mut dyn FnMut(&Expr) -> Result<(L, ValueType)>,
) -> Result<(Tree<L>, ValueType)> {
    let ty = match infer(expr, leaf)? {
        Inferred::Strong(tree, ty) => return Ok((tree, ty)),
        Inferred::Weak { float: true } => ValueType::F64,
        Inferred::Weak { float: false } => ValueType::I64,
    };
    Ok((as_type(expr, ty)?, ty))
}

/// What combines a value with an element of type `ty` gives such an element.
///
/// # Errors
/// [`Code::Program`] if it does not.
pub fn combines(op: &Operator, ty: ValueType, target: &str, place: Range<usize>) -> Result<()> {
    let signature = op.signature(&[ty, ty]).map_err(|e| in_place(e, place.clone()))?;
    if signature.result == ty && signature.arguments == [ty, ty] {
        return Ok(());
    }
    let message =
        format!("`{target}` is {ty}, but combining by `{}` gives {}", op.name(), signature.result);
    let wanted = signature.result;
    Err(Diagnostic::new(Code::Program, message)
        .at(place, "combined here")
        .help(format!("give `{target}` the type {wanted}: `--type {target}={wanted}`")))
}

fn in_place(mut e: Box<Diagnostic>, place: Range<usize>) -> Box<Diagnostic> {
    e.code = Code::Program;
    e.at(place, "used here")
}

/// Whether values of one type may be stored as another.
fn fits(from: ValueType, to: ValueType) -> bool {
    let kind = |ty: ValueType| (ty == ValueType::Bool, ty.is_float());
    promote(from, to) == to || kind(from) == kind(to)
}

fn lossy(expr: &Expr, from: ValueType, to: ValueType, target: &str) -> Box<Diagnostic> {
    let help = match to {
        ValueType::Bool => format!("compare it, `… != 0`, or give `{target}` the type {from}"),
        _ => format!("give `{target}` the type {from}"),
    };
    let message = format!("the value is of type {from}, which `{target}` of type {to} cannot hold");
    Diagnostic::new(Code::Program, message)
        .at(expr.span(), format!("of type {from}"))
        .help(format!("{help}: `--type {target}={from}`"))
}

/// What is known of the type of an expression.
enum Inferred<L> {
    Strong(Tree<L>, ValueType),
    /// Numbers only: the type is that of what it stands beside, unless that has no fractions.
    Weak {
        float: bool,
    },
}

fn infer<L>(
    expr: &Expr,
    leaf: &mut dyn FnMut(&Expr) -> Result<(L, ValueType)>,
) -> Result<Inferred<L>> {
    let (op, place, given): (&Arc<Operator>, _, Vec<&Expr>) = match expr {
        Expr::Literal(literal) => {
            return Ok(match literal.text.as_str() {
                "true" | "false" => {
                    Inferred::Strong(value(literal, ValueType::Bool)?, ValueType::Bool)
                }
                text if text.ends_with(SUFFIX) => {
                    Inferred::Strong(value(literal, ValueType::I64)?, ValueType::I64)
                }
                text => Inferred::Weak { float: text.contains(['.', 'e', 'E', 'n']) },
            });
        }
        Expr::Apply(apply) => (&apply.op, &apply.span, apply.args.iter().collect()),
        // A selection by whether the access lies inside, which is the leaf of the whole.
        Expr::Within(within) => {
            let op = Operators::shipped()?.named("select")?;
            (op, &within.span, vec![expr, &within.inside, &within.outside])
        }
        other => return strong(leaf(other)?),
    };
    let mut args: Vec<Inferred<L>> = Vec::new();
    for arg in &given {
        args.push(if std::ptr::eq(*arg, expr) { strong(leaf(arg)?)? } else { infer(arg, leaf)? });
    }
    let exact = |k: usize| {
        let declared = op.arguments();
        declared.get(k).or(declared.last()).and_then(|a| a.exact)
    };
    let (mut meeting, mut any_float) = (None, false);
    for (k, arg) in args.iter().enumerate().filter(|(k, _)| exact(*k).is_none()) {
        match arg {
            Inferred::Strong(_, ty) => {
                meeting = Some(meeting.map_or(*ty, |m| promote(m, *ty)));
            }
            Inferred::Weak { float } => any_float |= float,
        }
        debug_assert!(k < args.len());
    }
    let all_weak = args.iter().all(|arg| matches!(arg, Inferred::Weak { .. }));
    if all_weak
        && op.result_rule() != ResultRule::Bool
        && (0..args.len()).all(|k| exact(k).is_none())
    {
        let float = any_float || op.result_rule() == ResultRule::Float;
        return Ok(Inferred::Weak { float });
    }
    let weak = |float: bool| match meeting {
        Some(ty) if ty.is_float() => ty,
        _ if float => ValueType::F64,
        Some(ValueType::Bool) | None => ValueType::I64,
        Some(ty) => ty,
    };
    let types: Vec<ValueType> = args
        .iter()
        .enumerate()
        .map(|(k, arg)| match arg {
            Inferred::Strong(_, ty) => *ty,
            Inferred::Weak { float } => exact(k).filter(|_| !float).unwrap_or(weak(*float)),
        })
        .collect();
    let signature = op.signature(&types).map_err(|e| in_place(e, place.0.clone()))?;
    let mut converted = Vec::new();
    for ((arg, given), (from, to)) in
        args.into_iter().zip(given).zip(types.iter().zip(&signature.arguments))
    {
        converted.push(match arg {
            Inferred::Strong(tree, ty) => tree.converted(ty, *to),
            // As a truth value, a number is whether it is not 0.
            Inferred::Weak { .. } if *to == ValueType::Bool => {
                as_type(given, weak(true))?.converted(weak(true), *to)
            }
            Inferred::Weak { .. } if from.is_float() && !to.is_float() => {
                return Err(lossy(given, *from, *to, op.name()));
            }
            Inferred::Weak { .. } => as_type(given, *to)?,
        });
    }
    Ok(Inferred::Strong(folded(op, converted, signature.generic), signature.result))
}

fn strong<L>((leaf, ty): (L, ValueType)) -> Result<Inferred<L>> {
    Ok(Inferred::Strong(Tree::Leaf(leaf), ty))
}

/// A use of an operator; its value if all arguments are numbers.
fn folded<L>(op: &Arc<Operator>, args: Vec<Tree<L>>, generic: ValueType) -> Tree<L> {
    let numbers: Option<Vec<_>> = args
        .iter()
        .map(|arg| match arg {
            Tree::Number(number) => Some(*number),
            _ => None,
        })
        .collect();
    match numbers.and_then(|numbers| op.apply(generic, &numbers)) {
        Some(value) => Tree::Number(value),
        None => Tree::apply(op, args),
    }
}

/// An expression of numbers, in a type.
fn as_type<L>(expr: &Expr, ty: ValueType) -> Result<Tree<L>> {
    match expr {
        Expr::Literal(literal) => value(literal, ty),
        Expr::Apply(apply) => {
            let place = apply.span.0.clone();
            let types = vec![ty; apply.args.len()];
            let signature = apply.op.signature(&types).map_err(|e| in_place(e, place))?;
            let args: Result<Vec<Tree<L>>> = apply
                .args
                .iter()
                .zip(&signature.arguments)
                .map(|(arg, ty)| as_type(arg, *ty))
                .collect();
            Ok(folded(&apply.op, args?, signature.generic).converted(signature.result, ty))
        }
        other => Err(Diagnostic::defect(format!("`{other}` is no number"))),
    }
}

fn value<L>(literal: &Literal, ty: ValueType) -> Result<Tree<L>> {
    number(literal, ty).map(Tree::Number).ok_or_else(|| {
        Diagnostic::new(Code::Program, format!("`{literal}` is not a value of {ty}"))
            .at(literal.span.clone(), "cannot be represented")
            .help("write another number or compute with another type")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Program;

    /// The letter of a tensor's name says its type.
    fn ty(name: &str) -> ValueType {
        match &name[..1] {
            "f" => ValueType::F32,
            "n" => ValueType::I32,
            "m" => ValueType::I64,
            "u" => ValueType::U8,
            "b" => ValueType::Bool,
            _ => ValueType::F64,
        }
    }

    fn tree(text: &str) -> Result<String> {
        let program = Program::parse(text)?;
        let assignment = program.assignment()?;
        let wanted = ty(&assignment.output.tensor);
        let mut leaf = |e: &Expr| {
            let text = e.to_string();
            let ty = if matches!(e, Expr::Index(..)) { ValueType::I64 } else { ty(&text) };
            Ok((text, ty))
        };
        let target = &assignment.output.tensor;
        typed(assignment.value, wanted, target, &mut leaf).map(|tree| tree.to_string())
    }

    #[test]
    fn types_meet_and_numbers_follow() {
        for (text, expected) in [
            ("y = 2 * x", "2.0 * x"),
            ("y = 2 * n + x", "f64(2_i32 * n) + x"),
            ("f = 0.1 * f2 + 1", "0.1_f32 * f2 + 1.0_f32"),
            ("y = f * n", "f64(f) * f64(n)"),
            ("f = f2 * n", "f32(f64(f2) * f64(n))"),
            ("y = 0.5 * n", "0.5 * f64(n)"),
            ("y = n / 2", "f64(n) / 2.0"),
            ("y = 1 / 3 * x", "0.3333333333333333 * x"),
            ("y = 1 / 2 + 1", "1.5"),
            ("y = u + 200", "f64(u + 200_u8)"),
            ("y = x * b", "x * f64(b)"),
            ("m = b + 1", "i64(b) + 1_i64"),
            ("b = n < 3", "n < 3_i32"),
            ("y = n < 3.5", "f64(f64(n) < 3.5)"),
            ("b = and(x, true)", "and(bool(x), true)"),
            ("b = or(2, b2)", "or(true, b2)"),
            ("y = select(x > 0, n, 1)", "f64(select(x > 0.0, n, 1_i32))"),
            ("n = select(b, inf > 0, false)", "i32(select(b, true, false))"),
            ("y = min(n, 2, x)", "min(f64(n), 2.0, x)"),
            ("y[i] = f[i] * i", "f64(f[i]) * f64(i)"),
            ("m = -9223372036854775807 - 1", "-9223372036854775808_i64"),
            ("y = -inf", "-inf"),
            ("b = 1 < 2", "true"),
            ("y = sqrt(n)", "sqrt(f64(n))"),
            ("b = not(m)", "not(bool(m))"),
        ] {
            assert_eq!(tree(text).unwrap_or_else(|e| panic!("{text}: {e}")), expected, "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_in_its_place() {
        for (text, message, at) in [
            ("u = u2 + 256", "`256` is not a value of u8", "256"),
            (
                "n = 0.5 * n2",
                "the value is of type f64, which `n` of type i32 cannot hold",
                "0.5 * n2",
            ),
            ("n = 2.0", "the value is of type f64, which `n` of type i32 cannot hold", "2.0"),
            ("b = x", "the value is of type f64, which `b` of type bool cannot hold", "x"),
            ("b = 2", "`2` is not a value of bool", "2"),
            (
                "b = b2 + 1",
                "the value is of type i64, which `b` of type bool cannot hold",
                "b2 + 1",
            ),
            ("y = band(x, x)", "`band` does not exist for f64", "band(x, x)"),
            ("b = -b2", "`neg` does not exist for bool", "-b2"),
        ] {
            let e = tree(text).expect_err(text);
            assert_eq!((e.code, e.message.as_str()), (Code::Program, message), "{text}");
            assert_eq!(&text[e.span.clone().unwrap().0], at, "{text}");
            assert!(e.help.is_some(), "{text}");
        }
    }
}
