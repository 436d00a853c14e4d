//! Assembling a result: what is gathered, and what is pushed for an entry.
//!
//! Before → after, for rows that are gathered in a workspace:
//!
//! ```text
//! for i in 0..I                               pos_C.resize(I + 1, 0);
//!   assemble val_C[i, _] through dense        let mut row = Workspace::new([J], 0.0);
//!     …                                       for i in 0..I {
//!       val_C[i, j] += a * b                      … row.combine([j], a * b, |x, y| x + y); …
//!                                                 for ([j], value) in row.drain(|x, y| x + y) {
//!                                                     crd_C.push(j as u32);
//!                                                     val_C.push(value);
//!                                                 }
//!                                                 pos_C[i + 1] = val_C.len() as u32;
//!                                             }
//!                                             for i in 0..I { pos_C[i + 1] = max(pos_C[i + 1], pos_C[i]); }
//! ```

use std::sync::Arc;

use super::super::ir::{
    Access, ArrayId, Assign, BinaryOp, Block, Combination, Combine, Drain, Element, Expr, Load,
    Parts, Stmt, Type, VarId, Workspace,
};
use super::merge::Merge;
use super::result::{Assembly, Gathering, Level, RunArrays, identity};
use super::{Realiser, size};
use crate::diagnostic::{Diagnostic, Result};
use crate::formula::{Arith, Name};
use crate::loops::{Assemble, Assembled, Gather, Place, Term, walkers};
use crate::operators::{Operator, Special, SpecialResult, Tree, Value as Number};
use crate::packing::Group;
use crate::tensor::ValueType;

impl Realiser<'_, '_> {
    /// Sets up the arrays of the result and the workspace.
    pub(super) fn begin_result(
        &mut self,
        assembled: &Assembled,
        op: &Arc<Operator>,
        out: &mut Block,
    ) -> Result<()> {
        let array = |name: &Name| self.array_of(&assembled.arrays[name]);
        let levels: Vec<Level> = assembled
            .appending
            .levels
            .iter()
            .map(|level| Level {
                prefix: level.prefix,
                coordinates: level.coordinates.iter().map(|(a, d)| (array(a), *d)).collect(),
                segments: level.segments.iter().map(|(a, g)| (array(a), g.clone())).collect(),
                run: level.run.as_ref().map(|r| RunArrays {
                    along: r.along,
                    begins: r.begin.as_ref().map(array),
                    ends: array(&r.end),
                }),
            })
            .collect();
        let values = self.array_of(&assembled.values);
        let Element::Value(ty) = self.body.arr(values).element else { return Ok(()) };
        for (array, group) in levels.iter().flat_map(|l| &l.segments) {
            match group {
                Group::Whole => out.push(Stmt::push(*array, Expr::int(0))),
                Group::Coordinates(_) => {
                    out.push(Stmt::Allocate { array: *array, fill: Expr::int(0) });
                }
                Group::Outer => {}
            }
        }
        let extents = assembled.extents.iter().map(|e| size(&self.body, &Arith::Var(e.clone())));
        let extents: Vec<Expr> = extents.collect();
        let how = &assembled.assembling;
        let mut gathered = None;
        if let Gather::Workspace { template, .. } = &how.gather {
            let shape = how.order[how.prefix..].iter().map(|d| extents[*d].clone()).collect();
            let id =
                self.body.workspace(Workspace { template: template.clone(), shape, element: ty });
            let begin = Box::new(identity(op, ty)?);
            gathered = Some(Expr::NewWorkspace { workspace: id, begin });
        }
        let outer = levels.len().checked_sub(2).map_or(0, |k| levels[k].prefix);
        self.assembly = Some(Assembly {
            levels,
            values,
            ty,
            op: op.clone(),
            order: assembled.appending.order.clone(),
            extents,
            names: assembled.layout.relation.coordinates.clone(),
            outer,
            first: Vec::new(),
            last: Vec::new(),
            gathered,
            workspace: None,
            gathering: None,
            open: None,
        });
        self.begin_runs(assembled.begins, out)?;
        if !matches!(how.threads, Some(Ok(_))) {
            let last = self.keys("last");
            out.extend(last.iter().map(|var| unset(*var)));
            if let Some(result) = &mut self.assembly {
                result.last = last;
            }
            self.begin_gathering(out);
        }
        Ok(())
    }

