//! The bounds pass: which accesses need no test, by proof.
//!
//! Before → after: `pos_A[pA0]` becomes `at(pos_A, pA0)` where `0 <= pA0 <= I` follows from what the
//! code before it establishes (bounds of loops, conditions, values of variables) and the declared
//! laws of the index arrays, instantiated on the calls at hand. Nothing is taken from an earlier
//! stage but what a [`Given`](crate::code::ir::Stmt::Given) carries: the facts are read off the code that
//! is printed.
//!
//! Along the way it shows that no subtraction of natural numbers goes below zero, and that what is
//! converted to `usize` is not negative, except for a subscript. That fails only through a defect of
//! this program.

mod proof;
mod sizes;
mod tables;

use rustc_hash::FxHashMap;

pub use proof::BoundsProof;

use crate::code::ir::{
    Access, ArrayId, BinaryOp, Block, Body, Combine, Element, Expr, Load, Origin, Stmt, Type, VarId,
};
use crate::code::meaning::Meaning;
use crate::code::path::Path;
use crate::code::visit::{Part, visit};
use crate::diagnostic::{Diagnostic, Result};
use crate::formula::{Affine, Call, Constraint, Formula, Name};

/// An array access of the generated code, and whether it is proved to be in bounds. Accesses without
/// a proof keep their test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessProof {
    /// `crd_A[pA1]`
    pub access: String,
    pub proved: bool,
}

/// Proves what can be proved of the accesses of `body`; the others stay checked. What is returned
/// lists every access once.
///
/// # Errors
/// An internal diagnostic if a subtraction or a conversion is not shown to be right.
pub fn prove_bounds(body: &mut Body, path: &mut Path) -> Result<Vec<AccessProof>> {
    let mut block = std::mem::take(&mut body.block);
    let mut walker = Walker {
        body,
        path,
        versions: FxHashMap::default(),
        accesses: Vec::new(),
        wrong: Vec::new(),
        beyond: Vec::new(),
        largest: FxHashMap::default(),
        proofs: 0,
    };
    let sizes: Vec<Formula> = walker
        .body
        .sizes
        .iter()
        .map(|v| Formula::le(Affine::zero(), Affine::var(walker.name(*v))))
        .collect();
    walker.path.enter(&sizes);
    walker.block(&mut block);
    walker.path.leave();
    let (accesses, wrong, beyond) = (walker.accesses, walker.wrong, walker.beyond);
    body.block = block;
    body.beyond_sizes = beyond;
    if let Some(first) = wrong.first() {
        return Err(Diagnostic::defect(format!("no proof that {first}"))
            .note(format!("the code is\n{body}")));
    }
    Ok(accesses)
}

struct Walker<'a, 'p> {
    body: &'a Body,
    path: &'a mut Path<'p>,
    /// How often a variable was assigned: each time it becomes another variable of the proofs.
    versions: FxHashMap<VarId, u32>,
    accesses: Vec<AccessProof>,
    wrong: Vec<String>,
    beyond: Vec<ArrayId>,
    /// The size that elements were shown last to be at most, by array and constant subscripts.
    largest: FxHashMap<(ArrayId, Vec<Option<i64>>), Name>,
    proofs: u32,
}

impl Walker<'_, '_> {
    fn name(&self, v: VarId) -> Name {
        let name = &self.body.var(v).name;
        match self.versions.get(&v) {
            None | Some(0) => name.clone(),
            Some(k) => Name::from(format!("{name}'{k}")),
        }
    }

    fn meaning<T>(&self, f: impl FnOnce(&Meaning) -> T) -> T {
        f(&Meaning { body: self.body, name: &|v| self.name(v) })
    }

    fn block(&mut self, block: &mut Block) {
        let depth = self.path.depth();
        for stmt in block {
            self.stmt(stmt);
        }
        self.path.leave_to(depth);
    }

    fn under(&mut self, facts: &[Formula], block: &mut Block) {
        self.path.enter(facts);
        self.block(block);
        self.path.leave();
    }

    fn constraints(list: Vec<Constraint>) -> Vec<Formula> {
        list.into_iter().map(Formula::Constraint).collect()
    }

    /// Facts of a proof elsewhere, about the variables as they are now.
    fn given(&self, facts: &[Constraint]) -> Vec<Formula> {
        let now = |n: &Name| {
            let v = self.body.variable_named(n)?;
            self.versions.contains_key(&v).then(|| Affine::var(self.name(v)))
        };
        facts.iter().map(|c| Formula::Constraint(c.substitute(&now))).collect()
    }

