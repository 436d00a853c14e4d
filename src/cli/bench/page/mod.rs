//! One page with plots of what was measured, which needs nothing else.
//!
//! In: a [`Report`]. Out: HTML, the same for the same report. The template has the words and the shapes, this has
//! the places.

mod axis;
mod plot;

use indexmap::IndexMap;
use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;
use siskin::diagnostic::{Diagnostic, Result};

use super::figures::{Case, Figures, Mean, Report, Row};
use super::strategies::automatic;
use axis::{number, seconds};
use plot::{Labels, Map, Plot, Point, Scale, Style};

const TEMPLATE: &str = include_str!("page.html.j2");

/// Distinguished also by those who see few colours (Okabe and Ito), then repeated with dashes.
const COLOURS: [&str; 9] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b38600", "#56b4e9", "#8c564b", "#6a51a3",
    "#7f7f7f",
];
const AUTOMATIC: &str = "#111111";

#[derive(Serialize)]
struct Page {
    statement: String,
    swept: Option<String>,
    copying: Option<String>,
    times: Vec<Plot>,
    speedup: Vec<Plot>,
    map: Option<Map>,
    regret: Option<Plot>,
    roofline: Option<Plot>,
    rows: Vec<Vec<String>>,
    means: Vec<Vec<String>>,
    skipped: Vec<String>,
    /// Whether layouts change.
    layouts: bool,
}

/// The page.
///
/// # Errors
/// A defect if the template does not fit.
pub fn html(report: &Report) -> Result<String> {
    let styles = styles(report);
    let statements: Vec<&str> = report.cases.iter().map(|case| case.statement.as_str()).collect();
    let is_sweep = report.cases.iter().any(|case| case.density.is_some());
    let layouts = report.cases.iter().any(|case| case.layouts.is_some());
    let page = Page {
        statement: statements.last().copied().unwrap_or_default().to_string(),
        swept: report.swept.clone(),
        copying: report.copying.map(|rate| format!("{:.1}", rate * 1e-9)),
        times: match is_sweep {
            true => by_density(report, &styles, times(report), "time", &|f| Some(f.median)),
            false => by_case(report, &styles),
        },
        speedup: if is_sweep { speedup(report, &styles) } else { Vec::new() },
        map: is_sweep.then(|| map(report, &styles)),
        regret: is_sweep.then(|| regret(report)),
        roofline: roofline(report, &styles),
        rows: report.cases.iter().flat_map(|case| cells(case, report)).collect(),
        // Those of different kernels would say nothing.
        means: if is_sweep || layouts { means(report) } else { Vec::new() },
        skipped: report.cases.iter().flat_map(skipped).collect(),
        layouts,
    };
    let wrong = |e: minijinja::Error| Diagnostic::defect(format!("the page's template: {e:#}"));
    let mut environment = Environment::new();
    // The name says that texts are escaped.
    environment.add_template("page.html", TEMPLATE).map_err(wrong)?;
    let template = environment.get_template("page.html").map_err(wrong)?;
    let text = template.render(Serde(&page)).map_err(wrong)?;
    // The template's own lines leave nothing behind.
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    Ok(lines.map(|line| format!("{line}\n")).collect())
}

/// How each strategy is drawn, in the order in which they were met.
fn styles(report: &Report) -> IndexMap<String, Style> {
    let mut out: IndexMap<String, Style> = IndexMap::new();
    for row in report.cases.iter().flat_map(|case| &case.rows) {
        let others = out.keys().filter(|name| *name != automatic()).count();
        out.entry(row.strategy.clone()).or_insert_with(|| style(&row.strategy, others));
    }
    out
}

fn style(strategy: &str, others: usize) -> Style {
    if strategy == automatic() {
        let dash = "2 4".to_string();
        return Style { colour: AUTOMATIC.to_string(), dash, width: 2.4, ring: true };
    }
    let dash = ["", "7 3", "2 2", "9 3 2 3"][others / COLOURS.len() % 4].to_string();
    Style { colour: COLOURS[others % COLOURS.len()].to_string(), dash, width: 1.8, ring: false }
}

