//! Results that are made of one reduction: the least distance, and whether any of the distances is less than a number.
//!
//! Before → after:
//!
//! ```text
//!                                                       m[i] min= _D[j] + A[i,j]
//! D_2[i] min= _D[j] + A[i,j]                       ⟼    D_2[i] min= m[i]
//! F[i] or= _D[j] + A[i,j] < _D[i]                       F[i] or= m[i] < _D[i]
//! ```
//! `<` is a morphism of `min` to `or` in its first argument: whether any of several is less is whether the least of
//! them is. So each iteration touches one element, and not three.

use super::operations::{constant, indices, unguarded};
use super::statements::{Maker, State, Statement, Step};
use crate::diagnostic::Result;
use crate::formula::Name;
use crate::operators::SpecialResult;
use crate::program::ir::{Access, Apply, Expr};

/// Two statements of which the second is a morphism of what the first combines.
struct Pair {
    /// Which combines the values.
    all: usize,
    /// Which combines what an operator makes of each of them.
    made: usize,
    what: Apply,
    /// Which argument of the operator they are.
    argument: usize,
}

impl Maker<'_> {
    /// Combines values once of which several results are made.
    pub(super) fn reduce_once(&mut self) -> Result<()> {
        let mut k = 0;
        while k < self.steps.len() {
            match self.pair(k)? {
                Some(pair) => self.share(pair),
                None => k += 1,
            }
        }
        Ok(())
    }

    /// The statement at a step as the second of a pair.
    fn pair(&self, made: usize) -> Result<Option<Pair>> {
        let Some(own) = self.steps[made].statement() else { return Ok(None) };
        for (all, step) in self.steps.iter().enumerate() {
            if let Some(other) = step.statement().filter(|_| all != made)
                && let Some((what, argument)) = self.made_of(own, other)?
                && self.may_move(all, made)
            {
                return Ok(Some(Pair { all, made, what, argument }));
            }
        }
        Ok(None)
    }

    /// What a statement makes of each value that the other combines, and which argument that is.
    fn made_of(&self, own: &Statement, other: &Statement) -> Result<Option<(Apply, usize)>> {
        let (Some(to), Some(of)) = (&own.op, &other.op) else { return Ok(None) };
        let (result, ty) = (self.types[&own.output.tensor], self.types[&other.output.tensor]);
        let (Some(none), Some(nothing)) = (to.identity(result, 0), of.identity(ty, 0)) else {
            return Ok(None);
        };
        let (condition, made) = unguarded(&own.value, &constant(none)?);
        let (other_condition, each) = unguarded(&other.value, &constant(nothing)?);
        let Expr::Apply(what) = made else { return Ok(None) };
        let fits = |k: &usize| {
            // What nothing was combined into leaves the result as it is.
            let leaves = what.op.specials(ty).iter().any(|special| {
                let found = SpecialResult::Value(none);
                special.argument == *k && special.value == nothing && special.result == found
            });
            what.args[*k] == *each && what.op.is_morphism_in(*k, of, to) && leaves
        };
        let Some(argument) = (0..what.args.len()).find(fits) else { return Ok(None) };
        for part in &what.args {
            if self.type_of(part)? != Some(ty) {
                return Ok(None);
            }
        }
        let stays = |e: &Expr| indices(e).iter().all(|index| own.output.mentions(index));
        let mut rest = what.args.iter().enumerate().filter(|(k, _)| *k != argument);
        let same_points = condition == other_condition
            && own.formulas == other.formulas
            && own.output.subscripts == other.output.subscripts
            && self.tensors[&own.output.tensor] == self.tensors[&other.output.tensor];
        let is_shared = same_points
            && self.covers(&own.output)
            && !stays(&other.value)
            && rest.all(|(_, arg)| stays(arg))
            && self.has_places(&own.output.tensor)
            && self.has_places(&other.output.tensor);
        Ok(is_shared.then(|| (what.clone(), argument)))
    }

    /// Whether every element of a tensor has a place: it is no work to set all.
    fn has_places(&self, tensor: &Name) -> bool {
        let is_own = |state: &State| matches!(state, State::Own(name) if name == tensor);
        let of = self.states.iter().find(|(_, state)| is_own(state)).map_or(tensor, |(n, _)| n);
        !self.tree.searched.contains(of)
    }

    /// The first step that writes what one of two others writes.
    fn beginning(&self, pair: [usize; 2]) -> usize {
        let written = pair.map(|k| self.steps[k].statement().map(|s| &s.output.tensor));
        let begins = |step: &Step| written.iter().flatten().any(|tensor| step.writes(tensor));
        self.steps.iter().position(begins).unwrap_or(0)
    }

    /// Whether what the statement at `all` reads is the same from the beginning of what it and the other write.
    fn may_move(&self, all: usize, made: usize) -> bool {
        let steps = &self.steps[self.beginning([all, made])..=all.max(made)];
        let reads = |tensor: &Name| self.steps[all].statement().is_some_and(|s| s.reads(tensor));
        let changes = |step: &Step| step.statement().is_none_or(|s| reads(&s.output.tensor));
        !steps.iter().any(changes)
    }

    fn share(&mut self, pair: Pair) {
        let Pair { all, made, mut what, argument } = pair;
        let Some(first) = self.steps[all].statement().cloned() else { return };
        let target = first.output.clone();
        let changes = |step: &Step| step.writes(&target.tensor);
        let stays = first.is_first && all < made && !self.steps[all + 1..].iter().any(changes);
        // Of a result that is made of nothing else, the other may be made.
        let found = match stays {
            true => target.clone(),
            false => {
                let dims = self.tensors[&target.tensor].clone();
                let own = self.tensor("combined", self.types[&target.tensor], dims);
                Access { tensor: own, ..target.clone() }
            }
        };
        what.args[argument] = Expr::Access(found.clone());
        if let Step::Statement(s) = &mut self.steps[made] {
            (s.value, s.formulas) = (Expr::Apply(what), Vec::new());
        }
        if stays {
            return;
        }
        let at = self.beginning([all, made]);
        if let Step::Statement(s) = &mut self.steps[all] {
            (s.value, s.formulas) = (Expr::Access(found.clone()), Vec::new());
        }
        self.steps
            .insert(at, Step::Statement(Statement { output: found, is_first: true, ..first }));
    }
}
