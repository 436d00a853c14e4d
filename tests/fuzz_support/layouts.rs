//! Random layouts: shipped ones, level lists, and shipped declarations with changes.

use std::path::Path;
use std::sync::OnceLock;

use siskin::layout::{Layout, shipped};

use super::names::nasty;
use super::random::Random;

/// Every shipped layout for tensors of this rank, with several parameters where it takes some.
fn shipped_for(rank: usize) -> &'static [String] {
    static KNOWN: [OnceLock<Vec<String>>; 4] = [const { OnceLock::new() }; 4];
    KNOWN[rank].get_or_init(|| {
        let mut out = Vec::new();
        for (name, _) in shipped() {
            for arguments in ["", "(1)", "(2)", "(2,3)", "(3,2)", "(1,4)", "(2,2,3)"] {
                let text = format!("{name}{arguments}");
                if Layout::named_for_rank(&text, rank).is_ok() {
                    out.push(text);
                }
            }
        }
        out
    })
}

/// A layout for an input of this rank; declarations that are made go into `folder`.
pub fn layout(random: &mut Random, rank: usize, folder: &Path, number: usize) -> Option<String> {
    if rank == 0 || rank > 3 {
        return None;
    }
    match random.below(20) {
        0..=3 => None,
        4..=11 => Some(random.pick(shipped_for(rank)).clone()),
        12..=15 => levels(random, rank),
        _ => declaration(random, rank, folder, number),
    }
}

/// A layout without index arrays, which an output may have.
pub fn dense_like(random: &mut Random, rank: usize) -> Option<String> {
    let text = random.pick(shipped_for(rank)).clone();
    let layout = Layout::named_for_rank(&text, rank).ok()?;
    layout.arrays.is_empty().then_some(text)
}

const LEVELS: &[&str] = &[
    "dense(D)",
    "dense(D)",
    "compressed(D)",
    "compressed(D)",
    "compressed(D, unique=false)",
    "compressed(D, ordered=false)",
    "hashed(D)",
    "singleton(D)",
    "singleton(D, unique=false)",
    "entries(D)",
    "entries(D, unique=false)",
    "entries(D, ordered=false, unique=false)",
];

fn levels(random: &mut Random, rank: usize) -> Option<String> {
    let mut dims: Vec<&str> = ["i", "j", "k"][..rank].to_vec();
    for _ in 0..30 {
        random.shuffle(&mut dims);
        let uses: Vec<String> = dims.iter().map(|d| random.pick(LEVELS).replace('D', d)).collect();
        let mut text = uses.join(", ");
        if !dims.is_sorted() {
            let mut order = dims.clone();
            order.sort_unstable();
            text = format!("[{}] {text}", order.join(","));
        }
        if Layout::named_for_rank(&text, rank).is_ok() {
            return Some(text);
        }
    }
    None
}

/// A shipped declaration with other names, fewer promises, or other parameters.
fn declaration(random: &mut Random, rank: usize, folder: &Path, number: usize) -> Option<String> {
    for attempt in 0..10 {
        let name = random.pick(shipped_for(rank)).split('(').next()?.to_string();
        let text = std::fs::read_to_string(format!("layouts/{name}.toml")).ok()?;
        if !text.contains("relation") {
            continue;
        }
        let text = changed(random, &text);
        let path = folder.join(format!("changed{number}_{attempt}.toml"));
        std::fs::write(&path, text).ok()?;
        let path = path.to_str()?.to_string();
        if Layout::named_for_rank(&path, rank).is_ok() {
            return Some(path);
        }
    }
    None
}

fn changed(random: &mut Random, text: &str) -> String {
    // Comments would be renamed in, too.
    let mut lines: Vec<String> = text
        .lines()
        .map(|l| l.split('#').next().unwrap_or_default().trim_end().to_string())
        .collect();
    if random.chance(40) {
        drop_property(random, &mut lines);
    }
    for line in &mut lines {
        if line.trim_start().starts_with("strict") && random.chance(30) {
            *line = "strict = false".to_string();
        }
        let parameter = line.split_once(" = ").filter(|(name, value)| {
            name.trim().chars().all(|c| c.is_ascii_uppercase())
                && value.trim().parse::<i64>().is_ok()
        });
        if let Some((name, _)) = parameter {
            *line = format!("{} = {}", name.trim(), 1 + random.below(4));
        }
    }
    let mut text = lines.join("\n") + "\n";
    let mut words: Vec<String> = lines
        .iter()
        .filter_map(|l| l.trim().strip_prefix("[index.")?.strip_suffix(']').map(str::to_string))
        .collect();
    words.push("val".to_string());
    words.extend(["p", "p0", "p1", "p2"].map(str::to_string));
    for word in words {
        if random.chance(50) {
            let new = nasty(random);
            // The two may not become one.
            if !contains_word(&text, new) {
                text = with_word(&text, &word, new);
            }
        }
    }
    text
}

fn drop_property(random: &mut Random, lines: &mut Vec<String>) {
    let starts: Vec<usize> =
        (0..lines.len()).filter(|&k| lines[k].trim() == "[[property]]").collect();
    if starts.is_empty() {
        return;
    }
    let start = *random.pick(&starts);
    let next = |l: &String| l.trim_start().starts_with('[');
    let end = lines[start + 1..].iter().position(next).map_or(lines.len(), |k| start + 1 + k);
    lines.drain(start..end);
}

fn contains_word(text: &str, word: &str) -> bool {
    with_word(text, word, "") != text
}

fn with_word(text: &str, word: &str, new: &str) -> String {
    let mut out = String::new();
    let mut name = String::new();
    for c in text.chars().chain(std::iter::once('\n')) {
        if c.is_ascii_alphanumeric() || c == '_' {
            name.push(c);
            continue;
        }
        out.push_str(if name == word { new } else { &name });
        name.clear();
        out.push(c);
    }
    out.pop();
    out
}
