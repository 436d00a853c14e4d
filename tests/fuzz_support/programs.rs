//! Random expressions in index notation, and the shapes of their tensors.

use std::collections::BTreeMap;

use siskin::tensor::ValueType;

use super::names::fresh;
use super::random::Random;

/// An expression with the sizes of its data.
#[derive(Clone, Debug)]
pub struct Source {
    pub expression: String,
    pub output: String,
    /// What earlier statements compute.
    pub temporaries: Vec<String>,
    /// Rank of each tensor, the output's too.
    pub ranks: BTreeMap<String, usize>,
    /// Dimensions of each input.
    pub dims: BTreeMap<String, Vec<usize>>,
    /// Extents of all indices.
    pub extents: BTreeMap<String, usize>,
    /// Inputs that may be shared by the output: the names of plain factors.
    pub factors: Vec<String>,
    /// One index or two, in many subscripts of a tensor: diagonals and what lies beside them.
    pub is_narrow: bool,
}

struct Maker<'r> {
    random: &'r mut Random,
    indices: Vec<String>,
    used: Vec<String>,
    dims: BTreeMap<String, Vec<usize>>,
    extents: BTreeMap<String, usize>,
    /// All extents are equal, so that a tensor can be read twice.
    square: Option<usize>,
    value_type: ValueType,
    is_narrow: bool,
}

const EXTENTS: &[usize] = &[0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8];
/// Of one index now and then: long enough for what goes by tiles.
const LONG: &[usize] = &[9, 15, 16, 17, 23, 24, 31, 32, 40, 65];

pub fn source(random: &mut Random, value_type: ValueType) -> Source {
    let mut taken = Vec::new();
    let is_narrow = random.chance(20);
    let count = 1 + random.below(if is_narrow { 2 } else { 4 });
    let indices: Vec<String> = (0..count).map(|_| fresh(random, &mut taken)).collect();
    let square = random.chance(if is_narrow { 90 } else { 60 });
    let square = square.then(|| *random.pick(EXTENTS));
    let mut extents = BTreeMap::new();
    for i in &indices {
        let extent = square.unwrap_or_else(|| *random.pick(EXTENTS));
        extents.insert(i.clone(), extent);
    }
    if square.is_none() && random.chance(40) {
        extents.insert(random.pick(&indices).clone(), *random.pick(LONG));
    }
    let mut maker = Maker {
        random,
        indices,
        used: Vec::new(),
        dims: BTreeMap::new(),
        extents,
        square,
        value_type,
        is_narrow,
    };
    let count = *maker.random.pick(&[1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 5]);
    let (mut factors, mut read) = (Vec::new(), Vec::new());
    let mut terms = Vec::new();
    if maker.random.chance(15) {
        terms.push(
            (*maker.random.pick(&["2", "3", "0", "1", "0.5", "2.0", "-1", "1e2"])).to_string(),
        );
    }
    for _ in 0..count {
        let (tensor, text) = maker.factor(&mut taken);
        read.push(text.clone());
        factors.push(tensor);
        terms.push(text);
    }
    let mut output = fresh(maker.random, &mut taken);
    let (rank, left) = maker.output(&output, &mut taken);
    let mut written = vec![(output.clone(), rank, left.clone())];
    let mut expression = maker.statement(&left, &terms);
    let mut mentioned = maker.used.clone();
    while maker.random.chance(25) && written.len() < 4 {
        let mut terms = Vec::new();
        maker.used.clear();
        // Another result of what was read before, or something that the last one is read for, as others may be.
        let apart = maker.random.chance(40);
        if apart {
            for text in read.iter().take(1 + maker.random.below(2)) {
                terms.push(maker.as_before(text));
            }
        }
        for (k, (name, rank, left)) in written.iter().rev().enumerate().filter(|_| !apart) {
            if k == 0 || maker.random.chance(40) {
                terms.push(maker.again(name, *rank, left));
            }
        }
        for _ in 0..maker.random.below(3) {
            let (tensor, text) = maker.factor(&mut taken);
            read.push(text.clone());
            factors.push(tensor);
            terms.push(text);
        }
        maker.random.shuffle(&mut terms);
        output = fresh(maker.random, &mut taken);
        let (rank, left) = maker.output(&output, &mut taken);
        expression.push_str("; ");
        expression.push_str(&maker.statement(&left, &terms));
        written.push((output.clone(), rank, left));
        mentioned.append(&mut maker.used);
    }
    let mut ranks: BTreeMap<String, usize> =
        maker.dims.iter().map(|(t, d)| (t.clone(), d.len())).collect();
    ranks.extend(written.iter().map(|(name, rank, _)| (name.clone(), *rank)));
    written.pop();
    let temporaries = written.into_iter().map(|(name, ..)| name).collect();
    // An index that nothing mentions has no extent to state.
    maker.extents.retain(|i, _| mentioned.contains(i));
    Source {
        expression,
        output,
        temporaries,
        ranks,
        dims: maker.dims,
        extents: maker.extents,
        factors,
        is_narrow,
    }
}

