//! The cheapest proved template, from the cost formulas of the templates and what is known of sizes.

use indexmap::IndexMap;

use super::machine::{Machine, price};
use super::template::QUANTITIES;
use super::{Find, Plan, Proved};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Atom, Constraint, Name, Relop};
use crate::scan::{Bind, Level, Nest};

/// Known or assumed sizes.
#[derive(Clone, Debug, Default)]
pub struct Sizes {
    /// Values of extents and size parameters.
    pub params: IndexMap<Name, f64>,
    /// The extents of indices.
    pub indices: IndexMap<Name, f64>,
    /// Mean difference of consecutive elements of an index array: the length of a segment.
    pub steps: IndexMap<Name, f64>,
    /// Number of maximal ranges of equal elements of an index array: how often a state that belongs
    /// to its value changes.
    pub runs: IndexMap<Name, f64>,
    /// The bytes that the state of a search, or a workspace, may take, if that is asked for.
    pub workspace_limit: Option<f64>,
    /// The constants of the machine.
    pub machine: Machine,
}

/// Without data: square-ish matrices with ten entries a row.
const ASSUMED_EXTENT: f64 = 10_000.0;
const ASSUMED_SEGMENT: f64 = 10.0;
/// What takes more bytes is the last choice, if nothing is asked.
const MOST_MEMORY: f64 = 2e9;

impl Sizes {
    /// What takes more bytes is the last choice.
    pub fn most_memory(&self) -> f64 {
        self.workspace_limit.unwrap_or(MOST_MEMORY)
    }

    /// Refuses what takes more bytes than is asked for.
    ///
    /// # Errors
    /// [`Code::Find`], with the remedy.
    pub fn refuse_above_limit(&self, what: &str, bytes: f64) -> Result<()> {
        match self.workspace_limit {
            Some(limit) if bytes > limit => {
                let bytes = match bytes.is_finite() {
                    true => format!("about {bytes:.0} bytes"),
                    false => "as many bytes as an extent that is not known".to_string(),
                };
                Err(Diagnostic::new(Code::Find, format!("{what} would take {bytes}"))
                    .help(format!("`--workspace-limit` allows {limit}: raise it, or leave it out")))
            }
            _ => Ok(()),
        }
    }

    /// The value of an extent, or what is assumed of it.
    pub fn extent(&self, name: &Name) -> f64 {
        self.params.get(name).copied().unwrap_or(ASSUMED_EXTENT)
    }

    /// The mean difference of consecutive elements of an index array, or what is assumed of it.
    pub fn segment(&self, array: &Name) -> f64 {
        self.steps.get(array).copied().unwrap_or(ASSUMED_SEGMENT)
    }

    /// Estimated value of `affine`; loop variables are taken at the middle of their range.
    fn estimate(&self, affine: &Affine, trips: &IndexMap<Name, f64>) -> f64 {
        let mut total = affine.offset() as f64;
        // Differences of one array cancel to segment lengths.
        let mut steps: IndexMap<Name, (i64, f64)> = IndexMap::new();
        for (atom, k) in affine.terms() {
            let c = *k as f64;
            match atom {
                Atom::Var(n) => {
                    total += c * match (self.params.get(n), trips.get(n)) {
                        (Some(value), _) => *value,
                        (None, Some(trip)) => trip / 2.0,
                        (None, None) => ASSUMED_EXTENT,
                    };
                }
                Atom::Floor(inner, d) => total += c * self.estimate(inner, trips) / *d as f64,
                Atom::Call(call) => {
                    let argument: f64 = call.args.iter().map(|a| self.estimate(a, trips)).sum();
                    let entry = steps.entry(call.array.clone()).or_insert((0, 0.0));
                    entry.0 += k;
                    entry.1 += c * argument;
                }
            }
        }
        for (array, (balance, weighted)) in steps {
            // Balanced: a segment length. Unbalanced: the value at the weighted argument.
            let _ = balance;
            total += self.segment(&array) * weighted;
        }
        total
    }

    /// The greatest value that `affine` is known to take, over indices.
    fn most(&self, affine: &Affine, nest: &Nest) -> Option<f64> {
        let mut total = affine.offset() as f64;
        for (atom, k) in affine.terms() {
            let most = match atom {
                Atom::Var(n) => match (self.indices.get(n), self.params.get(n)) {
                    (Some(extent), _) => extent - 1.0,
                    (None, Some(value)) => *value,
                    (None, None) => match nest.levels.iter().find(|l| l.var == *n).map(|l| &l.bind)
                    {
                        Some(Bind::Let(value)) => self.most(value, nest)?,
                        _ => return None,
                    },
                },
                Atom::Floor(inner, d) => (self.most(inner, nest)? / *d as f64).floor(),
                Atom::Call(_) => return None,
            };
            // What is not negative takes nothing away at best.
            total += (*k as f64 * most).max(0.0);
        }
        Some(total)
    }

