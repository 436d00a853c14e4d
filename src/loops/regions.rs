//! From the looplets of a statement's operands to nodes.
//!
//! Along an index, an operand holds something in all of it, in a range of it, or in a region for each position of
//! a stepper. Where several do, their regions are walked at once, and the body is of each index that counts: in a
//! product where all regions overlap, a run with a run, a block with a point; in a sum where one of them is, and
//! there each operand tells by its region whether it is stored. Code grows with the number of operands, not with that
//! of the combinations of their phases (Finch §4.3).
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

use super::held::{Around, Steps, not_lowered, opened, without_ends};
use super::leaf::{leaf, looked_up, lookup_name, stored_at};
use super::outermost::Outermost;
use super::piece::{Part, extend, parts_of, place, read};
use super::tree::{Block, Loop, Node, Regions, Step, Take};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Atom, Constraint, Formula, Name};
use crate::iterspace::Space;
use crate::layout::checks::admits_negative;
use crate::looplets::{Looplet, of_operand};
use crate::operators::Region;
use crate::prover::Prover;
use crate::scan::Range;

/// How the points of a space are visited by the looplets of its operands: in the order of `order`, each once.
#[derive(Clone, Debug)]
pub struct ByRegions {
    pub(super) order: Vec<Name>,
    parts: Vec<Part>,
    how: How,
    /// The operands that are looked up where their indices are known.
    pub(super) sought: Vec<usize>,
    /// What operands do not say.
    tests: Vec<Formula>,
    pub(super) outermost: Outermost,
}

/// How regions are walked at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Whatever they are; the first behind an index may be sought.
    AsRegions,
    /// One after another, and each is compared with the others: a merge for each index, of which those of the second are
    /// inside the matches of the first, as for the levels of sparse formats (TACO §5). None is leapt over.
    InSteps,
}

impl ByRegions {
    /// The looplets of the operands of a space, whose indices come in this order.
    ///
    /// # Errors
    /// [`Code::Space`] if an operand has no looplets that are walked.
    pub(super) fn of_all(
        space: &Space,
        order: &[Name],
        how: How,
        prover: &mut dyn Prover,
    ) -> Result<ByRegions> {
        let mut parts = Vec::new();
        for k in read(space) {
            parts.extend(parts_of(space, k, order, prover)?);
        }
        ByRegions::new(space, order, how, (parts, Vec::new()))
    }

    /// Of the parts of the operands that are walked; others are `sought` where their indices are known.
    ///
    /// # Errors
    /// [`Code::Space`] if they cannot be walked together.
    pub(super) fn new(
        space: &Space,
        order: &[Name],
        how: How,
        (parts, sought): (Vec<Part>, Vec<usize>),
    ) -> Result<ByRegions> {
        if !space.output().positions.is_empty() {
            return Err(not_lowered("the result has positions of its own"));
        }
        let (order, tests) = (order.to_vec(), demanded(space));
        let outermost = Outermost::Nothing;
        let mut regions = ByRegions { order, parts, how, sought, tests, outermost };
        regions.outermost = regions.lower(space, &[])?.1;
        Ok(regions)
    }

    /// Whether they are merged, one after another.
    pub fn are_merged(&self) -> bool {
        self.how == How::InSteps
    }

    /// The operands that are walked.
    pub fn walked(&self) -> impl Iterator<Item = usize> {
        self.parts.iter().filter(|part| part.piece == 0).map(|part| part.operand)
    }

    /// The nodes that visit the points. `lookups` are those of what is sought, by the number of indices that are known.
    pub(super) fn nodes(&self, space: &Space, lookups: &[Block]) -> Block {
        let lowered = self.lower(space, lookups);
        lowered.expect("these looplets were lowered when they were derived").0
    }

