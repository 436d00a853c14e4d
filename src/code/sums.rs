//! Sums in several independent chains of additions, none of which waits for another.
//!
//! Before → after, for rows that are expected to have few entries:
//!
//! ```text
//! sum_of(pos_A[pA0], pos_A[pA0 + 1], |pA1| …)   →   sum_of_few(pos_A[pA0], pos_A[pA0 + 1], |pA1| …)
//! ```
//!
//! Four chains take three branches at the end of a row, two chains two. Where rows are short, a branch that is not
//! foreseen takes longer than the additions that wait: measured on 13 matrices, two chains take 0.83 to 1.08 of the time
//! of four for rows of 3 to 10 entries (Zen 4), and 1.05 to 1.17 for rows of 30 and more. On Zen 5 they take 0.61 to 1.00
//! for rows of 3 to 42. Where rows are not known to be short, each tells how many chains it has, `sum_by_length`: 0.86 of
//! the time of four on average over 18 matrices (Zen 5), two having 0.84.
//!
//! Before → after, where floats are read in order:
//!
//! ```text
//! sum_of(i * J, i * J + J, |j| val_A[j])   →   sum_of_many(i * J, i * J + J, |j| val_A[j])
//! ```
//!
//! Four chains are one vector, whose next addition waits for the last: rows of 100 and more take half of the time in eight.
//!
//! Before → after, in the text of a sum along a row of arrays of one width:
//!
//! ```text
//! sum_of(0, len_A[p0], |p1|                         sum_of(p0 * W, p0 * W + len_A[p0], |p1|
//!     val_A[p0 * W + p1] * x[crd_A[p0 * W + p1]])  →    val_A[p1] * x[crd_A[p1]])
//! ```
//!
//! Compilers do not take the row out of the subscripts: SpMV of ELL by rows of 11 takes 0.76 of the time so.

use super::ir::{
    Access, Array, BinaryOp, Body, Chains, Element, Expr, Load, MANY, Stmt, Sum, VarId,
};
use crate::operators::Value;
use crate::tensor::ValueType;

impl Body {
    /// Whether the elements of the result have a type, the one of which modules reduce terms; of several results, those
    /// of the last, which is declared first.
    pub(super) fn is_of_result(&self, ty: ValueType) -> bool {
        let values = |a: &Array| matches!(a.element, Element::Value(_));
        let mut written = self.arrays.iter().filter(|a| a.origin.is_written() && values(a));
        written.next().is_some_and(|a| a.element == Element::Value(ty))
    }

    /// Sums in two chains where ranges in loops are `short`, and else in eight where floats are added in order: what looks
    /// up elements waits for these, and has as many as each range tells.
    pub fn choose_chains(&mut self, short: bool) {
        fn within(stmt: &mut Stmt, short: bool, looped: bool) {
            let mut choose = |e: &mut Expr| {
                e.visit_mut(&mut |e| match e {
                    Expr::Sum(sum) if sum.op != BinaryOp::Add => {}
                    Expr::Sum(sum) if short && looped => sum.chains = Chains::Two,
                    Expr::Sum(sum) if sum.is_in_order() => sum.chains = Chains::Eight,
                    Expr::Sum(sum) if looped && !is_below_many(&sum.hi) => {
                        sum.chains = Chains::ByLength;
                    }
                    _ => {}
                });
            };
            let loops = matches!(stmt, Stmt::For { .. } | Stmt::While { .. } | Stmt::Parallel(_));
            stmt.parts_mut(&mut choose, &mut |block| {
                block.iter_mut().for_each(|stmt| within(stmt, short, looped || loops));
            });
        }
        self.block.iter_mut().for_each(|stmt| within(stmt, short, false));
    }
}

impl Sum {
    /// A sum in four chains.
    pub(super) fn new(
        var: VarId,
        (lo, hi): (Expr, Expr),
        lets: Vec<(VarId, Expr)>,
        term: Expr,
        ty: ValueType,
    ) -> Sum {
        Sum { op: BinaryOp::Add, var, lo, hi, lets, term, ty, chains: Chains::Four }
    }

