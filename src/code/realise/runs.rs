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
//!
//! Of runs that cover all coordinates only the ends are stored. What lies between two of them is one of fill, as is
//! what lies behind the last, and nothing else is done for fill that is written:
//!
//! ```text
//! close:         if reached < run_begin { right.push(run_begin); val.push(fill); }
//!                right.push(run_end); val.push(run_value); reached = run_end;
//! another group: while covered < i { if reached < I { right.push(I); val.push(fill); }
//!                                  reached = 0; pos[covered + 1] = val.len(); covered += 1; }
//! ```

use super::super::ir::{Assign, BinaryOp, Block, Expr, Stmt, Type, VarId};
use super::Realiser;
use super::result::{Covering, OpenRun, RunArrays, identity};
use crate::diagnostic::Result;
use crate::formula::{Affine, Name};
use crate::loops::Place;
use crate::packing::Group;
use crate::tensor::{Value, ValueType};

impl Realiser<'_, '_> {
    /// Sets up the variables of the open run, if the result stores runs.
    pub(super) fn begin_runs(&mut self, fill: Option<Value>, out: &mut Block) -> Result<()> {
        let Some(result) = &self.assembly else { return Ok(()) };
        let last = result.levels.last();
        let Some((level, run)) = last.and_then(|level| Some((level, level.run?))) else {
            return Ok(());
        };
        let (ty, along) = (result.ty, run.along);
        let begins = identity(&result.op, ty)?;
        let fill = match fill {
            Some(fill) => fill.cast(ty),
            None => result.op.beginning(ty)?,
        };
        let group = level.segments.iter().find_map(|(_, group)| match group {
            Group::Coordinates(around) => Some(around.clone()),
            _ => None,
        });
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
        let covering = run.begins.is_none().then(|| {
            let mut zero = |name: &str| {
                let var = self.body.variable(name, Type::Unsigned);
                out.push(Stmt::Let { var, mutable: true, value: Expr::int(0) });
                var
            };
            let reached = zero("reached");
            Covering { reached, group: group.map(|around| (zero("covered"), around)), fill }
        });
        if let Some(result) = &mut self.assembly {
            result.open = Some(OpenRun { at, end, value, taken: false, covering });
        }
        Ok(())
    }

    /// How the last level stores runs, if it does.
    fn run_arrays(&self) -> Option<RunArrays> {
        self.assembly.as_ref()?.levels.last()?.run
    }

    /// The coordinate along which runs are stored.
    pub(super) fn run_along(&self) -> Option<usize> {
        self.assembly.as_ref()?.open.as_ref()?;
        self.run_arrays().map(|run| run.along)
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
        let is_same = |other: Expr| match ty {
            ValueType::F64 | ValueType::F32 => {
                Expr::binary(BinaryOp::SameBits, Expr::Var(new), other)
            }
            _ => equal(Expr::Var(new), other),
        };
        let mut same = vec![
            equal(Expr::Var(open.end), coordinates[along].clone()),
            is_same(Expr::Var(open.value)),
        ];
        let others = (0..open.at.len()).filter(|d| *d != along);
        same.extend(others.map(|d| equal(Expr::Var(open.at[d]), coordinates[d].clone())));
        let set = |var: VarId, value: Expr| Stmt::Assign { var, op: Assign::Set, value };
        let mut otherwise = self.close_run(&open);
        otherwise.extend(self.begin_group(&open, coordinates));
        otherwise.extend(open.at.iter().zip(coordinates).map(|(var, e)| set(*var, e.clone())));
        otherwise.push(set(open.value, Expr::Var(new)));
        // In both cases, this is where it ends now.
        let then = vec![set(open.end, end.clone())];
        otherwise.push(set(open.end, end));
        let accepted = Stmt::If { condition: Expr::and(same), then, otherwise };
        match &open.covering {
            Some(covering) => out.push(Stmt::If {
                condition: is_same(Expr::Number(covering.fill)).negated(),
                then: vec![accepted],
                otherwise: Vec::new(),
            }),
            None => out.push(accepted),
        }
        out
    }

    /// `if run_end != usize::MAX { … }`: the open run is stored.
    fn close_run(&mut self, open: &OpenRun) -> Block {
        let Some(RunArrays { along, begins, ends }) = self.run_arrays() else { return Vec::new() };
        let begin = Expr::Var(open.at[along]);
        let end = Stmt::push(ends, Expr::Var(open.end));
        let coordinates: Vec<Expr> = open.at.iter().map(|var| Expr::Var(*var)).collect();
        // Where all is covered, a group ends when the next begins.
        let by_group = open.covering.as_ref().is_some_and(|covering| covering.group.is_some());
        let mut pushed = self.push_entry(&coordinates, Expr::Var(open.value), &mut |_| !by_group);
        let mut then: Block =
            begins.map(|begins| Stmt::push(begins, begin.clone())).into_iter().collect();
        if let Some(covering) = &open.covering
            && let Some(value) = pushed.pop()
        {
            then.append(&mut pushed);
            then.push(self.filled(covering, Expr::Var(covering.reached), begin));
            pushed.push(value);
            let reached = Expr::Var(open.end);
            pushed.push(Stmt::Assign { var: covering.reached, op: Assign::Set, value: reached });
        }
        then.push(end);
        then.extend(pushed);
        let condition = Expr::binary(BinaryOp::Ne, Expr::Var(open.end), Expr::Unset);
        vec![Stmt::If { condition, then, otherwise: Vec::new() }]
    }

