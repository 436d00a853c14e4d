//! Iterations that are decided by the element that they write, though it is looked up in index arrays.
//!
//! In: loops, outermost first, and the subscripts of a store in them, in which index arrays are read. Out: whether
//! equal subscripts are written in equal iterations only. Z3 proves it, loop by loop: of two iterations that are
//! equal in the loops around, with subscripts that are equal as far as they are known by then.
//!
//! ```text
//! for p0 in 0..P0 {                           crd0(p0) = crd0(p0')                  ⟹  p0 = p0'
//!     for p1 in pos1(p0)..pos1(p0 + 1) {      crd1(p1) = crd1(p1'), both in pos1(p0)..pos1(p0 + 1)
//!         C[crd0(p0), crd1(p1)] += …                                                ⟹  p1 = p1'
//! ```

use std::ops::Range;

use super::path::Path;
use crate::formula::{Affine, Formula, Name};

/// A loop around a store.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Level {
    pub var: Name,
    /// What is known of an iteration.
    pub facts: Vec<Formula>,
}

/// Subscripts, and the loops that they decide.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Decided {
    levels: Vec<Level>,
    /// Of variables of those loops, and sizes.
    subscripts: Vec<Affine>,
}

impl Decided {
    /// The loops that subscripts need to be known which read index arrays, and with them the subscripts that are
    /// known by then; which of all that are is said, too. Nothing if none reads index arrays.
    pub fn new(levels: &[Level], subscripts: &[Affine]) -> Option<(Decided, Vec<bool>)> {
        let depth =
            |e: &Affine| levels.iter().rposition(|l| e.mentions(&l.var)).map_or(0, |k| k + 1);
        let depths = || subscripts.iter().map(depth);
        let reading = subscripts.iter().zip(depths()).filter(|(e, _)| e.has_calls());
        let deepest = reading.map(|(_, depth)| depth).max()?;
        let known: Vec<bool> = depths().map(|depth| depth <= deepest).collect();
        let those = subscripts.iter().zip(&known).filter(|(_, known)| **known);
        let subscripts = those.map(|(e, _)| e.clone()).collect();
        Some((Decided { levels: levels[..deepest].to_vec(), subscripts }, known))
    }

    /// The variables of the loops.
    pub fn variables(&self) -> impl Iterator<Item = &Name> {
        self.levels.iter().map(|level| &level.var)
    }

    /// Whether the subscripts are proved to decide the iterations of all loops: one after the other, or together,
    /// where those around are not known by themselves, as a row of blocks is not.
    pub fn is_proved(&self, path: &mut Path) -> bool {
        let count = self.levels.len();
        (0..count).all(|k| self.decides(k..k + 1, path))
            || count > 1 && self.decides(0..count, path)
    }

    /// Whether iterations that are equal in the loops before `those` are equal in those, too, if all subscripts are
    /// equal that are known by then.
    fn decides(&self, those: Range<usize>, path: &mut Path) -> bool {
        let again = |n: &Name| {
            let asked = self.levels[those.clone()].iter().any(|level| level.var == *n);
            asked.then(|| Affine::var(Name::from(format!("{n}'"))))
        };
        let later = |e: &Affine| self.levels[those.end..].iter().any(|l| e.mentions(&l.var));
        let known = self.subscripts.iter().filter(|e| !later(e));
        let mut same = known.map(|e| Formula::eq(e.clone(), e.substitute(&again))).peekable();
        if same.peek().is_none() {
            return false;
        }
        let within = self.levels[..those.end].iter().flat_map(|level| level.facts.iter().cloned());
        let twice = within.flat_map(|fact| [fact.substitute(&again), fact]);
        let facts: Vec<Formula> = twice.chain(same).collect();
        let asked = self.levels[those.clone()].iter().map(|level| Affine::var(level.var.clone()));
        let claim = Formula::and(asked.map(|v| Formula::eq(v.substitute(&again), v)));
        path.enter(&facts);
        let decided = path.proves(&claim);
        path.leave();
        decided
    }
}
