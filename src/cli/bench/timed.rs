//! What is said of all cases: as text, and as JSON.

use serde_json::{Value, json};

use super::copying;
use super::figures::{Case, Report};
use super::table;

/// What was measured, and what is printed of it.
pub struct Timed {
    pub report: Report,
    pub text: String,
    pub json: Value,
}

impl Timed {
    /// Of a statement.
    pub fn of_cases(cases: Vec<Case>) -> Timed {
        let report = Report { cases, copying: copying::rate() };
        let copying = report.copying;
        let mut text = String::new();
        for case in &report.cases {
            text.push_str(&format!("{}\n{}\n", case.statement, table::text(case, copying)));
        }
        text.push_str(&machine(copying));
        let rows: Vec<Value> =
            report.cases.iter().flat_map(|case| table::rows(case, copying)).collect();
        let json = json!({ "rows": rows, "copying": copying });
        Timed { report, text, json }
    }
}

/// What the shares in the tables are of.
pub fn machine(copying: Option<f64>) -> String {
    let line = |rate| format!("one thread copies at {:.2} GB/s, read and written\n", rate * 1e-9);
    copying.map(line).unwrap_or_default()
}
