//! The types of tensors that a program declares: from what they begin with, and what is assigned.
//!
//! Numbers without fraction are integers, and take the type of floats that are assigned. Types grow until
//! they hold everything. As in Julia, `true + true` is 2, and `-true` is -1:
//!
//! ```text
//! y[i] = (x[i] > 1) + (x[i] > 2)   ⟼   y[i] = (0 + (x[i] > 1)) + (x[i] > 2)
//! ```

use indexmap::IndexMap;

use super::operations::literal;
use crate::diagnostic::{Diagnostic, Result};
use crate::formula::Name;
use crate::operators::{Operators, promote};
use crate::program::ir::{Apply, Block, Expr, Fill, Program, Stmt};
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
        (text, Some(ty)) if ty.is_float() || !text.contains(['.', 'e', 'E', 'n']) => match ty {
            ty if ty.is_float() => ty,
            ty => promote(ty, ValueType::I64),
        },
        (text, _) if text.contains(['.', 'e', 'E', 'n']) => ValueType::F64,
        _ => ValueType::I64,
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
            let (_, ty) = arithmetic(&a.value, types, lets)?;
            out.entry(a.output.tensor.clone()).or_default().push(ty);
        }
        Stmt::Let(l) => {
            let (_, ty) = arithmetic(&l.value, types, lets)?;
            lets.insert(l.name.clone(), ty);
        }
        _ => {}
    }
    stmt.blocks().into_iter().flatten().try_for_each(|s| assignments(s, types, lets, out))
}

/// A statement in which truth values are numbers where they are added, or what else they are no arguments of.
pub(super) fn with_arithmetic(
    stmt: &Stmt,
    types: &Types,
    lets: &mut IndexMap<Name, ValueType>,
) -> Result<Stmt> {
    let mut out = stmt.clone();
    match &mut out {
        Stmt::Assign(a) => a.value = arithmetic(&a.value, types, lets)?.0,
        Stmt::When(w) => w.condition = arithmetic(&w.condition, types, lets)?.0,
        Stmt::Let(l) => {
            let (value, ty) = arithmetic(&l.value, types, lets)?;
            lets.insert(l.name.clone(), ty);
            l.value = value;
        }
        _ => {}
    }
    for block in blocks(&mut out) {
        for stmt in block {
            *stmt = with_arithmetic(stmt, types, lets)?;
        }
    }
    Ok(out)
}

/// The blocks within a statement.
fn blocks(stmt: &mut Stmt) -> Vec<&mut Block> {
    match stmt {
        Stmt::Block(block) => vec![block],
        Stmt::Loop(l) => vec![&mut l.body],
        Stmt::Let(l) => vec![&mut l.body],
        Stmt::If(i) => std::iter::once(&mut i.then).chain(&mut i.otherwise).collect(),
        Stmt::When(w) => std::iter::once(&mut w.then).chain(&mut w.otherwise).collect(),
        Stmt::Declare(_) | Stmt::Assign(_) => Vec::new(),
    }
}

/// An expression with numbers in place of truth values that are added, and its type.
fn arithmetic(
    e: &Expr,
    types: &Types,
    lets: &IndexMap<Name, ValueType>,
) -> Result<(Expr, ValueType)> {
    let out = match e {
        Expr::Apply(apply) => {
            let (mut args, mut own) = (Vec::new(), Vec::new());
            for arg in &apply.args {
                let (arg, ty) = arithmetic(arg, types, lets)?;
                args.push(arg);
                own.push(ty);
            }
            let are_truths = !own.is_empty() && own.iter().all(|ty| *ty == ValueType::Bool);
            if are_truths && (apply.op.is_sum() || apply.op.signature(&own).is_err()) {
                let first = std::mem::replace(&mut args[0], literal("0"));
                let both = vec![args[0].clone(), first];
                args[0] = Expr::Apply(Apply {
                    op: Operators::sum()?,
                    args: both,
                    span: apply.span.clone(),
                });
            }
            Expr::Apply(Apply { op: apply.op.clone(), args, span: apply.span.clone() })
        }
        Expr::Within(within) => {
            let mut within = within.clone();
            within.inside = arithmetic(&within.inside, types, lets)?.0;
            within.outside = arithmetic(&within.outside, types, lets)?.0;
            Expr::Within(within)
        }
        other => other.clone(),
    };
    let ty = type_of(&out, types, lets)?;
    Ok((out, ty))
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