    /// A variable for each coordinate that tells outer levels apart.
    fn keys(&mut self, what: &str) -> Vec<VarId> {
        let Some(result) = &self.assembly else { return Vec::new() };
        let names: Vec<Name> =
            result.order[..result.outer].iter().map(|d| result.names[*d].clone()).collect();
        let variable = |name: Name| self.body.variable(&format!("{what}_{name}"), Type::Unsigned);
        names.into_iter().map(variable).collect()
    }

    /// Sets up the workspace.
    fn begin_gathering(&mut self, out: &mut Block) {
        let Some(result) = &mut self.assembly else { return };
        let Some(Expr::NewWorkspace { workspace, begin }) = result.gathered.take() else { return };
        let var = self.body.variable("workspace", Type::Workspace(workspace));
        let value = Expr::NewWorkspace { workspace, begin };
        out.push(Stmt::Let { var, mutable: true, value });
        result.workspace = Some(var);
    }

    /// Each thread has a workspace of its own, and each chunk makes a part of the result.
    pub(super) fn begin_parts(&mut self, setup: &mut Block) -> Option<Parts> {
        self.begin_gathering(setup);
        let (first, last) = (self.keys("first"), self.keys("last"));
        let result = self.assembly.as_mut()?;
        (result.first, result.last) = (first, last);
        Some(result.parts())
    }

    /// Ends the last segments, and those that nothing was stored in.
    pub(super) fn end_result(&mut self, out: &mut Block) {
        self.end_runs(out);
        let Some(result) = self.assembly.take() else { return };
        for (k, level) in result.levels.iter().enumerate() {
            for (array, group) in &level.segments {
                match group {
                    Group::Whole | Group::Outer => {
                        out.push(Stmt::push(*array, result.length(k)));
                    }
                    // All groups are covered, and end where they do.
                    Group::Coordinates(_) if level.covers() => {}
                    Group::Coordinates(_) => out.push(self.carried_on(*array)),
                }
            }
        }
    }

    /// `for p in 1..n { a[p] = max(a[p], a[p - 1]) }`
    fn carried_on(&mut self, array: ArrayId) -> Stmt {
        let len = self.body.arr(array).shape.first().cloned().unwrap_or(Expr::int(1));
        let var = self.body.variable("p", Type::Unsigned);
        let hi = match len {
            Expr::Binary { op: BinaryOp::Add, left, right } if *right == Expr::int(1) => *left,
            len => Expr::binary(BinaryOp::SaturatingSub, len, Expr::int(1)),
        };
        let next = vec![Expr::Var(var).add(Expr::int(1))];
        let here = Load { array, subscripts: next, access: Access::Checked };
        let before = Expr::load(array, vec![Expr::Var(var)]);
        let value = Expr::binary(BinaryOp::Max, Expr::Load(here.clone()), before);
        let body = vec![Stmt::Store { place: here, op: Assign::Set, value }];
        Stmt::For { var, lo: Expr::int(0), hi, body }
    }

