//! Iteration algebra: where an expression must be evaluated, and what it is elsewhere.
//!
//! In: a tree of operators, with what is known of its leaves: operands that have fills, scalars. Out:
//! a [`Derived`]: the fill of the result, and the [`Region`] of points at which the result may be
//! anything else. With fills of 0, `A * (B + C)` has the fill 0 and the region `A and (B or C)`.
//!
//! The cases of paper 002 (§5.2), in their order, for a use `f(args)`:
//!
//! 1. an explicit iteration algebra of `f` for these fills;
//! 2. an argument whose fill makes `f` a constant (an annihilator, or a special case of `[[fill]]`), in
//!    its position: the points of all arguments that do so with the same constant, intersected;
//! 3. an argument whose fill makes `f` another argument: the points of these two;
//! 4. all fills known (identities and idempotent operators among them): the points of all arguments,
//!    and the fill is what `f` gives for the fills;
//! 5. otherwise everywhere.
//!
//! A special case that IEEE arithmetic does not grant (0 * inf) is applied to the fills of operands;
//! to a literal only with fast math.

use super::operator::{Operator, Points, SpecialResult};
use super::region::Region;
use super::tree::{Apply, Tree};
use super::value::Value;
use crate::diagnostic::Result;
use crate::tensor::ValueType;

/// What is known of an expression everywhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    /// The type.
    pub value_type: ValueType,
    /// The value outside of `region`; none if the region is [`Region::All`] and nothing is known.
    pub fill: Option<Value>,
    /// Where the value may be another than the fill.
    pub region: Region,
    /// Whether it is an operand itself: then it differs from the fill wherever it stores another value.
    pub operand: bool,
}

impl Derived {
    /// Of operand `number`, which has `fill` where it stores nothing.
    pub fn operand(number: usize, fill: Value) -> Derived {
        Derived {
            value_type: fill.value_type(),
            fill: Some(fill),
            region: Region::Stored(number),
            operand: true,
        }
    }

    /// Of what differs from point to point, or is not known yet: an index, a scalar.
    pub fn unknown(value_type: ValueType) -> Derived {
        Derived { value_type, fill: None, region: Region::All, operand: false }
    }

    /// Of what is the same everywhere.
    pub fn constant(value: Value) -> Derived {
        Derived {
            value_type: value.value_type(),
            fill: Some(value),
            region: Region::Nothing,
            operand: false,
        }
    }
}

/// The fill and the region of an expression; `leaf` says what is known of leaves.
///
/// # Errors
/// If an operator does not exist for the types of its arguments.
pub fn derive<L>(tree: &Tree<L>, leaf: &dyn Fn(&L) -> Derived, fast_math: bool) -> Result<Derived> {
    match tree {
        Tree::Leaf(l) => Ok(leaf(l)),
        Tree::Number(value) => Ok(Derived::constant(*value)),
        Tree::Cast(ty, inner) => {
            let inner = derive(inner, leaf, fast_math)?;
            Ok(Derived {
                value_type: *ty,
                fill: inner.fill.map(|fill| fill.cast(*ty)),
                operand: inner.operand && inner.value_type == *ty,
                region: inner.region,
            })
        }
        Tree::Apply(Apply { op, args }) => {
            let args: Vec<Derived> =
                args.iter().map(|a| derive(a, leaf, fast_math)).collect::<Result<_>>()?;
            combined(op, args, fast_math)
        }
    }
}

/// The region of points at which an expression may differ from a fill that was asked for: all of
/// them, unless it is the derived one.
pub fn region_for(derived: &Derived, fill: Value) -> Region {
    match derived.fill {
        Some(own) if own.cast(fill.value_type()).same(fill) => derived.region.clone(),
        _ => Region::All,
    }
}

