//! Random kernels against the oracle: random expressions with names that may collide, random and
//! changed layouts, orders, tiles, threads, templates, types, and small data of every shape.
//!
//! Every kernel runs in the interpreter of code, which tests every access; some are compiled and run
//! through their safe functions. What Siskin refuses must be a minority, with a reason; a panic and
//! a diagnostic about itself are failures.
//!
//! `make fuzz CASES=100000 SEED=1` goes on; `SISKIN_FUZZ_CASE=N` runs one case and shows it.

#[path = "corpus_support/mod.rs"]
mod support;

#[path = "fuzz_support/mod.rs"]
mod fuzz;

use std::collections::BTreeMap;
use std::path::Path;

use fuzz::case::Case;
use fuzz::judge::{Ready, Verdict, caught, judge};
use support::{Face, Library, Made};

/// Cases of one run of the tests.
const CASES: u64 = 240;
/// Kernels of one library.
const TOGETHER: usize = 24;
/// Of so many kernels one is compiled.
const SAMPLE: u64 = 5;
const WORKERS: u64 = 2;

#[derive(Default)]
struct Tally {
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
    let tallies: Vec<Tally> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|w| {
                scope.spawn({
                    let folder = folder.path();
                    move || work(seed, cases, w, folder)
                })
            })
            .collect();
        workers.into_iter().map(|w| w.join().expect("a worker")).collect()
    });
    let mut all = Tally::default();
    for t in tallies {
        all.add(t);
    }
    all.report();
}

fn work(seed: u64, cases: u64, worker: u64, folder: &Path) -> Tally {
    let mut tally = Tally::default();
    let mut sample: Vec<Ready> = Vec::new();
    for k in (worker..cases).step_by(WORKERS as usize) {
        if k % 1000 == 0 && k > 0 {
            eprintln!("{k} cases, {} failures", tally.failures.len());
        }
        let case = match caught(|| Case::new(seed + k, folder)) {
            Ok(case) => case,
            Err(panic) => {
                tally.failures.push((seed + k, format!("panic: {panic}")));
                continue;
            }
        };
        match judge(&case, &mut tally.dropped) {
            Verdict::Ready(ready) => {
                tally.ran += 1;
                tally.nonzero += usize::from(ready.expected.iter().any(|v| *v != 0.0));
                if (k / WORKERS).is_multiple_of(SAMPLE) {
                    sample.push(*ready);
                }
            }
            Verdict::Unpackable => tally.unpackable += 1,
            Verdict::Refused(code, message) => {
                let what = format!("{} {}", code.as_str(), without_names(&message));
                tally.examples.entry(what.clone()).or_insert_with(|| case.shown(&[], &[], 1));
                *tally.refused.entry(what).or_insert(0) += 1;
            }
            Verdict::Failed(why) => tally.failures.push((case.number, why)),
        }
        if sample.len() == TOGETHER {
            compile(std::mem::take(&mut sample), &mut tally);
        }
    }
    if !sample.is_empty() {
        compile(sample, &mut tally);
    }
    tally
}

/// Compiles kernels together and runs each through its safe function. If one is refused by the
/// compiler, all are compiled alone.
fn compile(sample: Vec<Ready>, tally: &mut Tally) {
    let (made, rest): (Vec<Made>, Vec<_>) =
        sample.into_iter().map(|r| (r.made, (r.tensors, r.extents, r.expected, r.threads))).unzip();
    let library = match Library::compile(&made, Face::Safe) {
        Ok(library) => library,
        Err(why) if made.len() == 1 => {
            tally.failures.push((0, format!("{}\n{why}", made[0].label)));
            return;
        }
        Err(_) => {
            for (made, (tensors, extents, expected, threads)) in made.into_iter().zip(rest) {
                compile(vec![Ready { made, tensors, extents, expected, threads }], tally);
            }
            return;
        }
    };
    for (k, (made, (tensors, extents, expected, threads))) in made.iter().zip(&rest).enumerate() {
        let bound = support::Bound::new(made, tensors, extents);
        let got = bound.and_then(|b| unsafe { b.compiled(k, &library, *threads) });
        tally.compiled += 1;
        match got {
            Ok(got) if got == *expected => {}
            Ok(got) => tally.failures.push((
                0,
                format!("{}\ncompiled: expected {expected:?}\n     got {got:?}", made.label),
            )),
            Err(why) => tally.failures.push((0, format!("{}\ncompiled: {why}", made.label))),
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
    match judge(&case, &mut tally.dropped) {
        Verdict::Ready(ready) => {
            println!("{}\n{}", ready.made.label, ready.made.text);
            compile(vec![*ready], &mut tally);
            assert!(tally.failures.is_empty(), "{}", tally.failures[0].1);
        }
        Verdict::Refused(code, message) => println!("{} {message}", code.as_str()),
        Verdict::Unpackable => println!("no layout holds the entries"),
        Verdict::Failed(why) => panic!("{why}"),
    }
}

/// A message with what is quoted left out.
fn without_names(message: &str) -> String {
    let parts: Vec<&str> = message.split('`').step_by(2).collect();
    parts.join("`…`")
}

impl Tally {
    fn add(&mut self, other: Tally) {
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

    fn report(&self) {
        let refused: usize = self.refused.values().sum();
        println!(
            "{} ran ({} with a result that is not zero), {} compiled, {} not packable, {refused} refused",
            self.ran, self.nonzero, self.compiled, self.unpackable
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
            let kind: String =
                without_names(why.split_once("cargo test --test fuzz").map_or(why, |(_, e)| e))
                    .chars()
                    .filter(|c| !c.is_ascii_digit())
                    .take(200)
                    .collect();
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
