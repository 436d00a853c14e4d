//! Which accesses of small bodies are proved.

use super::*;
use crate::code::ir::{Array, IndexWidth};
use crate::formula::{Affine, Formula};
use crate::prover::Z3Prover;
use crate::theory::Theory;

/// Whether `crd[subscript(p, q)]` is proved in `for p in 0..N { for q in 0..N { … } }`, `crd` having N elements.
fn is_proved(subscript: impl Fn(Expr, Expr) -> Expr) -> bool {
    let mut body = Body::default();
    let [n, p, q, x] = ["N", "p", "q", "x"].map(|name| body.variable(name, Type::Unsigned));
    body.sizes = vec![n];
    let (k, size) = (Affine::var("k"), Affine::var("N"));
    let crd = body.array(Array {
        name: "crd".into(),
        element: Element::Index { signed: false, width: IndexWidth::U32 },
        origin: Origin::Input,
        shape: vec![Expr::Var(n)],
        args: vec!["k".into()],
        domain: vec![Constraint::le(Affine::zero(), k.clone()), Constraint::lt(k, size.clone())],
        range: Vec::new(),
    });
    let value = Expr::load(crd, vec![subscript(Expr::Var(p), Expr::Var(q))]);
    let each = |var, body| Stmt::For { var, lo: Expr::int(0), hi: Expr::Var(n), body };
    body.block = vec![each(p, vec![each(q, vec![Stmt::Let { var: x, mutable: false, value }])])];
    let known = vec![Formula::le(Affine::zero(), size)];
    let theory = Theory::new(vec!["N".into()], known);
    let mut prover = Z3Prover::new();
    let accesses = prove_bounds(&mut body, &mut Path::new(&theory, &mut prover)).unwrap();
    accesses.iter().all(|access| access.proved)
}

fn signed_difference(p: Expr, q: Expr) -> Expr {
    Expr::binary(BinaryOp::Sub, p.converted(true), q.converted(true))
}

#[test]
fn what_lies_between_bounds_is_in_bounds() {
    assert!(is_proved(|p, _| p));
    assert!(is_proved(|p, _| Expr::binary(BinaryOp::SaturatingSub, p, Expr::int(1))));
    assert!(is_proved(|p, q| Expr::binary(BinaryOp::Min, p, q.add(Expr::int(7)))));
    assert!(!is_proved(|p, q| Expr::binary(BinaryOp::Max, p, q)), "no bound from above is read");
    assert!(!is_proved(|p, _| p.add(Expr::int(1))));
}

#[test]
fn what_may_be_negative_is_in_bounds_only_above_zero() {
    let zero = || Expr::integer(0, true);
    let at_least = |e, least| Expr::binary(BinaryOp::Max, e, least);
    // 0, or at most `p`.
    let natural = |p, q| at_least(signed_difference(p, q), zero());
    assert!(is_proved(|p, q| natural(p, q).converted(false)));
    let next = |p: Expr, q| at_least(signed_difference(p.add(Expr::int(1)), q), zero());
    assert!(!is_proved(|p, q| next(p, q).converted(false)), "it is N where p = N - 1 and q = 0");
    let positive = |p, q| at_least(signed_difference(p, q), Expr::integer(1, true));
    assert!(!is_proved(|p, q| positive(p, q).converted(false)), "it is 1 where N = 1");
    // Negative where `p < q`, though below both.
    let least = |p: Expr, q| {
        let end = p.clone().converted(true);
        Expr::binary(BinaryOp::Min, signed_difference(p, q), end)
    };
    assert!(!is_proved(|p, q| least(p, q).converted(false)));
    let negative = |p: Expr, q: Expr| {
        let less = Expr::binary(BinaryOp::Sub, Expr::integer(-1, true), q.converted(true));
        Expr::binary(BinaryOp::Min, less, p.converted(true))
    };
    assert!(!is_proved(|p, q| negative(p, q).converted(false)), "it is negative everywhere");
}
