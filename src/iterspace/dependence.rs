//! Which loops may run in parallel (SPF §5.1).
//!
//! The dependence polyhedron of a loop: two iterations of the whole nest that agree on all outer
//! loops, differ in this one, and write the same output element. Dependences are observed at the
//! logical access, so positions and index arrays enter only through the space itself, with the
//! declared properties instantiated on both iterations. Empty: the loop is parallel. Otherwise the
//! conflict is a reduction, which private accumulators resolve, because the operators of index
//! notation commute.

use std::fmt;

use super::Space;
use crate::formula::{Affine, Constraint, Formula, Name};
use crate::prover::{Answer, Model, Prover};
use crate::theory::Known;

/// What the dependence test says of one loop.
#[derive(Clone, Debug)]
pub enum LoopKind {
    /// No two iterations write one output element.
    Parallel,
    /// Some do; each thread may sum privately. The two iterations are an example.
    Reduction(Conflict),
    /// The prover gave up: the loop stays sequential.
    Unknown(String),
}

/// Two iterations that write the same output element.
#[derive(Clone, Debug)]
pub struct Conflict {
    /// Values of the dimensions in the first iteration, outermost first.
    pub first: Vec<(Name, i64)>,
    pub second: Vec<(Name, i64)>,
    /// Index arrays and sizes with which it happens.
    pub model: Model,
}

impl fmt::Display for LoopKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |values: &[(Name, i64)]| {
            let parts: Vec<String> = values.iter().map(|(n, v)| format!("{n}={v}")).collect();
            parts.join(", ")
        };
        match self {
            LoopKind::Parallel => f.write_str("parallel"),
            LoopKind::Reduction(c) => write!(
                f,
                "parallel with private accumulators: iterations ({}) and ({}) write the same element",
                show(&c.first),
                show(&c.second)
            ),
            LoopKind::Unknown(why) => write!(f, "not parallel, because the prover gave up: {why}"),
        }
    }
}

/// Tests dimension `d` of `dims`. `known` is what holds where an element is written: all constraints
/// and guards of the space, or fewer where sums are written before all is known.
pub fn loop_kind(
    space: &Space,
    known: (&[Constraint], &[Formula]),
    dims: &[Name],
    d: usize,
    prover: &mut dyn Prover,
) -> LoopKind {
    let (constraints, guards) = known;
    let inner = &dims[d..];
    let prime = |n: &Name| inner.contains(n).then(|| Affine::var(Name::from(format!("{n}'"))));
    let mut facts: Vec<Formula> = Vec::new();
    for c in constraints {
        facts.push(Formula::Constraint(c.clone()));
        facts.push(Formula::Constraint(c.substitute(&prime)));
    }
    for g in guards {
        facts.push(g.clone());
        facts.push(g.substitute(&prime));
    }
    for place in space.output_place() {
        facts.push(Formula::eq(place.clone(), place.substitute(&prime)));
    }
    let here = Affine::var(dims[d].clone());
    facts.push(Formula::lt(here.clone(), here.substitute(&prime)));

    let mut known = Known::new(&space.theory, prover);
    match known.ask(&facts) {
        Answer::Unsat => LoopKind::Parallel,
        Answer::Unknown(why) => LoopKind::Unknown(why),
        Answer::Sat(model) => {
            let value = |a: Affine| model.value(&a).unwrap_or(0);
            let read = |primed: bool| {
                dims.iter()
                    .map(|n| {
                        let v = Affine::var(n.clone());
                        let v = if primed { v.substitute(&prime) } else { v };
                        (n.clone(), value(v))
                    })
                    .collect()
            };
            let (first, second) = (read(false), read(true));
            LoopKind::Reduction(Conflict { first, second, model })
        }
    }
}
