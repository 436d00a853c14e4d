//! From the scanned entries of one access to looplets.
//!
//! The nest is read from the outside in. Its levels up to the one that gives an index decide how the tensor is
//! stored along it:
//!
//! | levels | looplet |
//! |---|---|
//! | `for j`, and what follows depends on it | lookup |
//! | `for j`, and nothing depends on it | run |
//! | `for p; let j = p + e` | lookup at the position `j - e` |
//! | `for p; let j = crd(p)`, proved to rise | stepper of spikes |
//! | the same, proved not to fall | stepper over groups of positions |
//! | `for p` around one of the above, proved to rise | stepper of what is inside |
//! | `for p` around one of the above, in no order | lookup that searches |
//! | `for p` behind all indices | search of what adds up there |
//! | tests | switch |
//!
//! Coordinates outside of what a region can hold are a run of fill before or behind it, unless Z3 proves that there
//! are none.

use std::sync::Arc;

use super::alone::{of_operand, spaces};
use super::ends::{Ends, are_at_most, formulas, is_not_empty};
use super::make::{at_value, knowing, run_of_fill, sequence, spike, stepper, steps, switch};
use super::order::Visits;
use super::region::Shape;
use super::tree::{Along, Looplet, Search, Stepper, Stop};
use crate::diagnostic::{Code, Diagnostic};
use crate::formula::{Affine, Arith, Atom, Constraint, Formula, Name};
use crate::iterspace::{Names, Operand, Space};
use crate::layout::Layout;
use crate::program::Access;
use crate::prover::Prover;
use crate::scan::{Bind, Level, Range, scan};
use crate::schedule::{Schedule, schedule};

/// What an access holds where one piece of its relation stores anything.
#[derive(Clone, Debug)]
pub struct Derived {
    /// The indices in the order in which they are walked.
    pub indices: Vec<Name>,
    pub looplet: Looplet,
    /// The names of sizes.
    pub parameters: Vec<Name>,
}

/// The looplets of an access, for each piece of its relation. `order` names indices, outermost first; without
/// it, they come as they are stored.
///
/// # Errors
/// [`Code::Space`] if the indices cannot be visited before the positions.
pub fn derive(
    access: &Access,
    layout: &Arc<Layout>,
    order: &[Name],
    prover: &mut dyn Prover,
) -> crate::diagnostic::Result<Vec<Derived>> {
    let mut out = Vec::new();
    for space in spaces(access, layout)? {
        // What is written comes first.
        let Some(&read) = space.stored.get(1) else { continue };
        out.push(match derive_operand(&space, read, order, prover) {
            Err(why) if why.code == Code::Space => {
                of_places(&space, read, order, prover)?.ok_or(why)?
            }
            derived => derived?,
        });
    }
    Ok(out)
}

/// What is in no order is searched where all indices are known, and what has one place adds up. Nothing is walked so:
/// `None` if even then something has no looplets.
fn of_places(
    space: &Space,
    operand: usize,
    order: &[Name],
    prover: &mut dyn Prover,
) -> crate::diagnostic::Result<Option<Derived>> {
    let alone = of_operand(space, operand, space.pieces[operand]);
    let mut wished: Vec<Name> =
        order.iter().filter(|index| alone.indices.contains(index)).cloned().collect();
    for dim in alone.indices.iter().chain(schedule(&alone, &wished)?.dims().iter()) {
        if !wished.contains(dim) {
            wished.push(dim.clone());
        }
    }
    let operand = &alone.operands[operand];
    Ok(in_order(&alone, operand, &schedule(&alone, &wished)?, true, prover)?.ok())
}

