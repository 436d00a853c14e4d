//! Generated SpMSpV, one kernel for each forced find and the one that is chosen for the data, against a merge as TACO
//! makes it and the best that are written by hand: `cargo bench --bench spmspv [MATRIX]`.
//!
//! Criterion times one matrix; then all matrices, or those whose name has the word, and densities of the vector are
//! compared in turns.

mod common;

use std::path::Path;

use common::compare::{Competitor, compare, geometric_mean, verdict};
use common::generated::Generated;
use common::generators::{generated_matrices, rmat};
use common::handwritten::{Handwritten, Memory, SEARCHES};
use common::matrix::{Matrix, Vector, real_matrices};
use criterion::{BenchmarkId, Criterion};

const DENSITIES: [f64; 5] = [1e-4, 1e-3, 1e-2, 1e-1, 0.5];
/// Forced finds whose time is the sum of that of the rows, with the speed-up over the merge that is wanted of each.
const WALKS: [(&str, Option<f64>); 2] = [("seq", Some(6.0)), ("gallop", Some(16.0))];
/// Forced finds that may build a table first.
const TABLES: [(&str, Option<f64>); 6] = [
    ("bsearch", None),
    ("hash", None),
    ("direct", Some(67.0)),
    ("rank", Some(67.0)),
    ("masked", None),
    ("expand", Some(78.0)),
];
/// What is wanted of the choice: its speed-up over the merge; its time by that of the fastest, on average and at most.
const CHOSEN: f64 = 95.0;
/// The speed-up of what is chosen where the matrix is at hand by rows and by columns.
const BOTH: f64 = 980.0;
const REGRET: [f64; 2] = [1.05, 1.5];
/// A merge walks the vector once for every row. Beyond this many steps only every k-th row is
/// walked, and the time multiplied: it is the sum of the rows' times.
const STEPS: usize = 4_000_000;
/// Fewer rows than this say nothing about the others.
const FEWEST_ROWS: usize = 16;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let bench = Bench {
        folder: folder.path(),
        walks: WALKS.map(|(find, _)| Generated::compile(Some(find), folder.path())),
        tables: TABLES.map(|(find, _)| Generated::compile(Some(find), folder.path())),
        by_hand: Handwritten::compile(folder.path()),
    };
    let mut criterion = Criterion::default().configure_from_args();
    bench.single(&mut criterion);
    criterion.final_summary();
    if !common::is_test_run() {
        bench.ratios();
    }
}

struct Bench<'f> {
    folder: &'f Path,
    walks: [Generated; WALKS.len()],
    tables: [Generated; TABLES.len()],
    by_hand: Handwritten,
}

/// Seconds of one case.
struct Case {
    density: f64,
    merge: f64,
    merge_branches: f64,
    walks: [f64; WALKS.len()],
    tables: [f64; TABLES.len()],
    searches_by_hand: [f64; SEARCHES.len()],
    chosen: f64,
    both: f64,
}

impl Case {
    fn best_by_hand(&self) -> f64 {
        least(self.searches_by_hand.iter().chain([&self.merge, &self.merge_branches]))
    }

    /// Of the generated kernels.
    fn best(&self) -> f64 {
        least(self.walks.iter().chain(&self.tables).chain([&self.chosen]))
    }
}

/// Of two times.
type Ratio = fn(&Case) -> f64;

fn least<'s>(seconds: impl Iterator<Item = &'s f64>) -> f64 {
    seconds.copied().fold(f64::INFINITY, f64::min)
}

/// A column of the table of means: what it is called, and a time of a case.
type Column<'c> = (String, Box<dyn Fn(&Case) -> f64 + 'c>);

