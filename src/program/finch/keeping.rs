//! Updates that read what they write: which of several values is kept.
//!
//! ```text
//! let new = choose(P[k], j, 0) { P[k] = new }          P[k] becomes the first j that is not 0
//! when d < m[i] { m[i] = d  p[i] = j }                 m[i] becomes the least d, p[i] the j of it
//! ```

use std::sync::Arc;

use super::operations::reads;
use crate::operators::Operator;
use crate::program::ir::{Access, Apply, Assign, AssignOp, Expr, Stmt};

/// Such an update.
pub(super) enum Kept<'a> {
    First {
        output: &'a Access,
        value: &'a Expr,
        unless: &'a Expr,
    },
    /// The output that is compared comes first.
    Best {
        op: &'a Arc<Operator>,
        parts: Vec<(&'a Access, &'a Expr)>,
    },
}

/// What a statement keeps, if it is such an update.
pub(super) fn kept(stmt: &Stmt) -> Option<Kept<'_>> {
    match stmt {
        Stmt::Let(l) => {
            let [Stmt::Assign(Assign { output, op: AssignOp::Assign, value: Expr::Name(name, _) })] =
                l.body.as_slice()
            else {
                return None;
            };
            let Expr::Apply(Apply { op, args, .. }) = &l.value else { return None };
            match args.as_slice() {
                [Expr::Access(old), value, unless]
                    if op.is_first_unlike() && old == output && *name == l.name =>
                {
                    let apart = !reads(value, &output.tensor) && !reads(unless, &output.tensor);
                    apart.then_some(Kept::First { output, value, unless })
                }
                _ => None,
            }
        }
        Stmt::When(w) if w.otherwise.is_none() => {
            let Expr::Apply(Apply { op, args, .. }) = &w.condition else { return None };
            let [new, Expr::Access(old)] = args.as_slice() else { return None };
            let mut parts = Vec::new();
            for stmt in &w.then {
                let Stmt::Assign(Assign { output, op: AssignOp::Assign, value }) = stmt else {
                    return None;
                };
                parts.push((output, value));
            }
            let first = parts.first()?;
            let written = |e: &Expr| parts.iter().any(|(o, _)| reads(e, &o.tensor));
            let alike =
                parts.iter().all(|(o, value)| o.subscripts == old.subscripts && !written(value));
            let strict = matches!(op.symbol(), Some("<" | ">"));
            let fits = strict && first.0 == old && first.1 == new && alike;
            fits.then_some(Kept::Best { op, parts })
        }
        _ => None,
    }
}
