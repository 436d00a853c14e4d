//! A piece of an operand that is walked by its looplets: where it holds something along one index after the other.

use super::held::{Around, Held, held_in, not_lowered, opened, searches, without_ends};
use super::tree::{Place, Regions};
use crate::diagnostic::{Diagnostic, Result};
use crate::formula::{Affine, Constraint, Formula, Name};
use crate::iterspace::Space;
use crate::looplets::{Derived, Looplet, derive_operand};
use crate::prover::Prover;
use crate::scan::Range;

/// A piece of an operand, and what is left of its looplets.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub operand: usize,
    pub piece: usize,
    /// Where it holds nothing, something may be computed all the same.
    pub optional: bool,
    pub looplet: Looplet,
    /// Its walks so far, where something may count though they hold nothing.
    pub walks: Vec<Name>,
    /// What is computed and tested before what is left, if it is optional.
    pub before: Vec<Around>,
}

/// The operands that are read.
pub(super) fn read(space: &Space) -> impl Iterator<Item = usize> {
    space.stored.iter().chain(&space.lookups).copied().filter(|&k| !space.writes(k))
}

/// The parts of an operand that is read, one for each of its pieces.
pub(super) fn parts_of(
    space: &Space,
    k: usize,
    order: &[Name],
    prover: &mut dyn Prover,
) -> Result<Vec<Part>> {
    if space.stored.contains(&k) {
        let looplet = in_order(derive_operand(space, k, order, prover)?, order)?;
        return Ok(vec![Part::new((k, 0), false, looplet)]);
    }
    let pieces = space.operands[k].pieces.len();
    let optional = pieces != 1 || !space.rest.needs(&k);
    let part = |piece| {
        let own = space.of_lookup(k, piece, space.constraints.clone());
        let looplet = in_order(derive_operand(&own, k, order, prover)?, order)?;
        Ok(Part::new((k, piece), optional, looplet))
    };
    (0..pieces).map(part).collect()
}

/// How the parts of an operand can be walked in this order: `true` if nothing else may be walked along its indices.
///
/// # Errors
/// [`Code::Space`] with the reason if they cannot.
pub(super) fn walk_alone(space: &Space, parts: &[Part], order: &[Name]) -> Result<bool> {
    let mut alone = false;
    for part in parts {
        let mut part = part.clone();
        for index in order {
            part.looplet = opened(&part.looplet, &mut Vec::new());
            let own = match &part.looplet {
                Looplet::Along(along) if along.index == *index => along.body.clone(),
                _ => continue,
            };
            let mut held = Held::default();
            part.looplet = held_in(&own, &mut held, &mut Vec::new())?;
            alone |= !held.steps.is_empty();
        }
        part.looplet = opened(&part.looplet, &mut Vec::new());
        if part.looplet != Looplet::Fill {
            place(space, &part)?;
        }
    }
    Ok(alone)
}

/// The looplets of an operand that is stored in the order of the indices.
fn in_order(derived: Derived, order: &[Name]) -> Result<Looplet> {
    let own: Vec<&Name> = order.iter().filter(|index| derived.indices.contains(index)).collect();
    match derived.indices.iter().eq(own) {
        true => Ok(derived.looplet),
        false => Err(not_lowered("an operand is stored in another order of the indices")),
    }
}

impl Part {
    fn new((operand, piece): (usize, usize), optional: bool, looplet: Looplet) -> Part {
        Part { operand, piece, optional, looplet, walks: Vec::new(), before: Vec::new() }
    }

