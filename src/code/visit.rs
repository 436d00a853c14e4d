//! Walks over a block: the parts of a statement and of an expression, in the order of evaluation.

use super::ir::Hole;
use super::ir::{Block, Expr, LabelId, Stmt};

impl Expr {
    /// Calls `f` on the direct parts.
    pub fn parts<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match self {
            Expr::Int { .. }
            | Expr::Unset
            | Expr::Bool(_)
            | Expr::Number(_)
            | Expr::Var(_)
            | Expr::Len(_) => {}
            Expr::Load(load) => load.subscripts.iter().for_each(f),
            Expr::Not(e) | Expr::FromBool(e) | Expr::Wrapped(e) => f(e),
            Expr::Convert { value, .. }
            | Expr::Cast { value, .. }
            | Expr::Fits { value, .. }
            | Expr::Given { value, .. }
            | Expr::NewTable { len: value, .. }
            | Expr::NewWorkspace { begin: value, .. } => f(value),
            Expr::Binary { left, right, .. } => {
                f(left);
                f(right);
            }
            Expr::Choose { condition, then, otherwise } => {
                f(condition);
                f(then);
                f(otherwise);
            }
            Expr::Key(parts)
            | Expr::Operator { args: parts, .. }
            | Expr::Asked { args: parts, .. } => parts.iter().for_each(f),
            Expr::HomeSlot { coordinate, slots } => {
                f(coordinate);
                f(slots);
            }
            Expr::Sum(sum) => {
                f(&sum.lo);
                f(&sum.hi);
                sum.lets.iter().for_each(|(_, e)| f(e));
                f(&sum.term);
            }
            Expr::Hole(hole) => {
                if let Some(e) = hole.argument() {
                    f(e);
                }
            }
        }
    }

    /// [`Expr::parts`], to be changed.
    pub fn parts_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match self {
            Expr::Int { .. }
            | Expr::Unset
            | Expr::Bool(_)
            | Expr::Number(_)
            | Expr::Var(_)
            | Expr::Len(_) => {}
            Expr::Load(load) => load.subscripts.iter_mut().for_each(f),
            Expr::Not(e) | Expr::FromBool(e) | Expr::Wrapped(e) => f(e),
            Expr::Convert { value, .. }
            | Expr::Cast { value, .. }
            | Expr::Fits { value, .. }
            | Expr::Given { value, .. }
            | Expr::NewTable { len: value, .. }
            | Expr::NewWorkspace { begin: value, .. } => f(value),
            Expr::Binary { left, right, .. } => {
                f(left);
                f(right);
            }
            Expr::Choose { condition, then, otherwise } => {
                f(condition);
                f(then);
                f(otherwise);
            }
            Expr::Key(parts)
            | Expr::Operator { args: parts, .. }
            | Expr::Asked { args: parts, .. } => parts.iter_mut().for_each(f),
            Expr::HomeSlot { coordinate, slots } => {
                f(coordinate);
                f(slots);
            }
            Expr::Sum(sum) => {
                f(&mut sum.lo);
                f(&mut sum.hi);
                sum.lets.iter_mut().for_each(|(_, e)| f(e));
                f(&mut sum.term);
            }
            Expr::Hole(hole) => {
                if let Some(e) = hole.argument_mut() {
                    f(e);
                }
            }
        }
    }

    /// Calls `f` on the expression and everything inside it, outside first.
    pub fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        f(self);
        self.parts(&mut |part| part.visit(f));
    }

    pub fn visit_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        f(self);
        self.parts_mut(&mut |part| part.visit_mut(f));
    }
}

