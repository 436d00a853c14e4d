//! The entries of one access, whatever is computed with them.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::Result;
use crate::formula::{Affine, Constraint, Name};
use crate::iterspace::{Names, Source, Space, compose};
use crate::layout::{DefaultFor, Layout};
use crate::operators::Tree;
use crate::program::{Access, Program};

/// The spaces of `s[] += A[i,j]`, one for each piece of the relation.
pub(super) fn spaces(access: &Access, layout: &Arc<Layout>) -> Result<Vec<Space>> {
    let mut names = Names::default();
    names.take(&access.tensor);
    access.visit_indices(&mut |index| names.take(index));
    let sum = names.fresh("s");
    let brackets = if access.subscripts.is_empty() { "[]" } else { "" };
    let program = Program::parse(&format!("{sum}[] += {access}{brackets}"))?;
    let scalar = Layout::named_for_rank(&DefaultFor::Output.layout()?, 0)?;
    let layouts: IndexMap<Name, Arc<Layout>> =
        [(sum, Arc::new(scalar)), (access.tensor.clone(), layout.clone())].into_iter().collect();
    compose(&program, &layouts, None)
}

/// The entries of one operand of a space, by one piece of its relation.
pub fn of_operand(space: &Space, operand: usize, piece: usize) -> Space {
    let o = &space.operands[operand];
    let is_own = |index: &&Name| o.subscripts.iter().any(|s| s.mentions(index));
    let indices: Vec<Name> = space.indices.iter().filter(is_own).cloned().collect();
    let inside = |e: &Affine, extent: &Name| {
        let extent = Affine::var(extent.clone());
        [Constraint::le(Affine::zero(), e.clone()), Constraint::lt(e.clone(), extent)]
    };
    let mut constraints: Vec<Constraint> = Vec::new();
    let along = indices.iter().flat_map(|i| space.within_extent(i));
    let within = o.subscripts.iter().zip(&o.extents).flat_map(|(e, extent)| inside(e, extent));
    for c in along.chain(within).chain(o.pieces[piece].iter().cloned()) {
        if !constraints.contains(&c) && c.as_bool() != Some(true) {
            constraints.push(c);
        }
    }
    let mut pieces = space.pieces.clone();
    pieces[operand] = piece;
    Space {
        indices,
        stored: vec![operand],
        value: Arc::new(Tree::Leaf(Source::Operand(operand))),
        pieces,
        ..space.bounded_by(constraints)
    }
}
