//! What is measured, and the figures that are reported of it: the table, the files and the page show the same.

use indexmap::IndexMap;

use super::strategies::{automatic, is_baseline};

/// A strategy, and its runs.
pub struct Row {
    pub strategy: String,
    /// What ran, for the automatic choice.
    pub templates: Vec<String>,
    pub seconds: Vec<f64>,
    /// To make the module, without `rustc`.
    pub generate: f64,
    /// Of the module.
    pub lines: usize,
    pub skipped: Option<String>,
    /// The strategy that makes the same kernel: it ran for both.
    pub same_as: Option<String>,
    /// Of the operands and the result, each array once.
    pub bytes: Option<usize>,
}

impl Row {
    pub fn new(strategy: &str) -> Row {
        Row {
            strategy: strategy.to_string(),
            templates: Vec::new(),
            seconds: Vec::new(),
            generate: 0.0,
            lines: 0,
            skipped: None,
            same_as: None,
            bytes: None,
        }
    }

    /// What is said beside its figures: what ran, or who makes the same kernel.
    pub fn remark(&self) -> String {
        match &self.same_as {
            Some(same) => format!("same as {same}"),
            None => self.templates.join(", "),
        }
    }
}

/// Strategies side by side, on the same data.
#[derive(Default)]
pub struct Case {
    pub statement: String,
    /// Of the tensor that is swept.
    pub density: Option<f64>,
    /// Of what changes its layout, `A=csr`.
    pub layouts: Option<String>,
    pub rows: Vec<Row>,
    /// Multiplications and additions of a run, where they are counted.
    pub operations: Option<f64>,
}

impl Case {
    /// The strategy with the least median, and that median.
    pub fn fastest(&self) -> Option<(&Row, f64)> {
        let all = self.rows.iter().filter_map(|row| Some((row, median(&row.seconds)?)));
        all.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Its name; where it is the automatic choice, that of the strategy which makes the same kernel.
    pub fn fastest_name(&self) -> Option<&str> {
        let (fastest, _) = self.fastest()?;
        let same = |row: &&Row| row.same_as.as_deref() == Some(automatic());
        let is_chosen = fastest.strategy == automatic();
        let chosen = self.rows.iter().filter(|_| is_chosen).find(same);
        Some(&chosen.unwrap_or(fastest).strategy)
    }

    /// How many times as long as the fastest strategy the automatic choice takes.
    pub fn regret(&self) -> Option<f64> {
        let own = self.rows.iter().find(|row| row.strategy == automatic())?;
        Figures::of(own, self, None).map(|figures| figures.against_fastest)
    }
}

/// What is measured on a machine.
pub struct Report {
    pub cases: Vec<Case>,
    /// The tensor whose density changes.
    pub swept: Option<String>,
    /// Bytes in a second that copying reads and writes here, if there was room to find out.
    pub copying: Option<f64>,
}

/// Geometric means over the cases in which a strategy ran.
pub struct Mean {
    pub strategy: String,
    pub cases: usize,
    /// How many times as long the merge takes, where it ran too.
    pub ratio_to_merge: Option<f64>,
    pub against_fastest: f64,
}

impl Report {
    /// Of each strategy, in the order in which they are met.
    pub fn means(&self) -> Vec<Mean> {
        let mut found: IndexMap<&str, Vec<Figures>> = IndexMap::new();
        for case in &self.cases {
            for row in &case.rows {
                if let Some(figures) = Figures::of(row, case, self.copying) {
                    found.entry(&row.strategy).or_default().push(figures);
                }
            }
        }
        let mean = |(strategy, all): (&str, Vec<Figures>)| {
            let against_fastest = geometric(all.iter().map(|f| f.against_fastest))?;
            let ratio_to_merge = geometric(all.iter().filter_map(|f| f.ratio_to_merge));
            let (strategy, cases) = (strategy.to_string(), all.len());
            Some(Mean { strategy, cases, ratio_to_merge, against_fastest })
        };
        found.into_iter().filter_map(mean).collect()
    }
}

fn geometric(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let logarithms: Vec<f64> = numbers.map(f64::ln).collect();
    let n = logarithms.len() as f64;
    (n > 0.0).then(|| (logarithms.iter().sum::<f64>() / n).exp())
}

/// Numbers of a strategy that ran.
pub struct Figures {
    pub median: f64,
    /// Between which the middle half of the runs lies.
    pub quartiles: [f64; 2],
    pub least: f64,
    pub most: f64,
    pub gflops: Option<f64>,
    /// Bytes of the operands and the result, in a second.
    pub bandwidth: Option<f64>,
    /// The same, as a part of what copying reaches.
    pub share: Option<f64>,
    /// How many times as long the merge takes.
    pub ratio_to_merge: Option<f64>,
    /// How many times as long as the fastest strategy it takes.
    pub against_fastest: f64,
}

impl Figures {
    /// None for a strategy that did not run.
    pub fn of(row: &Row, case: &Case, copying: Option<f64>) -> Option<Figures> {
        let middle = median(&row.seconds)?;
        let fastest = case.fastest().map_or(middle, |(_, least)| least);
        let merge = case.rows.iter().find(|row| is_baseline(&row.strategy));
        let merge = merge.and_then(|row| median(&row.seconds));
        let positive = middle > 0.0;
        let bandwidth = row.bytes.filter(|_| positive).map(|bytes| bytes as f64 / middle);
        let ratio = |over: f64, under: f64| if over == under { 1.0 } else { over / under };
        Some(Figures {
            median: middle,
            quartiles: [quantile(&row.seconds, 0.25)?, quantile(&row.seconds, 0.75)?],
            least: quantile(&row.seconds, 0.0)?,
            most: quantile(&row.seconds, 1.0)?,
            gflops: case.operations.filter(|_| positive).map(|n| n / middle * 1e-9),
            bandwidth,
            share: bandwidth.zip(copying).map(|(own, copying)| own / copying),
            ratio_to_merge: merge.map(|merge| ratio(merge, middle)),
            against_fastest: ratio(middle, fastest),
        })
    }
}

pub fn median(seconds: &[f64]) -> Option<f64> {
    quantile(seconds, 0.5)
}

/// Linear between the two runs that are next to it.
fn quantile(seconds: &[f64], part: f64) -> Option<f64> {
    let mut sorted = seconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let at = part * last as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    Some(below + (above - below) * at.fract())
}

#[cfg(test)]
mod tests {
    use super::super::strategies::baseline;
    use super::*;

