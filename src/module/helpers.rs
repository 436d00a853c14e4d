//! The helper functions of a module: those that its code calls.

use std::collections::BTreeMap;

use super::core::Core;
use super::reductions::{add, extreme, sum, zero};
use super::{grown, parts, probing, validate};
use crate::code::{
    Access, Assign, BinaryOp, Block, Body, Chains, Element, Expr, Load, Part, Stmt, Workspace,
    Writes, template, visit,
};
use crate::diagnostic::Result;
use crate::operators::rust;
use crate::synth::workspace_named;
use crate::tensor::ValueType;

/// What the code calls.
#[derive(Default)]
struct Calls {
    at: bool,
    at_mut: bool,
    inside: bool,
    inside_or_end: bool,
    sums: Vec<(BinaryOp, Chains)>,
    home: bool,
    shared: bool,
    private: bool,
    parts: bool,
    prefetch: bool,
}

impl Calls {
    /// What a block calls; `together` if threads that share the output run it.
    fn block(&mut self, body: &Body, block: &Block, together: bool) {
        visit(block, &mut |part| match part {
            Part::Stmt(Stmt::Store { place, op, .. }) => {
                self.place(body, place, true, together);
                let wraps = |t| matches!(t, ValueType::I64 | ValueType::I32 | ValueType::U8);
                let element = body.arr(place.array).element;
                if *op == Assign::Add && matches!(element, Element::Value(t) if wraps(t)) {
                    self.place(body, place, false, together);
                }
            }
            Part::Stmt(Stmt::Prefetch { .. }) => self.prefetch = true,
            Part::Expr(Expr::Load(load)) => self.place(body, load, false, together),
            Part::Expr(Expr::Sum(sum)) if !self.sums.contains(&(sum.op, sum.chains)) => {
                self.sums.push((sum.op, sum.chains));
            }
            Part::Expr(Expr::HomeSlot { .. }) => self.home = true,
            _ => {}
        });
    }

    fn place(&mut self, body: &Body, load: &Load, stored: bool, together: bool) {
        let shared = together && body.arr(load.array).origin.is_written();
        match load.access {
            Access::Proved(_) if stored => self.at_mut |= !shared,
            Access::Proved(_) => self.at |= !shared,
            Access::Checked if load.subscripts.len() <= 1 => {}
            Access::Checked if body.goes_on(load.array) => self.inside_or_end = true,
            Access::Checked => self.inside = true,
        }
    }
}

/// Moves what threads run that share the output, or that only note where parts of it end, from `block` to `together`.
fn set_apart(block: &mut Block, together: &mut Block) {
    for stmt in block {
        match stmt {
            Stmt::Parallel(p) if !matches!(p.writes, Writes::Copies(_)) => {
                together.append(&mut p.setup);
                together.append(&mut p.body);
            }
            stmt => stmt.parts_mut(&mut |_| {}, &mut |inner| set_apart(inner, together)),
        }
    }
}

