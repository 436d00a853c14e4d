//! What a value is where operands are missing.
//!
//! In: a value, and the points of a case. Out: the value there. A missing operand has its fill, and decides
//! what the algebra of an operator says it decides, though arithmetic may not grant that: nothing times
//! infinity is nothing. Where the case leaves open whether the operand is stored, the value asks. What has one
//! value only where it is stored has that value.
//!
//! ```text
//! (a * d + b) * c    →  b * c                              without a
//!                    →  (if(a, a * d, 0.0) + b) * c        where a may be missing
//! ```

use super::cases::Case;
use super::region::{Leaves, Value, by_presence};
use super::source::{Source, operands};
use crate::diagnostic::Result;
use crate::operators::algebra::{Derived, applied, constants};
use crate::operators::{self, Apply, Given, If, Operator, Region, Simplified, Tree, simplify};
use crate::tensor::ValueType;

/// The value with a question at every use of an operator that a missing operand decides, where arithmetic
/// with its fill may give something else.
///
/// # Errors
/// If an operator does not exist for the types of its arguments.
pub(super) fn asking(value: &Value, leaves: Leaves<'_>) -> Result<Value> {
    Ok(asked(value, leaves)?.0)
}

fn asked(value: &Value, leaves: Leaves<'_>) -> Result<(Value, Derived)> {
    Ok(match value {
        Tree::Leaf(source) => (value.clone(), leaves.derived(source)),
        Tree::Number(number) => (value.clone(), Derived::constant(*number)),
        Tree::Cast(ty, inner) => {
            let (inner, derived) = asked(inner, leaves)?;
            (inner.converted(derived.value_type, *ty), derived.converted(*ty))
        }
        Tree::If(choice) => (value.clone(), Derived::unknown(choice.otherwise.value_type())),
        Tree::Apply(Apply { op, args }) => {
            let args: Vec<(Value, Derived)> =
                args.iter().map(|arg| asked(arg, leaves)).collect::<Result<_>>()?;
            let (values, derived): (Vec<Value>, Vec<Derived>) = args.iter().cloned().unzip();
            // More arguments than the operator has are taken two at a time.
            let mut args = args.into_iter();
            let first: Vec<(Value, Derived)> = args.by_ref().take(op.arity()).collect();
            let (mut all, mut asks) = question(op, first, leaves.fast_math)?;
            for next in args {
                let (outer, also) = question(op, vec![all, next], leaves.fast_math)?;
                (all, asks) = (outer, asks || also);
            }
            match asks {
                true => all,
                false => (Tree::apply(op, values), applied(op, derived, leaves.fast_math)?),
            }
        }
    })
}

/// A use of an operator where it is not decided, and whether it may be.
fn question(
    op: &std::sync::Arc<Operator>,
    args: Vec<(Value, Derived)>,
    fast_math: bool,
) -> Result<((Value, Derived), bool)> {
    let (values, derived): (Vec<Value>, Vec<Derived>) = args.into_iter().unzip();
    let mut deciding = constants(op, &derived, fast_math)?;
    // What arithmetic gives anyway need not be asked for, but before what it does not give.
    let needed = deciding.iter().rposition(|c| !c.granted);
    deciding.truncate(needed.map_or(0, |last| last + 1));
    let asks = !deciding.is_empty();
    let out = deciding.into_iter().rev().fold(Tree::apply(op, values), |out, constant| {
        out.within(of_operands(&by_presence(&constant.region)), constant.value)
    });
    Ok(((out, applied(op, derived, fast_math)?), asks))
}

/// The value at the points of a case. It asks for what the case leaves open.
///
/// # Errors
/// As [`asking`].
pub(super) fn in_case(value: &Value, case: &Case, leaves: Leaves<'_>) -> Result<Value> {
    let stored = case.stored.iter().map(|k| Region::Stored(Source::Operand(*k)));
    let known: Vec<Region<Source>> = stored.chain(parts(&of_operands(&case.rest))).collect();
    Here { missed: &case.missed, stored: &[], leaves }.value(value, &known)
}