/// The looplets in one order of the dimensions; where several entries of a place may add up, if `adds_up`.
fn in_order(
    space: &Space,
    operand: &Operand,
    schedule: &Schedule,
    adds_up: bool,
    prover: &mut dyn Prover,
) -> crate::diagnostic::Result<Result<Derived>> {
    let nest = scan(space, schedule, prover)?;
    let mut deriver = Deriver { space, operand, names: space.names.clone(), prover, adds_up };
    let outside = Around { known: nest.guards.clone(), ..Around::default() };
    let inside = match deriver.rest(&nest.levels, &outside) {
        Ok(inside) => inside,
        Err(unordered) => return Ok(Err(unordered)),
    };
    let indices = schedule.dims().into_iter().filter(|d| space.indices.contains(d)).collect();
    let (looplet, parameters) = (switch(formulas(&nest.guards), inside), space.params());
    looplet.verify(&parameters)?;
    Ok(Ok(Derived { indices, looplet, parameters }))
}

/// The looplets of an operand of a space, by its piece there, in the names of the space.
///
/// # Errors
/// [`Code::Space`] if what is stored at one place is not one element, or in no order by which it is found.
pub fn derive_operand(
    space: &Space,
    operand: usize,
    order: &[Name],
    prover: &mut dyn Prover,
) -> crate::diagnostic::Result<Derived> {
    let alone = of_operand(space, operand, space.pieces[operand]);
    let operand = &alone.operands[operand];
    if !operand.stores_coordinates_once() {
        let layout = &operand.layout.name;
        return Err(Diagnostic::new(
            Code::Space,
            format!("`{}` has no looplets: several entries may have one place", operand.label),
        )
        .note(format!("nothing that `{layout}` declares forbids it"))
        .help("convert it to a layout that stores each place once"));
    }
    let own = order.iter().filter(|index| alone.indices.contains(index)).cloned();
    of_piece(&alone, operand, own.collect(), prover)
}

/// The looplets of one piece. Where an index comes in no order behind some positions, it is taken before them.
fn of_piece(
    space: &Space,
    operand: &Operand,
    order: Vec<Name>,
    prover: &mut dyn Prover,
) -> crate::diagnostic::Result<Derived> {
    let mut wished = order.clone();
    // An index, and how many dimensions came before it.
    let mut tried: Vec<(Name, usize)> = Vec::new();
    loop {
        let schedule = schedule(space, &wished)?;
        let found = in_order(space, operand, &schedule, false, prover)?;
        let Unordered { index, mut before, among } = match found {
            Err(unordered) => unordered,
            Ok(derived) => return Ok(derived),
        };
        let is_tried = |before: &[Name]| tried.contains(&(index.clone(), before.len()));
        while is_tried(&before) && before.pop().is_some() {}
        if is_tried(&before) {
            return Err(Diagnostic::new(
                Code::Space,
                format!("there are no looplets along `{index}`: it comes in no order"),
            )
            .note(format!("nothing proves that `{index}` rises with `{among}`, or is there once"))
            .help("declare the order of the coordinates, or choose another order of the indices"));
        }
        tried.push((index.clone(), before.len()));
        wished = before;
        let earlier = order.iter().take_while(|other| **other != index && order.contains(&index));
        let first = earlier.chain([&index]).cloned();
        let later = order.iter().cloned().chain(schedule.dims());
        for dim in first.chain(later).filter(|dim| space.indices.contains(dim)) {
            if !wished.contains(&dim) {
                wished.push(dim);
            }
        }
    }
}

/// An index that comes in no order behind some levels.
struct Unordered {
    index: Name,
    /// The dimensions before.
    before: Vec<Name>,
    /// The position behind them.
    among: Name,
}

type Result<T> = std::result::Result<T, Unordered>;

/// How some levels store an index.
struct Stored {
    shape: Shape,
    /// What must hold for anything to be there.
    tests: Vec<Formula>,
    /// What tells the coordinates in its regions, stored or not, and the loops that give them.
    facts: Vec<Formula>,
    loops: Vec<Name>,
}

/// What is around some levels.
#[derive(Clone, Default)]
struct Around {
    dims: Vec<Name>,
    loops: Vec<Name>,
    /// What tells the iterations of these loops apart.
    key: Vec<Affine>,
    known: Vec<Constraint>,
    restrictions: Vec<Formula>,
}