/// What a point says when it is asked.
fn title(row: &Row, case: &Case, figures: &Figures) -> String {
    let mut out = format!("{}: {}", row.strategy, seconds(figures.median));
    for part in case.density.map(|d| format!("density {}", number(d))).iter().chain(&case.layouts) {
        out.push_str(&format!(", {part}"));
    }
    out
}

/// Choices of layouts, each with its cases.
fn groups(report: &Report) -> IndexMap<String, Vec<&Case>> {
    let mut out: IndexMap<String, Vec<&Case>> = IndexMap::new();
    for case in &report.cases {
        out.entry(case.layouts.clone().unwrap_or_default()).or_default().push(case);
    }
    out
}

fn all_figures(report: &Report) -> impl Iterator<Item = (&Case, &Row, Figures)> {
    let of = |case: &'_ Case, row: &'_ Row| Figures::of(row, case, report.copying);
    report
        .cases
        .iter()
        .flat_map(|case| case.rows.iter().map(move |row| (case, row)))
        .filter_map(move |(case, row)| Some((case, row, of(case, row)?)))
}

fn times(report: &Report) -> Scale<'_> {
    let numbers = all_figures(report).flat_map(|(_, _, f)| [f.quartiles[0], f.quartiles[1]]);
    Scale { numbers: numbers.collect(), linear: None, label: &seconds }
}

fn densities(report: &Report) -> Scale<'_> {
    let numbers = report.cases.iter().filter_map(|case| case.density).collect();
    Scale { numbers, linear: None, label: &number }
}

/// A figure against density, for each choice of layouts that has it.
fn by_density(
    report: &Report,
    styles: &IndexMap<String, Style>,
    y: Scale<'_>,
    label: &str,
    figure: &dyn Fn(&Figures) -> Option<f64>,
) -> Vec<Plot> {
    let x = densities(report);
    let plot = |(layouts, cases): (String, Vec<&Case>)| {
        let mut lines: IndexMap<&str, Vec<Point>> = IndexMap::new();
        for case in &cases {
            for row in &case.rows {
                let figures = Figures::of(row, case, report.copying);
                let (Some(f), Some(density)) = (figures, case.density) else { continue };
                let Some(y) = figure(&f) else { continue };
                let spread = (y == f.median).then_some(f.quartiles);
                let point = Point { x: density, y, spread, title: title(row, case, &f) };
                lines.entry(&row.strategy).or_default().push(point);
            }
        }
        // The automatic choice lies above what it chooses.
        lines.sort_by_key(|name, _| *name == automatic());
        let lines = lines.into_iter();
        let lines: Vec<_> =
            lines.map(|(name, points)| (name.to_string(), styles[name].clone(), points)).collect();
        let labels = Labels { title: layouts, x: "density", y: label };
        (!lines.is_empty()).then(|| Plot::by_numbers(labels, &x, &y, lines, true, None))
    };
    groups(report).into_iter().filter_map(plot).collect()
}

/// How many times as long the merge takes, against density.
fn speedup(report: &Report, styles: &IndexMap<String, Style>) -> Vec<Plot> {
    let numbers = all_figures(report).filter_map(|(_, _, f)| f.ratio_to_merge).collect();
    let y = Scale { numbers, linear: None, label: &number };
    by_density(report, styles, y, "merge ÷ strategy", &|f| f.ratio_to_merge)
}

/// Times of each case.
fn by_case(report: &Report, styles: &IndexMap<String, Style>) -> Vec<Plot> {
    let x = times(report);
    let plot = |case: &Case| {
        let point = |row: &Row| {
            let f = Figures::of(row, case, report.copying)?;
            let title = title(row, case, &f);
            let point = Point { x: f.median, y: 0.0, spread: Some(f.quartiles), title };
            Some((row.strategy.clone(), styles[&row.strategy].clone(), point))
        };
        let title = match (&case.layouts, report.cases.len()) {
            (Some(layouts), _) => layouts.clone(),
            (None, 1) => String::new(),
            (None, _) => case.statement.clone(),
        };
        let labels = Labels { title, x: "time", y: "" };
        Plot::by_names(labels, &x, case.rows.iter().filter_map(point).collect())
    };
    report.cases.iter().filter(|case| case.fastest().is_some()).map(plot).collect()
}

