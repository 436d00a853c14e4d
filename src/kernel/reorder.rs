//! The order of the loops, where another than the default is expected to cost less.
//!
//! The default order follows how operands are stored. Entries of a result that is assembled may then come in another
//! order than that in which they are appended, and be gathered all at once; or every pair of a row and a column be
//! visited, though few have an entry in common. Where that is expected to cost more than the entries would, orders
//! that begin with the first coordinate of the result are priced, too; of a dense result, all orders. Of a dense result
//! the other direction of each search is priced in any case (`drivers.rs`). The cheapest is taken.

use super::coiterate::Coiterate;
use super::drivers::{
    by_entries, earlier_searches, other_drivers, outer_drivers, walks_what_it_searches,
};
use super::grounds::PricedOrder;
use super::layouts::layouts;
use super::planned::Planned;
use super::request::Request;
use super::wishes::Wishes;
use crate::diagnostic::Result;
use crate::formula::Name;
use crate::iterspace::{Space, Union, Wanted, compose_by};
use crate::loops::Statement;
use crate::prover::Prover;
use crate::scan::outline;
use crate::schedule::{Alternative, Schedule, alternatives, schedule};
use crate::synth::{Sizes, loops_price, searches_price};

/// A plan that takes less than so many nanoseconds for each entry that is read or written is good enough.
const GOOD: f64 = 10.0;

/// Prices are rough: what another order costs must be less than this share of what the first does.
pub const GAIN: f64 = 0.9;

/// There is nothing to gain where a plan takes so few nanoseconds.
pub(super) const LITTLE: f64 = 1_000.0;

/// An order that costs less than this share of a plan that is good enough is planned nevertheless.
const FAR_LESS: f64 = 0.25;

/// Proofs take time: so many other orders are planned in full.
const MOST_PLANNED: usize = 2;

/// Nothing is said about the loops, so that their order is ours to choose.
pub(super) fn is_open(request: &Request) -> bool {
    let said = request.order.len() + request.tiles.len() + request.fused.len();
    let by_finds = matches!(request.coiterate, Coiterate::Auto | Coiterate::Find);
    said == 0 && by_finds && request.workspace.is_none() && !request.default_order
}

/// The cheapest of the plan in the default order and those in others, which `plan` makes.
///
/// # Errors
/// Those of the first plan, unless they are about a find that another order has.
pub(super) fn cheapest_order(
    request: &Request,
    union: Union,
    first: Result<Planned>,
    plan: impl Fn(&Request, &mut dyn Prover) -> Result<Planned>,
    prover: &mut dyn Prover,
) -> Result<Planned> {
    if !is_open(request) {
        return first;
    }
    let galloped = first.as_ref().is_ok_and(is_galloped);
    if !galloped
        && let Ok(planned) = &first
        && let Some(other) = galloped_order(request, union, planned, &plan, prover)?
    {
        return Ok(other);
    }
    let found = match &first {
        Ok(planned) => open_price(request, planned)?.map(|(price, others)| (GAIN * price, others)),
        // The find that is asked for may be one of another order.
        Err(_) if request.forced.iter().any(|(position, _)| position.is_some()) => {
            let free = Request { forced: Vec::new(), ..request.clone() };
            let planned = plan(&free, prover)?;
            open_price(&free, &planned)?.map(|(_, others)| (f64::INFINITY, others))
        }
        Err(_) => None,
    };
    let Some((mut least, others)) = found else { return first };
    // Orders of the indices are tried only where the price is high.
    let good = if others.all { others.good } else { 0.0 };
    let Some(space) = only_space(request, union)? else { return first };
    let mut orders = others.outer;
    let outer = orders.len();
    orders.extend(others.drivers);
    if others.all {
        orders.extend(alternatives(&space, others.first.as_ref()));
    }
    let own = first.as_ref().ok().and_then(|planned| planned.statements().first());
    let mut seen: Vec<Schedule> = own.map(|s| s.schedule().clone()).into_iter().collect();
    let price_of_first = (least / GAIN).is_finite().then_some(least / GAIN);
    let of_order = |schedule: &Schedule, time: Option<f64>, at_least: bool| PricedOrder {
        dims: schedule.dims(),
        time,
        at_least,
    };
    let mut priced: Vec<PricedOrder> =
        seen.iter().map(|schedule| of_order(schedule, price_of_first, false)).collect();
    let mut best = first;
    let mut open = Vec::new();
    for (k, request, wished, schedule) in unseen(request, &space, orders, &mut seen) {
        let Ok(mut visits) = price_of_visits(&request, &wished, &schedule, None) else { continue };
        // What drives leaves few positions to visit of the loops behind it, as only proofs tell.
        if visits >= least && k < outer {
            visits = price_of_visits(&request, &wished, &schedule, Some(prover)).unwrap_or(visits);
        }
        match visits < least {
            true => open.push((visits, request, schedule)),
            false => priced.push(of_order(&schedule, Some(visits), true)),
        }
    }
    // What has few iterations is likely to cost little, and then leaves little to try.
    open.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
    let mut tried = 0;
    for (visits, request, schedule) in open {
        let enough = tried > 0 && least < good && visits > FAR_LESS * least;
        if visits >= least || tried == MOST_PLANNED || enough {
            priced.push(of_order(&schedule, Some(visits), true));
            continue;
        }
        let Ok(planned) = plan(&request, prover) else {
            priced.push(of_order(&schedule, None, false));
            continue;
        };
        tried += 1;
        let price = planned.price()?;
        priced.push(of_order(&schedule, Some(price), false));
        if price < least && (!galloped || is_galloped(&planned)) {
            (least, best) = (price, Ok(planned));
        }
    }
    if let Ok(planned) = &mut best {
        planned.grounds.orders = priced;
    }
    best
}

