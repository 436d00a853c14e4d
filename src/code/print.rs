//! The text of a body: Rust, as rustfmt would leave it. Nothing but this file and what it calls
//! (`doc`, `naming`, `print_expr`) knows how a node is spelled.
//!
//! A variable is called as it is known, unless something in sight has that name already.

use rustc_hash::FxHashMap;

use super::doc::Doc;
use super::ir::{
    Array, ArrayId, Assign, BinaryOp, Block, Body, Element, Expr, LabelId, Load, Origin, Stmt,
    Type, VarId,
};
use super::lines::Lines;
use super::naming::{Naming, identifier};
use super::used::{Used, is_receiver, mentions};
use crate::tensor::ValueType;

/// One argument of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    Size(VarId),
    Array(ArrayId),
    Threads(VarId),
}

/// The text of a body and of its signature.
pub struct Printed {
    /// `name: type` for each argument.
    pub parameters: Vec<String>,
    /// The statements, indented by one level within the function's `unsafe` block.
    pub text: String,
}

impl Body {
    /// What the body needs, in the order of its signature: the output, sizes, index arrays, values,
    /// threads.
    pub fn arguments(&self) -> Vec<Argument> {
        let used = self.used();
        let mut out = Vec::new();
        let arrays = |test: &dyn Fn(&Array) -> bool| -> Vec<Argument> {
            let wanted = self
                .arrays()
                .filter(|(id, a)| test(a) && (used.arrays.contains(id) || a.origin.is_written()));
            wanted.map(|(id, _)| Argument::Array(id)).collect()
        };
        let is_value = |a: &Array| matches!(a.element, Element::Value(_));
        out.extend(arrays(&|a| a.origin.is_written()));
        let sizes = self.sizes.iter().filter(|v| used.variables.contains(v));
        out.extend(sizes.map(|v| Argument::Size(*v)));
        out.extend(arrays(&|a| a.origin == Origin::Input && !is_value(a)));
        out.extend(arrays(&|a| a.origin == Origin::Input && is_value(a)));
        out.extend(self.threads.map(Argument::Threads));
        out
    }

    /// Everything the block mentions.
    pub fn used(&self) -> Used {
        Used::of(self, &self.block)
    }

    /// An expression by itself, for messages.
    pub fn print_expr(&self, e: &Expr) -> String {
        Printer::new(self).expr_text(e, 0)
    }

    /// An expression over names that the caller gives.
    pub fn print_with(
        &self,
        e: &Expr,
        variable: &dyn Fn(VarId) -> String,
        array: &dyn Fn(ArrayId) -> String,
    ) -> Doc {
        let mut printer = Printer::new(self);
        e.visit(&mut |e| match e {
            Expr::Var(v) => {
                printer.variables.insert(*v, variable(*v));
            }
            Expr::Load(load) => {
                printer.arrays.insert(load.array, array(load.array));
            }
            _ => {}
        });
        printer.expr(e)
    }

    /// `crd_A[pA1]`, for messages.
    pub fn print_place(&self, load: &Load) -> String {
        let mut printer = Printer::new(self);
        let index: Vec<String> = match load.access {
            _ if load.subscripts.len() > 1 => {
                load.subscripts.iter().map(|s| printer.expr_text(s, 0)).collect()
            }
            _ => vec![printer.index(load).flat()],
        };
        format!("{}[{}]", self.arr(load.array).name, index.join(", "))
    }

    /// The body as a function would hold it.
    pub fn print(&self, depth: usize) -> Printed {
        let mut printer = Printer::new(self);
        let mut parameters = Vec::new();
        for argument in self.arguments() {
            parameters.push(printer.parameter(argument));
        }
        printer.out = Lines::at(depth);
        self.arguments().into_iter().for_each(|argument| printer.append_to(argument));
        printer.block(&self.block);
        Printed { parameters, text: printer.out.into_text() }
    }
}

/// Names of variables and of arrays.
type Names = (FxHashMap<VarId, String>, FxHashMap<ArrayId, String>);

#[derive(Clone)]
pub(super) struct Printer<'a> {
    pub(super) body: &'a Body,
    naming: Naming,
    variables: FxHashMap<VarId, String>,
    pub(super) arrays: FxHashMap<ArrayId, String>,
    labels: FxHashMap<LabelId, String>,
    pub(super) out: Lines,
    /// For people and for the parser, not for Rust.
    pub(super) notation: bool,
    /// The output is written through a handle that threads share.
    pub(super) shared: Option<ArrayId>,
    /// Arrays of which a chunk only notes what it writes.
    pub(super) ends: Vec<ArrayId>,
}

