//! Polyhedral scanning, one dimension at a time.

use std::rc::Rc;

use indexmap::IndexMap;

use super::assumptions::{call_depth, depth_of};
use super::{Assumptions, Bind, Level, Nest};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Atom, Constraint, Formula, Name, Relop};
use crate::isl::{Frame, Set};
use crate::iterspace::{LoopOrder, Space};
use crate::prover::Prover;

/// Scans `space` in the given order.
///
/// The nest is exact: in debug builds the scanned set is compared with the space.
pub fn scan(space: &Space, order: &LoopOrder, prover: &mut dyn Prover) -> Result<Nest> {
    let mut assumptions = Assumptions::derive(space, &order.dims, prover);
    // Contradictory properties imply every condition. No data obeys them, but the kernel must not
    // lose its bounds over it: nothing is assumed then.
    if Scanner::new(space, order, &assumptions).full.is_empty() {
        assumptions.facts.clear();
    }
    let scanner = Scanner::new(space, order, &assumptions);
    let nest = scanner.run()?;
    if cfg!(debug_assertions) {
        scanner.verify(&nest);
    }
    Ok(nest)
}

struct Scanner<'a> {
    space: &'a Space,
    dims: &'a [Name],
    assumptions: &'a Assumptions,
    /// `frames[d]`: the first `d` dimensions with their calls; `frames[0]` has parameters only.
    frames: Vec<Rc<Frame>>,
    /// The frame up to dimension `d` itself, before its calls.
    bare: Vec<Rc<Frame>>,
    full: Set,
}

impl<'a> Scanner<'a> {
    fn new(space: &'a Space, order: &'a LoopOrder, assumptions: &'a Assumptions) -> Self {
        let dims = &order.dims;
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
        let mut bare = Vec::new();
        for (d, var) in dims.iter().enumerate() {
            atoms.push(Atom::Var(var.clone()));
            bare.push(frame(&atoms));
            atoms.extend(at_depth(d + 1));
            frames.push(frame(&atoms));
        }
        let all: Vec<Constraint> = space
            .constraints
            .iter()
            .chain(&space.facts)
            .chain(&assumptions.facts)
            .cloned()
            .collect();
        let full = framed(&frames[dims.len()], &all);
        Scanner { space, dims, assumptions, frames, bare, full }
    }