    fn row(strategy: &str, seconds: &[f64]) -> Row {
        Row { seconds: seconds.to_vec(), bytes: Some(8), ..Row::new(strategy) }
    }

    #[test]
    fn quantiles_lie_between_runs() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[3.0], 0.25), Some(3.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(quantile(&[5.0, 1.0, 2.0, 3.0, 4.0], 0.75), Some(4.0));
    }

    #[test]
    fn means_are_geometric() {
        let case = |own: f64| Case {
            rows: vec![row("auto", &[own]), row(baseline(), &[4.0])],
            ..Case::default()
        };
        let cases = vec![case(1.0), case(4.0)];
        let means = Report { cases, swept: None, copying: None }.means();
        assert_eq!((means[0].cases, means[0].against_fastest), (2, 1.0));
        assert!((means[0].ratio_to_merge.unwrap() - 2.0).abs() < 1e-12);
        assert!((means[1].against_fastest - 2.0).abs() < 1e-12);
    }

    #[test]
    fn figures_relate_a_strategy_to_the_others_and_to_the_machine() {
        let rows = vec![row("auto", &[2.0]), row(baseline(), &[4.0]), row("skipped", &[])];
        let case = Case { rows, operations: Some(2e9), ..Case::default() };
        let auto = Figures::of(&case.rows[0], &case, Some(16.0)).unwrap();
        assert_eq!((auto.ratio_to_merge, auto.against_fastest), (Some(2.0), 1.0));
        assert_eq!((auto.gflops, auto.bandwidth, auto.share), (Some(1.0), Some(4.0), Some(0.25)));
        assert_eq!(Figures::of(&case.rows[1], &case, None).unwrap().against_fastest, 2.0);
        assert!(Figures::of(&case.rows[2], &case, None).is_none());
        assert_eq!((case.fastest().unwrap().1, case.regret()), (2.0, Some(1.0)));
    }

    #[test]
    fn the_fastest_is_named_by_the_strategy_that_makes_the_kernel_of_the_automatic_choice() {
        let own = Row { same_as: Some(automatic().to_string()), ..row("px=a", &[2.0]) };
        let rows = vec![row(automatic(), &[2.0]), row("px=b", &[3.0]), own];
        let mut case = Case { rows, ..Case::default() };
        assert_eq!((case.fastest_name(), case.regret()), (Some("px=a"), Some(1.0)));
        case.rows[1].seconds = vec![1.0];
        assert_eq!((case.fastest_name(), case.regret()), (Some("px=b"), Some(2.0)));
    }
}
