//! What the tensors of a statement hold along their indices, as `explain` shows it (Finch §4).

use serde_json::{Value, json};
use siskin::diagnostic::Result;
use siskin::formula::Name;
use siskin::kernel::Planned;
use siskin::looplets::{Derived, derive};
use siskin::prover::Z3Prover;

/// The looplets of each access that is read, for each piece of its layout.
fn derived(planned: &Planned, order: &[Name]) -> Vec<(String, String, Result<Vec<Derived>>)> {
    let mut out: Vec<(String, String, Result<Vec<Derived>>)> = Vec::new();
    for access in planned.program().accesses() {
        let text = access.to_string();
        if out.iter().any(|(known, ..)| *known == text) {
            continue;
        }
        let Some(layout) = planned.layouts().get(&access.tensor) else { continue };
        let looplets = derive(access, layout, order, &mut Z3Prover::new());
        out.push((text, layout.name.to_string(), looplets));
    }
    out
}

pub fn text(planned: &Planned, order: &[Name]) -> String {
    let mut out = String::new();
    for (access, layout, looplets) in derived(planned, order) {
        match looplets {
            Err(why) => out.push_str(&format!("{access} ({layout})\n  {}\n", why.message)),
            Ok(pieces) => {
                for (k, piece) in pieces.iter().enumerate() {
                    let number = match pieces.len() {
                        1 => String::new(),
                        n => format!(", piece {} of {n}", k + 1),
                    };
                    out.push_str(&format!("{access} ({layout}{number})\n"));
                    let lines = piece.looplet.to_string();
                    lines.lines().for_each(|line| out.push_str(&format!("  {line}\n")));
                }
            }
        }
        out.push('\n');
    }
    out
}

pub fn json(planned: &Planned, order: &[Name]) -> Value {
    let all =
        derived(planned, order).into_iter().map(|(access, layout, looplets)| match looplets {
            Err(why) => json!({ "access": access, "layout": layout, "refused": why.message }),
            Ok(pieces) => {
                let pieces = pieces.iter().map(|piece| {
                    let indices: Vec<&str> = piece.indices.iter().map(|index| &**index).collect();
                    json!({ "indices": indices, "looplets": piece.looplet.to_string() })
                });
                json!({ "access": access, "layout": layout, "pieces": pieces.collect::<Vec<_>>() })
            }
        });
    all.collect()
}