    /// Estimated number of iterations of each loop variable of `nest`; of a find, the length of its range.
    pub fn trips(&self, nest: &Nest) -> IndexMap<Name, f64> {
        let mut out: IndexMap<Name, f64> = IndexMap::new();
        for level in &nest.levels {
            let trip = match &level.bind {
                Bind::Let(_) => 1.0,
                Bind::Loop(range) => {
                    let spans = range.upper.iter().flat_map(|u| {
                        range.lower.iter().map(|l| self.estimate(&(u.clone() - l.clone()), &out))
                    });
                    // A loop whose length is not known is taken to be there; a search of nothing is none.
                    let least = if level.is_find() { 0.0 } else { 1.0 };
                    spans.fold(f64::INFINITY, f64::min).max(least)
                }
            };
            out.insert(level.var.clone(), trip);
        }
        out
    }

    /// How often each level of `nest` is expected to be visited, each time that the levels around it are: of a
    /// find, the number of its matches.
    pub fn visits(&self, nest: &Nest) -> IndexMap<Name, f64> {
        let mut out = self.trips(nest);
        for level in nest.levels.iter().filter(|level| level.is_find()) {
            let length = out[&level.var];
            out.insert(level.var.clone(), length / self.choices(level, length));
        }
        out
    }

    /// How many iterations the loops of `nest` are expected to have, those of finds aside.
    pub fn iterations(&self, nest: &Nest) -> f64 {
        let visits = self.visits(nest);
        let (mut around, mut all) = (1.0, 0.0);
        for level in nest.levels.iter().filter(|level| level.is_loop()) {
            around *= visits[&level.var];
            all += if level.is_find() { 0.0 } else { around };
        }
        all
    }

    /// One of so many positions of a range is expected to match: where an index array is compared with an index,
    /// one for each value of that; where positions are bounded, one in all.
    fn choices(&self, level: &Level, length: f64) -> f64 {
        let values = |c: &Constraint| {
            let mut indices = c.affine.terms().iter().filter_map(|(atom, _)| match atom {
                Atom::Var(n) if *n != level.var => Some(n),
                _ => None,
            });
            let extent = |n: &Name| self.indices.get(n).copied().unwrap_or(ASSUMED_EXTENT);
            indices.next().map_or(length, extent).max(1.0)
        };
        let equal = |c: &&Constraint| c.relop == Relop::Eq;
        let mut compared = level.conditions.iter().filter(equal).map(values).peekable();
        if compared.peek().is_some() { compared.product() } else { length }
    }
}

/// What is expected of a find with one of its plans.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The values of [`QUANTITIES`], in their order.
    pub quantities: [f64; 6],
    /// Nanoseconds.
    pub time: f64,
    /// The bytes of its state.
    pub memory: f64,
}

/// What a plan of `find` is expected to take.
pub fn estimate(plan: &Plan, find: &Find, nest: &Nest, sizes: &Sizes) -> Estimate {
    let quantities = quantities(plan, find, nest, sizes);
    let named: Vec<(&str, f64)> = QUANTITIES.into_iter().zip(quantities).collect();
    let priced = |formula| price(formula, &named, &sizes.machine);
    let memory = plan.template.memory.as_ref().map_or(0.0, priced);
    Estimate { quantities, time: priced(&plan.template.cost), memory }
}

/// Estimated time of a plan in nanoseconds.
pub fn cost(plan: &Plan, find: &Find, nest: &Nest, sizes: &Sizes) -> f64 {
    estimate(plan, find, nest, sizes).time
}

/// The values of [`QUANTITIES`].
fn quantities(plan: &Plan, find: &Find, nest: &Nest, sizes: &Sizes) -> [f64; 6] {
    let visits = sizes.visits(nest);
    let position = &find.problem.position;
    let queries: f64 = find.problem.loops.iter().map(|l| visits[l]).product();
    let length = sizes.trips(nest).get(position).copied().unwrap_or(1.0);
    let states: f64 = plan
        .state
        .iter()
        .map(|n| values(n, nest, &visits, sizes))
        .product::<f64>()
        .min(queries.max(1.0));
    let others = if plan.many { visits.get(position).copied().unwrap_or(0.0) } else { 0.0 };
    let extents = plan
        .key
        .iter()
        .map(|part| sizes.most(&part.outer, nest).map_or(f64::INFINITY, |most| most + 1.0));
    let inner = nest.levels.iter().skip(find.problem.level + 1).any(Level::is_find);
    [queries, length, 1.0 + others, states, extents.product(), f64::from(inner)]
}

