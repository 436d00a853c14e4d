//! Random kernels against the oracle: random expressions with names that may collide, random and
//! changed layouts, orders, tiles, threads, templates, types, and small data of every shape.
//!
//! Every kernel runs in the interpreter of code, which tests every access; some are compiled and run
//! through their safe functions. What Siskin refuses must be a minority, with a reason; a panic and
//! a diagnostic about itself are failures.
//!
//! `make fuzz CASES=100000 SEED=1` goes on (`SISKIN_FUZZ_COMPILE=20` compiles one kernel of 20); `SISKIN_FUZZ_CASE=N` runs one case and shows it.

#[path = "corpus_support/mod.rs"]
mod support;

#[path = "fuzz_support/mod.rs"]
mod fuzz;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use fuzz::case::Case;
use fuzz::judge::{Ready, Verdict, caught, judge};
use fuzz::remembering::Memory;
use support::{Face, Library, Made};

/// Cases of one run of the tests.
const CASES: u64 = 240;
/// Kernels of one library.
const TOGETHER: usize = 60;
/// Of so many kernels one is compiled, unless `SISKIN_FUZZ_COMPILE` says otherwise.
const SAMPLE: u64 = 5;
/// Threads are started anew after so many cases: isl and Z3 keep what they know by thread.
const SHIFT: u64 = 500;
const WORKERS: u64 = 2;

#[derive(Default)]
struct Tally {
    cases: usize,
    ran: usize,
    nonzero: usize,
    compiled: usize,
    unpackable: usize,
    refused: BTreeMap<String, usize>,
    /// An example of each refusal.
    examples: BTreeMap<String, String>,
    dropped: BTreeMap<String, usize>,
    failures: Vec<(u64, String)>,
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn random_kernels_give_the_results_of_the_oracle() {
    let folder = tempfile::tempdir().expect("a folder");
    if let Some(one) = number("SISKIN_FUZZ_CASE") {
        return show(one, folder.path());
    }
    let cases = number("SISKIN_FUZZ_CASES").unwrap_or(CASES);
    let seed = number("SISKIN_FUZZ_SEED").unwrap_or(0) << 32;
    let sample = number("SISKIN_FUZZ_COMPILE").unwrap_or(SAMPLE);
    let tallies: Vec<Tally> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|w| {
                scope.spawn({
                    let folder = folder.path();
                    move || work(Work { seed, cases, worker: w, sample }, folder)
                })
            })
            .collect();
        workers.into_iter().map(|w| w.join().expect("a worker")).collect()
    });
    let mut all = Tally::default();
    for t in tallies {
        all.add(t);
    }
    all.report(sample);
}

#[derive(Clone, Copy)]
struct Work {
    seed: u64,
    cases: u64,
    worker: u64,
    /// Of so many kernels one is compiled.
    sample: u64,
}

fn work(work: Work, folder: &Path) -> Tally {
    let mut tally = Tally::default();
    let mut memory = Memory::default();
    let shift = SHIFT * WORKERS;
    for first in (work.worker..work.cases).step_by(shift as usize) {
        let cases = first..work.cases.min(first + shift);
        std::thread::scope(|scope| {
            let done = scope.spawn(|| some(work, cases, folder, &mut memory, &mut tally)).join();
            done.expect("a worker");
        });
        if first + shift < work.cases {
            let (asked, remembered) = (memory.asked, memory.remembered);
            eprintln!(
                "worker {}: {} cases, {} ran, {} compiled, {} failures; {remembered} of {asked} \
                 questions were asked before",
                work.worker,
                tally.cases,
                tally.ran,
                tally.compiled,
                tally.failures.len()
            );
        }
    }
    tally
}

fn some(work: Work, cases: Range<u64>, folder: &Path, memory: &mut Memory, tally: &mut Tally) {
    let mut sample: Vec<Ready> = Vec::new();
    for k in cases.step_by(WORKERS as usize) {
        tally.cases += 1;
        let number = work.seed + k;
        let case = match caught(|| Case::new(number, folder)) {
            Ok(case) => case,
            Err(panic) => {
                tally.fail(number, format!("panic: {panic}"));
                continue;
            }
        };
        match judge(&case, memory, &mut tally.dropped) {
            Verdict::Ready(ready) => {
                tally.ran += 1;
                tally.nonzero += usize::from(ready.expected.values.iter().any(|v| *v != 0.0));
                if (k / WORKERS).is_multiple_of(work.sample) {
                    sample.push(*ready);
                }
            }
            Verdict::Unpackable => tally.unpackable += 1,
            Verdict::Refused(code, message) => {
                let what = format!("{} {}", code.as_str(), without_names(&message));
                tally.examples.entry(what.clone()).or_insert_with(|| case.shown(&[], &[], 1));
                *tally.refused.entry(what).or_insert(0) += 1;
            }
            Verdict::Failed(why) => tally.fail(case.number, why),
        }
        if sample.len() == TOGETHER {
            compile(std::mem::take(&mut sample), tally);
        }
    }
    if !sample.is_empty() {
        compile(sample, tally);
    }
}

