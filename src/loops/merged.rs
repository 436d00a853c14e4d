//! Operands that are walked at once, in the order of their coordinates.
//!
//! In: a space whose points count where one of some operands is stored, in an order of its indices, and its nest
//! of loops over all of them. Out: the level from which on these loops become one, and for each operand the nest
//! that walks it: one loop inside the levels before, proved to give the other indices in that order, each
//! choice of them once.
//!
//! ```text
//! for i in 0..I                            for i in 0..I
//!   for j in 0..J                            merge j
//!     lookup A else 0.0                →       walk A: for pA1 in pos_A(i)..pos_A(i + 1); let j = crd_A(pA1)
//!     lookup B else 0.0                        walk B: for pB1 in pos_B(i)..pos_B(i + 1); let j = crd_B(pB1)
//!     when A or B S                            when A or B S
//! ```

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Arith, Name};
use crate::iterspace::{Keyed, Space, in_order};
use crate::operators::Region;
use crate::prover::Prover;
use crate::scan::{Level, Nest, scan_within};
use crate::schedule::schedule;

/// The loops of a nest that become one.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The first of the levels that the walks stand for.
    pub depth: usize,
    pub walks: Vec<Walk>,
}

/// How an operand is walked.
#[derive(Clone, Debug)]
pub struct Walk {
    /// Its number in the space.
    pub operand: usize,
    /// The levels around it, one loop, and what is computed before and in it.
    pub nest: Nest,
    /// The subscripts of its value.
    pub value_index: Vec<Arith>,
}

impl Merged {
    pub fn walks(&self, operand: usize) -> bool {
        self.walks.iter().any(|walk| walk.operand == operand)
    }
}

/// Orders of the indices of a space: that in which each of its operands is stored.
pub fn orders_of_walks(space: &Space) -> Vec<Vec<Name>> {
    let mut out: Vec<Vec<Name>> = Vec::new();
    for &k in &space.lookups {
        let alone = space.of_lookup(k, 0, space.constraints.clone());
        let Ok(own) = schedule(&alone, &[]) else { continue };
        let order = own.indices(space);
        if !out.contains(&order) {
            out.push(order);
        }
    }
    out
}

/// The innermost loops that walks can stand for, so that nothing counts where none of them is.
///
/// # Errors
/// [`Code::Space`] if there are none.
pub(super) fn merged(space: &Space, nest: &Nest, prover: &mut dyn Prover) -> Result<Merged> {
    for depth in (0..nest.levels.len()).rev().take_while(|&d| is_plain_loop(&nest.levels[d])) {
        let mut walks = Vec::new();
        for &operand in &space.lookups {
            walks.extend(walk(space, operand, nest, depth, prover)?);
        }
        let all = |region: Region, walk: &Walk| region.with(&walk.operand, false);
        let counts = walks.iter().fold(space.rest.clone(), all) != Region::Nothing;
        let merged = Merged { depth, walks };
        // What is looked up by some of the indices of the walks would be asked for again and again by the
        // same: finds are proved for loops.
        let again = |&operand: &usize| {
            let needs = nest.depth_of(&space.operands[operand].subscripts);
            !merged.walks(operand) && needs > depth && needs < nest.levels.len()
        };
        if merged.walks.len() > 1 && !counts && !space.lookups.iter().any(again) {
            return Ok(merged);
        }
    }
    let known = |k: &usize| space.rest.operands().contains(k);
    let labels = space.lookups.iter().filter(|k| known(k));
    let labels: Vec<String> = labels.map(|&k| format!("`{}`", space.operands[k].label)).collect();
    Err(Diagnostic::new(
        Code::Space,
        format!("{} cannot be merged: nothing walks them in one order", labels.join(", ")),
    )
    .note(
        "each must be one loop over ordered coordinates inside loops that all of them share, or an ordered list of \
         coordinates for each index",
    )
    .help(
        "store them alike, in a layout whose coordinates are ordered, or walk them by `--coiterate find`, and \
         without `--union merge`",
    ))
}

fn is_plain_loop(level: &Level) -> bool {
    level.is_loop() && is_plain(level)
}

/// Whether nothing is tested there.
fn is_plain(level: &Level) -> bool {
    level.guards.is_empty() && level.restrictions.is_empty() && level.conditions.is_empty()
}

/// The walk of an operand inside the levels before `depth`, if it has one.
fn walk(
    space: &Space,
    operand: usize,
    nest: &Nest,
    depth: usize,
    prover: &mut dyn Prover,
) -> Result<Option<Walk>> {
    if space.operands[operand].pieces.len() > 1 {
        return Ok(None);
    }
    let own = space.of_lookup(operand, 0, space.constraints.clone());
    let names = |levels: &[Level]| levels.iter().map(|l| l.var.clone()).collect::<Vec<Name>>();
    let (around, within) = (names(&nest.levels[..depth]), names(&nest.levels[depth..]));
    let positions = &own.operands[operand].positions;
    let dims: Vec<Name> = around.iter().chain(positions).chain(&within).cloned().collect();
    let Ok(Some((nest, guards))) = scan_within(&own, &dims, nest, depth, prover) else {
        return Ok(None);
    };
    let inner = &nest.levels[depth..];
    let loops: Vec<&Level> = inner.iter().filter(|level| level.is_loop()).collect();
    let [own_loop] = loops.as_slice() else { return Ok(None) };
    if !guards.is_empty() || !inner.iter().all(is_plain) {
        return Ok(None);
    }
    let outer = nest.levels[..depth].iter().filter(|level| level.is_loop());
    let loops: Vec<Name> = outer.chain([*own_loop]).map(|level| level.var.clone()).collect();
    let key = around.iter().chain(&within).map(|dim| Affine::var(dim.clone())).collect();
    let keyed = Keyed { space: &own, loops, key };
    if !in_order(&keyed, &keyed, prover) {
        return Ok(None);
    }
    let value_index = own.operands[operand].value_index.clone();
    Ok(Some(Walk { operand, nest, value_index }))
}
