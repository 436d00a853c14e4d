//! Random programs: nests over tensors of rank 1 to 3, with windows, masks, computed subscripts, workspaces and
//! updates of what is given, and with names that a careless printer would let collide.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;
use siskin::operators::Value;

use super::fuzz::names;
use super::grown::random::Random;

/// The tensors that programs are given, and how they are indexed.
pub const GIVEN: [(&str, &str); 9] = [
    ("A", "ij"),
    ("B", "jk"),
    ("D", "ij"),
    ("At", "ji"),
    ("S", "ii"),
    ("T", "ijk"),
    ("x", "i"),
    ("z", "j"),
    ("w", "k"),
];

/// Numbers of one type, and what is done with them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Whole,
    Float,
    Truth,
}

impl Kind {
    pub fn zero(self) -> Value {
        match self {
            Kind::Whole => Value::I64(0),
            Kind::Float => Value::F64(0.0),
            Kind::Truth => Value::Bool(false),
        }
    }

    fn text(self) -> &'static str {
        match self {
            Kind::Whole => "0",
            Kind::Float => "0.0",
            Kind::Truth => "false",
        }
    }
}

/// What a program is, and the seed of its formats and data.
#[derive(Clone, Debug)]
pub struct Made {
    pub kind: Kind,
    pub text: String,
    pub extents: [usize; 3],
    pub seed: u64,
    /// What its tensors are called.
    names: BTreeMap<String, String>,
}

/// Words that are no names of a program.
const WORDS: [&str; 34] = [
    "while", "try", "do", "const", "function", "struct", "macro", "quote", "global", "local",
    "for", "if", "in", "let", "end", "else", "elseif", "begin", "return", "true", "false",
    "missing", "nothing", "min", "max", "ifelse", "coalesce", "swizzle", "gallop", "walk",
    "follow", "Inf", "NaN", "__",
];

impl Made {
    /// With names that a careless printer would let collide.
    fn renamed(mut self) -> Made {
        let mut random = Random(self.seed ^ 1);
        let mut words: Vec<String> = Vec::new();
        for word in self.text.split(|c: char| !c.is_alphanumeric() && c != '_') {
            let is_name = word.starts_with(|c: char| c.is_alphabetic()) && !WORDS.contains(&word);
            if is_name && !words.iter().any(|w| w == word) {
                words.push(word.to_string());
            }
        }
        let mut taken = words.clone();
        taken.extend(WORDS.iter().chain(&["U", "q", "rs"]).map(ToString::to_string));
        taken.extend(GIVEN.map(|(name, _)| name.to_string()));
        for word in words {
            let name = match random.chance(60) {
                true => names::fresh(&mut random, &mut taken),
                false => word.clone(),
            };
            self.names.insert(word, name);
        }
        let mut text = String::new();
        let mut word = String::new();
        for c in self.text.chars().chain(['\n']) {
            if c.is_alphanumeric() || c == '_' {
                word.push(c);
                continue;
            }
            text.push_str(self.names.get(&word).unwrap_or(&word));
            word.clear();
            text.push(c);
        }
        self.text = text;
        self
    }

