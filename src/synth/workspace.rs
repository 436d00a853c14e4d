//! Workspaces: templates that gather the elements of a result until they can be appended in order.
//!
//! `templates/workspace/NAME/template.toml` says what one costs; `kernel.rs.j2` declares the type
//! `Workspace<T, Q>` with `new(shape, begin)`, `combine(key, value, op)`, `combine_checked` and
//! `drain(op)`, `drain_in_any_order(op)`. What they promise is tested by itself: elements come out
//! once each, by rising keys if that is asked for, combined in the order of the updates. Adding a
//! workspace is adding a folder.

use std::sync::OnceLock;

use serde::Deserialize;

use super::cost_formula::CostFormula;
use super::machine::{self, Machine, price};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::embedded;

/// A workspace as declared by its folder.
#[derive(Clone, Debug)]
pub struct WorkspaceTemplate {
    pub name: String,
    pub summary: String,
    pub source: String,
    /// Over [`Gathered::NAMES`] and constants of the machine; in nanoseconds.
    pub cost: CostFormula,
    /// The same, in bytes.
    pub memory: CostFormula,
    /// The minijinja source of its code.
    pub code: &'static str,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    summary: String,
    #[serde(default)]
    source: String,
    cost: String,
    memory: String,
}

/// What is known of the elements that a workspace gathers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gathered {
    /// The number of keys that there can be.
    pub extent: f64,
    /// Updates in all.
    pub updates: f64,
    /// How often the workspace is emptied.
    pub drains: f64,
}

impl Gathered {
    /// What formulas of workspaces are over, beside constants of the machine.
    pub const NAMES: [&'static str; 4] = ["extent", "elements", "updates", "drains"];

    /// The values of [`Gathered::NAMES`].
    pub fn quantities(&self) -> [f64; 4] {
        let Gathered { extent, updates, drains } = *self;
        let drains = drains.max(1.0);
        [extent, (updates / drains).min(extent), updates, drains]
    }

    fn price(&self, formula: &CostFormula, machine: &Machine) -> f64 {
        let named: Vec<_> = Self::NAMES.into_iter().zip(self.quantities()).collect();
        price(formula, &named, machine)
    }
}

impl WorkspaceTemplate {
    /// Estimated time in nanoseconds.
    pub fn cost(&self, gathered: &Gathered, machine: &Machine) -> f64 {
        gathered.price(&self.cost, machine)
    }

    /// Estimated memory in bytes.
    pub fn memory(&self, gathered: &Gathered, machine: &Machine) -> f64 {
        gathered.price(&self.memory, machine)
    }
}

/// The shipped workspaces, by folder name; read once.
///
/// # Errors
/// [`Code::Find`] if a shipped folder is malformed.
pub fn workspaces() -> Result<&'static [WorkspaceTemplate]> {
    static SHIPPED: OnceLock<Result<Vec<WorkspaceTemplate>>> = OnceLock::new();
    SHIPPED.get_or_init(read).as_deref().map_err(Clone::clone)
}

/// The shipped workspace of that name.
///
/// # Errors
/// Those of [`workspaces`].
pub fn workspace_named(name: &str) -> Result<Option<&'static WorkspaceTemplate>> {
    Ok(workspaces()?.iter().find(|w| w.name == *name))
}

fn read() -> Result<Vec<WorkspaceTemplate>> {
    let mut out = Vec::new();
    for (path, text) in embedded::files("templates/workspace") {
        let Some(folder) = path.strip_suffix("/template.toml") else { continue };
        let file: File = toml::from_str(text).map_err(|e| {
            let d = Diagnostic::new(Code::Find, format!("workspace: {}", e.message()));
            let d = d.within(path, text);
            match e.span() {
                Some(span) => d.at(span, "here"),
                None => d,
            }
        })?;
        let code = embedded::text(&format!("{folder}/kernel.rs.j2")).unwrap_or_default();
        let priced = |key: &str, text: &str| {
            machine::parse(format!("{path}: `{key}`"), text, &Gathered::NAMES)
        };
        out.push(WorkspaceTemplate {
            name: file.name,
            summary: file.summary,
            source: file.source,
            cost: priced("cost", &file.cost)?,
            memory: priced("memory", &file.memory)?,
            code,
        });
    }
    Ok(out)
}

/// The cheapest workspace that takes no more bytes; if all take more, the smallest.
///
/// # Errors
/// Those of [`workspaces`].
pub fn cheapest_workspace(
    gathered: &Gathered,
    most_memory: f64,
    machine: &Machine,
) -> Result<&'static WorkspaceTemplate> {
    let mut best: Option<((bool, f64), &WorkspaceTemplate)> = None;
    for template in workspaces()? {
        let memory = template.memory(gathered, machine);
        let large = memory > most_memory;
        let rank = (large, if large { memory } else { template.cost(gathered, machine) });
        if best.as_ref().is_none_or(|(least, _)| rank < *least) {
            best = Some((rank, template));
        }
    }
    best.map(|(_, template)| template)
        .ok_or_else(|| Diagnostic::new(Code::Find, "no workspace is installed").help("add one"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_gathered_in_a_dense_workspace_and_huge_extents_are_not() {
        let rows = Gathered { extent: 1e4, updates: 1e6, drains: 1e4 };
        let all = Gathered { extent: 1e12, updates: 1e6, drains: 1.0 };
        let machine = Machine::default();
        let of = |gathered: &Gathered| {
            cheapest_workspace(gathered, 2e9, &machine).unwrap().memory(gathered, &machine)
        };
        assert!(of(&rows) < 1e6);
        assert!(of(&all) < 1e9, "a place for each key would not fit");
    }
}