/// A use of an operator. More arguments than it has are taken two at a time.
fn combined(op: &Operator, mut arguments: Vec<Derived>, fast_math: bool) -> Result<Derived> {
    let types: Vec<ValueType> = arguments.iter().map(|a| a.value_type).collect();
    let signature = op.signature(&types)?;
    if arguments.len() > op.arity() {
        // All meet in one type first: true + true + 1 is 3, though true + true is true.
        for (a, t) in arguments.iter_mut().zip(&signature.arguments) {
            a.operand &= a.value_type == *t;
            a.fill = a.fill.map(|fill| fill.cast(*t));
            a.value_type = *t;
        }
        let rest = arguments.split_off(op.arity());
        let first = combined(op, arguments, fast_math)?;
        return rest
            .into_iter()
            .try_fold(first, |all, next| combined(op, vec![all, next], fast_math));
    }
    let fills: Vec<Option<Value>> = arguments
        .iter()
        .zip(&signature.arguments)
        .map(|(a, t)| a.fill.map(|fill| fill.cast(*t)))
        .collect();
    let known: Option<Vec<Value>> = fills.iter().copied().collect();
    let evaluated = known.as_ref().and_then(|fills| op.eval(fills));
    let derived = |fill, region| {
        Ok(Derived { value_type: signature.result, fill: Some(fill), region, operand: false })
    };

    if let (Some(fills), Some(value)) = (&known, evaluated)
        && let Some(points) = op.iteration(fills)
    {
        let declared = Declared { arguments: &arguments, types: &signature.arguments };
        return derived(value, declared.region(points, true));
    }
    let specials = op.specials(signature.generic).into_iter().filter(|s| {
        // What is the same everywhere is no missing entry.
        let literal = arguments[s.argument].region == Region::Nothing;
        fills[s.argument].is_some_and(|fill| fill.same(s.value))
            && (s.ieee || fast_math || !literal)
    });
    let specials: Vec<_> = specials.collect();
    let constants = || {
        specials.iter().filter_map(|s| match s.result {
            SpecialResult::Value(value) => Some((s.argument, value)),
            SpecialResult::Argument(_) => None,
        })
    };
    if let Some((_, constant)) = constants().next() {
        let region = constants()
            .filter(|(_, value)| value.identical(constant))
            .fold(Region::All, |all, (k, _)| all.both(arguments[k].region.clone()));
        // They may differ in the sign of a zero.
        let exact = evaluated.filter(|value| value.same(constant)).unwrap_or(constant);
        return derived(exact, region);
    }
    let kept = specials.iter().find_map(|s| match s.result {
        SpecialResult::Argument(m) => Some((s.argument, m, fills[m]?)),
        SpecialResult::Value(_) => None,
    });
    if let Some((k, m, fill)) = kept
        && op.arity() > 2
    {
        let region = arguments[k].region.clone().either(arguments[m].region.clone());
        return derived(fill.cast(signature.result), region);
    }
    match evaluated {
        Some(value) => {
            let union = arguments.into_iter().fold(Region::Nothing, |all, a| all.either(a.region));
            derived(value, union)
        }
        None => Ok(Derived::unknown(signature.result)),
    }
}

/// A declared algebra, whose names stand for arguments with these regions.
struct Declared<'a> {
    arguments: &'a [Derived],
    types: &'a [ValueType],
}

impl Declared<'_> {
    /// At least the points if `larger`, else at most: what stands under `not`.
    fn region(&self, points: &Points, larger: bool) -> Region {
        match points {
            Points::Argument(k) => match self.arguments.get(*k) {
                // An operand differs from its fill where it stores another value. Of an expression, only
                // the points at which it may differ are known.
                Some(a) if larger || self.is_operand(*k) => a.region.clone(),
                _ if larger => Region::All,
                _ => Region::Nothing,
            },
            Points::Not(x) => self.region(x, !larger).complement(),
            Points::And(a, b) => self.region(a, larger).both(self.region(b, larger)),
            Points::Or(a, b) => self.region(a, larger).either(self.region(b, larger)),
        }
    }

    /// Whether an argument is an operand, and is not converted (2 and 3 are one `bool`).
    fn is_operand(&self, k: usize) -> bool {
        let a = &self.arguments[k];
        a.operand && self.types.get(k) == Some(&a.value_type)
    }
}
