//! Updates of elements, once or as often as a loop says.
//!
//! Before → after, where nothing that is computed depends on the index, as inside of runs:
//!
//! ```text
//! for j in begin..stop                       if begin < stop {
//!   m[] max= val_x[px]                 →         m = m.max(val_x[px]);
//!                                            }
//! for j in begin..stop
//!   s[] += val_x[px]                   →     s += val_x[px] * (stop - begin) as i64
//! ```
//! A result that stores runs takes them whole ([`super::runs`]).
//!
//! Floats are multiplied only with `--fast-math`: their sum is rounded at each step.

use super::super::ir::{Assign, BinaryOp, Block, Expr, Stmt, Type, VarId};
use super::{Realiser, guarded};
use crate::diagnostic::Result;
use crate::formula::Name;
use crate::loops::{self, Loop, Repeated, Update};
use crate::tensor::ValueType;

impl Realiser<'_, '_> {
    /// What an element becomes when it is updated, so many times if that is said.
    pub(super) fn update(
        &mut self,
        u: &Update,
        times: Option<Expr>,
        out: &mut Block,
    ) -> Result<()> {
        if self.assembles(&u.target) {
            let (asked, value) = match self.chosen(&u.value) {
                Some((condition, value)) => {
                    let condition = self.computed(condition)?;
                    (vec![condition], value)
                }
                None => (Vec::new(), &u.value),
            };
            let value = self.computed(value)?;
            let gathered = self.gather(&u.target, value);
            out.extend(guarded(asked, gathered));
            return Ok(());
        }
        let mut value = self.computed(&u.value)?;
        if let Some(times) = times {
            let times = Expr::Cast { to: self.value_type(&value), value: Box::new(times) };
            value = Expr::binary(BinaryOp::Mul, value, times);
        }
        let sum = self.sums.iter().find(|(place, _)| *place == u.target);
        let variable = sum.map(|(_, var)| *var).or(self.single(&u.target));
        out.push(match (variable, &u.op) {
            (Some(var), Some(op)) => self.combine_into(op, var, value),
            (Some(var), None) => Stmt::Assign { var, op: Assign::Set, value },
            (None, Some(op)) if op.is_sum() => self.store(&u.target, value),
            (None, op) => {
                let place = self.place(&u.target);
                let value = match op {
                    Some(op) => self.combined(op, Expr::Load(place.clone()), value),
                    None => value,
                };
                Stmt::Store { place, op: Assign::Set, value }
            }
        });
        Ok(())
    }

    /// The body of a loop, if each iteration does the same, and all of them can be made at once.
    pub(super) fn repeated<'l>(&self, l: &'l Loop) -> Option<Repeated<'l>> {
        let again = loops::repeated(&l.var, &l.body)?;
        let update = again.update;
        let plain = l.parallel.is_none() && l.setup.is_empty() && l.skip.is_none();
        let at_once = || match &update.op {
            None => true,
            Some(op) => op.is_idempotent() || self.is_counted(update),
        };
        let all = match self.assembles(&update.target) {
            true => again.is_entry && self.takes_run(&update.target, &l.var),
            false => !update.target.depends_on(&|name| *name == l.var) && at_once(),
        };
        (plain && all).then_some(again)
    }

    /// Whether a sum of equal values is their number times the value.
    fn is_counted(&self, update: &Update) -> bool {
        let is_sum = update.op.as_ref().is_some_and(|op| op.is_sum());
        is_sum
            && match self.element_type(&update.target) {
                ValueType::F64 | ValueType::F32 => !self.loops.strict_fp,
                ValueType::Bool => false,
                _ => true,
            }
    }

    /// The update of a loop that makes it again and again.
    pub(super) fn repeat(&mut self, l: &Loop, again: &Repeated<'_>, out: &mut Block) -> Result<()> {
        for node in again.before {
            self.node(node, out)?;
        }
        let Some(region) = again.region else { return self.times(l, again.update, out) };
        let condition = self.asked_for(region);
        if condition != Expr::Bool(false) {
            let mut inner = Vec::new();
            self.times(l, again.update, &mut inner)?;
            out.extend(guarded(vec![condition], inner));
        }
        Ok(())
    }

    fn times(&mut self, l: &Loop, update: &Update, out: &mut Block) -> Result<()> {
        let (lo, hi) = self.range(&l.range, false);
        let mut end = |name: &str, value| {
            let var = self.body.variable(name, Type::Unsigned);
            out.push(Stmt::Let { var, mutable: false, value });
            var
        };
        let (begin, end) = (end("begin", lo), end("end", hi));
        let (lo, hi) = (Expr::Var(begin), Expr::Var(end));
        let condition = Expr::binary(BinaryOp::Lt, lo.clone(), hi.clone());
        if self.assembles(&update.target) {
            let then = self.apart(|this| this.run(update, &l.var, (begin, hi)))?;
            out.push(Stmt::If { condition, then, otherwise: Vec::new() });
            return Ok(());
        }
        let counted = update.op.as_ref().is_some_and(|op| !op.is_idempotent());
        let times = counted.then(|| Expr::binary(BinaryOp::Sub, hi, lo));
        let then = self.apart(|this| {
            let mut then = Vec::new();
            this.update(update, times, &mut then)?;
            Ok(then)
        })?;
        out.push(Stmt::If { condition, then, otherwise: Vec::new() });
        Ok(())
    }

    /// The update of consecutive elements of a result that stores runs.
    fn run(&mut self, update: &Update, index: &Name, (begin, end): (VarId, Expr)) -> Result<Block> {
        let (asked, value) = match self.chosen(&update.value) {
            Some((condition, value)) => (vec![self.computed(condition)?], value),
            None => (Vec::new(), &update.value),
        };
        let value = self.computed(value)?;
        let value = match &update.op {
            Some(op) => self.combined_first(op, value),
            None => value,
        };
        let outside = self.env.insert(index.clone(), begin);
        let coordinates = self.place_of(&update.target);
        match outside {
            Some(var) => self.env.insert(index.clone(), var),
            None => self.env.remove(index),
        };
        Ok(guarded(asked, self.accept_run(&coordinates, end, value)))
    }
}
