//! The choice between several ways to compute a result, made when the kernel runs: the formulas of cost, over sizes and
//! over statistics of index arrays that take constant time.
//!
//! ```text
//! fn fastest(size_I: usize, size_N: usize, pos_A: &[u32]) -> usize {
//!     const BRANCH_MISS: f64 = 4.7;
//!     let size_I = size_I as f64;
//!     let size_N = size_N as f64;
//!     let step_pos_A = mean_step(pos_A, |n| f64::from(n));
//!     let mut times = [0.0; 2];
//!
//!     // core_bsearch: loops
//!     let iterations = …;
//!     times[0] += 0.8 * iterations + …;
//!     …
//! ```

use std::collections::BTreeMap;

use super::core::Core;
use super::functions::Functions;
use crate::code::naming::Naming;
use crate::code::{Doc, Element, Lines, NARROW, VarId};
use crate::formula::Name;
use crate::synth::{CostFormula, Function, MISSED, Statistic, Term};

/// Longer formulas are written in parts, so that each has a line.
const LONGEST: usize = 84;

/// What costs depend on, by name.
struct Given {
    /// Sizes: the statistic's parameter.
    sizes: Vec<Name>,
    /// Arrays of which something is asked, by the functions that compute it.
    arrays: [Vec<Name>; OF_ARRAYS.len()],
    /// The number of threads.
    threads: bool,
}

impl Given {
    fn of(cores: &[Core]) -> Given {
        let mut given = Given { sizes: Vec::new(), arrays: Default::default(), threads: false };
        let used = cores.iter().flat_map(|core| &core.way.costs).flat_map(Term::used);
        for name in used.flat_map(|(_, formula)| formula.names()) {
            let Some(statistic) = Statistic::<Name>::named(name) else { continue };
            let Some(about) = statistic.of() else {
                given.threads = true;
                continue;
            };
            let function = OF_ARRAYS.iter().position(|f| (f.statistic)(about.clone()) == statistic);
            let place = function.map_or(&mut given.sizes, |function| &mut given.arrays[function]);
            if !place.contains(about) {
                place.push(about.clone());
            }
        }
        given
    }

    /// The arrays, once each.
    fn arrays(&self) -> Vec<&Name> {
        let mut out: Vec<&Name> = Vec::new();
        for array in self.arrays.iter().flatten() {
            if !out.contains(&array) {
                out.push(array);
            }
        }
        out
    }

    /// The functions over arrays that are called, and of which arrays.
    fn functions(&self) -> impl Iterator<Item = (&OfArray, &Vec<Name>)> {
        OF_ARRAYS.iter().zip(&self.arrays).filter(|(_, arrays)| !arrays.is_empty())
    }
}

