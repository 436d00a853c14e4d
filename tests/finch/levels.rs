//! Every level of `layouts/levels/finch/`, in every place of a format, read by every protocol and every way of
//! bringing operands together, written, and copied to every other, on edge shapes: the kernels compute what the
//! interpreter of programs does.
//!
//! `SISKIN_LEVELS=N` takes every N-th case (1: all of them), `SISKIN_LEVELS_ONLY=TEXT` those that mention a text.

use std::collections::{BTreeMap, BTreeSet};

use siskin::kernel::Coiterate;
use siskin::operators::Value;

use super::Inputs;
use super::edge_shapes::{CONTENTS, EXTENTS, elements};
use super::formats::{Leaf, Levels, file_of};
use super::grown::random::Random;
use super::tally::{Tally, number};
use super::together::{Batch, Case, Ready, caught};

/// One of so many cases is run.
const SAMPLE: usize = 20;
/// One of so many runs is also done by the command line, unless `SISKIN_LEVELS_COMMANDS` says otherwise.
const COMMANDS: usize = 50;
/// Kernels of one library.
const TOGETHER: usize = 80;
const PROTOCOLS: [&str; 6] = ["", "walk", "gallop", "follow", "extrude", "laminate"];

/// How elements of a type are combined, so that what is not stored may be left out.
struct Algebra {
    /// What results begin with.
    zero: &'static str,
    update: &'static str,
    times: &'static str,
    plus: fn(&str, &str) -> String,
}

fn commands() -> usize {
    number("SISKIN_LEVELS_COMMANDS").unwrap_or(COMMANDS).max(1)
}

fn algebra(leaf: &Leaf) -> Algebra {
    let infix = |a: &str, b: &str| format!("{a} + {b}");
    match leaf.fill {
        Value::Bool(_) => {
            Algebra { zero: "false", update: "|=", times: "&", plus: |a, b| format!("{a} | {b}") }
        }
        Value::F64(f64::INFINITY) => Algebra {
            zero: "Inf",
            update: "<<min>>=",
            times: "+",
            plus: |a, b| format!("min({a}, {b})"),
        },
        Value::F64(f64::NEG_INFINITY) => Algebra {
            zero: "-Inf",
            update: "<<max>>=",
            times: "+",
            plus: |a, b| format!("max({a}, {b})"),
        },
        _ => Algebra { zero: "0", update: "+=", times: "*", plus: infix },
    }
}

/// A program, with the indices of its tensors.
struct Program {
    text: String,
    /// Their names, indices and formats.
    tensors: Vec<(&'static str, &'static str, String)>,
    results: Vec<(&'static str, String)>,
}

impl Program {
    fn new(text: String) -> Program {
        Program { text, tensors: Vec::new(), results: Vec::new() }
    }

    fn with(mut self, name: &'static str, indices: &'static str, format: &str) -> Program {
        self.tensors.push((name, indices, format.to_string()));
        self
    }

    fn result(mut self, name: &'static str, format: &str) -> Program {
        self.results.push((name, format.to_string()));
        self
    }

    fn case(&self, scheme: Coiterate) -> Case {
        let given = self.tensors.iter().map(|(name, _, format)| (name.to_string(), format.clone()));
        let results = self.results.iter().map(|(name, format)| (name.to_string(), format.clone()));
        let formats: BTreeMap<String, String> = given.chain(results).collect();
        Case { text: self.text.clone(), formats, scheme }
    }

