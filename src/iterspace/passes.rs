//! How the points of a value are taken apart: into terms, and these into cases.
//!
//! ```text
//! A + B * x      →  A; B and x                     distributed, where the statement adds
//!                →  A, looking up B and x; B and x without A         by passes
//! ```
//! Where `A` is stored and `B` is not, the value is `A + if(B, B * x, 0.0)`: see `missing.rs`. If `A` and `B` are to
//! be walked at once, there is one pass, which looks both of them up.

use std::sync::Arc;

use super::Operand;
use super::cases::{Case, cases};
use super::missing::{asking, in_case, with_constants};
use super::region::{Leaves, Value, region};
use super::source::{Source, asked, operands};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::operators::symbols::is_prefix;
use crate::operators::{self, Apply, Operator, Operators, Region, Tree, promote};
use crate::program::Program;
use crate::tensor::ValueType;

/// How the points of a sum are visited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Union {
    /// Each term by itself, where the statement adds anyway.
    #[default]
    Distribute,
    /// One pass for each operand, looking up the others.
    Passes,
    /// All operands at once, in the order of their coordinates.
    Merge,
}

impl Union {
    /// Every one.
    pub const ALL: [Union; 3] = [Union::Distribute, Union::Passes, Union::Merge];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Union::Distribute => "distribute",
            Union::Passes => "passes",
            Union::Merge => "merge",
        }
    }
}

/// Points that are visited together.
pub(super) struct Pass {
    /// The operands that are stored at every point, but for those that are stored everywhere.
    pub stored: Vec<usize>,
    /// What must hold of lookups.
    pub rest: Region,
    /// What is computed there.
    pub value: Value,
    /// Those that are looked up are walked at once.
    pub merges: bool,
}

impl Pass {
    /// The operands that are looked up; `stored` are those that are not.
    pub fn lookups(&self, stored: &[usize]) -> Vec<usize> {
        let mut out: Vec<usize> = operands(&self.value);
        out.extend(asked(&self.value));
        out.extend(self.rest.operands());
        out.retain(|k| !stored.contains(k));
        out.sort_unstable();
        out.dedup();
        out
    }
}

/// The passes of a value that is combined by an operator into elements of an operand: at least one. Where
/// the value is known without a visit, they are over `visited`.
///
/// # Errors
/// [`Code::Space`] if an operand may be stored twice at a coordinate, and would have to be summed first.
pub(super) fn passes(
    program: &Program,
    (op, target): (&Arc<Operator>, usize),
    value: Value,
    leaves: Leaves<'_>,
    (union, visited): (Union, Option<&Region>),
) -> Result<Vec<Pass>> {
    let values = match union {
        Union::Distribute if op.is_reduction() && visited.is_none() => {
            let mut all = Vec::new();
            terms(&value, op, false, &mut all);
            all.into_iter().map(|term| signed(term, leaves)).collect::<Result<Vec<_>>>()?
        }
        _ => vec![value],
    };
    let mut out = Vec::new();
    for value in values {
        let asking = asking(&value, leaves)?;
        let region = match visited {
            Some(region) => region.clone(),
            None => region(&value, op, leaves)?,
        };
        // Walks visit what at least one of them holds.
        let merges =
            union == Union::Merge && region.operands().len() > 1 && !region.holds_without_any();
        let cases = match merges {
            true => vec![Case { stored: Vec::new(), missed: Vec::new(), rest: region }],
            false => cases(&region),
        };
        for case in cases {
            let value = in_case(&asking, &case, leaves)?;
            refuse_repeated(program, op, leaves, &case.stored, &value)?;
            let value = with_constants(&value, &case.stored, leaves)?;
            let missed = case.missed.iter().map(|k| Region::Stored(*k).complement());
            let rest = Region::all_of(std::iter::once(case.rest).chain(missed));
            out.push(Pass { stored: case.stored, rest, value, merges });
        }
    }
    if out.is_empty() {
        // Nothing is ever combined; of the output's type all the same.
        let zero = operators::Value::zero(leaves.operands[target].value_type);
        let value = Tree::Number(zero);
        out.push(Pass { stored: Vec::new(), rest: Region::Nothing, value, merges: false });
    }
    Ok(out)
}

