//! Where a result of unknown structure is assembled.
//!
//! Its entries must come in the order of their coordinates. Down the tree, as long as all updates are in
//! one node, each place is a candidate: the loops around it are passed, and the first coordinates of the
//! order are known. It serves if every later iteration of these loops is proved to write greater
//! coordinates; the others are gathered in a workspace, which is emptied in order at the end of each
//! iteration. The innermost place needs the smallest workspace, down to one element or none.
//!
//! Where entries come in order only when all loops have run, but those of each group of the layout do (the rows of a
//! transposed matrix), the loops run twice: they count the entries of each group, and put each where it belongs.
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
use super::tree::{Among, Assemble, Block, Gather, Loops, Node, Search, updates};
use super::walkers::walkers;
use crate::diagnostic::Result;
use crate::formula::{Affine, Arith, Name};
use crate::iterspace::{Keyed, in_order, in_order_by_groups};
use crate::prover::Prover;
use crate::scan::{Bind, Nest};

/// Where and how a result is assembled.
#[derive(Clone, Debug, PartialEq)]
pub struct Assembling {
    /// The coordinates in the order of the entries, most significant first.
    pub order: Vec<usize>,
    /// The loops around it, as the tree calls them.
    pub around: Vec<Name>,
    /// So many coordinates of the order are known there.
    pub prefix: usize,
    pub gather: Gather,
    /// If several threads are wanted: the loop of which they take chunks, or the first coordinate if all is
    /// merged at once; or why one thread does it.
    pub threads: Option<std::result::Result<Name, String>>,
}

impl Assembling {
    /// The loop of which threads take chunks, or the first coordinate, if several threads assemble parts.
    pub fn in_parts(&self) -> Option<&Name> {
        self.threads.as_ref()?.as_ref().ok()
    }
}

/// A place down the tree.
#[derive(Clone, Default)]
struct Candidate {
    /// The loops and searches around it.
    around: Vec<Name>,
    /// What they and the values computed on the way are called, in their order.
    bound: Vec<Name>,
    /// Nothing but one update happens there.
    once: bool,
    /// Several walks happen there, one after the other.
    walks: bool,
}

/// The innermost place at which entries come in order. If walks may be merged, they are; of entries whose first
/// `grouped` coordinates in the order tell where they are stored, each group may come in order by itself; `workspace`
/// chooses one between the loops around it and the coordinates that it gathers.
pub fn assembling(
    loops: &Loops,
    statements: &[Statement],
    order: &[usize],
    may_merge: bool,
    grouped: Option<usize>,
    workspace: impl FnOnce(&[Name], &[usize]) -> Result<Gather>,
    prover: &mut dyn Prover,
) -> Result<Assembling> {
    let mut candidates = Vec::new();
    descend(&loops.body, &Candidate::default(), &mut candidates);
    let mut best = (Candidate::default(), 0);
    let by_regions = statements.iter().any(|s| s.regions.is_some());
    for candidate in candidates.into_iter().rev() {
        let n = candidate.around.len();
        let prefix = match by_regions {
            true => in_order_by_regions(statements, order, &candidate),
            false => in_order_by(statements, order, n, prover),
        };
        if let Some(prefix) = prefix {
            best = (candidate, prefix);
            break;
        }
    }
    let (candidate, prefix) = best;
    // Each walk by itself must be in order, one loop further in.
    let n = candidate.around.len() + 1;
    let mut each = statements.iter().map(std::slice::from_ref);
    let mut merges = || {
        candidate.walks
            && !by_regions
            && each.all(|s| in_order_by(s, order, n, prover) == Some(order.len()))
    };
    let gather = match (prefix == order.len(), candidate.once) {
        (true, true) => Gather::Nothing,
        (true, false) => Gather::Element,
        (false, _) if may_merge && merges() => Gather::Merge,
        (false, _) => {
            let mut counts = |group| comes_by_groups(loops, statements, order, group, prover);
            match prefix == 0 && grouped.is_some_and(&mut counts) {
                true => Gather::Counts,
                false => workspace(&candidate.around, &order[prefix..])?,
            }
        }
    };
    let around = candidate.around;
    Ok(Assembling { order: order.to_vec(), around, prefix, gather, threads: None })
}

/// The only node with updates, if there is one.
fn only(block: &Block) -> Option<usize> {
    let first = block.iter().position(has_updates)?;
    let alone = !block[first + 1..].iter().any(has_updates);
    alone.then_some(first)
}

fn has_updates(node: &Node) -> bool {
    matches!(node, Node::Update(_)) || node.blocks().iter().any(|b| b.iter().any(has_updates))
}