    /// What it is given, number `k` of the edge shapes.
    fn inputs(&self, k: usize, fill: Value, random: &mut Random) -> Inputs {
        let extents = EXTENTS[k % EXTENTS.len()];
        let mut out = Inputs::default();
        for (t, (name, indices, _)) in self.tensors.iter().enumerate() {
            let dims: Vec<usize> =
                indices.bytes().map(|i| extents[usize::from(i - b'i')]).collect();
            let content = CONTENTS[(k * (2 * t + 1) + t) % CONTENTS.len()];
            out = out.tensor(name, &dims, elements(&dims, content, fill, random));
        }
        out
    }
}

/// Subscripts, each by a protocol.
fn by(protocols: &[&str], subscripts: &str) -> String {
    let one = |(k, s): (usize, &str)| match protocols[k % protocols.len()] {
        "" => s.to_string(),
        protocol => format!("{protocol}({s})"),
    };
    subscripts.split(',').enumerate().map(one).collect::<Vec<_>>().join(", ")
}

/// Programs that read a tensor `A` of a format.
fn reads(
    levels: &Levels,
    rank: usize,
    format: &str,
    leaf: &Leaf,
    random: &mut Random,
) -> Vec<Program> {
    let Algebra { zero, update, times, plus } = algebra(leaf);
    let mut protocols = PROTOCOLS;
    random.shuffle(&mut protocols);
    let (p, q) = (&protocols[..], &protocols[2..]);
    let leaf = leaf.text.as_str();
    // A list and runs beside all others.
    let mut other = |rank: usize| match random.below(3) {
        0 => Levels::chain(&vec!["SparseList(@)"; rank], leaf),
        1 => Levels::chain(&vec!["RunList(@)"; rank], leaf),
        _ => levels.random(random, rank, leaf),
    };
    let both = |a: &str, b: &str| plus(a, b);
    match rank {
        1 => {
            let a = by(p, "i");
            let x = by(q, "i");
            vec![
                Program::new(format!(
                    "s .= {zero}\nfor i = _\n s[] {update} A[{a}]\nend\nreturn s"
                ))
                .with("A", "i", format),
                Program::new(format!(
                    "s .= {zero}\nfor i = _\n s[] {update} A[{a}] {times} x[{x}]\nend\nreturn s"
                ))
                .with("A", "i", format)
                .with("x", "i", &other(1)),
                Program::new(format!(
                    "y .= {zero}\nfor i = _\n y[i] = {}\nend\nreturn y",
                    both(&format!("A[{a}]"), &format!("x[{x}]"))
                ))
                .with("A", "i", format)
                .with("x", "i", &other(1)),
                Program::new(format!(
                    "y .= {zero}\nfor i = _\n y[i] = {}\nend\nreturn y",
                    both(&format!("coalesce(A[~(i + 1)], {zero})"), &format!("x[{x}]"))
                ))
                .with("A", "i", format)
                .with("x", "i", &other(1)),
            ]
        }
        2 => {
            let (a, x, t) = (by(p, "i,j"), by(q, "j"), by(q, "j,i"));
            let product = |result: &str, a: &str, x: &str| {
                format!(
                    "y .= {zero}\nfor j = _, i = _\n y[{result}] {update} A[{a}] {times} {x}\nend\nreturn y"
                )
            };
            vec![
                Program::new(product("i", &a, &format!("x[{x}]")))
                    .with("A", "ij", format)
                    .with("x", "j", &other(1)),
                Program::new(product("j", &a, &format!("x[{}]", by(q, "i"))))
                    .with("A", "ij", format)
                    .with("x", "i", &other(1)),
                Program::new(product("", &a, &format!("B[{}]", by(q, "i,j"))))
                    .with("A", "ij", format)
                    .with("B", "ij", &other(2)),
                Program::new(product("", &a, &format!("B[{t}]")))
                    .with("A", "ij", format)
                    .with("B", "ji", &other(2)),
                Program::new(format!(
                    "y .= {zero}\nfor j = _, i = _\n y[i, j] = {}\nend\nreturn y",
                    both(&format!("A[{a}]"), "B[i, j]")
                ))
                .with("A", "ij", format)
                .with("B", "ij", &other(2)),
                Program::new(format!(
                    "y .= {zero}\nfor j = _, i = _\n if i <= j\n y[i] {update} A[{a}]\nend\nend\nreturn y"
                ))
                .with("A", "ij", format),
            ]
        }
        _ => {
            let (a, x) = (by(p, "i,j,k"), by(q, "k"));
            vec![
                Program::new(format!(
                    "y .= {zero}\nfor k = _, j = _, i = _\n y[i, j] {update} A[{a}] {times} x[{x}]\nend\nreturn y"
                ))
                .with("A", "ijk", format)
                .with("x", "k", &other(1)),
                Program::new(format!(
                    "s .= {zero}\nfor k = _, j = _, i = _\n s[] {update} A[{a}] {times} x[i] {times} w[{}]\nend\nreturn s",
                    by(q, "j")
                ))
                .with("A", "ijk", format)
                .with("x", "i", &other(1))
                .with("w", "j", &other(1)),
            ]
        }
    }
}

/// What a leaf does not store, as a program writes it.
fn literal(fill: Value) -> String {
    match fill {
        Value::F64(f64::INFINITY) => "Inf".to_string(),
        Value::F64(f64::NEG_INFINITY) => "-Inf".to_string(),
        fill => fill.to_string(),
    }
}

/// Programs whose result `C` has a format.
fn writes(
    levels: &Levels,
    rank: usize,
    format: &str,
    leaf: &Leaf,
    random: &mut Random,
) -> Vec<Program> {
    let Algebra { update, times, plus, .. } = algebra(leaf);
    let zero = literal(leaf.fill);
    let leaf = leaf.text.as_str();
    let mut other = |rank: usize| levels.random(random, rank, leaf);
    let sum = |s: &str| plus(&format!("A[{s}]"), &format!("B[{s}]"));
    let texts = match rank {
        1 => vec![
            (format!("for i = _\n C[i] = {}\nend", sum("i")), [("A", "i"), ("B", "i")]),
            (format!("for i = _\n C[i] = A[i] {times} B[i]\nend"), [("A", "i"), ("B", "i")]),
            (
                format!("for j = _, i = _\n C[i] {update} A[i, j] {times} B[j]\nend"),
                [("A", "ij"), ("B", "j")],
            ),
            (
                format!("for i = _, j = _\n C[j] {update} A[i, j] {times} B[i]\nend"),
                [("A", "ij"), ("B", "i")],
            ),
        ],
        2 => vec![
            (
                format!("for j = _, i = _\n C[i, j] = {}\nend", sum("i, j")),
                [("A", "ij"), ("B", "ij")],
            ),
            (
                format!("for j = _, k = _, i = _\n C[i, j] {update} A[i, k] {times} B[k, j]\nend"),
                [("A", "ik"), ("B", "kj")],
            ),
            (
                format!("for k = _, i = _, j = _\n C[i, j] {update} A[i, k] {times} B[k, j]\nend"),
                [("A", "ik"), ("B", "kj")],
            ),
            (
                format!("for i = _, j = _\n C[j, i] = A[i, j] {times} B[i, j]\nend"),
                [("A", "ij"), ("B", "ij")],
            ),
        ],
        _ => vec![
            (
                format!("for k = _, j = _, i = _\n C[i, j, k] = {}\nend", sum("i, j, k")),
                [("A", "ijk"), ("B", "ijk")],
            ),
            (
                format!("for i = _, k = _, j = _\n C[i, j, k] = A[i, k] {times} B[k, j]\nend"),
                [("A", "ik"), ("B", "kj")],
            ),
        ],
    };
    let made = texts.into_iter().map(|(body, [a, b])| {
        Program::new(format!("C .= {zero}\n{body}\nreturn C"))
            .with(a.0, a.1, &other(a.1.len()))
            .with(b.0, b.1, &other(b.1.len()))
            .result("C", format)
    });
    made.collect()
}

/// Programs that read a scalar, and write it.
fn scalars(levels: &Levels, leaf: &Leaf, random: &mut Random) -> Vec<Program> {
    let Algebra { update, times, .. } = algebra(leaf);
    let zero = literal(leaf.fill);
    let twins = levels.leaves.iter().filter(|l| l.fill.same(leaf.fill));
    let twins: Vec<&Leaf> = twins.collect();
    let list = random.pick(&twins).text.clone();
    vec![
        Program::new(format!("y .= {zero}\nfor i = _\n y[i] = x[i] {times} s[]\nend\nreturn y"))
            .with("x", "i", &levels.random(random, 1, &list))
            .with("s", "", &leaf.text),
        Program::new(format!("s .= {zero}\nfor i = _\n s[] {update} x[i]\nend\nreturn s"))
            .with("x", "i", &levels.random(random, 1, &list))
            .result("s", &leaf.text),
    ]
}

/// The copy of a tensor.
fn copy(rank: usize, from: &str, to: &str, fill: Value) -> Program {
    let indices = ["i", "ij", "ijk"][rank - 1];
    let s: Vec<String> = indices.chars().map(String::from).collect();
    let loops: Vec<String> = s.iter().rev().map(|i| format!("{i} = _")).collect();
    let (s, loops, zero) = (s.join(", "), loops.join(", "), literal(fill));
    let text = format!("C .= {zero}\nfor {loops}\n C[{s}] = A[{s}]\nend\nreturn C");
    Program::new(text).with("A", indices, from).result("C", to)
}

/// A case, the fill of its tensors, and what tells it from the others.
struct Asked {
    case: Case,
    program: usize,
    fill: Value,
}

/// All programs with a level in them, and all cases.
fn asked(levels: &Levels) -> (Vec<Program>, Vec<Asked>) {
    let mut random = Random(8);
    let (mut programs, mut cases) = (Vec::new(), Vec::new());
    let mut add = |made: Vec<Program>, fill: Value, schemes: &[Coiterate]| {
        for program in made {
            for scheme in schemes {
                cases.push(Asked { case: program.case(*scheme), program: programs.len(), fill });
            }
            programs.push(program);
        }
    };
    let mut turn = 0;
    let all = levels.plain.iter().map(|l| (l.as_str(), 1));
    let tuples: Vec<(String, usize)> = levels
        .tuples
        .iter()
        .flat_map(|t| [2, 3].map(|n| (t.replace("{N}", &format!("{{{n}}}")), n)))
        .collect();
    let all: Vec<(&str, usize)> = all.chain(tuples.iter().map(|(t, n)| (t.as_str(), *n))).collect();
    for (level, dims) in &all {
        for rank in *dims..=3 {
            for depth in 0..=rank - dims {
                let leaves: Vec<&Leaf> = match rank {
                    1 => levels.leaves.iter().collect(),
                    // The first has the type that is most usual.
                    _ => (0..3)
                        .map(|k| &levels.leaves[(turn + k * 5) % levels.leaves.len()])
                        .collect(),
                };
                for leaf in leaves {
                    turn += 1;
                    let left = rank - dims + 1;
                    let format = levels.with(&mut random, level, left, depth, &leaf.text);
                    add(
                        reads(levels, rank, &format, leaf, &mut random),
                        leaf.fill,
                        &Coiterate::ALL,
                    );
                    let some = [Coiterate::Auto, Coiterate::Looplets];
                    add(writes(levels, rank, &format, leaf, &mut random), leaf.fill, &some);
                }
            }
        }
    }
    for leaf in &levels.scalars {
        let some = [Coiterate::Auto, Coiterate::Looplets];
        add(scalars(levels, leaf, &mut random), leaf.fill, &some);
    }
    for (from, n) in &all {
        for (to, m) in &all {
            let least = *n.max(m);
            for rank in least..=2.max(least) {
                turn += 1;
                let leaf = &levels.leaves[turn % levels.leaves.len()];
                // Copies have one type; the leaf of the other may be another kind of the same.
                let twins = levels.leaves.iter().filter(|l| l.fill.same(leaf.fill));
                let twins: Vec<&Leaf> = twins.collect();
                let twin = random.pick(&twins).text.clone();
                let depths = (random.below(rank - n + 1), random.below(rank - m + 1));
                let from = levels.with(&mut random, from, rank - n + 1, depths.0, &leaf.text);
                let to = levels.with(&mut random, to, rank - m + 1, depths.1, &twin);
                add(vec![copy(rank, &from, &to, leaf.fill)], leaf.fill, &[Coiterate::Auto]);
            }
        }
    }
    (programs, cases)
}

#[derive(Default)]
struct Run {
    cases: usize,
    /// Those that the command line did, too.
    commands: usize,
    /// The levels that ran.
    levels: BTreeSet<String>,
    tally: Tally,
}

impl Run {
    /// Runs cases whose kernels are compiled together.
    fn add_cases(&mut self, programs: &[Program], part: usize, some: &[&Asked], shapes: &[usize]) {
        let data: Vec<(&Asked, Vec<Inputs>)> = some
            .iter()
            .map(|asked| {
                let mut random = Random(asked.program as u64);
                let made = shapes.iter().map(|k| {
                    programs[asked.program].inputs(k + asked.program, asked.fill, &mut random)
                });
                (*asked, made.collect())
            })
            .collect();
        let mut batch = Batch::default();
        let mut ready: Vec<Ready<'_>> = Vec::new();
        for (asked, inputs) in &data {
            self.cases += 1;
            for inputs in inputs {
                match caught(|| batch.ready(&asked.case, inputs)) {
                    Ok(one) => ready.push(one),
                    Err(stopped) => {
                        self.tally.stopped(stopped, &asked.case);
                        break;
                    }
                }
            }
        }
        let library = match batch.compiled() {
            Ok(library) => library,
            Err(e) => return self.tally.failed(e),
        };
        for (k, one) in ready.iter().enumerate() {
            match caught(|| batch.agrees(one, library.as_ref())) {
                Ok(()) => {
                    self.tally.ran(one.case());
                    if (part + k).is_multiple_of(commands()) {
                        self.command(one);
                    }
                    let formats = one.case().formats.values();
                    self.levels
                        .extend(formats.flat_map(|f| f.split(['(', ')', '{'])).map(String::from));
                }
                Err(stopped) => self.tally.stopped(stopped, one.case()),
            }
        }
    }

