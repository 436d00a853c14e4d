//! Looplets from their parts.

use super::region::Shape;
use super::tree::{Looplet, Phase, Stepper, Stop};
use crate::formula::{Affine, Formula, Name};
use crate::scan::Range;

pub(super) fn switch(tests: Vec<Formula>, then: Looplet) -> Looplet {
    match tests.is_empty() {
        true => then,
        false => {
            Looplet::Switch { tests, then: Box::new(then), otherwise: Box::new(Looplet::Fill) }
        }
    }
}

pub(super) fn run_of_fill() -> Looplet {
    Looplet::Run(Box::new(Looplet::Fill))
}

/// Tests of a variable that has a value.
pub(super) fn at_value(tests: Vec<Formula>, var: &Name, value: &Affine) -> Vec<Formula> {
    let known = |n: &Name| (n == var).then(|| value.clone());
    tests.iter().map(|test| test.substitute(&known)).collect()
}

/// What is at one coordinate, which may need to know it.
pub(super) fn knowing(index: Name, at: &Affine, here: Looplet) -> Looplet {
    match here.mentions(&index) {
        true => Looplet::Thunk { var: index, value: at.clone(), body: Box::new(here) },
        false => here,
    }
}

pub(super) fn spike(tail: Looplet) -> Looplet {
    Looplet::Spike { body: Box::new(Looplet::Fill), tail: Box::new(tail) }
}

/// Phases; one alone is what is in it.
pub(super) fn sequence(phases: impl IntoIterator<Item = (Stop, Looplet)>) -> Looplet {
    let phases = phases.into_iter().map(|(stop, body)| Phase { stop, body });
    let mut phases: Vec<Phase> = phases.collect();
    match phases.len() {
        1 => phases.remove(0).body,
        _ => Looplet::Sequence(phases),
    }
}

/// A region for each position, with gaps before them.
pub(super) fn steps(
    p: &Name,
    range: &Range,
    tests: Vec<Formula>,
    stop: Option<Stop>,
    body: Looplet,
) -> Stepper {
    let (var, range) = (p.clone(), range.clone());
    Stepper { var, end: None, range, tests, begin: None, stop, rises: false, body }
}

pub(super) fn stepper(steps: Stepper) -> Shape {
    let last = steps.stop.clone().filter(|_| steps.tests.is_empty()).map(|stop| Stop::Last {
        var: steps.var.clone(),
        range: steps.range.clone(),
        stop: Box::new(stop),
    });
    Shape::Upto { stop: last, regions: Looplet::Stepper(Box::new(steps)) }
}