fn map(report: &Report, styles: &IndexMap<String, Style>) -> Map {
    let groups = groups(report);
    let rows: Vec<String> = groups.keys().cloned().collect();
    let mut columns: Vec<f64> = report.cases.iter().filter_map(|case| case.density).collect();
    columns.dedup();
    let mut map = Map::new(&rows, &columns, &number);
    for (row, cases) in groups.values().enumerate() {
        for case in cases {
            let column = columns.iter().position(|x| Some(*x) == case.density);
            let named = case.fastest_name().zip(case.fastest());
            let (Some(column), Some((name, (_, median)))) = (column, named) else { continue };
            let title = format!("{name}: {}", seconds(median));
            map.add(&rows, row, column, (name, &styles[name], title));
        }
    }
    map.x_label = "density".to_string();
    map
}

fn regret(report: &Report) -> Plot {
    let numbers: Vec<f64> = report.cases.iter().filter_map(Case::regret).collect();
    let y = Scale { numbers, linear: Some([1.0, 1.5]), label: &number };
    let line = |(k, (layouts, cases)): (usize, (String, Vec<&Case>))| {
        let point = |case: &&Case| {
            let (x, y) = (case.density?, case.regret()?);
            let title = format!("{}× at density {}", number(y), number(x));
            Some(Point { x, y, spread: None, title })
        };
        let name = if layouts.is_empty() { automatic().to_string() } else { layouts };
        (name, style("", k), cases.iter().filter_map(point).collect())
    };
    let lines = groups(report).into_iter().enumerate().map(line).collect();
    let labels = Labels { title: String::new(), x: "density", y: "auto ÷ fastest" };
    Plot::by_numbers(labels, &densities(report), &y, lines, true, None)
}

/// Rates against operations for each byte of the operands, where both are known.
fn roofline(report: &Report, styles: &IndexMap<String, Style>) -> Option<Plot> {
    let mut points: IndexMap<&str, Vec<Point>> = IndexMap::new();
    for (case, row, figures) in all_figures(report) {
        let intensity = case.operations.zip(row.bytes).map(|(n, bytes)| n / bytes as f64);
        let (Some(x), Some(y)) = (intensity.filter(|x| *x > 0.0), figures.gflops) else { continue };
        let title = format!("{}, {} GFLOP/s", title(row, case, &figures), number(y));
        points.entry(&row.strategy).or_default().push(Point { x, y, spread: None, title });
    }
    points.sort_by_key(|name, _| *name == automatic());
    let numbers = |of: fn(&Point) -> f64| points.values().flatten().map(of).collect::<Vec<_>>();
    let (mut xs, mut ys) = (numbers(|p| p.x), numbers(|p| p.y));
    let [least, most] =
        [xs.iter().copied().reduce(f64::min)?, xs.iter().copied().reduce(f64::max)?];
    // One density has one place: there is room around it.
    xs.extend([least / 2.0, most * 2.0]);
    let slope = report.copying.map(|rate| rate * 1e-9);
    ys.extend(slope.iter().flat_map(|slope| [slope * least, slope * most]));
    let slope = slope.map(|slope| (slope, format!("copying, {slope:.1} GB/s")));
    let x = Scale { numbers: xs, linear: None, label: &number };
    let y = Scale { numbers: ys, linear: None, label: &number };
    let points = points.into_iter();
    let points = points.map(|(name, p)| (name.to_string(), styles[name].clone(), p)).collect();
    let labels = Labels { title: String::new(), x: "FLOP for each byte", y: "GFLOP/s" };
    Some(Plot::by_numbers(labels, &x, &y, points, false, slope))
}

