//! What is said of all cases: as text, and as JSON.

use serde_json::{Value, json};

use super::copying;
use super::figures::{Case, Mean, Report};
use super::table;

/// What was measured, and what is printed of it.
pub struct Timed {
    pub report: Report,
    pub text: String,
    pub json: Value,
}

impl Timed {
    /// Of a statement, for which the density of a tensor, and layouts, may change.
    pub fn of_cases(cases: Vec<Case>, swept: Option<String>) -> Timed {
        let report = Report { cases, swept, copying: copying::rate() };
        let (copying, several) = (report.copying, report.cases.len() > 1);
        let mut text = String::new();
        for case in &report.cases {
            let table = table::text(case, copying);
            text.push_str(&format!("{}{}\n{table}\n", case.statement, about(case, &report)));
        }
        if several {
            text.push_str(&format!("the fastest\n{}\n", table::points(&report)));
            text.push_str(&format!("geometric means\n{}\n", table::means(&report)));
        }
        text.push_str(&machine(copying));
        let rows: Vec<Value> =
            report.cases.iter().flat_map(|case| table::rows(case, copying)).collect();
        let mut json = json!({ "rows": rows, "copying": copying });
        if several {
            json["points"] = report.cases.iter().map(point).collect();
            json["means"] = report.means().iter().map(mean).collect();
        }
        Timed { report, text, json }
    }
}

/// `, x at density 0.01, A=csr`
fn about(case: &Case, report: &Report) -> String {
    let density = case.density.zip(report.swept.as_ref());
    let density = density.map(|(density, tensor)| format!(", {tensor} at density {density}"));
    let layouts = case.layouts.as_ref().map(|layouts| format!(", {layouts}"));
    density.unwrap_or_default() + &layouts.unwrap_or_default()
}

fn point(case: &Case) -> Value {
    json!({
        "density": case.density,
        "layouts": case.layouts,
        "fastest": case.fastest_name(),
        "median": case.fastest().map(|(_, median)| median),
        "regret": case.regret(),
    })
}

fn mean(mean: &Mean) -> Value {
    json!({
        "strategy": mean.strategy,
        "cases": mean.cases,
        "ratio_to_merge": mean.ratio_to_merge,
        "against_fastest": mean.against_fastest,
    })
}

/// What the shares in the tables are of.
pub fn machine(copying: Option<f64>) -> String {
    let line = |rate| format!("one thread copies at {:.2} GB/s, read and written\n", rate * 1e-9);
    copying.map(line).unwrap_or_default()
}