    /// Whether floats are added of which no index array tells for each where it is.
    fn is_in_order(&self) -> bool {
        let own = |var: VarId| var == self.var || self.lets.iter().any(|(v, _)| *v == var);
        // Whether an element is read that is another for each term.
        let reads = |e: &Expr| {
            let mut any = false;
            e.visit(&mut |part| {
                if let Expr::Load(load) = part {
                    let mut each = false;
                    let mut decides = |e: &Expr| each |= matches!(e, Expr::Var(var) if own(*var));
                    load.subscripts.iter().for_each(|s| s.visit(&mut decides));
                    any |= each;
                }
            });
            any
        };
        let mut in_order = self.ty.is_float() && !is_below_many(&self.hi);
        in_order &= !self.lets.iter().any(|(_, e)| reads(e));
        self.term.visit(&mut |e| match e {
            Expr::Load(load) => in_order &= !load.subscripts.iter().any(reads),
            // What takes long to compute waits for nothing.
            Expr::Operator { .. } => in_order = false,
            _ => {}
        });
        in_order
    }

    /// The function of a module that reduces so.
    pub fn function(&self) -> &'static str {
        match self.op {
            BinaryOp::Max => "greatest_of",
            BinaryOp::Min => "least_of",
            _ => self.chains.function(),
        }
    }

    /// What is reduced where there is no term.
    pub fn beginning(op: BinaryOp, ty: ValueType) -> Value {
        match op {
            BinaryOp::Max => Value::F64(f64::NEG_INFINITY).cast(ty),
            BinaryOp::Min => Value::F64(f64::INFINITY).cast(ty),
            _ => Value::zero(ty),
        }
    }

    /// The same sum over places in memory, if its variable is nothing but where elements are in a row, the same one of
    /// all arrays. Subscripts are in front of the last one no more, so that this is for the text only.
    pub(super) fn along_row(&self, body: &Body) -> Option<Sum> {
        if self.lo != Expr::int(0) {
            return None;
        }
        let (mut row, mut plain) = (None, true);
        let parts = || self.lets.iter().map(|(_, e)| e).chain([&self.term]);
        let (mut uses, mut ends) = (0, 0);
        for part in parts() {
            part.visit(&mut |e| match e {
                Expr::Var(var) if *var == self.var => uses += 1,
                Expr::Load(load) if self.ends(load) => {
                    ends += 1;
                    let here = body.row(load);
                    plain &= here.is_some() && *row.get_or_insert_with(|| here.clone()) == here;
                }
                _ => {}
            });
        }
        let row =
            row.flatten().filter(|row| plain && uses == ends && !mentions_any(row, &self.lets))?;
        let mut along = self.clone();
        along.lo = row.clone();
        along.hi = row.add(along.hi);
        for part in along.lets.iter_mut().map(|(_, e)| e).chain([&mut along.term]) {
            part.visit_mut(&mut |e| match e {
                Expr::Load(load) if self.ends(load) => {
                    let before = load.subscripts.len() - 1;
                    load.subscripts[..before].fill(Expr::int(0));
                }
                _ => {}
            });
        }
        Some(along)
    }

    /// Whether the last subscript is the variable of the sum.
    fn ends(&self, load: &Load) -> bool {
        load.subscripts.last() == Some(&Expr::Var(self.var))
    }
}

impl Body {
    /// Where the row of an access begins that is proved, in an array of several dimensions.
    fn row(&self, load: &Load) -> Option<Expr> {
        let [outer @ .., _] = load.subscripts.as_slice() else { return None };
        let proved = !matches!(load.access, Access::Checked);
        (proved && !outer.is_empty()).then_some(())?;
        Some(self.place(load.array, &[outer, &[Expr::int(0)]].concat()))
    }
}

/// Whether an end is a number that is too small, or no more than one.
fn is_below_many(hi: &Expr) -> bool {
    match hi {
        Expr::Int { value, .. } => *value < MANY as i64,
        Expr::Binary { op: BinaryOp::Min, left, right } => {
            is_below_many(left) || is_below_many(right)
        }
        _ => false,
    }
}

/// Whether an expression uses what is bound for each term.
fn mentions_any(e: &Expr, lets: &[(VarId, Expr)]) -> bool {
    let mut any = false;
    e.visit(&mut |part| any |= lets.iter().any(|(var, _)| *part == Expr::Var(*var)));
    any
}