/// The value where `stored` are stored, without reading those that have only one value.
///
/// # Errors
/// As [`asking`].
pub(super) fn with_constants(value: &Value, stored: &[usize], leaves: Leaves<'_>) -> Result<Value> {
    Here { missed: &[], stored, leaves }.value(value, &[])
}

fn of_operands(region: &Region) -> Region<Source> {
    region.map(&|k| Source::Operand(*k))
}

/// The regions of which a region is the intersection.
fn parts(region: &Region<Source>) -> Vec<Region<Source>> {
    match region {
        Region::Both(parts) => parts.clone(),
        Region::All => Vec::new(),
        region => vec![region.clone()],
    }
}

/// What is left to ask where all of `known` holds.
fn left_open(region: &Region<Source>, known: &[Region<Source>]) -> Region<Source> {
    let region = known.iter().fold(region.clone(), |region, known| match known {
        Region::Stored(k) => region.with(k, true),
        _ => region,
    });
    let is_among = |part: &Region<Source>, all: &[Region<Source>]| match part {
        Region::Either(parts) => parts.iter().all(|part| all.contains(part)),
        part => all.contains(part),
    };
    let is_known = |part: &Region<Source>| match part {
        Region::Either(parts) => known.iter().any(|known| is_among(known, parts)),
        part => known.contains(part),
    };
    Region::all_of(parts(&region).into_iter().filter(|part| !is_known(part)))
}

/// Points at which some operands are missing.
#[derive(Clone, Copy)]
struct Here<'a> {
    missed: &'a [usize],
    /// Of these, those with one value only need not be read.
    stored: &'a [usize],
    leaves: Leaves<'a>,
}

impl Here<'_> {
    /// What an operand is, if that is known.
    fn known(&self, k: usize) -> Option<operators::Value> {
        let operand = &self.leaves.operands[k];
        match self.missed.contains(&k) {
            true => Some(operand.fill),
            false => operand.constant().filter(|_| self.stored.contains(&k)),
        }
    }

    /// The value where all of `known` holds.
    fn value(self, value: &Value, known: &[Region<Source>]) -> Result<Value> {
        let leaves = self.leaves;
        let Apply { op, args } = match value {
            Tree::Leaf(Source::Operand(k)) => {
                return Ok(self.known(*k).map_or_else(|| value.clone(), Tree::Number));
            }
            Tree::Leaf(_) | Tree::Number(_) => return Ok(value.clone()),
            Tree::Cast(ty, inner) => {
                let from = inner.value_type(&|source| leaves.value_type(source))?;
                return Ok(self.value(inner, known)?.converted(from, *ty));
            }
            Tree::If(choice) => return self.choice(choice, known),
            Tree::Apply(apply) => apply,
        };
        let changes = operands(value).into_iter().any(|k| self.known(k).is_some());
        let args: Vec<Value> =
            args.iter().map(|arg| self.value(arg, known)).collect::<Result<_>>()?;
        // As it is written, where nothing is known.
        if !changes {
            return Ok(Tree::apply(op, args));
        }
        let types: Vec<ValueType> = args
            .iter()
            .map(|arg| arg.value_type(&|source| leaves.value_type(source)))
            .collect::<Result<_>>()?;
        let given: Vec<Given> = args
            .iter()
            .map(|arg| match arg {
                Tree::Number(number) => Given::Known(*number),
                // Equal expressions have equal values.
                arg => {
                    Given::Unknown(args.iter().position(|other| other == arg).unwrap_or_default())
                }
            })
            .collect();
        Ok(match simplify(op, &types, &given, false) {
            Simplified::Constant(number) => Tree::Number(number),
            Simplified::Argument(k) => {
                let result = op.signature(&types)?.result;
                args[k].clone().converted(types[k], result)
            }
            Simplified::Nothing => Tree::apply(op, args),
        })
    }

    fn choice(self, choice: &If<Source>, known: &[Region<Source>]) -> Result<Value> {
        let missed = self.missed.iter().map(|k| Source::Operand(*k));
        let region = missed.fold(choice.region.clone(), |region, k| region.with(&k, false));
        let region = left_open(&region, known);
        let inside: Vec<Region<Source>> = known.iter().cloned().chain(parts(&region)).collect();
        Ok(self.value(&choice.then, &inside)?.within(region, choice.otherwise))
    }
}

