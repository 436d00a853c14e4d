//! Where a result of unknown structure is assembled.
//!
//! Its entries must come in the order of their coordinates. Down the tree, as long as all updates are in
//! one node, each place is a candidate: the loops around it are passed, and the first coordinates of the
//! order are known. It serves if every later iteration of these loops is proved to write greater
//! coordinates; the others are gathered in a workspace, which is emptied in order at the end of each
//! iteration. The innermost place needs the smallest workspace, down to one element or none.
//!
//! ```text
//! for i in 0..I                                   for i in 0..I
//!   for pA1 in pos_A(i)..pos_A(i + 1)               assemble val_C[i, _] through dense
//!     let k = crd_A(pA1)                              for pA1 in pos_A(i)..pos_A(i + 1)
//!     for pB1 in pos_B(k)..pos_B(k + 1)       →         let k = crd_A(pA1)
//!       let j = crd_B(pB1)                              for pB1 in pos_B(k)..pos_B(k + 1)
//!       val_C[i, j] += val_A[pA1] * val_B[pB1]            let j = crd_B(pB1)
//!                                                         val_C[i, j] += val_A[pA1] * val_B[pB1]
//! ```

use super::statement::Statement;
use super::tree::{Among, Assemble, Block, Gather, Loops, Node, updates};
use crate::formula::{Affine, Name};
use crate::iterspace::{Keyed, in_order};
use crate::prover::Prover;

/// Where and how a result is assembled.
#[derive(Clone, Debug, PartialEq)]
pub struct Assembling {
    /// The coordinates in the order of the entries, most significant first.
    pub order: Vec<usize>,
    /// The dimensions of the loops around it.
    pub around: Vec<Name>,
    /// So many coordinates of the order are known there.
    pub prefix: usize,
    pub gather: Gather,
}

/// A place down the tree.
struct Candidate {
    around: Vec<Name>,
    /// Nothing but one update happens there.
    once: bool,
}

/// The innermost place at which entries come in order. `workspace` chooses one between the loops around
/// it and the coordinates that it gathers.
pub fn assembling(
    loops: &Loops,
    statements: &[Statement],
    order: &[usize],
    workspace: impl FnOnce(&[Name], &[usize]) -> Gather,
    prover: &mut dyn Prover,
) -> Assembling {
    let mut candidates = Vec::new();
    descend(loops, &loops.body, &mut Vec::new(), &mut candidates);
    let mut best: Option<(Candidate, usize)> = None;
    for candidate in candidates.into_iter().rev() {
        let prefix = prefix(statements, order, &candidate.around);
        if is_in_order(statements, &order[..prefix], &candidate.around, prover) {
            best = Some((candidate, prefix));
            break;
        }
    }
    let (candidate, prefix) = best.unwrap_or((Candidate { around: Vec::new(), once: false }, 0));
    let gather = match (prefix == order.len(), candidate.once) {
        (true, true) => Gather::Nothing,
        (true, false) => Gather::Element,
        (false, _) => workspace(&candidate.around, &order[prefix..]),
    };
    Assembling { order: order.to_vec(), around: candidate.around, prefix, gather }
}

/// The only node with updates, and what is bound before it.
fn only<'b>(block: &'b Block, around: &mut Vec<Name>) -> Option<(usize, &'b Node)> {
    let first = block.iter().position(has_updates)?;
    for node in &block[..first] {
        if let Node::Let { var, .. } = node {
            around.push(var.clone());
        }
    }
    let alone = !block[first + 1..].iter().any(has_updates);
    alone.then_some((first, &block[first]))
}

fn has_updates(node: &Node) -> bool {
    matches!(node, Node::Update(_)) || node.blocks().iter().any(|b| b.iter().any(has_updates))
}

fn descend(loops: &Loops, block: &Block, around: &mut Vec<Name>, out: &mut Vec<Candidate>) {
    let inner = only(block, around);
    let once = matches!(inner, Some((_, Node::Update(_))));
    out.push(Candidate { around: around.clone(), once });
    let Some((_, node)) = inner else { return };
    match node {
        Node::For(l) if l.parallel.is_none() => {
            around.push(l.var.clone());
            descend(loops, &l.body, around, out);
        }
        // Several matches come in the order in which a template finds them.
        Node::Search(s) if matches!(s.among, Among::One(_)) || !loops.find(s.id).plan.many => {
            around.push(s.var.clone());
            descend(loops, &s.found, around, out);
        }
        Node::If { body, .. } | Node::When { body, .. } | Node::Piece(body) => {
            descend(loops, body, around, out);
        }
        _ => {}
    }
}

