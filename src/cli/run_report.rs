//! What `siskin run` says of a kernel that has run: as text, or for `--json`.

use std::time::Duration;

use serde_json::{Value, json};
use siskin::formula::Name;
use siskin::kernel::CompiledKernel;
use siskin::operators::Value as Number;

use super::costs::copies;
use super::data::Inputs;
use super::finds;
use super::result::Summary;
use super::shown::{shape, time};

/// How long the stages behind the inputs took, and all of them.
#[derive(Default)]
pub struct Times {
    /// From the statement to a module, with what is measured and proved for it.
    pub generate: Duration,
    /// Checking what a call relies on, and making room for the result.
    pub prepare: Duration,
    pub kernel: Duration,
    pub repeats: Vec<Duration>,
    /// Of the result, into the layout that is asked for; a part of `finish`.
    pub converted: Duration,
    /// From what the kernel has written to the result, and what is said of it.
    pub finish: Duration,
    pub write: Option<Duration>,
    pub total: Duration,
}

/// What is said of a result.
pub struct Finished {
    pub name: Name,
    pub about: Summary,
    /// What its elements are that are not stored, unless it is zero.
    pub fill: Option<Number>,
    /// Its elements, or where they are.
    pub shown: String,
    pub file: Option<String>,
    /// Whether the file says the fill.
    pub says_fill: Option<bool>,
}

/// For `--json`.
pub fn as_json(k: &CompiledKernel, i: &Inputs, results: &[Finished], times: &Times) -> String {
    let (rustc, cached) = k.built();
    let (unproved, accesses) = accesses(k);
    let name = &**k.planned().output();
    let all: Vec<Value> =
        results.iter().map(|one| one.about.json(&one.name, one.file.as_deref())).collect();
    json!({
        "kernel": k.module().text(),
        "copies": copies::json(k.planned()),
        "finds": finds::json(k.planned()),
        "parallel": parallel(k),
        "accesses": { "proved": accesses - unproved, "checked": unproved },
        "index": k.planned().index_width().unsigned(),
        "type": k.planned().types().of(name).as_str(),
        "seconds": {
            "read": i.read.as_secs_f64(),
            "plan": i.plan.as_secs_f64(),
            "pack": i.pack.as_secs_f64(),
            "validate": i.validate.as_secs_f64(),
            "generate": times.generate.as_secs_f64(),
            "rustc": rustc.as_secs_f64(),
            "prepare": times.prepare.as_secs_f64(),
            "kernel": times.kernel.as_secs_f64(),
            "repeats": times.repeats.iter().map(Duration::as_secs_f64).collect::<Vec<_>>(),
            "convert": times.converted.as_secs_f64(),
            "finish": times.finish.as_secs_f64(),
            "write": times.write.map(|t| t.as_secs_f64()),
            "total": times.total.as_secs_f64(),
        },
        "cached": cached,
        "tensors": i.tensors.iter().map(|(n, t)| json!({
            "name": &**n,
            "layout": t.layout().name,
            "dims": t.dims(),
            "stored": t.stored(),
        })).collect::<Vec<_>>(),
        "output": all.first(),
        "results": all,
    })
    .to_string()
}

/// As text.
pub fn summary(
    k: &CompiledKernel,
    i: &Inputs,
    results: &[Finished],
    times: &Times,
    called: &dyn Fn(&Name) -> Name,
) -> String {
    let mut out = format!("{}\n", k.planned().program());
    for (name, t) in &i.tensors {
        let file = i.files.get(name).cloned().unwrap_or_default();
        out.push_str(&format!("  {name}: {} from {file}\n", shape(t)));
    }
    out.push_str(&copies::text(k.planned()));
    out.push_str("proved\n");
    for (_, find, plan) in finds::chosen(k.planned()) {
        out.push_str(&format!("  {}: {plan}", find.problem.position));
        let others = finds::alternatives(find, plan);
        if !others.is_empty() {
            out.push_str(&format!("; also {}", others.join(", ")));
        }
        out.push('\n');
    }
    let (unproved, accesses) = accesses(k);
    out.push_str(&format!("  {} of {accesses} array accesses are in bounds", accesses - unproved));
    if unproved > 0 {
        out.push_str(&format!("; {unproved} checked at run time"));
    }
    let (rustc, cached) = k.built();
    out.push_str(&format!(
        "\ntime\n  read {}, plan {}, pack {}, validate {}, generate {}, {} {}, prepare {}, kernel {}",
        time(i.read),
        time(i.plan),
        time(i.pack),
        time(i.validate),
        time(times.generate),
        if cached { "load from the cache" } else { "rustc" },
        time(rustc),
        time(times.prepare),
        time(times.kernel),
    ));
    if !times.repeats.is_empty() {
        out.push_str(&format!(", repeats {}", time(times.repeats.iter().sum())));
    }
    out.push_str(&format!(", finish {}", time(times.finish)));
    if let Some(write) = times.write {
        out.push_str(&format!(", write {}", time(write)));
    }
    out.push_str(&format!(", total {}\n", time(times.total)));
    for one in results {
        out.push_str(&one.about.text(&called(&one.name), &one.shown));
    }
    out
}

/// The parallel loops, or `false`.
fn parallel(k: &CompiledKernel) -> Value {
    if let Some(var) = k.planned().assembled().and_then(|a| a.assembling.in_parts()) {
        return json!([{ "loop": &**var, "private_output": true }]);
    }
    let loops: Vec<Value> = k
        .planned()
        .statements()
        .iter()
        .filter_map(|s| {
            let p = s.parallel()?;
            Some(json!({ "loop": &*p.var, "private_output": p.private }))
        })
        .collect();
    if loops.is_empty() { json!(false) } else { json!(loops) }
}

fn accesses(k: &CompiledKernel) -> (usize, usize) {
    let accesses = k.module().accesses();
    (accesses.iter().filter(|a| !a.proved).count(), accesses.len())
}