#[cfg(test)]
mod tests {
    use super::super::region::tests::{NAMES, operands_of, value};
    use super::*;

    /// The value without some operands; of those that are `open` it is not known.
    fn left(text: &str, gone: &[&str], open: &[&str], fast_math: bool) -> String {
        let operands = operands_of(ValueType::F64);
        let leaves = Leaves { operands: &operands, is_total: &|k| k == 4, fast_math };
        let named = |names: &[&str]| -> Vec<usize> {
            (1..NAMES.len()).filter(|k| names.contains(&NAMES[*k])).collect()
        };
        let stored = |k: &usize| !gone.contains(&NAMES[*k]) && !open.contains(&NAMES[*k]);
        let stored = (1..NAMES.len()).filter(stored).collect();
        let case = Case { stored, missed: named(gone), rest: Region::All };
        let value = asking(&value(text, ValueType::F64), leaves).unwrap();
        let value = in_case(&value, &case, leaves).unwrap();
        let name = |source: &Source| match source {
            Source::Operand(k) => NAMES[*k].to_string(),
            Source::Index(i) => i.to_string(),
        };
        value.map(&name).to_string()
    }

    #[test]
    fn what_is_missing_leaves_the_rest() {
        for (text, gone, expected) in [
            ("a[i] + b[i] * c[i]", &["a"][..], "b * c"),
            ("a[i] + b[i] * c[i]", &["c"], "a"),
            ("a[i] - b[i]", &["b"], "a"),
            ("min(a[i], b[i]) * c[i]", &["a"], "min(0.0, b) * c"),
            ("min(a[i], b[i], 0) + c[i]", &["a", "b"], "c"),
            ("(a[i] - b[i]) / c[i]", &["a", "b"], "0.0"),
            ("(a[i] - b[i]) / c[i]", &["a", "b", "c"], "0.0"),
            ("a[i] / b[i]", &["b"], "a / 0.0"),
            ("0 * a[i] + b[i]", &["b"], "0.0 * a"),
            ("mul(a[i], d[i], c[i]) + b[i]", &["a"], "b"),
        ] {
            assert_eq!(left(text, gone, &[], false), expected, "{text} without {gone:?}");
        }
    }

    #[test]
    fn what_may_be_missing_is_asked_for_where_arithmetic_does_not_know_it() {
        for (text, open, expected) in [
            ("a[i] * d[i] + b[i]", &["a"][..], "if(a, a * d, 0.0) + b"),
            ("a[i] * b[i]", &["a", "b"], "if(a and b, a * b, 0.0)"),
            ("a[i] * b[i]", &["b"], "if(b, a * b, 0.0)"),
            ("(a[i] + b[i]) * c[i]", &["a", "b"], "if(a or b, (a + b) * c, 0.0)"),
            ("a[i] * d[i] * d[i]", &["a"], "if(a, a * d * d, 0.0)"),
            ("d[i] / a[i] + b[i] / c[i]", &["a", "b", "c"], "d / a + if(b, b / c, 0.0)"),
            ("mul(d[i], a[i], d[i], b[i])", &["a"], "if(a, d * a * d * b, 0.0)"),
            ("2 * a[i] + min(a[i], d[i]) - b[i]", &["a", "b"], "2.0 * a + min(a, d) - b"),
            ("-2 * a[i]", &["a"], "-2.0 * a"),
        ] {
            assert_eq!(left(text, &[], open, false), expected, "{text}, {open:?}");
        }
    }

    #[test]
    fn zeros_of_the_text_annihilate_with_fast_math() {
        for (text, expected) in [
            ("0 * a[i]", "0.0"),
            ("b[i] + d[i] * 0", "b + 0.0"),
            ("0 / d[i]", "0.0"),
            ("max(a[i], 0) * min(d[i], inf)", "max(a, 0.0) * min(d, inf)"),
        ] {
            assert_eq!(left(text, &[], &[], true), expected, "{text}");
            assert_ne!(left(text, &[], &[], false), "0.0", "{text}");
        }
    }
}
