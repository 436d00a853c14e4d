//! Random programs over random formats: what is lowered by find, by merge and by looplets computes what the
//! interpreter of programs does.
//!
//! `SISKIN_STRATEGIES=N` runs N programs in each test, `SISKIN_STRATEGIES_SEED=N` others.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use siskin::kernel::Coiterate;
use siskin::layout::Layout;
use siskin::operators::Value;

use super::Inputs;
use super::edge_shapes::{CONTENTS, elements};
use super::formats::Levels;
use super::fuzz::layouts;
use super::grown::{grow, random::Random};
use super::random_nests::{GIVEN, Kind, Made, made};
use super::tally::{Tally, number};
use super::together::{Batch, Case, Ready, caught, holds};

/// Programs of one test.
const PROGRAMS: usize = 20;
/// One of so many runs is also done by the command line, unless `SISKIN_STRATEGIES_COMMANDS` says otherwise.
const COMMANDS: usize = 10;
/// Programs of one library.
const TOGETHER: usize = 20;

/// A format of any origin, and what it does not store.
fn format(
    levels: &Levels,
    random: &mut Random,
    kind: Kind,
    rank: usize,
    fixed: bool,
    folder: &Path,
) -> Option<(String, Value)> {
    let of_kind = |fill: Value| fill.value_type() == kind.zero().value_type();
    let finite = |fill: Value| !matches!(fill, Value::F64(f) if !f.is_finite());
    let is_zero = |fill: Value| fill.same(kind.zero());
    let leaves = levels.leaves.iter().filter(|l| of_kind(l.fill) && finite(l.fill));
    let zeros = leaves.clone().filter(|l| is_zero(l.fill));
    let leaves: Vec<_> =
        if fixed || random.chance(80) { zeros.collect() } else { leaves.collect() };
    match random.below(10) {
        0..=5 => {
            let leaf = *random.pick(&leaves);
            Some((levels.random(random, rank, &leaf.text), leaf.fill))
        }
        6 if (1..=3).contains(&rank) => {
            let path = folder.join(format!("grown{}.toml", random.next()));
            let declaration =
                (0..30).map(|_| grow::declaration(random)).find(|d| d.dims.len() == rank)?;
            std::fs::write(&path, declaration.toml()).ok()?;
            Some((path.to_str()?.to_string(), kind.zero()))
        }
        _ => {
            let number = random.below(1 << 30);
            Some((layouts::layout(random, rank, folder, number)?, kind.zero()))
        }
    }
}

fn commands() -> usize {
    number("SISKIN_STRATEGIES_COMMANDS").unwrap_or(COMMANDS).max(1)
}

/// The data of a program, and its formats.
fn given(levels: &Levels, made: &Made, folder: &Path) -> (Inputs, BTreeMap<String, String>) {
    let mut random = Random(made.seed);
    let mut formats = BTreeMap::new();
    let mut inputs = Inputs::default();
    // Operands that are stored alike can be walked at once.
    let alike = random.chance(40).then(|| {
        let leaves = levels.leaves.iter().filter(|l| l.fill.same(made.kind.zero()));
        let leaf = &leaves.clone().nth(random.below(leaves.count())).expect("a leaf").text;
        let lists = random.chance(50);
        [1, 2, 3].map(|rank| match lists {
            true => Levels::chain(&vec!["SparseList(@)"; rank], leaf),
            false => levels.random(&mut random, rank, leaf),
        })
    });
    let mentions = |name: &str| {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        made.text.split(|c: char| !is_name(c)).any(|word| word == name)
    };
    for (own, indices) in GIVEN.into_iter().chain([("U", "ij")]) {
        let name = made.name(own);
        let dims: Vec<usize> =
            indices.bytes().map(|i| made.extents[usize::from(i - b'i')]).collect();
        let content = *random.pick(&CONTENTS);
        let wished = match &alike {
            Some(formats) if own != "U" => {
                Some((formats[dims.len() - 1].clone(), made.kind.zero()))
            }
            _ => format(levels, &mut random, made.kind, dims.len(), own == "U", folder),
        };
        let fill = wished.as_ref().map_or(made.kind.zero(), |(_, fill)| *fill);
        let values = elements(&dims, content, fill, &mut random);
        if !mentions(name) {
            continue;
        }
        if let Some((wished, fill)) = wished
            && holds(&wished, &dims, &values, Some(fill))
        {
            formats.insert(name.to_string(), wished);
        }
        inputs = inputs.tensor(name, &dims, values);
    }
    let (places, result) = (made.name("q"), made.name("rs"));
    if mentions(places) {
        let [i, j, _] = made.extents;
        let numbers: Vec<i64> = (0..i).map(|_| random.below(j.max(1)) as i64 + 1).collect();
        inputs = inputs.integers(places, &[i], &numbers);
        if made.text.contains(&format!("{result}[{places}[")) {
            inputs = inputs.size(result, &[j.max(1), j]);
        }
    }
    let declared: Vec<&str> =
        made.text.lines().filter_map(|l| l.split_once(" .= ")).map(|(r, _)| r).collect();
    let returned = made.text.lines().last().unwrap_or_default();
    for name in declared.into_iter().filter(|r| returned.contains(r)) {
        let rank = made.rank(name);
        if rank > 0
            && random.chance(60)
            && let Some((wished, _)) = format(levels, &mut random, made.kind, rank, true, folder)
            && Layout::named_for_rank(&wished, rank).is_ok()
        {
            formats.insert(name.to_string(), wished);
        }
    }
    (inputs, formats)
}

