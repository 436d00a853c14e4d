//! What is looked up where its indices are known.

use std::ops::Range;
use std::rc::Rc;

use crate::diagnostic::Result;
use crate::formula::{Arith, Constraint, Name};
use crate::iterspace::{Operand, Space};
use crate::prover::Prover;
use crate::scan::{Nest, scan_within};
use crate::synth::{self, Plan, Proved, Sizes, Template};
use crate::synth::{cheapest, cheapest_together, synthesize};

/// A lookup of an operand within the first levels of a nest.
#[derive(Clone, Debug)]
pub struct Looked {
    /// Number of the operand in the space.
    pub operand: usize,
    /// The levels that it needs.
    pub depth: usize,
    /// For each piece of its relation that may hold something.
    pub pieces: Vec<LookedPiece>,
}

/// A piece of the relation of what is looked up.
#[derive(Clone, Debug)]
pub struct LookedPiece {
    /// What must hold before its positions are visited.
    pub guards: Vec<Constraint>,
    /// The levels around the lookup, then its own.
    pub nest: Nest,
    /// The subscripts of its value.
    pub value_index: Vec<Arith>,
    /// Its finds among those of the statement.
    pub finds: Range<usize>,
}

/// Tries templates on finds, and takes the cheapest for each.
pub struct Finder<'a> {
    templates: &'a [Rc<Template>],
    sizes: &'a Sizes,
    /// Of the nest, then of the lookups.
    pub(super) finds: Vec<synth::Find>,
    /// The plan for each find.
    pub(super) chosen: Vec<Proved<Plan>>,
}

impl<'a> Finder<'a> {
    pub fn new(templates: &'a [Rc<Template>], sizes: &'a Sizes) -> Finder<'a> {
        Finder { templates, sizes, finds: Vec::new(), chosen: Vec::new() }
    }

    /// The finds of a nest.
    pub(super) fn own(
        &mut self,
        space: &Space,
        nest: &Nest,
        prover: &mut dyn Prover,
    ) -> Result<()> {
        self.finds = synthesize(space, nest, self.templates, prover)?;
        let of_find = |find: &synth::Find| gallops(space, find);
        self.chosen = cheapest_together(&self.finds, nest, self.sizes, &of_find)?;
        Ok(())
    }

    /// An operand that is looked up within a nest: what is proved holds there. Plans are chosen for what is expected of
    /// `visited`, which has the same levels.
    pub(super) fn looked_up(
        &mut self,
        space: &Space,
        operand: usize,
        (outer, visited): (&Nest, &Nest),
        prover: &mut dyn Prover,
    ) -> Result<Looked> {
        let o = &space.operands[operand];
        let depth = outer.depth_of(&o.subscripts);
        let mut dims: Vec<Name> = outer.levels[..depth].iter().map(|l| l.var.clone()).collect();
        let around = dims.len();
        let mut pieces = Vec::new();
        for piece in 0..o.pieces.len() {
            let inner = space.of_lookup(operand, piece, outer.known_before(depth));
            dims.truncate(around);
            dims.extend(inner.operands[operand].positions.iter().cloned());
            let found = scan_within(&inner, &dims, outer, depth, prover)?;
            let Some((mut nest, guards)) = found else { continue };
            let start = self.finds.len();
            let all = synthesize(&inner, &nest, self.templates, prover)?;
            nest.levels[..depth].clone_from_slice(&visited.levels[..depth]);
            for find in all.into_iter().filter(|f| f.problem.level >= depth) {
                let plan = cheapest(&find, &nest, self.sizes, gallops(space, &find))?;
                self.chosen.push(plan.clone());
                self.finds.push(find);
            }
            let value_index = inner.operands[operand].value_index.clone();
            pieces.push(LookedPiece { guards, nest, value_index, finds: start..self.finds.len() });
        }
        Ok(Looked { operand, depth, pieces })
    }
}

/// Whether steps are to grow when a position is sought.
fn gallops(space: &Space, find: &synth::Find) -> bool {
    let own = |o: &&Operand| o.positions.contains(&find.problem.position);
    space.operands.iter().find(own).is_some_and(|o| o.gallops)
}
