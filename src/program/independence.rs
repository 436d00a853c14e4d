//! Verifies that the order of a free loop does not matter.
//!
//! For every tensor that the loop writes, and that is no workspace of its body, one of two holds:
//! - all writes combine by one operator that is commutative and associative, and nothing reads:
//!   `s += x[i]`;
//! - one subscript is the loop's index alone, in all accesses: each iteration has elements of its
//!   own, as in `y[i] = x[i]`.
//!
//! Sound but not complete: what is refused may still be written as a fixed loop.

use super::ir::{Access, AssignOp, Expr, Loop, Order, Program, Stmt};
use super::verify::wrong;
use crate::diagnostic::Result;

impl Program {
    pub(super) fn verify_order(&self) -> Result<()> {
        self.loops().into_iter().filter(|l| l.order == Order::Free).try_for_each(verify_loop)
    }
}

/// That the order of the iterations of one loop, taken as free, does not matter.
///
/// # Errors
/// [`Code::Program`](crate::diagnostic::Code::Program) if that is not seen.
pub(super) fn verify_loop(l: &Loop) -> Result<()> {
    let Some((access, _)) = depends_on_order(l).into_iter().next() else { return Ok(()) };
    let (index, tensor) = (&l.index, &access.tensor);
    let message = format!("the order of the free loop over `{index}` decides `{tensor}`");
    Err(wrong(message, access.span.clone())
        .note(
            "its iterations neither combine by one operator that is commutative and associative \
             nor write different elements",
        )
        .help(format!(
            "combine by `+=`, `*=`, `min=` or another operator of that kind, or, in a program, write `for {index}`, a loop \
             that runs in order"
        )))
}

/// What is written depending on the order of the iterations of a loop, as far as is seen: each tensor once, at
/// its first write.
pub(super) fn depends_on_order(l: &Loop) -> Vec<(&Access, &AssignOp)> {
    let mut out = Vec::new();
    let mut writes: Vec<(&Access, &AssignOp)> = Vec::new();
    let mut reads: Vec<&Access> = Vec::new();
    let mut workspaces = Vec::new();
    for stmt in &l.body {
        stmt.visit(&mut |s| {
            match s {
                Stmt::Assign(a) => writes.push((&a.output, &a.op)),
                Stmt::Declare(d) => workspaces.push(&d.tensor),
                _ => {}
            }
            reads.extend(s.value().into_iter().flat_map(Expr::accesses));
        });
    }
    for (k, (access, op)) in writes.iter().enumerate() {
        let same = |other: &Access| other.tensor == access.tensor;
        // Each tensor once, at its first write.
        if workspaces.contains(&&access.tensor) || writes[..k].iter().any(|(a, _)| same(a)) {
            continue;
        }
        let combines = matches!(op, AssignOp::Combine(op) if op.is_reduction())
            && writes.iter().all(|(a, other)| !same(a) || other == op)
            && !reads.iter().any(|a| same(a));
        let all = || writes.iter().map(|(a, _)| *a).chain(reads.iter().copied());
        let own = (0..access.rank()).any(|d| {
            let plain = |a: &Access| a.subscripts[d].as_var() == Some(&l.index);
            all().filter(|a| same(a)).all(plain)
        });
        if !(combines || own) {
            out.push((*access, *op));
        }
    }
    out
}