/// The items that the code and the validation call, each with an empty line before it.
pub(super) fn items(cores: &[Core], validation: validate::Used) -> Result<String> {
    let spec = &cores[0].way.spec;
    let bodies = || cores.iter().map(|core| &core.body);
    let mut calls = Calls::default();
    for body in bodies() {
        visit(&body.block, &mut |part| {
            if let Part::Stmt(Stmt::Parallel(p)) = part {
                match p.writes {
                    Writes::Shared(_) => calls.shared = true,
                    Writes::Copies(_) => calls.private = true,
                    Writes::Parts(_) => calls.parts = true,
                }
            }
        });
        // Where threads share the output, they write it in another way than elsewhere.
        let (mut outside, mut together) = (body.block.clone(), Vec::new());
        set_apart(&mut outside, &mut together);
        calls.block(body, &outside, false);
        calls.block(body, &together, true);
    }
    let mut out = String::new();
    if calls.at {
        out.push_str(AT);
    }
    if calls.at_mut {
        out.push_str(AT_MUT);
    }
    if calls.prefetch {
        out.push_str(PREFETCH);
    }
    if calls.inside {
        out.push_str(INSIDE);
    }
    if calls.inside_or_end {
        out.push_str(INSIDE_OR_END);
    }
    for (op, chains) in calls.sums.clone() {
        for called in chains.calls().iter().map(|called| (op, *called)) {
            if !calls.sums.contains(&called) {
                calls.sums.push(called);
            }
        }
    }
    for (op, chains) in calls.sums {
        let ty = spec.output().value_type;
        out.push_str(&match op {
            BinaryOp::Add => sum(ty, chains),
            op => extreme(ty, op),
        });
    }
    if spec.assembled.is_some() {
        out.push_str(grown::ITEMS);
    }
    // One of each.
    let mut items: Vec<String> = Vec::new();
    let mut once = |item: String| {
        if !items.contains(&item) {
            items.push(item);
        }
    };
    for workspace in bodies().filter_map(used_workspace) {
        once(workspace_items(&workspace.template)?);
    }
    if calls.shared || calls.private || calls.parts {
        once(CHUNKS.to_string());
        once(STARTED.to_string());
        if bodies().any(|body| body.tiled.is_some()) {
            once(USUAL.to_string());
        }
    }
    if calls.shared {
        once(SHARED.to_string());
    }
    if calls.private {
        once(summing(spec.output().value_type));
    }
    for part in bodies().filter_map(Body::part_struct) {
        once(parts::items(&part));
    }
    if validation.element {
        once(ELEMENT.to_string());
    }
    once(operator_items(bodies()));
    for Core { way, body, .. } in cores {
        for plan in way.spec.statements.iter().flat_map(|s| &s.chosen) {
            if plan.template.table.as_ref().is_some_and(|table| !body.has_table(table)) {
                continue;
            }
            let own = template::items(&plan.template, spec.index_width.unsigned())?;
            if !own.trim().is_empty() {
                once(format!("\n{}\n", own.trim()));
            }
        }
    }
    out.push_str(&items.concat());
    if calls.home || validation.misplaced {
        out.push_str(&probing::items(validation.misplaced));
    }
    Ok(out)
}

fn used_workspace(body: &Body) -> Option<&Workspace> {
    let mut found = None;
    visit(&body.block, &mut |part| {
        if let Part::Expr(Expr::NewWorkspace { workspace, .. }) = part {
            found = Some(*workspace);
        }
    });
    found.map(|id| body.space_of(id))
}

/// The type that implements a workspace.
fn workspace_items(name: &str) -> Result<String> {
    let code = workspace_named(name)?.map(template::workspace_items).transpose()?;
    let code = code.unwrap_or_default();
    Ok(format!("\n{}\n", code.trim()))
}

/// The operators that the code calls, one function for each type.
fn operator_items<'a>(bodies: impl Iterator<Item = &'a Body>) -> String {
    let mut used: BTreeMap<String, String> = BTreeMap::new();
    let mut enter = |part: Part<'_>| {
        if let Part::Expr(Expr::Operator { op, generic, args }) = part
            && let (Some(tree), Ok(signature)) = (op.rust(*generic), op.signature_of(*generic))
        {
            debug_assert_eq!(args.len(), op.arity());
            let names: Vec<&str> = op.arguments().iter().map(|a| a.name.as_str()).collect();
            let typed = names.iter().zip(&signature.arguments).map(|(n, t)| format!("{n}: {t}"));
            let parameters = typed.collect::<Vec<_>>().join(", ");
            let name = format!("{}_{generic}", op.name());
            let text = format!(
                "    /// {}.\n    #[inline(always)]\n    pub fn {name}({parameters}) -> {} {{\n{}    }}\n",
                op.summary().trim_end_matches('.').replace('\n', " "),
                signature.result,
                broken(&rust(tree, &names), 2)
            );
            used.insert(name, text);
        }
    };
    bodies.for_each(|body| visit(&body.block, &mut enter));
    if used.is_empty() {
        return String::new();
    }
    let functions = used.into_values().collect::<Vec<_>>().join("\n");
    format!(
        "\n#[rustfmt::skip]\n#[allow(clippy::all, unused_parens, unused_variables)]\nmod operators {{\n{functions}}}\n"
    )
}