impl<'a> Printer<'a> {
    pub(super) fn new(body: &'a Body) -> Self {
        Printer {
            body,
            naming: Naming::new(),
            variables: FxHashMap::default(),
            arrays: FxHashMap::default(),
            labels: FxHashMap::default(),
            out: Lines::default(),
            notation: false,
            shared: None,
            ends: Vec::new(),
        }
    }

    /// `name: type` of an argument, which gets its name here.
    fn parameter(&mut self, argument: Argument) -> String {
        let name = self.name_argument(argument);
        format!("{name}: {}", self.parameter_type(argument))
    }

    pub(super) fn name_argument(&mut self, argument: Argument) -> String {
        match argument {
            Argument::Size(v) | Argument::Threads(v) => {
                if matches!(argument, Argument::Threads(_)) {
                    self.variables.insert(v, "threads".to_string());
                    "threads".to_string()
                } else {
                    self.name_variable(v)
                }
            }
            Argument::Array(a) => {
                let name = self.naming.fresh(&self.body.arr(a).name);
                self.arrays.insert(a, name.clone());
                name
            }
        }
    }

    pub(super) fn parameter_type(&self, argument: Argument) -> String {
        match argument {
            Argument::Size(_) | Argument::Threads(_) => "usize".to_string(),
            Argument::Array(a) => {
                let array = self.body.arr(a);
                let element = array.element.rust_name();
                match array.origin {
                    Origin::Grown => format!("&mut Grown<{element}>"),
                    Origin::Output => format!("&mut [{element}]"),
                    Origin::Input | Origin::Local => format!("&[{element}]"),
                }
            }
        }
    }

    pub(super) fn name_variable(&mut self, v: VarId) -> String {
        let name = self.naming.fresh(self.body.hint(v));
        self.variables.insert(v, name.clone());
        name
    }

    /// A name that begins with `_` if nothing uses the variable; no variable in sight has it.
    fn marked_variable(&mut self, v: VarId, used: bool) -> String {
        let wish = identifier(self.body.hint(v));
        let name = match used || wish.starts_with('_') {
            true => self.naming.fresh(&wish),
            false => self.naming.fresh(&format!("_{wish}")),
        };
        self.variables.insert(v, name.clone());
        name
    }

    pub(super) fn variable(&self, v: VarId) -> String {
        // Only code that is not well-formed has a variable without a name; it is printed to be read.
        self.variables.get(&v).cloned().unwrap_or_else(|| self.body.var(v).name.to_string())
    }

    pub(super) fn array_name(&self, a: ArrayId) -> String {
        self.arrays.get(&a).cloned().unwrap_or_else(|| self.body.arr(a).name.to_string())
    }

    /// An array that has methods: it may be a field of `part`.
    pub(super) fn array_doc(&self, a: ArrayId) -> Doc {
        let name = self.array_name(a);
        match name.split_once('.') {
            Some((owner, field)) => Doc::text(owner).field(field),
            None => Doc::text(name),
        }
    }

    /// `wish` for a variable that lives within one expression; give it back with `forget`.
    pub(super) fn local(&mut self, v: VarId) -> String {
        self.name_variable(v)
    }

    pub(super) fn forget(&mut self, v: VarId) {
        if let Some(name) = self.variables.remove(&v) {
            self.naming.release(&name);
        }
    }

    /// The statements of a block, with its names in sight only there.
    pub(super) fn block(&mut self, block: &Block) {
        let before = self.names();
        for (k, stmt) in block.iter().enumerate() {
            self.stmt(stmt, &block[k + 1..]);
        }
        self.forget_since(before);
    }

    /// What is in sight.
    pub(super) fn names(&self) -> Names {
        (self.variables.clone(), self.arrays.clone())
    }

    /// Takes back the names that were given since.
    pub(super) fn forget_since(&mut self, before: Names) {
        for (v, name) in std::mem::replace(&mut self.variables, before.0) {
            if !self.variables.contains_key(&v) {
                self.naming.release(&name);
            }
        }
        for (a, name) in std::mem::replace(&mut self.arrays, before.1) {
            if !self.arrays.contains_key(&a) {
                self.naming.release(&name);
            }
        }
    }

    /// The rest of a block whose first line is there.
    pub(super) fn nested(&mut self, block: &Block) {
        self.block(block);
        self.out.close("");
    }

