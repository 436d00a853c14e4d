//! Which loops may run in parallel, as `explain` shows it (SPF §5.1).

use serde_json::{Value, json};
use siskin::iterspace::{Conflict, LoopKind};
use siskin::kernel::Planned;
use siskin::loops::Statement;
use siskin::prover::Z3Prover;

/// The verdict on each loop of a statement; finds and `let`s are not loops.
fn verdicts(statement: &Statement) -> Vec<(String, LoopKind)> {
    let mut prover = Z3Prover::new();
    let levels = statement.nest().levels.iter().enumerate();
    levels
        .filter(|(_, level)| level.is_loop() && !level.is_find())
        .map(|(d, level)| {
            let kind = statement.loop_kind(d, &mut prover);
            (level.var.to_string(), kind)
        })
        .collect()
}

/// The values that tell an iteration: those of the loops, positions and indices alike.
fn iteration(values: &[(siskin::formula::Name, i64)]) -> String {
    let parts: Vec<String> =
        values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    parts.join(", ")
}

fn example(conflict: &Conflict) -> String {
    format!("({}) and ({})", iteration(&conflict.first), iteration(&conflict.second))
}

pub fn text(planned: &Planned) -> String {
    let mut out = String::new();
    for statement in planned.statements() {
        for (var, kind) in verdicts(statement) {
            match kind {
                LoopKind::Parallel => out.push_str(&format!("loop {var}: parallel\n")),
                LoopKind::Reduction(conflict) => out.push_str(&format!(
                    "loop {var}: parallel with private accumulators\n  both {}\n  write one element\n",
                    example(&conflict)
                )),
                LoopKind::Unknown(why) => out.push_str(&format!(
                    "loop {var}: not parallel, because the prover gave up: {why}\n"
                )),
            }
        }
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

pub fn json(planned: &Planned) -> Value {
    let loops = planned.statements().iter().flat_map(verdicts);
    loops
        .map(|(var, kind)| match kind {
            LoopKind::Parallel => json!({ "loop": var, "kind": "parallel" }),
            LoopKind::Reduction(conflict) => {
                json!({ "loop": var, "kind": "private", "conflict": example(&conflict) })
            }
            LoopKind::Unknown(why) => json!({ "loop": var, "kind": "sequential", "why": why }),
        })
        .collect()
}
