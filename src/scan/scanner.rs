//! Polyhedral scanning, one dimension at a time.

use std::cell::OnceCell;
use std::rc::Rc;

use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};

use super::assumptions::{call_depth, depth_of};
use super::differences::Differences;
use super::near::{self, framed};
use super::stage::{Stage, after, bare};
use super::{Assumptions, Bind, Level, Nest, Range};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Atom, Constraint, Formula, Name, Relop};
use crate::isl::{Frame, Set};
use crate::iterspace::Space;

/// A space in the order in which it is scanned.
pub(super) struct Scanner<'a> {
    pub space: &'a Space,
    pub dims: &'a [Name],
    pub(super) assumptions: &'a Assumptions,
    /// `frames[d]`: the first `d` dimensions with their calls; `frames[0]` has parameters only.
    pub frames: Vec<Rc<Frame>>,
    /// The frame up to dimension `d` itself, before its calls.
    pub(super) bare: Vec<Rc<Frame>>,
    /// When each atom is known: dimension `d` from `bare(d)` on, its calls from `after(d)` on.
    /// Parameters are known from the start.
    pub(super) known_at: FxHashMap<Atom, usize>,
    /// The depth of each constraint of the space, and those at which it reads index arrays.
    pub(super) depths: Vec<(usize, Vec<usize>)>,
    /// The values that equations of the space give each dimension, in the order of the dimensions.
    pub(super) solved: IndexMap<Name, Vec<Affine>>,
    /// Constraints of the space, its facts, and what is assumed.
    pub all: Vec<Constraint>,
    /// The set of all of them, if it was asked for.
    pub(super) full: OnceCell<Set>,
}

impl<'a> Scanner<'a> {
    pub fn new(space: &'a Space, dims: &'a [Name], assumptions: &'a Assumptions) -> Self {
        let at_depth = |d: usize| {
            assumptions
                .calls
                .iter()
                .filter(move |(_, k)| *k == d)
                .map(|(c, _)| Atom::Call(c.clone()))
        };
        let mut params: Vec<Atom> = space.params().into_iter().map(Atom::Var).collect();
        params.extend(at_depth(0));
        let mut atoms: Vec<Atom> = Vec::new();
        let frame = |dims: &[Atom]| Rc::new(Frame { params: params.clone(), dims: dims.to_vec() });
        let mut frames = vec![frame(&atoms)];
        let mut bare_frames = Vec::new();
        let mut known_at: FxHashMap<Atom, usize> =
            params.iter().map(|atom| (atom.clone(), after(0))).collect();
        for (d, var) in dims.iter().enumerate() {
            atoms.push(Atom::Var(var.clone()));
            known_at.insert(Atom::Var(var.clone()), bare(d));
            bare_frames.push(frame(&atoms));
            atoms.extend(at_depth(d + 1));
            known_at.extend(at_depth(d + 1).map(|call| (call, after(d + 1))));
            frames.push(frame(&atoms));
        }
        let all: Vec<Constraint> = space
            .constraints
            .iter()
            .chain(&space.facts)
            .chain(&assumptions.facts)
            .cloned()
            .collect();
        let depths = space.constraints.iter().map(|c| {
            let mut reads = Vec::new();
            c.visit_calls(&mut |call| reads.push(call_depth(call, dims)));
            (depth_of(c, dims), reads)
        });
        let depths = depths.collect();
        let values = |var: &Name| -> Vec<Affine> {
            space.constraints.iter().filter_map(|c| solve_unit(c, var)).collect()
        };
        let solved = dims.iter().map(|var| (var.clone(), values(var))).collect();
        let bare = bare_frames;
        Scanner {
            space,
            dims,
            assumptions,
            frames,
            bare,
            known_at,
            depths,
            solved,
            all,
            full: OnceCell::new(),
        }
    }

    pub fn full(&self) -> &Set {
        self.full.get_or_init(|| framed(&self.frames[self.dims.len()], &self.all))
    }

    /// Whether the space is seen to have no point.
    pub fn is_empty(&self) -> bool {
        if !self.is_large() {
            return self.full().is_empty();
        }
        let mut differences = Differences::default();
        differences.extend(&self.all);
        differences.is_contradictory()
    }

    /// Whether every atom of `affine` is known by then.
    pub(super) fn fits(&self, by: usize, affine: &Affine) -> bool {
        affine.terms().iter().all(|(atom, _)| match atom {
            Atom::Floor(inner, _) => self.fits(by, inner),
            other => self.known_at.get(other).is_some_and(|at| *at <= by),
        })
    }