    fn run(&self) -> Result<Nest> {
        let mut known: Vec<Constraint> = self.space.facts.clone();
        let mut nest = Nest {
            guards: Vec::new(),
            calls: self.calls_at(0),
            levels: Vec::new(),
            assumptions: self.assumptions.facts.clone(),
        };
        nest.guards = self.unmet(0, &mut known, |_| true);
        let mut unplaced: Vec<&Formula> = self.space.guards.iter().collect();
        for d in 0..self.dims.len() {
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
            let reads_here = |c: &Constraint| {
                let mut reads = false;
                c.visit_calls(&mut |call| reads |= call_depth(call, self.dims) == d + 1);
                reads
            };
            level.guards = self.unmet(d + 1, &mut known, |c| !reads_here(c));
            level.conditions = self.unmet(d + 1, &mut known, reads_here);
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

    /// The value of dimension `d` when the constraints that tie it to dimensions not yet visited leave
    /// only one, e.g. `p0 = floor(i/R)` from `i = R*p0 + p2 and 0 <= p2 < R`.
    ///
    /// Only those constraints are used, so the value is in terms of the indices that they mention.
    fn closed_form(&self, d: usize) -> Option<Affine> {
        let var = &self.dims[d];
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
        // A bound alone never leaves one value.
        let stepped = |c: &&Constraint| {
            c.affine.coefficient_of_var(var).abs() > 1 || only_inside_floor(&c.affine, var)
        };
        if !tied.iter().any(stepped) {
            return None;
        }
        let (mut inputs, mut hidden): (Vec<Atom>, Vec<Atom>) = (Vec::new(), Vec::new());
        for c in &tied {
            visit_atoms(&c.affine, &mut |atom| {
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

    fn calls_at(&self, depth: usize) -> Vec<crate::formula::Call> {
        let calls = self.assumptions.calls.iter();
        calls.filter(|(_, d)| *d == depth).map(|(c, _)| c.clone()).collect()
    }

    /// `known` and the assumptions, as far as they fit the frame of `depth` dimensions.
    fn context(&self, frame: &Rc<Frame>, known: &[Constraint]) -> Set {
        let fitting: Vec<Constraint> = known
            .iter()
            .chain(&self.assumptions.facts)
            .filter(|c| fits(frame, &c.affine))
            .cloned()
            .collect();
        framed(frame, &fitting)
    }

    /// How dimension `d` gets its values.
    fn bind(&self, d: usize, known: &[Constraint]) -> Result<Bind> {
        let var = &self.dims[d];
        let frame = &self.bare[d];
        // An equation as written needs no projection, and reads best.
        let written = self.space.constraints.iter().filter(|c| fits(frame, &c.affine));
        if let Some(value) = written.filter_map(|c| solve_unit(c, var)).next() {
            return Ok(Bind::Let(value));
        }
        if let Some(value) = self.closed_form(d) {
            return Ok(Bind::Let(value));
        }
        let reach = self.full.keep_first_dims(frame.dims.len());
        let context = self.context(frame, known);
        let simplified = reach.gist(&context);
        let mut pieces = simplified.constraints();
        // Projection of a union, or integer holes: fall back to the constraints as written.
        if pieces.len() != 1 {
            pieces = vec![
                self.space
                    .constraints
                    .iter()
                    .filter(|c| fits(frame, &c.affine) && c.mentions(var))
                    .cloned()
                    .collect(),
            ];
        }
        let about_var: Vec<Constraint> =
            pieces.remove(0).into_iter().filter(|c| c.mentions(var)).collect();

        if let Some(value) = about_var.iter().find_map(|c| solve_unit(c, var)) {
            return Ok(Bind::Let(value));
        }
        let meaningful = self.without_emptiness(d, &about_var, &context);
        for constraints in [&meaningful, &about_var] {
            let (lower, upper) = bounds(constraints, var);
            if !lower.is_empty() && !upper.is_empty() {
                return Ok(Bind::Loop { lower, upper });
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
        if lower.is_empty() || upper.is_empty() {
            return Err(Diagnostic::new(
                Code::LoopOrder,
                format!("no bounds for `{var}` when it is visited as dimension {}", d + 1),
            )
            .note(format!("visited before it: {}", names(&self.dims[..d])))
            .help("visit the dimensions that bound it first (`--order`)"));
        }
        Ok(Bind::Loop { lower, upper })
    }

    /// `about_var` without bounds by parameters alone that only say that inner loops are not empty:
    /// those not implied by the constraints on `d` itself, written or with later values put in.
    fn without_emptiness(
        &self,
        d: usize,
        about_var: &[Constraint],
        context: &Set,
    ) -> Vec<Constraint> {
        let frame = &self.bare[d];
        let var = &self.dims[d];
        let values = self.determined_in(d, frame);
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

    /// Original constraints complete at `depth` that what is known does not imply. They are added
    /// to `known`. Only *original* ones: projected ones merely state that inner loops are not empty.
    fn unmet(
        &self,
        depth: usize,
        known: &mut Vec<Constraint>,
        select: impl Fn(&Constraint) -> bool,
    ) -> Vec<Constraint> {
        let candidates: Vec<&Constraint> = self
            .space
            .constraints
            .iter()
            .filter(|c| depth_of(c, self.dims) == depth && select(c))
            .collect();
        if candidates.is_empty() {
            return Vec::new();
        }
        let frame = &self.frames[depth];
        let mut context = self.context(frame, known);
        let mut out = Vec::new();
        for c in candidates {
            if !context.implies(c) {
                out.push(c.clone());
                known.push(c.clone());
                context = context.intersect(&framed(frame, std::slice::from_ref(c)));
            }
        }
        out
    }

    /// Dimensions after `d` whose value is already determined once `d` and its calls are known.
    fn determined(&self, d: usize) -> IndexMap<Name, Affine> {
        self.determined_in(d, &self.frames[d + 1])
    }

    /// Dimensions after `d` whose value the atoms of `frame` determine.
    fn determined_in(&self, d: usize, frame: &Frame) -> IndexMap<Name, Affine> {
        let mut out: IndexMap<Name, Affine> = IndexMap::new();
        loop {
            let before = out.len();
            for var in &self.dims[d + 1..] {
                let solved = self.space.constraints.iter().filter_map(|c| {
                    let value = solve_unit(c, var)?.substitute(&|n| out.get(n).cloned());
                    fits(frame, &value).then_some(value)
                });
                if !out.contains_key(var)
                    && let Some(value) = { solved }.next()
                {
                    out.insert(var.clone(), value);
                }
            }
            if out.len() == before {
                return out;
            }
        }
    }

    /// Constraints on later dimensions that are already decided at loop `d`: with
    /// `q3 = j - 4*crd(q1)` to come, `0 <= q3 < 4` is a condition on `q1`, and a find looks for it.
    /// Only those that relate an index array read here to something known before; all others read
    /// better where they were written.
    fn find_ahead(&self, d: usize, known: &mut Vec<Constraint>, out: &mut Vec<Constraint>) {
        let values = self.determined(d);
        let frame = &self.frames[d + 1];
        let outer: Vec<&Atom> = self.frames[d].dims.iter().collect();
        for c in &self.space.constraints {
            if depth_of(c, self.dims) <= d + 1 {
                continue;
            }
            let here = c.substitute(&|n| values.get(n).cloned());
            let mut reads = false;
            here.visit_calls(&mut |call| reads |= call_depth(call, self.dims) == d + 1);
            let relates = here.affine.terms().iter().any(|(a, _)| outer.contains(&a));
            if !reads || !relates || !fits(frame, &here.affine) {
                continue;
            }
            if !self.context(frame, known).implies(&here) {
                known.push(here.clone());
                out.push(here);
            }
        }
    }

    /// The scanned set equals the space.
    fn verify(&self, nest: &Nest) {
        let mut emitted = nest.known_before(nest.levels.len());
        emitted.extend(self.space.facts.iter().chain(&nest.assumptions).cloned());
        let scanned = framed(&self.frames[self.dims.len()], &emitted);
        assert!(
            scanned.is_equal(&self.full),
            "the scan is not exact:\n{nest}\nscanned {scanned}\nspace {}",
            self.full
        );
    }
}

/// All atoms of a scan are in its frames by construction.
fn framed(frame: &Rc<Frame>, constraints: &[Constraint]) -> Set {
    Set::new(frame, constraints).expect("every atom of the space is in its frame")
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

/// Calls `f` on every variable and call of `affine`, looking inside floors but not inside calls.
fn visit_atoms(affine: &Affine, f: &mut impl FnMut(&Atom)) {
    for (atom, _) in affine.terms() {
        match atom {
            Atom::Floor(inner, _) => visit_atoms(inner, f),
            other => f(other),
        }
    }
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
