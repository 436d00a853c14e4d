//! From the nests of all pieces to one tree.

use std::rc::Rc;

use super::assemble::{self, Assembling};
use super::groups;
use super::join;
use super::leaf::{leaf, looked_up, lookup_name, stored_at};
use super::merged::Merged;
use super::parts;
use super::sequence::{Sequence, steps};
use super::statement::{Parallelism, Statement};
use super::temporaries::begin;
use super::tree::{
    Among, Block, Find, Loop, Loops, Merge, Node, Place, Search, SearchId, Skip, Take, Threads,
};
use crate::formula::{Affine, Atom, Constraint, Formula, Name};
use crate::scan::{Bind, Level, Nest};
use crate::synth::{Placement, Plan};

/// The tree of all statements, one after the other; pieces of one that run over the same positions share
/// their loops. A result of unknown structure is assembled where it was decided.
pub fn build(
    statements: &[Statement],
    assembling: Option<&Assembling>,
    sequence: &Sequence,
) -> Loops {
    let mut loops = empty(statements);
    let steps = steps(statements);
    let mut blocks = Vec::new();
    for (k, step) in steps.iter().enumerate() {
        // The last one writes the result.
        let assembling = assembling.filter(|_| k + 1 == steps.len());
        add(&mut loops, step, assembling.is_some());
        if let Some(assembling) = assembling {
            assemble::assemble(&mut loops, assembling);
            match &assembling.threads {
                Some(Ok(_)) if assembling.around.is_empty() => parts::share_merge(&mut loops.body),
                Some(Ok(var)) => {
                    let mut body = std::mem::take(&mut loops.body);
                    parts::share(&loops, &mut body, var, Threads::Parts);
                    loops.body = body;
                }
                _ => {}
            }
        }
        if let [only] = *step {
            groups::group(&mut loops, &only.nest, &only.space.params());
        }
        blocks.push(std::mem::take(&mut loops.body));
    }
    join::follow(&mut loops, blocks, statements, &sequence.shared);
    for temporary in &sequence.temporaries {
        begin(&mut loops.body, temporary);
    }
    loops
}

/// The tree of all pieces of one statement; with `alike`, loops over one range are shared.
pub fn joined(statements: &[Statement], alike: bool) -> Loops {
    let mut loops = empty(statements);
    add(&mut loops, statements, alike);
    loops
}

fn empty(statements: &[Statement]) -> Loops {
    let fast_math = statements.iter().any(|s| s.space.fast_math);
    let strict_fp = statements.iter().any(|s| s.space.strict_fp);
    let counter = |s: &Statement| {
        s.space.counter().map(|counter| s.space.operands[counter].value_array.clone())
    };
    let counters = statements.iter().filter_map(counter).collect();
    let short_circuit = statements.iter().any(|s| s.space.output().layout.short_circuit);
    Loops { body: Vec::new(), finds: Vec::new(), fast_math, strict_fp, short_circuit, counters }
}

/// Makes the tree of `statements`, beside the finds of others.
fn add(loops: &mut Loops, statements: &[Statement], alike: bool) {
    let mut pieces = Vec::new();
    for s in statements {
        let mut builder = Builder {
            statement: s,
            first: loops.finds.len(),
            params: Rc::new(s.space.params()),
            loops,
        };
        let piece = builder.piece();
        // Pieces that differ in what they ask first would share no loops.
        let tests = match statements.len() == 1 && !alike && s.regions.is_none() {
            true => anything_stored(s),
            false => Vec::new(),
        };
        pieces.push(guarded(&tests, &[], piece));
    }
    join::join(loops, pieces, statements, alike);
}

struct Builder<'a> {
    statement: &'a Statement,
    /// The number of the statement's first search.
    first: usize,
    params: Rc<Vec<Name>>,
    loops: &'a mut Loops,
}

/// The levels that are made into nodes: those of the statement's nest, or those of a lookup.
#[derive(Clone, Copy)]
struct Levels<'a> {
    nest: &'a Nest,
    /// Where the lookup begins; 0 for the statement's own.
    from: usize,
    /// Its finds.
    finds: (usize, usize),
    /// What is found, if they are those of a lookup.
    lookup: Option<&'a Take>,
}

impl<'a> Builder<'a> {
    fn piece(&mut self) -> Block {
        let s = self.statement;
        if s.nest.is_nothing() {
            return Vec::new();
        }
        let own = s.own_finds();
        for (k, (find, plan)) in s.finds.iter().zip(&s.chosen).enumerate() {
            self.loops.finds.push(Find {
                // What misses is as much wanted as what is found.
                leave: own.contains(&k)
                    && s.lookups.is_empty()
                    && plan.may_leave(find.problem.level, &s.nest),
                find: Rc::new(find.clone()),
                plan: plan.clone(),
                params: self.params.clone(),
                renamed: Vec::new(),
            });
        }
        let levels = Levels { nest: &s.nest, from: 0, finds: (own.start, own.end), lookup: None };
        if let Some(regions) = &s.regions {
            let depths = 0..=s.lookups.last().map_or(0, |looked| looked.depth);
            let lookups = depths.map(|d| {
                let mut out = self.lookups(d);
                out.extend(self.states_before(levels, d, |_| true));
                out
            });
            let lookups: Vec<Block> = lookups.collect();
            let mut nodes = regions.nodes(&s.space, &lookups);
            if let Some(parallel) = s.parallel() {
                parts::share(self.loops, &mut nodes, &parallel.var, parallel.threads());
            }
            return guarded(&s.nest.guards, &[], nodes);
        }
        let inner = self.level(levels, 0);
        guarded(&s.nest.guards, &[], inner)
    }