impl Around {
    fn with(&self, level: &Level, key: Affine) -> Around {
        let mut out = self.clone();
        out.dims.push(level.var.clone());
        out.known.extend(level.constraints());
        out.restrictions.extend(level.restrictions.iter().cloned());
        if level.is_loop() {
            out.loops.push(level.var.clone());
            out.key.push(key);
        }
        out
    }
}

struct Deriver<'a> {
    space: &'a Space,
    operand: &'a Operand,
    names: Names,
    prover: &'a mut dyn Prover,
    /// Several positions may have one place.
    adds_up: bool,
}

impl Deriver<'_> {
    /// What is stored once the levels before are passed.
    fn rest(&mut self, levels: &[Level], around: &Around) -> Result<Looplet> {
        let is_index = |level: &Level| self.space.indices.contains(&level.var);
        let Some(given) = levels.iter().position(is_index) else {
            return self.positions(levels, around);
        };
        let index = levels[given].var.clone();
        let stored = self.regions(&levels[..=given], &levels[given + 1..], around)?;
        let range = Range {
            lower: vec![Affine::zero()],
            upper: vec![Affine::var(self.space.extents[&index].clone())],
        };
        let body = switch(stored.tests, self.within_all(stored.shape, &range, around));
        Ok(Looplet::Along(Box::new(Along { index, range, body })))
    }

    /// Positions that are found where all indices are known.
    fn positions(&mut self, levels: &[Level], around: &Around) -> Result<Looplet> {
        let Some((level, inner)) = levels.split_first() else { return Ok(element(self.operand)) };
        let within = around.with(level, Affine::var(level.var.clone()));
        let found = self.positions(inner, &within)?;
        let var = level.var.clone();
        Ok(match &level.bind {
            Bind::Let(value) => {
                let body = Box::new(switch(tests(level), found));
                Looplet::Thunk { var, value: value.clone(), body }
            }
            Bind::Loop(range) => {
                let is_one = self.visits(&within, never_fail(inner)).are_unique(None, self.prover);
                if !is_one && !self.adds_up {
                    let index = self.space.indices.last().cloned();
                    return Err(unordered(around, level, &index.unwrap_or(var)));
                }
                let (range, tests) = (range.clone(), tests(level));
                Looplet::Search(Box::new(Search { var, range, tests, each: !is_one, found }))
            }
        })
    }

    /// How the last of the levels `own` is stored: its index. `inner` are the levels behind.
    fn regions(&mut self, own: &[Level], inner: &[Level], around: &Around) -> Result<Stored> {
        let (level, more) = own.split_first().expect("the level of an index is there");
        let var = level.var.clone();
        let here = Affine::var(var.clone());
        let within = around.with(level, here.clone());
        match &level.bind {
            Bind::Let(value) if more.is_empty() => {
                let facts = [Formula::eq(here, value.clone())].into_iter().chain(tests(level));
                let tests = at_value(tests(level), &var, value);
                let here = knowing(var, value, self.rest(inner, &within)?);
                let shape = Shape::Point { at: value.clone(), here };
                Ok(Stored { shape, tests, facts: facts.collect(), loops: Vec::new() })
            }
            Bind::Loop(range) if more.is_empty() => {
                let (facts, loops) = (formulas(&range.of(&here)), vec![var.clone()]);
                let body = Box::new(switch(tests(level), self.rest(inner, &within)?));
                let inside = match body.mentions(&var) {
                    true => Looplet::Lookup { index: var, body },
                    false => Looplet::Run(body),
                };
                let shape = Shape::Within { range: range.clone(), inside };
                Ok(Stored { shape, tests: Vec::new(), facts, loops })
            }
            Bind::Let(value) => {
                let computed = |body| Looplet::Thunk {
                    var: var.clone(),
                    value: value.clone(),
                    body: Box::new(body),
                };
                let mut stored = self.regions(more, inner, &within)?;
                stored.facts.push(Formula::eq(here, value.clone()));
                stored.facts.extend(tests(level));
                stored.tests = at_value([tests(level), stored.tests].concat(), &var, value);
                stored.shape = stored.shape.map(computed).with_ends_at(&var, value);
                Ok(stored)
            }
            Bind::Loop(range) => self.by_position(level, range, more, inner, around),
        }
    }

    /// A loop over positions around what gives the index.
    fn by_position(
        &mut self,
        level: &Level,
        range: &Range,
        more: &[Level],
        inner: &[Level],
        around: &Around,
    ) -> Result<Stored> {
        let (p, mut own) = (&level.var, tests(level));
        let within = around.with(level, Affine::var(p.clone()));
        let index = &more[more.len() - 1].var;
        if let Some(at) = only_lets(more)
            && own.is_empty()
            && bijection(&at, p).is_none()
        {
            let visits = self.visits(&within, never_fail(inner)).with(values(more), Vec::new());
            if !visits.rise(index, self.prover) && visits.do_not_fall(index, self.prover) {
                return self.by_groups(level, range, more, inner, around, &at);
            }
        }
        let Stored { shape, tests, facts, loops } = self.regions(more, inner, &within)?;
        own.extend(tests);
        let is_point = matches!(shape, Shape::Point { .. });
        let visits = self.visits(&within, is_point && never_fail(inner));
        let visits = visits.with(facts.clone(), loops.clone());
        let rises = visits.rise(index, self.prover);
        let mut stored_facts = formulas(&range.of(&Affine::var(p.clone())));
        stored_facts.extend(own.iter().cloned().chain(facts));
        let mut stored_loops = vec![p.clone()];
        stored_loops.extend(loops);
        let stored = |shape| Stored {
            shape,
            tests: Vec::new(),
            facts: stored_facts.clone(),
            loops: stored_loops.clone(),
        };
        Ok(match shape {
            Shape::Point { at, here } if bijection(&at, p).is_some() => {
                let (sign, offset) = bijection(&at, p).expect("it was asked for");
                let position = match sign {
                    1 => Affine::var(index.clone()) - offset.clone(),
                    _ => offset.clone() - Affine::var(index.clone()),
                };
                let shifted = |ends: &[Affine], by: i64| -> Vec<Affine> {
                    let end = |e: &Affine| match sign {
                        1 => offset.clone() + e.clone(),
                        _ => offset.clone() - e.clone() + Affine::constant(by),
                    };
                    ends.iter().map(end).collect()
                };
                let range = match sign {
                    1 => Range { lower: shifted(&range.lower, 0), upper: shifted(&range.upper, 0) },
                    _ => Range { lower: shifted(&range.upper, 1), upper: shifted(&range.lower, 1) },
                };
                let body = Looplet::Thunk {
                    var: p.clone(),
                    value: position,
                    body: Box::new(switch(own, here)),
                };
                let inside = Looplet::Lookup { index: index.clone(), body: Box::new(body) };
                let facts = formulas(&range.of(&Affine::var(index.clone())));
                let shape = Shape::Within { range, inside };
                Stored { shape, tests: Vec::new(), facts, loops: vec![index.clone()] }
            }
            Shape::Point { at, here } if rises => {
                let stop = vec![at + Affine::constant(1)];
                let rises =
                    own.is_empty() && self.ends(p, range, &around.known).stops_rise(&[], &stop);
                let steps = steps(p, range, own, Some(Stop::Least(stop)), spike(here));
                stored(stepper(Stepper { rises, ..steps }))
            }
            Shape::Within { range: region, inside } if rises => {
                let later = self.names.fresh(&format!("{p}_later"));
                if !self.ends(p, range, &around.known).lie_apart(&later, &region, &own) {
                    own.extend(formulas(&is_not_empty(&region)));
                }
                let stop = Stop::Least(region.upper.clone());
                let begins = Stop::Greatest(region.lower.clone());
                let adjacent =
                    own.is_empty() && self.ends(p, range, &around.known).are_adjacent(&region);
                let (begin, body) = match adjacent {
                    true => (Some(begins), inside),
                    false => (None, sequence([(begins, run_of_fill()), (stop.clone(), inside)])),
                };
                let rises = own.is_empty()
                    && self.ends(p, range, &around.known).stops_rise(&region.lower, &region.upper);
                let steps = steps(p, range, own, Some(stop), body);
                stored(stepper(Stepper { begin, rises, ..steps }))
            }
            Shape::Upto { regions, .. } if rises => {
                stored(stepper(steps(p, range, own, None, regions)))
            }
            shape => {
                let unique = visits.are_unique(Some(index), self.prover);
                let found = if unique { searched(level, range, own, shape, index) } else { None };
                stored(found.ok_or_else(|| unordered(around, level, index))?)
            }
        })
    }

    /// Visits of the levels around. Where what is passed is stored, all that is known of stored entries holds.
    fn visits(&self, within: &Around, are_stored: bool) -> Visits {
        let mut facts = formulas(&within.known);
        facts.extend(within.restrictions.iter().cloned());
        if are_stored {
            facts.extend(formulas(&self.space.constraints));
        }
        Visits::new(self.space, within.loops.clone(), within.key.clone(), facts)
    }

    /// Positions of which several have one coordinate, one after the other, and later ones no smaller one.
    fn by_groups(
        &mut self,
        level: &Level,
        range: &Range,
        lets: &[Level],
        inner: &[Level],
        around: &Around,
        at: &Affine,
    ) -> Result<Stored> {
        let p = &level.var;
        let first = self.names.fresh(&format!("{p}_first"));
        let end = self.names.fresh(&format!("{p}_end"));
        let index = &lets[lets.len() - 1];
        let bounds = Range {
            lower: vec![Affine::var(first.clone())],
            upper: vec![Affine::var(end.clone())],
        };
        let again = Level { bind: Bind::Loop(bounds), ..level.clone() };
        // The positions of the group are walked again, for the other indices.
        let before = &lets[..lets.len() - 1];
        let levels: Vec<Level> = [again].iter().chain(before).chain(inner).cloned().collect();
        let mut within = around.clone();
        within.key.push(Affine::var(index.var.clone()));
        within.loops.push(index.var.clone());
        let here = self.rest(&levels, &within)?;
        let at = at.rename(&|n| (n == p).then(|| first.clone()));
        let here = knowing(index.var.clone(), &at, here);
        let stop = vec![at + Affine::constant(1)];
        let groups = steps(&first, range, Vec::new(), Some(Stop::Least(stop)), spike(here));
        let shape = stepper(Stepper { end: Some(end), rises: true, ..groups });
        let mut facts = formulas(&range.of(&Affine::var(p.clone())));
        facts.extend(values(lets));
        Ok(Stored { shape, tests: Vec::new(), facts, loops: vec![p.clone()] })
    }

    fn proves_at_most(&mut self, known: &[Constraint], a: &[Affine], b: &[Affine]) -> bool {
        are_at_most((&self.space.theory, self.prover), known, a, b)
    }

    /// What is to be proved of the regions of the positions `var`.
    fn ends<'e>(
        &'e mut self,
        var: &'e Name,
        range: &'e Range,
        known: &'e [Constraint],
    ) -> Ends<'e> {
        Ends { var, range, known, theory: &self.space.theory, prover: self.prover }
    }

    /// A shape in all of an index: what is around it is fill.
    fn within_all(&mut self, shape: Shape, all: &Range, around: &Around) -> Looplet {
        let end = || Stop::Least(all.upper.clone());
        // Of an index without values nothing is asked.
        let mut known = around.known.clone();
        known.extend(all.of(&Affine::zero()));
        match shape {
            Shape::Point { at, here } => {
                let here_ends = Stop::Least(vec![at + Affine::constant(1)]);
                sequence([(here_ends, spike(here)), (end(), run_of_fill())])
            }
            Shape::Everywhere(inside) => inside,
            Shape::Within { range, inside } => {
                let mut phases = Vec::new();
                if !self.proves_at_most(&known, &range.lower, &all.lower) {
                    phases.push((Stop::Greatest(range.lower), run_of_fill()));
                }
                if self.proves_at_most(&known, &all.upper, &range.upper) {
                    phases.push((end(), inside));
                } else {
                    phases.extend([(Stop::Least(range.upper), inside), (end(), run_of_fill())]);
                }
                sequence(phases)
            }
            Shape::Upto { stop: None, regions } => regions,
            Shape::Upto { stop: Some(stop), regions } => match self.is_end(&stop, all, &known) {
                true => regions,
                false => sequence([(stop, regions), (end(), run_of_fill())]),
            },
        }
    }

    /// Whether it is proved that there is a last position, and ends at the end.
    fn is_end(&mut self, stop: &Stop, all: &Range, known: &[Constraint]) -> bool {
        let Stop::Last { var, range, stop } = stop else { return false };
        let (Stop::Least(ends), [upper]) = (&**stop, range.upper.as_slice()) else { return false };
        let at = upper.clone() - Affine::constant(1);
        let ends: Vec<Affine> =
            ends.iter().map(|e| e.substitute(&|n| (n == var).then(|| at.clone()))).collect();
        self.proves_at_most(known, &range.lower, &[at])
            && self.proves_at_most(known, &all.upper, &ends)
    }
}

