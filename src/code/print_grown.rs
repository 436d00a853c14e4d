//! The text of what assembles a result: arrays that grow, and workspaces.

use super::appended::said;
use super::doc::Doc;
use super::ir::{
    Access, ArrayId, Combination, Combine, Drain, Element, Expr, Origin, Stmt, WorkspaceId,
};
use super::print::{Argument, Printer};
use super::print_expr::{level, rust_number};

impl Printer<'_> {
    /// `let a = &mut Appender::new(a);`, if it is an array that grows.
    pub(super) fn append_to(&mut self, argument: Argument) {
        if let Argument::Array(id) = argument
            && self.body.arr(id).origin == Origin::Grown
        {
            let name = self.array_name(id);
            self.out.line(&format!("let {name} = &mut Appender::new({name});"));
        }
    }

    /// `a.push(e as u32);`, `a.push_if(c, e as u32);`
    pub(super) fn push(&mut self, array: ArrayId, when: Option<&Expr>, value: &Expr) {
        let when = when.map(|when| self.expr(when));
        let method = if when.is_some() { "push_if" } else { "push" };
        let value = self.stored_as(array, value);
        let array = self.array_doc(array);
        self.out.statement(&array.method(method, when.into_iter().chain([value]).collect()));
    }

    /// `a.extend((lo..hi).map(|p| e as u32));` for a loop that does nothing but append to one array.
    pub(super) fn extends(&mut self, stmt: &Stmt) -> bool {
        let Stmt::For { var, lo, hi, body } = stmt else { return false };
        let is_one = self.body.appended(stmt).is_some_and(|arrays| arrays.len() == 1);
        let (Some((Stmt::Push { array, value, .. }, before)), true) =
            (said(body).split_last(), is_one)
        else {
            return false;
        };
        let range = Doc::range(self.within(lo, 3), self.within(hi, 3));
        let parameters = self.loop_variable(*var, body);
        let (mut lets, mut bound) = (Vec::new(), Vec::new());
        for stmt in before {
            let Stmt::Let { var, value, .. } = stmt else { continue };
            let value = self.expr(value);
            lets.push((format!("let {} =", self.local(*var)), value));
            bound.push(*var);
        }
        let result = Box::new(self.stored_as(*array, value));
        bound.iter().chain([var]).for_each(|var| self.forget(*var));
        let closure = Doc::Closure { parameters, lets, result };
        let elements = Doc::Parentheses(Box::new(range)).method("map", vec![closure]);
        let call = self.array_doc(*array).method("extend", vec![elements]);
        self.out.statement(&call);
        true
    }

    /// `a.resize(I + 1, 0);`
    pub(super) fn resize(&mut self, array: ArrayId) {
        let shape = self.body.arr(array).shape.clone();
        let len = shape.into_iter().reduce(Expr::mul).unwrap_or(Expr::int(1));
        let args = match self.notation {
            true => Vec::new(),
            false => vec![self.expr(&len), Doc::text("0")],
        };
        let call = self.array_doc(array).method("resize", args);
        self.out.statement(&call);
    }

    /// What an element of the array is assigned: an index in its own width.
    pub(super) fn stored_as(&mut self, array: ArrayId, value: &Expr) -> Doc {
        match self.body.arr(array).element {
            element @ Element::Index { .. } if !self.notation && !is_literal(value) => {
                self.within(value, level::CAST).cast(element.rust_name())
            }
            _ => self.expr(value),
        }
    }

    /// `Workspace::new([I, J], 0.0)`
    pub(super) fn new_workspace(&mut self, id: WorkspaceId, begin: &Expr) -> Doc {
        let workspace = self.body.space_of(id);
        let shape = workspace.shape.iter().map(|e| self.expr(e)).collect();
        let begin = self.expr(begin);
        let mut args = vec![Doc::Array(shape), begin];
        if self.notation {
            args.insert(0, Doc::text(format!("{:?}", &*workspace.template)));
        }
        Doc::call("Workspace::new", args)
    }

    /// `|old, new| old + new`
    fn closure(&mut self, by: &Combination) -> Doc {
        let parameters = format!("{}, {}", self.local(by.old), self.local(by.new));
        let result = Box::new(self.expr(&by.result));
        self.forget(by.old);
        self.forget(by.new);
        Doc::Closure { parameters, lets: Vec::new(), result }
    }

    /// `w.combine([i, j], e, |old, new| old + new);`
    pub(super) fn combine(&mut self, c: &Combine) {
        let method = match c.access {
            Access::Checked if !self.notation => "combine_checked",
            _ => "combine",
        };
        let key = c.key.iter().map(|e| self.expr(e)).collect();
        let value = match &c.value {
            // Nothing else may say the type of the arguments of the closure.
            Expr::Number(number) => Doc::text(rust_number(*number, true)),
            value => self.expr(value),
        };
        let closure = self.closure(&c.by);
        let workspace = Doc::text(self.variable(c.workspace));
        let call = workspace.method(method, vec![Doc::Array(key), value, closure]);
        self.out.statement(&call);
    }

    /// `for ([i, j], x) in w.drain(|old, new| old + new) { … }`
    pub(super) fn drain(&mut self, d: &Drain) {
        let closure = self.closure(&d.by);
        let method = if d.sorted { "drain" } else { "drain_in_any_order" };
        let elements = Doc::text(self.variable(d.workspace)).method(method, vec![closure]);
        let mut key = Vec::new();
        for var in &d.key {
            key.push(self.loop_variable(*var, &d.body));
        }
        let value = self.loop_variable(d.value, &d.body);
        let pattern = format!("([{}], {value}) in", key.join(", "));
        self.out.open_with("for ", &pattern, &elements);
        self.nested(&d.body);
        for var in d.key.iter().chain([&d.value]) {
            self.forget(*var);
        }
    }
}

/// It has the type that is wanted.
fn is_literal(value: &Expr) -> bool {
    matches!(value, Expr::Int { .. })
}
