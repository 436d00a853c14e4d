//! The text of loops on several threads.

use super::doc::Doc;
use super::ir::{ArrayId, Body, Parallel, Parts, Stmt, Writes};
use super::line_breaks::{Shape, closure_parameters, last_width};
use super::lines::Lines;
use super::print::{Argument, Printer};
use super::used::Used;
use super::visit::{Part, visit};

impl Body {
    /// The struct of what a chunk adds to the result, if chunks assemble parts.
    pub fn part_struct(&self) -> Option<String> {
        let mut found = None;
        visit(&self.block, &mut |part| {
            if let Part::Stmt(Stmt::Parallel(p)) = part
                && let Writes::Parts(parts) = &p.writes
            {
                found = Some(parts);
            }
        });
        let parts: &Parts = found?;
        let mut printer = Printer::new(self);
        for argument in self.arguments() {
            printer.name_argument(argument);
        }
        let mut out = "#[derive(Default)]\n#[allow(non_snake_case)]\nstruct Part {\n".to_string();
        for array in parts.arrays() {
            let ty = match parts.has_ends(array) {
                true => "Ends".to_string(),
                false => format!("Vec<{}>", self.arr(array).element.rust_name()),
            };
            out.push_str(&format!("    {}: {ty},\n", printer.array_name(array)));
        }
        for (name, keys) in [("first", &parts.first), ("last", &parts.last)] {
            if !keys.is_empty() {
                out.push_str(&format!("    {name}: [usize; {}],\n", keys.len()));
            }
        }
        Some(out + "}\n")
    }
}

