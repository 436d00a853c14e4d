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
//! 4. a choice between arguments that have one fill, by a condition of which nothing is known: the points of these;
//! 5. all fills known (identities and idempotent operators among them): the points of all arguments,
//!    and the fill is what `f` gives for the fills;
//! 6. otherwise everywhere.
//!
//! A special case that IEEE arithmetic does not grant (0 * inf) is applied to the fills of operands;
//! to a literal only with fast math.

use super::operator::{Operator, Points, Signature, Special, SpecialResult};
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

    /// Of its conversion to a type.
    #[must_use]
    pub fn converted(self, ty: ValueType) -> Derived {
        Derived {
            value_type: ty,
            fill: self.fill.map(|fill| fill.cast(ty)),
            operand: self.operand && self.value_type == ty,
            region: self.region,
        }
    }
}

/// A constant that a use of an operator is, where arguments that decide it have their fills.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// The result outside of `region`.
    pub value: Value,
    /// Where none of these arguments has its fill.
    pub region: Region,
    /// Arithmetic gives the value there, too, whatever the other arguments are.
    pub granted: bool,
}

/// The fill and the region of an expression; `leaf` says what is known of leaves.
///
/// # Errors
/// If an operator does not exist for the types of its arguments.
pub fn derive<L>(tree: &Tree<L>, leaf: &dyn Fn(&L) -> Derived, fast_math: bool) -> Result<Derived> {
    match tree {
        Tree::Leaf(l) => Ok(leaf(l)),
        Tree::Number(value) => Ok(Derived::constant(*value)),
        Tree::Cast(ty, inner) => Ok(derive(inner, leaf, fast_math)?.converted(*ty)),
        Tree::If(choice) => Ok(Derived::unknown(choice.otherwise.value_type())),
        Tree::Apply(Apply { op, args }) => {
            let args: Vec<Derived> =
                args.iter().map(|a| derive(a, leaf, fast_math)).collect::<Result<_>>()?;
            applied(op, args, fast_math)
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
///
/// # Errors
/// If the operator does not exist for the types of its arguments.
pub fn applied(op: &Operator, mut arguments: Vec<Derived>, fast_math: bool) -> Result<Derived> {
    if arguments.len() > op.arity() {
        let types: Vec<ValueType> = arguments.iter().map(|a| a.value_type).collect();
        let signature = op.signature(&types)?;
        // All meet in one type first: true + true + 1 is 3, though true + true is true.
        for (a, t) in arguments.iter_mut().zip(&signature.arguments) {
            a.operand &= a.value_type == *t;
            a.fill = a.fill.map(|fill| fill.cast(*t));
            a.value_type = *t;
        }
        let rest = arguments.split_off(op.arity());
        let first = applied(op, arguments, fast_math)?;
        return rest
            .into_iter()
            .try_fold(first, |all, next| applied(op, vec![all, next], fast_math));
    }
    let used = Use::new(op, &arguments)?;
    let derived = |fill, region| {
        let value_type = used.signature.result;
        Ok(Derived { value_type, fill: Some(fill), region, operand: false })
    };
    if let Some((value, points)) = used.declared() {
        let types = &used.signature.arguments;
        let declared = Declared { arguments: &arguments, types };
        return derived(value, declared.region(points, true));
    }
    let specials = used.specials(fast_math);
    if let Some(first) = used.constants(&specials).into_iter().next() {
        return derived(first.value, first.region);
    }
    let kept = specials.iter().find_map(|s| match s.result {
        SpecialResult::Argument(m) => Some((s.argument, m, used.fills[m]?)),
        SpecialResult::Value(_) => None,
    });
    if let Some((k, m, fill)) = kept
        && op.arity() > 2
    {
        let region = arguments[k].region.clone().either(arguments[m].region.clone());
        // Whichever it is, it may be the fill.
        let region = match used.one_of(k) {
            Some(all) if all.iter().all(|m| used.fills[*m].is_some_and(|f| f.identical(fill))) => {
                let regions = all.iter().map(|m| arguments[*m].region.clone());
                region.both(Region::any_of(regions))
            }
            _ => region,
        };
        return derived(fill.cast(used.signature.result), region);
    }
    if let Some((fill, region)) = used.either_way() {
        return derived(fill.cast(used.signature.result), region);
    }
    match used.evaluated {
        Some(value) => {
            let regions = arguments.iter().map(|a| a.region.clone());
            derived(value, Region::any_of(regions))
        }
        None => Ok(Derived::unknown(used.signature.result)),
    }
}

/// The constants that a use of an operator is where something is missing, in the order in which they
/// apply. It has as many arguments as the operator.
///
/// # Errors
/// If the operator does not exist for the types of its arguments.
pub fn constants(op: &Operator, arguments: &[Derived], fast_math: bool) -> Result<Vec<Constant>> {
    let used = Use::new(op, arguments)?;
    match used.declared() {
        // It is tested to be what arithmetic gives.
        Some(_) => Ok(Vec::new()),
        None => Ok(used.constants(&used.specials(fast_math))),
    }
}

/// A use of an operator, with what is known of its arguments.
struct Use<'a> {
    op: &'a Operator,
    arguments: &'a [Derived],
    signature: Signature,
    fills: Vec<Option<Value>>,
    /// What arithmetic gives for the fills, if all are known.
    evaluated: Option<Value>,
}

impl<'a> Use<'a> {
    fn new(op: &'a Operator, arguments: &'a [Derived]) -> Result<Use<'a>> {
        let types: Vec<ValueType> = arguments.iter().map(|a| a.value_type).collect();
        let signature = op.signature(&types)?;
        let fills: Vec<Option<Value>> = arguments
            .iter()
            .zip(&signature.arguments)
            .map(|(a, t)| a.fill.map(|fill| fill.cast(*t)))
            .collect();
        let known: Option<Vec<Value>> = fills.iter().copied().collect();
        let evaluated = known.and_then(|fills| op.eval(&fills));
        Ok(Use { op, arguments, signature, fills, evaluated })
    }

    /// What a declared algebra says.
    fn declared(&self) -> Option<(Value, &'a Points)> {
        let fills: Vec<Value> = self.fills.iter().copied().collect::<Option<_>>()?;
        Some((self.evaluated?, self.op.iteration(&fills)?))
    }

    /// The special cases that apply to the fills.
    fn specials(&self, fast_math: bool) -> Vec<Special> {
        let mut all = self.op.specials(self.signature.generic);
        all.retain(|s| {
            // What is the same everywhere is no missing entry.
            let literal = self.arguments[s.argument].region == Region::Nothing;
            self.fills[s.argument].is_some_and(|fill| fill.same(s.value))
                && (s.ieee || fast_math || !literal)
        });
        all
    }

    /// The arguments of which it is one, if the truth of argument `k` decides which.
    fn one_of(&self, k: usize) -> Option<Vec<usize>> {
        let all = self.op.specials(self.signature.generic);
        let given = |truth: bool| {
            let decided = all.iter().filter(|s| s.argument == k && s.value == Value::Bool(truth));
            decided.into_iter().find_map(|s| match s.result {
                SpecialResult::Argument(m) => Some(m),
                SpecialResult::Value(_) => None,
            })
        };
        (self.signature.arguments[k] == ValueType::Bool)
            .then(|| Some(vec![given(true)?, given(false)?]))
            .flatten()
    }

    /// What it is outside of some points, if that is the same whatever a condition says that is not known.
    fn either_way(&self) -> Option<(Value, Region)> {
        let unknown = (0..self.fills.len()).filter(|k| self.fills[*k].is_none());
        let all = unknown.into_iter().find_map(|k| self.one_of(k))?;
        let fill = self.fills[*all.first()?]?;
        let same = all.iter().all(|m| self.fills[*m].is_some_and(|f| f.identical(fill)));
        let regions = all.iter().map(|m| self.arguments[*m].region.clone());
        same.then(|| (fill, Region::any_of(regions)))
    }

    /// Those of them that give a constant, with the points of all arguments that give the same.
    fn constants(&self, specials: &[Special]) -> Vec<Constant> {
        let mut out: Vec<Constant> = Vec::new();
        for s in specials {
            let SpecialResult::Value(value) = s.result else { continue };
            // They may differ in the sign of a zero.
            let exact = self.evaluated.filter(|e| e.same(value));
            let others = self.arguments.iter().enumerate().filter(|(k, _)| *k != s.argument);
            let known = others.into_iter().all(|(_, a)| a.region == Region::Nothing);
            let granted = s.ieee || (known && exact.is_some());
            let value = exact.unwrap_or(value);
            let region = self.arguments[s.argument].region.clone();
            match out.iter_mut().find(|c| c.value.identical(value)) {
                Some(constant) => {
                    constant.region =
                        std::mem::replace(&mut constant.region, Region::All).both(region);
                    constant.granted &= granted;
                }
                None => out.push(Constant { value, region, granted }),
            }
        }
        out
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
