//! Integers of few bits beside numbers: as in Julia, a number has 64 bits, and so has what is computed with it.
//!
//! Before → after, for bytes:
//!
//! ```text
//! max(x[i], -1) + div(x[i], 16)   ⟼   max(x[i], -1_i64) + div(x[i], 16)
//! ```
//! Where the result is the same in the narrower type, whatever is read, it is computed in that.

use crate::operators::{Operator, Value, promote};
use crate::program::ir::{Apply, Expr};
use crate::program::scalar::{SUFFIX, number};
use crate::tensor::ValueType;

/// The arguments of an operator, with numbers of 64 bits where narrower ones would compute something else; `types` says
/// the types of those that are no numbers.
pub(super) fn widened(op: &Operator, args: &mut [Expr], types: &[Option<ValueType>]) {
    let declared = |k: usize| {
        let all = op.arguments();
        all.get(k).or(all.last()).and_then(|a| a.exact)
    };
    let meeting = || (0..args.len()).filter(|k| declared(*k).is_none());
    let strong = meeting().filter_map(|k| types[k]).reduce(promote);
    let Some(narrow) = strong.filter(|ty| is_narrow(*ty)) else { return };
    let numbers: Vec<usize> = meeting().filter(|k| types[*k].is_none()).collect();
    let values: Option<Vec<i64>> = numbers.iter().map(|k| integer(&args[*k])).collect();
    let Some(values) = values.filter(|values| !values.is_empty()) else { return };
    let samples: Vec<Vec<i64>> = match args.len() > op.arity() {
        // Two are combined after the other: what holds of any two of the type holds of all.
        true => vec![samples(narrow, false); op.arity()],
        false => {
            let read = types.iter().flatten().filter(|ty| is_narrow(**ty)).count();
            let of = |k: usize| match declared(k).or(types[k]) {
                Some(ty) if types[k].is_some() => samples(ty, read == 1),
                _ => integer(&args[k]).into_iter().collect(),
            };
            (0..args.len()).map(of).collect()
        }
    };
    let typed = |chosen: &[i64], generic: ValueType| -> Option<Value> {
        let values = chosen.iter().enumerate();
        let value = |(k, x): (usize, &i64)| Value::integer(*x, declared(k).unwrap_or(generic));
        op.apply(generic, &values.map(value).collect::<Option<Vec<_>>>()?)
    };
    let alike = |chosen: &[i64]| match (typed(chosen, narrow), typed(chosen, ValueType::I64)) {
        (Some(a), Some(b)) => a.cast(ValueType::I64) == b.cast(ValueType::I64),
        _ => false,
    };
    let fits = values.iter().all(|x| Value::integer(*x, narrow).is_some());
    if !fits || !every_choice(&samples, &mut Vec::new(), &alike) {
        numbers.iter().for_each(|k| widen(&mut args[*k]));
    }
}

/// One of two values, of which one is a number.
pub(super) fn widened_choice(sides: [&mut Expr; 2], types: [Option<ValueType>; 2]) {
    let Some(narrow) = types.iter().flatten().copied().find(|ty| is_narrow(*ty)) else { return };
    for (side, ty) in sides.into_iter().zip(types) {
        if let (None, Some(x)) = (ty, integer(side))
            && Value::integer(x, narrow).is_none()
        {
            widen(side);
        }
    }
}

pub(super) fn is_narrow(ty: ValueType) -> bool {
    matches!(ty, ValueType::U8 | ValueType::I32)
}

/// An integer that is written as a number, or as a negated one.
fn integer(e: &Expr) -> Option<i64> {
    let value = match e {
        Expr::Literal(literal) if !literal.text.contains(['.', 'e', 'E', 'n', 't']) => {
            number(literal, ValueType::I64)?
        }
        Expr::Apply(Apply { op, args, .. }) => match args.as_slice() {
            [inner] => op.apply(ValueType::I64, &[Value::I64(integer(inner)?)])?,
            _ => return None,
        },
        _ => return None,
    };
    match value {
        Value::I64(x) => Some(x),
        _ => None,
    }
}

/// The numbers of an expression get 64 bits.
fn widen(e: &mut Expr) {
    match e {
        Expr::Literal(own) if !own.text.ends_with(SUFFIX) => own.text.push_str(SUFFIX),
        Expr::Apply(apply) => apply.args.iter_mut().for_each(widen),
        _ => {}
    }
}

/// Values of a type, all of them of bytes if that is asked for.
fn samples(ty: ValueType, all: bool) -> Vec<i64> {
    const NEAR: i64 = 4;
    let (least, greatest) = match ty {
        ValueType::Bool => (0, 1),
        ValueType::U8 if all => return (0..=255).collect(),
        ValueType::U8 => (0, 255),
        _ => (i64::from(i32::MIN), i64::from(i32::MAX)),
    };
    let around = |x: i64| (x - NEAR..=x + NEAR).filter(move |x| (least..=greatest).contains(x));
    let mut out: Vec<i64> =
        [least, 0, greatest / 2, greatest].into_iter().flat_map(around).collect();
    out.sort_unstable();
    out.dedup();
    out
}

fn every_choice(
    lists: &[Vec<i64>],
    chosen: &mut Vec<i64>,
    holds: &impl Fn(&[i64]) -> bool,
) -> bool {
    let Some(list) = lists.get(chosen.len()) else { return holds(chosen) };
    list.iter().all(|x| {
        chosen.push(*x);
        let all = every_choice(lists, chosen, holds);
        chosen.pop();
        all
    })
}
