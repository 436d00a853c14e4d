//! Formats that Finch's names make of the levels in `layouts/levels/finch/`: what a file there is, is found out
//! by using it, so that a new one is tested without being listed.

use std::sync::Arc;

use siskin::files::Loaded;
use siskin::layout::{Layout, LayoutSpec};
use siskin::operators::Value;
use siskin::packing::PackOptions;
use siskin::tensor::{DenseArray, Values};

use super::grown::random::Random;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/layouts/levels/finch");

/// What may stand in a leaf.
const FILLS: [&str; 10] =
    ["0.0", "0", "false", "Inf", "-Inf", "2.0", "3", "true", "Int32(0)", "UInt8(1)"];

/// A leaf, and what it does not store.
#[derive(Clone, Debug)]
pub struct Leaf {
    pub text: String,
    pub fill: Value,
}

/// The levels of the folder.
#[derive(Default)]
pub struct Levels {
    /// Of one dimension each, with `@` for what is below.
    pub plain: Vec<String>,
    /// Those of them that hold any vector.
    pub general: Vec<String>,
    /// Of several, `{N}` among them.
    pub tuples: Vec<String>,
    pub leaves: Vec<Leaf>,
    /// Leaves that are a whole tensor.
    pub scalars: Vec<Leaf>,
}

fn fits(text: &str, rank: usize) -> bool {
    Layout::named_for_rank(text, rank).is_ok()
}

/// Whether a level above a leaf has a place for any elements.
fn holds_any(level: &str) -> bool {
    let layout = Arc::new(Layout::named(&level.replace('@', "Element(0)")).expect("a format"));
    [vec![1, 0, 2, 2, 0, 3], vec![0; 6], vec![1; 6]].into_iter().all(|numbers| {
        let array = DenseArray::new(vec![6], Values::I64(numbers)).expect("an array");
        Loaded::Dense(array).pack_with(&layout, &PackOptions::default()).is_ok()
    })
}

impl Levels {
    pub fn read() -> Levels {
        let mut names: Vec<String> = std::fs::read_dir(FOLDER)
            .expect("the folder of levels")
            .map(|f| f.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        names.sort();
        let mut out = Levels::default();
        let mut around = Vec::new();
        for name in names {
            let below = "Element(0.0)";
            let leaf = |form: &dyn Fn(&str) -> String, rank: usize| -> Vec<Leaf> {
                let texts = FILLS.iter().copied().chain([""]).map(|f| format!("{name}({f})"));
                let texts = texts.filter(|text| fits(&form(text), rank));
                let read = |text: String| {
                    let fill = LayoutSpec::parse(&form(&text)).ok()?.fill()?;
                    Some(Leaf { text, fill: fill.into() })
                };
                texts.filter_map(read).collect()
            };
            let (under, alone) = (leaf(&|t| format!("Dense({t})"), 1), leaf(&|t| t.to_string(), 0));
            if !under.is_empty() {
                out.leaves.extend(under);
            } else if !alone.is_empty() {
                out.scalars.extend(alone);
            } else if fits(&format!("{name}({below})"), 1) {
                out.plain.push(format!("{name}(@)"));
            } else if fits(&format!("{name}{{2}}({below})"), 2) {
                out.plain.push(format!("{name}{{1}}(@)"));
                out.tuples.push(format!("{name}{{N}}(@)"));
            } else if fits(&format!("{name}(Dense({below}))"), 1) {
                around.push(name);
            } else {
                // It is a part of others, and needs a parent with a coordinate.
                assert!(fits(&format!("Dense({name}({below}))"), 2), "nothing is made of `{name}`");
            }
        }
        let inner = out.plain.clone();
        for (k, name) in around.into_iter().enumerate() {
            out.plain.push(format!("{name}({})", inner[(k + 1) % inner.len()]));
        }
        out.general = out.plain.iter().filter(|level| holds_any(level)).cloned().collect();
        assert!(out.general.len() > out.plain.len() / 2, "{:?}", out.general);
        out
    }

    /// Levels above a leaf, the outermost first.
    pub fn chain(levels: &[&str], leaf: &str) -> String {
        levels.iter().rev().fold(leaf.to_string(), |below, level| level.replace('@', &below))
    }

    /// A random format of a rank.
    pub fn random(&self, random: &mut Random, rank: usize, leaf: &str) -> String {
        if rank > 1 && random.chance(12) {
            let level = random.pick(&self.tuples).replace("{N}", &format!("{{{rank}}}"));
            return Levels::chain(&[&level], leaf);
        }
        let levels: Vec<&str> = (0..rank).map(|_| self.any(random)).collect();
        Levels::chain(&levels, leaf)
    }

    fn any(&self, random: &mut Random) -> &str {
        let list = if random.chance(15) { &self.plain } else { &self.general };
        &list[random.below(list.len())]
    }

    /// A format of this rank in which a level is at a depth, and random ones elsewhere.
    pub fn with(
        &self,
        random: &mut Random,
        level: &str,
        rank: usize,
        depth: usize,
        leaf: &str,
    ) -> String {
        let pick = |d: usize| if d == depth { level } else { self.any(random) };
        let levels: Vec<&str> = (0..rank).map(pick).collect();
        Levels::chain(&levels, leaf)
    }
}

/// The name of the file of a level.
pub fn file_of(level: &str) -> &str {
    level.split(['(', '{']).next().unwrap_or(level)
}