    /// The updates of the node, and then what they gathered.
    pub(super) fn assemble(&mut self, a: &Assemble, out: &mut Block) -> Result<()> {
        let Some(result) = &self.assembly else { return Ok(()) };
        let (ty, op) = (result.ty, result.op.clone());
        let rest: Vec<usize> =
            result.order.iter().copied().filter(|&d| a.key[d].is_none()).collect();
        let known = self.known_of(a);
        let gathering = match &a.gather {
            Gather::Merge => {
                let Some(walkers) = walkers(&a.body) else {
                    return Err(Diagnostic::defect("what is merged is no longer walked in order"));
                };
                let begin = identity(&op, ty)?;
                let merge = Merge { walkers, known, rest, op, ty, begin };
                if a.in_parts {
                    return self.merge_in_parts(&merge, out);
                }
                self.merge(&merge, None, out)?;
                self.end_behind(&merge.known, out);
                return Ok(());
            }
            Gather::Nothing => Gathering::Nothing,
            Gather::Element => {
                let value = self.body.variable("element", Type::Value(ty));
                let some = self.body.variable("some", Type::Bool);
                out.push(Stmt::Let { var: value, mutable: true, value: identity(&op, ty)? });
                out.push(Stmt::Let { var: some, mutable: true, value: Expr::Bool(false) });
                let keys = self.open_keys(a);
                out.extend(keys.iter().map(|(_, var)| unset(*var)));
                Gathering::Element { value, some, keys }
            }
            Gather::Workspace { .. } => Gathering::Workspace(rest),
            Gather::Counts => return self.count_and_place(&a.body, out),
        };
        self.set_gathering(Some(gathering.clone()));
        let inner = self.block(&a.body)?;
        self.set_gathering(None);
        out.extend(inner);
        match gathering {
            Gathering::Nothing | Gathering::Counted | Gathering::Placed => {}
            Gathering::Element { value, some, keys } => {
                let mut key: Vec<Expr> = known.into_iter().flatten().collect();
                keys.iter().for_each(|(d, var)| key[*d] = Expr::Var(*var));
                let then = self.append(&key, Expr::Var(value), &mut |_| true);
                out.push(Stmt::If { condition: Expr::Var(some), then, otherwise: Vec::new() });
            }
            Gathering::Workspace(rest) => {
                let sorted = matches!(a.gather, Gather::Workspace { sorted: true, .. });
                self.drain(&known, &rest, sorted, out);
            }
        }
        Ok(())
    }

    /// The extent of a coordinate of the result.
    pub(super) fn extent_of(&self, coordinate: usize) -> Option<Expr> {
        self.assembly.as_ref().map(|result| result.extents[coordinate].clone())
    }

    /// The coordinates that are known around the node.
    fn known_of(&mut self, a: &Assemble) -> Vec<Option<Expr>> {
        let mut known = Vec::new();
        for e in &a.key {
            let e = e.as_ref().map(|e| self.here_arith(e));
            known.push(e.map(|e| self.arith(&e)));
        }
        known
    }

    /// Variables for coordinates that are not proved to be natural numbers around the node.
    fn open_keys(&mut self, a: &Assemble) -> Vec<(usize, VarId)> {
        let mut out = Vec::new();
        for (d, e) in a.key.iter().enumerate() {
            let form = e.as_ref().and_then(|e| self.here_arith(e).to_affine().ok());
            if form.is_some_and(|form| !self.is_natural(&form)) {
                out.push((d, self.body.variable("key", Type::Unsigned)));
            }
        }
        out
    }

    pub(super) fn set_gathering(&mut self, gathering: Option<Gathering>) {
        if let Some(result) = &mut self.assembly {
            result.gathering = gathering;
        }
    }

    /// Appends what the workspace holds.
    fn drain(&mut self, known: &[Option<Expr>], rest: &[usize], sorted: bool, out: &mut Block) {
        let Some(result) = &self.assembly else { return };
        let (ty, op, Some(workspace)) = (result.ty, result.op.clone(), result.workspace) else {
            return;
        };
        let names: Vec<Name> = rest.iter().map(|d| result.names[*d].clone()).collect();
        let by = self.combination(&op, ty);
        let value = self.body.variable("value", Type::Value(ty));
        let key: Vec<VarId> =
            names.iter().map(|name| self.body.variable(name, Type::Unsigned)).collect();
        let parts: Vec<Expr> = key.iter().map(|var| Expr::Var(*var)).collect();
        let coordinates = Assembly::coordinates(known, rest, &parts);
        // Segments that belong to what is known end once, behind the loop.
        let body = self.append_within(known, &coordinates, Expr::Var(value));
        out.push(Stmt::Drain(Box::new(Drain { workspace, key, value, by, sorted, body })));
        self.end_behind(known, out);
    }