    /// The nest.
    ///
    /// # Errors
    /// If a dimension has no bounds in this order.
    pub fn run(&self) -> Result<Nest> {
        let mut known: Vec<Constraint> = self.space.facts.clone();
        let mut nest = Nest {
            guards: Vec::new(),
            calls: self.calls_at(0),
            levels: Vec::new(),
            assumptions: self.assumptions.facts.clone(),
            grouped: None,
        };
        nest.guards = self.unmet(Stage::Before(0), &mut known, <[usize]>::is_empty);
        nest.guards.extend(self.unmet(Stage::After(0), &mut known, |reads| !reads.is_empty()));
        self.levels(nest, known)
    }

    /// The first levels of `outer`, as many as the space says it is within, and those of the other
    /// dimensions. With what must hold before these are visited, which is also part of the nest.
    ///
    /// # Errors
    /// If a dimension has no bounds in this order.
    pub fn run_within(&self, outer: &Nest, depth: usize) -> Result<(Nest, Vec<Constraint>)> {
        let mut known: Vec<Constraint> = self.space.facts.clone();
        known.extend(outer.known_before(depth));
        let mut nest = Nest {
            guards: outer.guards.clone(),
            calls: self.calls_at(0),
            levels: outer.levels[..depth].to_vec(),
            assumptions: self.assumptions.facts.clone(),
            grouped: None,
        };
        let own = self.space.constraints.iter().zip(&self.depths);
        let own: Vec<&Constraint> =
            own.filter(|(_, (at, _))| *at <= depth).map(|(c, _)| c).collect();
        let guards = self.not_implied(own, Stage::After(depth), &mut known);
        let before = guards_before(&mut nest, depth);
        let own = before.len();
        before.extend(guards);
        let mut nest = self.levels(nest, known)?;
        let guards = guards_before(&mut nest, depth)[own..].to_vec();
        Ok((nest, guards))
    }

    /// `nest` with the levels that it lacks.
    fn levels(&self, mut nest: Nest, mut known: Vec<Constraint>) -> Result<Nest> {
        let mut unplaced: Vec<&Formula> = self.space.guards.iter().collect();
        for d in nest.levels.len()..self.dims.len() {
            let var = &self.dims[d];
            let bind = self.bind(d, &known)?;
            let mut level = Level {
                var: var.clone(),
                bind,
                guards: Vec::new(),
                restrictions: Vec::new(),
                calls: self.calls_at(d + 1),
                conditions: Vec::new(),
            };
            known.extend(level.bound_constraints());
            let (before, after) = (Stage::Before(d + 1), Stage::After(d + 1));
            let mut guards = self.domains(d, &mut known);
            // What is searched is read before guards are tested.
            if let Bind::Loop(range) = &mut level.bind {
                guards.retain(|c| !self.narrow(d, range, c));
                let outer = guards.extract_if(.., |c| !c.mentions(var));
                guards_before(&mut nest, d).extend(outer);
            }
            level.guards = self.unmet(before, &mut known, |reads| !reads.contains(&(d + 1)));
            guards.append(&mut level.guards);
            level.guards = guards;
            level.conditions = self.unmet(after, &mut known, |reads| reads.contains(&(d + 1)));
            if level.is_loop() {
                self.find_ahead(d, &mut known, &mut level.conditions);
            }
            unplaced.retain(|g| {
                let mut depth = 0;
                g.visit_affine(&mut |a| {
                    let c = Constraint { affine: a.clone(), relop: Relop::Ge };
                    depth = depth.max(depth_of(&c, self.dims));
                });
                let here = depth <= d + 1;
                if here {
                    level.restrictions.push((*g).clone());
                }
                !here
            });
            nest.levels.push(level);
        }
        Ok(nest)
    }

    /// Takes a condition into the range of dimension `d`; whether it is one of bounds, as written or once
    /// its floors are resolved.
    fn narrow(&self, d: usize, range: &mut Range, condition: &Constraint) -> bool {
        let ends = |c: &Constraint| bounds(std::slice::from_ref(c), &self.dims[d]);
        let is_bound = |c: &Constraint| ends(c) != (Vec::new(), Vec::new());
        let mut pieces = vec![vec![condition.clone()]];
        if !is_bound(condition) {
            pieces = framed(&self.bare[d], &pieces[0]).constraints();
        }
        let [piece] = pieces.as_slice() else { return false };
        let all = piece.iter().all(is_bound);
        for (lower, upper) in piece.iter().filter(|_| all).map(ends) {
            range.lower.extend(lower);
            range.upper.extend(upper);
        }
        all
    }

