//! Where a condition ends to hold that holds up to some number of a range: sought in strides that double, then by halves.
//!
//! ```text
//! let mut ahead = lo;
//! let mut stride = 1;
//! let mut end = lo;
//! while ahead < hi && holds(ahead) { end = ahead + 1; ahead += stride; stride *= 2; }
//! let mut stop = min(ahead, hi);
//! while end < stop {
//!     let middle = (end + stop) / 2;
//!     if holds(middle) { end = middle + 1; } else { stop = middle; }
//! }
//! ```
//! What is found takes as many steps as its distance from the beginning has binary digits, twice.

use super::ir::{Assign, BinaryOp, Block, Body, Expr, Stmt, Type, VarId};

/// The variables of a search.
pub(super) struct Prefix {
    /// Numbers of which is asked whether the condition holds.
    pub ahead: VarId,
    pub middle: VarId,
    /// The first number of which it does not hold, or the end of the range.
    pub end: VarId,
    stride: VarId,
    stop: VarId,
}

impl Body {
    /// The variables of a search whose result is called that.
    pub(super) fn prefix(&mut self, end: &str) -> Prefix {
        let mut number = |name: &str| self.variable(name, Type::Unsigned);
        let [ahead, middle, stride, stop] = ["ahead", "middle", "stride", "stop"].map(&mut number);
        Prefix { ahead, middle, end: number(end), stride, stop }
    }
}

impl Prefix {
    /// The search in `lo..hi`, which does not end before it begins; the conditions are those of `ahead` and `middle`.
    pub fn search(&self, lo: &Expr, hi: &Expr, of_ahead: Expr, of_middle: Expr) -> Block {
        let Prefix { ahead, middle, end, stride, stop } = *self;
        let begin = |var, value| Stmt::Let { var, mutable: true, value };
        let set = |var, value| Stmt::Assign { var, op: Assign::Set, value };
        let after = |var| Expr::Var(var).add(Expr::int(1));
        let less = |a: Expr, b: Expr| Expr::binary(BinaryOp::Lt, a, b);
        let at_most = |a: Expr, b: Expr| Expr::binary(BinaryOp::Le, a, b);
        let between = Expr::Var(end).add(Expr::Var(stop));
        let middle_of = Expr::binary(BinaryOp::Div, between, Expr::int(2));
        vec![
            begin(ahead, lo.clone()),
            begin(stride, Expr::int(1)),
            begin(end, lo.clone()),
            Stmt::While {
                condition: Expr::and([less(Expr::Var(ahead), hi.clone()), of_ahead]),
                invariants: vec![
                    at_most(lo.clone(), Expr::Var(end)),
                    at_most(Expr::Var(end), Expr::Var(ahead)),
                    at_most(Expr::Var(end), hi.clone()),
                ],
                body: vec![
                    set(end, after(ahead)),
                    Stmt::Assign { var: ahead, op: Assign::Add, value: Expr::Var(stride) },
                    set(stride, Expr::Var(stride).mul(Expr::int(2))),
                ],
            },
            begin(stop, Expr::binary(BinaryOp::Min, Expr::Var(ahead), hi.clone())),
            Stmt::While {
                condition: less(Expr::Var(end), Expr::Var(stop)),
                invariants: vec![
                    at_most(lo.clone(), Expr::Var(end)),
                    at_most(Expr::Var(end), Expr::Var(stop)),
                    at_most(Expr::Var(stop), hi.clone()),
                ],
                body: vec![
                    Stmt::Let { var: middle, mutable: false, value: middle_of },
                    Stmt::If {
                        condition: of_middle,
                        then: vec![set(end, after(middle))],
                        otherwise: vec![set(stop, Expr::Var(middle))],
                    },
                ],
            },
        ]
    }
}
