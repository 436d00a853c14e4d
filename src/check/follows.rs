//! Which conditions follow from facts, whatever the sizes.
//!
//! In: facts and claims, without properties of index arrays: their calls may be anything; or a property, and others
//! that hold. Out: for each claim, whether it is proved.

use super::declared::of_sizes;
use super::shared_prover::with_prover;
use crate::formula::{Constraint, Formula, Relop};
use crate::layout::{Layout, Property, PropertyKind};
use crate::prover::Prover;

/// For each claim, whether `facts` imply it. Those that are facts themselves cost nothing.
pub fn follow(facts: &[Formula], claims: &[Constraint]) -> Vec<bool> {
    let mut stated = Vec::new();
    facts.iter().for_each(|f| conjuncts(f, &mut stated));
    let is_stated = |c: &Constraint| {
        let turned = Constraint { affine: -c.affine.clone(), relop: c.relop };
        c.as_bool() == Some(true)
            || stated.contains(&c)
            || c.relop == Relop::Eq && stated.contains(&&turned)
    };
    let mut out: Vec<bool> = claims.iter().map(is_stated).collect();
    if out.contains(&false) {
        with_prover(|prover| {
            prover.push(facts);
            for (shown, claim) in out.iter_mut().zip(claims).filter(|(shown, _)| !**shown) {
                *shown = prover.is_unsat(&[Formula::Constraint(claim.clone()).not()]);
            }
            prover.pop();
        });
    }
    out
}

fn conjuncts<'f>(formula: &'f Formula, out: &mut Vec<&'f Constraint>) {
    match formula {
        Formula::Constraint(c) => out.push(c),
        Formula::And(parts) => parts.iter().for_each(|part| conjuncts(part, out)),
        _ => {}
    }
}

/// Whether a property follows from those of a layout that are no formulas, and from `known`, all of them for all values
/// of their variables.
pub fn property_follows(layout: &Layout, known: Vec<Formula>, property: &Property) -> bool {
    let mut theory = of_sizes(layout);
    let others = layout.properties.iter().filter(|p| p.kind != PropertyKind::Formula);
    for formula in known.into_iter().chain(others.map(|p| p.formula.clone())) {
        theory.add(&formula, None);
    }
    with_prover(|prover| theory.proves(&|_| true, &[], &property.formula, prover))
}
