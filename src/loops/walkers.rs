//! Blocks that can be merged: each walks one range, and updates or takes one element at every position.

use super::tree::{Block, Loop, Node, Take, Update};
use crate::formula::{Affine, Name};

/// A range that is walked.
#[derive(Clone, Debug)]
pub struct Walked<'a> {
    /// What is computed before the walk.
    pub before: Vec<(&'a Name, &'a Affine)>,
    pub walk: &'a Loop,
    /// What is computed at each position.
    pub within: Vec<(&'a Name, &'a Affine)>,
}

/// One of several terms of a merge.
#[derive(Clone, Debug)]
pub struct Walker<'a> {
    pub walked: Walked<'a>,
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
    let (walked, last) = Walked::of(block)?;
    let Node::Update(update) = last else { return None };
    Some(Walker { walked, update })
}

impl<'a> Walked<'a> {
    /// How a block walks a range, and what it does at each position.
    fn of(block: &'a Block) -> Option<(Walked<'a>, &'a Node)> {
        let (last, before) = block.split_last()?;
        let Node::For(walk) = last else { return None };
        let plain = walk.parallel.is_none() && walk.skip.is_none() && walk.setup.is_empty();
        let (last, within) = walk.body.split_last().filter(|_| plain)?;
        Some((Walked { before: lets(before)?, walk, within: lets(within)? }, last))
    }

    /// The walk of an operand, and what it takes.
    pub fn taking(block: &'a Block) -> Option<(Walked<'a>, &'a Take)> {
        match Walked::of(block)? {
            (walked, Node::Take(take)) => Some((walked, take)),
            _ => None,
        }
    }
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
