//! Which copies of tensors were priced, of those that are given in several layouts.

use serde_json::{Value, json};
use siskin::kernel::{Planned, PricedCopies};

use super::figures::nanoseconds;

/// The choices of copies, with what each is expected to take; nothing if there is none to make.
pub fn text(planned: &Planned) -> String {
    let copies = &planned.grounds().copies;
    if copies.is_empty() {
        return String::new();
    }
    let mut out = String::from("copies, with the cheapest plan for each\n");
    for own in copies {
        let time = match (own.time, &own.refused) {
            (Some(time), _) => nanoseconds(time),
            (None, why) => format!("has no plan: {}", why.as_deref().unwrap_or_default()),
        };
        let mark = if own.taken { "*" } else { " " };
        out.push_str(&format!("{mark} {own}: {time}\n"));
    }
    out
}

/// The same as JSON.
pub fn json(planned: &Planned) -> Vec<Value> {
    let one = |own: &PricedCopies| {
        let tensors: serde_json::Map<String, Value> =
            own.layouts.iter().map(|(n, l)| (n.to_string(), json!(l.name))).collect();
        json!({
            "tensors": tensors,
            "estimate_seconds": own.time.map(|t| t * 1e-9),
            "refused": own.refused,
            "chosen": own.taken,
        })
    };
    planned.grounds().copies.iter().map(one).collect()
}
