//! What an operator is when some of its arguments are known.

use super::operator::{Operator, Special, SpecialResult};
use super::value::Value;
use crate::tensor::ValueType;

/// What is known of an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Given {
    /// It has this value.
    Known(Value),
    /// It is the expression of this number; equal numbers stand for equal values.
    Unknown(usize),
}

/// What a use of an operator is equal to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Simplified {
    /// This value, of the result's type.
    Constant(Value),
    /// The argument with this number, converted to the result's type.
    Argument(usize),
    /// Nothing simpler.
    Nothing,
}

/// Simplifies a use whose arguments have the given types. With `fast_math`, what holds for finite
/// floats is taken to hold for all.
///
/// `x * 0` of integers is `Constant(0)`; of floats only with `fast_math`, since `inf * 0` is NaN.
/// `x - 0` is `Argument(0)`, and so is `x + 0`: `-0.0` counts as `0.0`, as everywhere in claims.
pub fn simplify(
    op: &Operator,
    types: &[ValueType],
    arguments: &[Given],
    fast_math: bool,
) -> Simplified {
    let Ok(signature) = op.signature(types) else { return Simplified::Nothing };
    if arguments.len() != types.len() {
        return Simplified::Nothing;
    }
    let known: Option<Vec<Value>> = arguments
        .iter()
        .map(|a| match a {
            Given::Known(value) => Some(*value),
            Given::Unknown(_) => None,
        })
        .collect();
    if let Some(value) = known.and_then(|values| op.eval(&values)) {
        return Simplified::Constant(value);
    }
    // The special cases of a variadic operator are those of two arguments.
    if arguments.len() == op.arity() {
        for special in op.specials(signature.generic) {
            if !applies(&special, arguments, &signature.arguments, fast_math) {
                continue;
            }
            match special.result {
                SpecialResult::Value(value) => return Simplified::Constant(value),
                SpecialResult::Argument(k) => return Simplified::Argument(k),
            }
        }
    }
    let first = arguments.first();
    if op.is_idempotent() && arguments.iter().all(|a| Some(a) == first) {
        return Simplified::Argument(0);
    }
    Simplified::Nothing
}

fn applies(special: &Special, arguments: &[Given], types: &[ValueType], fast_math: bool) -> bool {
    let has_value = match arguments[special.argument] {
        Given::Known(value) => value.cast(types[special.argument]).same(special.value),
        Given::Unknown(_) => false,
    };
    has_value && (special.ieee || fast_math)
}
