//! `siskin check`: what a declaration says, and whether data keep it.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use serde_json::json;
use siskin::check::refuse_unsound;
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::files::holds_arrays;
use siskin::layout::{Layout, LayoutSpec};
use siskin::packing::{PackOptions, Plan, pack};
use siskin::tensor::{Entries, Tensor, Value};

use super::output::{Output, print};
use super::{given, layouts, shown};

/// Check the declaration of a layout, and data against its properties
#[derive(Args)]
#[command(after_help = include_str!("examples/check.txt"))]
pub struct Check {
    /// A shipped name, the path of a TOML file, or a list of levels
    layout: String,
    /// Data to pack into the layout and validate
    #[arg(long, value_name = "FILE")]
    data: Option<String>,
    /// The rank, for layouts that fit any [default: that of the data, or 2]
    #[arg(long, value_name = "N")]
    rank: Option<usize>,
    /// Print one JSON object on stdout
    #[arg(long)]
    json: bool,
}

impl Check {
    pub fn execute(&self) -> Output {
        let Some(file) = &self.data else { return self.declaration() };
        let path = Path::new(file);
        let mut packed = match given::is_archive(path) && holds_arrays(path)? {
            true => {
                let layout = Arc::new(layouts::layout(&self.layout, self.rank)?);
                Tensor::read_arrays(&layout, path)?
            }
            false => self.packed(path)?,
        };
        let layout = packed.layout().clone();
        refuse_unsound(&layout)?;
        packed.validate()?;
        if self.json {
            return Ok(json!({
                "layout": layouts::json(&layout),
                "data": {
                    "dims": packed.dims(),
                    "stored": packed.stored(),
                    "params": packed.params().iter().map(|(n, v)| (n.to_string(), json!(v))).collect::<serde_json::Map<_, _>>(),
                    "valid": true,
                },
            })
            .to_string());
        }
        let mut out = format!("{}: {}\n", path.display(), shown::shape(&packed));
        for (name, value) in packed.params() {
            out.push_str(&format!("  {name} = {value}\n"));
        }
        for property in &layout.properties {
            out.push_str(&format!("  holds: {}\n", property.formula));
        }
        Ok(out)
    }

    /// The entries of a file in the layout.
    fn packed(&self, path: &Path) -> Result<Tensor> {
        let spec = LayoutSpec::parse(&self.layout)?;
        let fill = spec.fill().map(Value::from);
        let ty = fill.map(Value::value_type);
        let loaded = given::load(path, &path.display().to_string(), None, ty, fill)?;
        let rank = spec.rank().or(self.rank).unwrap_or(loaded.dims().len());
        let layout = Arc::new(layouts::layout(&self.layout, Some(rank))?);
        let found = loaded.dims().len();
        let loaded = loaded.into_rank(rank).map_err(|_| {
            Diagnostic::new(
                Code::Shape,
                format!("layout `{}` has rank {rank}, the data have rank {found}", self.layout),
            )
            .help("choose a layout of the data's rank; `siskin layouts` lists them")
        })?;
        given::pack(&layout, loaded, None)
    }

    fn declaration(&self) -> Output {
        let layout = Arc::new(layouts::layout(&self.layout, self.rank)?);
        let report = siskin::check::check(&layout)?;
        let packing = Plan::of(&layout).and_then(|plan| tried(&layout).map(|()| plan));
        let text = match self.json {
            true => {
                let remarks: Vec<String> = layout.remarks.iter().map(remark).collect();
                let packing = match &packing {
                    Ok(plan) => {
                        let tested: Vec<String> =
                            plan.open_conditions().map(ToString::to_string).collect();
                        json!({ "packs": true, "tested": tested })
                    }
                    Err(e) => json!({ "packs": false, "reason": e.message }),
                };
                json!({
                    "layout": layouts::json(&layout),
                    "check": report,
                    "packing": packing,
                    "remarks": remarks,
                })
                .to_string()
            }
            false => format!("{report}{}", beside(&layout, &packing)),
        };
        match report.fault() {
            None => Ok(text),
            Some(fault) => {
                // The report is the result also when it is bad news; the status tells.
                print(&text);
                Err(fault)
            }
        }
    }
}

/// Packs one entry: whether all that decides a position is known in time shows only then.
///
/// # Errors
/// [`Code::NotPackable`]; that this entry may have no place says nothing.
fn tried(layout: &Arc<Layout>) -> Result<()> {
    let rank = layout.rank();
    let entries = Entries::from_points(&vec![1; rank], &[(&vec![0; rank], 1.0)])?;
    match pack(layout, &entries, &PackOptions::default()) {
        // That this entry has no place, or these extents no tensor, is no fault of the plan.
        Err(e) if e.code == Code::NotPackable && e.message.starts_with("packing needs") => Err(e),
        _ => Ok(()),
    }
}

/// What packing says of the declaration, and what its designer may not have meant; in the columns of
/// the report.
fn beside(layout: &Layout, packing: &Result<Plan>) -> String {
    let mut out = String::new();
    let mut line = |title: &str, text: &str| out.push_str(&format!("{title:15}{text}\n"));
    match packing {
        Ok(plan) => {
            line("packing", "yes, every array follows from the entries");
            let tested: Vec<String> = plan.open_conditions().map(|c| format!("`{c}`")).collect();
            if !tested.is_empty() {
                let text =
                    format!("tested for every entry, which may break it: {}", tested.join(", "));
                line("", &text);
            }
        }
        Err(e) => {
            line("packing", &format!("no, {}", e.message));
            e.notes.iter().chain(&e.help).for_each(|more| line("", more));
        }
    }
    layout.remarks.iter().for_each(|r| line("remark", &remark(r)));
    out
}

/// `the size `W` is never used (ell.toml:12); remove it, or use it`
fn remark(r: &Diagnostic) -> String {
    let place = match (&r.source, &r.span) {
        (Some(source), Some((span, _))) => {
            let before = source.text.get(..span.start).unwrap_or_default();
            let line = source.first_line + before.matches('\n').count();
            format!(" ({}:{line})", source.name)
        }
        _ => String::new(),
    };
    let help = r.help.as_ref().map_or_else(String::new, |help| format!("; {help}"));
    format!("{}{place}{help}", r.message)
}
