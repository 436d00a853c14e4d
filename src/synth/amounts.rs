//! How often the parts of a nest are expected to be visited: formulas over statistics of the data.
//!
//! Before → after, for the rows of a matrix in `csr`:
//!
//! ```text
//! for pA0 in 0..I                                size I
//!   for pA1 in pos_A(pA0)..pos_A(pA0 + 1)        step pos_A, for each of them
//! ```

use indexmap::{IndexMap, IndexSet};

use super::changes::{changes, longest_run};
use super::cost_formula::CostFormula;
use super::sizes::{ASSUMED_EXTENT, Common, Sizes};
use super::statistics::Statistic;
use super::template::QUANTITIES;
use super::{Find, Placement, Plan};
use crate::formula::{Affine, Atom, Constraint, Name, Relop};
use crate::scan::{Bind, Grouped, Level, Nest, Range};

impl From<Statistic> for CostFormula {
    fn from(statistic: Statistic) -> CostFormula {
        CostFormula::Named(statistic.to_string().into())
    }
}

fn size(name: &Name) -> CostFormula {
    Statistic::Size(name.clone()).into()
}

/// Whether a range goes from an element of an array to another one of it.
fn is_segment(range: &Range) -> bool {
    let array_of = |end: &Affine| match end.terms().iter().as_slice() {
        [(Atom::Call(call), 1)] if end.offset() == 0 => Some(call.array.clone()),
        _ => None,
    };
    let (lower, upper) = (&range.lower, &range.upper);
    match (lower.as_slice(), upper.as_slice()) {
        ([lower], [upper]) => array_of(lower).is_some_and(|array| array_of(upper) == Some(array)),
        _ => false,
    }
}

/// A level of a nest, how often it is begun, and how often it goes round in all.
type Rounds<'a> = (&'a Level, CostFormula, CostFormula);

/// The loops of a nest, and the levels with conditions that are none: how often these are asked, and hold.
fn levels_by<'a>(visits: &IndexMap<Name, CostFormula>, nest: &'a Nest) -> Vec<Rounds<'a>> {
    let mut begun = CostFormula::from(1.0);
    let mut out = Vec::new();
    for level in nest.levels.iter().filter(|level| level.is_loop() || level.filters()) {
        let rounds = begun.clone() * visits[&level.var].clone();
        out.push((level, std::mem::replace(&mut begun, rounds.clone()), rounds));
    }
    out
}

impl Sizes {
    /// How many values a range has in loops of so many iterations.
    pub fn span(&self, range: &Range, trips: &IndexMap<Name, CostFormula>) -> CostFormula {
        let spans = range
            .upper
            .iter()
            .flat_map(|u| range.lower.iter().map(|l| self.middle(&(u.clone() - l.clone()), trips)));
        spans.fold(f64::INFINITY.into(), CostFormula::min)
    }

    /// The value of `affine`; loop variables are taken at the middle of their range.
    pub fn middle(&self, affine: &Affine, trips: &IndexMap<Name, CostFormula>) -> CostFormula {
        let mut total = CostFormula::Number(affine.offset() as f64);
        // Differences of one array cancel to segment lengths.
        let mut steps: IndexMap<&Name, (i64, Affine)> = IndexMap::new();
        for (atom, k) in affine.terms() {
            let value = match atom {
                Atom::Var(n) => match trips.get(n) {
                    Some(trip) => trip.clone() / 2.0.into(),
                    None => size(n),
                },
                Atom::Floor(inner, d) => self.middle(inner, trips) / (*d as f64).into(),
                Atom::Call(call) => {
                    // What begins where something else ends differs by as much.
                    let function = self.functions.iter().find(|f| f.name == call.array);
                    let (array, args) = match function {
                        Some(f) => {
                            let args = f.otherwise.args.iter().map(|a| f.at(a, &call.args));
                            (&f.otherwise.array, args.collect())
                        }
                        None => (&call.array, call.args.clone()),
                    };
                    let (weight, entry) = steps.entry(array).or_insert((0, Affine::zero()));
                    *weight += *k;
                    for argument in args {
                        *entry = entry.clone() + argument * *k;
                    }
                    continue;
                }
            };
            total = total + CostFormula::from(*k as f64) * value;
        }
        for (array, (weight, argument)) in steps {
            let moves = trips.keys().any(|name| argument.mentions(name));
            total = total
                + match weight {
                    // Balanced: the length of a segment.
                    0 => {
                        CostFormula::from(Statistic::Step(array.clone()))
                            * self.middle(&argument, trips)
                    }
                    // Any of its elements.
                    _ if moves => {
                        CostFormula::from(Statistic::Mean(array.clone())) * (weight as f64).into()
                    }
                    // The one at this argument.
                    _ => {
                        CostFormula::from(Statistic::Step(array.clone()))
                            * self.middle(&argument, trips)
                    }
                };
        }
        total
    }

