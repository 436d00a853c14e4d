//! A line for each strategy, as spreadsheets and data frames read it (RFC 4180).

use super::figures::{Figures, Report};

/// Times are seconds, and rates are of bytes in a second.
const HEADER: &str = "statement,density,layouts,strategy,templates,runs,median,lower_quartile,upper_quartile,\
                      least,most,gflops,bytes,bandwidth,share_of_copying,ratio_to_merge,\
                      against_fastest,generate,lines,skipped,same_as";

/// The file.
pub fn text(report: &Report) -> String {
    let mut out = format!("{HEADER}\n");
    for case in &report.cases {
        for row in &case.rows {
            let figures = Figures::of(row, case, report.copying);
            let of = |figure: fn(&Figures) -> Option<f64>| {
                figures.as_ref().and_then(figure).map(|x| x.to_string()).unwrap_or_default()
            };
            let cells = [
                quoted(&case.statement),
                case.density.map(|d| d.to_string()).unwrap_or_default(),
                quoted(case.layouts.as_deref().unwrap_or_default()),
                quoted(&row.strategy),
                quoted(&row.templates.join(" ")),
                row.seconds.len().to_string(),
                of(|f| Some(f.median)),
                of(|f| Some(f.quartiles[0])),
                of(|f| Some(f.quartiles[1])),
                of(|f| Some(f.least)),
                of(|f| Some(f.most)),
                of(|f| f.gflops),
                row.bytes.map(|n| n.to_string()).unwrap_or_default(),
                of(|f| f.bandwidth),
                of(|f| f.share),
                of(|f| f.ratio_to_merge),
                of(|f| Some(f.against_fastest)),
                row.generate.to_string(),
                row.lines.to_string(),
                quoted(row.skipped.as_deref().unwrap_or_default()),
                quoted(row.same_as.as_deref().unwrap_or_default()),
            ];
            out.push_str(&cells.join(","));
            out.push('\n');
        }
    }
    out
}

fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::{Case, Row};
    use super::*;

    #[test]
    fn texts_with_commas_are_quoted_and_what_did_not_run_is_blank() {
        let row = Row { skipped: Some("too \"slow\"".to_string()), ..Row::new("px=a") };
        let statement = "y[i] += A[i,j]".to_string();
        let case = Case { statement, rows: vec![row], ..Case::default() };
        let text = text(&Report { cases: vec![case], swept: None, copying: None });
        let line = text.lines().nth(1).unwrap();
        assert_eq!(line, "\"y[i] += A[i,j]\",,,px=a,,0,,,,,,,,,,,,0,0,\"too \"\"slow\"\"\",");
        assert_eq!(text.lines().next().unwrap().split(',').count(), 21);
    }
}