    /// Statements that only bind and set variables, where a condition holds: behind them, either it held and
    /// what they say is so, or the variables are as they were.
    fn perhaps(&mut self, (yes, no): (Formula, Formula), block: &mut Block) {
        let mut set: Vec<VarId> = Vec::new();
        for stmt in block.iter() {
            if let Stmt::Assign { var, .. } = stmt
                && !set.contains(var)
            {
                set.push(*var);
            }
        }
        let before: Vec<Name> = set.iter().map(|var| self.name(*var)).collect();
        let depth = self.path.depth();
        self.path.enter(std::slice::from_ref(&yes));
        block.iter_mut().for_each(|stmt| self.stmt(stmt));
        let after: Vec<Name> = set.iter().map(|var| self.name(*var)).collect();
        let mut held = self.path.facts_from(depth);
        self.path.leave_to(depth);
        let mut missed = vec![no];
        for ((var, before), after) in set.into_iter().zip(before).zip(after) {
            self.assigned(var);
            let now = Affine::var(self.name(var));
            held.push(Formula::eq(now.clone(), Affine::var(after)));
            missed.push(Formula::eq(now, Affine::var(before)));
        }
        self.path.enter(&[Formula::or([Formula::and(held), Formula::and(missed)])]);
    }

    fn forget_assigned(&mut self, block: &Block) {
        let mut assigned = Vec::new();
        visit(block, &mut |part| {
            if let Part::Stmt(Stmt::Assign { var, .. }) = part {
                assigned.push(*var);
            }
        });
        for var in assigned {
            self.assigned(var);
        }
    }

    fn assigned(&mut self, var: VarId) {
        *self.versions.entry(var).or_insert(0) += 1;
        self.natural(var);
    }

    fn natural(&mut self, var: VarId) {
        if self.body.var(var).ty == Type::Unsigned {
            let fact = Formula::le(Affine::zero(), Affine::var(self.name(var)));
            self.path.enter(&[fact]);
        }
    }

    /// What binding `var` to `value` says; `value` is read as it was before.
    fn bound(&mut self, var: VarId, value: &Expr) -> Vec<Formula> {
        self.said(Affine::var(self.name(var)), value)
    }

