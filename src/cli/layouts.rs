//! `siskin layouts`: the shipped layouts, or the description of one.

use clap::Args;
use serde_json::{Value, json};
use siskin::diagnostic::{Code, Diagnostic};
use siskin::layout::{Layout, LayoutSpec, shipped, shipped_level, shipped_levels};
use siskin::packing::Plan;

use super::output::Output;

/// List the shipped layouts, or describe one: relation, index arrays, properties as formulas
#[derive(Args)]
#[command(after_help = include_str!("examples/layouts.txt"))]
pub struct Layouts {
    /// A shipped name, the path of a TOML file, or a list of levels
    name: Option<String>,
    /// The rank, for layouts that fit any [default: 2]
    #[arg(long, value_name = "N")]
    rank: Option<usize>,
    /// Print one JSON object on stdout
    #[arg(long)]
    json: bool,
    /// Print the declaration: a file as it is, a list of levels composed
    #[arg(long, conflicts_with = "json", requires = "name")]
    toml: bool,
}

impl Layouts {
    pub fn execute(&self) -> Output {
        match &self.name {
            Some(name) if self.toml => declaration(name, self.rank),
            Some(name) => self.describe(name),
            None => Ok(self.list()),
        }
    }

    fn list(&self) -> String {
        let (layouts, levels) = (shipped(), shipped_levels());
        if self.json {
            let rows = |list: &[(String, String)]| -> Value {
                list.iter().map(|(n, s)| json!({ "name": n, "summary": s })).collect()
            };
            return json!({ "layouts": rows(&layouts), "levels": rows(&levels) }).to_string();
        }
        let width = layouts.iter().chain(&levels).map(|(n, _)| n.len()).max().unwrap_or(0);
        let mut out = String::from("layouts\n");
        for (name, summary) in &layouts {
            out.push_str(&format!("  {name:width$}  {summary}\n"));
        }
        out.push_str("\nlevels, for lists such as \"dense(i), …\"\n");
        for (name, summary) in &levels {
            out.push_str(&format!("  {name:width$}  {summary}\n"));
        }
        out
    }

    fn describe(&self, name: &str) -> Output {
        let layout = layout(name, self.rank)?;
        if !self.json {
            return Ok(text(&layout));
        }
        Ok(json(&layout).to_string())
    }
}

/// The text of a declaration.
fn declaration(name: &str, rank: Option<usize>) -> Output {
    if let Some(text) = shipped_level(name) {
        return Ok(text.to_string());
    }
    match LayoutSpec::parse(name)?.text() {
        Some(text) => Ok(text.to_string()),
        None => Ok(layout(name, rank)?.to_toml()),
    }
}

/// A layout whose rank may be open: `rank`, or 2.
pub fn layout(name: &str, rank: Option<usize>) -> siskin::diagnostic::Result<Layout> {
    let spec = LayoutSpec::parse(name)?;
    match (spec.rank(), rank) {
        (Some(own), Some(wanted)) if own != wanted => Err(Diagnostic::new(
            Code::Shape,
            format!("layout `{name}` has rank {own}, not {wanted}"),
        )
        .help("leave `--rank` out")),
        (Some(own), _) => spec.instantiate(own),
        (None, wanted) => spec.instantiate(wanted.unwrap_or(2)),
    }
}

/// The declaration, and how entries are packed into it, or why they cannot be.
pub fn text(layout: &Layout) -> String {
    let packing = match Plan::of(layout) {
        Ok(plan) => plan.steps(),
        Err(e) => vec![e.message.clone()],
    };
    format!("{}\npacking\n  {}\n", layout.describe(), packing.join("\n  "))
}

/// The declaration as JSON.
pub fn json(layout: &Layout) -> Value {
    json!({
        "name": layout.name,
        "packing": Plan::of(layout).ok().map(|plan| plan.steps()),
        "summary": layout.summary,
        "rank": layout.rank(),
        "dims": layout.dims.iter().map(|d| &**d).collect::<Vec<_>>(),
        "relation": layout.relation.to_string(),
        "arrays": layout.arrays.keys().map(|d| &**d).collect::<Vec<_>>(),
        "params": layout.params.iter().map(|(n, d)| (n.to_string(), json!(d.as_ref().map(ToString::to_string)))).collect::<serde_json::Map<_, _>>(),
        "properties": layout.properties.iter().map(|p| json!({
            "kind": p.kind.to_string(),
            "arrays": p.arrays.iter().map(|d| &**d).collect::<Vec<_>>(),
            "formula": p.formula.to_string(),
        })).collect::<Vec<_>>(),
        "description": layout.describe(),
    })
}
