//! The types of tensors that a program declares: from what they begin with, and what is assigned.
//!
//! Numbers without fraction are integers, and take the type of floats that are assigned. Types grow until
//! they hold everything.

use indexmap::IndexMap;

use crate::diagnostic::{Diagnostic, Result};
use crate::formula::Name;
use crate::operators::promote;
use crate::program::ir::{Expr, Fill, Program, Stmt};
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
            let ty = type_of(&a.value, types, lets)?;
            out.entry(a.output.tensor.clone()).or_default().push(ty);
        }
        Stmt::Let(l) => {
            let ty = type_of(&l.value, types, lets)?;
            lets.insert(l.name.clone(), ty);
        }
        _ => {}
    }
    stmt.blocks().into_iter().flatten().try_for_each(|s| assignments(s, types, lets, out))
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
