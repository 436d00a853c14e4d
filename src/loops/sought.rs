//! Operands of which the looplets are not walked in some order of the indices: each is looked up where its indices are
//! known, by a find that is proved for all of them in that order.
//!
//! What is walked comes to some of the indices, in that order, each once. So what is proved of loops over all of them
//! is true of these visits, and plans are chosen for how many there are expected to be.
//!
//! ```text
//! for i in 0..I                                  for i in 0..I
//!   for j in 0..J                                  for j in 0..J       of which pA1 visits: pos_A(i)..pos_A(i + 1)
//!     stepper pA1, B in no order          →          find pB0 in 0..NNZ_B where row_B(pB0) = i and col_B(pB0) = j
//! ```

use super::held::without_ends;
use super::lookups::{Finder, Looked};
use super::regions::{ByRegions, by_looplets, walks_alone};
use super::tree::{Block, Node};
use crate::diagnostic::{Diagnostic, Result};
use crate::formula::{Affine, Constraint, Name};
use crate::iterspace::Space;
use crate::operators::Region;
use crate::prover::Prover;
use crate::scan::{Bind, Nest, Range, scan};
use crate::schedule::schedule;
use crate::synth::{Find, Plan, Proved};

/// The looplets of a space, and what is looked up beside them.
pub(super) struct Sought {
    /// The operands that are not walked are looked up in it.
    pub space: Space,
    pub regions: ByRegions,
    pub lookups: Vec<Looked>,
    pub finds: Vec<Find>,
    pub chosen: Vec<Proved<Plan>>,
}

/// The looplets of a space, whose indices come in this order, and finds for what is not walked.
///
/// # Errors
/// [`Code::Space`](crate::diagnostic::Code::Space) with the reason why an operand is not walked, if it cannot be looked
/// up either: nothing else says where.
pub(super) fn by_looplets_and_finds(
    space: &Space,
    order: &[Name],
    mut finder: Finder<'_>,
    prover: &mut dyn Prover,
) -> Result<Sought> {
    let first = seeking(space, order, true, prover);
    let (space, sought, regions) = first.or_else(|_| seeking(space, order, false, prover))?;
    let around = around(&space, order, prover)?;
    let visited = visited(&space, &around, &regions.nodes(&space, &[]));
    let mut lookups = Vec::new();
    for operand in sought {
        lookups.push(finder.looked_up(&space, operand, (&around, &visited), prover)?);
    }
    lookups.sort_by_key(|looked| looked.depth);
    let Finder { finds, chosen, .. } = finder;
    Ok(Sought { space, regions, lookups, finds, chosen })
}

/// The space in which operands that are not walked are looked up, these, and the looplets of the others.
fn seeking(
    space: &Space,
    order: &[Name],
    alone: bool,
    prover: &mut dyn Prover,
) -> Result<(Space, Vec<usize>, ByRegions)> {
    let sought = sought(space, order, alone, prover);
    let numbers: Vec<usize> = sought.iter().map(|(operand, _)| *operand).collect();
    let space = space.looking_up(&numbers);
    match (by_looplets(&space, order, &numbers, prover), sought.into_iter().next()) {
        (Ok(regions), _) => Ok((space, numbers, regions)),
        (Err(e), None) => Err(e),
        (Err(e), Some((_, why))) => Err(why.note(e.message)),
    }
}

/// The operands that are not walked, each with the reason. With `alone`, the first one is walked that can be where nothing
/// else is.
fn sought(
    space: &Space,
    order: &[Name],
    mut alone: bool,
    prover: &mut dyn Prover,
) -> Vec<(usize, Box<Diagnostic>)> {
    let stored = space.stored.iter().filter(|&&k| !space.writes(k));
    let mut out = Vec::new();
    for &k in stored.chain(&space.lookups) {
        match walks_alone(space, k, order, prover) {
            Ok(false) => {}
            Ok(true) if std::mem::take(&mut alone) => {}
            Ok(true) => out.push((k, without_ends())),
            Err(why) => out.push((k, why)),
        }
    }
    out
}

/// Loops over all indices, in this order.
fn around(space: &Space, order: &[Name], prover: &mut dyn Prover) -> Result<Nest> {
    let mut constraints = Vec::new();
    for index in order {
        let (here, extent) = (Affine::var(index.clone()), &space.extents[index]);
        constraints.push(Constraint::le(Affine::zero(), here.clone()));
        constraints.push(Constraint::lt(here, Affine::var(extent.clone())));
    }
    let all = Space {
        stored: Vec::new(),
        lookups: Vec::new(),
        rest: Region::All,
        merges: false,
        demanded: constraints.clone(),
        constraints,
        guards: Vec::new(),
        tiles: Vec::new(),
        fused: Vec::new(),
        ..space.clone()
    };
    scan(&all, &schedule(&all, order)?, prover)
}

/// The levels of a nest over all indices, each over what is expected to be visited: where a walk gives an index, the
/// positions of the walk.
fn visited(space: &Space, nest: &Nest, block: &Block) -> Nest {
    let mut out = nest.clone();
    let mut known = space.params();
    // Positions, and the indices that they give.
    let mut given: Vec<(Name, Name)> = Vec::new();
    for level in &mut out.levels {
        let index = level.var.clone();
        if let Some((position, range)) = walk_of(block, &index) {
            let by_indices = |n: &Name| {
                let own = given.iter().find(|(position, _)| position == n);
                own.map(|(_, index)| Affine::var(index.clone()))
            };
            let mut range = range.clone();
            let mut is_known = true;
            for end in range.lower.iter_mut().chain(&mut range.upper) {
                *end = end.substitute(&by_indices);
                end.visit_vars(&mut |n| is_known &= known.contains(n));
            }
            if is_known {
                level.bind = Bind::Loop(range);
                given.push((position.clone(), index.clone()));
            }
        }
        known.push(index);
    }
    out
}

/// The walk that gives an index, without which nothing counts, and its positions.
fn walk_of<'a>(block: &'a Block, index: &Name) -> Option<(&'a Name, &'a Range)> {
    block.iter().find_map(|node| match node {
        Node::For(l) => {
            let gives = |node: &Node| matches!(node, Node::Let { var, .. } if var == index);
            match l.body.iter().any(gives) {
                true => Some((&l.var, &l.range)),
                false => walk_of(&l.body, index),
            }
        }
        Node::Step(step) if step.index == *index => {
            let needed = step.walks.iter().find(|walk| step.needs(walk));
            needed.map(|walk| (&walk.var, &walk.range))
        }
        node => node.blocks().into_iter().find_map(|inner| walk_of(inner, index)),
    })
}
