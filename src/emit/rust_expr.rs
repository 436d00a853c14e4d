//! Integer expressions in Rust.
//!
//! Positions and coordinates are `usize` where they are proved not to be negative, else `isize`.
//! Subtraction in `usize` is written only where the result is proved not to be negative;
//! comparisons move negative terms to the other side instead.

use indexmap::IndexMap;

use super::facts::Facts;
use crate::formula::{Affine, Arith, Atom, Call, Constraint, Formula, Name, Relop};

/// The Rust type of an integer expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    Unsigned,
    Signed,
}

/// An index array as generated code sees it.
#[derive(Clone, Debug)]
pub struct ArrayCode {
    /// Elements may be negative.
    pub signed: bool,
    /// Row-major extents of the arguments.
    pub shape: Vec<Arith>,
    pub domain: Vec<Constraint>,
    pub args: Vec<Name>,
}

/// Variables and arrays in scope.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    pub variables: IndexMap<Name, Sign>,
    pub arrays: IndexMap<Name, ArrayCode>,
    /// Calls whose value a variable already holds.
    pub loaded: Vec<(Call, Name)>,
    /// Every access rendered so far: text and whether it is proved in bounds.
    pub accesses: Vec<(String, bool)>,
}

/// Rust keywords, which index notation does not reserve.
const KEYWORDS: [&str; 40] = [
    "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern",
    "false", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut",
    "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type",
    "unsafe", "use", "where", "while", "yield",
];

/// A name as a Rust identifier.
pub fn ident(name: &str) -> String {
    let clean = name.replace('\'', "_prime");
    if KEYWORDS.contains(&clean.as_str()) || clean == "Self" || clean == "at" {
        format!("{clean}_")
    } else {
        clean
    }
}

impl Scope {
    pub fn declare(&mut self, name: &Name, sign: Sign) {
        self.variables.insert(name.clone(), sign);
    }

    fn atom_sign(&self, atom: &Atom, facts: &mut Facts) -> Sign {
        match atom {
            Atom::Var(n) => self.variables.get(n).copied().unwrap_or(Sign::Unsigned),
            Atom::Call(call) => match self.arrays.get(&call.array) {
                Some(a) if a.signed => Sign::Signed,
                _ => Sign::Unsigned,
            },
            Atom::Floor(inner, _) => {
                let plain =
                    inner.terms().iter().all(|(a, _)| self.atom_sign(a, facts) == Sign::Unsigned);
                if plain && facts.is_nonnegative(inner) { Sign::Unsigned } else { Sign::Signed }
            }
        }
    }

    /// `usize` text of an affine form that is proved not to be negative, else `isize` text.
    pub fn affine(&mut self, a: &Affine, facts: &mut Facts) -> (String, Sign) {
        if self.can_be_unsigned(a, facts) {
            (self.unsigned(a, facts), Sign::Unsigned)
        } else {
            (self.signed(a, facts), Sign::Signed)
        }
    }

    /// [`Scope::affine`] for a variable: a difference of signed terms that is proved not to be
    /// negative becomes `usize`, so that what follows can index with it.
    pub fn value(&mut self, a: &Affine, facts: &mut Facts) -> (String, Sign) {
        match self.affine(a, facts) {
            (text, Sign::Signed) if facts.is_nonnegative(a) => {
                (format!("({text}) as usize"), Sign::Unsigned)
            }
            other => other,
        }
    }

    /// `usize` text for an index; the caller has shown that it is not negative.
    pub fn index(&mut self, a: &Affine, facts: &mut Facts) -> String {
        let (text, sign) = self.affine(a, facts);
        match sign {
            Sign::Unsigned => text,
            Sign::Signed => format!("({text}) as usize"),
        }
    }

    fn can_be_unsigned(&self, a: &Affine, facts: &mut Facts) -> bool {
        let unsigned =
            a.terms().iter().all(|(atom, _)| self.atom_sign(atom, facts) == Sign::Unsigned);
        let subtracts = a.offset() < 0 || a.terms().iter().any(|(_, c)| *c < 0);
        unsigned && (!subtracts || facts.is_nonnegative(a))
    }