    /// What is known of a number that has the value of an expression.
    fn said(&self, v: Affine, value: &Expr) -> Vec<Formula> {
        self.meaning(|m| {
            if let Some(e) = m.affine(value) {
                return vec![Formula::eq(v, e)];
            }
            let mut out = Vec::new();
            if let Expr::HomeSlot { slots, .. } = value {
                out.extend(m.affine(slots).map(|slots| Formula::le(v.clone(), slots)));
            }
            out.extend(m.at_least(value).into_iter().map(|l| Formula::le(l, v.clone())));
            out.extend(m.at_most(value).into_iter().map(|u| Formula::le(v.clone(), u)));
            let is_zero = || Formula::le(v.clone(), Affine::zero());
            let others = m.at_most_or_zero(value).into_iter();
            out.extend(others.map(|u| Formula::or([is_zero(), Formula::le(v.clone(), u)])));
            out
        })
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        match stmt {
            Stmt::Comment(_) | Stmt::Break(_) | Stmt::Hole(_) => {}
            Stmt::Let { var, value, .. } => {
                self.expr(value);
                self.natural(*var);
                let facts = self.bound(*var, value);
                self.path.enter(&facts);
                self.made(*var, value);
            }
            Stmt::Assign { var, op, value } => {
                self.expr(value);
                let sum = match op {
                    crate::code::ir::Assign::Set => value.clone(),
                    crate::code::ir::Assign::Add => Expr::var(*var).add(value.clone()),
                };
                let old = self.meaning(|m| m.affine(&sum));
                self.assigned(*var);
                if let Some(e) = old {
                    let now = Affine::var(self.name(*var));
                    self.path.enter(&[Formula::eq(now, e)]);
                }
                self.made(*var, value);
            }
            Stmt::Store { place, value, .. } => {
                self.expr(value);
                self.place(place);
            }
            Stmt::Push { when, value, .. } => {
                when.iter_mut().for_each(|when| self.expr(when));
                self.expr(value);
            }
            Stmt::Prefetch { at, .. } => self.expr(at),
            Stmt::Combine(c) => {
                c.key.iter_mut().for_each(|part| self.expr(part));
                self.expr(&mut c.value);
                self.key(c);
            }
            Stmt::Drain(d) => {
                let shape = self.body.workspace_of(d.workspace).map(|w| w.shape.clone());
                self.forget_assigned(&d.body);
                let depth = self.path.depth();
                // Only keys below the shape were combined.
                for (var, extent) in d.key.iter().zip(shape.into_iter().flatten()) {
                    let v = Affine::var(self.name(*var));
                    let facts = self.meaning(|m| m.range(&v, &Expr::int(0), &extent));
                    self.natural(*var);
                    self.path.enter(&Self::constraints(facts));
                }
                self.block(&mut d.body);
                self.path.leave_to(depth);
                self.forget_assigned(&d.body);
            }
            Stmt::Allocate { fill, .. } => self.expr(fill),
            Stmt::InMemory(_) => {}
            Stmt::If { condition, then, otherwise } => {
                self.expr(condition);
                let (yes, no) =
                    self.meaning(|m| (m.implied(condition, true), m.implied(condition, false)));
                if otherwise.is_empty() && then.iter().all(is_plain) {
                    self.perhaps((yes, no), then);
                    return;
                }
                self.under(&[yes], then);
                let leaves = matches!(then.last(), Some(Stmt::Break(_)));
                self.under(std::slice::from_ref(&no), otherwise);
                self.forget_assigned(then);
                self.forget_assigned(otherwise);
                if leaves {
                    self.path.enter(&[no]);
                }
            }
            Stmt::While { condition, invariants, body } => {
                self.forget_assigned(body);
                let (mut facts, holds) = self.meaning(|m| {
                    let facts: Vec<Formula> =
                        invariants.iter().map(|i| m.implied(i, true)).collect();
                    (facts, m.implied(condition, true))
                });
                self.path.enter(&facts);
                self.expr(condition);
                self.path.leave();
                facts.push(holds);
                self.under(&facts, body);
                self.forget_assigned(body);
                let mut still: Vec<Formula> =
                    self.meaning(|m| invariants.iter().map(|i| m.implied(i, true)).collect());
                if body.iter().all(is_plain) {
                    // Nothing but its condition ends it.
                    still.push(self.meaning(|m| m.implied(condition, false)));
                }
                if !still.is_empty() {
                    self.path.enter(&still);
                }
            }
            Stmt::For { var, lo, hi, body } => {
                self.expr(lo);
                let end = hi.clone();
                self.end_of_range(hi);
                self.counted(*var, lo, &end, body);
            }
            Stmt::Labelled { body, .. } => {
                self.block(body);
                self.forget_assigned(body);
            }
            Stmt::Scope(body) => self.block(body),
            Stmt::Given { facts, body } => {
                let facts = self.given(facts);
                self.under(&facts, body);
            }
            Stmt::Insert { key, position, .. } => {
                self.expr(key);
                self.expr(position);
            }
            Stmt::Matches { table, key, access, var, all, body } => {
                self.expr(key);
                if !*all {
                    self.looked_up(*table, key, access);
                }
                self.forget_assigned(body);
                let depth = self.path.depth();
                self.natural(*var);
                self.block(body);
                self.path.leave_to(depth);
                self.forget_assigned(body);
            }
            Stmt::Parallel(p) => {
                self.expr(&mut p.lo);
                let end_of_all = p.hi.clone();
                self.end_of_range(&mut p.hi);
                let depth = self.path.depth();
                for stmt in &mut p.setup {
                    self.stmt(stmt);
                }
                self.forget_assigned(&p.body);
                let (start, end) = (Affine::var(self.name(p.start)), Affine::var(self.name(p.end)));
                // A chunk is not empty, and its first and last number lie in the range.
                let last = end - Affine::constant(1);
                let facts = self.meaning(|m| {
                    let mut facts = m.range(&start, &p.lo, &end_of_all);
                    facts.extend(m.range(&last, &p.lo, &end_of_all));
                    facts
                });
                self.natural(p.start);
                self.natural(p.end);
                p.writes.variables().for_each(|var| self.natural(var));
                self.path.enter(&Self::constraints(facts));
                self.block(&mut p.body);
                self.forget_assigned(&p.body);
                self.path.leave_to(depth);
            }
        }
    }