/// The lines of an expression with blocks, that many levels in: one for each statement and brace.
fn broken(text: &str, depth: usize) -> String {
    let (mut out, mut line, mut depth) = (String::new(), String::new(), depth);
    let mut end = |line: &mut String, depth: usize| {
        if !line.is_empty() {
            out.push_str(&format!("{}{line}\n", "    ".repeat(depth)));
            line.clear();
        }
    };
    for word in text.split(' ') {
        if word.starts_with('}') {
            end(&mut line, depth);
            depth = depth.saturating_sub(1);
        }
        // What stands behind a brace goes on in its line only if it is `else`.
        if line == "}" && word != "else" {
            end(&mut line, depth);
        }
        line.push_str(if line.is_empty() { "" } else { " " });
        line.push_str(word);
        if word.ends_with(';') || word.ends_with('{') {
            end(&mut line, depth);
        }
        depth += usize::from(word.ends_with('{'));
    }
    end(&mut line, depth);
    out
}

fn summing(t: ValueType) -> String {
    SUMMING
        .replace("TYPE", t.rust_name())
        .replace("ZERO", zero(t))
        .replace("ADD", &add(t, "*total", "part"))
}

const AT: &str = "
/// `array[k]` where `k` is proved to be in bounds.
#[inline(always)]
unsafe fn at<T: Copy>(array: &[T], k: usize) -> T {
    debug_assert!(k < array.len());
    unsafe { *array.get_unchecked(k) }
}
";

const AT_MUT: &str = "
/// `&mut array[k]` where `k` is proved to be in bounds.
#[inline(always)]
unsafe fn at_mut<T>(array: &mut [T], k: usize) -> &mut T {
    debug_assert!(k < array.len());
    unsafe { array.get_unchecked_mut(k) }
}
";

const PREFETCH: &str = "
/// Asks for two cache lines from `array[k]` on. They need not exist.
#[inline(always)]
fn prefetch<T>(array: &[T], k: usize) {
    #[cfg(target_arch = \"x86_64\")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let place = array.as_ptr().wrapping_add(k).cast::<i8>();
        // SAFETY: nothing is read, wherever this points to.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(place);
            _mm_prefetch::<_MM_HINT_T0>(place.wrapping_add(64));
        }
    }
    #[cfg(not(target_arch = \"x86_64\"))]
    let _ = (array, k);
}
";

