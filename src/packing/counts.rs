//! What a size counts: positions of a level, of its largest group, or slots of a table.
//!
//! In: a part, and a size that packing counts. Out: [`Count`], from the condition that bounds a position
//! by the size.

use super::part::{Count, Part, Role};
use super::refusal::refused;
use crate::diagnostic::Result;
use crate::formula::{Affine, Arith, Atom, Constraint, Name, Relop};
use crate::layout::{IndexArray, Layout};

/// What the parameter `name` counts.
pub(super) fn count(layout: &Layout, plan: &Part, name: &Name) -> Result<Count> {
    let count = |level: usize, offset: i64| {
        let this = &plan.levels[level];
        let grouped = this.restarts && this.group.iter().any(|g| g.as_constant().is_none());
        match grouped {
            _ if this.probed.is_some() => Count::Slots { level },
            true => Count::LargestGroup { level, offset },
            false => Count::Positions { level, offset },
        }
    };
    // `e = name + offset` as an exclusive bound of a position.
    let exclusive = |e: &Affine| (e.clone() - Affine::var(name.clone())).as_constant();
    for (level, this) in plan.levels.iter().enumerate() {
        if let Some(offset) = this.size.as_ref().and_then(&exclusive) {
            return Ok(count(level, this.first - offset));
        }
    }
    for (array, role) in plan.roles() {
        let declared: &IndexArray = &layout.arrays[array];
        match role {
            Role::Key { level, args, .. } => {
                let this = &plan.levels[*level];
                for (arg, formal) in args.iter().zip(&declared.args) {
                    let bound = declared.domain.iter().find_map(|c| upper_bound(c, formal));
                    if arg.as_var() == Some(&this.position)
                        && let Some(offset) = bound.as_ref().and_then(&exclusive)
                    {
                        return Ok(count(*level, this.first - offset));
                    }
                }
            }
            Role::Segments { level, .. } | Role::Ends { level, .. } => {
                let bounded = declared.range.iter().any(|c| {
                    let call = c.affine.terms().iter().find_map(|(a, k)| match a {
                        Atom::Call(call) if *k == -1 && call.array == *array => Some(a),
                        _ => None,
                    });
                    call.is_some_and(|call| {
                        let rest = c.affine.clone() + Affine::atom(call.clone());
                        c.relop == Relop::Ge && rest.as_var() == Some(name)
                    })
                });
                if bounded {
                    return Ok(count(*level, 0));
                }
            }
            _ => {}
        }
    }
    for (subscript, extent) in layout.value.index.iter().zip(&layout.value.shape) {
        let level =
            plan.levels.iter().position(|l| matches!(subscript, Arith::Var(n) if *n == l.position));
        if let (Some(level), Arith::Var(n)) = (level, extent)
            && n == name
        {
            return Ok(count(level, plan.levels[level].first));
        }
    }
    Err(refused(layout, format!("nothing says what the size `{name}` counts"))
        .help(format!("bound a position by it, e.g. `0 <= p < {name}`, or define it in [params]")))
}

/// The exclusive upper bound of `x` in `c`, if it is one.
fn upper_bound(c: &Constraint, x: &Name) -> Option<Affine> {
    if c.relop != Relop::Ge || c.affine.coefficient_of_var(x) != -1 {
        return None;
    }
    let rest = c.affine.clone() + Affine::var(x.clone());
    (!rest.mentions(x)).then(|| rest + Affine::constant(1))
}