fn descend(block: &Block, outside: &Candidate, out: &mut Vec<Candidate>) {
    let inner = only(block).map(|k| &block[k]);
    let once = matches!(inner, Some(Node::Update(_)));
    let first = block.iter().position(has_updates);
    let walks = first.is_some_and(|k| walkers(&block[k..]).is_some());
    let mut here = Candidate { once, walks, ..outside.clone() };
    here.bound.extend(block[..first.unwrap_or(0)].iter().filter_map(|node| match node {
        Node::Let { var, .. } => Some(var.clone()),
        _ => None,
    }));
    out.push(here.clone());
    let mut enter = |vars: &[Name], body: &Block| {
        here.around.extend(vars.iter().cloned());
        here.bound.extend(vars.iter().cloned());
        descend(body, &here, out);
    };
    match inner {
        Some(Node::For(l)) if l.parallel.is_none() => {
            enter(std::slice::from_ref(&l.var), &l.body);
        }
        Some(Node::Search(s)) if is_one(s) => enter(&[], &s.found),
        // Every template finds the matches of a query in their order.
        Some(Node::Search(s)) => enter(std::slice::from_ref(&s.var), &s.found),
        Some(Node::Merge(m)) => enter(&m.key, &m.body),
        Some(Node::Step(s)) => enter(std::slice::from_ref(&s.index), &s.body),
        Some(Node::If { body, .. } | Node::When { body, .. } | Node::Piece(body)) => {
            enter(&[], body);
        }
        _ => {}
    }
}

/// Whether there is nothing to search for: the position is known.
fn is_one(s: &Search) -> bool {
    matches!(s.among, Among::One(_))
}

/// The coordinates of the output's elements in the order, over the loops of the nest alone.
fn place(statement: &Statement, order: &[usize]) -> Vec<Affine> {
    let output = &statement.space.output().subscripts;
    order.iter().map(|&d| over_loops(&statement.nest, &output[d])).collect()
}

/// A form with what is computed from loops replaced by that.
fn over_loops(nest: &Nest, a: &Affine) -> Affine {
    let mut out = a.clone();
    for level in nest.levels.iter().rev() {
        if let Bind::Let(value) = &level.bind {
            out = out.substitute(&|n| (*n == level.var).then(|| value.clone()));
        }
    }
    out
}

/// The outermost loops of a nest.
fn outermost(statement: &Statement, n: usize) -> Vec<Name> {
    let loops = statement.nest.levels.iter().filter(|level| !matches!(level.bind, Bind::Let(_)));
    loops.take(n).map(|level| level.var.clone()).collect()
}

/// How many coordinates of the order the first `n` loops decide in every statement, if entries come in
/// order by them.
fn in_order_by(
    statements: &[Statement],
    order: &[usize],
    n: usize,
    prover: &mut dyn Prover,
) -> Option<usize> {
    if n == 0 {
        return Some(0);
    }
    let mut keyed: Vec<Keyed<'_>> = statements
        .iter()
        .map(|s| Keyed { space: &s.space, loops: outermost(s, n), key: place(s, order) })
        .collect();
    let decided = |k: &Keyed<'_>, a: &Affine| {
        let mut all = true;
        let dims = k.space.dimensions();
        a.visit_vars(&mut |n| all &= k.loops.contains(n) || !dims.contains(n));
        all
    };
    let count = |k: &Keyed<'_>| k.key.iter().take_while(|a| decided(k, a)).count();
    let prefix = keyed.iter().map(count).min().unwrap_or(0);
    keyed.iter_mut().for_each(|k| k.key.truncate(prefix));
    let all = keyed.iter().all(|k| k.loops.len() == n);
    let in_order = all && keyed.iter().all(|a| keyed.iter().all(|b| in_order(a, b, prover)));
    in_order.then_some(prefix)
}

/// Whether the loops of the only statement can run twice, and come to the entries of each group in their order, to each
/// once.
fn comes_by_groups(
    loops: &Loops,
    statements: &[Statement],
    order: &[usize],
    group: usize,
    prover: &mut dyn Prover,
) -> bool {
    let [only] = statements else { return false };
    if only.regions.is_some() || only.merged.is_some() || !is_walk(&loops.body) {
        return false;
    }
    let loops = outermost(only, usize::MAX);
    let visits = Keyed { space: &only.space, loops, key: place(only, order) };
    in_order_by_groups(&visits, group, prover)
}