const INSIDE: &str = "
/// The row-major place of subscripts, each of which is tested against its extent.
#[inline(always)]
fn inside<const N: usize>(subscripts: [usize; N], extents: [usize; N]) -> usize {
    let mut place = 0;
    for (subscript, extent) in subscripts.into_iter().zip(extents) {
        assert!(subscript < extent, \"index out of bounds\");
        place = place * extent + subscript;
    }
    place
}
";

const INSIDE_OR_END: &str = "
/// The row-major place of subscripts, each of which is tested against its extent. The last may be its
/// extent: the end of a row is the start of the next.
#[inline(always)]
fn inside_or_end<const N: usize>(subscripts: [usize; N], extents: [usize; N]) -> usize {
    let mut place = 0;
    for (k, (subscript, extent)) in subscripts.into_iter().zip(extents).enumerate() {
        let end = k + 1 == N && subscript == extent;
        assert!(subscript < extent || end, \"index out of bounds\");
        place = place * extent + subscript;
    }
    place
}
";

const CHUNKS: &str = "
/// Chunks of a range, handed out to threads in increasing order.
struct Chunks {
    next: std::sync::atomic::AtomicUsize,
    hi: usize,
    /// Small enough to balance uneven iterations, large enough to hide the hand-out.
    step: usize,
}

impl Chunks {
    fn new(threads: usize, lo: usize, hi: usize) -> Self {
        let step = (hi.saturating_sub(lo) / threads.max(1).saturating_mul(16)).max(1);
        Chunks {
            next: std::sync::atomic::AtomicUsize::new(lo),
            hi,
            step,
        }
    }

    /// The ends of a chunk that nobody else has.
    fn next(&self) -> Option<(usize, usize)> {
        let start = self
            .next
            .fetch_add(self.step, std::sync::atomic::Ordering::Relaxed);
        (start < self.hi).then(|| (start, (start + self.step).min(self.hi)))
    }
}
";

const STARTED: &str = "
/// Starts what other threads do: as many as the system has to give, and no more than 1023.
fn started<'scope, T: Send + 'scope>(
    scope: &'scope std::thread::Scope<'scope, '_>,
    threads: usize,
    work: impl Fn() -> T + Copy + Send + 'scope,
) -> Vec<std::thread::ScopedJoinHandle<'scope, T>> {
    let start = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
    (1..threads.min(1024)).map_while(start).collect()
}
";

const USUAL: &str = "
/// The length of rows for which loops are made, or any where that is 0.
#[inline(always)]
fn usual<const ROWS: usize>(length: usize) -> usize {
    if ROWS == 0 { length } else { ROWS }
}
";

const SHARED: &str = "
/// An array whose elements are written by one thread each, as the dependence test proved.
#[derive(Clone, Copy)]
struct Shared<T> {
    data: *mut T,
    len: usize,
}

// SAFETY: no two threads touch one element.
unsafe impl<T: Send> Send for Shared<T> {}
unsafe impl<T: Send> Sync for Shared<T> {}

#[allow(dead_code)]
impl<T> Shared<T> {
    fn new(array: &mut [T]) -> Self {
        Shared {
            data: array.as_mut_ptr(),
            len: array.len(),
        }
    }

    /// `&mut array[k]` where `k` is proved to be in bounds.
    #[inline(always)]
    unsafe fn at_mut<'a>(self, k: usize) -> &'a mut T {
        debug_assert!(k < self.len);
        unsafe { &mut *self.data.add(k) }
    }

    /// `array[k]` where `k` is proved to be in bounds.
    #[inline(always)]
    unsafe fn at(self, k: usize) -> T
    where
        T: Copy,
    {
        debug_assert!(k < self.len);
        unsafe { *self.data.add(k) }
    }

    /// `&mut array[k]`, checked.
    #[inline(always)]
    unsafe fn checked<'a>(self, k: usize) -> &'a mut T {
        assert!(k < self.len, \"index out of bounds\");
        unsafe { &mut *self.data.add(k) }
    }

    /// `array[k]`, checked.
    #[inline(always)]
    unsafe fn checked_at(self, k: usize) -> T
    where
        T: Copy,
    {
        assert!(k < self.len, \"index out of bounds\");
        unsafe { *self.data.add(k) }
    }
}

/// Runs `work` on every thread, and waits until the threads have ended.
fn on_threads(threads: usize, work: impl Fn() + Sync) {
    std::thread::scope(|scope| {
        let workers = started(scope, threads, &work);
        work();
        for worker in workers {
            if let Err(panic) = worker.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
}
";

const SUMMING: &str = "
/// Runs `work` on every thread; every thread but this one sums into a copy of its own.
fn on_threads_summing(threads: usize, output: &mut [TYPE], work: impl Fn(&mut [TYPE]) + Sync) {
    let len = output.len();
    let work = &work;
    std::thread::scope(|scope| {
        let sum = move || {
            let mut own = vec![ZERO; len];
            work(&mut own);
            own
        };
        let workers = started(scope, threads, sum);
        work(output);
        for worker in workers {
            match worker.join() {
                Ok(own) => {
                    for (total, part) in output.iter_mut().zip(own) {
                        ADD
                    }
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
}
";

pub(super) const ELEMENT: &str = "
/// An element as a number; there is none outside the array.
fn element<T: Copy + TryInto<i64>>(array: &[T], at: i64) -> Option<i64> {
    let element = *array.get(usize::try_from(at).ok()?)?;
    element.try_into().ok()
}
";

#[cfg(test)]
mod tests {
    use super::broken;

    #[test]
    fn blocks_of_an_operator_are_lines() {
        assert_eq!(broken("a + b", 1), "    a + b\n");
        let text = "{ let mut t0: i32 = a; while t0 > 1 { t0 = f(t0, b); } t0 }";
        let lines = "{\n    let mut t0: i32 = a;\n    while t0 > 1 {\n        t0 = f(t0, b);\n    }\n    t0\n}\n";
        assert_eq!(broken(text, 0), lines);
        let text = "if a < b { a } else if b { (b) } else { c }";
        let lines = "if a < b {\n    a\n} else if b {\n    (b)\n} else {\n    c\n}\n";
        assert_eq!(broken(text, 0), lines);
    }
}