fn element(operand: &Operand) -> Looplet {
    let index: Vec<Arith> = operand.value_index.clone();
    Looplet::Element { array: operand.value_array.clone(), index }
}

/// All that is tested at a level.
fn tests(level: &Level) -> Vec<Formula> {
    let mut out = formulas(&level.guards);
    out.extend(level.restrictions.iter().cloned());
    out.extend(formulas(&level.conditions));
    out
}

/// Whether there is always something behind levels.
fn never_fail(levels: &[Level]) -> bool {
    levels.iter().all(|level| !level.is_loop() && tests(level).is_empty())
}

fn unordered(around: &Around, level: &Level, index: &Name) -> Unordered {
    Unordered { index: index.clone(), before: around.dims.clone(), among: level.var.clone() }
}

/// That variables have the values of their levels.
fn values(lets: &[Level]) -> Vec<Formula> {
    lets.iter().flat_map(|level| formulas(&level.bound_constraints())).collect()
}

/// The value that levels without a loop give the last of them.
fn only_lets(levels: &[Level]) -> Option<Affine> {
    let mut values: Vec<(Name, Affine)> = Vec::new();
    for level in levels {
        let Bind::Let(value) = &level.bind else { return None };
        let known = |n: &Name| values.iter().find(|(v, _)| v == n).map(|(_, e)| e.clone());
        let value = value.substitute(&known);
        if !tests(level).is_empty() {
            return None;
        }
        values.push((level.var.clone(), value));
    }
    values.pop().map(|(_, value)| value)
}