    fn lower(&self, space: &Space, lookups: &[Block]) -> Result<(Block, Outermost)> {
        let &ByRegions { ref order, ref parts, how, ref sought, ref tests, .. } = self;
        let (around, outermost) = (Vec::new(), Outermost::Nothing);
        let mut lowering =
            Lowering { space, order, how, sought, lookups, tests, around, outermost };
        let nodes = lowering.nodes(order, parts.clone())?;
        Ok((nodes, lowering.outermost))
    }
}

/// What holds at the points of a space, but for what the operands and the extents of its indices say.
fn demanded(space: &Space) -> Vec<Formula> {
    let mut known: Vec<Constraint> = Vec::new();
    for &k in space.stored.iter().filter(|&&k| !space.writes(k)) {
        known.extend(of_operand(space, k, space.pieces[k]).constraints);
    }
    known.extend(space.indices.iter().flat_map(|index| space.within_extent(index)));
    let others = space.constraints.iter().filter(|c| !known.contains(c));
    others.cloned().map(Formula::Constraint).chain(space.guards.iter().cloned()).collect()
}

struct Lowering<'a> {
    space: &'a Space,
    order: &'a [Name],
    how: How,
    sought: &'a [usize],
    /// Those of what is sought, by the number of indices that are known.
    lookups: &'a [Block],
    tests: &'a [Formula],
    /// What the loop around binds: its index, the positions there, and what is computed from them.
    around: Vec<Name>,
    outermost: Outermost,
}