    /// Whether the key of a workspace is below its shape.
    fn key(&mut self, c: &mut Combine) {
        let Some(workspace) = self.body.workspace_of(c.workspace) else { return };
        let inside = c.key.iter().zip(&workspace.shape).all(|(part, extent)| {
            let (part, extent) = self.meaning(|m| (m.arith(part), m.arith(extent)));
            let (Some(part), Some(extent)) = (part, extent) else { return false };
            self.path.is_inside(&part, &extent)
        });
        let parts: Vec<String> = c.key.iter().map(|e| self.body.print_expr(e)).collect();
        let name = &self.body.var(c.workspace).name;
        self.shown(format!("{name}[{}]", parts.join(", ")), inside, &mut c.access);
    }

    /// Notes what was proved of an access.
    fn shown(&mut self, access: String, proved: bool, how: &mut Access) {
        *how = match proved {
            true => {
                self.proofs += 1;
                Access::Proved(BoundsProof::new(self.proofs))
            }
            false => Access::Checked,
        };
        let shown = AccessProof { access, proved };
        if !self.accesses.contains(&shown) {
            self.accesses.push(shown);
        }
    }

    fn counted(&mut self, var: VarId, lo: &Expr, hi: &Expr, body: &mut Block) {
        self.forget_assigned(body);
        let v = Affine::var(self.name(var));
        let facts = Self::constraints(self.meaning(|m| m.range(&v, lo, hi)));
        let depth = self.path.depth();
        self.natural(var);
        self.under(&facts, body);
        self.path.leave_to(depth);
        self.forget_assigned(body);
    }

    /// The end of a loop over natural numbers: where it may be negative, there is no iteration, and none
    /// up to zero either.
    fn end_of_range(&mut self, hi: &mut Expr) {
        let before = self.wrong.len();
        self.expr(hi);
        let natural = self.body.type_of(hi) == Ok(Type::Unsigned);
        if self.wrong.len() > before && natural && saturate(hi) {
            self.wrong.truncate(before);
            self.expr(hi);
        }
    }

    fn expr(&mut self, e: &mut Expr) {
        match e {
            Expr::Load(load) => self.place(load),
            Expr::Binary { op: op @ (BinaryOp::And | BinaryOp::Or), left, right } => {
                self.expr(left);
                let fact = self.meaning(|m| m.implied(left, *op == BinaryOp::And));
                self.path.enter(&[fact]);
                self.expr(right);
                self.path.leave();
            }
            Expr::Binary { op: BinaryOp::Sub, left, right } => {
                self.expr(left);
                self.expr(right);
                if self.body.type_of(left) == Ok(Type::Unsigned) {
                    let difference =
                        Expr::binary(BinaryOp::Sub, (**left).clone(), (**right).clone());
                    self.not_negative(&difference);
                }
            }
            Expr::Convert { signed: false, value } => {
                self.expr(value);
                if self.body.type_of(value) == Ok(Type::Signed) {
                    let value = (**value).clone();
                    self.not_negative(&value);
                }
            }
            Expr::Given { facts, value } => {
                let facts = self.given(facts);
                self.path.enter(&facts);
                self.expr(value);
                self.path.leave();
            }
            Expr::Sum(sum) => {
                self.expr(&mut sum.lo);
                self.expr(&mut sum.hi);
                let depth = self.path.depth();
                let v = Affine::var(self.name(sum.var));
                let facts = Self::constraints(self.meaning(|m| m.range(&v, &sum.lo, &sum.hi)));
                self.natural(sum.var);
                self.path.enter(&facts);
                for (var, value) in &mut sum.lets {
                    self.expr(value);
                    self.natural(*var);
                    let facts = self.bound(*var, value);
                    self.path.enter(&facts);
                }
                self.expr(&mut sum.term);
                self.path.leave_to(depth);
            }
            // The parts of every other expression are evaluated without a condition.
            other => other.parts_mut(&mut |part| self.expr(part)),
        }
    }

    fn not_negative(&mut self, e: &Expr) {
        let forms = self.meaning(|m| m.at_least(e));
        let claim = |a: &Affine| Formula::le(Affine::zero(), a.clone());
        let shown = forms.iter().any(|a| self.path.proves(&claim(a)))
            || self.meaning(|m| m.arith(e)).is_some_and(|a| self.path.is_natural(&a))
            || self.is_natural_by_neighbours(&forms);
        if !shown {
            let text = self.body.print_expr(e);
            self.wrong.push(format!("`{text}` is not negative"));
        }
    }

