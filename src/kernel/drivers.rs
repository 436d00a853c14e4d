//! Who drives an index: of two tensors that meet in it, one is walked, and the other is searched.
//!
//! ```text
//! y[i] += A[i,j] * x[j]            A by rows, x a sparse vector
//!
//! pA0, pA1, find px                each entry of A is looked for in x
//! pA0, px, find pA1                each entry of x is looked for in a row of A
//! ```
//!
//! The default order walks what is first in storage order. The other direction is better where the searched range is
//! the shorter one: few entries in `x`, long rows.

use crate::formula::Name;
use crate::scan::{Bind, Nest};

/// For each find of `nest`, the order of its loops in which what is searched is walked, right before that loop whose
/// position says what is looked for.
pub(super) fn other_drivers(nest: &Nest) -> Vec<Vec<Name>> {
    let mut out = Vec::new();
    for find in nest.levels.iter().filter(|level| level.is_find()) {
        let Some(driver) = driver(nest, &find.var) else { continue };
        let loops = nest.levels.iter().filter(|l| l.is_loop() && l.var != find.var);
        let mut order: Vec<Name> = Vec::new();
        for level in loops {
            if level.var == driver {
                order.push(find.var.clone());
            }
            order.push(level.var.clone());
        }
        out.push(order);
    }
    out
}

/// The innermost loop around a find on which depends what it looks for.
fn driver(nest: &Nest, position: &Name) -> Option<Name> {
    let at = nest.levels.iter().position(|l| l.var == *position)?;
    let sought = |name: &Name| nest.levels[at].conditions.iter().any(|c| c.mentions(name));
    // What the conditions mention may be read off the position of a loop.
    let mut needed: Vec<&Name> =
        nest.levels[..at].iter().map(|l| &l.var).filter(|n| sought(n)).collect();
    for level in nest.levels[..at].iter().rev() {
        if !needed.contains(&&level.var) {
            continue;
        }
        match &level.bind {
            Bind::Loop(_) => return Some(level.var.clone()),
            Bind::Let(value) => {
                let outer = nest.levels[..at].iter().map(|l| &l.var);
                needed.extend(outer.filter(|n| value.mentions(n)));
            }
        }
    }
    None
}