impl Lowering<'_> {
    fn nodes(&mut self, order: &[Name], mut parts: Vec<Part>) -> Result<Block> {
        let mut around = Vec::new();
        for part in &mut parts {
            let mut own = Vec::new();
            part.looplet = opened(&part.looplet, &mut own);
            around.extend(match part.optional {
                true => part.keep(own, self.space),
                false => own,
            });
        }
        if parts.iter().any(|part| !part.optional && part.looplet == Looplet::Fill) {
            return Ok(Vec::new());
        }
        for own in &around {
            if let Around::Let(var, value) = own
                && self.around.iter().any(|name| value.mentions(name))
            {
                self.around.push(var.clone());
            }
        }
        let inner = match order.split_first() {
            None => tested(self.leaf(&parts)?, self.tests),
            Some((index, rest)) => self.along(index, rest, parts)?,
        };
        let known = self.order.len() - order.len();
        let lookups = self.lookups.get(known).into_iter().flatten().cloned();
        Ok(wrapped(around, lookups.chain(inner).collect()))
    }

    fn along(&mut self, index: &Name, rest: &[Name], mut parts: Vec<Part>) -> Result<Block> {
        let extent = Affine::var(self.space.extents[index].clone());
        let all = Range { lower: vec![Affine::zero()], upper: vec![extent] };
        let mut range = all.clone();
        let mut walks: Vec<(Regions, Vec<Formula>)> = Vec::new();
        let mut steps: Vec<Steps> = Vec::new();
        let mut around = Vec::new();
        // Where each part holds the index.
        let mut holds = Vec::new();
        for part in &mut parts {
            let own = match &part.looplet {
                Looplet::Along(along) if along.index == *index => along.body.clone(),
                Looplet::Fill => {
                    holds.push(Region::Nothing);
                    continue;
                }
                _ => {
                    holds.push(Region::All);
                    continue;
                }
            };
            let (held, own) = part.hold(&own, (self.space, &all))?;
            around.extend(own);
            extend(&mut range.lower, held.lower);
            extend(&mut range.upper, held.upper);
            steps.extend(held.steps);
            holds.push(match (&part.looplet, held.walk) {
                (Looplet::Fill, _) => Region::Nothing,
                (_, None) => Region::All,
                (_, Some(mut walk)) => {
                    let var = walk.0.var.clone();
                    let gallops = self.space.operands[part.operand].gallops;
                    let is_longer = self.how == How::AsRegions && self.begins_anew(&walk.0);
                    walk.0.is_sought &= gallops || is_longer;
                    if walks.iter().any(|(other, _)| other.var == var) {
                        return Err(not_lowered("two of its walks have one name"));
                    }
                    walks.push(walk);
                    Region::Stored(var)
                }
            });
        }
        let counts = self.counts(&parts, &holds);
        if counts == Region::Nothing {
            return Ok(Vec::new());
        }
        if counts == Region::All && range == all && self.seeks_all_along(index, &parts) {
            let why = format!("it would be searched for at every `{index}`");
            return Err(Diagnostic::new(Code::Space, why));
        }
        for (part, holds) in parts.iter_mut().zip(holds) {
            if let (true, Region::Stored(var)) = (part.optional, holds)
                && !counts.needs(&var)
            {
                part.walks.push(var);
            }
        }
        let here = walks.iter().map(|(walk, _)| walk.var.clone());
        let here = [index.clone()].into_iter().chain(here).collect();
        let around_here = std::mem::replace(&mut self.around, here);
        let body = self.nodes(rest, parts)?;
        self.around = around_here;
        let whole = range.lower.len() == 1 && range.upper.len() == 1;
        let is_loop = |only: &Regions| {
            whole && only.end.is_none() && only.within.is_empty() && counts.needs(&only.var)
        };
        let (block, visits) = match walks.as_slice() {
            [] => (vec![each(index.clone(), range, body)], Outermost::Loop(index.clone())),
            [(only, tests)] if is_loop(only) => {
                let inner = match only.point() {
                    Some(at) => {
                        let bind = Node::Let { var: index.clone(), value: at.clone() };
                        std::iter::once(bind).chain(body).collect()
                    }
                    None => {
                        let mut region = only.region.clone();
                        if !region.lower.iter().any(|a| is_natural(self.space, a)) {
                            extend(&mut region.lower, range.lower.clone());
                        }
                        vec![each(index.clone(), region, body)]
                    }
                };
                let visits = match steps.as_slice() {
                    [] => Outermost::Loop(only.var.clone()),
                    _ => Outermost::Steps(index.clone()),
                };
                let walk = each(only.var.clone(), only.range.clone(), tested(inner, tests));
                let walks = steps.into_iter().rev().fold(vec![walk], |inner, step| {
                    let inner = tested(wrapped(step.inside, inner), &step.tests);
                    vec![each(step.var, step.range, inner)]
                });
                (walks, visits)
            }
            _ if !steps.is_empty() => return Err(without_ends()),
            _ => {
                let walks = walks.into_iter().map(|(walk, tests)| tested_walk(walk, tests));
                let walks = walks.collect::<Result<_>>()?;
                let mut step = Step {
                    index: index.clone(),
                    range,
                    parallel: None,
                    setup: Vec::new(),
                    walks,
                    counts,
                    body,
                };
                let is_overlap = step.is_overlap();
                step.walks.iter_mut().for_each(|walk| walk.is_sought &= is_overlap);
                let visits = match step.rises() {
                    true => Outermost::Rising(index.clone()),
                    false => Outermost::Steps(index.clone()),
                };
                (vec![Node::Step(Box::new(step))], visits)
            }
        };
        if rest.len() + 1 == self.order.len() {
            self.outermost = visits;
        }
        Ok(wrapped(around, block))
    }

    /// Whether a walk comes to the same positions again and again, from the first one on: it is longer than what each
    /// of its rounds needs of it.
    fn begins_anew(&self, walk: &Regions) -> bool {
        let ends = || walk.range.lower.iter().chain(&walk.range.upper);
        !self.around.is_empty() && !ends().any(|e| self.around.iter().any(|n| e.mentions(n)))
    }

    /// Whether something with this index is sought, and no other operand has all of its indices: there may be many more
    /// places to look at than anything stores.
    fn seeks_all_along(&self, index: &Name, parts: &[Part]) -> bool {
        let has = |k: usize, i: &Name| {
            self.space.operands[k].subscripts.iter().any(|subscript| subscript.mentions(i))
        };
        self.sought.iter().filter(|&&k| has(k, index)).any(|&k| {
            let own = || self.order.iter().filter(|i| has(k, i));
            !parts.iter().any(|part| own().all(|i| has(part.operand, i)))
        })
    }

    /// Where anything counts, by the walks along an index that hold it. What holds nothing there may hold something
    /// elsewhere, so that it never counts where an operand is not stored.
    fn counts(&self, parts: &[Part], holds: &[Region<Name>]) -> Region<Name> {
        let of = |k: usize| {
            let own = parts.iter().zip(holds).filter(move |(part, _)| part.operand == k);
            own.map(|(_, holds)| holds.clone())
        };
        let stored = self.space.stored.iter().flat_map(|&k| of(k));
        let rest = may_hold(&self.space.rest, &|k| match self.sought.contains(&k) {
            true => Region::All,
            false => Region::any_of(of(k)),
        });
        Region::all_of(stored.chain([rest]))
    }

    /// What is done where all indices are known.
    fn leaf(&mut self, parts: &[Part]) -> Result<Block> {
        let mut out = Vec::new();
        for &k in self.space.lookups.iter().filter(|k| !self.sought.contains(k)) {
            let own: Vec<&Part> = parts.iter().filter(|part| part.operand == k).collect();
            let mut body = Vec::new();
            for part in &own {
                if part.looplet == Looplet::Fill {
                    continue;
                }
                let name = lookup_name(self.space, k);
                let take = Take { name, place: place(self.space, part)?, sums: false };
                let inner = wrapped(part.before.clone(), vec![Node::Take(Box::new(take))]);
                let inner = match part.walks.as_slice() {
                    [] => inner,
                    walks => vec![Node::Held { walks: walks.to_vec(), body: inner }],
                };
                match own.len() {
                    1 => body = inner,
                    _ => body.push(Node::Piece(inner)),
                }
            }
            out.push(Node::Lookup(Box::new(looked_up(self.space, k, body))));
        }
        let mut places = Vec::new();
        for part in parts.iter().filter(|part| self.space.stored.contains(&part.operand)) {
            places.push((part.operand, place(self.space, part)?));
        }
        let at = |k: usize| {
            let own = places.iter().find(|(other, _)| *other == k);
            own.map_or_else(|| stored_at(&self.space.operands[k]), |(_, place)| place.clone())
        };
        out.extend(leaf(self.space, &at));
        Ok(out)
    }
}

