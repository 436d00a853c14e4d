//! A loop on several threads: chunks of its range are handed out dynamically (SPF §8.1).
//!
//! A loop whose dependence polyhedron is empty writes through [`SHARED`]; a reduction gives each
//! thread a private copy of the output. States that are read-only once set up (a table) are made
//! once; others start anew in each chunk, which is correct because every query of the chunk is later
//! than the start of the range.

use super::nest::mentions;
use super::{Parallel, value};
use crate::tensor::ValueType;

/// Wraps the code of the parallel loop. `outside` is shared read-only state; `inside` is the loop over
/// `range` with its private state; `output` is the output's value array.
pub fn region(
    parallel: Parallel,
    lo: &str,
    hi: &str,
    output: &str,
    outside: &str,
    inside: &str,
) -> String {
    if parallel.private {
        format!(
            "{outside}chunks_private(threads, {lo}, {hi}, {output}, |{output}, range| {{\n{inside}}});\n"
        )
    } else {
        format!(
            "{outside}let {output} = Shared::new({output});\n{OPEN}\
             // A copy of its own, which writing through it cannot change.\n\
             let {output} = {output};\n{inside}{CLOSE}\
             chunks(threads, {lo}, {hi}, |range| work(range{PASSED}));\n"
        )
    }
}

const OPEN: &str = "let work = |range| {\n";
const CLOSE: &str = "};\n";
const PASSED: &str = "/* arguments of the core */";

/// Hands the arguments of the core, given as name and type, to the work on a chunk: only what is an
/// argument is known not to change while the output is written.
pub fn with_arguments(body: &str, arguments: &[(&str, &str)], output: &str) -> String {
    let Some((before, rest)) = body.split_once(OPEN) else { return body.to_string() };
    let Some((work, after)) = rest.split_once(PASSED) else { return body.to_string() };
    let code = work.rsplit_once(CLOSE).map_or(work, |(code, _)| code);
    let needed: Vec<&(&str, &str)> =
        arguments.iter().filter(|(name, _)| *name != output && mentions(code, name)).collect();
    let parameters: String = needed.iter().map(|(name, ty)| format!(",\n{name}: {ty}")).collect();
    let passed: String = needed.iter().map(|(name, _)| format!(", {name}")).collect();
    let after = with_arguments(after, arguments, output);
    format!(
        "{before}let work = |range: std::ops::Range<usize>{parameters}| {{\n{work}{passed}{after}"
    )
}

/// Items for parallel loops without conflicts.
pub fn shared_items() -> &'static str {
    SHARED
}

/// Items for parallel reductions.
pub fn private_items(t: ValueType) -> String {
    let add = value::accumulate(t, "*total", "part");
    PRIVATE.replace("TYPE", t.rust_name()).replace("ZERO", value::zero(t)).replace("ADD", &add)
}

/// The chunk size, used by both.
pub fn chunk_item() -> &'static str {
    "/// Small enough to balance uneven iterations, large enough to hide the hand-out.\n\
     fn chunk_size(threads: usize, len: usize) -> usize {\n\
     (len / (16 * threads.max(1))).max(1)\n}\n\n"
}

const SHARED: &str =
    "/// An array whose elements are written by one thread each, as the dependence test proved.
#[derive(Clone, Copy)]
struct Shared<T> {
data: *mut T,
len: usize,
}

unsafe impl<T: Send> Send for Shared<T> {}
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
fn new(array: &mut [T]) -> Self {
Shared { data: array.as_mut_ptr(), len: array.len() }
}

/// `&mut array[k]` where `k` is proved to be in bounds.
#[inline(always)]
unsafe fn at_mut<'a>(self, k: usize) -> &'a mut T {
debug_assert!(k < self.len);
unsafe { &mut *self.data.add(k) }
}

/// `&mut array[k]`, checked.
#[allow(dead_code)]
#[inline(always)]
unsafe fn checked<'a>(self, k: usize) -> &'a mut T {
assert!(k < self.len, \"index out of bounds\");
unsafe { &mut *self.data.add(k) }
}
}

/// Runs `work` on chunks of `lo..hi`, handed out dynamically.
fn chunks(threads: usize, lo: usize, hi: usize, work: impl Fn(std::ops::Range<usize>) + Sync) {
let step = chunk_size(threads, hi.saturating_sub(lo));
let next = std::sync::atomic::AtomicUsize::new(lo);
let run = || {
loop {
let start = next.fetch_add(step, std::sync::atomic::Ordering::Relaxed);
if start >= hi {
break;
}
work(start..(start + step).min(hi));
}
};
std::thread::scope(|scope| {
for _ in 1..threads {
scope.spawn(run);
}
run();
});
}

";

const PRIVATE: &str =
    "/// Runs `work` on chunks of `lo..hi`; every thread but this one sums into a copy of its own.
fn chunks_private(
threads: usize,
lo: usize,
hi: usize,
output: &mut [TYPE],
work: impl Fn(&mut [TYPE], std::ops::Range<usize>) + Sync,
) {
let step = chunk_size(threads, hi.saturating_sub(lo));
let len = output.len();
let next = std::sync::atomic::AtomicUsize::new(lo);
let run = |output: &mut [TYPE]| {
loop {
let start = next.fetch_add(step, std::sync::atomic::Ordering::Relaxed);
if start >= hi {
break;
}
work(output, start..(start + step).min(hi));
}
};
let run = &run;
std::thread::scope(|scope| {
let mut workers = Vec::new();
for _ in 1..threads {
workers.push(scope.spawn(move || {
let mut own = vec![ZERO; len];
run(&mut own);
own
}));
}
run(output);
for worker in workers {
let Ok(own) = worker.join() else {
continue;
};
for (total, part) in output.iter_mut().zip(own) {
ADD
}
}
});
}

";