    /// Positive terms first, so that no intermediate result is negative.
    fn unsigned(&mut self, a: &Affine, facts: &mut Facts) -> String {
        let mut text = self.terms(a, true, facts);
        if a.offset() > 0 {
            text.push(a.offset().to_string());
        }
        let mut out = if text.is_empty() { "0".to_string() } else { text.join(" + ") };
        for t in self.terms(a, false, facts) {
            out.push_str(" - ");
            out.push_str(&t);
        }
        if a.offset() < 0 {
            out.push_str(&format!(" - {}", -a.offset()));
        }
        out
    }

    /// The terms with positive (or negative) coefficients, without their sign.
    fn terms(&mut self, a: &Affine, positive: bool, facts: &mut Facts) -> Vec<String> {
        a.terms()
            .iter()
            .filter(|(_, c)| (*c > 0) == positive)
            .map(|(atom, c)| {
                let (base, _) = self.atom(atom, facts);
                scaled(c.abs(), base)
            })
            .collect()
    }

    fn signed(&mut self, a: &Affine, facts: &mut Facts) -> String {
        let mut out = String::new();
        for (atom, c) in a.terms() {
            let (base, sign) = self.atom(atom, facts);
            let base = match sign {
                Sign::Signed => base,
                Sign::Unsigned => match base.strip_suffix(" as usize") {
                    // The element itself converts as well.
                    Some(element) if !element.contains(" as ") => format!("{element} as isize"),
                    _ if base.contains(' ') => format!("({base}) as isize"),
                    _ => format!("{base} as isize"),
                },
            };
            let wrapped = if base.contains(' ') { format!("({base})") } else { base };
            let term = scaled(c.abs(), wrapped);
            match (out.is_empty(), *c < 0) {
                (true, true) => out = format!("-{term}"),
                (true, false) => out = term,
                (false, true) => out.push_str(&format!(" - {term}")),
                (false, false) => out.push_str(&format!(" + {term}")),
            }
        }
        match (out.is_empty(), a.offset()) {
            (true, c) => c.to_string(),
            (false, 0) => out,
            (false, c) if c < 0 => format!("{out} - {}", -c),
            (false, c) => format!("{out} + {c}"),
        }
    }

    fn atom(&mut self, atom: &Atom, facts: &mut Facts) -> (String, Sign) {
        let sign = self.atom_sign(atom, facts);
        let text = match atom {
            Atom::Var(n) => ident(n),
            Atom::Call(call) => return self.load(call, facts),
            Atom::Floor(inner, d) => match sign {
                Sign::Unsigned => {
                    let inner = self.unsigned(inner, facts);
                    if inner.contains(' ') {
                        format!("({inner}) / {d}")
                    } else {
                        format!("{inner} / {d}")
                    }
                }
                Sign::Signed => format!("({}).div_euclid({d})", self.signed(inner, facts)),
            },
        };
        (text, sign)
    }

    /// The value of an index array, unchecked where its arguments are proved to be in its domain.
    pub fn load(&mut self, call: &Call, facts: &mut Facts) -> (String, Sign) {
        let signed = self.arrays.get(&call.array).is_some_and(|a| a.signed);
        let sign = if signed { Sign::Signed } else { Sign::Unsigned };
        if let Some((_, var)) = self.loaded.iter().find(|(c, _)| c == call) {
            return (ident(var), sign);
        }
        let cast = if signed { "isize" } else { "usize" };
        (format!("{} as {cast}", self.element(call, facts)), sign)
    }