/// Compiles kernels together and runs each through its safe function. If one is refused by the
/// compiler, halves of them are compiled.
fn compile(mut sample: Vec<Ready>, tally: &mut Tally) {
    let (made, rest): (Vec<Made>, Vec<_>) = (sample.into_iter())
        .map(|r| (r.made, (r.tensors, r.extents, r.expected, r.threads)))
        .unzip();
    let library = match Library::compile(&made, Face::Safe) {
        Ok(library) => library,
        Err(why) if made.len() == 1 => {
            tally.fail(0, format!("{}\n{why}", made[0].label));
            return;
        }
        Err(_) => {
            let again = made.into_iter().zip(rest);
            let ready = |(made, (tensors, extents, expected, threads))| Ready {
                made,
                tensors,
                extents,
                expected,
                threads,
            };
            sample = again.map(ready).collect();
            let half = sample.split_off(sample.len() / 2);
            compile(sample, tally);
            compile(half, tally);
            return;
        }
    };
    for (k, (made, (tensors, extents, expected, threads))) in made.iter().zip(&rest).enumerate() {
        let bound = support::Bound::new(made, tensors, extents);
        let got = bound.and_then(|b| unsafe { b.compiled(k, &library, *threads) });
        tally.compiled += 1;
        match got {
            Ok(got) if expected.agrees(&got) => {}
            Ok(got) => tally.fail(
                0,
                format!("{}\ncompiled: expected {expected:?}\n     got {got:?}", made.label),
            ),
            Err(why) => tally.fail(0, format!("{}\ncompiled: {why}", made.label)),
        }
    }
}

/// One case with all that happens.
fn show(one: u64, folder: &Path) {
    let case = Case::new(one, folder);
    println!("{case:#?}");
    for file in std::fs::read_dir(folder).expect("the folder").flatten() {
        println!("{}", std::fs::read_to_string(file.path()).expect("a declaration"));
    }
    let mut tally = Tally::default();
    match judge(&case, &mut Memory::default(), &mut tally.dropped) {
        Verdict::Ready(ready) => {
            println!("{}\n{}", ready.made.label, ready.made.text);
            compile(vec![*ready], &mut tally);
            assert!(tally.failures.is_empty(), "{}", tally.failures[0].1);
        }
        Verdict::Refused(code, message) => println!("{} {message}", code.as_str()),
        Verdict::Unpackable => println!("no layout holds the entries"),
        // Panics are quiet here: their messages are collected.
        Verdict::Failed(why) => {
            println!("{why}");
            panic!("a failure");
        }
    }
}

/// A message with what is quoted left out.
fn without_names(message: &str) -> String {
    let parts: Vec<&str> = message.split('`').step_by(2).collect();
    parts.join("`…`")
}

/// What a failure is about, without what makes it this one.
fn kind(why: &str) -> String {
    let about = why.rsplit_once("cargo test --test fuzz").map_or(why, |(_, about)| about);
    let lines = about.lines().filter(|l| !l.trim_start().starts_with("--"));
    let text: Vec<&str> = lines.collect();
    without_names(&text.join("\n")).chars().filter(|c| !c.is_ascii_digit()).take(200).collect()
}

impl Tally {
    /// Says so at once if it is the first of its kind.
    fn fail(&mut self, number: u64, why: String) {
        if self.failures.iter().all(|(_, other)| kind(other) != kind(&why)) {
            eprintln!("\n---- case {number}\n{why}\n");
        }
        self.failures.push((number, why));
    }

    fn add(&mut self, other: Tally) {
        self.cases += other.cases;
        self.ran += other.ran;
        self.nonzero += other.nonzero;
        self.compiled += other.compiled;
        self.unpackable += other.unpackable;
        self.failures.extend(other.failures);
        for (what, n) in other.refused {
            *self.refused.entry(what).or_insert(0) += n;
        }
        for (what, n) in other.dropped {
            *self.dropped.entry(what).or_insert(0) += n;
        }
        for (what, example) in other.examples {
            self.examples.entry(what).or_insert(example);
        }
    }

    fn report(&self, sample: u64) {
        let refused: usize = self.refused.values().sum();
        println!(
            "{} cases: {} ran in the interpreter of code ({} with a result that is not zero), {} of \
             them compiled (one of {sample}), {refused} refused, {} not packable, {} failed",
            self.cases,
            self.ran,
            self.nonzero,
            self.compiled,
            self.unpackable,
            self.failures.len()
        );
        for (what, n) in &self.refused {
            println!("{n:6} {what}\n       e.g. {}", self.examples[what]);
        }
        for (what, n) in &self.dropped {
            println!("{n:6} left out: {what}");
        }
        // Each kind once.
        let mut seen: Vec<String> = Vec::new();
        for (number, why) in &self.failures {
            let kind = kind(why);
            if !seen.contains(&kind) {
                seen.push(kind);
                println!("\n---- case {number}\n{why}");
            }
        }
        assert!(self.failures.is_empty(), "{} failures", self.failures.len());
        let judged = self.ran + refused;
        assert!(self.ran * 2 > judged, "{refused} of {judged} cases were refused");
        assert!(self.nonzero * 4 > self.ran, "only {} results are not zero", self.nonzero);
        assert!(self.compiled > 0, "nothing was compiled");
    }
}