    /// The greatest value that `affine` is known to take, over indices.
    fn greatest(&self, affine: &Affine, nest: &Nest) -> Option<CostFormula> {
        let mut total = CostFormula::Number(affine.offset() as f64);
        for (atom, k) in affine.terms() {
            // What is not negative takes nothing away at best.
            if *k < 0 {
                continue;
            }
            let most = match atom {
                Atom::Var(n) => match self.indices.get(n) {
                    Some(extent) => {
                        CostFormula::from(Statistic::Bound(extent.clone())) - 1.0.into()
                    }
                    None => match nest.levels.iter().find(|l| l.var == *n).map(|l| &l.bind) {
                        Some(Bind::Let(value)) => self.greatest(value, nest)?,
                        Some(Bind::Loop(_)) => return None,
                        None => Statistic::Bound(n.clone()).into(),
                    },
                },
                Atom::Floor(inner, d) => self.greatest(inner, nest)? / (*d as f64).into(),
                Atom::Call(_) => return None,
            };
            total = total + CostFormula::from(*k as f64) * most;
        }
        Some(total)
    }

    /// How many iterations each loop variable of `nest` has; of a find, the length of its range.
    pub fn trips_of(&self, nest: &Nest) -> IndexMap<Name, CostFormula> {
        let mut out: IndexMap<Name, CostFormula> = IndexMap::new();
        for level in &nest.levels {
            let trip = match &level.bind {
                Bind::Let(_) => 1.0.into(),
                Bind::Loop(range) => {
                    // A loop whose length is not known is taken to be there; a search of nothing is none, and
                    // segments may have less than one position each.
                    let least = if level.is_find() || is_segment(range) { 0.0 } else { 1.0 };
                    self.span(range, &out).max(least.into())
                }
            };
            out.insert(level.var.clone(), trip);
        }
        out
    }

    /// How often each level of `nest` is visited, each time that the levels around it are: of a find, the number of
    /// its matches.
    pub fn visits_of(&self, nest: &Nest) -> IndexMap<Name, CostFormula> {
        self.visits_by(self.trips_of(nest), nest)
    }

    /// The same from the number of iterations.
    fn visits_by(
        &self,
        mut trips: IndexMap<Name, CostFormula>,
        nest: &Nest,
    ) -> IndexMap<Name, CostFormula> {
        for (at, level) in nest.levels.iter().enumerate().filter(|(_, level)| level.filters()) {
            let length = trips[&level.var].clone();
            let expected = length.clone() / self.choices(level, &length, &trips);
            let matches = match self.common(at, nest) {
                // A sample in which nothing is found says little.
                Some(common) => expected.max(there(common, at, nest, &trips)),
                None if !level.is_loop() => expected,
                None if self.overlap => expected.max(length.min(1.0.into())),
                None => expected,
            };
            trips.insert(level.var.clone(), matches);
        }
        if let (Some(_), Some(shared)) = (self.threads, nest.shared()) {
            let share = trips[&nest.levels[shared].var].clone() / Statistic::Threads.into();
            trips.insert(nest.levels[shared].var.clone(), share.max(1.0.into()));
        }
        trips
    }

    /// What is known to be in common with a tensor that is walked around a find.
    fn common(&self, find: usize, nest: &Nest) -> Option<&Common> {
        let (around, find) = (&nest.levels[..find], &nest.levels[find].var);
        let walked = |name: &Name| around.iter().any(|l| l.var == *name && l.is_loop());
        self.common.iter().find(|c| c.searched.contains(find) && walked(&c.walked))
    }

