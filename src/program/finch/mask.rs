//! Masks: tensors of truth values that are stored nowhere, as the comparisons of indices that they are.
//!
//! ```text
//! diagmask[i, j]            ⟼   i == j
//! uptrimask[i, j]           ⟼   i <= j
//! lotrimask[i, j]           ⟼   i >= j
//! bandmask[i, lo, hi]       ⟼   lo <= i <= hi
//! chunkmask(n, b)[i, j]     ⟼   b * (j - 1) < i <= b * j
//! splitmask(n, p)[i, j]     ⟼   fld(n * (j - 1), p) < i <= fld(n * j, p)
//! ```

use super::refusal::wrong;
use super::syntax::{Expr, Ident, Literal};
use crate::diagnostic::Result;
use crate::program::ir::Span;

/// Whether a name is that of a mask that needs no numbers.
pub(super) fn is_plain(name: &str) -> bool {
    matches!(name, "diagmask" | "uptrimask" | "lotrimask" | "bandmask")
}

/// What an element of a mask is.
pub(super) fn meaning(
    name: &Ident,
    args: Vec<Expr>,
    subscripts: Vec<Expr>,
    span: &Span,
) -> Result<Expr> {
    let chain = |a: Expr, rest: Vec<(&'static str, Expr)>| Expr::Chain(Box::new(a), rest);
    let (how, rank, numbers) = match name.name.as_str() {
        "bandmask" => ("bandmask[i, lo, hi]", 3, 0),
        "chunkmask" => ("chunkmask(n, b)[i, j]", 2, 2),
        "splitmask" => ("splitmask(n, p)[i, j]", 2, 2),
        other => (&*format!("{other}[i, j]"), 2, 0),
    };
    if subscripts.len() != rank || args.len() != numbers {
        return Err(
            wrong(format!("`{name}` has {rank} subscripts"), span).help(format!("write `{how}`"))
        );
    }
    let mut subscripts = subscripts.into_iter();
    let (Some(i), Some(j)) = (subscripts.next(), subscripts.next()) else {
        return Err(wrong(format!("`{name}` has {rank} subscripts"), span).help(how));
    };
    let infix = |op, a: Expr, b: Expr| Expr::Infix(op, Box::new(a), Box::new(b));
    let before = |j: &Expr| {
        infix("-", j.clone(), Expr::Literal(Literal::Integer("1".to_string()), span.clone()))
    };
    let mut args = args.into_iter();
    Ok(match (name.name.as_str(), args.next(), args.next(), subscripts.next()) {
        ("diagmask", ..) => chain(i, vec![("==", j)]),
        ("uptrimask", ..) => chain(i, vec![("<=", j)]),
        ("lotrimask", ..) => chain(i, vec![(">=", j)]),
        ("bandmask", _, _, Some(high)) => chain(j, vec![("<=", i), ("<=", high)]),
        ("chunkmask", _, Some(b), _) => {
            let low = infix("*", b.clone(), before(&j));
            chain(low, vec![("<", i), ("<=", infix("*", b, j))])
        }
        ("splitmask", Some(n), Some(p), _) => {
            let fld = |j: Expr| {
                let function = Ident { name: "fld".to_string(), span: span.clone() };
                let args = vec![infix("*", n.clone(), j), p.clone()];
                Expr::Call(Box::new(Expr::Name(function)), args, span.clone())
            };
            chain(fld(before(&j)), vec![("<", i), ("<=", fld(j))])
        }
        _ => return Err(wrong(format!("`{name}` is no mask"), span).help("use `diagmask[i, j]`")),
    })
}
