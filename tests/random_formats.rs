//! Random declarations of formats: what packs can be read back, converted and multiplied, and the rest
//! is refused with a reason.
//!
//! Declarations are grown out of the parts that formats are made of, joined in pairs, and changed, as
//! are the shipped ones and the examples. `make fuzz-formats CASES=100000 SEED=1` goes on;
//! `SISKIN_FUZZ_CASE=N` shows one.

#[path = "corpus_support/mod.rs"]
mod support;

#[path = "formats_support/mod.rs"]
mod formats;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use formats::changes::{both, change, of_text};
use formats::data::data;
use formats::grow::declaration;
use formats::judge::{Verdict, judge};
use formats::random::Random;

/// Declarations of one run of the tests.
const CASES: u64 = 400;
const WORKERS: u64 = 2;
/// Threads are started anew after so many: isl and Z3 keep what they know by thread.
const SHIFT: u64 = 400;
/// A case that takes longer is taken for one that never ends.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Default)]
struct Tally {
    cases: usize,
    refused: BTreeMap<String, usize>,
    unpackable: BTreeMap<String, usize>,
    looked_fine: usize,
    usable: usize,
    packed: usize,
    nonempty: usize,
    refusals: BTreeMap<String, usize>,
    multiplied: usize,
    entries_first: usize,
    kernels: BTreeMap<String, usize>,
    examples: BTreeMap<String, u64>,
    slowest: (Duration, u64),
    failures: Vec<(u64, String)>,
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn what_packs_is_read_back_and_the_rest_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    if let Some(one) = number("SISKIN_FUZZ_CASE") {
        let text = text(&mut Random(one));
        println!("{text}");
        println!("{:#?}", case(one, folder.path()));
        return;
    }
    let cases = number("SISKIN_FUZZ_CASES").unwrap_or(CASES);
    let seed = number("SISKIN_FUZZ_SEED").unwrap_or(0) << 32;
    let tallies: Vec<Tally> = std::thread::scope(|scope| {
        let folder = folder.path();
        let workers: Vec<_> =
            (0..WORKERS).map(|w| scope.spawn(move || work(seed, cases, w, folder))).collect();
        workers.into_iter().map(|w| w.join().expect("a worker")).collect()
    });
    let mut all = Tally::default();
    tallies.into_iter().for_each(|t| all.add(t));
    all.report();
}

#[test]
fn every_example_packs_converts_and_multiplies() {
    let mut files: Vec<_> = std::fs::read_dir("examples/formats")
        .expect("the examples")
        .map(|f| f.expect("a file").path().to_string_lossy().into_owned())
        .collect();
    files.sort();
    files.iter().for_each(|file| packs_converts_and_multiplies(file));
}

/// Either would have to be visited before the other; a declaration of random ones found that.
#[test]
fn positions_that_bound_each_other_are_visited() {
    packs_converts_and_multiplies("tests/layouts/padded-above.toml");
}

fn packs_converts_and_multiplies(file: &str) {
    let (mut nonempty, mut multiplied) = (0, 0);
    for seed in 0..12 {
        let mut random = Random(seed);
        let data: Vec<_> = (0..4).map(|_| data(&mut random, 2)).collect();
        let verdict = judge(file, 2, &data, &mut random);
        assert!(verdict.failure.is_none(), "{file}, seed {seed}: {}", verdict.failure.unwrap());
        assert!(verdict.unpackable.is_none() && verdict.refused.is_none(), "{file}: {verdict:?}");
        assert!(verdict.kernels.is_empty(), "{file}: {verdict:?}");
        nonempty += verdict.nonempty;
        multiplied += verdict.multiplied;
    }
    assert!(nonempty > 2 && multiplied > 2, "{file}: {nonempty} packed, {multiplied} multiplied");
}

fn work(seed: u64, cases: u64, worker: u64, folder: &Path) -> Tally {
    let mut tally = Tally::default();
    let now = AtomicU64::new(u64::MAX);
    let shift = SHIFT * WORKERS;
    for first in (worker..cases).step_by(shift as usize) {
        let numbers = (first..cases.min(first + shift)).step_by(WORKERS as usize);
        std::thread::scope(|scope| {
            let (now, tally) = (&now, &mut tally);
            let done = scope.spawn(move || {
                for k in numbers {
                    now.store(seed + k, Ordering::Relaxed);
                    let start = Instant::now();
                    let verdict = case(seed + k, folder);
                    tally.slowest = tally.slowest.max((start.elapsed(), seed + k));
                    tally.take(seed + k, verdict);
                }
                now.store(u64::MAX, Ordering::Relaxed);
            });
            watch(now, &done);
        });
        if first + shift < cases {
            eprintln!(
                "worker {worker}: {} declarations, {} usable, {} packed, {} multiplied, {} failures",
                tally.cases,
                tally.usable,
                tally.packed,
                tally.multiplied,
                tally.failures.len()
            );
        }
    }
    tally
}

/// Ends the process if one case never ends.
fn watch(now: &AtomicU64, worker: &std::thread::ScopedJoinHandle<'_, ()>) {
    let (mut case, mut since) = (u64::MAX, Instant::now());
    while !worker.is_finished() {
        std::thread::sleep(Duration::from_millis(20));
        let current = now.load(Ordering::Relaxed);
        if current != case {
            (case, since) = (current, Instant::now());
        }
        if current != u64::MAX && since.elapsed() > PATIENCE {
            eprintln!("declaration {current} takes for ever:\n{}", text(&mut Random(current)));
            std::process::exit(1);
        }
    }
}