/// Where a region may hold, by where operands may be stored.
fn may_hold(region: &Region, stored: &dyn Fn(usize) -> Region<Name>) -> Region<Name> {
    match region {
        Region::All | Region::Not(_) => Region::All,
        Region::Nothing => Region::Nothing,
        Region::Stored(k) => stored(*k),
        Region::Both(parts) => Region::all_of(parts.iter().map(|part| may_hold(part, stored))),
        Region::Either(parts) => Region::any_of(parts.iter().map(|part| may_hold(part, stored))),
    }
}

/// Whether a bound is a sum of natural numbers, at first sight: then no region begins before the index does.
fn is_natural(space: &Space, bound: &Affine) -> bool {
    let admitted = |name: &Name| space.operands.iter().find_map(|o| o.arrays.get(name));
    bound.offset() >= 0
        && bound.terms().iter().all(|(atom, factor)| {
            let natural = match atom {
                Atom::Var(_) => true,
                Atom::Call(call) => admitted(&call.array).is_some_and(|a| !admits_negative(a)),
                _ => false,
            };
            natural && *factor > 0
        })
}

fn tested_walk(mut walk: Regions, tests: Vec<Formula>) -> Result<Regions> {
    for test in tests {
        match test {
            Formula::Constraint(c) => walk.tests.push(c),
            _ => return Err(not_lowered("its steps are tested by more than inequalities")),
        }
    }
    Ok(walk)
}

fn each(var: Name, range: Range, body: Block) -> Node {
    let (parallel, setup, skip) = (None, Vec::new(), None);
    Node::For(Box::new(Loop { var, range, parallel, setup, skip, body }))
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