impl Stmt {
    /// Calls `expr` on the statement's own expressions and `block` on its blocks.
    pub fn parts<'a>(&'a self, expr: &mut dyn FnMut(&'a Expr), block: &mut dyn FnMut(&'a Block)) {
        match self {
            Stmt::Comment(_) | Stmt::Break(_) | Stmt::InMemory(_) => {}
            Stmt::Let { value, .. } | Stmt::Assign { value, .. } => expr(value),
            Stmt::Push { when, value, .. } => {
                when.iter().for_each(&mut *expr);
                expr(value);
            }
            Stmt::Prefetch { at, .. } => expr(at),
            Stmt::Combine(c) => {
                c.key.iter().for_each(&mut *expr);
                expr(&c.value);
                expr(&c.by.result);
            }
            Stmt::Drain(d) => {
                expr(&d.by.result);
                block(&d.body);
            }
            Stmt::Allocate { fill, .. } => expr(fill),
            Stmt::Store { place, value, .. } => {
                place.subscripts.iter().for_each(&mut *expr);
                expr(value);
            }
            Stmt::If { condition, then, otherwise } => {
                expr(condition);
                block(then);
                block(otherwise);
            }
            Stmt::While { condition, invariants, body } => {
                expr(condition);
                invariants.iter().for_each(expr);
                block(body);
            }
            Stmt::For { lo, hi, body, .. } => {
                expr(lo);
                expr(hi);
                block(body);
            }
            Stmt::Labelled { body, .. } | Stmt::Scope(body) | Stmt::Given { body, .. } => {
                block(body);
            }
            Stmt::Insert { key, position, .. } => {
                expr(key);
                expr(position);
            }
            Stmt::Matches { key, body, .. } => {
                expr(key);
                block(body);
            }
            Stmt::Parallel(p) => {
                expr(&p.lo);
                expr(&p.hi);
                block(&p.setup);
                block(&p.body);
            }
            Stmt::Hole(hole) => {
                if let Some(e) = hole.argument() {
                    expr(e);
                }
            }
        }
    }

    pub fn parts_mut(
        &mut self,
        expr: &mut dyn FnMut(&mut Expr),
        block: &mut dyn FnMut(&mut Block),
    ) {
        match self {
            Stmt::Comment(_) | Stmt::Break(_) | Stmt::InMemory(_) => {}
            Stmt::Let { value, .. } | Stmt::Assign { value, .. } => expr(value),
            Stmt::Push { when, value, .. } => {
                when.iter_mut().for_each(&mut *expr);
                expr(value);
            }
            Stmt::Prefetch { at, .. } => expr(at),
            Stmt::Combine(c) => {
                c.key.iter_mut().for_each(&mut *expr);
                expr(&mut c.value);
                expr(&mut c.by.result);
            }
            Stmt::Drain(d) => {
                expr(&mut d.by.result);
                block(&mut d.body);
            }
            Stmt::Allocate { fill, .. } => expr(fill),
            Stmt::Store { place, value, .. } => {
                place.subscripts.iter_mut().for_each(&mut *expr);
                expr(value);
            }
            Stmt::If { condition, then, otherwise } => {
                expr(condition);
                block(then);
                block(otherwise);
            }
            Stmt::While { condition, invariants, body } => {
                expr(condition);
                invariants.iter_mut().for_each(expr);
                block(body);
            }
            Stmt::For { lo, hi, body, .. } => {
                expr(lo);
                expr(hi);
                block(body);
            }
            Stmt::Labelled { body, .. } | Stmt::Scope(body) | Stmt::Given { body, .. } => {
                block(body);
            }
            Stmt::Insert { key, position, .. } => {
                expr(key);
                expr(position);
            }
            Stmt::Matches { key, body, .. } => {
                expr(key);
                block(body);
            }
            Stmt::Parallel(p) => {
                expr(&mut p.lo);
                expr(&mut p.hi);
                block(&mut p.setup);
                block(&mut p.body);
            }
            Stmt::Hole(hole) => {
                if let Some(e) = hole.argument_mut() {
                    expr(e);
                }
            }
        }
    }
}

/// What a walk meets.
pub enum Part<'a> {
    Stmt(&'a Stmt),
    Expr(&'a Expr),
}

/// Calls `f` on every statement and every expression of a block, outside first.
pub fn visit<'a>(block: &'a [Stmt], f: &mut dyn FnMut(Part<'a>)) {
    for stmt in block {
        f(Part::Stmt(stmt));
        // Two walks, since both closures would hold `f`.
        let mut expressions: Vec<&Expr> = Vec::new();
        let mut blocks: Vec<&Block> = Vec::new();
        stmt.parts(&mut |e| expressions.push(e), &mut |b| blocks.push(b));
        for e in expressions {
            e.visit(&mut |e| f(Part::Expr(e)));
        }
        for b in blocks {
            visit(b, f);
        }
    }
}

/// True if a hole of the block satisfies `test`.
pub fn any_hole(block: &Block, test: impl Fn(&Hole) -> bool) -> bool {
    let mut found = false;
    visit(block, &mut |part| {
        if let Part::Stmt(Stmt::Hole(hole)) | Part::Expr(Expr::Hole(hole)) = part {
            found |= test(hole);
        }
    });
    found
}

/// Where breaks of the block go on that lie outside.
pub(super) fn left_for(block: &Block, targets: &mut Vec<Option<LabelId>>) {
    for stmt in block {
        let before = targets.len();
        match stmt {
            Stmt::Break(target) => targets.push(*target),
            _ => stmt.parts(&mut |_| {}, &mut |inner| left_for(inner, targets)),
        }
        let inner = targets.split_off(before);
        targets.extend(inner.into_iter().filter(|target| match (stmt, target) {
            (
                Stmt::For { .. } | Stmt::While { .. } | Stmt::Drain(_) | Stmt::Matches { .. },
                None,
            ) => false,
            (Stmt::Labelled { label, .. }, Some(target)) => label != target,
            _ => true,
        }));
    }
}
