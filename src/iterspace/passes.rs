//! How the points of a value are taken apart: into terms, and these into cases.
//!
//! ```text
//! A + B * x      →  A; B and x                     distributed, where the statement adds
//!                →  A, looking up B and x; B and x without A         by passes
//! ```

use super::Operand;
use super::cases::cases;
use super::region::{region, without};
use super::value::{Apply, Value};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::operators::Region;
use crate::program::{AssignOp, Op, Program};

/// How the points of a sum are visited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Union {
    /// Each term by itself, where the statement adds anyway.
    #[default]
    Distribute,
    /// One pass for each operand, looking up the others.
    Passes,
}

impl Union {
    /// Every one.
    pub const ALL: [Union; 2] = [Union::Distribute, Union::Passes];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Union::Distribute => "distribute",
            Union::Passes => "passes",
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
    pub value: Value<usize>,
}

impl Pass {
    /// The operands that are looked up; `stored` are those that are not.
    pub fn lookups(&self, stored: &[usize]) -> Vec<usize> {
        let mut out: Vec<usize> = self.value.leaves().into_iter().copied().collect();
        out.extend(self.rest.operands());
        out.retain(|k| !stored.contains(k));
        out.sort_unstable();
        out.dedup();
        out
    }
}

/// The passes of a value; `is_total` tells what is stored everywhere. At least one.
///
/// # Errors
/// [`Code::Space`] if an operand may be stored twice at a coordinate, and would have to be summed first.
pub(super) fn passes(
    program: &Program,
    op: AssignOp,
    value: Value<usize>,
    operands: &[Operand],
    is_total: &impl Fn(usize) -> bool,
    union: Union,
) -> Result<Vec<Pass>> {
    let sums = op.combines() == AssignOp::Add;
    let terms: Vec<Value<usize>> = match union {
        Union::Distribute if sums => {
            let signed = |(negative, term): (bool, &Value<usize>)| match negative {
                true => term.clone().negated(),
                false => term.clone(),
            };
            value.terms().into_iter().map(signed).collect()
        }
        _ => vec![value],
    };
    let mut out = Vec::new();
    for value in terms {
        // Zeros change products, and may be the least or the greatest.
        let region = if sums { region(&value, is_total)? } else { Region::All };
        for case in cases(&region) {
            let value = without(&value, &|k| case.missed.contains(&k))?;
            refuse_repeated(program, operands, &case.stored, &value)?;
            let missed = case.missed.iter().map(|k| Region::Stored(*k).complement());
            let rest = Region::all_of(std::iter::once(case.rest).chain(missed));
            out.push(Pass { stored: case.stored, rest, value });
        }
    }
    if out.is_empty() {
        // Nothing is ever added.
        out.push(Pass { stored: Vec::new(), rest: Region::Nothing, value: Value::zero() });
    }
    Ok(out)
}

/// Where a coordinate is stored twice, its elements are summed: walking them one by one is right only if
/// the value is a product with them.
fn refuse_repeated(
    program: &Program,
    operands: &[Operand],
    stored: &[usize],
    value: &Value<usize>,
) -> Result<()> {
    for &k in stored {
        let o = &operands[k];
        if o.stores_coordinates_once() || is_factor(value, k) {
            continue;
        }
        let access = program.accesses().into_iter().find(|a| a.tensor == o.tensor);
        let place = access.map_or(0..0, |a| a.span.clone());
        return Err(Diagnostic::new(
            Code::Space,
            format!("`{}` in layout `{}` may store a coordinate twice", o.tensor, o.layout.name),
        )
        .note("the elements would have to be summed before anything else is computed from them")
        .at(place, "not a factor of a product here")
        .within("<expression>", &program.text)
        .help("store it in a layout without duplicates; `siskin layouts` lists them"));
    }
    Ok(())
}

/// Whether the value is a sum over the elements of operand `k`, each multiplied by the rest.
fn is_factor(value: &Value<usize>, k: usize) -> bool {
    match value {
        Value::Leaf(leaf) => *leaf == k,
        Value::Literal(_) => false,
        Value::Apply(Apply { op, args, .. }) => {
            let has = |arg: &Value<usize>| arg.leaves().contains(&&k);
            let (with, without): (Vec<_>, Vec<_>) = args.iter().partition(|arg| has(arg));
            match op {
                Op::Mul | Op::Neg => with.len() == 1 && is_factor(with[0], k),
                Op::Div => without == [&args[1]] && is_factor(&args[0], k),
                Op::Add | Op::Sub | Op::Min | Op::Max => false,
            }
        }
    }
}