impl Maker<'_> {
    fn index(&mut self) -> String {
        let name = self.random.pick(&self.indices).clone();
        if !self.used.contains(&name) {
            self.used.push(name.clone());
        }
        name
    }

    /// `left` combined with the terms, perhaps restricted.
    fn statement(&mut self, left: &str, terms: &[String]) -> String {
        let mut ops = vec!["=", "=", "+=", "+=", "+=", "+=", "min=", "max=", "*="];
        match self.value_type {
            ValueType::Bool => ops.extend(["or=", "and=", "xor=", "or="]),
            ValueType::F64 | ValueType::F32 => {}
            _ => ops.extend(["bxor=", "bor=", "band=", "gcd="]),
        }
        let op = *self.random.pick(&ops);
        let value = match self.random.chance(50) {
            true => terms.join(" * "),
            false => self.joined(terms),
        };
        let mut text = format!("{left} {op} {value}");
        if self.random.chance(20) && !self.used.is_empty() {
            text.push_str(&format!(" if {}", self.restriction()));
        }
        text
    }

    /// An access to what an earlier statement wrote: by the same indices, or by others.
    fn again(&mut self, name: &str, rank: usize, left: &str) -> String {
        match self.random.chance(65) {
            true => self.as_before(left),
            false => {
                let subscripts: Vec<String> = (0..rank).map(|_| self.index()).collect();
                format!("{name}[{}]", subscripts.join(","))
            }
        }
    }

    /// A text that an earlier statement has.
    fn as_before(&mut self, text: &str) -> String {
        let names = text.split(|c: char| !c.is_alphanumeric() && c != '_').skip(1);
        for index in names.filter(|n| self.extents.contains_key(*n)) {
            if !self.used.iter().any(|used| used == index) {
                self.used.push(index.to_string());
            }
        }
        text.to_string()
    }

    fn used_index(&mut self) -> String {
        self.random.pick(&self.used).clone()
    }

    /// The terms in an expression of any operators, in their order.
    fn joined(&mut self, terms: &[String]) -> String {
        let minus = if self.random.chance(8) { "-" } else { "" };
        let [_, .., _] = terms else { return format!("{minus}{}", terms.concat()) };
        let at = 1 + self.random.below(terms.len() - 1);
        let (a, b) = (self.joined(&terms[..at]), self.joined(&terms[at..]));
        let (a, b) = (self.applied(a), self.applied(b));
        match self.random.below(12) {
            0 => format!("{minus}min({a}, {b})"),
            1 => format!("{minus}max({a}, {b})"),
            2 | 3 => format!("{minus}({a} - {b})"),
            4 | 5 => format!("{minus}({a} * {b})"),
            6..9 => format!("{minus}({a} + {b})"),
            _ => self.paired(&a, &b),
        }
    }

    /// A function of one value, now and then.
    fn applied(&mut self, a: String) -> String {
        if !self.random.chance(12) {
            return a;
        }
        let small = 1 + self.random.below(3);
        let mut ways = vec![
            format!("abs({a})"),
            format!("sign({a})"),
            format!("mod({a}, {small})"),
            format!("not({a})"),
            format!("select({a} > {small}, {a}, 0)"),
            format!("max({a} - {small}, 0)"),
            format!("({a} + {small})"),
        ];
        match self.value_type {
            ValueType::Bool => ways = vec![format!("not({a})"), format!("({a} == false)")],
            ValueType::F64 | ValueType::F32 => {
                let floats = [
                    format!("sqrt(abs({a}))"),
                    format!("sin({a})"),
                    format!("floor({a} / 2)"),
                    format!("round({a} * 0.25)"),
                    format!("min({a}, inf)"),
                ];
                ways.extend(floats);
            }
            _ => ways.extend([format!("shl({a}, {small})"), format!("pow({a}, 2)")]),
        }
        if !self.used.is_empty() {
            ways.push(format!("({a} * {})", self.used_index()));
        }
        self.random.pick(&ways).clone()
    }

    /// An operator of two values that is no arithmetic.
    fn paired(&mut self, a: &str, b: &str) -> String {
        let comparison = *self.random.pick(&["==", "!=", "<", "<=", ">", ">="]);
        let mut ways = vec![
            format!("({a} {comparison} {b})"),
            format!("and({a}, {b})"),
            format!("or({a}, {b})"),
            format!("xor({a}, {b})"),
            format!("select({a} {comparison} {b}, {a}, {b})"),
            format!("and({a}, not({b}))"),
        ];
        let whole = !matches!(self.value_type, ValueType::F64 | ValueType::F32 | ValueType::Bool);
        if whole {
            // No `mod`: its remainder by what is missing is a question of what is missing, not of the dense array.
            let names = ["bxor", "bor", "band", "gcd", "shr"];
            ways.extend(names.map(|name| format!("{name}({a}, {b})")));
        }
        self.random.pick(&ways).clone()
    }

    /// The text of a subscript, and the extent that it needs if it is an index alone.
    fn subscript(&mut self) -> (String, Option<usize>) {
        let i = self.index();
        if self.random.chance(if self.is_narrow { 60 } else { 82 }) {
            let extent = self.extents[&i];
            return (i, Some(extent));
        }
        let c = 1 + self.random.below(3);
        let text = match self.random.below(8) {
            0 => format!("{i} + {c}"),
            1 => format!("{i} - {c}"),
            2 => format!("2*{i}"),
            3 => format!("2*{i} + 1"),
            4 => format!("{i} + {}", self.index()),
            5 => format!("{i} - {}", self.index()),
            6 => format!("{c} - {i}"),
            _ => "0".to_string(),
        };
        (text, None)
    }

    fn factor(&mut self, taken: &mut Vec<String>) -> (String, String) {
        let known: Vec<String> = self.dims.keys().cloned().collect();
        let again = self.square.is_some() && !known.is_empty() && self.random.chance(15);
        let tensor = match again {
            true => self.random.pick(&known).clone(),
            false => fresh(self.random, taken),
        };
        let rank = match self.dims.get(&tensor) {
            Some(dims) => dims.len(),
            None => *self.random.pick(&[0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3]),
        };
        let (mut texts, mut dims) = (Vec::new(), Vec::new());
        for _ in 0..rank {
            let (mut text, mut extent) = self.subscript();
            // A constant must lie inside the tensor.
            if text == "0" && self.square == Some(0) {
                let i = self.index();
                extent = Some(self.extents[&i]);
                text = i;
            }
            if let (Some(n), false) = (extent.filter(|n| *n > 0), again)
                && self.random.chance(10)
            {
                (text, extent) = self.window(&text, n);
            }
            let extent = extent.or(self.square).unwrap_or_else(|| {
                let least = usize::from(text == "0");
                self.random.pick(EXTENTS).max(&least).to_owned()
            });
            texts.push(text);
            dims.push(extent);
        }
        self.dims.entry(tensor.clone()).or_insert(dims);
        let brackets = if rank == 0 && self.random.chance(50) {
            String::new()
        } else {
            format!("[{}]", texts.join(","))
        };
        let access = format!("{tensor}{brackets}");
        // What may lie outside may be asked for.
        let is_affine = texts.iter().any(|text| text.contains([' ', '*']));
        if is_affine && self.random.chance(40) {
            let outside = match self.random.below(3) {
                0 => self.index(),
                1 => "0".to_string(),
                _ => "2".to_string(),
            };
            return (tensor, format!("within({access}, {access}, {outside})"));
        }
        (tensor, access)
    }

    /// A window with `n` places, and the extent of a dimension that has it.
    fn window(&mut self, index: &str, n: usize) -> (String, Option<usize>) {
        let (from, beyond) = (self.random.below(3), self.random.below(3));
        let step = *self.random.pick(&[1, 1, 2, 3]);
        let end = from + (n - 1) * step + 1;
        let text = match (self.random.chance(30), step) {
            (true, _) => format!("({}:{}:-{step})({index})", end - 1, from as i64 - 1),
            (false, 1) => format!("({from}:{end})({index})"),
            (false, _) => format!("({from}:{end}:{step})({index})"),
        };
        (text, Some(end + beyond))
    }

    fn output(&mut self, name: &str, taken: &mut Vec<String>) -> (usize, String) {
        let mut pool = self.used.clone();
        self.random.shuffle(&mut pool);
        let most = pool.len().min(3);
        let rank = if self.random.chance(20) { 0 } else { self.random.below(most + 1) };
        let mut texts: Vec<String> = pool.into_iter().take(rank).collect();
        if let Some(first) = texts.first_mut()
            && self.random.chance(8)
        {
            *first = match self.random.below(4) {
                0 => format!("{first} + 1"),
                1 => format!("2*{first}"),
                2 => format!("{first} + {}", self.random.pick(&self.used)),
                _ => "1".to_string(),
            };
        }
        if texts.len() < 3 && self.random.chance(4) {
            // An index that no tensor carries.
            let i = fresh(self.random, taken);
            self.extents.insert(i.clone(), *self.random.pick(EXTENTS));
            self.used.push(i.clone());
            texts.push(i);
        }
        (texts.len(), format!("{name}[{}]", texts.join(",")))
    }

    fn comparison(&mut self) -> String {
        let (a, b) = (self.used_index(), self.used_index());
        let op = *self.random.pick(&["<", "<=", "=", "!=", ">", ">="]);
        match self.random.below(6) {
            0 | 1 => format!("{a} {op} {b}"),
            2 => format!("{a} {op} {}", self.random.below(5)),
            3 => format!("{a} + 1 {op} {b}"),
            4 => format!("2*{a} - {b} {op} {}", self.random.below(5)),
            _ => format!("{a} mod 2 {op} {}", self.random.below(2)),
        }
    }

    fn restriction(&mut self) -> String {
        let (a, b) = (self.comparison(), self.comparison());
        match self.random.below(6) {
            0 => format!("{a} and {b}"),
            1 => format!("{a} or {b}"),
            2 => format!("not ({a} and {b})"),
            _ => a,
        }
    }
}