    /// How often an index begins to have another value that is read in a loop which is not among those `around`: the
    /// runs of equal elements that are read. 1 for any other.
    pub fn runs_of(&self, index: &Name, around: &[Name], nest: &Nest) -> CostFormula {
        let level = nest.levels.iter().find(|l| l.var == *index);
        let Some(Bind::Let(value)) = level.map(|l| &l.bind) else { return 1.0.into() };
        let mut read = false;
        value.visit_calls(&mut |call| {
            read |= !call.args.iter().any(|a| around.iter().any(|loops| a.mentions(loops)));
        });
        match read {
            true => changes(std::slice::from_ref(index), around, nest, &self.visits_of(nest)),
            false => 1.0.into(),
        }
    }

    /// How many iterations the loops of `nest` have, those of finds aside. Those that several at once are asked whether
    /// they do anything count a fifth.
    pub fn iterations_of(&self, nest: &Nest) -> CostFormula {
        /// Of the time of an iteration; what they are asked is priced by itself.
        const PASSED_OVER: f64 = 0.2;
        let loops = self.rounds_of(nest).into_iter().filter(|(level, ..)| goes_round(level));
        let rarely = self.rarely_find_in(nest);
        let groups = self.groups_of(nest);
        loops.enumerate().fold(groups, |all, (k, (_, _, rounds))| match k == 0 && rarely {
            true => all + rounds * PASSED_OVER.into(),
            false => all + rounds,
        })
    }

    /// How often loops of `nest` are begun that do not go round as often as the time before.
    pub fn uneven_of(&self, nest: &Nest) -> CostFormula {
        self.uneven_by(&self.levels_of(nest), nest)
    }