    pub(super) fn stmt(&mut self, stmt: &Stmt, rest: &[Stmt]) {
        match stmt {
            Stmt::Comment(text) => self.out.line(&format!("// {text}")),
            Stmt::Let { var, mutable, value } => {
                let value_doc = self.expr(value);
                let used = mentions(self.body, rest, *var);
                let name = self.marked_variable(*var, used);
                let word = if *mutable { "let mut" } else { "let" };
                let ty = match (self.body.var(*var).ty, value) {
                    (Type::Value(t), Expr::Number(_)) => format!(": {}", t.rust_name()),
                    (Type::Signed, Expr::Int { .. }) => ": isize".to_string(),
                    (Type::Unsigned, Expr::Int { .. }) if *mutable || is_receiver(rest, *var) => {
                        ": usize".to_string()
                    }
                    _ => String::new(),
                };
                self.out.assignment(&format!("{word} {name}{ty} ="), &value_doc);
            }
            Stmt::Assign { var, op, value } => {
                let name = Doc::text(self.variable(*var));
                match self.changed_by(*var, *op, value) {
                    Some((operator, by)) if !self.notation => {
                        let by = self.expr(by);
                        self.out.assign(&name, operator, &by);
                    }
                    _ => self.update(&name, name.clone(), *op, value),
                }
            }
            Stmt::Store { place, value, .. } if self.ends.contains(&place.array) => {
                let (place_of_end, value) = (self.index(place), self.expr(value));
                let ends = self.array_doc(place.array);
                self.out.statement(&ends.method("set", vec![place_of_end, value]));
            }
            Stmt::Store { place, op, value } => {
                let (target, element) = self.target(place);
                match (self.body.arr(place.array).element, op) {
                    (Element::Index { .. }, Assign::Set) => {
                        let value = self.stored_as(place.array, value);
                        self.out.assign(&target, "=", &value);
                    }
                    _ => self.update(&target, element, *op, value),
                }
            }
            Stmt::Push { array, when, value } => self.push(*array, when.as_ref(), value),
            Stmt::Prefetch { array, at } => {
                let arguments = vec![Doc::text(self.array_name(*array)), self.expr(at)];
                self.out.statement(&Doc::call("prefetch", arguments));
            }
            Stmt::InMemory(array) => {
                let name = self.array_name(*array);
                match self.notation {
                    true => self.out.line(&format!("in_memory({name});")),
                    false => {
                        // A copy that nothing changes: what is changed stays in registers.
                        self.out.line(&format!("let {name} = {name};"));
                        self.out.line(&format!("std::hint::black_box(&{name});"));
                    }
                }
            }
            Stmt::Combine(c) => self.combine(c),
            Stmt::Drain(d) => self.drain(d),
            Stmt::Allocate { array, .. } if self.body.arr(*array).origin == Origin::Grown => {
                self.resize(*array);
            }
            Stmt::Allocate { array, fill } => {
                let declared = self.body.arr(*array);
                let len = match self.notation {
                    true => self.tuple(&declared.shape),
                    false => match declared.shape.as_slice() {
                        [only] => self.expr_text(only, 0),
                        all => product(all.iter().map(|e| self.expr_text(e, 11))),
                    },
                };
                let name = self.naming.fresh(&declared.name);
                self.arrays.insert(*array, name.clone());
                let fill = match declared.element {
                    Element::Index { .. } => {
                        format!("{}_{}", self.expr_text(fill, 0), declared.element.rust_name())
                    }
                    _ => self.expr_text(fill, 0),
                };
                // What is as long as the text says needs no place of its own.
                let is_short = declared.shape.iter().all(|e| matches!(e, Expr::Int { .. }));
                let vec = if is_short && !self.notation { "" } else { "vec!" };
                let value = Doc::text(format!("{vec}[{fill}; {len}]"));
                // The type of a number that nothing else tells.
                let ty = match declared.element {
                    Element::Value(ty) if vec.is_empty() => {
                        format!(": [{}; {len}]", ty.rust_name())
                    }
                    Element::Value(ty) if !self.notation => format!(": Vec<{}>", ty.rust_name()),
                    _ => String::new(),
                };
                // Of several statements, one that writes it may have nothing to visit.
                let word = if self.body.writes(*array) { "let mut" } else { "let" };
                self.out.assignment(&format!("{word} {name}{ty} ="), &value);
            }
            Stmt::If { .. } | Stmt::Matches { all: false, .. } => self.branch("if ", stmt),
            Stmt::While { condition, invariants, body } => {
                let condition = self.expr(condition);
                self.out.open_if("while ", &condition);
                let shown: &[Expr] = if self.notation { invariants } else { &[] };
                for i in shown {
                    let text = self.expr_text(i, 0);
                    self.out.line(&format!("invariant!({text});"));
                }
                self.nested(body);
            }
            Stmt::For { .. } if !self.notation && self.extends(stmt) => {}
            Stmt::For { var, lo, hi, body } => {
                let range = Doc::range(self.within(lo, 3), self.within(hi, 3));
                let name = self.loop_variable(*var, body);
                self.out.open_with("for ", &format!("{name} in"), &range);
                self.nested(body);
                self.forget(*var);
            }
            Stmt::Labelled { label, body } => {
                let name = self.naming.fresh(self.body.label_name(*label));
                self.labels.insert(*label, name.clone());
                self.out.open(&format!("'{name}:"));
                self.nested(body);
                self.naming.release(&name);
            }
            Stmt::Break(None) => self.out.line("break;"),
            Stmt::Break(Some(label)) => {
                let name = self.labels.get(label).cloned().unwrap_or_default();
                self.out.line(&format!("break '{name};"));
            }
            Stmt::Scope(body) => {
                self.out.line("{");
                self.out.deeper();
                self.nested(body);
            }
            Stmt::Insert { table, key, position } => {
                let (key, position) = (self.expr(key), self.expr(position));
                let table = Doc::text(self.variable(*table));
                self.out.statement(&table.method("insert", vec![key, position]));
            }
            Stmt::Matches { table, key, var, all: true, body, .. } => {
                let key = self.expr(key);
                let matches = Doc::text(self.variable(*table)).method("matches", vec![key]);
                let name = self.loop_variable(*var, body);
                self.out.open_with("for ", &format!("{name} in"), &matches);
                self.nested(body);
                self.forget(*var);
            }
            Stmt::Parallel(p) if self.notation => self.notation_parallel(p),
            Stmt::Parallel(p) => self.parallel(p),
            // What a proof established is for the prover, not for the reader.
            Stmt::Given { body, .. } => {
                for (k, stmt) in body.iter().enumerate() {
                    self.stmt(stmt, &body[k + 1..]);
                }
            }
            Stmt::Hole(hole) => {
                let argument = hole.argument().map(|e| self.expr_text(e, 0)).unwrap_or_default();
                self.out.line(&format!("{}!({argument});", hole.name()));
            }
        }
    }

