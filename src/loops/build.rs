//! From the nests of all pieces to one tree.

use std::rc::Rc;

use super::join;
use super::statement::Statement;
use super::tree::{Among, Block, Find, Loop, Loops, Node, Place, Search, SearchId, Skip, Update};
use crate::formula::{Constraint, Formula, Name};
use crate::iterspace::Operand;
use crate::scan::{Bind, Level, Nest};
use crate::synth::{self, Placement, Plan};

/// The tree of all statements; those that run over the same positions share their loops.
pub fn build(statements: &[Statement]) -> Loops {
    let mut loops = Loops { body: Vec::new(), finds: Vec::new() };
    let mut pieces = Vec::new();
    for s in statements {
        let mut builder = Builder {
            statement: s,
            first: loops.finds.len(),
            params: Rc::new(s.space.params()),
            loops: &mut loops,
        };
        pieces.push(builder.piece());
    }
    join::join(&mut loops, pieces, statements);
    loops
}

struct Builder<'a> {
    statement: &'a Statement,
    /// The number of the statement's first search.
    first: usize,
    params: Rc<Vec<Name>>,
    loops: &'a mut Loops,
}

impl Builder<'_> {
    fn piece(&mut self) -> Block {
        let s = self.statement;
        if s.nest.is_nothing() {
            return Vec::new();
        }
        for (find, plan) in s.finds.iter().zip(&s.chosen) {
            self.loops.finds.push(Find {
                leave: may_leave(&s.nest, find, plan),
                find: Rc::new(find.clone()),
                plan: plan.clone(),
                params: self.params.clone(),
                renamed: Vec::new(),
            });
        }
        let inner = self.level(0);
        guarded(&s.nest.guards, &[], inner)
    }

    fn level(&mut self, d: usize) -> Block {
        let s = self.statement;
        let Some(level) = s.nest.levels.get(d) else { return vec![self.update()] };
        let parallel = s.parallel.filter(|p| p.level == d);
        let is_ours = |plan: &Plan| parallel.is_none() || is_shared(plan);
        let mut out = self.states_before(d, is_ours);
        if let Some(k) = s.finds.iter().position(|f| f.problem.level == d) {
            let id = SearchId((self.first + k) as u32);
            let among = match &level.bind {
                Bind::Let(e) => Among::One(e.clone()),
                Bind::Loop(range) => Among::Range(range.clone()),
            };
            let inner = self.level(d + 1);
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
                let inner = self.level(d + 1);
                out.extend(self.tested(level, inner));
            }
            Bind::Loop(range) => {
                let setup = match parallel {
                    None => Vec::new(),
                    // Each thread meets its iterations in order: what holds between any two of
                    // them, earlier and later, holds between its own, so its state may live as long
                    // as it does.
                    Some(_) => self.states_before(d, |plan| !is_shared(plan)),
                };
                let inner = self.level(d + 1);
                let body = self.tested(level, inner);
                out.push(Node::For(Box::new(Loop {
                    var: level.var.clone(),
                    range: range.clone(),
                    parallel: parallel.map(|p| p.private),
                    setup,
                    skip: self.skip(d),
                    body,
                })));
            }
        }
        out
    }

    fn tested(&self, level: &Level, inner: Block) -> Block {
        let mut tests = level.guards.clone();
        tests.extend(level.conditions.iter().cloned());
        guarded(&tests, &level.restrictions, inner)
    }

    fn states_before(&self, d: usize, select: impl Fn(&Plan) -> bool) -> Block {
        let s = self.statement;
        let mut out = Vec::new();
        for (k, (find, plan)) in s.finds.iter().zip(&s.chosen).enumerate() {
            let place = match &plan.placement {
                Some(
                    Placement::Prefix { before }
                    | Placement::Reset { before, .. }
                    | Placement::Array { before, .. },
                ) => *before,
                None => continue,
            };
            // Private state of a parallel loop is set up by each thread.
            let place = match s.parallel {
                Some(p) if !is_shared(plan) && find.problem.level > p.level => place.max(p.level),
                _ => place,
            };
            if place == d && select(plan) {
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

    fn update(&self) -> Node {
        let space = &self.statement.space;
        let place =
            |o: &Operand| Place { array: o.value_array.clone(), index: o.value_index.clone() };
        Node::Update(Box::new(Update {
            target: place(space.output()),
            factors: space.factors().map(place).collect(),
            coefficient: space.coefficient.clone(),
            text: space.text.clone(),
        }))
    }
}

fn guarded(tests: &[Constraint], restrictions: &[Formula], inner: Block) -> Block {
    if tests.is_empty() && restrictions.is_empty() {
        return inner;
    }
    vec![Node::If { tests: tests.to_vec(), restrictions: restrictions.to_vec(), body: inner }]
}

/// State that no query changes may be shared between threads.
fn is_shared(plan: &Plan) -> bool {
    plan.template.shared && matches!(plan.placement, Some(Placement::Prefix { .. }))
}

/// True if the innermost loop around the find does nothing but query it, and all its queries share
/// one state: when that state has no position left, the rest of the loop finds nothing.
fn may_leave(nest: &Nest, find: &synth::Find, plan: &Plan) -> bool {
    let around = (0..find.problem.level).rev().find(|&d| nest.levels[d].is_loop());
    // The body of another find is no loop of its own.
    let Some(around) = around.filter(|&d| !nest.levels[d].is_find()) else { return false };
    let outside = |n: &Name| nest.level_of(n).is_some_and(|level| level < around);
    match &plan.placement {
        None => false,
        Some(Placement::Prefix { before }) => *before <= around,
        Some(Placement::Reset { before, indices }) => {
            *before <= around && indices.iter().all(outside)
        }
        Some(Placement::Array { before, indices }) => {
            *before <= around && indices.iter().all(|index| outside(&index.name))
        }
    }
}