    /// What is pushed for an entry; segments that belong to what is known end later.
    pub(super) fn append_within(
        &mut self,
        known: &[Option<Expr>],
        coordinates: &[Expr],
        value: Expr,
    ) -> Block {
        let mut within = |group: &[usize]| group.iter().any(|d| known[*d].is_none());
        self.append(coordinates, value, &mut within)
    }

    /// Segments that belong to what is known end here.
    fn end_behind(&mut self, known: &[Option<Expr>], out: &mut Block) {
        let Some(result) = &self.assembly else { return };
        // Runs end later, and with them the segments that they are in.
        if result.open.is_some() {
            return;
        }
        let coordinates: Vec<Expr> =
            known.iter().map(|e| e.clone().unwrap_or(Expr::int(0))).collect();
        let mut behind = |group: &[usize]| group.iter().all(|d| known[*d].is_some());
        for k in 0..result.levels.len() {
            out.extend(result.ended(k, &coordinates, &mut behind));
        }
    }

    fn combination(&mut self, op: &Arc<Operator>, ty: ValueType) -> Combination {
        let old = self.body.variable("x", Type::Value(ty));
        let new = self.body.variable("y", Type::Value(ty));
        let result = Box::new(self.combined(op, Expr::Var(old), Expr::Var(new)));
        Combination { old, new, result }
    }

    /// Whether elements of the result are gathered in a variable.
    pub(super) fn gathers_one_element(&self) -> bool {
        let gathering = self.assembly.as_ref().and_then(|r| r.gathering.as_ref());
        matches!(gathering, Some(Gathering::Element { .. }))
    }

