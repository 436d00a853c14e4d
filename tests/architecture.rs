//! `ARCHITECTURE.md` follows one kernel through the stages with what the code prints. Every fenced
//! block whose language is a stage's name is compared with the real text, so that it cannot rot.
//!
//! After an intended change, `SISKIN_UPDATE=1 cargo test --test architecture` rewrites the blocks.

use std::fmt::Write;
use std::path::PathBuf;

use siskin::Kernel;
use siskin::kernel::Planned;
use siskin::layout::Layout;
use siskin::looplets::derive;
use siskin::prover::Z3Prover;
use siskin::synth::cost;

const EXPRESSION: &str = "y[i] += A[i,j] * x[j]";
/// Stages in the order of the pipeline.
const STAGES: [&str; 10] = [
    "layout", "program", "space", "schedule", "nest", "looplets", "proofs", "cost", "loops", "rust",
];

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md")
}

/// What `stage` prints for the kernel of the document.
fn printed(stage: &str, planned: &Planned) -> String {
    let statement = &planned.statements()[0];
    match stage {
        "layout" => Layout::named("csr").expect("a shipped layout").describe(),
        "program" => planned.program().to_string(),
        "space" => statement.space().points(&statement.schedule().dims()).to_string(),
        "schedule" => statement.schedule().to_string(),
        "nest" => statement.nest().to_string(),
        "looplets" => {
            let access = planned.program().accesses()[0];
            let layout = &planned.layouts()[&access.tensor];
            let pieces = derive(access, layout, &[], &mut Z3Prover::new()).expect("looplets");
            pieces[0].looplet.to_string()
        }
        "proofs" => {
            let mut out = String::new();
            for find in statement.finds() {
                writeln!(out, "{}", find.problem.describe()).expect("memory");
                for attempt in &find.attempts {
                    let name = &attempt.template.name;
                    writeln!(out, "  {name:<12} {}", attempt.verdict).expect("memory");
                }
            }
            out
        }
        "cost" => {
            let (sizes, nest) = (&planned.grounds().sizes, statement.nest());
            let mut out = String::new();
            for find in statement.finds() {
                writeln!(out, "{}", find.problem.describe()).expect("memory");
                for plan in find.plans() {
                    let (name, formula) = (&plan.template.name, &plan.template.cost);
                    let time = cost(plan, find, nest, sizes);
                    let time = if time.is_finite() { format!("{time:.0} ns") } else { "?".into() };
                    writeln!(out, "  {name:<8} {time:>12} = {formula}").expect("memory");
                }
            }
            out
        }
        "loops" => planned.loops().to_string(),
        // The loops only; the structs around them are long.
        "rust" => {
            let text = planned.alone().render().expect("a kernel").text().to_string();
            let start = text.find("unsafe fn core(").expect("the core");
            let length = text[start..].find("\n}\n").expect("its end");
            text[start..start + length + 2].to_string()
        }
        other => panic!("no stage `{other}`"),
    }
}

#[test]
fn every_block_named_after_a_stage_is_what_that_stage_prints() {
    let kernel = Kernel::new(EXPRESSION).layout("A", "csr").layout("x", "sparse");
    let planned = kernel.find(None, "seq").plan().expect("a plan");
    let document = std::fs::read_to_string(path()).expect("the document");
    let mut updated = String::new();
    let mut wrong = Vec::new();
    let mut seen = Vec::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        writeln!(updated, "{line}").expect("memory");
        let Some(stage) = line.strip_prefix("```").filter(|s| STAGES.contains(s)) else { continue };
        let written: Vec<&str> = lines.by_ref().take_while(|l| *l != "```").collect();
        let real = printed(stage, &planned);
        let real: Vec<&str> = real.trim_end().lines().map(str::trim_end).collect();
        if written != real {
            wrong.push(format!("`{stage}` now prints\n{}", real.join("\n")));
        }
        writeln!(updated, "{}\n```", real.join("\n")).expect("memory");
        seen.push(stage);
    }
    if std::env::var_os("SISKIN_UPDATE").is_some() {
        std::fs::write(path(), &updated).expect("a writable document");
        return;
    }
    assert_eq!(seen, STAGES, "the document shows every stage, in order");
    assert!(wrong.is_empty(), "ARCHITECTURE.md is outdated:\n{}", wrong.join("\n\n"));
}

#[test]
fn every_folder_of_the_module_map_exists_and_none_is_missing() {
    let document = std::fs::read_to_string(path()).expect("the document");
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mapped: Vec<&str> = document
        .lines()
        .filter_map(|l| l.strip_prefix("| `src/"))
        .filter_map(|l| l.split('`').next())
        .collect();
    assert!(mapped.len() >= 10, "{mapped:?}");
    for module in &mapped {
        assert!(root.join("src").join(module).exists(), "src/{module} does not exist");
    }
    for entry in std::fs::read_dir(root.join("src")).expect("the sources") {
        let name = entry.expect("a readable folder").file_name();
        let name = name.to_string_lossy();
        let listed = mapped.iter().any(|m| *m == name || m.trim_end_matches('/') == name);
        assert!(listed || ["lib.rs", "main.rs"].contains(&&*name), "src/{name} is not in the map");
    }
}