    /// The name of a loop's variable, marked if the body has no use for it.
    pub(super) fn loop_variable(&mut self, var: VarId, body: &Block) -> String {
        self.marked_variable(var, mentions(self.body, body, var))
    }

    /// `-=` and `e` of `x = x - e`.
    fn changed_by<'e>(
        &self,
        var: VarId,
        op: Assign,
        value: &'e Expr,
    ) -> Option<(&'static str, &'e Expr)> {
        let Expr::Binary { op: operation, left, right } = value else { return None };
        let (is_float, is_truth) = match self.body.var(var).ty {
            Type::Unsigned | Type::Signed => (false, false),
            Type::Value(ty @ (ValueType::F64 | ValueType::F32 | ValueType::Bool)) => {
                (ty != ValueType::Bool, ty == ValueType::Bool)
            }
            _ => return None,
        };
        let operator = match operation {
            BinaryOp::Add if is_truth => "|=",
            BinaryOp::Mul if is_truth => "&=",
            BinaryOp::Add => "+=",
            BinaryOp::Sub => "-=",
            BinaryOp::Mul => "*=",
            BinaryOp::Div if is_float => "/=",
            _ => return None,
        };
        (op == Assign::Set && **left == Expr::Var(var)).then_some((operator, right))
    }

    /// `target += value;` in the arithmetic of the value's type.
    fn update(&mut self, target: &Doc, element: Doc, op: Assign, value: &Expr) {
        let ty = self.body.type_of(value);
        let wraps = matches!(ty, Ok(Type::Value(ValueType::I64 | ValueType::I32 | ValueType::U8)));
        let value = self.expr(value);
        match op {
            Assign::Set => self.out.assign(target, "=", &value),
            Assign::Add if wraps => {
                self.out.assign(target, "=", &element.method("wrapping_add", vec![value]));
            }
            Assign::Add => {
                let operator = if ty == Ok(Type::Value(ValueType::Bool)) { "|=" } else { "+=" };
                self.out.assign(target, operator, &value);
            }
        }
    }
}

/// `a * b * c`, 1 for nothing.
pub(super) fn product(parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { "1".to_string() } else { parts.join(" * ") }
}
