//! Linear forms over variables, index-array calls and floor divisions.

use std::ops::{Add, Mul, Neg, Sub};
use std::sync::Arc;

/// Names of variables, parameters and index arrays. Cheap to clone, ordered by spelling.
pub type Name = Arc<str>;

/// A call of an index array: `pos(p0 + 1)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Call {
    pub array: Name,
    pub args: Vec<Affine>,
}

/// What a linear form is linear in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atom {
    Var(Name),
    Call(Call),
    /// `floor(e / d)` with `d > 0`.
    Floor(Box<Affine>, i64),
}

/// `sum of coefficient * atom + constant`, in canonical form: atoms sorted, no zero coefficient.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Affine {
    terms: Vec<(Atom, i64)>,
    constant: i64,
}

impl Affine {
    pub fn constant(value: i64) -> Self {
        Affine { terms: Vec::new(), constant: value }
    }

    pub fn zero() -> Self {
        Affine::default()
    }

    pub fn var(name: impl Into<Name>) -> Self {
        Affine::atom(Atom::Var(name.into()))
    }

    pub fn call(array: impl Into<Name>, args: Vec<Affine>) -> Self {
        Affine::atom(Atom::Call(Call { array: array.into(), args }))
    }

    pub fn atom(atom: Atom) -> Self {
        Affine { terms: vec![(atom, 1)], constant: 0 }
    }

    /// `floor(self / divisor)`, folded when the division is exact term by term.
    pub fn floor_div(self, divisor: i64) -> Self {
        assert!(divisor > 0, "floor division needs a positive divisor");
        if divisor == 1 {
            return self;
        }
        // floor((d*a + r) / d) = a + floor(r / d): pull out what divides exactly.
        let mut whole = Affine::zero();
        let mut rest = Affine::constant(self.constant.rem_euclid(divisor));
        whole.constant = self.constant.div_euclid(divisor);
        for (atom, c) in self.terms {
            if c % divisor == 0 {
                whole = whole + Affine::atom(atom) * (c / divisor);
            } else {
                rest = rest + Affine::atom(atom) * c;
            }
        }
        match rest.as_constant() {
            Some(c) => whole + Affine::constant(c.div_euclid(divisor)),
            None => whole + Affine::atom(Atom::Floor(Box::new(rest), divisor)),
        }
    }

    /// `self mod modulus`, in `0..modulus`.
    pub fn modulo(self, modulus: i64) -> Self {
        self.clone() - self.floor_div(modulus) * modulus
    }

    /// Builds the canonical form from any list of terms.
    pub fn from_terms(terms: impl IntoIterator<Item = (Atom, i64)>, constant: i64) -> Self {
        let mut out = Affine::constant(constant);
        terms.into_iter().for_each(|(atom, c)| out.add_term(atom, c));
        out
    }

    /// There are few terms: what stands behind a new one is moved.
    fn add_term(&mut self, atom: Atom, c: i64) {
        match self.terms.binary_search_by(|(a, _)| a.cmp(&atom)) {
            Ok(at) => {
                self.terms[at].1 += c;
                if self.terms[at].1 == 0 {
                    self.terms.remove(at);
                }
            }
            Err(at) if c != 0 => self.terms.insert(at, (atom, c)),
            Err(_) => {}
        }
    }

    pub fn terms(&self) -> &[(Atom, i64)] {
        &self.terms
    }

    /// The constant term.
    pub fn offset(&self) -> i64 {
        self.constant
    }

    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The atom when the form is exactly `1 * atom`.
    pub fn as_atom(&self) -> Option<&Atom> {
        match self.terms.as_slice() {
            [(atom, 1)] if self.constant == 0 => Some(atom),
            _ => None,
        }
    }

    pub fn as_var(&self) -> Option<&Name> {
        match self.as_atom() {
            Some(Atom::Var(name)) => Some(name),
            _ => None,
        }
    }

    pub fn coefficient(&self, atom: &Atom) -> i64 {
        self.terms.iter().find(|(a, _)| a == atom).map_or(0, |&(_, c)| c)
    }

    pub fn coefficient_of_var(&self, name: &str) -> i64 {
        self.terms
            .iter()
            .find(|(a, _)| matches!(a, Atom::Var(n) if &**n == name))
            .map_or(0, |&(_, c)| c)
    }