/// The coordinates of the output's elements.
fn place(statement: &Statement, order: &[usize]) -> Vec<Affine> {
    let output = &statement.space.output().subscripts;
    order.iter().map(|&d| output[d].clone()).collect()
}

/// How many coordinates of the order the dimensions decide in every statement.
fn prefix(statements: &[Statement], order: &[usize], around: &[Name]) -> usize {
    let decided = |s: &Statement, a: &Affine| {
        let mut all = true;
        let dims = s.space.dimensions();
        a.visit_vars(&mut |n| all &= around.contains(n) || !dims.contains(n));
        all
    };
    let of = |s: &Statement| place(s, order).iter().take_while(|a| decided(s, a)).count();
    statements.iter().map(of).min().unwrap_or(0)
}

fn is_in_order(
    statements: &[Statement],
    order: &[usize],
    around: &[Name],
    prover: &mut dyn Prover,
) -> bool {
    if around.is_empty() {
        return true;
    }
    let visited: Vec<Vec<Name>> = statements.iter().map(|s| own(s, around)).collect();
    // The loops around are those of every statement, and the first of each.
    let first = |s: &Statement, dims: &[Name]| {
        let nest = s.nest.levels.iter().map(|level| &level.var);
        nest.take(dims.len()).all(|var| dims.contains(var))
    };
    if !statements.iter().zip(&visited).all(|(s, dims)| *dims == visited[0] && first(s, dims)) {
        return false;
    }
    let dims: Vec<Name> = statements
        .first()
        .map(|s| s.nest.levels.iter().take(visited[0].len()).map(|l| l.var.clone()).collect())
        .unwrap_or_default();
    let keyed: Vec<Keyed<'_>> =
        statements.iter().map(|s| Keyed { space: &s.space, key: place(s, order) }).collect();
    keyed.iter().all(|a| keyed.iter().all(|b| in_order(a, b, &dims, prover)))
}

/// Those names that are dimensions of the statement, in the order of its nest.
fn own(statement: &Statement, around: &[Name]) -> Vec<Name> {
    let levels = statement.nest.levels.iter().map(|level| level.var.clone());
    levels.filter(|var| around.contains(var)).collect()
}

/// Puts the node into the tree that `assembling` chose the place in.
pub(super) fn assemble(loops: &mut Loops, assembling: &Assembling) {
    let mut body = std::mem::take(&mut loops.body);
    wrap(loops, &mut body, &mut Vec::new(), assembling);
    loops.body = body;
}

fn wrap(loops: &mut Loops, block: &mut Block, around: &mut Vec<Name>, how: &Assembling) {
    let inner = only(block, around).map(|(k, _)| k);
    let deeper = inner.is_some_and(|k| goes_deeper(&block[k], around, how));
    if let (Some(k), true) = (inner, deeper) {
        match &mut block[k] {
            Node::For(l) => {
                around.push(l.var.clone());
                wrap(loops, &mut l.body, around, how);
            }
            Node::Search(s) => {
                around.push(s.var.clone());
                wrap(loops, &mut s.found, around, how);
            }
            Node::If { body, .. } | Node::When { body, .. } | Node::Piece(body) => {
                wrap(loops, body, around, how);
            }
            _ => {}
        }
        return;
    }
    let Some(first) = block.iter().position(has_updates) else { return };
    let mut body = block.split_off(first);
    let Some(target) = updates(&body).first().map(|u| u.target.clone()) else { return };
    let known = &how.order[..how.prefix];
    let at = target.index.iter().enumerate();
    let key = at.map(|(d, e)| known.contains(&d).then(|| e.clone())).collect();
    if how.gather != Gather::Nothing {
        // What is gathered is emptied here, so that no search may jump over it.
        stay(loops, &mut body);
    }
    let (array, gather) = (target.array, how.gather.clone());
    block.push(Node::Assemble(Box::new(Assemble { array, key, gather, body })));
}

/// Whether the place is inside the node: what is bound around it is not bound yet, or the node only
/// tests.
fn goes_deeper(node: &Node, around: &[Name], how: &Assembling) -> bool {
    let missing = how.around.iter().any(|n| !around.contains(n));
    let tests = match node {
        Node::If { .. } | Node::When { .. } | Node::Piece(_) => how.gather == Gather::Nothing,
        _ => false,
    };
    missing || tests
}

/// Searches whose loop is outside the block go on when they find nothing more.
fn stay(loops: &mut Loops, block: &mut Block) {
    for node in block {
        if let Node::Search(s) = node {
            loops.finds[s.id.index()].leave = false;
        }
        if !matches!(node, Node::For(_)) {
            node.blocks_mut().into_iter().for_each(|b| stay(loops, b));
        }
    }
}
