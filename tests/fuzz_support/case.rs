//! One case: what is computed, on what, and how; all of it follows from a number.

use std::collections::BTreeMap;
use std::path::Path;

use siskin::code::IndexWidth;
use siskin::iterspace::Union;
use siskin::synth::workspaces;
use siskin::tensor::ValueType;

use super::layouts;
use super::programs::{Source, source};
use super::random::Random;

/// Coordinates and a value.
pub type Entry = (Vec<usize>, f64);

#[derive(Clone, Debug)]
pub struct Case {
    pub number: u64,
    pub source: Source,
    pub layouts: Vec<(String, String)>,
    pub value_type: ValueType,
    /// Of tensors with another type.
    pub types: BTreeMap<String, ValueType>,
    /// Of tensors that hold something else than zero where they store nothing.
    pub fills: BTreeMap<String, f64>,
    pub width: IndexWidth,
    pub threads: usize,
    /// Tile sizes for some of the loop dimensions.
    pub tile: Option<i64>,
    pub reordered: bool,
    /// How sums are visited.
    pub union: Union,
    /// Products are co-iterated by looplets, where that is not refused.
    pub looplets: bool,
    /// Where a result of unknown structure is gathered.
    pub workspace: Option<String>,
    /// Other templates than the cheapest.
    pub forced: bool,
    pub entries: BTreeMap<String, Vec<Entry>>,
    /// For choices that need the plan.
    pub random: Random,
}

impl Case {
    pub fn new(number: u64, folder: &Path) -> Case {
        let mut random = Random(number.wrapping_mul(0xD129_0E5C_8AF3_7B1D).wrapping_add(7));
        let random = &mut random;
        let value_type = *random.pick(&ValueType::ALL);
        let source = source(random, value_type);
        let mut layouts = Vec::new();
        for (k, (tensor, rank)) in source.ranks.iter().enumerate() {
            let text = if source.temporaries.contains(tensor) {
                let dense_like = random.chance(10) && (1..=3).contains(rank);
                if dense_like { layouts::dense_like(random, *rank) } else { None }
            } else if *tensor != source.output {
                layouts::layout(random, *rank, folder, number as usize * 10 + k)
            } else if random.chance(8) {
                Some(format!("shares({})", random.pick(&source.factors)))
            } else if random.chance(25) && (1..=3).contains(rank) {
                layouts::layout(random, *rank, folder, number as usize * 10 + k)
            } else if random.chance(8) && (1..=3).contains(rank) {
                layouts::dense_like(random, *rank)
            } else {
                None
            };
            layouts.extend(text.map(|text| (tensor.clone(), text)));
        }
        let mut types = BTreeMap::new();
        if random.chance(25) {
            for tensor in source.ranks.keys() {
                types.insert(tensor.clone(), *random.pick(&ValueType::ALL));
            }
        }
        let mut fills = BTreeMap::new();
        let mut entries = BTreeMap::new();
        for (tensor, dims) in &source.dims {
            if random.chance(10) {
                fills.insert(tensor.clone(), 1.0);
            }
            let ty = types.get(tensor).copied().unwrap_or(value_type);
            entries.insert(tensor.clone(), made(random, dims, ty));
        }
        Case {
            number,
            layouts,
            value_type,
            types,
            fills,
            width: if random.chance(60) { IndexWidth::U32 } else { IndexWidth::U64 },
            threads: if random.chance(25) { 2 + random.below(4) } else { 1 },
            tile: random.chance(12).then(|| 1 + random.below(4) as i64),
            reordered: random.chance(35),
            union: *random.pick(&Union::ALL),
            looplets: random.chance(if source.is_narrow { 90 } else { 40 }),
            workspace: random.chance(50).then(|| {
                let names = workspaces().expect("shipped workspaces");
                random.pick(names).name.clone()
            }),
            forced: random.chance(60),
            entries,
            random: random.clone(),
            source,
        }
    }

    /// What to type to see it again.
    pub fn shown(&self, order: &[String], tiles: &[(String, i64)], threads: usize) -> String {
        let mut out = format!("siskin emit '{}'", self.source.expression);
        for (tensor, layout) in &self.layouts {
            out.push_str(&format!(" -f '{tensor}={layout}'"));
        }
        if !order.is_empty() {
            out.push_str(&format!(" --order {}", order.join(",")));
        }
        for (of, size) in tiles {
            out.push_str(&format!(" --tile {of}={size}"));
        }
        out.push_str(&format!(" --union {}", self.union.word()));
        if self.looplets {
            out.push_str(" [--coiterate looplets]");
        }
        if let Some(workspace) = &self.workspace {
            out.push_str(&format!(" --workspace {workspace}"));
        }
        if threads > 1 {
            out.push_str(&format!(" --threads {threads}"));
        }
        let width = if self.width == IndexWidth::U32 { "u32" } else { "u64" };
        out.push_str(&format!(" --type {} --index {width}", self.value_type));
        for (tensor, ty) in &self.types {
            out.push_str(&format!(" --type {tensor}={ty}"));
        }
        for (tensor, fill) in &self.fills {
            out.push_str(&format!(" --fill {tensor}={fill}"));
        }
        out.push_str(&format!("\n  with {:?}, {:?}", self.source.dims, self.source.extents));
        out.push_str(&format!(
            "\n  again: SISKIN_FUZZ_CASE={} cargo test --test fuzz",
            self.number
        ));
        out
    }
}

/// Entries in no order, some of them twice.
fn made(random: &mut Random, dims: &[usize], value_type: ValueType) -> Vec<Entry> {
    let total: usize = dims.iter().product();
    let point = |mut number: usize| {
        let mut at: Vec<usize> = Vec::new();
        for extent in dims.iter().rev() {
            at.insert(0, number % extent);
            number /= extent;
        }
        at
    };
    let mut numbers: Vec<usize> = (0..total).collect();
    random.shuffle(&mut numbers);
    match random.below(10) {
        0 => numbers.clear(),
        1 => {}
        2 => numbers.truncate(1),
        _ => {
            let most = random.below(total.min(24) + 1);
            numbers.truncate(most);
            if random.chance(30) && !numbers.is_empty() {
                let twice = *random.pick(&numbers);
                numbers.push(twice);
            }
        }
    }
    let mut value = || match value_type {
        ValueType::Bool => 1.0,
        ValueType::U8 => random.below(7) as f64,
        _ => random.below(7) as f64 - 3.0,
    };
    numbers.into_iter().map(|n| (point(n), value())).collect()
}