    fn uneven_by(&self, levels: &[Rounds<'_>], nest: &Nest) -> CostFormula {
        let loops = levels.iter().filter(|(level, ..)| level.is_loop() && goes_round(level));
        // Where a group ends is looked for, and then all of it visited.
        loops.fold(self.groups_of(nest), |all, (level, begun, _)| match &level.bind {
            Bind::Loop(range) => all + begun.clone() * self.unevenness(range),
            Bind::Let(_) => all,
        })
    }

    /// How often loops of `nest` are begun.
    pub fn begun_of(&self, nest: &Nest) -> CostFormula {
        self.begun_by(nest, goes_round) + self.groups_of(nest)
    }

    /// How many groups there are of iterations that are taken together.
    fn groups_of(&self, nest: &Nest) -> CostFormula {
        let Some(grouped) = &nest.grouped else { return 0.0.into() };
        let all = self.visits_of(nest)[&nest.levels[grouped.level].var].clone();
        all / self.entries_of(grouped, nest)
    }

    /// How many iterations are in a group.
    pub fn entries_of(&self, grouped: &Grouped, nest: &Nest) -> CostFormula {
        let read = grouped.by.iter().filter_map(|name| nest.level_of(name));
        let runs = read.map(|at| match &nest.levels[at].bind {
            Bind::Let(value) => longest_run(value),
            Bind::Loop(_) => 1.0.into(),
        });
        runs.fold(f64::INFINITY.into(), CostFormula::min).max(1.0.into())
    }

    fn begun_by(&self, nest: &Nest, counts: impl Fn(&Level) -> bool) -> CostFormula {
        let begun = self.rounds_of(nest).into_iter().filter(|(level, ..)| counts(level));
        begun.fold(0.0.into(), |all, (_, begun, _)| all + begun)
    }

    /// The share of the times that a range is not as long as the time before: nothing, unless arrays say how long it is.
    pub fn unevenness(&self, range: &Range) -> CostFormula {
        if constant_length(range).is_some() {
            return 0.0.into();
        }
        let mut out = CostFormula::Number(0.0);
        let mut arrays: Vec<Name> = Vec::new();
        for end in range.lower.iter().chain(&range.upper) {
            end.visit_calls(&mut |call| {
                let function = self.functions.iter().find(|f| f.name == call.array);
                let array = function.map_or(&call.array, |f| &f.otherwise.array);
                if !arrays.contains(array) {
                    arrays.push(array.clone());
                }
            });
        }
        for array in arrays {
            out = out.max(Statistic::Uneven(array).into());
        }
        out
    }

    /// How often a position is searched for in `nest`.
    pub fn queries_of(&self, nest: &Nest) -> CostFormula {
        self.begun_by(nest, Level::is_find)
    }

    /// How often each loop of `nest` is begun, and how often it goes round in all; of a find, the number of its matches.
    fn rounds_of<'a>(&self, nest: &'a Nest) -> Vec<Rounds<'a>> {
        let levels = self.levels_of(nest).into_iter();
        levels.filter(|(level, ..)| level.is_loop()).collect()
    }

    /// The same of all levels; of one with conditions that is no loop, how often they are asked, and hold.
    fn levels_of<'a>(&self, nest: &'a Nest) -> Vec<Rounds<'a>> {
        levels_by(&self.visits_of(nest), nest)
    }

    /// How often it is not foreseen whether the conditions of a level hold that is no loop.
    pub fn unforeseen_of(&self, nest: &Nest) -> CostFormula {
        self.unforeseen_by(&self.levels_of(nest), nest)
    }

    fn unforeseen_by(&self, levels: &[Rounds<'_>], nest: &Nest) -> CostFormula {
        let asked = levels.iter().filter(|(level, ..)| !level.is_loop());
        asked.fold(0.0.into(), |all, (at, asked, hold)| {
            let level = nest.level_of(&at.var).unwrap_or(0);
            let share = hold.clone() / asked.clone().max(1e-9.into());
            all + self.unforeseen(level, nest, share) * asked.clone()
        })
    }

    /// The share of the times that it is not foreseen whether the conditions of a level hold, where they do in a share of
    /// all.
    fn unforeseen(&self, level: usize, nest: &Nest, share: CostFormula) -> CostFormula {
        let others = (CostFormula::from(1.0) - share.clone()).max(0.0.into());
        let turns = self.common(level, nest).map_or(1.0, |common| common.turns);
        share.min(others) * turns.into()
    }

    /// One of so many positions of a range is expected to match: where an index array is compared with an index,
    /// one of those that are filled for each value of that; where elements only tell whether something is there, one of a few; where positions
    /// are bounded on both sides, as many as ranges hold an index, or one in all.
    fn choices(
        &self,
        level: &Level,
        length: &CostFormula,
        trips: &IndexMap<Name, CostFormula>,
    ) -> CostFormula {
        /// Without data, hash tables are between an eighth and a half full.
        const FILLED: f64 = 0.3;
        let mut filled: Option<f64> = None;
        let mut elements_only = true;
        for (atom, _) in level.conditions.iter().flat_map(|c| c.affine.terms()) {
            match atom {
                Atom::Call(call) => filled = filled.or(self.filled.get(&call.array).copied()),
                _ => elements_only = false,
            }
        }
        if elements_only {
            return (1.0 / filled.unwrap_or(FILLED).max(1e-3)).into();
        }
        let extent = |n: &Name| match self.indices.get(n) {
            Some(extent) => size(extent),
            None => ASSUMED_EXTENT.into(),
        };
        let values = |c: &Constraint| {
            let mut indices = c.affine.terms().iter().filter_map(|(atom, _)| match atom {
                Atom::Var(n) if *n != level.var => Some(n),
                _ => None,
            });
            indices.next().map_or(length.clone(), extent).max(1.0.into())
        };
        let mut compared = equalities(level).map(values).peekable();
        match compared.peek().is_some() {
            true => match filled.filter(|filled| *filled < 1.0) {
                Some(filled) => CostFormula::product(compared) / filled.max(1e-3).into(),
                None => CostFormula::product(compared),
            },
            // Bounded on one side, by what a row has, say: half of them.
            false if level.conditions.len() < 2 => 2.0.into(),
            false => match self.range_of_an_index(level, trips) {
                Some((index, values)) => {
                    (extent(&index).max(1.0.into()) / values.max(1e-3.into())).max(1.0.into())
                }
                None => length.clone(),
            },
        }
    }

    /// The index whose range a position says, by arrays of which something is known, and how many values it has there.
    fn range_of_an_index(
        &self,
        level: &Level,
        trips: &IndexMap<Name, CostFormula>,
    ) -> Option<(Name, CostFormula)> {
        let bounds = || level.conditions.iter().filter(|c| c.relop == Relop::Ge).map(|c| &c.affine);
        for lower in bounds() {
            for (atom, k) in lower.terms().iter().filter(|(_, k)| *k > 0) {
                let Atom::Var(index) = atom else { continue };
                let ends = |upper: &&Affine| upper.coefficient(atom) == -*k;
                let Some(upper) = bounds().find(ends).filter(|_| self.indices.contains_key(index))
                else {
                    continue;
                };
                let between = lower.clone() + upper.clone();
                let mut is_known = true;
                between.visit_calls(&mut |call| is_known &= self.means.contains_key(&call.array));
                if is_known {
                    let values = self.middle(&between, trips) / (*k as f64).into();
                    return Some((index.clone(), values + 1.0.into()));
                }
            }
        }
        None
    }

    /// What the formulas of a plan speak of, in the order of [`QUANTITIES`](super::QUANTITIES).
    pub fn quantities_of(
        &self,
        plan: &Plan,
        find: &Find,
        nest: &Nest,
    ) -> [CostFormula; QUANTITIES.len()] {
        let trips = self.trips_of(nest);
        let position = &find.problem.position;
        let length = trips.get(position).cloned().unwrap_or(1.0.into());
        let visits = self.visits_by(trips, nest);
        let level = find.problem.level;
        let filters = nest.levels[..level].iter().filter(|l| !l.is_loop() && l.filters());
        let around = find.problem.loops.iter().chain(filters.map(|l| &l.var));
        let queries = CostFormula::product(around.map(|l| visits[l].clone()));
        let grouped = nest.grouped.as_ref();
        let queries = match grouped.filter(|grouped| nest.is_of_group(level, grouped)) {
            Some(grouped) => queries / self.entries_of(grouped, nest),
            None => queries,
        };
        let begins_with_group =
            grouped.is_some_and(|grouped| plan.begins_with(grouped, level, nest));
        let states = self.states(plan, level, nest, &visits);
        let most = match &plan.placement {
            // Made whether or not anything is asked.
            Some(Placement::Prefix { before }) => {
                let around = nest.levels[..*before].iter().filter(|l| l.is_loop() || l.filters());
                CostFormula::product(around.map(|l| visits[&l.var].clone()))
            }
            _ => queries.clone(),
        };
        let states = states.min(most.max(1.0.into()));
        let matches = match visits.get(position) {
            Some(matches) if plan.many => matches.clone(),
            _ => 0.0.into(),
        };
        let extents = plan.key.iter().map(|part| self.most_values(&part.outer, nest));
        let extents = CostFormula::product(extents);
        let inner = nest.levels.iter().skip(level + 1).any(Level::is_find);
        let guards = CostFormula::from(f64::from(inner || find.problem.is_appended));
        let range = match nest.levels.get(level).map(|level| &level.bind) {
            Some(Bind::Loop(range)) => Some(range),
            _ => None,
        };
        let uneven =
            range.map_or(0.0.into(), |range| self.uneven_ranges(range, level, nest, &visits));
        let ranges = range.map_or(1.0.into(), |range| self.ranges(range, level, nest, &visits));
        let hits = visits.get(position).cloned().unwrap_or(0.0.into()).min(1.0.into());
        let unforeseen = self.unforeseen(level, nest, hits.clone());
        let total = length.clone() * ranges;
        let typical = typical(&length).min(length.clone());
        let repeats = CostFormula::from(1.0) + matches;
        let is_first = grouped.is_some_and(|grouped| grouped.end == level);
        let may_leave = begins_with_group && is_first || plan.may_leave(level, nest);
        let queries = match plan.direction.is_some() && may_leave {
            // Keys and positions lie evenly: what comes behind the last position is not asked for.
            true => {
                let before = typical.clone() / (typical.clone() + 1.0.into());
                queries * before.max(hits.clone())
            }
            false => queries,
        };
        let compared = nest.levels.get(level).map_or(0, compared).max(1);
        let compared = (compared as f64).into();
        let checks =
            matches!(plan.placement, Some(Placement::Reset { .. } | Placement::Array { .. }));
        let checks = f64::from(checks && !begins_with_group).into();
        let scattered = match self.common(level, nest).and_then(|common| common.apart) {
            // What an array keeps for each row is asked for by entries of other rows.
            Some(apart) if !matches!(plan.placement, Some(Placement::Array { .. })) => {
                let there = states.clone() * typical.clone();
                let evenly = there.clone() / (queries.clone() + there).max(1.0.into());
                (CostFormula::from(apart) / evenly.max(1e-9.into())).min(1.0.into())
            }
            _ => 1.0.into(),
        };
        // A sample is not all: some are asked for far from others.
        let beside = self.common(level, nest).map_or(0.0, |common| common.beside).min(0.99);
        let reach = extents.clone() * (1.0 - beside).into();
        let levels = levels_by(&visits, nest);
        let others = self.uneven_by(&levels, nest) + self.unforeseen_by(&levels, nest);
        let alike = match nest.levels.get(level).and_then(|level| equalities(level).next()) {
            Some(_) => {
                let all = queries.clone() + states.clone() * length.clone();
                hits.clone() * queries.clone() * 2.0.into() / all.max(1.0.into())
            }
            // A range that holds something is always found.
            None => 0.0.into(),
        };
        [
            queries, length, repeats, states, extents, guards, uneven, hits, total, typical,
            compared, checks, scattered, unforeseen, reach, others, alike,
        ]
    }

    /// How many values a form that is not negative has at most.
    pub(super) fn most_values(&self, form: &Affine, nest: &Nest) -> CostFormula {
        let greatest = self.greatest(form, nest);
        greatest.map_or(f64::INFINITY.into(), |most| most + 1.0.into())
    }
}