    /// The number of subscripts of a result.
    pub fn rank(&self, own: &str) -> usize {
        let update = self.text.lines().find(|line| line.starts_with(&format!("{own}[")));
        let mut depth = 0;
        let mut commas = 0;
        for c in update.unwrap_or("[]").chars().skip(own.len()) {
            match c {
                '[' => depth += 1,
                ']' => depth -= 1,
                ',' if depth == 1 => commas += 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        match update.is_none_or(|line| line.starts_with(&format!("{own}[]"))) {
            true => 0,
            false => commas + 1,
        }
    }

    pub fn name<'a>(&'a self, own: &'a str) -> &'a str {
        self.names.get(own).map_or(own, String::as_str)
    }
}

/// Values over the indices of some loops.
fn value(kind: Kind, indices: &'static str) -> BoxedStrategy<String> {
    let zero = kind.text();
    let mut leaves: Vec<String> = Vec::new();
    let has = |text: &str| text.chars().all(|c| indices.contains(c));
    for (name, own) in GIVEN.iter().filter(|(_, own)| has(own)) {
        let s: Vec<String> = own.chars().map(String::from).collect();
        leaves.push(format!("{name}[{}]", s.join(", ")));
        leaves.push(format!("{name}[gallop({})]", s.join("), walk(")));
        if s.len() < 3 {
            let shifted = s.join(", ").replacen(&s[0], &format!("~({} + 1)", s[0]), 1);
            leaves.push(format!("coalesce({name}[{shifted}], {zero})"));
            let mut last = s.clone();
            *last.last_mut().unwrap() = format!("~({} - 2)", s[s.len() - 1]);
            leaves.push(format!("coalesce({name}[{}], {zero})", last.join(", ")));
        }
    }
    if has("ij") {
        leaves.extend(["swizzle(At, 2, 1)[i, j]".into(), "swizzle(A, 2, 1)[j, i]".into()]);
        leaves.push("A[i, q[i]]".into());
    }
    if has("i") {
        leaves.extend(["z[q[i]]".into(), "coalesce(z[~(q[i] + 1)], ZERO)".replace("ZERO", zero)]);
    }
    // What stands for what lies outside is not always what is not stored.
    let other = if kind == Kind::Truth { "true" } else { "5" };
    if has("ij") {
        leaves.push(format!("coalesce(z[~(i + j - 2)], {other})"));
        leaves.push(format!("coalesce(D[~(i + j - 1), i], {other})"));
    }
    if has("j") {
        leaves.push(format!("coalesce(D[~(2 * j), j], {other})"));
        leaves.push(format!("coalesce(A[~(j + 1), ~(j - 1)], {other})"));
    }
    if leaves.is_empty() {
        leaves.push(zero.to_string());
    }
    let leaf = select(leaves);
    let (times, plus): (Vec<&str>, Vec<&str>) = match kind {
        Kind::Truth => (vec!["&"], vec!["|"]),
        _ => (vec!["*"], vec!["+", "-"]),
    };
    leaf.prop_recursive(3, 6, 2, move |inner| {
        let pair = || (inner.clone(), inner.clone());
        let product =
            (select(times.clone()), pair()).prop_map(|(op, (a, b))| format!("({a}) {op} ({b})"));
        let sum =
            (select(plus.clone()), pair()).prop_map(|(op, (a, b))| format!("({a}) {op} ({b})"));
        match kind {
            Kind::Truth => {
                prop_oneof![4 => product, 2 => sum, 1 => inner.prop_map(|a| format!("!({a})"))]
                    .boxed()
            }
            _ => prop_oneof![
                4 => product,
                2 => sum,
                1 => pair().prop_map(|(a, b)| format!("min({a}, {b})")),
                1 => pair().prop_map(|(a, b)| format!("max(abs({a}), -({b}))")),
                1 => pair().prop_map(|(a, b)| format!("ifelse({a} < {b}, {a}, {b})")),
            ]
            .boxed(),
        }
    })
    .boxed()
}

fn condition(indices: &'static str) -> BoxedStrategy<String> {
    let mut all: Vec<&str> = vec![""];
    if indices.contains('i') && indices.contains('j') {
        all.extend(["i <= j", "i != j", "i == j", "j < i + 2", "!(i < j) && j > 1"]);
    }
    if indices.contains('i') {
        all.extend(["i > 1", "i == 2", "i < 3 || i == 4"]);
    }
    (0..10_usize, select(all))
        .prop_map(|(k, c)| if k < 6 { String::new() } else { c.to_string() })
        .boxed()
}

/// The order of loops, and whether it is stated how far they run.
fn order(indices: &'static str) -> BoxedStrategy<(Vec<char>, bool)> {
    let all: Vec<char> = indices.chars().collect();
    (Just(all).prop_shuffle(), any::<bool>()).boxed()
}

/// Loops around a body; where no access says it, it is stated how far they run.
fn header((order, stated): &(Vec<char>, bool), body: &str) -> String {
    let says = |i: char| {
        let places = [
            format!("[{i}]"),
            format!("[{i},"),
            format!(", {i}]"),
            format!("p({i})"),
            format!("k({i})"),
        ];
        places.iter().any(|place| body.contains(place))
    };
    let extent = |i: char| match *stated || !says(i) {
        true => format!("1:{}", i.to_ascii_uppercase()),
        false => "_".to_string(),
    };
    let loops: Vec<String> = order.iter().map(|i| format!("{i} = {}", extent(*i))).collect();
    format!("for {}", loops.join(", "))
}

/// Sums of what is indexed alike, over the indices of some loops.
fn sum(kind: Kind, indices: &'static str) -> BoxedStrategy<String> {
    let alike = match indices {
        "i" => vec!["x[i]", "S[i, i]", "x[gallop(i)]"],
        "j" => vec!["z[j]", "z[walk(j)]"],
        "jk" => vec!["B[j, k]", "B[walk(j), follow(k)]"],
        "ijk" => vec!["T[i, j, k]", "A[i, j]", "B[j, k]"],
        _ => vec!["A[i, j]", "D[i, j]", "swizzle(At, 2, 1)[i, j]", "D[walk(i), gallop(j)]"],
    };
    if indices == "ik" {
        return value(kind, indices);
    }
    let plus = if kind == Kind::Truth { "|" } else { "+" };
    let three = (select(alike.clone()), select(alike.clone()), select(alike), 0..4_usize);
    three
        .prop_map(move |(a, b, c, form)| match form {
            0 => format!("{a} {plus} {b} {plus} {c}"),
            _ => format!("{a} {plus} {b}"),
        })
        .boxed()
}

/// A nest that updates a result over some of its indices; number `k`.
fn nest(kind: Kind, k: usize) -> BoxedStrategy<String> {
    let indices = select(vec!["i", "j", "ij", "ij", "ij", "jk", "ijk", "ik"]);
    let ops: Vec<&str> = match kind {
        Kind::Truth => vec!["|=", "=", "|=", "&="],
        _ => vec!["+=", "+=", "+=", "<<min>>=", "<<max>>=", "="],
    };
    let zero = kind.text();
    indices
        .prop_flat_map(move |indices| {
            let subsets: Vec<String> = (0..1_usize << indices.len())
                .map(|bits| {
                    let some = indices.chars().enumerate().filter(|(d, _)| bits >> d & 1 == 1);
                    some.map(|(_, c)| c).collect()
                })
                .collect();
            let value_or_sum = prop_oneof![value(kind, indices), sum(kind, indices)];
            let parts = (order(indices), condition(indices), value_or_sum);
            (parts, select(ops.clone()), select(subsets), 0..8_usize, value(kind, indices))
        })
        .prop_map(move |((order, condition, value), op, own, form, second)| {
            let s: Vec<String> = own.chars().map(String::from).collect();
            let r = format!("r{k}{own}");
            let target = format!("{r}[{}]", s.join(", "));
            let header = header(&order, &value);
            let (open, close) = match condition.as_str() {
                "" => (String::new(), ""),
                c => (format!("if {c}\n"), "end\n"),
            };
            match form {
                0 => format!("{r} .= {zero}\n{header}\nlet v = {value}\n{open}{target} {op} v\n{close}end\nend\n"),
                1 if own.is_empty() => {
                    format!("{r} .= {zero}\n{header}\n{open}{target} {op} {value}\n{target} {op} {second}\n{close}end\n")
                }
                2 if !open.is_empty() => {
                    format!("{r} .= {zero}\n{header}\n{open}{target} = {value}\nelse\n{target} = {second}\nend\nend\n")
                }
                _ => format!("{r} .= {zero}\n{header}\n{open}{target} {op} {value}\n{close}end\n"),
            }
        })
        .boxed()
}

/// Nests with workspaces, and updates of what is given.
fn special(kind: Kind) -> BoxedStrategy<String> {
    let zero = kind.text();
    let (plus, times) = if kind == Kind::Truth { ("|=", "&") } else { ("+=", "*") };
    let places = vec!["i", "j", "", "i, j"];
    prop_oneof![
        1 => value(kind, "ij").prop_map(move |v| format!(
            "rs .= {zero}\nfor j = _\nt .= {zero}\nfor i = 1:I\nt[] {plus} {v}\nend\nrs[j] = t[] {times} z[j]\nend\n"
        )),
        1 => (value(kind, "ij"), value(kind, "jk")).prop_map(move |(a, b)| format!(
            "rs .= {zero}\nfor k = 1:K\nt .= {zero}\nfor j = 1:J, i = 1:I\nt[i] {plus} ({a}) {times} ({b})\nend\nfor i = _\nrs[i, k] = t[i]\nend\nend\n"
        )),
        // Several results of one nest.
        2 => (value(kind, "ij"), value(kind, "ij"), select(places.clone()), select(places.clone()))
            .prop_map(move |(v, w, a, b)| format!(
                "rs .= {zero}\nrt .= {zero}\nfor j = 1:J, i = 1:I\nrs[{a}] {plus} {v}\nrt[{b}] {plus} ({v}) {times} ({w})\nend\n"
            )),
        1 => value(kind, "ij").prop_map(move |v| format!(
            "rs .= {zero}\nfor j = 1:J, i = _\nrs[q[i], j] {plus} {v}\nend\n"
        )),
        1 => (value(kind, "ij"), select(vec!["", "i < j"])).prop_map(move |(v, c)| {
            let v = v.replace("U", "x");
            match c {
                "" => format!("for j = _, i = _\nU[i, j] {plus} {v}\nend\n"),
                c => format!("for j = _, i = _\nif {c}\nU[i, j] = {v}\nend\nend\n"),
            }
        }),
        1 => (value(kind, "ij"), value(kind, "i")).prop_map(move |(v, u)| format!(
            "t .= {zero}\nfor i = 1:I, j = 1:J\nt[i] {plus} {v}\nend\nrs .= {zero}\nfor i = _\nrs[i] {plus} t[i] {times} ({u})\nend\n"
        )),
    ]
    .boxed()
}

pub fn made() -> BoxedStrategy<Made> {
    let extents =
        select(vec![[3, 4, 5], [6, 6, 3], [1, 5, 2], [4, 1, 3], [0, 3, 2], [5, 0, 2], [7, 5, 1]]);
    select(vec![Kind::Whole, Kind::Whole, Kind::Float, Kind::Truth])
        .prop_flat_map(move |kind| {
            let nests = prop_oneof![
                5 => nest(kind, 1),
                1 => (nest(kind, 1), nest(kind, 2)).prop_map(|(a, b)| format!("{a}{b}")),
                2 => special(kind),
            ];
            (Just(kind), nests, extents.clone(), any::<u64>(), any::<bool>())
        })
        .prop_map(|(kind, body, extents, seed, nasty)| {
            let mut text = body;
            for (i, n) in ["I", "J", "K"].iter().zip(extents) {
                text = text.replace(&format!("1:{i}"), &format!("1:{n}"));
            }
            let results = text.lines().filter_map(|l| l.split_once(" .= ")).map(|(r, _)| r);
            let mut results: Vec<&str> = results.filter(|r| r.starts_with('r')).collect();
            if text.contains("U[") {
                results.push("U");
            }
            let returned = results.join(", ");
            let text = match results.len() {
                1 => format!("{text}return {returned}"),
                _ => format!("{text}return ({returned})"),
            };
            let made = Made { kind, text, extents, seed, names: BTreeMap::new() };
            if nasty { made.renamed() } else { made }
        })
        .boxed()
}
