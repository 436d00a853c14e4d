//! The order of the loops around a result that is assembled.
//!
//! The default order follows how operands are stored. Entries may then come in another order than that in which
//! they are appended, and be gathered all at once; or every pair of a row and a column be visited, though few have
//! an entry in common. Where that is expected to cost more than the entries would, orders that begin with the first
//! coordinate of the result are priced, too, and the cheapest is taken.

use super::assemble::{appended_layout, gathering};
use super::coiterate::Coiterate;
use super::grounds::PricedOrder;
use super::layouts::layouts;
use super::planned::Planned;
use super::request::Request;
use super::wishes::Wishes;
use crate::diagnostic::Result;
use crate::formula::Name;
use crate::iterspace::{Space, Union, Wanted, compose_by};
use crate::prover::Prover;
use crate::scan::scan;
use crate::schedule::{Schedule, alternatives, schedule};
use crate::synth::loops_price;

/// A plan that takes less than so many nanoseconds for each entry that is read or written is good enough.
const GOOD: f64 = 10.0;

/// Prices are rough: another order must be cheaper by this factor.
const GAIN: f64 = 0.7;

/// Nothing is said about the loops, so that their order is ours to choose.
fn is_open(request: &Request) -> bool {
    let said = request.order.len() + request.tiles.len() + request.fused.len();
    let by_finds = matches!(request.coiterate, Coiterate::Auto | Coiterate::Find);
    said == 0 && by_finds && request.workspace.is_none()
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
    let mut least = match &first {
        Ok(planned) => match excess(request, planned)? {
            Some(price) => GAIN * price,
            None => return first,
        },
        Err(_) if request.forced.iter().any(|(position, _)| position.is_some()) => f64::INFINITY,
        Err(_) => return first,
    };
    let Some((space, index)) = only_space(request, union)? else { return first };
    let own = first.as_ref().ok().and_then(|planned| planned.statements().first());
    let mut seen: Vec<Schedule> = own.map(|s| s.schedule().clone()).into_iter().collect();
    let price_of_first = (least / GAIN).is_finite().then_some(least / GAIN);
    let priced = |schedule: &Schedule, time: Option<f64>, loops_only: bool| PricedOrder {
        dims: schedule.dims(),
        time,
        loops_only,
    };
    let mut orders: Vec<PricedOrder> =
        seen.iter().map(|schedule| priced(schedule, price_of_first, false)).collect();
    let mut best = first;
    for other in alternatives(&space, &index) {
        let mut request = request.clone();
        (request.order, request.fused) = (other.order, other.fused);
        let Ok((visits, schedule)) = visits(&request, &space, prover) else { continue };
        if seen.contains(&schedule) {
            continue;
        }
        seen.push(schedule.clone());
        if visits >= least {
            orders.push(priced(&schedule, Some(visits), true));
            continue;
        }
        let Ok(planned) = plan(&request, prover) else {
            orders.push(priced(&schedule, None, false));
            continue;
        };
        let price = price(&request, &planned)?;
        orders.push(priced(&schedule, Some(price), false));
        if price < least {
            (least, best) = (price, Ok(planned));
        }
    }
    if let Ok(planned) = &mut best {
        planned.grounds.orders = orders;
    }
    best
}

/// What a plan of one statement is expected to cost, in nanoseconds, if that is much for what it reads and writes.
fn excess(request: &Request, planned: &Planned) -> Result<Option<f64>> {
    let [statement] = planned.statements() else { return Ok(None) };
    let plain = statement.lookups().is_empty() && statement.merged().is_none();
    if planned.assembled().is_none() || !plain {
        return Ok(None);
    }
    let price = price(request, planned)?;
    let trips = request.sizes.trips(statement.nest());
    let stored =
        |positions: &[Name]| positions.iter().filter_map(|p| trips.get(p)).product::<f64>();
    let operands = statement.space().present().map(|o| stored(&o.positions));
    let entries = operands.sum::<f64>() + statement.updates(&request.sizes);
    Ok((price > GOOD * entries).then_some(price))
}

/// What the loops, searches and the workspace of a plan are expected to cost, in nanoseconds.
fn price(request: &Request, planned: &Planned) -> Result<f64> {
    let mut price = 0.0;
    for statement in planned.statements() {
        price += statement.price(&request.sizes)?;
    }
    match planned.assembled() {
        Some(how) => Ok(price + gathering(request, planned.statements(), how)?),
        None => Ok(price),
    }
}

/// The space of a statement that has one, and the index of the first coordinate in the order of its result.
fn only_space(request: &Request, union: Union) -> Result<Option<(Space, Name)>> {
    let program = request.program()?;
    let request = &request.with_leaves(&program)?;
    let found = layouts(request, &program)?;
    let Some(result) = &found.result else { return Ok(None) };
    let (_, appending) = appended_layout(result)?;
    let wanted = Wanted { union, assembles: true, ..request.wanted(&program)? };
    let mut spaces = compose_by(&program, &found.composed, &wanted)?;
    let (Some(space), true) = (spaces.pop(), spaces.is_empty()) else { return Ok(None) };
    let first = appending.order.first().and_then(|d| space.output().subscripts[*d].as_var());
    let first = first.cloned().filter(|_| space.lookups.is_empty() && !space.merges);
    Ok(first.map(|first| (space, first)))
}

/// What the iterations of the loops of an order are expected to cost, whatever is done in them.
fn visits(request: &Request, space: &Space, prover: &mut dyn Prover) -> Result<(f64, Schedule)> {
    let mut space = space.clone();
    let own = Wishes::of(request, std::slice::from_ref(&space)).within(&mut space)?;
    let schedule = schedule(&space, &own)?;
    let nest = scan(&space, &schedule, prover)?;
    let iterations = request.sizes.iterations(&nest);
    Ok((loops_price(iterations, 0.0, &request.sizes.machine)?, schedule))
}
