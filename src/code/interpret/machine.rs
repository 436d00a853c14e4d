//! Statements.

use std::ops::ControlFlow;

use rustc_hash::FxHashMap;

use super::fault::{Fault, Reason};
use super::storage::{Elements, Storage, Table};
use super::symbols::Symbols;
use super::value::{Number, Value, arithmetic};
use crate::code::ir::{
    Access, ArrayId, Assign, BinaryOp, Block, Body, Combination, Combine, Drain, Element, Expr,
    IndexWidth, LabelId, Load, Origin, Stmt, VarId,
};

/// A run.
pub struct Machine<'b, 'a> {
    pub(super) body: &'b Body,
    symbols: &'b Symbols,
    pub(super) variables: Vec<Option<Value>>,
    pub(super) arrays: Vec<Storage<'a>>,
    pub(super) tables: Vec<Table>,
    /// By the variable that holds it.
    pub(super) workspaces: Workspaces,
    pub(super) width: IndexWidth,
    pub(super) threads: usize,
    fuel: u64,
    /// Within a parallel loop whose threads share the output: the chunk, and by which chunk each
    /// element was touched.
    pub(super) touched: Option<(ArrayId, usize, Vec<usize>)>,
}

pub(super) type Workspaces = FxHashMap<VarId, Workspace>;

/// A workspace of a run.
#[derive(Clone)]
pub(super) struct Workspace {
    shape: Vec<usize>,
    begin: Number,
    elements: Elements,
}

/// Where control goes after a statement.
pub(super) enum Leave {
    Loop,
    Label(LabelId),
}

pub(super) type Flow = Result<ControlFlow<Leave>, Fault>;

const ON: Flow = Ok(ControlFlow::Continue(()));

impl<'b, 'a> Machine<'b, 'a> {
    pub fn new(
        body: &'b Body,
        symbols: &'b Symbols,
        arrays: Vec<Storage<'a>>,
        threads: usize,
        fuel: u64,
    ) -> Machine<'b, 'a> {
        let width = body.arrays().find_map(|(_, a)| match a.element {
            Element::Index { width, .. } => Some(width),
            _ => None,
        });
        let mut variables = vec![None; body.variables().count()];
        if let Some(v) = body.threads {
            variables[v.index()] = Some(Value::Unsigned(threads));
        }
        Machine {
            body,
            symbols,
            variables,
            arrays,
            tables: Vec::new(),
            workspaces: Workspaces::default(),
            width: width.unwrap_or_default(),
            threads,
            fuel,
            touched: None,
        }
    }

    pub fn set_size(&mut self, v: VarId, n: usize) {
        self.variables[v.index()] = Some(Value::Unsigned(n));
    }

