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
//! the shorter one: few entries in `x`, long rows. Where most of the searches find nothing, it does not matter to which
//! row an entry belongs, and no loop need end with it:
//!
//! ```text
//! pA1, find px, find pA0           each entry of A is looked for in x, then its row in A
//! ```
//!
//! Where the positions of several loops say what is looked for, each of them may follow it:
//!
//! ```text
//! y[i] += A[i,j] * x[j]            A in a grid of blocks, entries listed in each
//!
//! pA0, pA1, pA2, find px           each entry of A is looked for in x
//! pA0, px, pA1, find pA2           each entry of x is looked for in that block of a row which has its column
//! ```
//!
//! What is searched for is often the same in all iterations of a loop around it. Then the search comes before that loop:
//!
//! ```text
//! y[i] += A[i,j] * x[j]            A in blocks of 4 by 4
//!
//! pA0, pA1, pA2, pA3, find px      each entry of A is looked for in x: 16 times for a block
//! pA0, pA1, pA3, find px, pA2      each column of a block: 4 times
//! pA0, pA1, px, find pA3, pA2      entries of x in the columns of a block: once
//! ```

use std::ops::Range;

use crate::formula::{Affine, Name};
use crate::iterspace::Space;
use crate::scan::{Bind, Level, Nest};
use crate::schedule::Alternative;

/// For each operand that is walked by several loops, the order in which its entries are one list: what else is searched
/// for comes before the positions around them, as far as it does not depend on these.
pub(super) fn by_entries(nest: &Nest, space: &Space) -> Vec<Alternative> {
    let loops = || nest.levels.iter().filter(|l| l.is_loop());
    let walked = |p: &Name| loops().any(|l| l.var == *p && !l.is_find());
    let mut out = Vec::new();
    for operand in space.present().filter(|o| o.positions.len() > 1) {
        let Some((last, outer)) = operand.positions.split_last() else { continue };
        let free = |level: &&Level| {
            level.is_find()
                && depends(nest, &level.var, last)
                && !outer.iter().any(|p| depends(nest, &level.var, p))
        };
        if !operand.positions.iter().all(walked) || !loops().any(|level| free(&level)) {
            continue;
        }
        let mut order: Vec<Name> = Vec::new();
        for level in loops().filter(|l| !l.is_find()) {
            match operand.positions.contains(&level.var) {
                true if level.var == *last => order.extend(operand.positions.iter().rev().cloned()),
                true => {}
                false => order.push(level.var.clone()),
            }
        }
        out.push(Alternative { order, fused: vec![operand.positions.clone()] });
    }
    out
}

/// Whether what is searched for, or the range in which it is, changes with a position, that of a loop around it aside
/// whose range only begins or ends there.
fn depends(nest: &Nest, find: &Name, position: &Name) -> bool {
    let Some(at) = nest.level_of(find) else { return false };
    let deciding = nest.deciding(
        at,
        |name| nest.levels[at].reads(name),
        |level| level.is_find() || !level.is_loop(),
    );
    deciding.iter().any(|level| level.var == *position)
}

/// For each search of `nest`, the order of its loops in which what is searched is walked, right before that loop whose
/// position says what is looked for, and before loops in which it is always the same.
pub(super) fn other_drivers(nest: &Nest, space: &Space) -> Vec<Vec<Name>> {
    followed(nest, space, 0..1)
}

/// The same, before loops around that one whose positions say what is looked for, too.
pub(super) fn outer_drivers(nest: &Nest, space: &Space) -> Vec<Vec<Name>> {
    followed(nest, space, 1..usize::MAX)
}

/// The same, before those among the loops that are numbered so, from the innermost out.
fn followed(nest: &Nest, space: &Space, by: Range<usize>) -> Vec<Vec<Name>> {
    let mut out: Vec<Vec<Name>> = Vec::new();
    for (position, asked) in searches(nest) {
        let drivers = drivers(nest, &position.var, asked).into_iter().enumerate();
        for (_, driver) in drivers.filter(|(k, _)| by.contains(k)) {
            let mut order = sooner(nest, &position.var, Some(&driver))
                .unwrap_or_else(|| right_before(nest, &position.var, &driver));
            if let Some(at) = order.iter().position(|n| *n == position.var) {
                order.splice(at + 1..at + 1, computed_with(nest, space, asked, &driver));
            }
            if !out.contains(&order) {
                out.push(order);
            }
        }
    }
    out
}

