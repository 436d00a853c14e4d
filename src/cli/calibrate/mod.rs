//! `siskin calibrate`: the constants of this machine, measured and kept.
//!
//! Generated kernels of every find and workspace run on generated data; the constants are those with which the
//! formulas of costs come closest to the times. What no formula of a kernel that ran names stays as assumed.

mod cases;
mod fit;
mod observe;

use std::time::{Duration, Instant};

use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use serde_json::json;
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::exec::{Jit, processor_model};
use siskin::kernel::{CALIBRATION_VARIABLE, calibration_place, with_calibration};
use siskin::synth::{Machine, constants};

use super::costs::figures::number;
use super::output::{Output, write_text};
use super::progress;
use observe::Observation;

/// Measure the constants of this machine, by which finds, workspaces and orders of loops are chosen
#[derive(Args)]
#[command(after_help = include_str!("../examples/calibrate.txt"))]
pub struct Calibrate {
    /// Measure less, in a few seconds
    #[arg(long)]
    quick: bool,
    /// Print one JSON object on stdout
    #[arg(long)]
    json: bool,
}

/// What is not begun by then is left out.
const BUDGET: Duration = Duration::from_secs(16);
const QUICK_BUDGET: Duration = Duration::from_secs(4);

impl Calibrate {
    pub fn execute(&self) -> Output {
        let Some((path, _)) = calibration_place() else {
            return Err(Diagnostic::new(Code::Usage, "there is no place to keep what is measured")
                .help(format!("name a file: `{CALIBRATION_VARIABLE}=FILE siskin calibrate`")));
        };
        // What is wrong with the place is said before anything is measured.
        with_calibration(&path, &Machine::default())?;
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|e| {
                Diagnostic::new(Code::Io, format!("cannot create `{}`: {e}", folder.display()))
                    .help(format!("name another file with `{CALIBRATION_VARIABLE}`"))
            })?;
        }
        siskin::files::check_place(&path)?;
        let start = Instant::now();
        let budget = if self.quick { QUICK_BUDGET } else { BUDGET };
        let jit = Jit::new()?;
        let mut observations = Vec::new();
        for case in cases::cases()?.iter().filter(|case| case.quick || !self.quick) {
            let what = format!("measuring `{}`", case.statement);
            let time_is_up = || start.elapsed() > budget;
            let more =
                progress::during(&what, || observe::observe(case, &jit, self.quick, &time_is_up));
            observations.extend(more?);
        }
        let machine = fit::fitted(&observations)?;
        write_text(&path, &with_calibration(&path, &machine)?)?;
        let place = path.display().to_string();
        if self.json {
            return Ok(json_of(&machine, &observations, &place)?.to_string());
        }
        text_of(&machine, &observations, &place)
    }
}

/// The value of a constant, if it was measured.
fn measured(machine: &Machine, constant: &str) -> Option<f64> {
    machine.measured().find(|(name, _)| *name == constant).map(|(_, value)| value)
}

fn text_of(machine: &Machine, observations: &[Observation], place: &str) -> Result<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["constant", "meaning", "unit", "default", "measured"]);
    for constant in constants()? {
        let own = measured(machine, &constant.name);
        let own = own.map_or("-".to_string(), number);
        let (name, meaning) = (constant.name.as_str(), constant.meaning.as_str());
        table.add_row([name, meaning, &constant.unit, &number(constant.default), &own]);
    }
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_string()).collect();
    let (assumed, fitted) = (Machine::default(), machine);
    Ok(format!(
        "{}\n{}\n\n{} kernels ran; a typical time is {} times what the formulas say with what is measured,\nor that \
         part of it, and {} times with the defaults\nkept in {place}\n",
        processor_model(),
        lines.join("\n"),
        observations.len(),
        number(fit::typical_factor(observations, fitted)),
        number(fit::typical_factor(observations, &assumed)),
    ))
}

fn json_of(
    machine: &Machine,
    observations: &[Observation],
    place: &str,
) -> Result<serde_json::Value> {
    let rows = constants()?.iter().map(|constant| {
        json!({
            "name": constant.name,
            "unit": constant.unit,
            "meaning": constant.meaning,
            "default": constant.default,
            "measured": measured(machine, &constant.name),
        })
    });
    let kernels = observations.iter().map(|o| {
        json!({
            "statement": o.statement,
            "strategy": o.strategy,
            "data": o.data,
            "nanoseconds": o.time,
            "expected": o.expected(machine),
            "expected_by_default": o.expected(&Machine::default()),
        })
    });
    Ok(json!({
        "processor": processor_model(),
        "file": place,
        "constants": rows.collect::<Vec<_>>(),
        "kernels": kernels.collect::<Vec<_>>(),
    }))
}
