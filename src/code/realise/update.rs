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
//! Floats are multiplied only with `--fast-math`: their sum is rounded at each step.

use super::super::ir::{Assign, BinaryOp, Block, Expr, Stmt, Type};
use super::{Realiser, guarded};
use crate::diagnostic::Result;
use crate::loops::{Loop, Node, Place, Term, Update};
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

    /// The only update of a loop, if each iteration makes the same one, and all of them can be made at once.
    pub(super) fn repeated<'l>(&self, l: &'l Loop) -> Option<&'l Update> {
        let [Node::Update(update)] = l.body.as_slice() else { return None };
        let plain = l.parallel.is_none() && l.setup.is_empty() && l.skip.is_none();
        let depends = |place: &Place| place.depends_on(&|n| *n == l.var);
        let same = !update.elements().any(depends)
            && !depends(&update.target)
            && !update
                .value
                .leaves()
                .iter()
                .any(|term| matches!(term, Term::Index(index) if *index == l.var));
        let at_once = match &update.op {
            None => true,
            Some(op) => op.is_idempotent() || self.is_counted(update),
        };
        (plain && same && at_once && !self.assembles(&update.target)).then_some(update)
    }

    /// Whether a sum of equal values is their number times the value.
    fn is_counted(&self, update: &Update) -> bool {
        let is_sum = update.op.as_ref().is_some_and(|op| op.is_sum());
        is_sum
            && match self.element_type(&update.target) {
                ValueType::F64 | ValueType::F32 => self.loops.fast_math,
                ValueType::Bool => false,
                _ => true,
            }
    }

    /// The update of a loop that makes it again and again.
    pub(super) fn repeat(&mut self, l: &Loop, update: &Update, out: &mut Block) -> Result<()> {
        let (lo, hi) = self.range(&l.range, false);
        let mut end = |name: &str, value| {
            let var = self.body.variable(name, Type::Unsigned);
            out.push(Stmt::Let { var, mutable: false, value });
            Expr::Var(var)
        };
        let (lo, hi) = (end("begin", lo), end("end", hi));
        let condition = Expr::binary(BinaryOp::Lt, lo.clone(), hi.clone());
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
}
