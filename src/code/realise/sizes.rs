//! Sizes of tensors as expressions.

use super::super::ir::{ArrayId, BinaryOp, Body, Expr};
use crate::formula::Arith;

/// A size in terms of the sizes of the body.
///
/// # Panics
/// If `e` speaks of a size or an array that the body does not declare.
pub fn size(body: &Body, e: &Arith) -> Expr {
    sized(body, e, false)
}

/// [`size`], computed in `isize` on request: then differences may be negative on the way.
fn sized(body: &Body, e: &Arith, signed: bool) -> Expr {
    let both =
        |op, a: &Arith, b: &Arith| Expr::binary(op, sized(body, a, signed), sized(body, b, signed));
    let typed = |e: Expr| if signed { e.converted(true) } else { e };
    match e {
        Arith::Int(n) => Expr::integer(*n, signed),
        Arith::Var(n) => {
            typed(Expr::Var(body.variable_named(n).expect("a size that the body declares")))
        }
        Arith::Call(array, args) => {
            let array = body.array_named(array).expect("an array that the body declares");
            typed(Expr::load(array, vec![place(body, array, args)]))
        }
        Arith::Add(a, b) => sized(body, a, signed).add(sized(body, b, signed)),
        Arith::Sub(a, b) => sized(body, a, signed).sub(sized(body, b, signed)),
        Arith::Mul(a, b) => sized(body, a, signed).mul(sized(body, b, signed)),
        Arith::Div(a, b) => both(BinaryOp::Div, a, b),
        Arith::Mod(a, b) => both(BinaryOp::Rem, a, b),
        // `max(I - 4, 0)`: a difference may be negative there.
        Arith::Min(..) | Arith::Max(..) if !signed && subtracts(e) => {
            sized(body, e, true).converted(false)
        }
        Arith::Min(a, b) => both(BinaryOp::Min, a, b),
        Arith::Max(a, b) => both(BinaryOp::Max, a, b),
    }
}

fn subtracts(e: &Arith) -> bool {
    e.parts().iter().any(|part| matches!(part, Arith::Sub(..)))
}

/// The row-major place of an element. It may be in the row behind the last: the end of the last segment
/// of `pos(P0, J)` is `pos(P0 - 1, J)`. With `P0 = 0` that is the first element, so the place is
/// computed as validation does, with negative numbers on the way.
fn place(body: &Body, array: ArrayId, args: &[Arith]) -> Expr {
    let signed = args.len() > 1 && args.iter().any(subtracts);
    let typed = |e: Expr| if signed { e.converted(true) } else { e };
    let mut out = Expr::integer(0, signed);
    for (k, arg) in args.iter().enumerate() {
        let arg = sized(body, arg, signed);
        out = match body.arr(array).shape.get(k) {
            Some(extent) if k > 0 => out.mul(typed(extent.clone())).add(arg),
            _ => arg,
        };
    }
    if signed { out.converted(false) } else { out }
}
