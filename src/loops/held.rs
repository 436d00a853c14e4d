//! Where a looplet along an index holds something.

use super::tree::Regions;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Formula, Name};
use crate::looplets::{Looplet, Phase, Stepper, Stop};
use crate::scan::Range;

/// Where along an index an operand holds something.
#[derive(Default)]
pub(super) struct Held {
    pub lower: Vec<Affine>,
    pub upper: Vec<Affine>,
    /// Steps around the walk, which have no ends of their own.
    pub steps: Vec<Steps>,
    /// With what a position must pass.
    pub walk: Option<(Regions, Vec<Formula>)>,
}

impl Held {
    /// Whether it holds something at all of the index.
    pub fn is_whole(&self) -> bool {
        self.lower.is_empty() && self.upper.is_empty() && self.walk.is_none()
    }
}

/// Steps whose regions are those of the steps inside.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    pub var: Name,
    pub range: Range,
    pub tests: Vec<Formula>,
    /// What is computed and tested in each.
    pub inside: Vec<Around>,
}

/// What stands around what is left of a looplet.
#[derive(Clone, Debug)]
pub(super) enum Around {
    Let(Name, Affine),
    If(Vec<Formula>),
}

impl Around {
    /// Whether it can be computed where the operand holds nothing, at no position of these walks, and changes
    /// nothing there.
    pub fn is_everywhere(&self, walks: &[Name]) -> bool {
        match self {
            Around::Let(_, value) => {
                !value.has_calls() && !walks.iter().any(|walk| value.mentions(walk))
            }
            Around::If(_) => false,
        }
    }
}

/// A looplet without the values that are computed and tested before it.
pub(super) fn opened(looplet: &Looplet, around: &mut Vec<Around>) -> Looplet {
    match looplet {
        Looplet::Thunk { var, value, body } => {
            around.push(Around::Let(var.clone(), value.clone()));
            opened(body, around)
        }
        Looplet::Switch { tests, then, otherwise } if **otherwise == Looplet::Fill => {
            around.push(Around::If(tests.clone()));
            opened(then, around)
        }
        other => other.clone(),
    }
}

/// Where a looplet along an index holds something, and what.
pub(super) fn held_in(
    looplet: &Looplet,
    held: &mut Held,
    around: &mut Vec<Around>,
) -> Result<Looplet> {
    match opened(looplet, around) {
        Looplet::Lookup { body, .. } | Looplet::Run(body) => Ok(*body),
        Looplet::Sequence(phases) => {
            let is_fill = |phase: &&Phase| is_fill(&phase.body);
            let Some(at) = phases.iter().position(|phase| !is_fill(&phase)) else {
                return Ok(Looplet::Fill);
            };
            if phases[at + 1..].iter().any(|phase| !is_fill(&phase)) {
                return Err(not_lowered("a sequence holds more than one region"));
            }
            if at > 0 {
                held.lower = ends(&phases[at - 1].stop)?;
            }
            let phase = &phases[at];
            if let Stop::Least(stop) = &phase.stop {
                held.upper.extend(stop.iter().cloned());
            }
            match (&phase.body, held.upper.as_slice()) {
                (Looplet::Spike { body, tail }, [stop]) if **body == Looplet::Fill => {
                    held.lower.push(stop.clone() - Affine::constant(1));
                    Ok((**tail).clone())
                }
                (body, _) => held_in(body, held, around),
            }
        }
        Looplet::Stepper(stepper) => steps(&stepper, held),
        Looplet::Fill => Ok(Looplet::Fill),
        Looplet::Search(search) => Err(searches(&search.var)),
        _ => Err(not_lowered("its regions are of a kind that is not walked")),
    }
}

/// How a stepper is walked, and what it holds in the region of a position.
fn steps(stepper: &Stepper, held: &mut Held) -> Result<Looplet> {
    let Stepper { var, end, range, tests, begin, stop, rises, body } = stepper;
    let stop = match stop {
        Some(Stop::Least(stop)) => stop,
        None if end.is_none() => {
            let (var, range, tests) = (var.clone(), range.clone(), tests.clone());
            let mut inside = Vec::new();
            let body = opened(body, &mut inside);
            held.steps.push(Steps { var, range, tests, inside });
            return match &body {
                Looplet::Stepper(inner) => steps(inner, held),
                _ => Err(without_ends()),
            };
        }
        Some(_) | None => return Err(without_ends()),
    };
    let (lower, here) = match body {
        Looplet::Spike { body, tail } if **body == Looplet::Fill => match stop.as_slice() {
            [stop] => (vec![stop.clone() - Affine::constant(1)], (**tail).clone()),
            _ => return Err(not_lowered("a spike has several ends")),
        },
        Looplet::Sequence(phases) => match phases.as_slice() {
            [before, inside] if is_fill(&before.body) => {
                (ends(&before.stop)?, region(&inside.body)?)
            }
            _ => return Err(not_lowered("a step holds more than one region")),
        },
        other => (begin.as_ref().map_or(Ok(Vec::new()), ends)?, region(other)?),
    };
    let region = Range { lower, upper: stop.clone() };
    let (var, end, range) = (var.clone(), end.clone(), range.clone());
    let (none, within) = (Vec::new(), Vec::new());
    let rises = *rises;
    let regions = Regions { var, end, range, tests: none, within, region, rises, is_sought: rises };
    held.walk = Some((regions, tests.clone()));
    Ok(here)
}

/// What is at each index of a region.
fn region(looplet: &Looplet) -> Result<Looplet> {
    match looplet {
        Looplet::Lookup { body, .. } | Looplet::Run(body) => Ok((**body).clone()),
        Looplet::Thunk { var, value, body } => {
            let (var, value, body) = (var.clone(), value.clone(), Box::new(region(body)?));
            Ok(Looplet::Thunk { var, value, body })
        }
        Looplet::Switch { tests, then, otherwise } if **otherwise == Looplet::Fill => {
            let (tests, then) = (tests.clone(), Box::new(region(then)?));
            Ok(Looplet::Switch { tests, then, otherwise: otherwise.clone() })
        }
        _ => Err(not_lowered("a step holds a region of a kind that is not walked")),
    }
}

fn is_fill(looplet: &Looplet) -> bool {
    match looplet {
        Looplet::Fill => true,
        Looplet::Run(body) => **body == Looplet::Fill,
        _ => false,
    }
}

fn ends_of(stop: &Stop) -> &[Affine] {
    match stop {
        Stop::Least(ends) | Stop::Greatest(ends) => ends,
        Stop::Last { .. } => &[],
    }
}

/// The ends that a fill region has.
fn ends(stop: &Stop) -> Result<Vec<Affine>> {
    match (stop, ends_of(stop)) {
        (Stop::Greatest(_), ends) | (Stop::Least(_), ends @ [_]) => Ok(ends.to_vec()),
        _ => Err(not_lowered("where a region begins is not known")),
    }
}

pub(super) fn without_ends() -> Box<Diagnostic> {
    not_lowered("its steps have no ends of their own")
}

pub(super) fn searches(what: &str) -> Box<Diagnostic> {
    not_lowered("a position would be searched for in no order")
        .note(format!("it is that of `{what}`"))
}

pub(super) fn not_lowered(why: &str) -> Box<Diagnostic> {
    Diagnostic::new(Code::Space, format!("this is not co-iterated by looplets: {why}")).help(
        "leave `--coiterate looplets` out, store it in another layout, or choose another `--order`",
    )
}