/// How many values a state index takes: the iterations of a loop, or the runs of an index array.
fn values(index: &Name, nest: &Nest, trips: &IndexMap<Name, f64>, sizes: &Sizes) -> f64 {
    let trip = |n: &Name| trips.get(n).copied().unwrap_or(1.0).max(1.0);
    let level = nest.levels.iter().find(|l| l.var == *index);
    let Some(Bind::Let(e)) = level.map(|l| &l.bind) else { return trip(index) };
    let mut most: f64 = 1.0;
    e.visit_calls(&mut |call| {
        let mut reads = 1.0;
        call.args.iter().for_each(|a| a.visit_vars(&mut |n| reads *= trip(n)));
        let runs = sizes.runs.get(&call.array).copied().unwrap_or(reads / ASSUMED_SEGMENT);
        most = most.max(runs.min(reads));
    });
    most
}

/// The cheapest proved plan of `find` that does not take too much memory; of those whose steps grow, if it is to
/// gallop and there are any.
pub fn cheapest<'a>(
    find: &'a Find,
    nest: &Nest,
    sizes: &Sizes,
    gallops: bool,
) -> Result<&'a Proved<Plan>> {
    cheapest_of(find, nest, sizes, gallops, &|_| true)
}

/// [`cheapest`] of those that are `allowed`; of all, if none is.
fn cheapest_of<'a>(
    find: &'a Find,
    nest: &Nest,
    sizes: &Sizes,
    gallops: bool,
    allowed: &dyn Fn(&Plan) -> bool,
) -> Result<&'a Proved<Plan>> {
    let grows = |plan: &&Proved<Plan>| plan.template.gallops;
    let gallops = gallops && find.plans().any(|plan| grows(&plan));
    let all_allowed = !find.plans().any(|plan| allowed(plan));
    let mut best: Option<((bool, f64), &Proved<Plan>)> = None;
    let wanted = find.plans().filter(|plan| !gallops || grows(plan));
    for plan in wanted.filter(|plan| all_allowed || allowed(plan)) {
        let Estimate { time, memory, .. } = estimate(plan, find, nest, sizes);
        let large = memory > sizes.most_memory();
        let rank = (large, if large { memory } else { time });
        if best.is_none_or(|(least, _)| rank < least) {
            best = Some((rank, plan));
        }
    }
    let Some(((large, rank), plan)) = best else {
        let what = format!("no template finds {}", find.problem.describe());
        return Err(Diagnostic::new(Code::Find, what)
            .help("a template without obligations (a plain scan) must be installed"));
    };
    if large {
        let (name, problem) = (&plan.template.name, &find.problem);
        sizes.refuse_above_limit(&format!("`{name}` for {}", problem.describe()), rank)?;
    }
    Ok(plan)
}

/// The cheapest plans of all finds of `nest`. Values are spread over their coordinates only if those that are searched
/// for within are so, too: plans of which some are and some not would be tables that are larger than others. Then either
/// all are spread, or none is.
///
/// # Errors
/// Those of [`cheapest`].
pub fn cheapest_together(
    finds: &[Find],
    nest: &Nest,
    sizes: &Sizes,
    gallops: &dyn Fn(&Find) -> bool,
) -> Result<Vec<Proved<Plan>>> {
    let all = |allowed: &dyn Fn(&Plan) -> bool| -> Result<Vec<Proved<Plan>>> {
        let one = |find| Ok(cheapest_of(find, nest, sizes, gallops(find), allowed)?.clone());
        finds.iter().map(one).collect()
    };
    let free = all(&|_| true)?;
    if !spreads_in_part(finds, &free) {
        return Ok(free);
    }
    let price = |plans: &[Proved<Plan>]| -> f64 {
        finds.iter().zip(plans).map(|(find, plan)| cost(plan, find, nest, sizes)).sum()
    };
    let none = all(&|plan| !plan.template.values)?;
    let spread = all(&|plan| plan.template.values)?;
    let is_cheaper = price(&spread) < price(&none) && !spreads_in_part(finds, &spread);
    Ok(if is_cheaper { spread } else { none })
}

/// Whether the values of a find are spread, and not those of one that is within.
fn spreads_in_part(finds: &[Find], plans: &[Proved<Plan>]) -> bool {
    let all = || finds.iter().zip(plans);
    let mut spread = all().filter(|(_, plan)| plan.template.values);
    spread.any(|(outer, _)| {
        let within = |find: &Find| find.problem.loops.contains(&outer.problem.position);
        let searched = |plan: &Plan| !plan.template.values && !plan.template.closed_form;
        all().any(|(inner, plan)| within(inner) && searched(plan))
    })
}