#[derive(Default)]
struct Run {
    programs: usize,
    /// Those that are none: a name twice, or an index of which nothing says how far it runs.
    invalid: usize,
    /// Runs of the command line.
    commands: usize,
    tally: Tally,
}

impl Run {
    fn command(&mut self, one: &Ready<'_>) {
        self.commands += 1;
        if let Err(stopped) = caught(|| one.agrees_by_command()) {
            self.tally.stopped(stopped, one.case());
        }
    }
}

/// The cases of a program: one for each way of bringing operands together.
fn cases(made: &Made, formats: &BTreeMap<String, String>) -> Vec<Case> {
    let of = |scheme: &Coiterate| Case {
        text: made.text.clone(),
        formats: formats.clone(),
        scheme: *scheme,
    };
    Coiterate::ALL.iter().map(of).collect()
}

/// Whether a program fails, compiled by itself.
fn fails(levels: &Levels, made: &Made, folder: &Path) -> Option<String> {
    let mut one = Run::default();
    run(levels, std::slice::from_ref(made), folder, &mut one);
    one.tally.failures.pop()
}

fn run(levels: &Levels, some: &[Made], folder: &Path, all: &mut Run) {
    let data: Vec<(Inputs, Vec<Case>)> = some
        .iter()
        .map(|made| {
            let (inputs, formats) = given(levels, made, folder);
            (inputs, cases(made, &formats))
        })
        .collect();
    let mut batch = Batch::default();
    let mut ready: Vec<Ready<'_>> = Vec::new();
    for (inputs, cases) in &data {
        all.programs += 1;
        // What is no program at all is not counted for every scheme.
        if inputs.lower(&cases[0].text).is_err() {
            all.invalid += 1;
            continue;
        }
        for case in cases {
            match caught(|| batch.ready(case, inputs)) {
                Ok(one) => ready.push(one),
                Err(stopped) => all.tally.stopped(stopped, case),
            }
        }
    }
    let library = match batch.compiled() {
        Ok(library) => library,
        Err(e) => return all.tally.failed(e),
    };
    for one in &ready {
        match caught(|| batch.agrees(one, library.as_ref())) {
            Ok(()) => {
                all.tally.ran(one.case());
                if all.tally.runs().is_multiple_of(commands()) {
                    all.command(one);
                }
            }
            Err(stopped) => all.tally.stopped(stopped, one.case()),
        }
    }
}

#[test]
fn random_programs_in_random_formats_agree_by_every_way_of_bringing_operands_together() {
    agree(0);
}

/// Two tests at once take half the time.
#[test]
fn random_programs_in_random_formats_agree_by_every_way_of_bringing_more_operands_together() {
    agree(1);
}

fn agree(part: u8) {
    let levels = Levels::read();
    let folder = tempfile::tempdir().expect("a folder");
    let programs = number("SISKIN_STRATEGIES").unwrap_or(PROGRAMS);
    let mut seed = [7; 32];
    seed[0] = number("SISKIN_STRATEGIES_SEED").unwrap_or(0) as u8;
    seed[1] += part;
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut all = Run::default();
    let strategy = made();
    for first in (0..programs).step_by(TOGETHER) {
        let count = TOGETHER.min(programs - first);
        let trees = (0..count).map(|_| strategy.new_tree(&mut runner).expect("a program"));
        let mut trees: Vec<_> = trees.collect();
        let some: Vec<Made> = trees.iter().map(ValueTree::current).collect();
        let before = all.tally.failures.len();
        run(&levels, &some, folder.path(), &mut all);
        if all.tally.failures.len() == before {
            continue;
        }
        for tree in &mut trees {
            let Some(mut least) = fails(&levels, &tree.current(), folder.path()) else { continue };
            for _ in 0..100 {
                match fails(&levels, &tree.current(), folder.path()) {
                    Some(smaller) => {
                        least = smaller;
                        if !tree.simplify() {
                            break;
                        }
                    }
                    None if !tree.complicate() => break,
                    None => {}
                }
            }
            eprintln!("LEAST {least}");
        }
    }
    let Run { programs: ran, invalid, commands, .. } = &all;
    println!("{ran} programs, {invalid} of them invalid, {commands} runs by the command line");
    all.tally.report();
    assert!(all.tally.ran["auto"] > programs / 2);
}