/// The share of its queries for which a find is known to find something, as part of those for which the finds of outer
/// positions of its tensor do.
fn there(
    common: &Common,
    find: usize,
    nest: &Nest,
    visits: &IndexMap<Name, CostFormula>,
) -> CostFormula {
    let mut share = CostFormula::from(common.share);
    let is_last = common.searched.last() == Some(&nest.levels[find].var) && common.share > 0.0;
    for level in nest.levels[..find].iter().filter(|level| is_last && level.filters()) {
        if common.searched.contains(&level.var) {
            share = share / visits[&level.var].clone().max(common.share.into());
        }
    }
    share
}

/// The length of a range, by segments of which a few may be long, as it is without these.
fn typical(length: &CostFormula) -> CostFormula {
    length.renamed(&|name| match Statistic::<Name>::named(name) {
        Some(Statistic::Step(array)) => Some(Statistic::TypicalStep(array).to_string()),
        _ => None,
    })
}

/// Whether a level is a loop, and neither a find nor one that a position which is known goes through once.
fn goes_round(level: &Level) -> bool {
    match &level.bind {
        Bind::Loop(range) => !level.is_find() && constant_length(range) != Some(1),
        Bind::Let(_) => false,
    }
}

/// How many values a range has at most, if a number says so.
fn constant_length(range: &Range) -> Option<i64> {
    let ends = range.upper.iter().flat_map(|u| range.lower.iter().map(move |l| (u, l)));
    ends.filter_map(|(u, l)| (u.clone() - l.clone()).as_constant()).min()
}

/// The conditions of a position that something is equal. Without one, it is that of a range that holds something.
fn equalities(level: &Level) -> impl Iterator<Item = &Constraint> {
    level.conditions.iter().filter(|condition| condition.relop == Relop::Eq)
}

/// How many index arrays say whether a position matches.
fn compared(level: &Level) -> usize {
    let mut arrays: IndexSet<Name> = IndexSet::new();
    for condition in &level.conditions {
        condition.affine.visit_calls(&mut |call| {
            arrays.insert(call.array.clone());
        });
    }
    arrays.len()
}