/// Rows of the table: those that ran.
fn cells(case: &Case, report: &Report) -> Vec<Vec<String>> {
    let or_blank = |x: Option<f64>| x.map(number).unwrap_or_default();
    let row = |row: &Row| {
        let f = Figures::of(row, case, report.copying)?;
        Some(vec![
            case.density.map(number).unwrap_or_default(),
            case.layouts.clone().unwrap_or_default(),
            row.strategy.clone(),
            row.remark(),
            seconds(f.median),
            format!("{} – {}", seconds(f.quartiles[0]), seconds(f.quartiles[1])),
            row.seconds.len().to_string(),
            or_blank(f.gflops),
            or_blank(f.bandwidth.map(|rate| rate * 1e-9)),
            format!("{:.2}", f.against_fastest),
            f.ratio_to_merge.map(|ratio| format!("{:.2}", 1.0 / ratio)).unwrap_or_default(),
        ])
    };
    case.rows.iter().filter_map(row).collect()
}

fn means(report: &Report) -> Vec<Vec<String>> {
    let row = |mean: Mean| {
        let ratio = mean.ratio_to_merge.map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
        vec![mean.strategy, mean.cases.to_string(), format!("{:.2}", mean.against_fastest), ratio]
    };
    report.means().into_iter().map(row).collect()
}

fn skipped(case: &Case) -> Vec<String> {
    let of = |row: &Row| {
        let layouts = case.layouts.as_ref().map(|l| format!(" of {l}")).unwrap_or_default();
        Some(format!("{}{layouts}: {}", row.strategy, row.skipped.as_ref()?))
    };
    case.rows.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(densities: &[f64], layouts: &[&str]) -> Report {
        let mut cases = Vec::new();
        for (k, &density) in densities.iter().enumerate() {
            for (l, layout) in layouts.iter().enumerate() {
                let row = |name: &str, seconds: f64| Row {
                    seconds: vec![seconds, seconds * 1.1],
                    bytes: Some(1 << 20),
                    ..Row::new(name)
                };
                let slow = 1e-3 * (k + l + 1) as f64;
                let skipped = Row { skipped: Some("a < b".to_string()), ..Row::new("c") };
                cases.push(Case {
                    statement: "y[i] += A[i,j]".to_string(),
                    density: (densities.len() > 1).then_some(density),
                    layouts: (layouts.len() > 1).then(|| layout.to_string()),
                    rows: vec![row(automatic(), slow), row("b", 2e-3), skipped],
                    operations: Some(1e6),
                });
            }
        }
        let swept = (densities.len() > 1).then(|| "x".to_string());
        Report { cases, swept, copying: Some(2e10) }
    }

    #[test]
    fn a_page_needs_nothing_else_and_is_the_same_for_the_same_report() {
        for (densities, layouts, plots) in [
            (&[0.5][..], &["csr"][..], 2),
            (&[0.5], &["csr", "csc"], 3),
            (&[1e-3, 1e-2, 0.5], &["csr"], 4),
            (&[1e-3, 0.5], &["csr", "csc"], 5),
        ] {
            let report = report(densities, layouts);
            let page = html(&report).unwrap();
            assert_eq!(page, html(&report).unwrap());
            assert_eq!(page.matches("<svg").count(), plots, "{densities:?} {layouts:?}");
            assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
            for foreign in ["http", "src=", "@import", "url(", "NaN", "inf"] {
                assert!(!page.contains(foreign), "{foreign} in {page}");
            }
            assert!(page.contains("a &lt; b") && page.contains("y[i] += A[i,j]"));
        }
    }

    #[test]
    fn a_page_of_what_did_not_run_says_why() {
        let mut report = report(&[0.5], &["csr"]);
        report.cases[0].rows.retain(|row| row.skipped.is_some());
        let page = html(&report).unwrap();
        assert!(!page.contains("<svg") && page.contains("a &lt; b"), "{page}");
    }
}
