//! How several statements are one kernel, as `explain` says it.

use siskin::formula::Name;
use siskin::kernel::Planned;
use siskin::loops::{Begin, begun};

/// The loops that statements share, and what is left of temporaries; nothing for one statement.
pub fn text(planned: &Planned) -> String {
    let sequence = planned.sequence();
    let mut out = String::new();
    for (k, shared) in sequence.shared.iter().enumerate() {
        let (before, own) = (k + 1, k + 2);
        out.push_str(&match shared.as_slice() {
            [] => format!("statement {own} runs after statement {before}\n"),
            names => {
                format!("statement {own} shares the loop over {} with {before}\n", list(names))
            }
        });
    }
    let loops = planned.loops();
    let all = begun(&loops.body);
    for temporary in &sequence.temporaries {
        let own = all.iter().find(|begin| begin.array == temporary.array);
        out.extend(
            own.map(|begin| {
                format!("{} {}\n", temporary.tensor, kept(begin, temporary.shape.len()))
            }),
        );
    }
    out
}

/// What a temporary of so many dimensions has become.
fn kept(begin: &Begin, rank: usize) -> String {
    let shape: Vec<String> = begin.shape.iter().map(ToString::to_string).collect();
    match begin.shape.len() {
        0 => "is one element at a time".to_string(),
        n if n < rank => format!("has {} elements at a time", shape.join(" x ")),
        _ => format!("has {} elements", shape.join(" x ")),
    }
}

fn list(names: &[Name]) -> String {
    names.iter().map(|n| &**n).collect::<Vec<_>>().join(", ")
}