    /// Its walk along an index, and what stands around all that follows. What can only be computed where it holds
    /// something stays with it.
    pub fn hold(
        &mut self,
        along: &Looplet,
        (space, all): (&Space, &Range),
    ) -> Result<(Held, Vec<Around>)> {
        let mut around = Vec::new();
        let mut held = Held::default();
        self.looplet = held_in(along, &mut held, &mut around)?;
        if !self.optional {
            return Ok((held, around));
        }
        if !held.steps.is_empty() {
            return Err(without_ends());
        }
        let around = self.keep(around, space);
        if held.is_whole() {
            return Ok((held, around));
        }
        if let Some((walk, _)) = &mut held.walk {
            walk.rises &= !held.upper.iter().any(|end| end.mentions(&walk.var));
            walk.is_sought &= walk.rises;
        }
        let (mut regions, mut tests) = held.walk.unwrap_or_else(|| (self.once(space), Vec::new()));
        extend(&mut regions.region.lower, held.lower);
        extend(&mut regions.region.upper, held.upper);
        let Range { lower, upper } = &mut regions.region;
        if lower.is_empty() {
            lower.extend(all.lower.iter().cloned());
        }
        if upper.is_empty() {
            upper.extend(all.upper.iter().cloned());
        }
        // A region says by itself where it is: what is computed before it stands in it.
        let mut known: Vec<(Name, Affine)> = Vec::new();
        for before in std::mem::take(&mut self.before) {
            match before {
                Around::If(own) => tests.extend(own),
                Around::Let(var, value) => {
                    let value = value.substitute(&|n| value_of(&known, n));
                    known.push((var.clone(), value.clone()));
                    self.before.push(Around::Let(var, value));
                }
            }
        }
        let known = |name: &Name| value_of(&known, name);
        let Regions { range, tests: own, region, .. } = &mut regions;
        let ends = [&mut range.lower, &mut range.upper, &mut region.lower, &mut region.upper];
        ends.into_iter().flatten().for_each(|e| *e = e.substitute(&known));
        own.iter_mut().for_each(|test| *test = test.substitute(&known));
        tests.iter_mut().for_each(|test| *test = test.substitute(&known));
        regions.within = self.walks.clone();
        Ok((Held { walk: Some((regions, tests)), ..Held::default() }, around))
    }

    /// Keeps what can only be computed where it holds something, and gives the rest. What it says of an index is
    /// so where it holds something, and asked there.
    pub fn keep(&mut self, around: Vec<Around>, space: &Space) -> Vec<Around> {
        let walks = &self.walks;
        let asked = |around: Around| match around {
            Around::Let(var, value) if space.indices.contains(&var) => {
                Around::If(vec![Formula::Constraint(Constraint::eq(Affine::var(var), value))])
            }
            other => other,
        };
        let (everywhere, own) = around.into_iter().map(asked).partition(|a| a.is_everywhere(walks));
        self.before.extend(own);
        everywhere
    }

    /// One region, that of a walk of a single position.
    fn once(&self, space: &Space) -> Regions {
        let number = if self.piece == 0 { String::new() } else { self.piece.to_string() };
        let wish = format!("once{number}_{}", space.operands[self.operand].label);
        let mut names = space.names.clone();
        let mut var = names.fresh(&wish);
        while self.walks.contains(&var) {
            var = names.fresh(&wish);
        }
        Regions {
            var,
            end: None,
            range: Range { lower: vec![Affine::zero()], upper: vec![Affine::constant(1)] },
            tests: Vec::new(),
            within: Vec::new(),
            region: Range { lower: Vec::new(), upper: Vec::new() },
            rises: true,
            is_sought: false,
        }
    }
}

fn value_of(known: &[(Name, Affine)], name: &Name) -> Option<Affine> {
    known.iter().find(|(var, _)| var == name).map(|(_, value)| value.clone())
}

/// Where a part is stored, all indices being known.
pub(super) fn place(space: &Space, part: &Part) -> Result<Place> {
    match &part.looplet {
        Looplet::Element { array, index } => {
            Ok(Place { array: array.clone(), index: index.clone() })
        }
        Looplet::Search(_) => Err(searches(&space.operands[part.operand].label)),
        other => Err(Diagnostic::defect(format!("no element is left of\n{other}"))),
    }
}

/// Further ends, each once.
pub(super) fn extend(ends: &mut Vec<Affine>, more: Vec<Affine>) {
    for e in more {
        if !ends.contains(&e) {
            ends.push(e);
        }
    }
}
