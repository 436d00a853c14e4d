//! Strategies side by side, as text and as JSON.

use std::ops::Range;
use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};

use super::super::shown;
use super::figures::{Case, Figures, Report};

const HEADER: [&str; 11] = [
    "strategy",
    "median",
    "middle half",
    "runs",
    "GFLOP/s",
    "GB/s",
    "of copying",
    "to the fastest",
    "to the merge",
    "generate",
    "lines",
];

/// A row for each strategy.
pub fn text(case: &Case, copying: Option<f64>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(HEADER.into_iter().chain([""]));
    let time = |s: f64| shown::time(Duration::from_secs_f64(s));
    let or_blank = |text: Option<String>| text.unwrap_or_default();
    for row in &case.rows {
        let Some(figures) = Figures::of(row, case, copying) else {
            let mut cells = vec![row.strategy.clone(), String::new(), String::new()];
            cells.push("0".to_string());
            cells.resize(HEADER.len(), String::new());
            cells.push(format!("skipped: {}", row.skipped.clone().unwrap_or_default()));
            table.add_row(cells);
            continue;
        };
        let [lower, upper] = figures.quartiles;
        table.add_row([
            row.strategy.clone(),
            time(figures.median),
            format!("{} – {}", time(lower), time(upper)),
            row.seconds.len().to_string(),
            or_blank(figures.gflops.map(|rate| format!("{rate:.3}"))),
            or_blank(figures.bandwidth.map(|rate| format!("{:.2}", rate * 1e-9))),
            or_blank(figures.share.map(|share| format!("{:.0} %", share * 100.0))),
            format!("{:.2}×", figures.against_fastest),
            or_blank(figures.ratio_to_merge.map(|ratio| format!("{:.2}×", 1.0 / ratio))),
            time(row.generate),
            row.lines.to_string(),
            row.remark(),
        ]);
    }
    lines(table, 1..HEADER.len())
}

/// A row for each case: which strategy is the fastest, and how far from it the automatic choice is.
pub fn points(report: &Report) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["density", "layouts", "strategy", "median", "regret of auto"]);
    for case in &report.cases {
        let fastest = case.fastest();
        table.add_row([
            case.density.map(|d| d.to_string()).unwrap_or_default(),
            case.layouts.clone().unwrap_or_default(),
            case.fastest_name().unwrap_or("none").to_string(),
            fastest.map(|(_, s)| shown::time(Duration::from_secs_f64(s))).unwrap_or_default(),
            case.regret().map(|regret| format!("{regret:.2}×")).unwrap_or_default(),
        ]);
    }
    lines(table, 3..5)
}

/// A row for each strategy: geometric means over all cases.
pub fn means(report: &Report) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["strategy", "cases", "to the fastest", "merge to it"]);
    for mean in report.means() {
        table.add_row([
            mean.strategy,
            mean.cases.to_string(),
            format!("{:.2}×", mean.against_fastest),
            mean.ratio_to_merge.map(|ratio| format!("{ratio:.2}×")).unwrap_or_default(),
        ]);
    }
    lines(table, 1..4)
}

/// With numbers in some columns.
fn lines(mut table: Table, numbers: Range<usize>) -> String {
    for column in numbers {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|l| format!("{}\n", l.strip_prefix(' ').unwrap_or(&l).trim_end())).collect()
}

/// An object for each strategy.
pub fn rows(case: &Case, copying: Option<f64>) -> Vec<Value> {
    let one = |row| {
        let row: &super::figures::Row = row;
        let figures = Figures::of(row, case, copying);
        let of = |figure: fn(&Figures) -> Option<f64>| figures.as_ref().and_then(figure);
        json!({
            "density": case.density,
            "layouts": case.layouts,
            "strategy": row.strategy,
            "templates": row.templates,
            "seconds": row.seconds,
            "median": of(|f| Some(f.median)),
            "lower_quartile": of(|f| Some(f.quartiles[0])),
            "upper_quartile": of(|f| Some(f.quartiles[1])),
            "least": of(|f| Some(f.least)),
            "most": of(|f| Some(f.most)),
            "gflops": of(|f| f.gflops),
            "bytes": row.bytes,
            "bandwidth": of(|f| f.bandwidth),
            "share_of_copying": of(|f| f.share),
            // The two-finger merge is the baseline, where there is one.
            "ratio_to_merge": of(|f| f.ratio_to_merge),
            "against_fastest": of(|f| Some(f.against_fastest)),
            "generate": row.generate,
            "lines": row.lines,
            "skipped": row.skipped,
            "same_as": row.same_as,
        })
    };
    case.rows.iter().map(one).collect()
}