/// Whether steps grow where a position is sought of each operand of which that is asked.
fn is_galloped(planned: &Planned) -> bool {
    planned.statements().iter().all(|statement| {
        let finds = || statement.finds().iter().zip(statement.chosen());
        let asked = statement.space().operands.iter().filter(|o| o.gallops);
        asked.map(|o| &o.positions).all(|positions| {
            finds().any(|(find, plan)| {
                plan.template.gallops && positions.contains(&find.problem.position)
            })
        })
    })
}

/// The cheapest plan of an order in which that is so, where an operand drives through which is to be galloped: what
/// drives is searched, and what was searched drives.
fn galloped_order(
    request: &Request,
    union: Union,
    first: &Planned,
    plan: &impl Fn(&Request, &mut dyn Prover) -> Result<Planned>,
    prover: &mut dyn Prover,
) -> Result<Option<Planned>> {
    let Some(statement) = only_nest(first) else { return Ok(None) };
    let nest = statement.nest();
    let drives = |p: &Name| nest.levels.iter().any(|level| level.var == *p && level.is_loop());
    let mut asked = statement.space().operands.iter().filter(|o| o.gallops);
    if !asked.any(|o| o.positions.iter().any(drives)) {
        return Ok(None);
    }
    let Some(space) = only_space(request, union)? else { return Ok(None) };
    let mut seen = vec![statement.schedule().clone()];
    let mut best: Option<(f64, Planned)> = None;
    let orders = [drivers(statement), outer(statement)].concat();
    let unseen = unseen(request, &space, orders, &mut seen);
    for (_, request, ..) in unseen.into_iter().take(MOST_PLANNED) {
        let Ok(planned) = plan(&request, prover) else { continue };
        let price = planned.price()?;
        if is_galloped(&planned) && best.as_ref().is_none_or(|(least, _)| price < *least) {
            best = Some((price, planned));
        }
    }
    Ok(best.map(|(_, planned)| planned))
}

/// Which other orders are worth a price.
struct Orders {
    /// Those in which what is searched drives.
    drivers: Vec<Alternative>,
    /// Those in which it drives several loops.
    outer: Vec<Alternative>,
    /// Those of the indices: of a result that is assembled, those that begin with its first coordinate.
    all: bool,
    /// The index of that.
    first: Option<Name>,
    /// A price that leaves nothing to look for.
    good: f64,
}

/// The statement of a plan that is one nest, in which nothing is looked up or walked at once.
pub(super) fn only_nest(planned: &Planned) -> Option<&Statement> {
    let [statement] = planned.statements() else { return None };
    (statement.lookups().is_empty() && statement.merged().is_none()).then_some(statement)
}

/// What a plan of one statement is expected to cost, in nanoseconds, and the orders that may cost less, if there are
/// any.
fn open_price(request: &Request, planned: &Planned) -> Result<Option<(f64, Orders)>> {
    let Some(statement) = only_nest(planned) else { return Ok(None) };
    let assembled = planned.assembled().is_some();
    // Without data, what is walked and what is searched look alike.
    let searches =
        statement.finds().iter().any(|find| find.plans().any(|p| !p.template.closed_form))
            || walks_what_it_searches(statement.nest());
    let known = request.sizes.are_known();
    if !assembled && (!known || !searches) {
        return Ok(None);
    }
    let price = planned.price()?;
    if price < LITTLE {
        return Ok(None);
    }
    let threads = request.sizes.threads.unwrap_or(1) as f64;
    let good = GOOD * entries(statement, &request.sizes) / threads;
    // Loops that run twice may run once in another order.
    let all = price > good || planned.counts_entries();
    let first = planned.assembled().and_then(|how| {
        let first = how.appending.order.first()?;
        statement.space().output().subscripts[*first].as_var().cloned()
    });
    let (drivers, outer) = (drivers(statement), outer(statement));
    let any = all || !drivers.is_empty() || !outer.is_empty();
    Ok(any.then_some((price, Orders { drivers, outer, all, first, good })))
}