/// `at = sign * p + offset`, the offset without `p`.
fn bijection(at: &Affine, p: &Name) -> Option<(i64, Affine)> {
    let sign = at.coefficient(&Atom::Var(p.clone()));
    let offset = at.clone() - Affine::from_terms([(Atom::Var(p.clone()), sign)], 0);
    (sign.abs() == 1 && !offset.mentions(p)).then_some((sign, offset))
}

/// A position that is searched for by each coordinate, if what is there then is known.
fn searched(
    level: &Level,
    range: &Range,
    own: Vec<Formula>,
    shape: Shape,
    index: &Name,
) -> Option<Shape> {
    let here = Affine::var(index.clone());
    let (passes, found) = match shape {
        Shape::Point { at, here: found } => (vec![Formula::eq(here, at)], found),
        Shape::Within { range, inside: Looplet::Lookup { body, .. } | Looplet::Run(body) } => {
            (formulas(&range.of(&here)), *body)
        }
        Shape::Within { .. } | Shape::Upto { .. } | Shape::Everywhere(_) => return None,
    };
    let tests = own.into_iter().chain(passes).collect();
    let (var, range) = (level.var.clone(), range.clone());
    let search = Search { var, range, tests, each: false, found };
    let body = Box::new(Looplet::Search(Box::new(search)));
    Some(Shape::Everywhere(Looplet::Lookup { index: index.clone(), body }))
}
