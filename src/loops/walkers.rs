//! Blocks that can be merged: each walks one range, and updates one element at every position.

use super::tree::{Block, Loop, Node, Update};
use crate::formula::{Affine, Name};

/// One of several operands of a merge.
#[derive(Clone, Debug)]
pub struct Walker<'a> {
    /// What is computed before the walk.
    pub before: Vec<(&'a Name, &'a Affine)>,
    pub walk: &'a Loop,
    /// What is computed at each position.
    pub within: Vec<(&'a Name, &'a Affine)>,
    pub update: &'a Update,
}

/// The walkers that a block consists of; `None` if there is anything else in it, or only one.
pub fn walkers(block: &[Node]) -> Option<Vec<Walker<'_>>> {
    let mut all = Vec::new();
    pieces(block, &mut all)?;
    (all.len() > 1).then_some(all)
}

/// The walkers of pieces, which may be in pieces themselves.
fn pieces<'a>(block: &'a [Node], out: &mut Vec<Walker<'a>>) -> Option<()> {
    for node in block {
        let Node::Piece(body) = node else { return None };
        match walker(body) {
            Some(walker) => out.push(walker),
            None if !body.is_empty() => pieces(body, out)?,
            None => {}
        }
    }
    Some(())
}

fn walker(block: &Block) -> Option<Walker<'_>> {
    let (last, before) = block.split_last()?;
    let Node::For(walk) = last else { return None };
    let plain = walk.parallel.is_none() && walk.skip.is_none() && walk.setup.is_empty();
    let (update, within) = walk.body.split_last().filter(|_| plain)?;
    let Node::Update(update) = update else { return None };
    Some(Walker { before: lets(before)?, walk, within: lets(within)?, update })
}

fn lets(nodes: &[Node]) -> Option<Vec<(&Name, &Affine)>> {
    nodes
        .iter()
        .map(|node| match node {
            Node::Let { var, value } => Some((var, value)),
            _ => None,
        })
        .collect()
}
