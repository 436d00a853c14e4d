//! What two tensors have in common: of a sample of the entries of one, the share at whose coordinates the other stores
//! something, how often that turns from entry to entry, and the share that is apart from the entry before it by something
//! that the other stores. And the share that comes next to an entry a little before: what goes with it is in the cache.
//! What co-iteration costs depends on it, and sizes do not tell.
//!
//! The relations are interpreted as they stand. A few entries are taken behind each of some places of the first
//! position; each is looked for with its coordinates given, which the relation turns into positions as far as it can;
//! what is left to search is bisected if it seems to be in order.

use std::ops::ControlFlow;

use super::points::{Points, Scope, Stop};
use super::tensor::Tensor;
use super::unpack::variables;
use crate::diagnostic::Result;
use crate::formula::{Affine, Constraint, Name, Relop};
use crate::layout::visit::{self, Step};

/// Entries are taken behind so many places, and so many behind each, of which the first are looked for in other tensors.
const PLACES: i64 = 24;
const BEHIND: usize = 24;
const LOOKED_FOR: usize = 6;
/// What goes with coordinates that are no more than this apart is in one line of the cache, or in two.
const BESIDE: u64 = 16;
/// Loops that go round more often are given up: to take the entries of a place, and to look for one.
const ROUNDS_TO_TAKE: u64 = 256;
const ROUNDS_TO_FIND: u64 = 1024;
/// Fewer entries tell nothing.
const LEAST: usize = 8;

/// Where another tensor stores something at the entries of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Met {
    /// The share of the entries where it does.
    pub share: f64,
    /// How often it does at one of two entries that follow each other, by how often it would if it did at random; at
    /// most 1.
    pub turns: f64,
}

/// Some entries of a tensor.
pub(crate) struct Sample {
    /// The coordinates of each.
    points: Vec<Vec<i64>>,
    /// How many come between its place and each.
    ranks: Vec<usize>,
}

impl Sample {
    /// None of a tensor whose arrays say nothing of where its entries are.
    pub fn of(tensor: &Tensor) -> Sample {
        sample(tensor).unwrap_or(Sample { points: Vec::new(), ranks: Vec::new() })
    }

    /// Where `other` stores something. Coordinate `c` of `other` is coordinate `from[c]` of the entries. `None` if there
    /// are few, or if it takes long to say of more than a tenth of them: those that are there are found sooner than
    /// others are not.
    pub fn met(&self, other: &Tensor, from: &[usize]) -> Option<Met> {
        let mut lookup = Lookup::new(other).ok()?;
        let (mut known, mut there, mut pairs, mut turns) = (0, 0, 0, 0);
        let mut last = None;
        let most = self.looked_for().count();
        for (k, (point, follows)) in self.looked_for().enumerate() {
            let at: Vec<i64> = from.iter().map(|c| point[*c]).collect();
            let found = lookup.stores(&at).ok()?;
            match found {
                Some(found) => {
                    known += 1;
                    there += usize::from(found);
                }
                None if 10 * (k + 1 - known) > most => return None,
                None => {}
            }
            if let (true, Some(before), Some(now)) = (follows, last, found) {
                pairs += 1;
                turns += usize::from(before != now);
            }
            last = found;
        }
        if known < LEAST {
            return None;
        }
        let share = there as f64 / known as f64;
        // Some of those that are not seen may be.
        let at_random = pairs as f64 * 2.0 * share * (1.0 - share);
        Some(Met { share, turns: ((turns as f64 + 2.0) / (at_random + 2.0)).min(1.0) })
    }

    /// The share of the entries that are in the same row as the one before and, as far as its mean density tells, apart
    /// from it by something that `other` stores. `None` if few are in one row.
    pub fn apart(&self, other: &Tensor, from: &[usize]) -> Option<f64> {
        let places: f64 = other.dims().iter().map(|extent| *extent as f64).product();
        let density = other.values().len() as f64 / places.max(1.0);
        let all: Vec<(&Vec<i64>, bool)> = self.looked_for().collect();
        let pairs = all.windows(2).filter(|pair| pair[1].1).map(|pair| [pair[0].0, pair[1].0]);
        let gaps = pairs.filter_map(|pair| {
            let mut changed = (0..pair[0].len()).filter(|c| pair[0][*c] != pair[1][*c]);
            let (coordinate, others) = (changed.next()?, changed.next());
            let in_row = others.is_none() && from.contains(&coordinate);
            in_row.then(|| pair[0][coordinate].abs_diff(pair[1][coordinate]) as f64)
        });
        let apart: Vec<f64> = gaps.map(|gap| 1.0 - (-density * gap).exp()).collect();
        (apart.len() >= LEAST).then(|| apart.iter().sum::<f64>() / apart.len() as f64)
    }