/// The positions that say what counts of a walk, if not its own: they are computed from it, and not from `driver`, and
/// come right behind it.
fn computed_with(nest: &Nest, space: &Space, asked: usize, driver: &Name) -> Vec<Name> {
    let level = &nest.levels[asked];
    if level.is_loop() {
        return Vec::new();
    }
    let says =
        |name: &Name| *name == level.var || level.conditions.iter().any(|c| c.mentions(name));
    let is_free = |at: usize, value: &Affine| {
        let from = nest.deciding(at, |name| value.mentions(name), |_| true);
        from.iter().all(|level| level.var != *driver)
    };
    let computed = nest.levels[..=asked].iter().enumerate().filter(|(at, level)| {
        matches!(&level.bind, Bind::Let(value) if is_free(*at, value))
            && says(&level.var)
            && space.owner(&level.var).is_some()
    });
    computed.map(|(_, level)| level.var.clone()).collect()
}

/// The order of the loops of `nest` in which a find comes right before the loop of `driver`.
fn right_before(nest: &Nest, find: &Name, driver: &Name) -> Vec<Name> {
    let mut order: Vec<Name> = Vec::new();
    for level in nest.levels.iter().filter(|l| l.is_loop() && l.var != *find) {
        if level.var == *driver {
            order.push(find.clone());
        }
        order.push(level.var.clone());
    }
    order
}

/// For each find of `nest` that is the same in all iterations of loops around it, the order in which it comes before
/// them.
pub(super) fn earlier_searches(nest: &Nest) -> Vec<Vec<Name>> {
    let finds = nest.levels.iter().filter(|level| level.is_find());
    finds.filter_map(|find| sooner(nest, &find.var, None)).collect()
}

/// The order in which a find, and the `driver` behind it, come before those loops around it that have no part in what is
/// searched for, and where. Nothing if there are none.
fn sooner(nest: &Nest, find: &Name, driver: Option<&Name>) -> Option<Vec<Name>> {
    let at = nest.level_of(find)?;
    let needed = nest.deciding(at, |name| nest.levels[at].reads(name), |_| true);
    let moved = |name: &Name| name == find || Some(name) == driver;
    let loops = |levels: &'_ [Level]| -> Vec<Name> {
        let loops = levels.iter().filter(|l| l.is_loop() && !moved(&l.var));
        loops.map(|l| l.var.clone()).collect()
    };
    let (mut order, others): (Vec<Name>, Vec<Name>) =
        loops(&nest.levels[..at]).into_iter().partition(|n| needed.iter().any(|l| l.var == *n));
    // What begins with the driver cannot come before it.
    let begins_with = |name: &Name, driver: &Name| {
        let at = nest.level_of(name);
        at.is_some_and(|at| nest.levels[at].reads(driver))
    };
    if others.is_empty() || driver.is_some_and(|d| order.iter().any(|n| begins_with(n, d))) {
        return None;
    }
    order.push(find.clone());
    order.extend(driver.cloned());
    order.extend(others);
    order.extend(loops(&nest.levels[at..]));
    Some(order)
}

/// What is searched, each with the number of the level whose conditions say what counts of it: finds; and loops that
/// are walked where a position that is computed inside of them says so.
///
/// ```text
/// pA2, let pA3 = pA2 + pos(pA0), if j = crd(pA3)
/// ```
fn searches(nest: &Nest) -> impl Iterator<Item = (&Level, usize)> {
    let filters = nest.levels.iter().enumerate().filter(|(_, level)| level.filters());
    filters.filter_map(|(at, level)| match level.is_find() {
        true => Some((level, at)),
        false => {
            let deciding = nest.deciding(at, |name| level.reads(name), |level| !level.is_loop());
            let walked = deciding.into_iter().find(|level| level.is_loop())?;
            (!walked.is_find()).then_some((walked, at))
        }
    })
}

/// Whether anything is searched that is not just computed.
pub(super) fn walks_what_it_searches(nest: &Nest) -> bool {
    searches(nest).any(|(position, asked)| !drivers(nest, &position.var, asked).is_empty())
}

/// The loops around a search, of whose conditions the level has the number `asked`, on which depends what it looks for,
/// but not where, the innermost first.
fn drivers(nest: &Nest, position: &Name, asked: usize) -> Vec<Name> {
    let Some(at) = nest.level_of(position) else { return Vec::new() };
    let sought = |name: &Name| nest.levels[asked].conditions.iter().any(|c| c.mentions(name));
    // What the conditions mention may be read off the position of a loop.
    let deciding = nest.deciding(asked, sought, |level| !level.is_loop());
    let where_to = |name: &Name| match &nest.levels[at].bind {
        Bind::Loop(range) => range.mentions(name),
        Bind::Let(_) => false,
    };
    let ranges = nest.deciding(at, where_to, |_| true);
    let free = |level: &&Level| {
        level.is_loop() && level.var != *position && !ranges.iter().any(|l| l.var == level.var)
    };
    deciding.into_iter().filter(free).map(|level| level.var.clone()).collect()
}