impl Printer<'_> {
    pub(super) fn parallel(&mut self, p: &Parallel) {
        let (lo, hi) = (self.expr(&p.lo), self.expr(&p.hi));
        let header = Doc::call("Chunks::new", vec![Doc::text("threads"), lo, hi]);
        self.out.assignment("let chunks =", &header);
        // Only what is an argument is known not to change while the output is written.
        let needed = self.needed(p);
        let name = |printer: &Self, a: &Argument| match a {
            Argument::Size(v) | Argument::Threads(v) => printer.variable(*v),
            Argument::Array(a) => printer.array_name(*a),
        };
        let mut parameters: Vec<String> = needed
            .iter()
            .map(|a| format!("{}: {}", name(self, a), self.parameter_type(*a)))
            .collect();
        // Threads are told anew what their loops are made for.
        let argument = |a: &Argument| match a {
            Argument::Size(v) if self.body.tiled == Some(*v) => {
                format!("usual::<ROWS>({})", self.variable(*v))
            }
            a => name(self, a),
        };
        let mut passed: Vec<String> = needed.iter().map(argument).collect();
        let output = p.writes.output().map(|a| (self.array_name(a), self.element_name(a)));
        match (&p.writes, &output) {
            (Writes::Copies(_), Some((output, element))) => {
                parameters.insert(0, format!("{output}: &mut [{element}]"));
                passed.insert(0, "own".to_string());
            }
            (Writes::Shared(_), Some((output, element))) => {
                parameters.insert(0, format!("{output}: Shared<{element}>"));
                passed.insert(0, output.clone());
                let shared = Doc::call("Shared::new", vec![Doc::text(output.clone())]);
                self.out.assignment(&format!("let {output} ="), &shared);
            }
            _ => {}
        }
        let line = Shape::line(self.out.indent(), 1);
        let before = "let work =";
        let shape = line.after(before.len() + 1).unwrap_or(line);
        let here = closure_parameters(&parameters, shape);
        let deeper = Shape::line(self.out.indent() + 4, 1);
        let below = closure_parameters(&parameters, deeper);
        // The body begins behind the last parameter, for rustfmt, which counts its column twice.
        let fits =
            |text: &str, shape: Shape| !text.contains('\n') || last_width(text) < shape.width;
        let is_below = match fits(&here, shape) {
            // Below, the body is deeper, and more of its lines may be broken.
            true => {
                let saved = here.matches('\n').count();
                let body = |depth| {
                    let mut trial = self.clone();
                    trial.out = Lines::at(depth);
                    trial.chunks(p);
                    trial.out.into_text().lines().count()
                };
                let depth = self.out.indent() / 4;
                saved > 1 && !below.contains('\n') && saved + body(depth + 1) > body(depth + 2) + 1
            }
            false => fits(&below, deeper),
        };
        if is_below {
            self.out.line(before);
            self.out.deeper();
            self.out.open(&below);
        } else {
            self.out.open(&format!("{before} {here}"));
        }
        self.chunks(p);
        self.out.close(";");
        if is_below {
            self.out.shallower();
        }
        let call = Doc::call("work", passed.into_iter().map(Doc::text).collect());
        let closure = |parameters: String| Doc::Closure {
            parameters,
            lets: Vec::new(),
            result: Box::new(call),
        };
        let threads = Doc::text("threads");
        match (&p.writes, output) {
            (Writes::Copies(_), Some((output, element))) => {
                let closure = closure(format!("own: &mut [{element}]"));
                let args = vec![threads, Doc::text(output), closure];
                self.out.statement(&Doc::call("on_threads_summing", args));
            }
            (Writes::Parts(parts), _) => {
                let args = vec![threads, closure(String::new())];
                let call = Doc::call("on_threads_in_order", args);
                self.out.assignment("let mut parts =", &call);
                self.joined(parts);
            }
            _ => {
                let args = vec![threads, closure(String::new())];
                self.out.statement(&Doc::call("on_threads", args));
            }
        }
    }

    /// The arguments that a thread reads.
    fn needed(&self, p: &Parallel) -> Vec<Argument> {
        let mut used = Used::of(self.body, &p.setup);
        let inside = Used::of(self.body, &p.body);
        used.variables.extend(inside.variables);
        used.arrays.extend(inside.arrays);
        let written = p.writes.arrays();
        let reads = |a: &Argument| match a {
            Argument::Size(v) => used.variables.contains(v),
            Argument::Array(a) => !written.contains(a) && used.arrays.contains(a),
            Argument::Threads(_) => false,
        };
        self.body.arguments().into_iter().filter(reads).collect()
    }

    fn element_name(&self, array: ArrayId) -> &'static str {
        self.body.arr(array).element.rust_name()
    }

    /// What a thread does: it sets up what it has of its own, and then takes chunks.
    fn chunks(&mut self, p: &Parallel) {
        let (shared, ends) = (self.shared, std::mem::take(&mut self.ends));
        let before = self.names();
        for (k, stmt) in p.setup.iter().enumerate() {
            let mut rest: Vec<Stmt> = p.setup[k + 1..].to_vec();
            rest.extend(p.body.iter().cloned());
            self.stmt(stmt, &rest);
        }
        if let Writes::Parts(_) = p.writes {
            self.out.line("let mut parts = Vec::new();");
        }
        let (start, end) = (self.name_variable(p.start), self.name_variable(p.end));
        self.out.open(&format!("while let Some(({start}, {end})) = chunks.next()"));
        match &p.writes {
            Writes::Shared(output) => {
                self.shared = Some(*output);
                self.nested(&p.body);
            }
            Writes::Copies(_) => self.nested(&p.body),
            Writes::Parts(parts) => {
                self.part(parts, &p.body, &start);
                self.out.close("");
                self.out.line("parts");
            }
        }
        self.forget_since(before);
        (self.shared, self.ends) = (shared, ends);
    }

    /// A chunk that makes a part.
    fn part(&mut self, parts: &Parts, body: &[Stmt], start: &str) {
        self.out.line("let mut part = Part::default();");
        for array in parts.arrays() {
            let field = format!("part.{}", self.array_name(array));
            self.arrays.insert(array, field);
            if parts.has_ends(array) {
                self.ends.push(array);
            }
        }
        for var in parts.first.iter().chain(&parts.last) {
            let name = self.name_variable(*var);
            self.out.line(&format!("let mut {name} = usize::MAX;"));
        }
        self.block(&body.to_vec());
        for (field, keys) in [("first", &parts.first), ("last", &parts.last)] {
            if !keys.is_empty() {
                let keys = keys.iter().map(|var| Doc::text(self.variable(*var))).collect();
                self.out.assignment(&format!("part.{field} ="), &Doc::Array(keys));
            }
        }
        self.out.line(&format!("parts.push(({start}, part));"));
    }

    /// Parts become one: what says where positions begin and end is moved behind earlier parts.
    fn joined(&mut self, parts: &Parts) {
        let inner = parts.levels.len() - 1;
        let counted = parts.levels.iter().any(|l| !l.begins.is_empty() || !l.ends.is_empty());
        let told_apart = parts.first.len();
        if told_apart > 0 {
            self.out.line(&format!("let mut previous = [usize::MAX; {told_apart}];"));
        }
        if counted {
            self.out.line(&format!("let mut before = [0; {}];", parts.levels.len()));
        }
        if counted || inner > 0 {
            let last = self.first_column(parts, inner);
            self.out.open(&match inner {
                0 => "for part in &parts".to_string(),
                _ => {
                    format!("for part in parts.iter_mut().filter(|part| !part.{last}.is_empty())")
                }
            });
            if inner > 0 {
                self.out.line("// A position that goes on from the part before is there already.");
                let same = |n: usize| format!("part.first[..{n}] == previous[..{n}]");
                let outer = parts.levels[..inner].iter();
                let same = outer.map(|level| Doc::text(same(level.prefix))).collect();
                let number = vec![Doc::text("usize::from")];
                self.out.assignment("let goes_on =", &Doc::Array(same).method("map", number));
            }
            for (k, level) in parts.levels[..inner].iter().enumerate() {
                for array in level.columns.iter().chain(&parts.levels[k + 1].begins) {
                    let name = self.array_name(*array);
                    self.out.line(&format!("part.{name}.drain(..goes_on[{k}]);"));
                }
            }
            (0..=inner).for_each(|k| self.moved(parts, k));
            for k in (0..=inner).filter(|_| counted) {
                let column = self.first_column(parts, k);
                self.out.line(&format!("before[{k}] += part.{column}.len();"));
            }
            if told_apart > 0 {
                self.out.line("previous = part.last;");
            }
            self.out.close("");
        }
        for level in &parts.levels {
            for array in level.columns.iter().chain(&level.begins) {
                let name = self.array_name(*array);
                let part = Doc::Closure {
                    parameters: "part".to_string(),
                    lets: Vec::new(),
                    result: Box::new(Doc::text(format!("&mut part.{name}"))),
                };
                let parts = Doc::text("parts").method("iter_mut", Vec::new());
                let parts = parts.method("map", vec![part]);
                let args = vec![Doc::text(name), Doc::text("threads"), parts];
                self.out.statement(&Doc::call("join", args));
            }
        }
    }

    /// Where positions of level `k` begin and end, behind those of earlier parts.
    fn moved(&mut self, parts: &Parts, k: usize) {
        let before = match k + 1 < parts.levels.len() {
            true => format!("before[{k}] - goes_on[{k}]"),
            false => format!("before[{k}]"),
        };
        for array in &parts.levels[k].begins {
            let (name, ty) = (self.array_name(*array), self.element_name(*array));
            self.out.open(&format!("for begin in &mut part.{name}"));
            self.out.line(&match before.contains(' ') {
                true => format!("*begin += ({before}) as {ty};"),
                false => format!("*begin += {before} as {ty};"),
            });
            self.out.close("");
        }
        for array in &parts.levels[k].ends {
            let (name, ty) = (self.array_name(*array), self.element_name(*array));
            self.out.open(&format!("for &(place, end) in &part.{name}.0"));
            self.out.line(&format!("{name}[place] = ({before} + end) as {ty};"));
            self.out.close("");
        }
    }

    fn first_column(&self, parts: &Parts, k: usize) -> String {
        parts.levels[k].columns.first().map_or_else(String::new, |a| self.array_name(*a))
    }
}
