//! What the declared properties say about the index-array calls of a space.
//!
//! An instance of a property may be used at a depth only if its premise follows from what the loops
//! up to that depth establish *before* the calls at that depth are read. Otherwise a bound that
//! protects an access could be dropped because of a fact that only holds where the access is in
//! bounds.

use crate::formula::{Atom, Call, Constraint, Formula, Name, Relop};
use crate::iterspace::{Space, instantiate};
use crate::prover::Prover;

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
        let calls = collect_calls(space, dims);
        let mut out = Assumptions { calls, facts: Vec::new() };
        out.congruences(space, dims, prover);
        out.property_instances(space, dims, prover);
        out
    }

    /// Constraints that loops down to `depth` establish before the calls at `depth` are read.
    fn established(&self, space: &Space, dims: &[Name], depth: usize) -> Vec<Formula> {
        let mut out: Vec<Formula> = space.facts.iter().cloned().map(Formula::Constraint).collect();
        for c in &space.constraints {
            if depth_of(c, dims) > depth {
                continue;
            }
            let mut reads_here = false;
            c.visit_calls(&mut |call| reads_here |= call_depth(call, dims) == depth);
            if !reads_here || depth == 0 {
                out.push(Formula::Constraint(c.clone()));
            }
        }
        out.extend(
            self.facts
                .iter()
                .filter(|f| depth_of(f, dims) <= depth)
                .cloned()
                .map(Formula::Constraint),
        );
        out
    }

    /// Equal calls: two calls of one array whose arguments are provably equal.
    fn congruences(&mut self, space: &Space, dims: &[Name], prover: &mut dyn Prover) {
        for k in 0..self.calls.len() {
            for m in 0..k {
                let ((a, da), (b, db)) = (self.calls[m].clone(), self.calls[k].clone());
                if a.array != b.array {
                    continue;
                }
                let depth = da.max(db);
                let equal_args = Formula::and(
                    a.args.iter().zip(&b.args).map(|(x, y)| Formula::eq(x.clone(), y.clone())),
                );
                if equal_args.is_false() {
                    continue;
                }
                prover.push(&self.established(space, dims, depth));
                let equal = prover.is_unsat(&[equal_args.not()]);
                prover.pop();
                if equal {
                    let call = |c: &Call| crate::formula::Affine::atom(Atom::Call(c.clone()));
                    self.facts.push(Constraint::eq(call(&a), call(&b)));
                }
            }
        }
    }

    fn property_instances(&mut self, space: &Space, dims: &[Name], prover: &mut dyn Prover) {
        let calls: Vec<Call> = self.calls.iter().map(|(c, _)| c.clone()).collect();
        let params = space.params();
        let is_param = |n: &str| params.iter().any(|p| &**p == n);
        let mut pending: Vec<(usize, Vec<Formula>, Vec<Constraint>)> = Vec::new();
        for property in &space.properties {
            for instance in instantiate(&property.formula, &calls, &is_param) {
                let (premises, conclusion) = split(instance);
                let Some(conclusion) = conclusion.as_conjunction() else { continue };
                if conclusion.iter().any(|c| c.relop == Relop::Ne || !only_reads(c, &calls)) {
                    continue;
                }
                let mut depth = 0;
                let mut measure = |f: &crate::formula::Affine| {
                    let c = Constraint { affine: f.clone(), relop: Relop::Ge };
                    depth = depth.max(depth_of(&c, dims));
                };
                premises.iter().for_each(|p| p.visit_affine(&mut measure));
                conclusion.iter().for_each(|c| measure(&c.affine));
                pending.push((depth, premises, conclusion));
            }
        }
        pending.sort_by_key(|(depth, ..)| *depth);
        for _ in 0..ROUNDS {
            let mut left = Vec::new();
            let mut progress = false;
            let mut at = 0;
            while at < pending.len() {
                let depth = pending[at].0;
                prover.push(&self.established(space, dims, depth));
                while at < pending.len() && pending[at].0 == depth {
                    let (_, premises, conclusion) = &pending[at];
                    let refuted = Formula::and(premises.iter().cloned()).not();
                    if refuted.is_false() || prover.is_unsat(&[refuted]) {
                        for c in conclusion {
                            if c.as_bool() != Some(true) && !self.facts.contains(c) {
                                self.facts.push(c.clone());
                                progress = true;
                            }
                        }
                    } else {
                        left.push(pending[at].clone());
                    }
                    at += 1;
                }
                prover.pop();
            }
            pending = left;
            if !progress {
                break;
            }
        }
    }
}

/// Nested implications as premises and a conclusion.
fn split(mut f: Formula) -> (Vec<Formula>, Formula) {
    let mut premises = Vec::new();
    while let Formula::Implies(a, b) = f {
        premises.push(*a);
        f = *b;
    }
    (premises, f)
}

/// True if `c` reads index arrays only where the space does.
fn only_reads(c: &Constraint, calls: &[Call]) -> bool {
    let mut known = true;
    c.visit_calls(&mut |call| known &= calls.contains(call));
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

/// Every distinct call of the space's constraints, definitions and closed properties; inner calls
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
    for o in &space.operands {
        for index in &o.value_index {
            if let Ok(affine) = index.to_affine() {
                affine.visit_calls(&mut add);
            }
        }
    }
    let params = space.params();
    for p in &space.properties {
        if p.formula.free_vars().iter().all(|v| params.contains(v)) {
            p.formula.visit_calls(&mut add);
        }
    }
    out
}