impl Functions<'_> {
    /// The sizes that the choice depends on.
    pub(super) fn compared_sizes(&self) -> Vec<VarId> {
        let given = Given::of(self.cores);
        let sizes = self.body.sizes.iter().copied();
        sizes.filter(|v| given.sizes.contains(&self.body.var(*v).name)).collect()
    }

    /// The arguments of the choice.
    pub(super) fn compared(&self) -> Vec<Doc> {
        let sizes = self.compared_sizes().into_iter().map(|v| Doc::text(self.local(v)));
        let given = Given::of(self.cores);
        let arrays = given.arrays().into_iter().map(|array| self.field(array).1);
        let threads = given.threads.then(|| Doc::text("threads"));
        sizes.chain(arrays).chain(threads).collect()
    }

    /// The function that chooses.
    pub(super) fn fastest_function(&self, out: &mut Lines) {
        let given = Given::of(self.cores);
        let mut naming = Naming::new();
        // What every choice has, and what formulas speak of.
        for name in OF_ARRAYS.iter().map(|function| function.name).chain([
            "times",
            "fastest",
            "k",
            "time",
            "missed",
            "MOST_BYTES",
        ]) {
            naming.reserve(name);
        }
        let terms = || self.cores.iter().flat_map(|core| &core.way.costs);
        terms().flat_map(|t| &t.quantities).for_each(|(name, _)| naming.reserve(name));
        let constants = self.constants();
        constants.keys().for_each(|name| naming.reserve(&name.to_uppercase()));
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        let (mut parameters, mut lets) = (Vec::new(), Vec::new());
        for v in self.compared_sizes() {
            let size = &self.body.var(v).name;
            let local = naming.fresh(&format!("size_{size}"));
            parameters.push(format!("{local}: usize"));
            lets.push((local.clone(), Doc::text(local.clone()).cast("f64")));
            names.insert(Statistic::Size(size.clone()).to_string(), local.clone());
            names.insert(Statistic::Bound(size.clone()).to_string(), local);
        }
        for array in given.arrays() {
            let local = naming.fresh(array);
            let element = self.element(array);
            parameters.push(format!("{local}: &[{}]", element.rust_name()));
            let number = match element.rust_name() {
                "u32" | "i32" => Doc::text("f64::from"),
                _ => Doc::text("|n| n as f64"),
            };
            for (function, _) in given.functions().filter(|(_, of)| of.contains(array)) {
                let statistic = (function.statistic)(array.clone()).to_string();
                let value = naming.fresh(&statistic.replacen(' ', "_", 1));
                let mut arguments = vec![Doc::text(local.clone())];
                arguments.extend(function.converts.then(|| number.clone()));
                lets.push((value.clone(), Doc::call(function.name, arguments)));
                names.insert(statistic, value);
            }
        }
        if given.threads {
            // No other name is this.
            let local = "threads".to_string();
            parameters.push(format!("{local}: usize"));
            // None is one.
            let number = Doc::text(local.clone()).method("max", vec![Doc::text("1")]).cast("f64");
            lets.push((local.clone(), number));
            names.insert(Statistic::Threads.to_string(), local);
        }
        out.line("/// Which core is expected to take the least time: the first is 0. What each takes, in");
        out.line("/// nanoseconds, is estimated from sizes and from index arrays.");
        out.line("#[allow(non_snake_case, clippy::manual_clamp, clippy::too_many_arguments)]");
        out.function("fn fastest", &parameters, "usize");
        for (name, value) in &constants {
            out.line(&format!("const {}: f64 = {value:?};", name.to_uppercase()));
        }
        if terms().any(|term| term.memory.is_some()) {
            out.line("/// What keeps more is the last choice.");
            out.line(&format!("const MOST_BYTES: f64 = {:?};", self.ways.most_memory));
        }
        for (name, value) in lets {
            out.assignment(&format!("let {name} ="), &value);
        }
        out.line(&format!("let mut times = [0.0; {}];", self.cores.len()));
        for (k, core) in self.cores.iter().enumerate() {
            for term in &core.way.costs {
                out.blank();
                out.line(&format!("// {}: {}", core.way.name, term.label));
                self.term(k, term, &names, &naming, out);
            }
        }
        out.blank();
        out.line("let mut fastest = 0;");
        out.open("for (k, time) in times.iter().enumerate()");
        out.line("// What has no value is never the least.");
        out.open("if *time < times[fastest] || times[fastest].is_nan()");
        out.line("fastest = k;");
        out.close("");
        out.close("");
        out.line("fastest");
        out.close("");
        given.functions().for_each(|(function, _)| out.raw(function.text));
        if terms().any(|term| term.formula.calls(Function::Missed)) {
            out.raw(MISSED);
        }
    }

    /// `times[k] += …;`, with what it is about.
    fn term(
        &self,
        k: usize,
        term: &Term<CostFormula>,
        names: &BTreeMap<String, String>,
        naming: &Naming,
        out: &mut Lines,
    ) {
        let quantities = term.quantities.iter().map(|(name, _)| (*name).to_string()).collect();
        let mut parts =
            Parts { names, naming: naming.clone(), lets: Vec::new(), count: 0, locals: quantities };
        for (name, formula) in term.used() {
            let value = parts.fitting(formula, name.len() + 8);
            parts.lets.push(((*name).to_string(), value));
        }
        let (added, taken) = term.formula.summands();
        let added = added.into_iter().map(|summand| ("+=", summand));
        let all = added.chain(taken.into_iter().map(|summand| ("-=", summand)));
        let times: Vec<(&str, String)> =
            all.map(|(operator, summand)| (operator, parts.fitting(summand, 16))).collect();
        let bytes = term.memory.as_ref().map(|memory| parts.fitting(memory, 24));
        for (name, value) in parts.lets {
            out.line(&format!("let {name} = {value};"));
        }
        for (operator, time) in times {
            out.line(&format!("times[{k}] {operator} {time};"));
        }
        if let Some(bytes) = bytes {
            out.open(&format!("if {bytes} > MOST_BYTES"));
            out.line(&format!("times[{k}] = f64::INFINITY;"));
            out.close("");
        }
    }

    /// The constants of the machine that formulas use.
    fn constants(&self) -> BTreeMap<&str, f64> {
        let machine = &self.ways.machine;
        let terms = self.cores.iter().flat_map(|core| &core.way.costs);
        let formulas = terms.flat_map(|term| [Some(&term.formula), term.memory.as_ref()]);
        let names = formulas.flatten().flat_map(CostFormula::names);
        names.filter_map(|name| machine.value(name).map(|value| (name, value))).collect()
    }

    /// What an index array of a given tensor holds.
    fn element(&self, array: &Name) -> Element {
        let arrays = self.body.arrays();
        let found = arrays.map(|(_, a)| a).find(|a| a.name == *array);
        found.expect("a statistic is one of an array of an operand").element
    }
}

/// Formulas as lines.
struct Parts<'a> {
    /// Of statistics.
    names: &'a BTreeMap<String, String>,
    naming: Naming,
    /// What comes before.
    lets: Vec<(String, String)>,
    count: usize,
    /// Variables: quantities and parts.
    locals: Vec<String>,
}