    /// Calls `f` on every variable and call, those in floors included, those in calls not.
    pub fn visit_atoms(&self, f: &mut impl FnMut(&Atom)) {
        for (atom, _) in &self.terms {
            match atom {
                Atom::Floor(inner, _) => inner.visit_atoms(f),
                other => f(other),
            }
        }
    }

    /// Calls `f` on every variable, also inside calls and floors.
    pub fn visit_vars(&self, f: &mut impl FnMut(&Name)) {
        for (atom, _) in &self.terms {
            match atom {
                Atom::Var(n) => f(n),
                Atom::Call(call) => call.args.iter().for_each(|a| a.visit_vars(f)),
                Atom::Floor(a, _) => a.visit_vars(f),
            }
        }
    }

    /// Calls `f` on every call, inner ones first.
    pub fn visit_calls(&self, f: &mut impl FnMut(&Call)) {
        for (atom, _) in &self.terms {
            match atom {
                Atom::Var(_) => {}
                Atom::Call(call) => {
                    call.args.iter().for_each(|a| a.visit_calls(f));
                    f(call);
                }
                Atom::Floor(a, _) => a.visit_calls(f),
            }
        }
    }

    pub fn mentions(&self, name: &str) -> bool {
        let mut found = false;
        self.visit_vars(&mut |n| found |= &**n == name);
        found
    }

    pub fn has_calls(&self) -> bool {
        let mut found = false;
        self.visit_calls(&mut |_| found = true);
        found
    }

    /// Replaces atoms bottom-up: `f` sees each atom after its arguments were mapped.
    pub fn map_atoms(&self, f: &mut impl FnMut(Atom) -> Affine) -> Affine {
        let mut out = Affine::constant(self.constant);
        for (atom, c) in &self.terms {
            let mapped = match atom {
                Atom::Var(_) => f(atom.clone()),
                Atom::Call(call) => {
                    let args = call.args.iter().map(|a| a.map_atoms(f)).collect();
                    f(Atom::Call(Call { array: call.array.clone(), args }))
                }
                Atom::Floor(inner, d) => {
                    let folded = inner.map_atoms(f).floor_div(*d);
                    match folded.as_atom() {
                        Some(floor @ Atom::Floor(..)) => f(floor.clone()),
                        _ => folded,
                    }
                }
            };
            out = out + mapped * *c;
        }
        out
    }

    /// Replaces variables for which `f` answers, everywhere.
    pub fn substitute(&self, f: &impl Fn(&Name) -> Option<Affine>) -> Affine {
        self.map_atoms(&mut |atom| match &atom {
            Atom::Var(n) => f(n).unwrap_or_else(|| Affine::atom(atom.clone())),
            _ => Affine::atom(atom),
        })
    }

    /// Renames variables and index arrays for which `f` answers.
    pub fn rename(&self, f: &impl Fn(&Name) -> Option<Name>) -> Affine {
        self.map_atoms(&mut |atom| match atom {
            Atom::Var(n) => Affine::var(f(&n).unwrap_or(n)),
            Atom::Call(call) => {
                Affine::call(f(&call.array).unwrap_or_else(|| call.array.clone()), call.args)
            }
            floor => Affine::atom(floor),
        })
    }

    /// Greatest common divisor of the coefficients (0 for a constant).
    pub fn content(&self) -> i64 {
        self.terms.iter().fold(0, |g, &(_, c)| gcd(g, c.abs()))
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Add for Affine {
    type Output = Affine;
    fn add(mut self, mut other: Affine) -> Affine {
        if self.terms.len() < other.terms.len() {
            std::mem::swap(&mut self, &mut other);
        }
        self.constant += other.constant;
        other.terms.into_iter().for_each(|(atom, c)| self.add_term(atom, c));
        self
    }
}

impl Mul<i64> for Affine {
    type Output = Affine;
    fn mul(mut self, factor: i64) -> Affine {
        if factor == 0 {
            return Affine::zero();
        }
        self.terms.iter_mut().for_each(|(_, c)| *c *= factor);
        self.constant *= factor;
        self
    }
}

impl Neg for Affine {
    type Output = Affine;
    fn neg(self) -> Affine {
        self * -1
    }
}

impl Sub for Affine {
    type Output = Affine;
    fn sub(self, other: Affine) -> Affine {
        self + -other
    }
}

impl From<i64> for Affine {
    fn from(value: i64) -> Self {
        Affine::constant(value)
    }
}