/// Whether nothing but walks and tests leads to the only update: nothing is searched for, and nothing is kept.
fn is_walk(block: &Block) -> bool {
    let plain = |node: &Node| match node {
        Node::Update(_) | Node::Let { .. } => true,
        Node::For(l) => l.parallel.is_none() && l.setup.is_empty() && is_walk(&l.body),
        Node::If { body, .. } | Node::When { body, .. } => is_walk(body),
        _ => false,
    };
    only(block).is_some() && block.iter().all(plain)
}

/// The same where operands are walked by their regions, which come to the indices in their order, to each once.
/// The first of them are the coordinates there, if no loop is entered that does not give one yet.
fn in_order_by_regions(statements: &[Statement], order: &[usize], at: &Candidate) -> Option<usize> {
    if at.around.is_empty() {
        return Some(0);
    }
    // Of several, one may have been given the names of another.
    let [only] = statements else { return None };
    let indices = &only.regions.as_ref()?.order;
    let known = indices.iter().take_while(|index| at.bound.contains(index)).count();
    let is_index = |name: &&Name| indices.contains(name);
    let last = at.bound.iter().rev().find(|name| at.around.contains(name) || is_index(name));
    let complete = known > 0 && last == indices[..known].last();
    let output = &only.space.output().subscripts;
    let is_coordinate = |(index, d): (&Name, &usize)| {
        let moved = output[*d].clone() - Affine::var(index.clone());
        moved.as_constant().is_some()
    };
    let follows = known <= order.len() && indices[..known].iter().zip(order).all(is_coordinate);
    (complete && follows).then_some(known)
}

/// Puts the node into the tree that `assembling` chose the place in.
pub(super) fn assemble(loops: &mut Loops, assembling: &Assembling) {
    let mut body = std::mem::take(&mut loops.body);
    wrap(loops, &mut body, &mut Vec::new(), assembling);
    loops.body = body;
}

fn wrap(loops: &mut Loops, block: &mut Block, around: &mut Vec<Name>, how: &Assembling) {
    let inner = only(block);
    let deeper = inner.is_some_and(|k| goes_deeper(&block[k], around, how));
    if let (Some(k), true) = (inner, deeper) {
        match &mut block[k] {
            Node::For(l) => {
                around.push(l.var.clone());
                wrap(loops, &mut l.body, around, how);
            }
            Node::Search(s) => {
                if !is_one(s) {
                    around.push(s.var.clone());
                }
                wrap(loops, &mut s.found, around, how);
            }
            Node::Merge(m) => {
                around.extend(m.key.iter().cloned());
                wrap(loops, &mut m.body, around, how);
            }
            Node::Step(s) => {
                around.push(s.index.clone());
                wrap(loops, &mut s.body, around, how);
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
    // What is computed inside is computed here, too.
    let here = |e: &Arith| lets(&body).iter().rev().fold(e.clone(), substituted);
    let key = at.map(|(d, e)| known.contains(&d).then(|| here(e))).collect();
    if !matches!(how.gather, Gather::Nothing | Gather::Merge) {
        // What is gathered is emptied here, so that no search may jump over it.
        stay(loops, &mut body);
    }
    let (array, gather) = (target.array, how.gather.clone());
    block.push(Node::Assemble(Box::new(Assemble { array, key, gather, in_parts: false, body })));
}

/// Whether the place is inside the node: not all loops are around it yet, or the node only tests.
fn goes_deeper(node: &Node, around: &[Name], how: &Assembling) -> bool {
    let missing = how.around.iter().any(|n| !around.contains(n));
    let tests = match node {
        Node::If { .. } | Node::When { .. } | Node::Piece(_) => true,
        Node::Search(s) => is_one(s),
        _ => false,
    };
    missing || tests
}

/// What is computed on the way to the first update, outside first.
fn lets(block: &Block) -> Vec<(Name, Affine)> {
    let mut out = Vec::new();
    for node in block {
        match node {
            Node::Let { var, value } => out.push((var.clone(), value.clone())),
            node if has_updates(node) => {
                if let Node::Search(s) = node
                    && let Among::One(value) = &s.among
                {
                    out.push((s.var.clone(), value.clone()));
                }
                let inner = node.blocks().into_iter().find(|b| b.iter().any(has_updates));
                out.extend(inner.map(lets).unwrap_or_default());
                break;
            }
            _ => {}
        }
    }
    out
}

fn substituted(e: Arith, (var, value): &(Name, Affine)) -> Arith {
    match e.to_affine() {
        Ok(a) => Arith::from_affine(&a.substitute(&|n| (n == var).then(|| value.clone()))),
        Err(_) => e,
    }
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