    /// What is asked before anything is stored, and the value then: where a choice falls on what elements begin with,
    /// nothing has to be.
    pub(super) fn chosen<'v>(
        &self,
        value: &'v Tree<Term>,
    ) -> Option<(&'v Tree<Term>, &'v Tree<Term>)> {
        let (Some(result), Tree::Apply(apply)) = (&self.assembly, value) else { return None };
        let begins = result.op.beginning(result.ty).ok()?;
        let specials = apply.op.specials(result.ty);
        let argument = |condition: usize, holds: bool| {
            let own = |s: &&Special| {
                s.argument == condition && s.ieee && s.value.identical(Number::Bool(holds))
            };
            match specials.iter().find(own)?.result {
                SpecialResult::Argument(k) if k != condition => apply.args.get(k),
                _ => None,
            }
        };
        let choice = |k| Some((apply.args.get(k)?, argument(k, true)?, argument(k, false)?));
        let (condition, then, otherwise) = (0..apply.args.len()).find_map(choice)?;
        matches!(otherwise, Tree::Number(number) if number.identical(begins))
            .then_some((condition, then))
    }

    /// Combines a value into an element of the result.
    pub(super) fn gather(&mut self, target: &Place, value: Expr) -> Block {
        let Some(result) = &self.assembly else { return Vec::new() };
        let (op, ty, workspace) = (result.op.clone(), result.ty, result.workspace);
        let gathering = result.gathering.clone();
        let coordinates = self.place_of(target);
        match gathering {
            None => Vec::new(),
            Some(Gathering::Nothing) => {
                let value = self.combined_first(&op, value);
                self.append(&coordinates, value, &mut |_| true)
            }
            Some(Gathering::Element { value: element, some, keys }) => {
                let set = |(var, value)| Stmt::Assign { var, op: Assign::Set, value };
                let keys = keys.into_iter().map(|(d, var)| (var, coordinates[d].clone()));
                let there = keys.chain([(some, Expr::Bool(true))]).map(set);
                std::iter::once(self.combine_into(&op, element, value)).chain(there).collect()
            }
            Some(Gathering::Counted) => self.counted(&coordinates),
            Some(Gathering::Placed) => {
                let value = self.combined_first(&op, value);
                self.placed(&coordinates, value)
            }
            Some(Gathering::Workspace(rest)) => {
                let Some(workspace) = workspace else { return Vec::new() };
                let key = rest.iter().map(|d| coordinates[*d].clone()).collect();
                let by = self.combination(&op, ty);
                let access = Access::Checked;
                vec![Stmt::Combine(Box::new(Combine { workspace, key, value, by, access }))]
            }
        }
    }

    pub(super) fn place_of(&mut self, target: &Place) -> Vec<Expr> {
        let index: Vec<Arith> = target.index.iter().map(|e| self.here_arith(e)).collect();
        index.iter().map(|e| self.arith(e)).collect()
    }

    /// What happens for an entry: it is pushed, or made part of a run. `ends` says which segments of coordinates
    /// end with it.
    fn append(
        &mut self,
        coordinates: &[Expr],
        value: Expr,
        ends: &mut dyn FnMut(&[usize]) -> bool,
    ) -> Block {
        match self.run_along() {
            Some(along) => {
                let next = coordinates[along].clone().add(Expr::int(1));
                self.accept_run(coordinates, next, value)
            }
            None => self.push_entry(coordinates, value, ends),
        }
    }

    /// What is pushed for an entry.
    pub(super) fn push_entry(
        &mut self,
        coordinates: &[Expr],
        value: Expr,
        ends: &mut dyn FnMut(&[usize]) -> bool,
    ) -> Block {
        let Some(result) = &self.assembly else { return Vec::new() };
        let mut out = Vec::new();
        let (inner, outer) = match result.levels.split_last() {
            Some(split) => split,
            None => return out,
        };
        let mut from = 0;
        for (k, level) in outer.iter().enumerate() {
            let changed = Expr::or((from..level.prefix).map(|n| {
                let here = coordinates[result.order[n]].clone();
                Expr::binary(BinaryOp::Ne, here, Expr::Var(result.last[n]))
            }));
            let mut then = Vec::new();
            if let (0, Some(first)) = (k, result.first.first()) {
                let keys = result.first.iter().zip(&result.order);
                let set = keys.map(|(var, d)| Stmt::Assign {
                    var: *var,
                    op: Assign::Set,
                    value: coordinates[*d].clone(),
                });
                let condition = Expr::binary(BinaryOp::Eq, Expr::Var(*first), Expr::Unset);
                then.push(Stmt::If { condition, then: set.collect(), otherwise: Vec::new() });
            }
            then.extend(result.pushed(level, coordinates));
            for (array, group) in &result.levels[k + 1].segments {
                if *group == Group::Outer {
                    then.push(Stmt::push(*array, result.length(k + 1)));
                }
            }
            then.extend(result.ended(k, coordinates, ends));
            for (n, last) in result.last.iter().enumerate().skip(from) {
                let value = match n < level.prefix {
                    true => coordinates[result.order[n]].clone(),
                    // Of another group: there is no last one.
                    false => Expr::Unset,
                };
                then.push(Stmt::Assign { var: *last, op: Assign::Set, value });
            }
            out.push(Stmt::If { condition: changed, then, otherwise: Vec::new() });
            from = level.prefix;
        }
        out.extend(result.pushed(inner, coordinates));
        out.push(Stmt::push(result.values, value));
        out.extend(result.ended(result.levels.len() - 1, coordinates, ends));
        out
    }
}

fn unset(var: VarId) -> Stmt {
    Stmt::Let { var, mutable: true, value: Expr::Unset }
}