/// The terms of what is combined by `op`, with whether each is subtracted; just the value if it has none.
fn terms<'v>(value: &'v Value, op: &Operator, negative: bool, out: &mut Vec<(bool, &'v Value)>) {
    match value {
        Tree::Apply(apply) if *apply.op == *op => {
            apply.args.iter().for_each(|arg| terms(arg, op, negative, out));
        }
        Tree::Apply(Apply { op: other, args }) if op.is_sum() && undoes(other, op) => {
            terms(&args[0], op, negative, out);
            terms(&args[1], op, !negative, out);
        }
        Tree::Apply(Apply { op: minus, args }) if op.is_sum() && is_prefix(minus) => {
            terms(&args[0], op, !negative, out);
        }
        other => out.push((negative, other)),
    }
}

/// Whether each undoes the other: `(a + b) - b = a = (a - b) + b`.
fn undoes(a: &Operator, b: &Operator) -> bool {
    a.arity() == 2 && a.inverse() == Some(b.name()) && b.inverse() == Some(a.name())
}

fn signed((negative, term): (bool, &Value), leaves: Leaves<'_>) -> Result<Value> {
    if !negative {
        return Ok(term.clone());
    }
    if let Tree::Number(number) = term {
        let ty = number.value_type();
        let minus = Operators::shipped()?.prefix("-");
        if let Some(value) = minus.and_then(|minus| minus.apply(ty, &[*number])) {
            return Ok(Tree::Number(value));
        }
    }
    let minus = Operators::shipped()?.prefix("-");
    let minus = minus.ok_or_else(|| Diagnostic::defect("no operator is written `-`"))?;
    let out = Tree::apply(minus, vec![term.clone()]);
    out.value_type(&|source| leaves.value_type(source))?;
    Ok(out)
}

/// Where a coordinate is stored twice, its elements are summed: walking them one by one is right only if
/// the value is a product with them, and is summed.
fn refuse_repeated(
    program: &Program,
    op: &Operator,
    leaves: Leaves<'_>,
    stored: &[usize],
    value: &Value,
) -> Result<()> {
    for &k in stored {
        let o: &Operand = &leaves.operands[k];
        if o.stores_coordinates_once() || (op.is_sum() && is_factor(value, k, leaves)) {
            continue;
        }
        let access = program.accesses().into_iter().find(|a| a.tensor == o.tensor);
        let place = access.map_or(0..0, |a| a.span.clone());
        return Err(Diagnostic::new(
            Code::Space,
            format!("`{}` in layout `{}` may store a coordinate twice", o.tensor, o.layout.name),
        )
        .note("the elements would have to be summed before anything else is computed from them")
        .at(place, "not a factor of a summed product here")
        .within("<expression>", &program.text)
        .help("store it in a layout without duplicates; `siskin layouts` lists them"));
    }
    Ok(())
}

/// Whether the value is a sum over the elements of operand `k`, each multiplied by the rest.
fn is_factor(value: &Value, k: usize, leaves: Leaves<'_>) -> bool {
    match value {
        Tree::Leaf(source) => *source == Source::Operand(k),
        Tree::Number(_) => false,
        // Nothing is a sum over no elements.
        Tree::If(choice) => {
            let zero = operators::Value::zero(choice.otherwise.value_type());
            let asks = choice.region.operands().contains(&Source::Operand(k));
            !asks && choice.otherwise.same(zero) && is_factor(&choice.then, k, leaves)
        }
        Tree::Cast(to, inner) => {
            let from = inner.value_type(&|source| leaves.value_type(source));
            let widens = |from| from != ValueType::Bool && promote(from, *to) == *to;
            from.is_ok_and(widens) && is_factor(inner, k, leaves)
        }
        Tree::Apply(Apply { op, args }) => {
            let has = |arg: &Value| operands(arg).contains(&k);
            let mut with = args.iter().enumerate().filter(|(_, arg)| has(arg));
            match (with.next(), with.next()) {
                (Some((at, arg)), None) => op.is_additive_in(at) && is_factor(arg, k, leaves),
                _ => false,
            }
        }
    }
}