    /// The share of the entries that have a coordinate beside that of an entry a little before, in its row or in another
    /// one. `None` if few are known.
    pub fn beside(&self, coordinate: usize) -> Option<f64> {
        let (mut known, mut beside) = (0, 0);
        let at = |k: usize| self.points[k][coordinate];
        for (k, &rank) in self.ranks.iter().enumerate().filter(|(_, rank)| **rank >= BEHIND / 2) {
            known += 1;
            let found = (k - rank..k).any(|before| at(k).abs_diff(at(before)) <= BESIDE);
            beside += usize::from(found);
        }
        (known >= LEAST).then(|| beside as f64 / known as f64)
    }

    /// Those that are looked for in other tensors, and whether each comes right behind the one before.
    fn looked_for(&self) -> impl Iterator<Item = (&Vec<i64>, bool)> {
        let all = self.points.iter().zip(&self.ranks).filter(|(_, rank)| **rank < LOOKED_FOR);
        all.map(|(point, rank)| (point, *rank > 0))
    }
}

fn sample(tensor: &Tensor) -> Result<Sample> {
    let layout = tensor.layout();
    let scope = tensor.scope()?;
    let variables = variables(layout);
    let first = layout.relation.positions.len();
    let mut out = Sample { points: Vec::new(), ranks: Vec::new() };
    for piece in &layout.relation.pieces {
        let mut constraints = piece.clone();
        constraints.extend(layout.within_extents());
        let Ok(steps) = visit::steps(&variables, &constraints) else { continue };
        let Some((position, extent)) = outermost(&scope, &steps)? else { continue };
        let mut last = None;
        for place in 0..PLACES {
            let start = i64::try_from(i128::from(place) * i128::from(extent) / i128::from(PLACES));
            let start = start.unwrap_or(0);
            if last.replace(start) == Some(start) {
                continue;
            }
            let mut behind = constraints.clone();
            let affine = Affine::var(position.clone()) - Affine::constant(start);
            behind.push(Constraint { affine, relop: Relop::Ge });
            let Ok(steps) = visit::steps(&variables, &behind) else { continue };
            let points = Points::new(&scope, &variables, &steps)?;
            let mut taken = 0;
            let mut take = |point: &[i64]| {
                out.points.push(point[first..].to_vec());
                out.ranks.push(taken);
                taken += 1;
                if taken < BEHIND { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            // What is taken before a fault or an end is there.
            let _ended = points.visit_some(&scope, ROUNDS_TO_TAKE, &mut take);
        }
    }
    Ok(out)
}

/// The variable of the outermost loop, and where it ends.
fn outermost(scope: &Scope<'_>, steps: &[Step]) -> Result<Option<(Name, i64)>> {
    let Some(Step::Loop { variable, upper, .. }) =
        steps.iter().find(|step| matches!(step, Step::Loop { .. }))
    else {
        return Ok(None);
    };
    let mut extent = i64::MAX;
    for bound in upper {
        let rest = scope.compile(&bound.rest, &[])?;
        let Ok(rest) = scope.eval(&rest, &[]) else { return Ok(None) };
        extent = extent.min(rest.div_euclid(bound.coefficient.saturating_neg()).saturating_add(1));
    }
    Ok((extent < i64::MAX).then(|| (variable.clone(), extent.max(0))))
}

/// A tensor in which entries are looked for.
struct Lookup<'a> {
    scope: Scope<'a>,
    positions: &'a [Name],
    coordinates: &'a [Name],
    /// How positions are found from coordinates, piece by piece.
    pieces: Vec<Vec<Step>>,
}

impl<'a> Lookup<'a> {
    fn new(tensor: &'a Tensor) -> Result<Lookup<'a>> {
        let relation = &tensor.layout().relation;
        let steps = |piece: &Vec<Constraint>| visit::steps(&relation.positions, piece).ok();
        let pieces: Option<Vec<Vec<Step>>> = relation.pieces.iter().map(steps).collect();
        Ok(Lookup {
            scope: tensor.scope()?,
            positions: &relation.positions,
            coordinates: &relation.coordinates,
            pieces: pieces.unwrap_or_default(),
        })
    }

    /// Whether something is stored at these coordinates, if that is soon said.
    fn stores(&mut self, at: &[i64]) -> Result<Option<bool>> {
        if self.pieces.is_empty() {
            return Ok(None);
        }
        for (name, value) in self.coordinates.iter().zip(at) {
            self.scope.sizes.insert(name.clone(), *value);
        }
        for steps in &self.pieces {
            let points = Points::new(&self.scope, self.positions, steps)?.bisecting();
            let mut found = |_: &[i64]| ControlFlow::Break(());
            match points.visit_some(&self.scope, ROUNDS_TO_FIND, &mut found) {
                Ok(()) => {}
                Err(Stop::Asked(())) => return Ok(Some(true)),
                Err(Stop::Rounds | Stop::Fault(..)) => return Ok(None),
            }
        }
        Ok(Some(false))
    }
}
