//! What the declared properties say about the index-array calls of a space.
//!
//! An instance of a property may be used at a depth only if its premise follows from what the loops
//! up to that depth establish *before* the calls at that depth are read. Otherwise a bound that
//! protects an access could be dropped because of a fact that only holds where the access is in
//! bounds.

use super::differences::Differences;
use super::near;
use super::nest::Nest;
use crate::formula::{Affine, Call, Constraint, Formula, Name, Relop};
use crate::iterspace::Space;
use crate::prover::Prover;
use crate::theory::Sight;

/// The index-array calls of a space with their depths, and the facts derived for them.
#[derive(Clone, Debug)]
pub struct Assumptions {
    /// Each distinct call with the number of dimensions that must be bound before it is known.
    pub calls: Vec<(Call, usize)>,
    pub facts: Vec<Constraint>,
}

/// Derived facts feed further premises; declarations need two rounds, rarely three.
const ROUNDS: usize = 4;

impl Assumptions {
    /// Collects the calls of `space` and derives the conjunctive consequences of its properties.
    pub fn derive(space: &Space, dims: &[Name], prover: &mut dyn Prover) -> Assumptions {
        Derivation::new(space, dims, &|_, depth| depth, Some(prover)).run()
    }

    /// Those consequences that are seen without a prover.
    pub fn plain(space: &Space, dims: &[Name]) -> Assumptions {
        Derivation::new(space, dims, &|_, depth| depth, None).run()
    }

    /// The same for a space within the first `depth` levels of `outer`: until all of these are visited,
    /// only what they establish is known.
    pub fn derive_within(
        space: &Space,
        dims: &[Name],
        outer: &Nest,
        depth: usize,
        prover: &mut dyn Prover,
    ) -> Assumptions {
        let established = outer.known_before(depth);
        let from = |c: &Constraint, at: usize| match established.contains(c) {
            true => at,
            false => at.max(depth + 1),
        };
        Derivation::new(space, dims, &from, Some(prover)).run()
    }
}

/// A fact that holds if its premise is established at its depth.
struct Candidate {
    depth: usize,
    premise: Formula,
    conclusion: Vec<Constraint>,
    /// Where its conclusion belongs among the facts.
    number: usize,
}

/// What is established where a round of questions is.
struct Stack {
    differences: Differences,
    /// Of a large space, or where there is no prover, only what differences tell.
    without_prover: bool,
    /// How many times facts were pushed to the prover.
    scopes: usize,
}

struct Derivation<'a> {
    space: &'a Space,
    dims: &'a [Name],
    prover: Option<&'a mut dyn Prover>,
    calls: Vec<(Call, usize)>,
    /// By depth: what the loops establish there, before the calls of that depth are read, and not
    /// further out.
    established: Vec<Vec<Constraint>>,
    facts: Vec<Constraint>,
}

impl<'a> Derivation<'a> {
    /// `from` says from which depth on a constraint that is complete at a depth is established.
    fn new(
        space: &'a Space,
        dims: &'a [Name],
        from: &dyn Fn(&Constraint, usize) -> usize,
        prover: Option<&'a mut dyn Prover>,
    ) -> Self {
        let mut established = vec![Vec::new(); dims.len() + 2];
        established[0].extend(space.facts.iter().cloned());
        for c in &space.constraints {
            let depth = depth_of(c, dims);
            let mut reads_here = false;
            c.visit_calls(&mut |call| reads_here |= call_depth(call, dims) == depth);
            let complete = if reads_here && depth > 0 { depth + 1 } else { depth };
            established[from(c, complete)].push(c.clone());
        }
        let calls = collect_calls(space, dims);
        let mut out = Derivation { space, dims, prover, calls, established, facts: Vec::new() };
        out.closed_properties();
        out
    }

    /// The calls of closed properties, which may be read before any loop: those that are in the domain
    /// whatever the sizes.
    fn closed_properties(&mut self) {
        let mut more: Vec<(Call, usize)> = Vec::new();
        for law in self.space.theory.laws.iter().filter(|law| law.is_ground()) {
            law.formula.visit_calls(&mut |call| {
                let call = (call.clone(), call_depth(call, self.dims));
                if !self.calls.contains(&call) && !more.contains(&call) {
                    more.push(call);
                }
            });
        }
        let facts: Vec<Formula> =
            self.space.facts.iter().cloned().map(Formula::Constraint).collect();
        more.retain(|(call, _)| {
            self.space.domain_of(call).iter().all(|c| {
                c.as_bool() == Some(true) || self.space.facts.contains(c) || {
                    let mut all = facts.clone();
                    all.push(Formula::Constraint(c.clone()).not());
                    self.prover.as_mut().is_some_and(|prover| prover.is_unsat(&all))
                }
            })
        });
        self.calls.extend(more);
    }

    fn run(mut self) -> Assumptions {
        self.congruences();
        self.property_instances();
        Assumptions { calls: self.calls, facts: self.facts }
    }

    /// Equal calls: two calls of one array whose arguments are provably equal.
    fn congruences(&mut self) {
        let mut candidates = Vec::new();
        for (k, (b, at_b)) in self.calls.iter().enumerate() {
            for (a, at_a) in &self.calls[..k] {
                let Some(congruence) = Formula::congruence(a, b) else { continue };
                let (premise, conclusion) = split(congruence);
                let Some(conclusion) = conclusion.as_conjunction() else { continue };
                let (depth, number) = (*at_a.max(at_b), candidates.len());
                candidates.push(Candidate { depth, premise, conclusion, number });
            }
        }
        candidates.sort_by_key(|c| c.depth);
        let (mut met, _) = self.round(candidates);
        met.sort_by_key(|c| c.number);
        self.facts = met.into_iter().flat_map(|c| c.conclusion).collect();
    }