    /// The array element itself, without a cast.
    pub fn element(&mut self, call: &Call, facts: &mut Facts) -> String {
        let array = self.arrays.get(&call.array).cloned();
        let (proved, shape) = match &array {
            Some(a) => {
                let bound = |n: &Name| {
                    a.args.iter().position(|x| x == n).and_then(|k| call.args.get(k)).cloned()
                };
                let domain: Vec<Constraint> =
                    a.domain.iter().map(|c| c.substitute(&bound)).collect();
                let inside = !domain.is_empty() && domain.iter().all(|c| facts.proves(c));
                (inside, a.shape.clone())
            }
            None => (false, Vec::new()),
        };
        let index = self.linear(&call.args, &shape, facts);
        self.access(&ident(&call.array), &index, proved)
    }

    /// `at(array, index)`, or a checked access.
    pub fn access(&mut self, array: &str, index: &str, proved: bool) -> String {
        let text =
            if proved { format!("at({array}, {index})") } else { format!("{array}[{index}]") };
        let shown = (format!("{array}[{index}]"), proved);
        if !self.accesses.contains(&shown) {
            self.accesses.push(shown);
        }
        text
    }

    /// Row-major offset of a subscript tuple: `i * J + j`.
    pub fn linear(&mut self, args: &[Affine], shape: &[Arith], facts: &mut Facts) -> String {
        let parts: Vec<String> = args.iter().map(|a| self.index(a, facts)).collect();
        row_major(&parts, shape)
    }

    /// True if `c` holds of any `usize` values: `0 <= j` would be a useless comparison.
    pub fn is_trivial(&self, c: &Constraint, facts: &mut Facts) -> bool {
        let mut natural =
            |(atom, k): &(Atom, i64)| *k > 0 && self.atom_sign(atom, facts) == Sign::Unsigned;
        c.relop == Relop::Ge && c.affine.offset() >= 0 && c.affine.terms().iter().all(&mut natural)
    }

    /// The conjunction of tests, without trivial ones.
    pub fn tests(&mut self, constraints: &[Constraint], facts: &mut Facts) -> Vec<String> {
        let mut out = Vec::new();
        for c in constraints {
            if !self.is_trivial(c, facts) {
                out.push(self.constraint(c, facts));
            }
        }
        out
    }

    /// A test, in `usize` where possible.
    pub fn constraint(&mut self, c: &Constraint, facts: &mut Facts) -> String {
        let unsigned =
            c.affine.terms().iter().all(|(a, _)| self.atom_sign(a, facts) == Sign::Unsigned);
        let operator = match c.relop {
            Relop::Eq => "==",
            Relop::Ne => "!=",
            Relop::Ge => ">=",
        };
        if !unsigned {
            // Negative terms on the other side, as in the unsigned case, but without its limits.
            let (mut left, mut right) = (Affine::zero(), Affine::zero());
            for (atom, k) in c.affine.terms() {
                let term = Affine::atom(atom.clone()) * k.abs();
                let side = if *k > 0 { &mut left } else { &mut right };
                *side = std::mem::take(side) + term;
            }
            let (less, offset) = (c.relop == Relop::Ge && c.affine.offset() < 0, c.affine.offset());
            if less {
                right = right + Affine::constant(-offset - 1);
            } else {
                left = left + Affine::constant(offset);
            }
            let (left, right) = (self.signed(&left, facts), self.signed(&right, facts));
            let operator = if less { ">" } else { operator };
            return format!("{left} {operator} {right}");
        }
        let offset = c.affine.offset();
        let mut left = self.terms(&c.affine, true, facts);
        let mut right = self.terms(&c.affine, false, facts);
        let join = |parts: Vec<String>| {
            if parts.is_empty() { "0".to_string() } else { parts.join(" + ") }
        };
        if c.relop == Relop::Ge {
            // left - right + offset >= 0, printed as `right < left` or `right <= left + offset`.
            if offset < 0 {
                if offset < -1 {
                    right.push((-offset - 1).to_string());
                }
                return format!("{} < {}", compared(join(right)), join(left));
            }
            if offset > 0 {
                left.push(offset.to_string());
            }
            return format!("{} <= {}", compared(join(right)), join(left));
        }
        match offset {
            0 => {}
            k if k > 0 => left.push(k.to_string()),
            k => right.push((-k).to_string()),
        }
        format!("{} {operator} {}", join(left), join(right))
    }

