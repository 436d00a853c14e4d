//! What was proved of the finds of a kernel, as text and as JSON.

use serde_json::{Value, json};
use siskin::kernel::Planned;
use siskin::loops::Statement;
use siskin::synth::{Find, Plan, Proved, Verdict};

/// Every find with its chosen plan.
pub fn chosen(planned: &Planned) -> impl Iterator<Item = (&Statement, &Find, &Proved<Plan>)> {
    planned
        .statements()
        .iter()
        .flat_map(|s| s.finds().iter().zip(s.chosen()).map(move |(find, plan)| (s, find, plan)))
}

/// The rows of `finds` in the JSON of `run`.
pub fn json(planned: &Planned) -> Value {
    chosen(planned).map(|(_, find, plan)| row(find, plan)).collect()
}

fn row(find: &Find, plan: &Plan) -> Value {
    json!({
        "index": &*find.problem.position,
        "tensor": &*find.problem.tensor,
        "template": plan.template.name,
        "arguments": plan.arguments(),
        "proved": true,
        "state": plan.state.iter().map(|n| &**n).collect::<Vec<_>>(),
        "alternatives": alternatives(find, plan),
    })
}

/// The other proved templates.
pub fn alternatives<'a>(find: &'a Find, plan: &Plan) -> Vec<&'a str> {
    let names = find.plans().map(|p| p.template.name.as_str());
    names.filter(|name| *name != plan.template.name).collect()
}

/// The row of a find with every template that was tried.
pub fn detailed(find: &Find, plan: &Plan) -> Value {
    let mut out = row(find, plan);
    out["where"] = json!(find.problem.describe());
    out["unique"] = json!(find.unique);
    out["attempts"] = find
        .attempts
        .iter()
        .map(|a| {
            let mut row = json!({ "template": a.template.name, "verdict": a.verdict.word() });
            match &a.verdict {
                Verdict::Proved(plan) => {
                    row["arguments"] = json!(plan.arguments());
                    row["state"] = json!(plan.state.iter().map(|n| &**n).collect::<Vec<_>>());
                }
                Verdict::Refuted(r) => {
                    row["obligation"] = json!(r.obligation);
                    row["reason"] = json!(r.reason);
                    row["arguments"] = json!(r.arguments);
                    row["counterexample"] = json!(r.counterexample().map(|m| m.to_string()));
                }
                Verdict::Unknown(why) | Verdict::Inapplicable(why) => row["reason"] = json!(why),
                Verdict::Vacuous => {}
            }
            row
        })
        .collect();
    out
}
