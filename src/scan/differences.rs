//! What constraints of the form `a - b <= k` imply of one another.
//!
//! Nearly all that loops establish, and nearly all premises of laws, compare two variables or calls,
//! or one with a constant. Shortest paths decide those among themselves without a prover.

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use crate::formula::{Affine, Atom, Constraint, Formula, Relop};

/// No bound.
const NONE: i64 = i64::MAX / 4;

/// The closure of a conjunction of differences.
#[derive(Default)]
pub(super) struct Differences {
    atoms: IndexSet<Atom, FxBuildHasher>,
    /// `bounds[x][y]` is the least `k` with `x - y <= k`; number 0 is the constant 0.
    bounds: Vec<Vec<i64>>,
    contradiction: bool,
    /// Whether something of another form was added, from which more may follow.
    incomplete: bool,
}

/// A side of a difference; `None` is the constant 0.
type Side<'a> = Option<&'a Atom>;

/// `x - y <= k` for `affine >= 0`; `None` for other forms.
fn difference(affine: &Affine) -> Option<(Side<'_>, Side<'_>, i64)> {
    let k = affine.offset();
    if affine.terms().iter().any(|(atom, _)| matches!(atom, Atom::Floor(..))) {
        return None;
    }
    match affine.terms() {
        [] => Some((None, None, k)),
        [(a, 1)] => Some((None, Some(a), k)),
        [(a, -1)] => Some((Some(a), None, k)),
        [(a, 1), (b, -1)] | [(b, -1), (a, 1)] => Some((Some(b), Some(a), k)),
        _ => None,
    }
}

impl Differences {
    pub fn of<'f>(facts: impl IntoIterator<Item = &'f Constraint>) -> Differences {
        let mut out = Differences::default();
        out.extend(facts);
        out
    }

    /// Adds the constraints among `facts`.
    pub fn extend<'f>(&mut self, facts: impl IntoIterator<Item = &'f Constraint>) {
        for c in facts {
            match c.relop {
                Relop::Ge => self.add(&c.affine),
                Relop::Eq => {
                    self.add(&c.affine);
                    self.add(&-c.affine.clone());
                }
                Relop::Ne => self.incomplete = true,
            }
        }
    }

    /// Whether no integers satisfy what was added.
    pub fn is_contradictory(&self) -> bool {
        self.contradiction
    }

    /// Whether the conjunction `premise` is implied. "No" may mean that it is of another form.
    pub fn implies(&self, premise: &Formula) -> bool {
        let Some(parts) = premise.as_conjunction() else { return false };
        parts.iter().all(|c| self.implies_constraint(c))
    }

    fn implies_constraint(&self, c: &Constraint) -> bool {
        match c.relop {
            _ if c.as_bool() == Some(true) => true,
            Relop::Ge => self.implies_form(&c.affine),
            Relop::Eq => self.implies_form(&c.affine) && self.implies_form(&-c.affine.clone()),
            Relop::Ne => false,
        }
    }

    /// Whether `claim` is implied, if differences are all that matters.
    pub fn decide(&self, claim: &Constraint) -> Option<bool> {
        if self.contradiction || self.implies_constraint(claim) {
            return Some(true);
        }
        let decided =
            !self.incomplete && claim.relop != Relop::Ne && difference(&claim.affine).is_some();
        decided.then_some(false)
    }

    fn implies_form(&self, affine: &Affine) -> bool {
        let Some((x, y, k)) = difference(affine) else { return false };
        match (self.find(x), self.find(y)) {
            (Some(x), Some(y)) => self.bounds[x][y] <= k,
            _ => false,
        }
    }

    fn find(&self, side: Side<'_>) -> Option<usize> {
        match side {
            None => (!self.bounds.is_empty()).then_some(0),
            Some(atom) => self.atoms.get_index_of(atom).map(|at| at + 1),
        }
    }

    fn node(&mut self, side: Side<'_>) -> usize {
        let wanted = match side {
            None => 0,
            Some(atom) => match self.atoms.get_index_of(atom) {
                Some(at) => at + 1,
                None => self.atoms.insert_full(atom.clone()).0 + 1,
            },
        };
        while self.bounds.len() <= wanted {
            let here = self.bounds.len();
            self.bounds.iter_mut().for_each(|row| row.push(NONE));
            self.bounds.push(vec![NONE; here + 1]);
            self.bounds[here][here] = 0;
        }
        wanted
    }

    fn add(&mut self, affine: &Affine) {
        let Some((x, y, k)) = difference(affine) else {
            self.incomplete = true;
            return;
        };
        let (x, y) = (self.node(x), self.node(y));
        if self.bounds[x][y] <= k {
            return;
        }
        // `u - x <= a` and `y - v <= b` give `u - v <= a + k + b`.
        let to_end = self.bounds[y].clone();
        for row in &mut self.bounds {
            if row[x] >= NONE {
                continue;
            }
            let start = row[x].saturating_add(k);
            for (bound, end) in row.iter_mut().zip(&to_end) {
                if *end < NONE {
                    *bound = start.saturating_add(*end).min(*bound);
                }
            }
        }
        self.contradiction |= (0..self.bounds.len()).any(|u| self.bounds[u][u] < 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::parse;

    fn implies(facts: &str, claim: &str) -> bool {
        let mut known = Differences::default();
        known.extend(&parse::formula(facts).unwrap().as_conjunction().unwrap());
        known.implies(&parse::formula(claim).unwrap())
    }

    #[test]
    fn chains_of_comparisons_are_followed() {
        let facts =
            "0 <= p0 and p0 < I and pos(p0) <= p1 and p1 < pos(p0 + 1) and pos(p0 + 1) <= N";
        assert!(implies(facts, "p1 < N and p0 + 1 <= I and pos(p0) < N"));
        assert!(implies(facts, "0 < I"));
        assert!(!implies(facts, "0 <= p1"));
        assert!(!implies(facts, "p1 + 1 < N"));
        assert!(implies("i = p + 2 and p = q", "i - q = 2"));
        assert!(!implies("i = p + 2", "i = p + 1"));
    }

    #[test]
    fn other_forms_are_neither_used_nor_claimed() {
        assert!(!implies("2*i <= n and j = i", "2*j <= n"));
        assert!(!implies("i + j <= n", "i + j <= n"));
        assert!(!implies("j = floor(i/2)", "floor(i/2) = j"));
        assert!(!implies("true", "i <= n"));
        assert!(implies("true", "0 <= 1"));
    }

    #[test]
    fn what_is_not_implied_is_told_only_among_differences() {
        let decide = |facts: &str, claim: &str| {
            let facts = parse::formula(facts).unwrap().as_conjunction().unwrap();
            let claim = parse::formula(claim).unwrap().as_conjunction().unwrap();
            Differences::of(&facts).decide(&claim[0])
        };
        assert_eq!(decide("i < j and j < n", "i + 1 < n"), Some(true));
        assert_eq!(decide("i < j and j < n", "i + 2 < n"), Some(false));
        assert_eq!(decide("i < j and 2*j < n", "i + 2 < n"), None);
        assert_eq!(decide("i < j", "2*i < n"), None);
        assert_eq!(decide("i < j and j < i", "2*i < n"), Some(true));
    }

    #[test]
    fn contradictions_are_seen() {
        let mut known = Differences::default();
        known.extend(&parse::formula("i < j and j < k").unwrap().as_conjunction().unwrap());
        assert!(!known.is_contradictory());
        known.extend(&parse::formula("k <= i + 1").unwrap().as_conjunction().unwrap());
        assert!(known.is_contradictory());
    }
}