    /// `if reached < end { right.push(end); val.push(fill); }`
    fn filled(&self, covering: &Covering, reached: Expr, end: Expr) -> Stmt {
        let mut then = Vec::new();
        if let (Some(run), Some(result)) = (self.run_arrays(), &self.assembly) {
            then.push(Stmt::push(run.ends, end.clone()));
            then.push(Stmt::push(result.values, Expr::Number(covering.fill)));
        }
        let condition = Expr::binary(BinaryOp::Lt, reached, end);
        Stmt::If { condition, then, otherwise: Vec::new() }
    }

    /// What comes before the first run that begins at these coordinates, if it is of another group than the last.
    fn begin_group(&self, open: &OpenRun, coordinates: &[Expr]) -> Block {
        let (Some(covering), Some(result)) = (&open.covering, &self.assembly) else {
            return Vec::new();
        };
        match &covering.group {
            Some((_, around)) => {
                self.groups_up_to(covering, true, result.group_number(around, coordinates))
            }
            None => {
                let others = result.order.iter().filter(|d| Some(**d) != self.run_along());
                let changed: Vec<Expr> = others
                    .map(|d| {
                        let now = coordinates[*d].clone();
                        Expr::binary(BinaryOp::Ne, Expr::Var(open.at[*d]), now)
                    })
                    .collect();
                match changed.is_empty() {
                    true => Vec::new(),
                    false => vec![Stmt::If {
                        condition: Expr::or(changed),
                        then: self.end_group(covering),
                        otherwise: Vec::new(),
                    }],
                }
            }
        }
    }

    /// The group that has runs is covered to its end.
    fn end_group(&self, covering: &Covering) -> Block {
        let (Some(along), Some(result)) = (self.run_along(), &self.assembly) else {
            return Vec::new();
        };
        let reached = Expr::Var(covering.reached);
        let condition = Expr::binary(BinaryOp::Ne, reached.clone(), Expr::int(0));
        vec![
            Stmt::If {
                condition,
                then: vec![self.filled(covering, reached, result.extents[along].clone())],
                otherwise: Vec::new(),
            },
            Stmt::Assign { var: covering.reached, op: Assign::Set, value: Expr::int(0) },
        ]
    }

    /// All groups before this number are covered, those that have no runs as well; if none is `taken`, no group has.
    fn groups_up_to(&self, covering: &Covering, taken: bool, number: Expr) -> Block {
        let (Some((group, _)), Some(along), Some(result)) =
            (&covering.group, self.run_along(), &self.assembly)
        else {
            return Vec::new();
        };
        let set = |var: VarId, op: Assign, value: Expr| Stmt::Assign { var, op, value };
        let reached = reached_if(taken, covering);
        let mut body = vec![self.filled(covering, reached, result.extents[along].clone())];
        if taken {
            body.push(set(covering.reached, Assign::Set, Expr::int(0)));
        }
        let level = result.levels.len() - 1;
        for (array, _) in &result.levels[level].segments {
            body.push(result.end_of_group(*array, Expr::Var(*group), level));
        }
        body.push(set(*group, Assign::Add, Expr::int(1)));
        let condition = Expr::binary(BinaryOp::Lt, Expr::Var(*group), number);
        vec![Stmt::While { condition, invariants: Vec::new(), body }]
    }

    /// The last run is stored, if there is any. No entry is compared with it.
    pub(super) fn end_runs(&mut self, out: &mut Block) {
        let Some(result) = &self.assembly else { return };
        let (Some(open), last) = (result.open.clone(), result.last.clone()) else { return };
        if open.taken {
            let mut closed = self.close_run(&open);
            without_assignments(&mut closed, &last);
            out.extend(closed);
        }
        let (Some(covering), Some(result)) = (&open.covering, &self.assembly) else { return };
        let whole = result
            .levels
            .last()
            .is_some_and(|level| level.segments.iter().any(|(_, group)| *group == Group::Whole));
        match (&covering.group, self.run_along()) {
            (Some((_, around)), _) => {
                let all = around.iter().map(|d| result.extents[*d].clone());
                let all = all.reduce(Expr::mul).unwrap_or(Expr::int(1));
                out.extend(self.groups_up_to(covering, open.taken, all));
            }
            (None, Some(along)) if whole => {
                let reached = reached_if(open.taken, covering);
                out.push(self.filled(covering, reached, result.extents[along].clone()));
            }
            _ if open.taken => {
                let mut ended = self.end_group(covering);
                without_assignments(&mut ended, &[covering.reached]);
                out.extend(ended);
            }
            _ => {}
        }
    }
}

/// Up to where a group is covered; nowhere, if nothing is ever written.
fn reached_if(taken: bool, covering: &Covering) -> Expr {
    match taken {
        true => Expr::Var(covering.reached),
        false => Expr::int(0),
    }
}

fn without_assignments(block: &mut Block, to: &[VarId]) {
    block.retain(|stmt| !matches!(stmt, Stmt::Assign { var, .. } if to.contains(var)));
    for stmt in block {
        stmt.parts_mut(&mut |_| {}, &mut |inner| without_assignments(inner, to));
    }
}
