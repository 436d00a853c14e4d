//! The types of tensors that a program declares: from what they begin with, and what is assigned.
//!
//! Numbers without fraction are integers, and take the type of floats that are assigned; those with one are floats of
//! 64 bits. Types grow until they hold everything. Beside integers of few bits, numbers have 64 (`widened.rs`). As in Julia, `true + true` is 2, and `-true` is -1:
//!
//! ```text
//! y[i] = (x[i] > 1) + (x[i] > 2)   ⟼   y[i] = (0 + (x[i] > 1)) + (x[i] > 2)
//! ```

use indexmap::IndexMap;

use super::operations::literal;
use super::widened::{is_narrow, widened, widened_choice};
use crate::diagnostic::{Diagnostic, Result};
use crate::formula::Name;
use crate::operators::{Operators, promote};
use crate::program::ir::{Apply, Block, Expr, Fill, If, Program, Span, Stmt, When};
use crate::program::scalar::SUFFIX;
use crate::program::typing::{Types, typed_freely};
use crate::tensor::ValueType;

/// The types of all tensors; `host` says those that are given or stated, `without` which begin without a number.
pub(super) fn types(
    program: &Program,
    host: &impl Fn(&Name) -> Option<ValueType>,
    without: &impl Fn(&Name) -> bool,
) -> Result<Types> {
    let mut types = Types::all(ValueType::F64);
    let mut fills: IndexMap<Name, &Fill> = IndexMap::new();
    for declare in program.declares() {
        if let Some(fill) = &declare.fill {
            fills.insert(declare.tensor.clone(), fill);
            types.own.insert(declare.tensor.clone(), narrowest(fill, &[]));
        }
    }
    for name in program.tensors().into_keys() {
        if let Some(ty) = host(&name) {
            fills.shift_remove(&name);
            types.own.insert(name, ty);
        }
    }
    // A type only grows, and with it at least one in each round.
    for _ in 0..=fills.len() * ValueType::ALL.len() {
        let mut assigned: IndexMap<Name, Vec<ValueType>> = IndexMap::new();
        assignments(program.root(), &types, &mut IndexMap::new(), &mut assigned)?;
        let before = types.own.clone();
        for (name, fill) in &fills {
            let values = assigned.get(name).map_or(&[][..], Vec::as_slice);
            let all = values.iter().copied().reduce(promote).filter(|_| without(name));
            types.own.insert(name.clone(), all.unwrap_or_else(|| narrowest(fill, values)));
        }
        if types.own == before {
            break;
        }
    }
    Ok(types)
}

/// The narrowest type that holds what elements begin with, and what is assigned.
fn narrowest(fill: &Fill, values: &[ValueType]) -> ValueType {
    let text = fill.literal.text.as_str();
    let all = values.iter().copied().reduce(promote);
    match (text, all) {
        ("true" | "false", all) => all.unwrap_or(ValueType::Bool),
        // A number with a fraction has 64 bits; an infinity is one of any type.
        (text, _) if text.contains('.') || text.contains(['e', 'E']) => ValueType::F64,
        (_, Some(ty)) if ty.is_float() => ty,
        ("inf" | "nan", _) => ValueType::F64,
        (_, Some(ty)) => promote(ty, ValueType::I64),
        (_, None) => ValueType::I64,
    }
}

/// The types of what is assigned to each tensor.
fn assignments(
    stmt: &Stmt,
    types: &Types,
    lets: &mut IndexMap<Name, ValueType>,
    out: &mut IndexMap<Name, Vec<ValueType>>,
) -> Result<()> {
    match stmt {
        Stmt::Assign(a) => {
            let ty = type_of(&arithmetic(&a.value, types, lets)?.0, types, lets)?;
            out.entry(a.output.tensor.clone()).or_default().push(ty);
        }
        Stmt::Let(l) => {
            let ty = type_of(&arithmetic(&l.value, types, lets)?.0, types, lets)?;
            lets.insert(l.name.clone(), ty);
        }
        _ => {}
    }
    stmt.blocks().into_iter().flatten().try_for_each(|s| assignments(s, types, lets, out))
}

/// Makes truth values numbers where a statement adds them, or what else they are no arguments of.
pub(super) fn count_truths(
    stmt: &mut Stmt,
    types: &Types,
    lets: &mut IndexMap<Name, ValueType>,
) -> Result<()> {
    match stmt {
        Stmt::Assign(a) => a.value = arithmetic(&a.value, types, lets)?.0,
        Stmt::When(w) => w.condition = arithmetic(&w.condition, types, lets)?.0,
        Stmt::Let(l) => {
            l.value = arithmetic(&l.value, types, lets)?.0;
            lets.insert(l.name.clone(), type_of(&l.value, types, lets)?);
        }
        _ => {}
    }
    let mut within =
        |block: &mut Block| block.iter_mut().try_for_each(|stmt| count_truths(stmt, types, lets));
    match stmt {
        Stmt::Block(block) => within(block),
        Stmt::Loop(l) => within(&mut l.body),
        Stmt::Let(l) => within(&mut l.body),
        Stmt::If(If { then, otherwise, .. }) | Stmt::When(When { then, otherwise, .. }) => {
            within(then)?;
            otherwise.as_mut().map_or(Ok(()), within)
        }
        Stmt::Declare(_) | Stmt::Assign(_) => Ok(()),
    }
}

