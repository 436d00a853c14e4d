//! Where segments end is noted once, behind the loop that appends to them.
//!
//! Before → after, for the rows of a matrix:
//!
//! ```text
//! for pA1 in pos_A[i]..pos_A[i + 1] {            for pA1 in pos_A[i]..pos_A[i + 1] {
//!     crd_C.push(crd_A[pA1]);                        crd_C.push(crd_A[pA1]);
//!     val_C.push(val_A[pA1]);            →           val_C.push(val_A[pA1]);
//!     pos_C[i + 1] = val_C.len();                }
//! }                                              pos_C[i + 1] = val_C.len();
//! ```
//! A segment to which nothing is appended ends where the one before does: that is what is noted then, too.

use rustc_hash::FxHashSet;

use super::ir::{Assign, Block, Body, Expr, Load, Origin, Stmt, VarId};
use super::visit::{Part, visit};

impl Body {
    /// Notes the ends of segments behind loops; true if that changed anything.
    pub(super) fn end_segments_later(&mut self) -> bool {
        self.change(|body, block| body.ends_later(block))
    }

    fn ends_later(&self, block: &mut Block) -> bool {
        let mut changed = false;
        for mut stmt in std::mem::take(block) {
            stmt.parts_mut(&mut |_| {}, &mut |inner| changed |= self.ends_later(inner));
            let mut ends = Vec::new();
            if let Stmt::For { .. } | Stmt::While { .. } = &stmt {
                let inside = set_within(&stmt);
                stmt.parts_mut(&mut |_| {}, &mut |inner| self.take_ends(inner, &inside, &mut ends));
            }
            changed |= !ends.is_empty();
            block.push(stmt);
            block.extend(ends);
        }
        changed
    }

    /// Takes the notes out of a block of which the subscripts stay the same in it.
    fn take_ends(&self, block: &mut Block, inside: &FxHashSet<VarId>, out: &mut Block) {
        block.retain(|stmt| match stmt {
            Stmt::Store { place, op: Assign::Set, value: Expr::Len(_) } => {
                let moves = self.is_grown(place) && stays(place, inside);
                if moves && !out.contains(stmt) {
                    out.push(stmt.clone());
                }
                !moves
            }
            _ => true,
        });
        for stmt in block {
            if let Stmt::If { .. } | Stmt::Scope(_) | Stmt::Given { .. } = stmt {
                stmt.parts_mut(&mut |_| {}, &mut |inner| self.take_ends(inner, inside, out));
            }
        }
    }

    fn is_grown(&self, place: &Load) -> bool {
        self.arr(place.array).origin == Origin::Grown
    }
}

/// Whether a place is the same whatever is set.
fn stays(place: &Load, set: &FxHashSet<VarId>) -> bool {
    let mut stays = true;
    for subscript in &place.subscripts {
        subscript.visit(&mut |e| match e {
            Expr::Var(var) => stays &= !set.contains(var),
            Expr::Load(_) => stays = false,
            _ => {}
        });
    }
    stays
}

/// The variables that a loop sets.
fn set_within(stmt: &Stmt) -> FxHashSet<VarId> {
    let mut out = FxHashSet::default();
    let block = vec![stmt.clone()];
    visit(&block, &mut |part| {
        if let Part::Stmt(
            Stmt::Let { var, .. } | Stmt::Assign { var, .. } | Stmt::For { var, .. },
        ) = part
        {
            out.insert(*var);
        }
    });
    out
}
