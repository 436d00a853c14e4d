//! A result that threads assemble in parts.
//!
//! Later iterations of the loops around an assembled place write greater coordinates, and so do those of the
//! outermost one: what chunks of its iterations append comes in the order of the chunks. If walks are merged
//! and no loop is around them, threads take chunks of the first coordinate instead: each walk is in order, and a
//! binary search tells where a chunk begins and ends in it.
//!
//! ```text
//! state px                                      for i in 0..I on threads in parts
//! for i in 0..I                                   each thread: state px
//!   assemble val_C[i, _] through dense     →      assemble val_C[i, _] through dense
//!     …                                             …
//! ```

use super::assemble::Assembling;
use super::tree::{Block, Gather, Loops, Node, SearchId, Threads};
use crate::formula::{Affine, Constraint, Formula, Name};
use crate::iterspace::Space;
use crate::prover::Prover;
use crate::scan::Range;
use crate::theory::{Known, Theory};

/// Of what threads may take chunks, each assembling parts, or why of nothing.
pub fn chunks_of(
    loops: &Loops,
    assembling: &Assembling,
    space: &Space,
    prover: &mut dyn Prover,
) -> Result<Name, String> {
    let Some(var) = assembling.around.first() else {
        let first = assembling.order.first().filter(|_| assembling.gather == Gather::Merge);
        return match first {
            Some(d) => Ok(Name::from(space.output().subscripts[*d].to_string())),
            None => Err("entries come in order only when all loops have run".to_string()),
        };
    };
    match outermost(&loops.body, var) {
        Some(range) if is_natural(range, &space.theory, prover) => Ok(var.clone()),
        Some(_) => Err(format!("`{var}` may be negative")),
        None if is_merged(&loops.body, var) => {
            Err(format!("`{var}` is what operands are walked at once by"))
        }
        None => Err(format!("`{var}` is searched for, one match after the other")),
    }
}

/// The range of the loop over `var`, if only tests and known positions are around it and threads can share it.
fn outermost<'a>(block: &'a [Node], var: &Name) -> Option<&'a Range> {
    block.iter().find_map(|node| match node {
        Node::For(l) => (l.var == *var).then_some(&l.range),
        Node::Step(step) => (step.index == *var && step.rises()).then_some(&step.range),
        // What is walked at once is walked by one thread.
        Node::Merge(_) => None,
        node => node.blocks().into_iter().find_map(|inner| outermost(inner, var)),
    })
}

/// Whether operands are walked at once by `var`, among others.
fn is_merged(block: &[Node], var: &Name) -> bool {
    block.iter().any(|node| match node {
        Node::Merge(m) if m.key.contains(var) => true,
        Node::Step(step) if step.index == *var => true,
        node => node.blocks().into_iter().any(|inner| is_merged(inner, var)),
    })
}

/// Chunks are ranges of natural numbers.
fn is_natural(range: &Range, theory: &Theory, prover: &mut dyn Prover) -> bool {
    let number = Affine::var("a number of the range");
    let mut facts: Vec<Formula> = range.of(&number).into_iter().map(Formula::Constraint).collect();
    facts.push(Formula::Constraint(Constraint::lt(number, Affine::constant(0))));
    Known::new(theory, prover).excludes(&facts)
}

/// Marks the merge around which there are no loops.
pub(super) fn share_merge(block: &mut Block) {
    for node in block {
        match node {
            Node::Assemble(a) => a.in_parts = true,
            node => node.blocks_mut().into_iter().for_each(share_merge),
        }
    }
}

/// Marks the loop over `var`. Each thread has states of its own: it meets its iterations in order, and what
/// holds between any two of them holds between those.
pub(super) fn share(loops: &Loops, block: &mut Block, var: &Name, threads: Threads) {
    share_within(loops, block, (var, threads), &mut Vec::new());
}

fn share_within(
    loops: &Loops,
    block: &mut Block,
    (var, threads): (&Name, Threads),
    setup: &mut Block,
) {
    let Some(at) = block.iter().position(|node| leads_to(node, var)) else { return };
    let inside = searches(&block[at..=at]);
    let own = |node: &Node| match node {
        Node::State(id) => inside.contains(id) && !loops.find(*id).plan.is_shared(),
        _ => false,
    };
    let mut kept = Vec::new();
    for node in std::mem::take(block) {
        match own(&node) {
            true => setup.push(node),
            false => kept.push(node),
        }
    }
    *block = kept;
    let Some(node) = block.iter_mut().find(|node| leads_to(node, var)) else { return };
    match node {
        Node::For(l) => {
            l.parallel = Some(threads);
            l.setup = std::mem::take(setup);
        }
        Node::Step(step) => {
            step.parallel = Some(threads);
            step.setup = std::mem::take(setup);
        }
        node => {
            let inner = node.blocks_mut().into_iter().find(|b| outermost(b, var).is_some());
            inner.into_iter().for_each(|inner| share_within(loops, inner, (var, threads), setup));
        }
    }
}

fn leads_to(node: &Node, var: &Name) -> bool {
    outermost(std::slice::from_ref(node), var).is_some()
}

/// Every search inside.
fn searches(block: &[Node]) -> Vec<SearchId> {
    let mut out = Vec::new();
    for node in block {
        if let Node::Search(s) = node {
            out.push(s.id);
        }
        node.blocks().into_iter().for_each(|inner| out.extend(searches(inner)));
    }
    out
}
