//! Runs a nest on an instance, its finds by scanning or by proved plans, as the templates say.

use std::collections::HashMap;

use siskin::formula::{Affine, Formula};
use siskin::scan::{Bind, Nest};
use siskin::synth::{Direction, Placement, Plan};

use super::instance::Instance;

/// One run; `plans[level]` replaces the scan of that level.
pub struct Execution<'a> {
    pub nest: &'a Nest,
    pub plans: HashMap<usize, &'a Plan>,
    pub instance: Instance,
    /// The values of all dimensions at each visit, in order.
    pub visited: Vec<Vec<i64>>,
    states: HashMap<(usize, Vec<i64>), State>,
}

#[derive(Clone, Default)]
struct State {
    /// Values of the reset indices; `None` before the first query.
    seen: Option<Vec<i64>>,
    cursor: i64,
    table: HashMap<Vec<i64>, Vec<i64>>,
}

/// The visits of `nest`.
pub fn run(nest: &Nest, plans: HashMap<usize, &Plan>, instance: &Instance) -> Vec<Vec<i64>> {
    let mut execution = Execution {
        nest,
        plans,
        instance: instance.clone(),
        visited: Vec::new(),
        states: HashMap::new(),
    };
    if execution.all(&nest.guards) {
        execution.level(0);
    }
    execution.visited
}

impl Execution<'_> {
    fn all(&self, constraints: &[siskin::formula::Constraint]) -> bool {
        constraints.iter().all(|c| c.holds(&self.instance).unwrap_or_else(|| panic!("{c} unknown")))
    }

    fn truth(&self, f: &Formula) -> bool {
        f.holds(&self.instance).unwrap_or_else(|| panic!("{f} unknown"))
    }

    fn level(&mut self, d: usize) {
        let nest = self.nest;
        let Some(level) = nest.levels.get(d) else {
            let tuple = nest.levels.iter().map(|l| self.instance.vars[&l.var]).collect();
            self.visited.push(tuple);
            return;
        };
        let value = |e: &Self, a: &Affine| {
            Affine::value(a, &e.instance).unwrap_or_else(|| panic!("{a} unknown"))
        };
        match &level.bind {
            Bind::Let(e) => {
                let v = value(self, e);
                self.at(d, v);
            }
            Bind::Loop { lower, upper } => {
                let lo = lower.iter().map(|l| value(self, l)).max().unwrap();
                let hi = upper.iter().map(|u| value(self, u)).min().unwrap();
                match self.plans.get(&d).copied() {
                    Some(plan) => self.find(d, plan, lo, hi),
                    None => (lo..hi).for_each(|v| {
                        self.at(d, v);
                    }),
                }
            }
        }
        self.instance.vars.remove(&level.var);
    }

    /// Binds level `d` to `v` and goes on if its tests hold.
    fn at(&mut self, d: usize, v: i64) -> bool {
        let level = &self.nest.levels[d];
        self.instance.vars.insert(level.var.clone(), v);
        let go = self.all(&level.guards)
            && level.restrictions.iter().all(|r| self.truth(r))
            && self.all(&level.conditions);
        if go {
            self.level(d + 1);
        }
        go
    }

    /// Binds level `d` to `v` without testing its conditions: the template found it.
    fn body(&mut self, d: usize, v: i64) {
        let level = &self.nest.levels[d];
        self.instance.vars.insert(level.var.clone(), v);
        if self.all(&level.guards) && level.restrictions.iter().all(|r| self.truth(r)) {
            self.level(d + 1);
        }
    }

    fn bind(&mut self, d: usize, v: i64) {
        self.instance.vars.insert(self.nest.levels[d].var.clone(), v);
    }

    fn continues(&mut self, d: usize, plan: &Plan, v: i64) -> bool {
        self.bind(d, v);
        self.truth(plan.continues.as_ref().expect("an ordering"))
    }

    fn matches(&mut self, d: usize, v: i64) -> bool {
        self.bind(d, v);
        self.all(&self.nest.levels[d].conditions)
    }

    fn find(&mut self, d: usize, plan: &Plan, lo: i64, hi: i64) {
        if !plan.template.state {
            return match plan.template.ordering {
                true => self.halve(d, plan, lo, hi),
                false => (lo..hi).for_each(|v| {
                    self.at(d, v);
                }),
            };
        }
        let placement = plan.placement.clone().expect("a place for the state");
        let (before, indices) = match &placement {
            Placement::Prefix { before } => (*before, Vec::new()),
            Placement::Reset { before, indices } | Placement::Array { before, indices } => {
                (*before, indices.clone())
            }
        };
        let mut key = vec![d as i64];
        key.extend(self.nest.levels[..before].iter().map(|l| self.instance.vars[&l.var]));
        let inner: Vec<i64> = indices.iter().map(|n| self.instance.vars[n]).collect();
        if let Placement::Array { .. } = placement {
            key.extend(&inner);
        }
        let mut state = self.states.remove(&(d, key.clone())).unwrap_or_default();
        if state.seen.as_ref() != Some(&inner) {
            state = State { seen: Some(inner), ..State::default() };
            let down = plan.direction == Some(Direction::Down);
            state.cursor = if down { hi } else { lo };
            if plan.template.key {
                for v in lo..hi {
                    self.bind(d, v);
                    let entry: Vec<i64> =
                        plan.key.iter().map(|k| k.inner.value(&self.instance).unwrap()).collect();
                    state.table.entry(entry).or_default().push(v);
                }
            }
        }
        if plan.template.key {
            let wanted: Vec<i64> =
                plan.key.iter().map(|k| k.outer.value(&self.instance).unwrap()).collect();
            let found = state.table.get(&wanted).cloned().unwrap_or_default();
            assert!(plan.many || found.len() <= 1, "several positions with key {wanted:?}");
            found.into_iter().for_each(|v| self.body(d, v));
        } else {
            self.walk(d, plan, &mut state.cursor, lo, hi);
        }
        self.states.insert((d, key), state);
    }

    fn halve(&mut self, d: usize, plan: &Plan, lo: i64, hi: i64) {
        let (mut first, mut len) = (lo, (hi - lo).max(0));
        while len > 0 {
            let half = len / 2;
            if self.continues(d, plan, first + half) {
                first += half + 1;
                len -= half + 1;
            } else {
                len = half;
            }
        }
        while first < hi && self.matches(d, first) {
            self.body(d, first);
            first += 1;
            if !plan.many {
                break;
            }
        }
    }

    /// The cursor is the next position going up, and one past it going down.
    fn walk(&mut self, d: usize, plan: &Plan, cursor: &mut i64, lo: i64, hi: i64) {
        let down = plan.direction == Some(Direction::Down);
        let place = |c: i64| if down { c - 1 } else { c };
        let next = |c: i64| if down { c - 1 } else { c + 1 };
        let inside = |c: i64| if down { c > lo } else { c < hi };
        while inside(*cursor) && self.continues(d, plan, place(*cursor)) {
            *cursor = next(*cursor);
        }
        let mut at = *cursor;
        while inside(at) && self.matches(d, place(at)) {
            self.body(d, place(at));
            at = next(at);
            if !plan.many {
                break;
            }
        }
        if plan.resume {
            *cursor = at;
        }
    }
}