/// Every shipped declaration and every example.
fn texts() -> &'static [String] {
    static TEXTS: OnceLock<Vec<String>> = OnceLock::new();
    TEXTS.get_or_init(|| {
        let mut files: Vec<_> = ["layouts", "examples/formats", "tests/layouts"]
            .iter()
            .filter_map(|folder| std::fs::read_dir(folder).ok())
            .flat_map(|folder| folder.flatten().map(|f| f.path()))
            .filter(|f| f.extension().is_some_and(|e| e == "toml"))
            .collect();
        files.sort();
        let texts = files.iter().filter_map(|f| std::fs::read_to_string(f).ok());
        texts.filter(|t| t.contains("relation")).collect()
    })
}

/// A declaration.
fn text(random: &mut Random) -> String {
    if random.chance(25) {
        let text = random.pick(texts()).clone();
        return of_text(random, &text);
    }
    let mut one = declaration(random);
    if random.chance(15) {
        let joined = (0..10).find_map(|_| {
            let other = declaration(random);
            both(random, &one, &other)
        });
        one = joined.unwrap_or(one);
    }
    for _ in 0..*random.pick(&[0, 0, 1, 1, 1, 2]) {
        if one.pieces.iter().all(|p| !p.is_empty()) {
            change(random, &mut one);
        }
    }
    one.toml()
}

fn case(number: u64, folder: &Path) -> Verdict {
    let mut random = Random(number);
    let text = text(&mut random);
    let path = folder.join(format!("made{number}.toml"));
    std::fs::write(&path, &text).expect("a writable folder");
    let dims = text.lines().find(|l| l.trim_start().starts_with("dims")).unwrap_or_default();
    let rank = dims.matches('"').count() / 2;
    let rank = if (1..=3).contains(&rank) { rank } else { 2 };
    let data: Vec<_> = (0..4).map(|_| data(&mut random, rank)).collect();
    let verdict = judge(&path.to_string_lossy(), rank, &data, &mut random);
    std::fs::remove_file(&path).expect("the file");
    verdict
}

impl Tally {
    fn take(&mut self, number: u64, verdict: Verdict) {
        self.cases += 1;
        if let Some(failure) = verdict.failure {
            // Long runs should not keep it to themselves until they end.
            eprintln!("declaration {number}: {failure}");
            self.failures.push((number, failure));
            return;
        }
        self.looked_fine += usize::from(verdict.looked_fine);
        for (reasons, reason) in
            [(&mut self.refused, verdict.refused), (&mut self.unpackable, verdict.unpackable)]
        {
            if let Some(reason) = reason {
                self.examples.entry(reason.clone()).or_insert(number);
                *reasons.entry(reason).or_insert(0) += 1;
            }
        }
        self.usable += usize::from(verdict.packed > 0);
        self.packed += verdict.packed;
        self.nonempty += verdict.nonempty;
        self.multiplied += verdict.multiplied;
        self.entries_first += verdict.entries_first;
        for (all, some) in
            [(&mut self.refusals, verdict.refusals), (&mut self.kernels, verdict.kernels)]
        {
            for (reason, times) in some {
                self.examples.entry(reason.clone()).or_insert(number);
                *all.entry(reason).or_insert(0) += times;
            }
        }
    }

    fn add(&mut self, other: Tally) {
        self.cases += other.cases;
        self.looked_fine += other.looked_fine;
        self.usable += other.usable;
        self.packed += other.packed;
        self.nonempty += other.nonempty;
        self.multiplied += other.multiplied;
        self.entries_first += other.entries_first;
        self.slowest = self.slowest.max(other.slowest);
        for (all, some) in [
            (&mut self.refused, other.refused),
            (&mut self.unpackable, other.unpackable),
            (&mut self.refusals, other.refusals),
            (&mut self.kernels, other.kernels),
        ] {
            some.into_iter().for_each(|(reason, times)| *all.entry(reason).or_insert(0) += times);
        }
        other.examples.into_iter().for_each(|(reason, case)| {
            self.examples.entry(reason).or_insert(case);
        });
        self.failures.extend(other.failures);
    }

    fn report(&self) {
        println!(
            "{} declarations, {} usable, {} tensors packed ({} with entries), {} multiplied, \
             {} kernels that look for entries first; \
             {} of a tenth of the unpackable look fine to check; slowest {:?} (case {})",
            self.cases,
            self.usable,
            self.packed,
            self.nonempty,
            self.multiplied,
            self.entries_first,
            self.looked_fine,
            self.slowest.0,
            self.slowest.1
        );
        for (what, reasons) in [
            ("declarations refused", &self.refused),
            ("no packing plan", &self.unpackable),
            ("data refused", &self.refusals),
            ("kernels refused", &self.kernels),
        ] {
            let mut reasons: Vec<_> = reasons.iter().collect();
            reasons.sort_by_key(|(_, times)| std::cmp::Reverse(**times));
            println!("{what}: {}", reasons.iter().map(|(_, n)| **n).sum::<usize>());
            for (reason, times) in reasons {
                println!("  {times:6}  {reason}  (case {})", self.examples[reason]);
            }
        }
        let shown: Vec<String> = self
            .failures
            .iter()
            .take(10)
            .map(|(k, f)| format!("declaration {k}:\n{}\n{f}\n", text(&mut Random(*k))))
            .collect();
        assert!(self.failures.is_empty(), "{} failures\n{}", self.failures.len(), shown.concat());
        // Enough of them are sensible for the run to mean something.
        assert!(self.usable * 10 > self.cases, "{} of {} are usable", self.usable, self.cases);
        assert!(self.multiplied * 20 > self.cases, "{} of {}", self.multiplied, self.cases);
        assert!(self.entries_first * 100 > self.cases, "{} of {}", self.entries_first, self.cases);
    }
}
