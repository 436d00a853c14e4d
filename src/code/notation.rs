//! A body for people and for [`Body::parse`]: as the module's text, but with subscripts and shapes as
//! tuples, proved accesses like all others, and parallel loops without their plumbing. The table in
//! `read.rs` lists what differs from Rust.

use std::fmt;

use super::doc::Doc;
use super::ir::{
    Array, ArrayId, Body, Element, Expr, IndexWidth, Load, Origin, Parallel, PartLevel, Parts,
    Writes,
};
use super::lines::Lines;
use super::print::{Argument, Printer};

impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer::new(self);
        printer.notation = true;
        let arguments = self.all_arguments();
        let names: Vec<String> = arguments.iter().map(|a| printer.name_argument(*a)).collect();
        let mut parameters = Vec::new();
        for (argument, name) in arguments.iter().zip(names) {
            let ty = match argument {
                Argument::Size(_) | Argument::Threads(_) => "usize".to_string(),
                Argument::Array(a) => printer.array_type(self.arr(*a)),
            };
            parameters.push(format!("{name}: {ty}"));
        }
        printer.out = Lines::at(1);
        printer.block(&self.block);
        writeln!(f, "fn core({}) {{", parameters.join(", "))?;
        write!(f, "{}}}", printer.out.into_text())
    }
}

impl Body {
    /// Arguments of the signature, and what their shapes mention.
    fn all_arguments(&self) -> Vec<Argument> {
        let mut arrays: Vec<ArrayId> = Vec::new();
        for argument in self.arguments() {
            if let Argument::Array(a) = argument {
                arrays.push(a);
            }
        }
        let mut k = 0;
        while k < arrays.len() {
            for extent in &self.arr(arrays[k]).shape {
                extent.visit(&mut |e| {
                    if let Expr::Load(load) = e
                        && !arrays.contains(&load.array)
                    {
                        arrays.push(load.array);
                    }
                });
            }
            k += 1;
        }
        let (outputs, inputs): (Vec<_>, Vec<_>) =
            arrays.into_iter().partition(|a| self.arr(*a).origin.is_written());
        let sizes = self.sizes.iter().map(|v| Argument::Size(*v));
        let threads = self.threads.map(Argument::Threads);
        let outputs = outputs.into_iter().map(Argument::Array);
        outputs.chain(sizes).chain(inputs.into_iter().map(Argument::Array)).chain(threads).collect()
    }
}

impl Printer<'_> {
    /// `&[f64; (I, J)]`
    fn array_type(&mut self, array: &Array) -> String {
        let element = match array.element {
            Element::Index { signed: true, width: IndexWidth::U32 } => "signed32",
            Element::Index { signed: true, width: IndexWidth::U64 } => "signed64",
            other => other.rust_name(),
        };
        let mutable = if array.origin.is_written() { "mut " } else { "" };
        if array.origin == Origin::Grown {
            return match array.shape.as_slice() {
                [] => format!("&mut Grown<{element}>"),
                shape => format!("&mut Grown<[{element}; {}]>", self.tuple(shape)),
            };
        }
        match array.shape.as_slice() {
            [] => format!("&{mutable}[{element}]"),
            shape => format!("&{mutable}[{element}; {}]", self.tuple(shape)),
        }
    }

    /// `e`, or `(e, e)`.
    pub(super) fn tuple(&mut self, parts: &[Expr]) -> String {
        let texts: Vec<String> = parts.iter().map(|e| self.expr_text(e, 0)).collect();
        match texts.as_slice() {
            [one] => one.clone(),
            several => format!("({})", several.join(", ")),
        }
    }

    /// `A[(i, j)]`
    pub(super) fn notation_place(&mut self, load: &Load) -> Doc {
        let name = self.array_name(load.array);
        let subscripts = self.tuple(&load.subscripts);
        Doc::text(format!("{name}[{subscripts}]"))
    }

    pub(super) fn notation_parallel(&mut self, p: &Parallel) {
        let (lo, hi) = (self.expr_text(&p.lo, 3), self.expr_text(&p.hi, 3));
        let (how, written) = match &p.writes {
            Writes::Shared(output) => ("shared", self.array_name(*output)),
            Writes::Copies(output) => ("private", self.array_name(*output)),
            Writes::Parts(parts) => ("parts", self.notation_parts(parts)),
        };
        self.out.open("'threads:");
        let before = self.names();
        let mut rest = p.setup.clone();
        rest.extend(p.body.iter().cloned());
        for (k, stmt) in p.setup.iter().enumerate() {
            self.stmt(stmt, &rest[k + 1..]);
        }
        let mut bound = vec![self.name_variable(p.start), self.name_variable(p.end)];
        bound.extend(p.writes.variables().map(|var| self.name_variable(var)));
        let bound = bound.join(", ");
        self.out.open(&format!("for ({bound}) in {how}({written}, {lo}..{hi})"));
        self.nested(&p.body);
        self.forget_since(before);
        self.out.close("");
    }

    /// `[level(1, [crd0], [], []), level(2, [crd1, val], [pos1], [])]`
    fn notation_parts(&mut self, parts: &Parts) -> String {
        let list = |this: &Self, arrays: &[ArrayId]| {
            let names: Vec<String> = arrays.iter().map(|a| this.array_name(*a)).collect();
            format!("[{}]", names.join(", "))
        };
        let level = |level: &PartLevel| {
            let arrays = [&level.columns, &level.begins, &level.ends].map(|a| list(self, a));
            format!("level({}, {})", level.prefix, arrays.join(", "))
        };
        let levels: Vec<String> = parts.levels.iter().map(level).collect();
        format!("[{}]", levels.join(", "))
    }
}