    fn property_instances(&mut self) {
        let mut sight = Sight::default();
        self.calls.iter().for_each(|(c, _)| {
            sight.insert(c);
        });
        let mut open: Vec<Candidate> = Vec::new();
        for instance in self.space.theory.instances(&sight) {
            let (premise, conclusion) = split(instance);
            let Some(conclusion) = conclusion.as_conjunction() else { continue };
            if conclusion.iter().any(|c| c.relop == Relop::Ne || !only_reads(c, &sight)) {
                continue;
            }
            let mut depth = 0;
            let mut measure = |f: &Affine| {
                let c = Constraint { affine: f.clone(), relop: Relop::Ge };
                depth = depth.max(depth_of(&c, self.dims));
            };
            premise.visit_affine(&mut measure);
            conclusion.iter().for_each(|c| measure(&c.affine));
            open.push(Candidate { depth, premise, conclusion, number: open.len() });
        }
        open.sort_by_key(|c| c.depth);
        for _ in 0..ROUNDS {
            let before = self.facts.len();
            (_, open) = self.round(open);
            if self.facts.len() == before {
                break;
            }
        }
    }

    /// Asks about all candidates, which are sorted by depth; those that are met add to the facts.
    /// Returns those that are met and those that are not.
    fn round(&mut self, candidates: Vec<Candidate>) -> (Vec<Candidate>, Vec<Candidate>) {
        let (mut met, mut left) = (Vec::new(), Vec::new());
        // What a depth establishes, an inner one does: the prover's stack only grows.
        let mut reached = None;
        let mut stack = Stack {
            differences: Differences::default(),
            without_prover: self.prover.is_none()
                || near::is_large(self.space.constraints.len() + self.facts.len()),
            scopes: 0,
        };
        let known: Vec<(usize, Constraint)> =
            self.facts.iter().map(|c| (depth_of(c, self.dims), c.clone())).collect();
        for candidate in candidates {
            let Candidate { depth, premise, .. } = &candidate;
            let mut new: Vec<Constraint> = Vec::new();
            if reached < Some(*depth) {
                let from = reached.map_or(0, |d: usize| d + 1);
                new = self.established[from..=*depth].concat();
                let here = known.iter().filter(|(at, _)| (from..=*depth).contains(at));
                new.extend(here.map(|(_, c)| c.clone()));
                reached = Some(*depth);
            }
            self.establish(&new, &mut stack);
            if !self.implied(premise, &mut stack) {
                left.push(candidate);
                continue;
            }
            let mut new = Vec::new();
            for c in &candidate.conclusion {
                if c.as_bool() != Some(true) && !self.facts.contains(c) {
                    self.facts.push(c.clone());
                    new.push(c.clone());
                }
            }
            self.establish(&new, &mut stack);
            met.push(candidate);
        }
        if let Some(prover) = &mut self.prover {
            (0..stack.scopes).for_each(|_| prover.pop());
        }
        (met, left)
    }

    fn establish(&mut self, new: &[Constraint], stack: &mut Stack) {
        stack.differences.extend(new);
        let Some(prover) = self.prover.as_mut().filter(|_| !stack.without_prover) else { return };
        if new.is_empty() {
            return;
        }
        let new: Vec<Formula> = new.iter().cloned().map(Formula::Constraint).collect();
        prover.push(&new);
        stack.scopes += 1;
    }

    fn implied(&mut self, premise: &Formula, stack: &mut Stack) -> bool {
        if stack.differences.implies(premise) {
            return true;
        }
        let prover = self.prover.as_mut().filter(|_| !stack.without_prover);
        prover.is_some_and(|prover| prover.decide(&[premise.clone().not()]).is_unsat())
    }
}

/// Nested implications as a premise and a conclusion.
fn split(mut f: Formula) -> (Formula, Formula) {
    let mut premises = Vec::new();
    while let Formula::Implies(a, b) = f {
        premises.push(*a);
        f = *b;
    }
    (Formula::and(premises), f)
}

/// True if `c` reads index arrays only where the space does.
fn only_reads(c: &Constraint, sight: &Sight) -> bool {
    let mut known = true;
    c.visit_calls(&mut |call| known &= sight.contains(call));
    known
}

/// Number of leading dimensions that must be bound before `c` can be evaluated.
pub(super) fn depth_of(c: &Constraint, dims: &[Name]) -> usize {
    let mut depth = 0;
    c.affine.visit_vars(&mut |n| {
        if let Some(at) = dims.iter().position(|d| d == n) {
            depth = depth.max(at + 1);
        }
    });
    depth
}

/// [`depth_of`] for the arguments of a call.
pub(super) fn call_depth(call: &Call, dims: &[Name]) -> usize {
    let mut depth = 0;
    for a in &call.args {
        depth = depth.max(depth_of(&Constraint { affine: a.clone(), relop: Relop::Ge }, dims));
    }
    depth
}

/// Every distinct call of the space's constraints and definitions; inner calls
/// come before the calls whose arguments they are.
fn collect_calls(space: &Space, dims: &[Name]) -> Vec<(Call, usize)> {
    let mut out: Vec<(Call, usize)> = Vec::new();
    let mut add = |call: &Call| {
        if !out.iter().any(|(c, _)| c == call) {
            out.push((call.clone(), call_depth(call, dims)));
        }
    };
    for c in space.constraints.iter().chain(&space.facts) {
        c.visit_calls(&mut add);
    }
    for o in space.present() {
        for index in &o.value_index {
            if let Ok(affine) = index.to_affine() {
                affine.visit_calls(&mut add);
            }
        }
    }
    out
}