    fn level(&mut self, levels: Levels<'a>, d: usize) -> Block {
        let s = self.statement;
        let mut out = match levels.lookup {
            None => self.lookups(d),
            Some(_) => Vec::new(),
        };
        let Some(level) = levels.nest.levels.get(d) else {
            out.extend(match levels.lookup {
                Some(take) => vec![Node::Take(Box::new(take.clone()))],
                None => leaf(&s.space, &|k| stored_at(&s.space.operands[k])),
            });
            return out;
        };
        if let Some(merged) = s.merged.as_ref().filter(|m| m.depth == d && levels.lookup.is_none())
        {
            out.extend(self.merge(levels, merged));
            return out;
        }
        let is_shared = levels.lookup.is_none() && s.parallel_level() == Some(d);
        let parallel = s.parallel().filter(|_| is_shared);
        let is_ours = |plan: &Plan| parallel.is_none() || plan.is_shared();
        out.extend(self.states_before(levels, d, is_ours));
        let (first, last) = levels.finds;
        if let Some(k) = (first..last).find(|&k| s.finds[k].problem.level == d) {
            let id = SearchId((self.first + k) as u32);
            let among = match &level.bind {
                Bind::Let(e) => Among::One(e.clone()),
                Bind::Loop(range) => Among::Range(range.clone()),
            };
            let inner = self.level(levels, d + 1);
            // A position that is known without a search was not compared with anything.
            let (found, conditions) = match among {
                Among::One(_) => (self.tested(level, inner), Vec::new()),
                Among::Range(_) => {
                    (guarded(&level.guards, &level.restrictions, inner), level.conditions.clone())
                }
            };
            let var = level.var.clone();
            out.push(Node::Search(Box::new(Search { id, var, among, conditions, found })));
            return out;
        }
        match &level.bind {
            Bind::Let(e) => {
                out.push(Node::Let { var: level.var.clone(), value: e.clone() });
                let inner = self.level(levels, d + 1);
                out.extend(self.tested(level, inner));
            }
            Bind::Loop(range) => {
                let setup = match parallel {
                    None => Vec::new(),
                    // Each thread meets its iterations in order: what holds between any two of
                    // them, earlier and later, holds between its own, so its state may live as long
                    // as it does.
                    Some(_) => self.states_before(levels, d, |plan| !plan.is_shared()),
                };
                let inner = self.level(levels, d + 1);
                let body = self.tested(level, inner);
                out.push(Node::For(Box::new(Loop {
                    var: level.var.clone(),
                    range: range.clone(),
                    parallel: parallel.map(Parallelism::threads),
                    setup,
                    skip: if levels.lookup.is_none() { self.skip(d) } else { None },
                    body,
                })));
            }
        }
        out
    }

    /// The levels that walks stand for.
    fn merge(&mut self, levels: Levels<'a>, merged: &'a Merged) -> Block {
        let inner = &levels.nest.levels[merged.depth..];
        let mut out = self.states_before(levels, merged.depth, |_| true);
        let walks = merged.walks.iter().map(|walk| {
            let own = &walk.nest.levels[merged.depth..];
            let o = &self.statement.space.operands[walk.operand];
            let place = Place { array: o.value_array.clone(), index: walk.value_index.clone() };
            let name = lookup_name(&self.statement.space, walk.operand);
            let take = Node::Take(Box::new(Take { name, place, sums: false }));
            let within = |body: Block, level: &Level| {
                let var = level.var.clone();
                match &level.bind {
                    Bind::Let(value) => {
                        let own = Node::Let { var, value: value.clone() };
                        std::iter::once(own).chain(body).collect()
                    }
                    Bind::Loop(range) => vec![Node::For(Box::new(Loop {
                        var,
                        range: range.clone(),
                        parallel: None,
                        setup: Vec::new(),
                        skip: None,
                        body,
                    }))],
                }
            };
            looked_up(
                &self.statement.space,
                walk.operand,
                own.iter().rev().fold(vec![take], within),
            )
        });
        let walks = walks.collect();
        let mut body = Vec::new();
        // What is kept for some of the indices begins with each choice of them.
        for d in merged.depth + 1..levels.nest.levels.len() {
            body.extend(self.states_before(levels, d, |_| true));
            body.extend(self.lookups(d));
        }
        body.extend(self.level(levels, levels.nest.levels.len()));
        let key = inner.iter().map(|level| level.var.clone()).collect();
        out.push(Node::Merge(Box::new(Merge { key, walks, body })));
        out
    }

