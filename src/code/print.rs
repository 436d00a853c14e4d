//! The text of a body: Rust, as rustfmt would leave it. Nothing but this file and what it calls
//! (`doc`, `naming`, `print_expr`) knows how a node is spelled.
//!
//! A variable is called as it is known, unless something in sight has that name already.

use rustc_hash::FxHashMap;

use super::doc::{Doc, WIDTH};
use super::ir::{
    Array, ArrayId, Assign, Block, Body, Element, Expr, LabelId, Load, Origin, Parallel, Stmt,
    Type, VarId,
};
use super::naming::Naming;
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
            let wanted = self.arrays().filter(|(id, a)| {
                test(a) && (used.arrays.contains(id) || a.origin == Origin::Output)
            });
            wanted.map(|(id, _)| Argument::Array(id)).collect()
        };
        let is_value = |a: &Array| matches!(a.element, Element::Value(_));
        out.extend(arrays(&|a| a.origin == Origin::Output));
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
    ) -> String {
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
        printer.expr_text(e, 0)
    }

    /// `crd_A[pA1]`, for messages.
    pub fn print_place(&self, load: &Load) -> String {
        let mut printer = Printer::new(self);
        let index: Vec<String> = match load.access {
            _ if load.subscripts.len() > 1 => {
                load.subscripts.iter().map(|s| printer.expr_text(s, 0)).collect()
            }
            _ => vec![printer.index(load).render(0, 0, 0)],
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
        printer.depth = depth;
        printer.block(&self.block);
        Printed { parameters, text: printer.out }
    }
}

impl std::fmt::Display for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let printed = self.print(1);
        writeln!(f, "fn core({}) {{", printed.parameters.join(", "))?;
        write!(f, "{}}}", printed.text)
    }
}

pub(super) struct Printer<'a> {
    pub(super) body: &'a Body,
    naming: Naming,
    variables: FxHashMap<VarId, String>,
    arrays: FxHashMap<ArrayId, String>,
    labels: FxHashMap<LabelId, String>,
    pub(super) depth: usize,
    out: String,
    /// The output is written through a handle that threads share.
    pub(super) shared: Option<ArrayId>,
}

impl<'a> Printer<'a> {
    fn new(body: &'a Body) -> Self {
        Printer {
            body,
            naming: Naming::new(),
            variables: FxHashMap::default(),
            arrays: FxHashMap::default(),
            labels: FxHashMap::default(),
            depth: 0,
            out: String::new(),
            shared: None,
        }
    }

    /// `name: type` of an argument, which gets its name here.
    fn parameter(&mut self, argument: Argument) -> String {
        let name = match argument {
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
        };
        format!("{name}: {}", self.parameter_type(argument))
    }

    fn parameter_type(&self, argument: Argument) -> String {
        match argument {
            Argument::Size(_) | Argument::Threads(_) => "usize".to_string(),
            Argument::Array(a) => {
                let array = self.body.arr(a);
                let mutable = if array.origin == Origin::Output { "mut " } else { "" };
                format!("&{mutable}[{}]", array.element.rust_name())
            }
        }
    }