    pub fn symbols(&self) -> &'b Symbols {
        self.symbols
    }

    pub fn variable(&self, v: VarId) -> Option<&Value> {
        self.variables[v.index()].as_ref()
    }

    pub fn into_arrays(self) -> Vec<Storage<'a>> {
        self.arrays
    }

    pub fn run(&mut self) -> Result<(), Fault> {
        match self.block(&self.body.block)? {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(_) => Err(ill_formed("a jump leaves the body").into()),
        }
    }

    pub(super) fn step(&mut self) -> Result<(), Reason> {
        self.fuel = self.fuel.checked_sub(1).ok_or(Reason::Fuel)?;
        Ok(())
    }

    /// The statements of a block; what they bind is out of sight afterwards.
    pub(super) fn block(&mut self, block: &'b Block) -> Flow {
        let flow = self.statements(block);
        for stmt in block {
            self.unbind(stmt);
        }
        flow
    }

    pub(super) fn unbind(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let { var, .. } => self.variables[var.index()] = None,
            Stmt::Allocate { array, .. } if self.body.arr(*array).origin == Origin::Local => {
                self.arrays[array.index()] = Storage::Absent;
            }
            _ => {}
        }
    }

    pub(super) fn statements(&mut self, block: &'b Block) -> Flow {
        for stmt in block {
            let flow = self.stmt(stmt).map_err(|mut fault| {
                if fault.statement.is_empty() {
                    fault.statement = self.describe(stmt);
                }
                fault
            })?;
            if let ControlFlow::Break(_) = flow {
                return Ok(flow);
            }
        }
        ON
    }

    fn stmt(&mut self, stmt: &'b Stmt) -> Flow {
        self.step()?;
        match stmt {
            Stmt::Comment(_) => {}
            Stmt::Let { var, value: Expr::NewWorkspace { workspace, begin }, .. } => {
                let shape = self.body.space_of(*workspace).shape.iter();
                let shape = shape.map(|e| self.unsigned(e)).collect::<Result<Vec<_>, _>>()?;
                let begin = self.number(begin)?;
                let elements = Elements::default();
                self.workspaces.insert(*var, Workspace { shape, begin, elements });
            }
            Stmt::Let { var, value, .. } => {
                let value = self.expr(value)?;
                self.variables[var.index()] = Some(value);
            }
            Stmt::Assign { var, op, value } => {
                let value = self.expr(value)?;
                let old = self.read(*var)?;
                let new = match op {
                    Assign::Set => value,
                    Assign::Add => self.sum(old, value, stmt)?,
                };
                self.variables[var.index()] = Some(new);
            }
            Stmt::Store { place, op, value } => self.store(place, *op, value, stmt)?,
            Stmt::Allocate { array, fill } => self.allocate(*array, fill)?,
            Stmt::Push { when: Some(when), .. } if !self.condition(when)? => {}
            Stmt::Push { array, value, .. } => {
                let value = self.expr(value)?;
                let done = self.arrays[array.index()].push(&value);
                done.ok_or_else(|| ill_formed("an array is given something else than it holds"))?;
            }
            Stmt::Prefetch { at, .. } => {
                self.unsigned(at)?;
            }
            Stmt::InMemory(_) => {}
            Stmt::Combine(c) => self.combine(c)?,
            Stmt::Drain(d) => return self.drain(d),
            Stmt::If { condition, then, otherwise } => {
                return match self.condition(condition)? {
                    true => self.block(then),
                    false => self.block(otherwise),
                };
            }
            Stmt::While { condition, invariants, body } => loop {
                self.step()?;
                for i in invariants {
                    if !self.condition(i)? {
                        return Err(Reason::Invariant(self.body.print_expr(i)).into());
                    }
                }
                if !self.condition(condition)? {
                    break;
                }
                if let Some(flow) = self.turn(body)? {
                    return Ok(flow);
                }
            },
            Stmt::For { var, lo, hi, body } => return self.counted(*var, lo, hi, body),
            Stmt::Labelled { label, body } => {
                return Ok(match self.block(body)? {
                    ControlFlow::Break(Leave::Label(left)) if left == *label => {
                        ControlFlow::Continue(())
                    }
                    flow => flow,
                });
            }
            Stmt::Break(None) => return Ok(ControlFlow::Break(Leave::Loop)),
            Stmt::Break(Some(label)) => return Ok(ControlFlow::Break(Leave::Label(*label))),
            Stmt::Scope(body) => return self.block(body),
            Stmt::Insert { table, key, position } => {
                let (key, position) = (self.key(key)?, self.unsigned(position)?);
                let table = self.table(*table)?;
                self.tables[table].insert(key, position);
            }
            Stmt::Matches { table, key: sought, access, var, all, body } => {
                let key = self.key(sought)?;
                let table = self.table(*table)?;
                let len = self.tables[table].len;
                let is_below = |part: &i64| usize::try_from(*part).is_ok_and(|part| part < len);
                if matches!(access, Access::Proved(_)) && !key.iter().all(is_below) {
                    let access = self.body.print_expr(sought);
                    let subscripts = key.iter().map(|part| *part as usize).collect();
                    return Err(Reason::OutOfBounds { access, subscripts, len }.into());
                }
                let mut found = self.tables[table].matches(&key).to_vec();
                if !all {
                    found.truncate(1);
                }
                for p in found {
                    self.variables[var.index()] = Some(Value::Unsigned(p));
                    let flow = match all {
                        true => self.turn(body)?,
                        // No loop: a break is for the one around it.
                        false => match self.block(body)? {
                            ControlFlow::Continue(()) => None,
                            left => Some(left),
                        },
                    };
                    self.variables[var.index()] = None;
                    match flow {
                        Some(ControlFlow::Continue(())) => break,
                        Some(left) => return Ok(left),
                        None => {}
                    }
                }
            }
            Stmt::Parallel(p) => self.parallel(p)?,
            Stmt::Given { facts, body } => {
                self.check_facts(facts)?;
                return self.block(body);
            }
            Stmt::Hole(hole) => {
                return Err(ill_formed(format!("`{}!` is open", hole.name())).into());
            }
        }
        ON
    }

    /// One turn of a loop: `None` to go on, `Continue` if the loop was left.
    fn turn(&mut self, body: &'b Block) -> Result<Option<ControlFlow<Leave>>, Fault> {
        self.step()?;
        Ok(match self.block(body)? {
            ControlFlow::Continue(()) => None,
            ControlFlow::Break(Leave::Loop) => Some(ControlFlow::Continue(())),
            left => Some(left),
        })
    }

    fn counted(&mut self, var: VarId, lo: &'b Expr, hi: &'b Expr, body: &'b Block) -> Flow {
        let make: fn(i128) -> Value;
        let (lo, hi) = match (self.expr(lo)?, self.expr(hi)?) {
            (Value::Unsigned(lo), Value::Unsigned(hi)) => {
                make = |n| Value::Unsigned(n as usize);
                (lo as i128, hi as i128)
            }
            (Value::Signed(lo), Value::Signed(hi)) => {
                make = |n| Value::Signed(n as isize);
                (lo as i128, hi as i128)
            }
            _ => return Err(ill_formed("a loop over no integers").into()),
        };
        let mut n = lo;
        while n < hi {
            self.variables[var.index()] = Some(make(n));
            if let Some(flow) = self.turn(body)? {
                self.variables[var.index()] = None;
                return Ok(flow);
            }
            n += 1;
        }
        self.variables[var.index()] = None;
        ON
    }

    fn store(
        &mut self,
        place: &'b Load,
        op: Assign,
        value: &'b Expr,
        stmt: &Stmt,
    ) -> Result<(), Fault> {
        // Rust evaluates the right side of `=` before the place, and so of `+=` on primitive types.
        let value = self.expr(value)?;
        let k = self.locate(place)?;
        let new = match op {
            Assign::Set => value,
            Assign::Add => {
                let old = self.element(place, k)?;
                self.sum(old, value, stmt)?
            }
        };
        self.touch(place.array, k)?;
        let done = self.arrays[place.array.index()].put(k, &new);
        done.ok_or_else(|| ill_formed("an array is assigned something else than it holds").into())
    }

    fn sum(&self, old: Value, value: Value, stmt: &Stmt) -> Result<Value, Fault> {
        let overflow = || Reason::Overflow(self.describe(stmt));
        Ok(match (old, value) {
            (Value::Unsigned(a), Value::Unsigned(b)) => {
                Value::Unsigned(a.checked_add(b).ok_or_else(overflow)?)
            }
            (Value::Signed(a), Value::Signed(b)) => {
                Value::Signed(a.checked_add(b).ok_or_else(overflow)?)
            }
            (Value::Number(a), Value::Number(b)) => {
                let sum = arithmetic(BinaryOp::Add, a, b);
                Value::Number(sum.ok_or_else(|| ill_formed("a sum of two types"))?)
            }
            _ => return Err(ill_formed("a sum of no numbers").into()),
        })
    }

    fn number(&mut self, e: &'b Expr) -> Result<Number, Fault> {
        match self.expr(e)? {
            Value::Number(number) => Ok(number),
            _ => Err(ill_formed("a value is wanted").into()),
        }
    }

    fn combined(&mut self, by: &'b Combination, old: Number, new: Number) -> Result<Number, Fault> {
        self.variables[by.old.index()] = Some(Value::Number(old));
        self.variables[by.new.index()] = Some(Value::Number(new));
        let result = self.number(&by.result);
        self.variables[by.old.index()] = None;
        self.variables[by.new.index()] = None;
        result
    }

    fn combine(&mut self, c: &'b Combine) -> Result<(), Fault> {
        let mut key = Vec::new();
        for part in &c.key {
            key.push(self.unsigned(part)?);
        }
        let value = self.number(&c.value)?;
        let wrong = || ill_formed("nothing is combined into no workspace");
        let workspace = self.workspaces.get(&c.workspace).ok_or_else(wrong)?;
        if let Some((part, extent)) = key.iter().zip(&workspace.shape).find(|(k, n)| k >= n) {
            let access = format!("{}[{part}]", self.body.var(c.workspace).name);
            let (subscripts, len) = (key.clone(), *extent);
            return Err(Reason::OutOfBounds { access, subscripts, len }.into());
        }
        let old = workspace.elements.get(&key).copied().unwrap_or(workspace.begin);
        let new = self.combined(&c.by, old, value)?;
        if let Some(workspace) = self.workspaces.get_mut(&c.workspace) {
            workspace.elements.insert(key, new);
        }
        Ok(())
    }

    fn drain(&mut self, d: &'b Drain) -> Flow {
        let wrong = || ill_formed("no workspace is emptied");
        let workspace = self.workspaces.get_mut(&d.workspace).ok_or_else(wrong)?;
        for (key, value) in std::mem::take(&mut workspace.elements) {
            for (var, part) in d.key.iter().zip(key) {
                self.variables[var.index()] = Some(Value::Unsigned(part));
            }
            self.variables[d.value.index()] = Some(Value::Number(value));
            if let Some(flow) = self.turn(&d.body)? {
                return Ok(flow);
            }
        }
        ON
    }

    fn allocate(&mut self, array: ArrayId, fill: &'b Expr) -> Result<(), Fault> {
        let fill = self.expr(fill)?;
        let mut len: usize = 1;
        for extent in &self.body.arr(array).shape {
            let extent = self.unsigned(extent)?;
            let name = || Reason::Overflow(format!("length of {}", self.body.arr(array).name));
            len = len.checked_mul(extent).ok_or_else(name)?;
        }
        for _ in 0..len {
            self.step()?;
        }
        self.arrays[array.index()] = match fill {
            Value::Number(x) => Storage::Written(x.repeated(len)),
            Value::Unsigned(x) => Storage::Positions(vec![x; len]),
            _ => {
                return Err(
                    ill_formed("an array is filled with something else than it holds").into()
                );
            }
        };
        Ok(())
    }

    /// A statement in a line, for messages.
    pub(super) fn describe(&self, stmt: &Stmt) -> String {
        let body = self.body;
        let text = |e: &Expr| body.print_expr(e);
        let op = |op: &Assign| if *op == Assign::Set { "=" } else { "+=" };
        match stmt {
            Stmt::Let { var, value, .. } => {
                format!("let {} = {}", body.var(*var).name, text(value))
            }
            Stmt::Assign { var, op: o, value } => {
                format!("{} {} {}", body.var(*var).name, op(o), text(value))
            }
            Stmt::Store { place, op: o, value } => {
                format!("{} {} {}", body.print_place(place), op(o), text(value))
            }
            Stmt::Allocate { array, .. } => format!("let {} = vec![…]", body.arr(*array).name),
            Stmt::Push { array, value, .. } => {
                format!("{}.push({})", body.arr(*array).name, text(value))
            }
            Stmt::Prefetch { array, at } => {
                format!("prefetch({}, {})", body.arr(*array).name, text(at))
            }
            Stmt::InMemory(array) => format!("in_memory({})", body.arr(*array).name),
            Stmt::Combine(c) => {
                format!("{}.combine({})", body.var(c.workspace).name, text(&c.value))
            }
            Stmt::Drain(d) => format!("{}.drain()", body.var(d.workspace).name),
            Stmt::If { condition, .. } => format!("if {}", text(condition)),
            Stmt::While { condition, .. } => format!("while {}", text(condition)),
            Stmt::For { var, lo, hi, .. } => {
                format!("for {} in {}..{}", body.var(*var).name, text(lo), text(hi))
            }
            Stmt::Insert { table, key, position } => {
                format!("{}.insert({}, {})", body.var(*table).name, text(key), text(position))
            }
            Stmt::Matches { table, key, .. } => {
                format!("{} matches {}", body.var(*table).name, text(key))
            }
            Stmt::Parallel(p) => format!("chunks of {}..{}", text(&p.lo), text(&p.hi)),
            Stmt::Given { .. } => "given".to_string(),
            Stmt::Comment(_)
            | Stmt::Labelled { .. }
            | Stmt::Break(_)
            | Stmt::Scope(_)
            | Stmt::Hole(_) => String::new(),
        }
    }
}

pub(super) fn ill_formed(what: impl Into<String>) -> Reason {
    Reason::IllFormed(what.into())
}