    fn is_natural_by_neighbours(&mut self, forms: &[Affine]) -> bool {
        let lemmas = neighbours(&self.path.calls());
        let claim = |a: &Affine| Formula::le(Affine::zero(), a.clone());
        !lemmas.is_empty() && forms.iter().any(|a| self.path.imply(&lemmas, &claim(a)))
    }

    fn place(&mut self, load: &mut Load) {
        for subscript in &mut load.subscripts {
            match subscript {
                // A negative number becomes one that is in no array: the access is proved with what
                // it was, or tested.
                Expr::Convert { signed: false, value } => self.expr(value),
                subscript => self.expr(subscript),
            }
        }
        let proved = self.is_inside(load);
        if !self.beyond.contains(&load.array) && !self.is_at_most_a_size(load) {
            self.beyond.push(load.array);
        }
        let text = self.body.print_place(load);
        self.shown(text, proved, &mut load.access);
    }

    /// The linear form of the subscript of number `k`; where it has none, a number of which its bounds are known.
    fn subscript(&mut self, k: usize, subscript: &Expr) -> Affine {
        if let Some(form) = self.meaning(|m| m.affine(subscript)) {
            return form;
        }
        let number = Affine::var(format!("subscript{k}''"));
        let mut facts = self.said(number.clone(), subscript);
        // A negative number that is converted is no number of its bounds.
        let converted = matches!(subscript, Expr::Convert { signed: false, .. });
        if !converted && self.body.type_of(subscript) == Ok(Type::Unsigned) {
            facts.push(Formula::le(Affine::zero(), number.clone()));
        }
        self.path.enter(&facts);
        number
    }

    fn is_inside(&mut self, load: &Load) -> bool {
        let array = self.body.arr(load.array);
        if matches!(array.element, Element::Index { .. }) && array.origin == Origin::Input {
            let depth = self.path.depth();
            let args: Vec<Affine> =
                load.subscripts.iter().enumerate().map(|(k, s)| self.subscript(k, s)).collect();
            let argument = |n: &Name| {
                array.args.iter().position(|x| x == n).and_then(|k| args.get(k)).cloned()
            };
            let inside = array.domain.iter().map(|c| Formula::Constraint(c.substitute(&argument)));
            // The others are natural by their type.
            let signed = |s: &Expr| matches!(s, Expr::Convert { signed: false, .. });
            let converted = load.subscripts.iter().zip(&args).filter(|(s, _)| signed(s));
            let natural = converted.map(|(_, a)| Formula::le(Affine::zero(), a.clone()));
            let claim = Formula::and(inside.chain(natural));
            let is_inside = !array.domain.is_empty() && self.path.proves(&claim);
            self.path.leave_to(depth);
            return is_inside;
        }
        load.subscripts.iter().zip(&array.shape).all(|(s, extent)| {
            let (s, extent) = self.meaning(|m| (m.arith(s), m.arith(extent)));
            let (Some(s), Some(extent)) = (s, extent) else { return false };
            self.path.is_inside(&s, &extent)
        }) && !array.shape.is_empty()
            || array.shape.is_empty() && load.subscripts == [Expr::int(0)]
    }
}

/// Something that always holds of the elements beside those that are read, and of the first: the code may not
/// read them, though laws relate them.
fn neighbours(calls: &[Call]) -> Vec<Formula> {
    let mut out = Vec::new();
    for call in calls {
        for k in 0..call.args.len() {
            let own = &call.args[k];
            let one = || Affine::constant(1);
            for arg in [own.clone() - one(), own.clone() + one(), Affine::zero()] {
                let mut args = call.args.clone();
                args[k] = arg;
                let element = Affine::call(call.array.clone(), args);
                let zero = Affine::zero();
                out.push(Formula::or([
                    Formula::lt(element.clone(), zero.clone()),
                    Formula::le(zero, element),
                ]));
            }
        }
    }
    out
}

/// Makes the differences that a natural number is, or is the least or greatest of, zero where they would
/// be negative; false if there is none.
fn saturate(e: &mut Expr) -> bool {
    match e {
        Expr::Binary { op: op @ BinaryOp::Sub, .. } => {
            *op = BinaryOp::SaturatingSub;
            true
        }
        Expr::Binary { op: BinaryOp::Min | BinaryOp::Max, left, right } => {
            saturate(left) | saturate(right)
        }
        _ => false,
    }
}

/// Whether a statement only binds or sets a variable.
fn is_plain(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Let { .. } | Stmt::Assign { .. })
}

#[cfg(test)]
mod tests;