/// An expression with numbers in place of truth values that are added, and a type that it has beside
/// values of any type: a literal has the widest.
fn arithmetic(
    e: &Expr,
    types: &Types,
    lets: &IndexMap<Name, ValueType>,
) -> Result<(Expr, ValueType)> {
    Ok(match e {
        Expr::Apply(apply) => {
            let (mut args, mut own) = (Vec::new(), Vec::new());
            for arg in &apply.args {
                let (arg, ty) = arithmetic(arg, types, lets)?;
                args.push(arg);
                own.push(ty);
            }
            let strong: Result<Vec<Option<ValueType>>> =
                args.iter().map(|arg| strong(arg, types, lets)).collect();
            widened(&apply.op, &mut args, &strong?);
            let are_truths = own.iter().all(|ty| *ty == ValueType::Bool);
            if are_truths
                && (apply.op.is_sum() || apply.op.signature(&own).is_err())
                && let Some(first) = args.first_mut()
            {
                *first = counted(first, &apply.span)?;
                own[0] = ValueType::I64;
            }
            // Types that do not fit are refused where the whole has its type.
            let ty = apply.op.signature(&own).map_or(ValueType::F64, |s| s.result);
            (Expr::Apply(Apply { op: apply.op.clone(), args, span: apply.span.clone() }), ty)
        }
        Expr::Within(within) => {
            let mut within = within.clone();
            let (inside, a) = arithmetic(&within.inside, types, lets)?;
            let (outside, b) = arithmetic(&within.outside, types, lets)?;
            (within.inside, within.outside) = (inside, outside);
            let span = within.span.clone();
            match (a, b) {
                (ValueType::Bool, ValueType::Bool) => {}
                (ValueType::Bool, _) => within.inside = counted(&within.inside, &span)?,
                (_, ValueType::Bool) => within.outside = counted(&within.outside, &span)?,
                _ => {}
            }
            let of = [strong(&within.inside, types, lets)?, strong(&within.outside, types, lets)?];
            widened_choice([&mut within.inside, &mut within.outside], of);
            // In a region there is one of the two, and the other does not say the type of the whole.
            let whole = type_of(&Expr::Within(within.clone()), types, lets)?;
            let narrow = types.own.values().any(|ty| is_narrow(*ty));
            for side in [&mut within.inside, &mut within.outside] {
                let own = strong(side, types, lets)?;
                if narrow && own != Some(whole) {
                    *side = of_type(side, own, whole, &span)?;
                }
            }
            (Expr::Within(within), promote(a, b))
        }
        leaf => (leaf.clone(), type_of(leaf, types, lets)?),
    })
}

/// A truth value as a number.
fn counted(e: &Expr, span: &Span) -> Result<Expr> {
    added("0", e, span)
}

/// What a value is beside a number of another type, which is 0.
fn added(nothing: &str, e: &Expr, span: &Span) -> Result<Expr> {
    let args = vec![literal(nothing), e.clone()];
    Ok(Expr::Apply(Apply { op: Operators::sum()?, args, span: span.clone() }))
}

/// A number, or an integer of type `own`, as one of 64 bits, where there is a number of that type.
fn of_type(e: &Expr, own: Option<ValueType>, whole: ValueType, span: &Span) -> Result<Expr> {
    match whole {
        _ if own.is_some_and(ValueType::is_float) => Ok(e.clone()),
        ValueType::I64 => added(&format!("0{SUFFIX}"), e, span),
        ValueType::F64 => added("0.0", e, span),
        _ => Ok(e.clone()),
    }
}

/// The type of a value that is no number.
fn strong(e: &Expr, types: &Types, lets: &IndexMap<Name, ValueType>) -> Result<Option<ValueType>> {
    let mut only_numbers = true;
    e.visit(&mut |e| only_numbers &= matches!(e, Expr::Apply(_)) || is_number(e));
    // A comparison of numbers is no number.
    let ty = || type_of(e, types, lets);
    match only_numbers {
        true => Ok(Some(ty()?).filter(|ty| *ty == ValueType::Bool)),
        false => ty().map(Some),
    }
}

fn is_number(e: &Expr) -> bool {
    let Expr::Literal(literal) = e else { return false };
    !matches!(literal.text.as_str(), "true" | "false") && !literal.text.ends_with(SUFFIX)
}

fn type_of(e: &Expr, types: &Types, lets: &IndexMap<Name, ValueType>) -> Result<ValueType> {
    let mut leaf = |e: &Expr| {
        let ty = match e {
            Expr::Access(access) => types.of(&access.tensor),
            Expr::Within(_) => ValueType::Bool,
            Expr::Index(..) => ValueType::I64,
            other => {
                let name = other.to_string();
                let known = lets.get(name.as_str()).copied();
                known.ok_or_else(|| Diagnostic::defect(format!("`{name}` has no type")))?
            }
        };
        // Leaves of one kind are never compared: their types say it all.
        Ok((0_u8, ty))
    };
    typed_freely(e, &mut leaf).map(|(_, ty)| ty)
}