    /// The value of dimension `d` when the constraints that tie it to dimensions not yet visited leave
    /// only one, e.g. `p0 = floor(i/R)` from `i = R*p0 + p2 and 0 <= p2 < R`.
    ///
    /// Only those constraints are used, so the value is in terms of the indices that they mention.
    fn closed_form(&self, d: usize) -> Option<Affine> {
        let var = &self.dims[d];
        // A bound alone never leaves one value.
        let stepped = |c: &Constraint| {
            c.affine.coefficient_of_var(var).abs() > 1 || only_inside_floor(&c.affine, var)
        };
        if !self.space.constraints.iter().any(stepped) {
            return None;
        }
        let is_open = |n: &Name| self.dims[d..].contains(n);
        let mut open: Vec<Name> = vec![var.clone()];
        let mut tied: Vec<&Constraint> = Vec::new();
        while let Some(c) = self
            .space
            .constraints
            .iter()
            .find(|c| !tied.contains(c) && open.iter().any(|n| c.mentions(n)))
        {
            tied.push(c);
            c.affine.visit_vars(&mut |n| {
                if is_open(n) && !open.contains(n) {
                    open.push(n.clone());
                }
            });
        }
        let (mut inputs, mut hidden): (Vec<Atom>, Vec<Atom>) = (Vec::new(), Vec::new());
        for c in &tied {
            c.affine.visit_atoms(&mut |atom| {
                let mut late = false;
                Affine::atom(atom.clone()).visit_vars(&mut |n| late |= is_open(n));
                let list = if late { &mut hidden } else { &mut inputs };
                if *atom != Atom::Var(var.clone()) && !list.contains(atom) {
                    list.push(atom.clone());
                }
            });
        }
        let count = inputs.len();
        let mut dims = inputs;
        dims.push(Atom::Var(var.clone()));
        dims.extend(hidden);
        let frame = Rc::new(Frame { params: Vec::new(), dims });
        let tied: Vec<Constraint> = tied.into_iter().cloned().collect();
        let reach = Set::new(&frame, &tied).ok()?.keep_first_dims(count + 1);
        if !reach.is_single_valued(count) {
            return None;
        }
        let outputs = reach.functional(count)?;
        match outputs.as_slice() {
            [pieces] => match pieces.as_slice() {
                [(_, value)] if !value.mentions(var) => Some(value.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn calls_at(&self, depth: usize) -> Vec<crate::formula::Call> {
        let calls = self.assumptions.calls.iter();
        calls.filter(|(_, d)| *d == depth).map(|(c, _)| c.clone()).collect()
    }

    /// `known` and the assumptions, as far as they are about what is known by then.
    pub(super) fn established<'k>(
        &'k self,
        by: usize,
        known: &'k [Constraint],
    ) -> Vec<&'k Constraint> {
        let all = known.iter().chain(&self.assumptions.facts);
        all.filter(|c| self.fits(by, &c.affine)).collect()
    }

    pub fn is_large(&self) -> bool {
        near::is_large(self.all.len())
    }

    /// What the space, or its part around dimension `d`, says of the dimension and of what is known by
    /// then; and what is established.
    fn reach(&self, d: usize, known: &[Constraint], whole: bool) -> (Set, Set) {
        let context = self.established(bare(d), known);
        let context = |frame: &Rc<Frame>| {
            let fitting = context.iter().filter(|c| fits(frame, &c.affine));
            framed(frame, &fitting.map(|c| (*c).clone()).collect::<Vec<_>>())
        };
        let frame = &self.bare[d];
        if whole {
            return (self.full().keep_first_dims(frame.dims.len()), context(frame));
        }
        let all: Vec<&Constraint> = self.all.iter().collect();
        let var = Atom::Var(self.dims[d].clone());
        let near: Vec<Constraint> = near::nearest([var], &all).into_iter().cloned().collect();
        let mut mentioned: FxHashSet<Atom> = FxHashSet::default();
        near.iter().for_each(|c| {
            c.affine.visit_atoms(&mut |atom| {
                mentioned.insert(atom.clone());
            });
        });
        let whole = &self.frames[self.dims.len()];
        let of = |atoms: &[Atom]| -> Vec<Atom> {
            atoms.iter().filter(|a| mentioned.contains(*a)).cloned().collect()
        };
        let outer = of(&frame.dims).len();
        let local = Rc::new(Frame { params: of(&whole.params), dims: of(&whole.dims) });
        let reach = framed(&local, &near).keep_first_dims(outer);
        let context = context(reach.frame());
        (reach, context)
    }

    /// [`reach`](Self::reach) without what floors of dimensions say: more is visited, of which guards leave what counts.
    /// A block that has an even row has no bounds that isl knows; a block that has a row does.
    fn without_floors(&self, d: usize) -> Set {
        let divides =
            |c: &Constraint| self.dims.iter().any(|var| only_inside_floor(&c.affine, var));
        let all = self.all.iter().filter(|c| !divides(c)).cloned();
        let whole = framed(&self.frames[self.dims.len()], &all.collect::<Vec<_>>());
        whole.keep_first_dims(self.bare[d].dims.len())
    }

    /// How dimension `d` gets its values.
    fn bind(&self, d: usize, known: &[Constraint]) -> Result<Bind> {
        let var = &self.dims[d];
        // An equation as written needs no projection, and reads best.
        let written = self.space.constraints.iter().filter(|c| self.fits(bare(d), &c.affine));
        if let Some(value) = written.filter_map(|c| solve_unit(c, var)).next() {
            return Ok(Bind::Let(value));
        }
        if let Some(value) = self.closed_form(d) {
            return Ok(Bind::Let(value));
        }
        if self.is_large() {
            let (reach, context) = self.reach(d, known, false);
            if let Some(bind) = self.project(d, &reach, &context) {
                return Ok(bind);
            }
        }
        let (reach, context) = self.reach(d, known, true);
        let exact = self.project(d, &reach, &context);
        exact.or_else(|| self.project(d, &self.without_floors(d), &context)).ok_or_else(|| {
            Diagnostic::new(
                Code::LoopOrder,
                format!("no bounds for `{var}` when it is visited as dimension {}", d + 1),
            )
            .note(format!("visited before it: {}", names(&self.dims[..d])))
            .help("visit the dimensions that bound it first (`--order`)")
        })
    }

    /// The value or the bounds of dimension `d` by projection, if it has them.
    fn project(&self, d: usize, reach: &Set, context: &Set) -> Option<Bind> {
        let var = &self.dims[d];
        let simplified = reach.gist(context);
        let mut pieces = simplified.constraints();
        // Projection of a union, or integer holes: fall back to the constraints as written.
        if pieces.len() != 1 {
            pieces = vec![
                self.space
                    .constraints
                    .iter()
                    .filter(|c| self.fits(bare(d), &c.affine) && c.mentions(var))
                    .cloned()
                    .collect(),
            ];
        }
        let about_var: Vec<Constraint> =
            pieces.remove(0).into_iter().filter(|c| c.mentions(var)).collect();

        if let Some(value) = about_var.iter().find_map(|c| solve_unit(c, var)) {
            return Some(Bind::Let(value));
        }
        let meaningful = self.without_emptiness(d, &about_var, context);
        let choices = match self.protects(d, &about_var, &meaningful, context) {
            true => vec![&about_var],
            false => vec![&meaningful, &about_var],
        };
        for constraints in choices {
            let (lower, upper) = bounds(constraints, var);
            if !lower.is_empty() && !upper.is_empty() {
                return Some(Bind::Loop(Range { lower, upper }));
            }
        }
        let (lower, upper) = bounds(&about_var, var);
        // What is known may already imply a bound that the loop still has to state. A bound of one
        // piece of a union is none of the others'.
        let restated: Vec<Constraint> = reach
            .constraints()
            .into_iter()
            .flatten()
            .filter(|c| c.mentions(var) && reach.implies(c))
            .collect();
        let (more_lower, more_upper) = bounds(&restated, var);
        let lower = if lower.is_empty() { more_lower } else { lower };
        let upper = if upper.is_empty() { more_upper } else { upper };
        let bounded = !lower.is_empty() && !upper.is_empty();
        bounded.then_some(Bind::Loop(Range { lower, upper }))
    }

    /// Whether the bounds that `all` has and `some` lacks are needed where an index array is read: its
    /// domain may end before the positions do.
    fn protects(&self, d: usize, all: &[Constraint], some: &[Constraint], context: &Set) -> bool {
        if all.len() == some.len() {
            return false;
        }
        let frame = context.frame();
        let within = |bounds: &[Constraint]| framed(frame, bounds).intersect(context);
        let (all, some) = (within(all), within(some));
        let calls = self.calls_at(d + 1);
        let domains = calls.iter().flat_map(|call| self.space.domain_of(call));
        let mut domains = domains.filter(|c| fits(frame, &c.affine));
        domains.any(|c| all.implies(&c) && !some.implies(&c))
    }

    /// `about_var` without bounds by parameters alone that only say that inner loops are not empty:
    /// those not implied by the constraints on `d` itself, written or with later values put in.
    fn without_emptiness(
        &self,
        d: usize,
        about_var: &[Constraint],
        context: &Set,
    ) -> Vec<Constraint> {
        let frame = context.frame();
        let var = &self.dims[d];
        let values = self.determined(d, bare(d));
        let direct: Vec<Constraint> = self
            .space
            .constraints
            .iter()
            .map(|c| c.substitute(&|n| values.get(n).cloned()))
            .filter(|c| c.mentions(var) && fits(frame, &c.affine))
            .collect();
        let direct = framed(frame, &direct).intersect(context);
        let by_parameters = |c: &Constraint| {
            c.affine.terms().iter().all(|(a, _)| match a {
                Atom::Var(n) => n == var || !self.dims.contains(n),
                Atom::Call(_) | Atom::Floor(..) => false,
            })
        };
        let keep = |c: &&Constraint| !by_parameters(c) || direct.implies(c);
        about_var.iter().filter(keep).cloned().collect()
    }
}

/// What is tested right before dimension `d` is visited.
fn guards_before(nest: &mut Nest, d: usize) -> &mut Vec<Constraint> {
    match nest.levels[..d].last_mut() {
        Some(level) => &mut level.guards,
        None => &mut nest.guards,
    }
}

fn names(names: &[Name]) -> String {
    if names.is_empty() { "nothing".to_string() } else { names.join(", ") }
}

/// True if every atom of `affine` is an atom of the frame.
fn fits(frame: &Frame, affine: &Affine) -> bool {
    affine.terms().iter().all(|(atom, _)| match atom {
        Atom::Floor(inner, _) => fits(frame, inner),
        other => frame.params.contains(other) || frame.dims.contains(other),
    })
}

/// `e` if the constraint says `var = e` with `var` not in `e`.
fn solve_unit(c: &Constraint, var: &Name) -> Option<Affine> {
    let k = c.affine.coefficient_of_var(var);
    if c.relop != Relop::Eq || k.abs() != 1 {
        return None;
    }
    let rest = c.affine.clone() - Affine::var(var.clone()) * k;
    (!rest.mentions(var)).then(|| rest * -k)
}

fn only_inside_floor(affine: &Affine, var: &Name) -> bool {
    affine.terms().iter().any(|(a, _)| matches!(a, Atom::Floor(e, _) if e.mentions(var)))
}

/// Lower bounds (inclusive) and upper bounds (exclusive) of `var`, rounded to integers.
fn bounds(constraints: &[Constraint], var: &Name) -> (Vec<Affine>, Vec<Affine>) {
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    for c in constraints {
        let k = c.affine.coefficient_of_var(var);
        let rest = c.affine.clone() - Affine::var(var.clone()) * k;
        if k == 0 || rest.mentions(var) {
            continue;
        }
        // k*var + rest (>= | =) 0
        let below = |k: i64, rest: Affine| (-rest + Affine::constant(k - 1)).floor_div(k);
        let above = |k: i64, rest: Affine| rest.floor_div(k) + Affine::constant(1);
        match (c.relop, k > 0) {
            (Relop::Ge, true) => lower.push(below(k, rest)),
            (Relop::Ge, false) => upper.push(above(-k, rest)),
            (Relop::Eq, _) => {
                let rest = if k > 0 { rest } else { -rest };
                lower.push(below(k.abs(), rest.clone()));
                upper.push(above(k.abs(), -rest));
            }
            (Relop::Ne, _) => {}
        }
    }
    // The simplest first, whatever order isl has them in.
    lower.sort_by_key(|l| l.terms().len());
    upper.sort_by_key(|u| u.terms().len());
    (lower, upper)
}