impl Parts<'_> {
    /// The formula on the rest of a line of which so many characters are taken: parts that are too long have lines
    /// of their own.
    fn fitting(&mut self, formula: &CostFormula, taken: usize) -> String {
        let text = self.text(formula);
        if text.len() + taken <= LONGEST && widest_arguments(&text) <= NARROW {
            return text;
        }
        let mut shorter = formula.clone();
        for part in shorter.parts_mut() {
            if part.is_leaf() {
                continue;
            }
            self.count += 1;
            let name = self.naming.fresh(&format!("part_{}", self.count));
            let value = self.fitting(part, name.len() + 8);
            self.lets.push((name.clone(), value));
            self.locals.push(name.clone());
            *part = CostFormula::Named(name.into());
        }
        self.text(&shorter)
    }

    fn text(&self, formula: &CostFormula) -> String {
        formula.to_rust(|name| match self.names.get(name) {
            Some(local) => local.clone(),
            None if self.locals.iter().any(|local| local == name) => name.to_string(),
            // A constant of the machine.
            None => name.to_uppercase(),
        })
    }
}

/// The length of the longest arguments of a call.
fn widest_arguments(text: &str) -> usize {
    let (mut open, mut widest) = (Vec::new(), 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => open.push((at + 1, text[..at].ends_with(|c: char| c.is_alphanumeric()))),
            ')' => {
                if let Some((start, true)) = open.pop() {
                    widest = widest.max(at - start);
                }
            }
            _ => {}
        }
    }
    widest
}

/// A function of modules that computes a statistic of an index array.
struct OfArray {
    statistic: fn(Name) -> Statistic,
    name: &'static str,
    /// It is given what makes numbers of elements.
    converts: bool,
    text: &'static str,
}

const OF_ARRAYS: [OfArray; 5] = [
    OfArray { statistic: Statistic::Step, name: "mean_step", converts: true, text: MEAN_STEP },
    OfArray { statistic: Statistic::Mean, name: "mean", converts: true, text: MEAN },
    OfArray {
        statistic: Statistic::TypicalStep,
        name: "typical_step",
        converts: true,
        text: TYPICAL_STEP,
    },
    OfArray { statistic: Statistic::RunLength, name: "mean_run", converts: false, text: MEAN_RUN },
    OfArray { statistic: Statistic::Uneven, name: "unevenness", converts: true, text: UNEVENNESS },
];

const MEAN_STEP: &str = "
/// Mean difference of consecutive elements: the length of a segment.
fn mean_step<T: Copy>(array: &[T], number: fn(T) -> f64) -> f64 {
    match array {
        [first, .., last] => (number(*last) - number(*first)) / (array.len() - 1) as f64,
        _ => 0.0,
    }
}
";

const MEAN: &str = "
/// Mean of a sample of the elements.
fn mean<T: Copy>(array: &[T], number: fn(T) -> f64) -> f64 {
    let (mut count, mut sum) = (0.0, 0.0);
    for element in array.iter().step_by(array.len() / 1024 + 1) {
        count += 1.0;
        sum += number(*element);
    }
    if count > 0.0 { sum / count } else { 0.0 }
}
";

const TYPICAL_STEP: &str = "
/// The length of a segment where a few are long: `n` for which `1 / (n + 1)` is its mean, of a sample of the array.
fn typical_step<T: Copy>(array: &[T], number: fn(T) -> f64) -> f64 {
    let (mut pairs, mut rest) = (0.0, 0.0);
    for pair in array.windows(2).step_by(array.len() / 1024 + 1) {
        pairs += 1.0;
        rest += 1.0 / ((number(pair[1]) - number(pair[0])).max(0.0) + 1.0);
    }
    if pairs > 0.0 { pairs / rest - 1.0 } else { 0.0 }
}
";

const MEAN_RUN: &str = "
/// Mean number of consecutive elements that are equal, of a sample of the array.
fn mean_run<T: PartialEq>(array: &[T]) -> f64 {
    let (mut pairs, mut changes) = (1.0, 1.0);
    for pair in array.windows(2).step_by(array.len() / 1024 + 1) {
        pairs += 1.0;
        changes += if pair[0] == pair[1] { 0.0 } else { 1.0 };
    }
    pairs / changes
}
";

const UNEVENNESS: &str = "
/// The share of consecutive differences that are not as large as the one before, of a sample of the array.
fn unevenness<T: Copy>(array: &[T], number: fn(T) -> f64) -> f64 {
    let (mut pairs, mut uneven) = (0.0, 0.0);
    for three in array.windows(3).step_by(array.len() / 1024 + 1) {
        let [a, b, c] = [number(three[0]), number(three[1]), number(three[2])];
        pairs += 1.0;
        uneven += if b - a == c - b { 0.0 } else { 1.0 };
    }
    if pairs > 0.0 { uneven / pairs } else { 0.0 }
}
";