    /// The lookups that need just the levels before `d`.
    fn lookups(&mut self, d: usize) -> Block {
        let s = self.statement;
        let mut out = Vec::new();
        for looked in s.lookups.iter().filter(|l| l.depth == d) {
            let name = lookup_name(&s.space, looked.operand);
            let mut body = Vec::new();
            for piece in &looked.pieces {
                let o = &s.space.operands[looked.operand];
                let place =
                    Place { array: o.value_array.clone(), index: piece.value_index.clone() };
                let sums = !o.stores_coordinates_once();
                let take = Take { name: name.clone(), place, sums };
                let levels = Levels {
                    nest: &piece.nest,
                    from: d,
                    finds: (piece.finds.start, piece.finds.end),
                    lookup: Some(&take),
                };
                // The name lives as long as this call; what is built owns its copy.
                let inner = Builder {
                    statement: s,
                    first: self.first,
                    params: self.params.clone(),
                    loops: self.loops,
                }
                .level(levels, d);
                let inner = guarded(&piece.guards, &[], inner);
                match looked.pieces.len() {
                    1 => body = inner,
                    _ => body.push(Node::Piece(inner)),
                }
            }
            let looked_up = looked_up(&s.space, looked.operand, body);
            out.push(Node::Lookup(Box::new(looked_up)));
        }
        out
    }

    fn tested(&self, level: &Level, inner: Block) -> Block {
        let mut tests = level.guards.clone();
        tests.extend(level.conditions.iter().cloned());
        guarded(&tests, &level.restrictions, inner)
    }

    /// The states that are set up right before level `d`: of the finds of these levels, and at the levels
    /// of the statement also of its lookups.
    fn states_before(&self, levels: Levels<'_>, d: usize, select: impl Fn(&Plan) -> bool) -> Block {
        let s = self.statement;
        let mut out = Vec::new();
        for (k, (find, plan)) in s.finds.iter().zip(&s.chosen).enumerate() {
            let looked = s.lookups.iter().find(|l| l.pieces.iter().any(|p| p.finds.contains(&k)));
            let begins = looked.map_or(0, |l| l.depth);
            let place = match &plan.placement {
                Some(
                    Placement::Prefix { before }
                    | Placement::Reset { before, .. }
                    | Placement::Array { before, .. },
                ) => *before,
                None => continue,
            };
            // Private state of a parallel loop is set up by each thread.
            let inside = |level: usize| match looked {
                Some(_) => begins > level,
                None => find.problem.level > level,
            };
            let place = match s.parallel_level() {
                Some(level) if !plan.is_shared() && inside(level) => place.max(level),
                _ => place,
            };
            let (first, last) = levels.finds;
            let ours = match levels.lookup {
                // Around a lookup, its states belong to the statement's own levels.
                Some(_) => (first..last).contains(&k) && place >= levels.from,
                None => looked.is_none() || place < begins,
            };
            if ours && place == d && select(plan) {
                out.push(Node::State(SearchId((self.first + k) as u32)));
            }
        }
        out
    }

    fn skip(&self, d: usize) -> Option<Skip> {
        let s = self.statement;
        let guard = s.tile_guards.iter().find(|g| g.level == d)?;
        let find = s.nest.levels.get(d + 1)?;
        let Bind::Loop(range) = &find.bind else { return None };
        Some(Skip {
            var: find.var.clone(),
            range: range.clone(),
            conditions: find.conditions.clone(),
            continues: guard.continues.clone(),
        })
    }
}

fn guarded(tests: &[Constraint], restrictions: &[Formula], inner: Block) -> Block {
    if tests.is_empty() && restrictions.is_empty() {
        return inner;
    }
    vec![Node::If { tests: tests.to_vec(), restrictions: restrictions.to_vec(), body: inner }]
}

/// What must hold for anything to be visited: within the outermost loop, all that is walked or searched stores something.
/// Asked before all loops, it costs nothing, and a vector without entries is looked up nowhere.
fn anything_stored(s: &Statement) -> Vec<Constraint> {
    let sizes = || s.space.operands.iter().flat_map(|o| o.params.keys());
    let counted = |a: &Affine| {
        let is_size = |atom: &Atom| matches!(atom, Atom::Var(n) if sizes().any(|size| size == n));
        a.terms().iter().all(|(atom, _)| is_size(atom))
    };
    // Where operands are walked at once, one of them may be enough.
    let depth = s.merged.as_ref().map_or(s.nest.levels.len(), |merged| merged.depth);
    let ranges = s.nest.levels[..depth].iter().filter_map(|level| match &level.bind {
        Bind::Loop(range) => Some(range),
        Bind::Let(_) => None,
    });
    let mut tests = Vec::new();
    for range in ranges.skip(1) {
        let ends = range.lower.iter().flat_map(|l| range.upper.iter().map(move |u| (l, u)));
        let all = ends.map(|(lower, upper)| Constraint::lt(lower.clone(), upper.clone()));
        tests.extend(all.filter(|test| counted(&test.affine) && test.as_bool() != Some(true)));
    }
    tests.dedup();
    tests
}