/// The orders of a statement in which something else drives.
fn drivers(statement: &Statement) -> Vec<Alternative> {
    let (nest, space) = (statement.nest(), statement.space());
    let orders = other_drivers(nest, space).into_iter().chain(earlier_searches(nest));
    orders.map(Alternative::from).chain(by_entries(nest, space)).collect()
}

/// Those in which it drives several loops.
fn outer(statement: &Statement) -> Vec<Alternative> {
    outer_drivers(statement.nest(), statement.space()).into_iter().map(Alternative::from).collect()
}

impl Planned {
    /// Orders of the loops of this plan in which what it searches drives, or the entries of a tensor are one list: to
    /// be asked for (`Kernel::order`, `Kernel::fuse`). None of what is not one nest with a dense result.
    pub fn other_orders(&self) -> Vec<Alternative> {
        let open = only_nest(self).filter(|_| self.assembled().is_none());
        let all = |statement| drivers(statement).into_iter().chain(outer(statement)).collect();
        open.map(all).unwrap_or_default()
    }
}

/// How many entries a statement reads and writes.
pub(super) fn entries(statement: &Statement, sizes: &Sizes) -> f64 {
    let sizes = &sizes.on_one_thread();
    let trips = sizes.trips(statement.nest());
    let stored =
        |positions: &[Name]| positions.iter().filter_map(|p| trips.get(p)).product::<f64>();
    let operands = statement.space().present().map(|o| stored(&o.positions));
    operands.sum::<f64>() + statement.updates(sizes)
}

/// The space of a statement that has one.
fn only_space(request: &Request, union: Union) -> Result<Option<Space>> {
    let program = request.program()?;
    let request = &request.with_leaves(&program)?;
    let found = layouts(request, &program)?;
    let wanted = Wanted { union, assembles: found.result.is_some(), ..request.wanted(&program)? };
    let mut spaces = compose_by(&program, &found.composed, &wanted)?;
    let only = spaces.pop().filter(|_| spaces.is_empty());
    Ok(only.filter(|space| space.lookups.is_empty() && !space.merges))
}

/// The orders that are not among those that were `seen`, each by its number, with what is asked for then. Some orders of
/// indices are one order of loops, which is scanned once.
fn unseen(
    request: &Request,
    space: &Space,
    orders: Vec<Alternative>,
    seen: &mut Vec<Schedule>,
) -> Vec<(usize, Request, Space, Schedule)> {
    let mut out = Vec::new();
    for (k, other) in orders.into_iter().enumerate() {
        let request = Request { order: other.order, fused: other.fused, ..request.clone() };
        match scheduled(&request, space) {
            Ok((wished, schedule)) if !seen.contains(&schedule) => {
                seen.push(schedule.clone());
                out.push((k, request, wished, schedule));
            }
            _ => {}
        }
    }
    out
}

/// The space and the order of its loops that are asked for.
fn scheduled(request: &Request, space: &Space) -> Result<(Space, Schedule)> {
    let mut space = space.clone();
    let own = Wishes::of(request, std::slice::from_ref(&space)).within(&mut space)?;
    let schedule = schedule(&space, &own)?;
    Ok((space, schedule))
}

/// What the iterations of the loops of an order are expected to cost, and at least what is searched in them.
fn price_of_visits(
    request: &Request,
    space: &Space,
    schedule: &Schedule,
    prover: Option<&mut dyn Prover>,
) -> Result<f64> {
    let nest = outline(space, schedule, prover)?;
    let sizes = &request.sizes;
    let (uneven, begun) = (sizes.uneven_in(&nest), sizes.begun_in(&nest));
    let unforeseen = sizes.value(&sizes.unforeseen_of(&nest));
    let amounts = [sizes.iterations(&nest), 0.0, 0.0, uneven, begun, 0.0, unforeseen];
    let loops = loops_price(amounts, &sizes.machine)?;
    Ok(loops + searches_price(sizes.queries(&nest), &sizes.machine)?)
}
