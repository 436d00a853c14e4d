//! What a nest must test, and where: conditions that what is known does not imply.

use indexmap::IndexMap;

use super::assumptions::call_depth;
use super::near::Context;
use super::scanner::Scanner;
use super::stage::{Stage, after, bare};
use crate::formula::{Affine, Atom, Constraint, Name};

impl Scanner<'_> {
    /// Original constraints complete at the depth of `stage` that what is known then does not imply.
    /// They are added to `known`. Only *original* ones: projected ones merely state that inner loops
    /// are not empty. What holds of calls is not known before these are read: it may hold only because
    /// of the condition that is asked for.
    pub(super) fn unmet(
        &self,
        stage: Stage,
        known: &mut Vec<Constraint>,
        select: impl Fn(&[usize]) -> bool,
    ) -> Vec<Constraint> {
        let constraints = self.space.constraints.iter().zip(&self.depths);
        let candidates: Vec<&Constraint> = constraints
            .filter(|(_, (at, reads))| *at == stage.depth() && select(reads))
            .map(|(c, _)| c)
            .collect();
        self.not_implied(candidates, stage, known)
    }

    /// The candidates that what is known at that stage does not imply; they are added to `known`.
    pub(super) fn not_implied(
        &self,
        candidates: Vec<&Constraint>,
        stage: Stage,
        known: &mut Vec<Constraint>,
    ) -> Vec<Constraint> {
        if candidates.is_empty() {
            return Vec::new();
        }
        let mut out = Vec::new();
        let mut context = self.context(stage, known);
        for c in candidates {
            if !context.implies(c) {
                out.push(c.clone());
                known.push(c.clone());
                context.push(c.clone());
            }
        }
        out
    }

    /// Conditions under which the calls that dimension `d` allows may be read, where only what is tested
    /// later implies them. They are added to `known`.
    pub(super) fn domains(&self, d: usize, known: &mut Vec<Constraint>) -> Vec<Constraint> {
        let mut out: Vec<Constraint> = Vec::new();
        let calls = if self.is_large() { Vec::new() } else { self.calls_at(d + 1) };
        let mut context = None;
        for c in calls.iter().flat_map(|call| self.space.domain_of(call)) {
            if c.as_bool() == Some(true) || !self.fits(bare(d), &c.affine) {
                continue;
            }
            let here = context.get_or_insert_with(|| self.context(Stage::Before(d + 1), known));
            if !here.implies(&c) && self.full().implies(&c) {
                here.push(c.clone());
                out.push(c);
            }
        }
        known.extend(out.iter().cloned());
        out
    }

    fn context(&self, stage: Stage, known: &[Constraint]) -> Context {
        let (frame, by) = match stage {
            Stage::Before(0) | Stage::After(0) => (&self.frames[0], after(0)),
            Stage::Before(depth) => (&self.bare[depth - 1], bare(depth - 1)),
            Stage::After(depth) => (&self.frames[depth], after(depth)),
        };
        let known = self.established(by, known).into_iter();
        let sizes = |c: &&Constraint| stage != Stage::Before(0) || !c.affine.has_calls();
        Context::new(frame, known.filter(sizes).cloned().collect(), self.is_large())
    }

    /// Dimensions after `d` whose value is determined by what is known by then.
    pub(super) fn determined(&self, d: usize, by: usize) -> IndexMap<Name, Affine> {
        let mut out: IndexMap<Name, Affine> = IndexMap::new();
        let later = self.solved.iter().filter(|(var, _)| self.dims[d + 1..].contains(var));
        let later: Vec<_> = later.collect();
        loop {
            let before = out.len();
            for (var, values) in &later {
                let mut known = values.iter().filter_map(|value| {
                    let value = value.substitute(&|n| out.get(n).cloned());
                    self.fits(by, &value).then_some(value)
                });
                if !out.contains_key(*var)
                    && let Some(value) = known.next()
                {
                    drop(known);
                    out.insert((*var).clone(), value);
                }
            }
            if out.len() == before {
                return out;
            }
        }
    }

    /// Constraints on later dimensions that are already decided at loop `d`: with
    /// `q3 = j - 4*crd(q1)` to come, `0 <= q3 < 4` is a condition on `q1`, and a find looks for it.
    /// Only those that relate an index array read here to something known before; all others read
    /// better where they were written.
    pub(super) fn find_ahead(
        &self,
        d: usize,
        known: &mut Vec<Constraint>,
        out: &mut Vec<Constraint>,
    ) {
        let values = self.determined(d, after(d + 1));
        let is_outer = |atom: &Atom| match self.known_at.get(atom) {
            // Parameters relate nothing to what was visited.
            Some(at) => *at <= after(d) && !self.frames[0].params.contains(atom),
            None => false,
        };
        for (c, (depth, _)) in self.space.constraints.iter().zip(&self.depths) {
            if *depth <= d + 1 {
                continue;
            }
            let here = c.substitute(&|n| values.get(n).cloned());
            let mut reads = false;
            here.visit_calls(&mut |call| reads |= call_depth(call, self.dims) == d + 1);
            let relates = here.affine.terms().iter().any(|(a, _)| is_outer(a));
            if !reads || !relates || !self.fits(after(d + 1), &here.affine) {
                continue;
            }
            if !self.context(Stage::After(d + 1), known).implies(&here) {
                known.push(here.clone());
                out.push(here);
            }
        }
    }
}
