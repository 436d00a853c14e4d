//! Calls of cores: the result begins, then the loops run.
//!
//! ```text
//! C.val.fill(0.0);
//! if size_K == 8 {
//!     unsafe { core::<8>(&mut *C.val, size_I, 8, A.pos, A.crd, A.val, B.val) };
//! } else if …
//! } else {
//!     unsafe { core::<0>(&mut *C.val, size_I, size_K, A.pos, A.crd, A.val, B.val) };
//! }
//! ```

use super::core::Core;
use super::functions::Functions;
use crate::code::{Argument, Beginning, Body, Doc, Expr, Lines, USUAL_ROWS, VarId};
use crate::formula::Name;
use crate::operators::Value;

impl Functions<'_> {
    /// Lets the result begin, and calls a core.
    pub(super) fn call(&self, core: &Core, sizes: &[VarId], out: &mut Lines) {
        for (result, begin) in core.way.spec.begun() {
            self.beginning(&core.body, (&result.value_array, begin), sizes, out);
        }
        let Some(tiled) = core.body.tiled else { return self.call_core(core, None, out) };
        // Where the length of rows is known, nothing is asked within loops: what is usual has loops of its own.
        for (k, length) in USUAL_ROWS.into_iter().enumerate() {
            let condition = format!("if {} == {length}", self.local(tiled));
            match k {
                0 => out.open(&condition),
                _ => out.next(&format!("else {condition}")),
            }
            self.call_core(core, Some((tiled, length)), out);
        }
        out.next("else");
        self.call_core(core, None, out);
        out.close("");
    }

    /// Calls a core; of one size it is known how large it is.
    fn call_core(&self, core: &Core, known: Option<(VarId, i64)>, out: &mut Lines) {
        let argument = |a: &Argument| match a {
            Argument::Size(v) => match known {
                Some((size, value)) if size == *v => Doc::text(value.to_string()),
                _ => Doc::text(self.local(*v)),
            },
            Argument::Threads(_) => Doc::text("threads"),
            Argument::Array(a) => {
                let (written, field) = self.field(&core.body.arr(*a).name);
                match written {
                    true => Doc::prefix("&mut ", Doc::prefix("*", field)),
                    false => field,
                }
            }
        };
        let passed = core.body.arguments().iter().map(argument).collect();
        let mut function = self.path(&core.way.name);
        if core.body.tiled.is_some() {
            function.push_str(&format!("::<{}>", known.map_or(0, |(_, length)| length)));
        }
        out.in_unsafe(&Doc::call(function, passed), ";");
    }

    /// The values of a result begin with something, where that is not written over.
    fn beginning(
        &self,
        body: &Body,
        (values, begin): (&Name, Value),
        defined: &[VarId],
        out: &mut Lines,
    ) {
        let begin = Doc::text(body.print_expr(&Expr::Number(begin)));
        let fill = self.field(values).1.method("fill", vec![begin]);
        let array = body.arrays().find(|(_, a)| a.name == *values);
        match array.and_then(|(array, _)| body.beginnings.get(&array)) {
            Some(Beginning::Never) => {}
            None | Some(Beginning::Always) => out.statement(&fill),
            Some(Beginning::Where(condition)) => {
                let mut sizes = Vec::new();
                condition.visit(&mut |e| match e {
                    Expr::Var(v) if !defined.contains(v) && !sizes.contains(v) => sizes.push(*v),
                    _ => {}
                });
                self.definitions_of(&sizes, out);
                let field = |a| self.field(&body.arr(a).name).1.flat();
                let condition = body.print_with(condition, &|v| self.local(v), &field);
                out.open_if("if ", &condition);
                out.statement(&fill);
                out.close("");
            }
        }
    }
}