impl Bench<'_> {
    fn single(&self, criterion: &mut Criterion) {
        let mut group = criterion.benchmark_group("spmspv");
        group.sample_size(10);
        let a = rmat(17, 1_000_000);
        let x = Vector::random(a.columns, 1e-2, 1);
        let mut y = vec![0.0; a.rows];
        for (kernel, (find, _)) in self.tables.iter().zip(TABLES) {
            group.bench_function(BenchmarkId::new(find, &a.name), |b| {
                b.iter(|| kernel.spmspv(&a, &x, &mut y));
            });
        }
        group.finish();
    }

    fn ratios(&self) {
        println!(
            "{:<14} {:>8} {:>8} {:>11} {:>8} {:>8} {:>8} {:>8}",
            "matrix", "density", "stored x", "merge", "chosen", "best", "by hand", "by"
        );
        let wanted = std::env::args().skip(1).find(|a| !a.starts_with('-')).unwrap_or_default();
        let all = real_matrices().into_iter().chain(generated_matrices());
        let mut cases = Vec::new();
        for a in all.filter(|a| a.name.contains(&wanted)) {
            let columns = a.transposed();
            for density in DENSITIES {
                let x = Vector::random(a.columns, density, 2);
                let case = self.one_case((&a, &columns), &x, density);
                let by = case.searches_by_hand.iter().position(|s| *s == case.best_by_hand());
                println!(
                    "{:<14} {:>8} {:>8} {:>10.1}u {:>8.2} {:>8.2} {:>8.2} {:>8}",
                    a.name,
                    density,
                    x.crd.len(),
                    case.merge * 1e6,
                    case.merge / case.chosen,
                    case.merge / case.best(),
                    case.merge / case.best_by_hand(),
                    by.map_or("merge", |k| SEARCHES[k]),
                );
                cases.push(case);
            }
        }
        summary(&cases);
    }

    /// Of a matrix, and of its columns as rows.
    fn one_case(&self, (a, columns): (&Matrix, &Matrix), x: &Vector, density: f64) -> Case {
        // Walks are measured on every `step`-th row; searches, which may build a table, on all rows.
        let occupied = a.occupied();
        let steps = occupied * x.crd.len() + a.stored();
        let step = steps.div_ceil(STEPS).min(occupied / FEWEST_ROWS).max(1);
        let sample = if step == 1 { a.clone() } else { a.every(step) };
        let mut walks = vec![
            Competitor::new("merge", |y| self.by_hand.merge(&sample, x, y)),
            Competitor::new("branching merge", |y| self.by_hand.merge_branches(&sample, x, y)),
        ];
        for (kernel, (find, _)) in self.walks.iter().zip(WALKS) {
            walks.push(Competitor::new(find, |y| kernel.spmspv(&sample, x, y)));
        }
        let mut walks = compare(&a.name, sample.rows, &mut walks);
        for seconds in &mut walks {
            *seconds *= if step == 1 { 1.0 } else { occupied as f64 / sample.rows as f64 };
        }
        let name = format!("{}_{density:e}", a.name);
        let chosen = Generated::chosen((a, &["csr"]), x, &name, self.folder);
        let name = format!("{name}_both");
        let both = Generated::chosen((a, &["csr", "csc"]), x, &name, self.folder);
        let read = if both.reads_columns { columns } else { a };
        let mut memories = SEARCHES.map(|_| Memory::new(x.extent));
        let mut all = vec![Competitor::new("chosen", |y| chosen.spmspv(a, x, y))];
        for (kernel, (find, _)) in self.tables.iter().zip(TABLES) {
            all.push(Competitor::new(find, |y| kernel.spmspv(a, x, y)));
        }
        for (which, memory) in memories.iter_mut().enumerate() {
            all.push(Competitor::new(SEARCHES[which], move |y| {
                self.by_hand.search(which, a, x, memory, y);
            }));
        }
        all.push(Competitor::new("both orders", |y| both.spmspv(read, x, y)));
        let all = compare(&a.name, a.rows, &mut all);
        let part = |from: usize| move |k: usize| from + k;
        Case {
            density,
            merge: walks[0],
            merge_branches: walks[1],
            walks: std::array::from_fn(part(2)).map(|k| walks[k]),
            tables: std::array::from_fn(part(1)).map(|k| all[k]),
            searches_by_hand: std::array::from_fn(part(1 + TABLES.len())).map(|k| all[k]),
            chosen: all[0],
            both: all[1 + TABLES.len() + SEARCHES.len()],
        }
    }
}

fn summary(cases: &[Case]) {
    let mut columns: Vec<(Column<'_>, Option<f64>)> = Vec::new();
    let mut column = |name: &str, seconds: Box<dyn Fn(&Case) -> f64>, wanted| {
        columns.push(((name.to_owned(), seconds), wanted));
    };
    for (k, (find, wanted)) in WALKS.into_iter().enumerate() {
        column(find, Box::new(move |c| c.walks[k]), wanted);
    }
    for (k, (find, wanted)) in TABLES.into_iter().enumerate() {
        column(find, Box::new(move |c| c.tables[k]), wanted);
    }
    column("chosen", Box::new(|c| c.chosen), Some(CHOSEN));
    column("chosen of both orders", Box::new(|c| c.both), Some(BOTH));
    column("best of these", Box::new(Case::best), None);
    column("by hand: branching merge", Box::new(|c| c.merge_branches), None);
    for (k, search) in SEARCHES.into_iter().enumerate() {
        column(&format!("by hand: {search}"), Box::new(move |c| c.searches_by_hand[k]), None);
    }
    column("best by hand", Box::new(Case::best_by_hand), None);

    println!("\ngeometric means of the speed-up over the merge, {} cases:", cases.len());
    let densities = DENSITIES.map(|d| format!("{d:>9}")).concat();
    println!("{:<26} {densities} {:>9}", "density", "all");
    for ((name, seconds), _) in &columns {
        let speed = |c: &Case| c.merge / seconds(c);
        let means = DENSITIES.map(|density| {
            let here = cases.iter().filter(|c| c.density == density);
            format!("{:>9.2}", geometric_mean(here.map(speed)))
        });
        println!("{name:<26} {} {:>9.2}", means.concat(), geometric_mean(cases.iter().map(speed)));
    }
    println!();
    for ((name, seconds), wanted) in &columns {
        if let Some(wanted) = wanted {
            let mean = geometric_mean(cases.iter().map(|c| c.merge / seconds(c)));
            verdict(
                &format!("{name} over the merge"),
                mean,
                &format!(">= {wanted}"),
                mean >= *wanted,
            );
        }
    }
    let regrets: [(&str, Ratio); 3] = [
        ("chosen / best of all", |c: &Case| c.chosen / c.best().min(c.best_by_hand())),
        ("chosen / best generated", |c: &Case| c.chosen / c.best()),
        ("chosen / best by hand", |c: &Case| c.chosen / c.best_by_hand()),
    ];
    for (name, regret) in regrets {
        let [usual, most] = REGRET;
        let mean = geometric_mean(cases.iter().map(regret));
        let worst = cases.iter().map(regret).fold(0.0, f64::max);
        verdict(name, mean, &format!("<= {usual}"), mean <= usual);
        verdict(&format!("{name}, at worst"), worst, &format!("<= {most}"), worst <= most);
    }
}