    fn name_variable(&mut self, v: VarId) -> String {
        let name = self.naming.fresh(self.body.hint(v));
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

    /// `wish` for a variable that lives within one expression; give it back with `forget`.
    pub(super) fn local(&mut self, v: VarId) -> String {
        self.name_variable(v)
    }

    pub(super) fn forget(&mut self, v: VarId) {
        if let Some(name) = self.variables.remove(&v) {
            self.naming.release(&name);
        }
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(&" ".repeat(self.depth * 4));
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn indent(&self) -> usize {
        self.depth * 4
    }

    /// The statements of a block, with its names in sight only there.
    fn block(&mut self, block: &Block) {
        let before = (self.variables.clone(), self.arrays.clone());
        for (k, stmt) in block.iter().enumerate() {
            self.stmt(stmt, &block[k + 1..]);
        }
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

    fn nested(&mut self, block: &Block) {
        self.depth += 1;
        self.block(block);
        self.depth -= 1;
    }

    /// `header {`, the header broken where it is too long: then the brace has a line of its own.
    fn open(&mut self, before: &str, doc: &Doc) {
        let (indent, used) = (self.indent(), before.chars().count());
        let text = doc.render(indent, used, 2);
        let broken = matches!(doc, Doc::Chain { .. }) && doc.is_broken(indent, used, 2);
        if broken {
            self.line(&format!("{before}{text}"));
            self.line("{");
        } else {
            self.line(&format!("{before}{text} {{"));
        }
    }

    /// `before = value;`, on the next line if only that fits.
    fn assignment(&mut self, before: &str, value: &Doc) {
        let indent = self.indent();
        let used = before.chars().count() + 1;
        if value.is_broken(indent, used, 1) {
            if let Some(text) = value.fits(indent + 4, 0, 1) {
                self.line(before);
                self.line(&format!("    {text};"));
                return;
            }
            if matches!(value, Doc::Chain { .. }) {
                self.line(before);
                self.depth += 1;
                let text = value.render(self.indent(), 0, 1);
                self.line(&format!("{text};"));
                self.depth -= 1;
                return;
            }
        }
        let text = value.render(indent, used, 1);
        self.line(&format!("{before} {text};"));
    }

    fn stmt(&mut self, stmt: &Stmt, rest: &[Stmt]) {
        match stmt {
            Stmt::Comment(text) => self.line(&format!("// {text}")),
            Stmt::Let { var, mutable, value } => {
                let value_doc = self.expr(value);
                let used = mentions(self.body, rest, *var);
                let name = self.name_variable(*var);
                let word = if *mutable { "let mut" } else { "let" };
                let ty = match (self.body.var(*var).ty, value) {
                    (Type::Value(t), Expr::Number { .. }) => format!(": {}", t.rust_name()),
                    (Type::Signed, Expr::Int { .. }) => ": isize".to_string(),
                    (Type::Unsigned, Expr::Int { .. }) if *mutable || is_receiver(rest, *var) => {
                        ": usize".to_string()
                    }
                    _ => String::new(),
                };
                let underscore = if used || name.starts_with('_') { "" } else { "_" };
                self.assignment(&format!("{word} {underscore}{name}{ty} ="), &value_doc);
            }
            Stmt::Assign { var, op, value } => {
                let name = self.variable(*var);
                self.update(&name, &name, *op, value);
            }
            Stmt::Store { place, op, value } => {
                let (target, element) = self.target(place);
                self.update(&target, &element, *op, value);
            }
            Stmt::Allocate { array, fill } => {
                let declared = self.body.arr(*array);
                let len = product(declared.shape.iter().map(|e| self.expr_text(e, 11)));
                let name = self.naming.fresh(&declared.name);
                self.arrays.insert(*array, name.clone());
                let fill = self.expr_text(fill, 0);
                self.line(&format!("let mut {name} = vec![{fill}; {len}];"));
            }
            Stmt::If { condition, then, otherwise } => {
                let condition = self.expr(condition);
                self.open("if ", &condition);
                self.nested(then);
                if !otherwise.is_empty() {
                    self.line("} else {");
                    self.nested(otherwise);
                }
                self.line("}");
            }
            Stmt::While { condition, body, .. } => {
                let condition = self.expr(condition);
                self.open("while ", &condition);
                self.nested(body);
                self.line("}");
            }
            Stmt::For { var, lo, hi, body } => {
                let (lo, hi) = (self.expr_text(lo, 3), self.expr_text(hi, 3));
                let name = self.loop_variable(*var, body);
                self.line(&format!("for {name} in {lo}..{hi} {{"));
                self.nested(body);
                self.line("}");
                self.forget(*var);
            }
            Stmt::Labelled { label, body } => {
                let name = self.naming.fresh(self.body.label_name(*label));
                self.labels.insert(*label, name.clone());
                self.line(&format!("'{name}: {{"));
                self.nested(body);
                self.line("}");
                self.naming.release(&name);
            }
            Stmt::Break(None) => self.line("break;"),
            Stmt::Break(Some(label)) => {
                let name = self.labels.get(label).cloned().unwrap_or_default();
                self.line(&format!("break '{name};"));
            }
            Stmt::Scope(body) => {
                self.line("{");
                self.nested(body);
                self.line("}");
            }
            Stmt::Insert { table, key, position } => {
                let (key, position) = (self.expr(key), self.expr(position));
                let call =
                    Doc::call(format!("{}.insert", self.variable(*table)), vec![key, position]);
                let text = call.render(self.indent(), 0, 1);
                self.line(&format!("{text};"));
            }
            Stmt::Matches { table, key, var, all, body } => {
                let key = self.expr(key);
                let table = self.variable(*table);
                let name = self.loop_variable(*var, body);
                if *all {
                    let matches = Doc::call(format!("{table}.matches"), vec![key]);
                    self.open(&format!("for {name} in "), &matches);
                } else {
                    let first = Doc::call(format!("{table}.first"), vec![key]);
                    self.open(&format!("if let Some({name}) = "), &first);
                }
                self.nested(body);
                self.line("}");
                self.forget(*var);
            }
            Stmt::Parallel(p) => self.parallel(p),
            // What a proof established is for the prover, not for the reader.
            Stmt::Given { body, .. } => {
                for (k, stmt) in body.iter().enumerate() {
                    self.stmt(stmt, &body[k + 1..]);
                }
            }
            Stmt::Hole(hole) => {
                let argument = hole.argument().map(|e| self.expr_text(e, 0)).unwrap_or_default();
                self.line(&format!("{}!({argument});", hole.name()));
            }
        }
    }

    /// The name of a loop's variable, marked if the body has no use for it.
    fn loop_variable(&mut self, var: VarId, body: &Block) -> String {
        let used = mentions(self.body, body, var);
        let name = self.name_variable(var);
        if used || name.starts_with('_') { name } else { format!("_{name}") }
    }

    /// `target += value;` in the arithmetic of the value's type.
    fn update(&mut self, target: &str, element: &str, op: Assign, value: &Expr) {
        let ty = self.body.type_of(value);
        let wraps = matches!(ty, Ok(Type::Value(ValueType::I64 | ValueType::I32)));
        match op {
            Assign::Set => {
                let value = self.expr(value);
                self.assignment(&format!("{target} ="), &value);
            }
            Assign::Add if wraps => {
                let value = self.expr(value);
                let sum = Doc::call(format!("{element}.wrapping_add"), vec![value]);
                self.assignment(&format!("{target} ="), &sum);
            }
            Assign::Add => {
                let operator = if ty == Ok(Type::Value(ValueType::Bool)) { "|=" } else { "+=" };
                let value = self.expr(value);
                self.assignment(&format!("{target} {operator}"), &value);
            }
        }
    }

    fn parallel(&mut self, p: &Parallel) {
        let output = self.array_name(p.output);
        let (lo, hi) = (self.expr(&p.lo), self.expr(&p.hi));
        let header = Doc::call("Chunks::new", vec![Doc::text("threads"), lo, hi]);
        self.assignment("let chunks =", &header);
        // Only what is an argument is known not to change while the output is written.
        let mut used = Used::of(self.body, &p.setup);
        let inside = Used::of(self.body, &p.body);
        used.variables.extend(inside.variables);
        used.arrays.extend(inside.arrays);
        let needed: Vec<Argument> = self
            .body
            .arguments()
            .into_iter()
            .filter(|a| match a {
                Argument::Size(v) => used.variables.contains(v),
                Argument::Array(a) => *a != p.output && used.arrays.contains(a),
                Argument::Threads(_) => false,
            })
            .collect();
        let name = |printer: &Self, a: &Argument| match a {
            Argument::Size(v) | Argument::Threads(v) => printer.variable(*v),
            Argument::Array(a) => printer.array_name(*a),
        };
        let mut parameters: Vec<String> = needed
            .iter()
            .map(|a| format!("{}: {}", name(self, a), self.parameter_type(*a)))
            .collect();
        let mut passed: Vec<String> = needed.iter().map(|a| name(self, a)).collect();
        let element = self.body.arr(p.output).element.rust_name();
        if p.private {
            parameters.insert(0, format!("{output}: &mut [{element}]"));
            passed.insert(0, "own".to_string());
        } else {
            self.line(&format!("let {output} = Shared::new({output});"));
        }
        let header = format!("let work = |{}| {{", parameters.join(", "));
        if self.indent() + header.chars().count() <= WIDTH {
            self.line(&header);
        } else {
            self.line("let work = |");
            self.depth += 1;
            for (k, parameter) in parameters.iter().enumerate() {
                let comma = if k + 1 < parameters.len() { "," } else { "| {" };
                self.line(&format!("{parameter}{comma}"));
            }
            self.depth -= 1;
        }
        self.depth += 1;
        let shared = self.shared;
        if !p.private {
            self.line("// A copy of its own, which writing through it cannot change.");
            self.line(&format!("let {output} = {output};"));
            self.shared = Some(p.output);
        }
        let before = (self.variables.clone(), self.arrays.clone());
        for (k, stmt) in p.setup.iter().enumerate() {
            let mut rest: Vec<Stmt> = p.setup[k + 1..].to_vec();
            rest.extend(p.body.iter().cloned());
            self.stmt(stmt, &rest);
        }
        let (start, end) = (self.name_variable(p.start), self.name_variable(p.end));
        self.line(&format!("while let Some(({start}, {end})) = chunks.next() {{"));
        self.nested(&p.body);
        self.line("}");
        for (v, name) in std::mem::replace(&mut self.variables, before.0) {
            if !self.variables.contains_key(&v) {
                self.naming.release(&name);
            }
        }
        self.arrays = before.1;
        self.shared = shared;
        self.depth -= 1;
        self.line("};");
        let passed: Vec<Doc> = passed.into_iter().map(Doc::text).collect();
        let call = Doc::call("work", passed);
        let text = if p.private {
            let closure = Doc::Closure {
                parameters: format!("own: &mut [{element}]"),
                statements: Vec::new(),
                result: Box::new(call),
            };
            Doc::call("on_threads_summing", vec![Doc::text("threads"), Doc::text(output), closure])
        } else {
            let closure = Doc::Closure {
                parameters: String::new(),
                statements: Vec::new(),
                result: Box::new(call),
            };
            Doc::call("on_threads", vec![Doc::text("threads"), closure])
        };
        let text = text.render(self.indent(), 0, 1);
        self.line(&format!("{text};"));
    }
}

/// `a * b * c`, 1 for nothing.
pub(super) fn product(parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { "1".to_string() } else { parts.join(" * ") }
}
