//! Runs of equal values, as they are appended.
//!
//! The last run stays open, in variables: what begins where it ends, with its value, makes it longer. Another
//! one closes it, and so does the end of the result.
//!
//! ```text
//! run_end == begin && run_value == value && run_i == i    run_end = end;
//! otherwise                                               left.push(run_begin); right.push(run_end);
//!                                                         val.push(run_value); pos[run_i + 1] = val.len();
//!                                                         run_i = i; run_begin = begin; run_end = end; …
//! ```
//! Where a loop would write one value to consecutive coordinates, their run is taken as a whole (the
//! AcceptRun of Looplets).

use super::super::ir::{Assign, BinaryOp, Block, Expr, Stmt, Type, VarId};
use super::Realiser;
use super::result::{OpenRun, identity};
use crate::diagnostic::Result;
use crate::formula::{Affine, Name};
use crate::loops::Place;
use crate::tensor::{Value, ValueType};

impl Realiser<'_, '_> {
    /// Sets up the variables of the open run, if the result stores runs.
    pub(super) fn begin_runs(&mut self, out: &mut Block) -> Result<()> {
        let Some(result) = &self.assembly else { return Ok(()) };
        let Some((along, _, _)) = result.levels.last().and_then(|level| level.run) else {
            return Ok(());
        };
        let (ty, begins) = (result.ty, identity(&result.op, result.ty)?);
        let names: Vec<Name> = result.names.clone();
        let mut unset = |name: &str| {
            let var = self.body.variable(name, Type::Unsigned);
            out.push(Stmt::Let { var, mutable: true, value: Expr::Unset });
            var
        };
        let at = names.iter().enumerate().map(|(d, name)| match d == along {
            true => unset("run_begin"),
            false => unset(&format!("run_{name}")),
        });
        let at = at.collect();
        let end = unset("run_end");
        let value = self.body.variable("run_value", Type::Value(ty));
        out.push(Stmt::Let { var: value, mutable: true, value: begins });
        if let Some(result) = &mut self.assembly {
            result.open = Some(OpenRun { at, end, value, taken: false });
        }
        Ok(())
    }

    /// The coordinate along which runs are stored.
    pub(super) fn run_along(&self) -> Option<usize> {
        let result = self.assembly.as_ref()?;
        result.open.as_ref()?;
        result.levels.last()?.run.map(|(along, _, _)| along)
    }

    /// Whether the elements of a place, for consecutive values of its index `var`, are one run of the result, and
    /// nothing else of them depends on it.
    pub(super) fn takes_run(&self, target: &Place, var: &Name) -> bool {
        let Some(along) = self.run_along() else { return false };
        target.index.iter().enumerate().all(|(d, e)| match e.to_affine() {
            Ok(form) if d == along => form == Affine::var(var.clone()),
            Ok(form) => !form.mentions(var),
            Err(_) => false,
        })
    }

    /// What happens for a value from these coordinates up to `end` of the one that runs.
    pub(super) fn accept_run(&mut self, coordinates: &[Expr], end: Expr, value: Expr) -> Block {
        let Some(result) = &self.assembly else { return Vec::new() };
        let (Some(open), Some(along), ty) = (result.open.clone(), self.run_along(), result.ty)
        else {
            return Vec::new();
        };
        if let Some(open) = self.assembly.as_mut().and_then(|result| result.open.as_mut()) {
            open.taken = true;
        }
        let new = self.body.variable("value", Type::Value(ty));
        let mut out = vec![Stmt::Let { var: new, mutable: false, value }];
        let equal = |a: Expr, b: Expr| Expr::binary(BinaryOp::Eq, a, b);
        let mut same = vec![
            equal(Expr::Var(open.end), coordinates[along].clone()),
            equal(Expr::Var(open.value), Expr::Var(new)),
        ];
        // Zeros of both signs are equal, and not the same.
        if matches!(ty, ValueType::F64 | ValueType::F32) {
            let zero = Expr::Number(Value::zero(ty));
            same.push(Expr::binary(BinaryOp::Ne, Expr::Var(new), zero));
        }
        let others = (0..open.at.len()).filter(|d| *d != along);
        same.extend(others.map(|d| equal(Expr::Var(open.at[d]), coordinates[d].clone())));
        let set = |var: VarId, value: Expr| Stmt::Assign { var, op: Assign::Set, value };
        let mut otherwise = self.close_run(&open);
        otherwise.extend(open.at.iter().zip(coordinates).map(|(var, e)| set(*var, e.clone())));
        otherwise.push(set(open.value, Expr::Var(new)));
        // In both cases, this is where it ends now.
        let then = vec![set(open.end, end.clone())];
        otherwise.push(set(open.end, end));
        out.push(Stmt::If { condition: Expr::and(same), then, otherwise });
        out
    }

    /// `if run_end != usize::MAX { … }`: the open run is stored.
    fn close_run(&mut self, open: &OpenRun) -> Block {
        let Some((_, begins, ends)) =
            self.assembly.as_ref().and_then(|result| result.levels.last()?.run)
        else {
            return Vec::new();
        };
        let Some(along) = self.run_along() else { return Vec::new() };
        let mut then = vec![
            Stmt::push(begins, Expr::Var(open.at[along])),
            Stmt::push(ends, Expr::Var(open.end)),
        ];
        let coordinates: Vec<Expr> = open.at.iter().map(|var| Expr::Var(*var)).collect();
        let pushed = self.push_entry(&coordinates, Expr::Var(open.value), &mut |_| true);
        then.extend(pushed);
        let condition = Expr::binary(BinaryOp::Ne, Expr::Var(open.end), Expr::Unset);
        vec![Stmt::If { condition, then, otherwise: Vec::new() }]
    }

    /// The last run is stored, if there is any. No entry is compared with it.
    pub(super) fn end_runs(&mut self, out: &mut Block) {
        let Some(result) = &self.assembly else { return };
        let (Some(open), last) = (result.open.clone(), result.last.clone()) else { return };
        if !open.taken {
            return;
        }
        let mut closed = self.close_run(&open);
        without_assignments(&mut closed, &last);
        out.extend(closed);
    }
}

fn without_assignments(block: &mut Block, to: &[VarId]) {
    block.retain(|stmt| !matches!(stmt, Stmt::Assign { var, .. } if to.contains(var)));
    for stmt in block {
        stmt.parts_mut(&mut |_| {}, &mut |inner| without_assignments(inner, to));
    }
}