    fn command(&mut self, one: &Ready<'_>) {
        match caught(|| one.agrees_by_command()) {
            Ok(()) => self.commands += 1,
            Err(stopped) => self.tally.stopped(stopped, one.case()),
        }
    }

    fn add(&mut self, other: Run) {
        self.cases += other.cases;
        self.commands += other.commands;
        self.levels.extend(other.levels);
        self.tally.add(other.tally);
    }
}

#[test]
fn every_level_is_read_written_and_copied_in_every_place() {
    let levels = Levels::read();
    let (programs, cases) = asked(&levels);
    let sample = number("SISKIN_LEVELS").unwrap_or(SAMPLE);
    let only = std::env::var("SISKIN_LEVELS_ONLY").unwrap_or_default();
    let chosen: Vec<&Asked> = cases
        .iter()
        .enumerate()
        // Neighbours differ in the scheme alone: every step takes another.
        .filter(|(k, _)| (k + k / sample).is_multiple_of(sample))
        .map(|(_, asked)| asked)
        .filter(|asked| asked.case.to_string().contains(&only))
        .collect();
    println!("{} of {} cases", chosen.len(), cases.len());
    let shapes: Vec<usize> = (0..number("SISKIN_LEVELS_SHAPES").unwrap_or(5)).collect();
    let parts: Vec<&[&Asked]> = chosen.chunks(TOGETHER).collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let mut run = Run::default();
        loop {
            let k = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let Some(some) = parts.get(k) else { return run };
            run.add_cases(&programs, k, some, &shapes);
        }
    };
    let mut all = Run::default();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        workers.into_iter().for_each(|w| all.add(w.join().expect("a worker")));
    });
    println!("{} cases, {} by the command line", all.cases, all.commands);
    all.tally.report();
    assert!(all.commands > 0 || !only.is_empty(), "the command line did nothing");
    for level in levels.plain.iter().chain(&levels.tuples) {
        assert!(!only.is_empty() || all.levels.contains(file_of(level)), "`{level}` ran nowhere");
    }
}
