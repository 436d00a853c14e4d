//! From the looplets of a product's operands to nodes.
//!
//! Nothing is computed where one of them holds fill, so that of each what is left are regions in which it holds
//! something: all of an index, a range of it, or one for each position of a stepper. Where several step, they do it
//! at once, and the body is of where all of them overlap: a run with a run, a block with a point. Code grows with
//! the number of operands, not with that of the combinations of their phases (Finch §4.3).
//!
//! ```text
//! along j in 0..J                              step j in 0..J
//!   … stepper pA1 in … until crd_A(pA1) + 1       over pA1 in pos_A(i)..pos_A(i + 1) : crd_A(pA1)..crd_A(pA1) + 1
//!       spike                                     over px in 0..RUNS_x : left_x(px)..right_x(px)
//!         fill                            →       val_y[i] += val_A[pA1] * val_x[px]
//!         element val_A[pA1]
//! along j in 0..J
//!   … stepper px in 0..RUNS_x until right_x(px)
//!       …
//! ```

use super::tree::{Block, Loop, Node, Place, Regions, Step, Term, Update};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Constraint, Formula, Name};
use crate::iterspace::{Elsewhere, Source, Space};
use crate::looplets::{Looplet, Phase, Stepper, Stop, derive_operand, of_operand};
use crate::operators::Region;
use crate::prover::Prover;
use crate::scan::Range;

/// The nodes of a space, whose indices come in this order.
///
/// # Errors
/// [`Code::Space`] if it is no product, or an operand has no looplets that are walked.
pub(super) fn by_looplets(
    space: &Space,
    order: &[Name],
    prover: &mut dyn Prover,
) -> Result<ByRegions> {
    if !space.lookups.is_empty() || space.rest != Region::All || space.counter().is_some() {
        return Err(not_lowered("what is computed is no product of what is stored"));
    }
    let mut parts = Vec::new();
    for &k in space.stored.iter().filter(|&&k| k != space.target) {
        let derived = derive_operand(space, k, order, prover)?;
        parts.push(Part { operand: k, looplet: derived.looplet });
    }
    if !space.output().positions.is_empty() {
        return Err(not_lowered("the result has positions of its own"));
    }
    let mut lowering = Lowering { space, tests: demanded(space), places: Vec::new() };
    let block = lowering.nodes(order, parts)?;
    Ok(ByRegions { block, places: lowering.places })
}

/// The nodes of a space, and where each of its operands is read in them.
#[derive(Clone, Debug)]
pub struct ByRegions {
    /// What is computed is that of the space at hand: its types may change.
    block: Block,
    places: Vec<(usize, Place)>,
}

impl ByRegions {
    /// The nodes, with what the space computes.
    pub(super) fn nodes(&self, space: &Space) -> Block {
        let mut block = self.block.clone();
        self.fill(&mut block, space);
        block
    }

    fn fill(&self, block: &mut Block, space: &Space) {
        for node in block {
            match node {
                Node::Update(update) => **update = update_of(space, &self.places),
                node => node.blocks_mut().into_iter().for_each(|inner| self.fill(inner, space)),
            }
        }
    }
}

/// What a space computes from elements.
fn update_of(space: &Space, places: &[(usize, Place)]) -> Update {
    let term = |source: &Source| match source {
        Source::Operand(k) => {
            let place = places.iter().find(|(other, _)| other == k);
            Term::Element(place.expect("what is read is stored").1.clone())
        }
        Source::Index(index) => Term::Index(index.clone()),
    };
    let output = space.output();
    let target = Place { array: output.value_array.clone(), index: output.value_index.clone() };
    let op = match space.elsewhere {
        Some(Elsewhere::Begun) => None,
        Some(Elsewhere::Counted(_)) | None => Some(space.op.clone()),
    };
    Update { target, op, value: space.value.map(&term) }
}

/// What holds at the points of a space, but for what the operands and the extents of its indices say.
fn demanded(space: &Space) -> Vec<Formula> {
    let mut known: Vec<Constraint> = Vec::new();
    for &k in space.stored.iter().filter(|&&k| k != space.target) {
        known.extend(of_operand(space, k, space.pieces[k]).constraints);
    }
    for index in &space.indices {
        let extent = Affine::var(space.extents[index].clone());
        let here = Affine::var(index.clone());
        known.push(Constraint::le(Affine::zero(), here.clone()));
        known.push(Constraint::lt(here, extent));
    }
    let others = space.constraints.iter().filter(|c| !known.contains(c));
    others.cloned().map(Formula::Constraint).chain(space.guards.iter().cloned()).collect()
}

/// An operand, and what is left of its looplets.
struct Part {
    operand: usize,
    looplet: Looplet,
}

struct Lowering<'a> {
    space: &'a Space,
    /// What operands do not say.
    tests: Vec<Formula>,
    /// Where each operand is read.
    places: Vec<(usize, Place)>,
}

/// Where along an index an operand holds something.
#[derive(Default)]
struct Held {
    lower: Vec<Affine>,
    upper: Vec<Affine>,
    /// With what a position must pass.
    walk: Option<(Regions, Vec<Formula>)>,
}

