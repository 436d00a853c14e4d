//! The greatest lower bounds of differences of terms, closed under addition, with a way back.
//!
//! In: `left - right >= by`. Out: what follows for any two terms: `a - c >= 3` from `a - b >= 1` and `b - c >= 2`.
//!
//! Miné 2001, "A new numerical abstract domain based on difference-bound matrices", §3.

use super::terms::Term;

/// The most terms that are compared with each other at a time.
const MOST: usize = 96;

/// Where terms are that nothing is said of.
const OUT_OF_SIGHT: usize = usize::MAX;

/// Bounds of the differences of the terms in sight.
pub(super) struct Bounds {
    sight: Vec<Term>,
    /// Where each term is in sight.
    places: Vec<usize>,
    /// By the places of both terms.
    least: Vec<Option<i64>>,
    /// Bounds that were raised, with what they were.
    changes: Vec<(usize, Option<i64>)>,
}

/// What was in sight, and how often bounds had been raised.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    sight: usize,
    changes: usize,
}

impl Bounds {
    pub fn new() -> Self {
        Bounds {
            sight: Vec::new(),
            places: Vec::new(),
            least: vec![None; MOST * MOST],
            changes: Vec::new(),
        }
    }

    pub fn mark(&self) -> Mark {
        Mark { sight: self.sight.len(), changes: self.changes.len() }
    }

    /// Forgets all since a mark.
    pub fn back_to(&mut self, mark: Mark) {
        for (at, before) in self.changes.drain(mark.changes..).rev() {
            self.least[at] = before;
        }
        for term in self.sight.drain(mark.sight..) {
            self.places[term] = OUT_OF_SIGHT;
        }
    }

    pub fn in_sight(&self) -> &[Term] {
        &self.sight
    }

    /// Brings a term into sight, if there is room; true if it was not there.
    pub fn see(&mut self, term: Term) -> bool {
        if self.places.len() <= term {
            self.places.resize(term + 1, OUT_OF_SIGHT);
        }
        let place = self.sight.len();
        if self.places[term] != OUT_OF_SIGHT || place == MOST {
            return false;
        }
        self.sight.push(term);
        self.places[term] = place;
        self.set(place * MOST + place, 0);
        true
    }

    fn place(&self, term: Term) -> Option<usize> {
        self.places.get(term).copied().filter(|place| *place != OUT_OF_SIGHT)
    }

    fn set(&mut self, at: usize, bound: i64) {
        self.changes.push((at, self.least[at]));
        self.least[at] = Some(bound);
    }

    /// The greatest known lower bound of `left - right`.
    pub fn least(&self, left: Term, right: Term) -> Option<i64> {
        if left == right {
            return Some(0);
        }
        self.least[self.place(left)? * MOST + self.place(right)?]
    }

    pub fn is_at_least(&self, left: Term, right: Term, by: i64) -> bool {
        self.least(left, right).is_some_and(|least| by <= least)
    }

    pub fn is_at_most(&self, left: Term, right: Term, by: i64) -> bool {
        by.checked_neg().is_some_and(|by| self.is_at_least(right, left, by))
    }

    pub fn is_more_than(&self, left: Term, right: Term, by: i64) -> bool {
        by.checked_add(1).is_some_and(|more| self.is_at_least(left, right, more))
    }

    pub fn is_less_than(&self, left: Term, right: Term, by: i64) -> bool {
        by.checked_neg().is_some_and(|by| self.is_more_than(right, left, by))
    }

    /// Raises the bound of a difference of two terms in sight, and those of all that it is a part of. What 64 bits do
    /// not hold is left out.
    pub fn raise(&mut self, left: Term, right: Term, by: i64) {
        let (Some(left), Some(right)) = (self.place(left), self.place(right)) else { return };
        let terms = self.sight.len();
        for from in 0..terms {
            let before = self.least[from * MOST + left];
            let Some(to_right) = before.and_then(|before| before.checked_add(by)) else { continue };
            for to in 0..terms {
                let behind = self.least[right * MOST + to];
                let Some(all) = behind.and_then(|behind| to_right.checked_add(behind)) else {
                    continue;
                };
                if self.least[from * MOST + to].is_none_or(|least| least < all) {
                    self.set(from * MOST + to, all);
                }
            }
        }
    }
}
