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
use super::lookups::Finder;
use super::piece::{parts_of, read, walk_alone};
use super::regions::{ByRegions, How};
use super::statement::Statement;
use super::tree::{Block, Node};
use crate::diagnostic::Result;
use crate::formula::{Affine, Name};
use crate::iterspace::Space;
use crate::prover::Prover;
use crate::scan::{Bind, Nest, Range, scan};
use crate::schedule::{Schedule, schedule};

impl Statement {
    /// [`Statement::by_regions`], where operands without looplets that are walked are looked up.
    ///
    /// # Errors
    /// [`Code::Space`](crate::diagnostic::Code::Space) with the reason why an operand is not walked, if it cannot be
    /// looked up either: nothing else says where.
    pub fn by_looplets_and_finds(
        space: &Space,
        order: &Schedule,
        mut finder: Finder<'_>,
        prover: &mut dyn Prover,
    ) -> Result<Statement> {
        let order = order.indices(space);
        let (space, regions) = walked(space, &order, prover)?;
        let around = around(&space, &order, prover)?;
        let visited = visited(&space, &around, &regions.nodes(&space, &[]));
        let mut lookups = Vec::new();
        for &operand in &regions.sought {
            lookups.push(finder.looked_up(&space, operand, (&around, &visited), prover)?);
        }
        lookups.sort_by_key(|looked| looked.depth);
        let schedule = schedule(&space, &order)?;
        let nest = scan(&space, &schedule, prover)?;
        let Finder { finds, chosen, .. } = finder;
        let regions = Some(regions);
        let nothing = Statement::nothing(space, schedule);
        Ok(Statement { nest, regions, lookups, finds, chosen, ..nothing })
    }
}

/// The looplets of the operands that are walked, and the space in which the others are looked up. The first one that can
/// be walked where nothing else is, is; or if that is not the case, none of these.
fn walked(space: &Space, order: &[Name], prover: &mut dyn Prover) -> Result<(Space, ByRegions)> {
    let mut operands = Vec::new();
    for k in read(space) {
        let own = parts_of(space, k, order, prover).and_then(|parts| {
            let alone = walk_alone(space, &parts, order)?;
            Ok((parts, alone))
        });
        operands.push((k, own));
    }
    let seeking = |mut alone: bool| {
        let (mut parts, mut sought, mut why) = (Vec::new(), Vec::new(), None);
        for (k, own) in &operands {
            let unwalked = match own {
                Ok((_, true)) if !std::mem::take(&mut alone) => without_ends(),
                Ok((own, _)) => {
                    parts.extend(own.iter().cloned());
                    continue;
                }
                Err(unwalked) => unwalked.clone(),
            };
            if holds_result(space, *k) {
                return Err(unwalked.note("the result is stored at its positions"));
            }
            sought.push(*k);
            why.get_or_insert(unwalked);
        }
        let space = space.looking_up(&sought);
        match (ByRegions::new(&space, order, How::AsRegions, (parts, sought)), why) {
            (Ok(regions), _) => Ok((space, regions)),
            (Err(e), None) => Err(e),
            (Err(e), Some(why)) => Err(why.note(e.message)),
        }
    };
    seeking(true).or_else(|_| seeking(false))
}

/// Whether a result is stored at the positions of an operand: these are not known where it is looked up.
fn holds_result(space: &Space, k: usize) -> bool {
    let positions = &space.operands[k].positions;
    let mut found = false;
    for output in space.operands.iter().filter(|o| o.shares.is_some()) {
        for at in &output.value_index {
            at.visit_vars(&mut |n| found |= positions.contains(n));
        }
    }
    found
}

/// Loops over all indices, in this order.
fn around(space: &Space, order: &[Name], prover: &mut dyn Prover) -> Result<Nest> {
    let within = order.iter().flat_map(|index| space.within_extent(index));
    let all = space.bounded_by(within.collect());
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