impl Lowering<'_> {
    fn nodes(&mut self, order: &[Name], mut parts: Vec<Part>) -> Result<Block> {
        let mut around = Vec::new();
        for part in &mut parts {
            part.looplet = opened(&part.looplet, &mut around);
        }
        if parts.iter().any(|part| part.looplet == Looplet::Fill) {
            return Ok(Vec::new());
        }
        let inner = match order.split_first() {
            None => {
                let leaf = self.leaf(&parts)?;
                tested(leaf, &self.tests)
            }
            Some((index, rest)) => self.along(index, rest, parts)?,
        };
        Ok(wrapped(around, inner))
    }

    fn along(&mut self, index: &Name, rest: &[Name], mut parts: Vec<Part>) -> Result<Block> {
        let extent = Affine::var(self.space.extents[index].clone());
        let mut range = Range { lower: vec![Affine::zero()], upper: vec![extent] };
        let mut walks = Vec::new();
        let mut around = Vec::new();
        for part in &mut parts {
            let Looplet::Along(along) = &part.looplet else { continue };
            if along.index != *index {
                continue;
            }
            let mut held = Held::default();
            part.looplet = held_in(&along.body, &mut held, &mut around)?;
            extend(&mut range.lower, held.lower);
            extend(&mut range.upper, held.upper);
            walks.extend(held.walk);
        }
        let body = self.nodes(rest, parts)?;
        let whole = range.lower.len() == 1 && range.upper.len() == 1;
        let block = match walks.as_slice() {
            [] => vec![each(index.clone(), range, body)],
            [(only, tests)] if whole && only.end.is_none() => {
                let inner = match only.point() {
                    Some(at) => {
                        let bind = Node::Let { var: index.clone(), value: at.clone() };
                        std::iter::once(bind).chain(body).collect()
                    }
                    None => vec![each(index.clone(), only.region.clone(), body)],
                };
                vec![each(only.var.clone(), only.range.clone(), tested(inner, tests))]
            }
            walks if walks.iter().any(|(_, tests)| !tests.is_empty()) => {
                return Err(not_lowered("its steps are tested"));
            }
            walks => {
                let walks = walks.iter().map(|(walk, _)| walk.clone()).collect();
                vec![Node::Step(Box::new(Step { index: index.clone(), range, walks, body }))]
            }
        };
        Ok(wrapped(around, block))
    }

    /// What is done where all indices are known.
    fn leaf(&mut self, parts: &[Part]) -> Result<Block> {
        for part in parts {
            match &part.looplet {
                Looplet::Element { array, index } => {
                    let place = Place { array: array.clone(), index: index.clone() };
                    self.places.push((part.operand, place));
                }
                Looplet::Search(_) => {
                    return Err(searches(&self.space.operands[part.operand].label));
                }
                other => {
                    return Err(Diagnostic::defect(format!("no element is left of\n{other}")));
                }
            }
        }
        let update = update_of(self.space, &self.places);
        Ok(vec![Node::Update(Box::new(update))])
    }
}

fn each(var: Name, range: Range, body: Block) -> Node {
    let (parallel, setup, skip) = (None, Vec::new(), None);
    Node::For(Box::new(Loop { var, range, parallel, setup, skip, body }))
}

/// What stands around what is left of a looplet.
enum Around {
    Let(Name, Affine),
    If(Vec<Formula>),
}

/// A looplet without the values that are computed and tested before it.
fn opened(looplet: &Looplet, around: &mut Vec<Around>) -> Looplet {
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

fn wrapped(around: Vec<Around>, inner: Block) -> Block {
    around.into_iter().rev().fold(inner, |inner, around| match around {
        Around::Let(var, value) => std::iter::once(Node::Let { var, value }).chain(inner).collect(),
        Around::If(tests) => tested(inner, &tests),
    })
}

/// A block where tests hold.
fn tested(body: Block, tests: &[Formula]) -> Block {
    if tests.is_empty() {
        return body;
    }
    let (mut constraints, mut restrictions) = (Vec::new(), Vec::new());
    for test in tests {
        match test {
            Formula::Constraint(c) => constraints.push(c.clone()),
            other => restrictions.push(other.clone()),
        }
    }
    vec![Node::If { tests: constraints, restrictions, body }]
}

/// Where a looplet along an index holds something, and what.
fn held_in(looplet: &Looplet, held: &mut Held, around: &mut Vec<Around>) -> Result<Looplet> {
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
    let Stepper { var, end, range, tests, begin, stop, body } = stepper;
    let Some(Stop::Least(stop)) = stop else {
        return Err(not_lowered("its steps have no ends of their own"));
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
    held.walk = Some((Regions { var, end, range, region }, tests.clone()));
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

/// Further ends, each once.
fn extend(ends: &mut Vec<Affine>, more: Vec<Affine>) {
    for e in more {
        if !ends.contains(&e) {
            ends.push(e);
        }
    }
}

fn searches(what: &str) -> Box<Diagnostic> {
    not_lowered("a position would be searched for in no order")
        .note(format!("it is that of `{what}`"))
}

fn not_lowered(why: &str) -> Box<Diagnostic> {
    Diagnostic::new(Code::Space, format!("this is not co-iterated by looplets: {why}")).help(
        "leave `--coiterate looplets` out, store it in another layout, or choose another `--order`",
    )
}