    /// A Boolean combination of tests.
    pub fn formula(&mut self, f: &Formula, facts: &mut Facts) -> String {
        let joined = |scope: &mut Scope, parts: &[Formula], op: &str, facts: &mut Facts| {
            let parts: Vec<String> = parts
                .iter()
                .map(|p| {
                    let text = scope.formula(p, facts);
                    match p {
                        Formula::Constraint(_) => text,
                        _ => format!("({text})"),
                    }
                })
                .collect();
            parts.join(op)
        };
        match f {
            Formula::Constraint(c) => self.constraint(c, facts),
            Formula::And(v) if v.is_empty() => "true".to_string(),
            Formula::Or(v) if v.is_empty() => "false".to_string(),
            Formula::And(v) => joined(self, v, " && ", facts),
            Formula::Or(v) => joined(self, v, " || ", facts),
            Formula::Not(x) => format!("!({})", self.formula(x, facts)),
            Formula::Implies(a, b) => {
                format!("!({}) || ({})", self.formula(a, facts), self.formula(b, facts))
            }
            Formula::Predicate(name, _) => unreachable!("predicate {name} in generated code"),
        }
    }

    /// A size (extent of a row-major array) in terms of parameters.
    pub fn size(a: &Arith) -> String {
        arith(a, &|n| ident(n))
    }
}

/// `a*c` in Rust; casts are parenthesised before they are multiplied.
fn scaled(factor: i64, base: String) -> String {
    match factor {
        1 => base,
        k if base.contains(' ') => format!("{k} * ({base})"),
        k => format!("{k} * {base}"),
    }
}

/// `x as usize < y` would parse as a generic argument list.
fn compared(left: String) -> String {
    if left.ends_with("usize") || left.ends_with("isize") { format!("({left})") } else { left }
}

/// Row-major offset of rendered subscripts.
pub fn row_major(parts: &[String], shape: &[Arith]) -> String {
    let mut out = String::new();
    for (k, part) in parts.iter().enumerate() {
        if k == 0 || out == "0" {
            out.clone_from(part);
            continue;
        }
        let extent = shape.get(k).map_or("1".to_string(), Scope::size);
        let left = if out.contains(' ') { format!("({out})") } else { out };
        let extent = if extent.contains(' ') { format!("({extent})") } else { extent };
        let part = if part.contains(" as ") { format!("({part})") } else { part.clone() };
        out = format!("{left} * {extent} + {part}");
    }
    if out.is_empty() { "0".to_string() } else { out }
}

/// A size or polynomial subscript in Rust; all its values are `usize`.
pub fn arith(a: &Arith, name: &impl Fn(&str) -> String) -> String {
    let wrap = |x: &Arith| {
        let text = arith(x, name);
        match x {
            Arith::Int(_) | Arith::Var(_) | Arith::Call(..) => text,
            _ => format!("({text})"),
        }
    };
    match a {
        Arith::Int(n) => n.to_string(),
        Arith::Var(n) => name(n),
        Arith::Call(array, args) => {
            let args: Vec<String> = args.iter().map(|x| arith(x, name)).collect();
            format!("{}[{}] as usize", ident(array), args.join(", "))
        }
        Arith::Add(x, y) => format!("{} + {}", arith(x, name), wrap(y)),
        Arith::Sub(x, y) => format!("{} - {}", arith(x, name), wrap(y)),
        Arith::Mul(x, y) => format!("{} * {}", wrap(x), wrap(y)),
        Arith::Div(x, y) => format!("{} / {}", wrap(x), wrap(y)),
        Arith::Mod(x, y) => format!("{} % {}", wrap(x), wrap(y)),
        Arith::Min(x, y) => format!("{}.min({})", wrap(x), arith(y, name)),
        Arith::Max(x, y) => format!("{}.max({})", wrap(x), arith(y, name)),
    }
}
