//! The cheapest proved template, from the cost formulas of the templates and what is known of sizes.

use super::machine::{loops_price, price};
use super::sizes::Sizes;
use super::template::QUANTITIES;
use super::{Find, Plan, Proved};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;
use crate::scan::Nest;

/// What is expected of a find with one of its plans.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The values of [`QUANTITIES`], in their order.
    pub quantities: [f64; QUANTITIES.len()],
    /// Nanoseconds.
    pub time: f64,
    /// The bytes of its state.
    pub memory: f64,
}

/// What a plan of `find` is expected to take.
pub fn estimate(plan: &Plan, find: &Find, nest: &Nest, sizes: &Sizes) -> Estimate {
    let quantities = sizes.quantities_of(plan, find, nest).map(|formula| sizes.value(&formula));
    let named: Vec<(&str, f64)> = QUANTITIES.into_iter().zip(quantities).collect();
    let priced = |formula| price(formula, &named, &sizes.machine);
    let memory = plan.template.memory.as_ref().map_or(0.0, priced);
    Estimate { quantities, time: priced(&plan.template.cost), memory }
}

/// Estimated time of a plan in nanoseconds.
pub fn cost(plan: &Plan, find: &Find, nest: &Nest, sizes: &Sizes) -> f64 {
    estimate(plan, find, nest, sizes).time
}

/// The cheapest proved plan of `find` that does not take too much memory; of those whose steps grow, if it is to
/// gallop and there are any.
pub fn cheapest<'a>(
    find: &'a Find,
    nest: &Nest,
    sizes: &Sizes,
    gallops: bool,
) -> Result<&'a Proved<Plan>> {
    let grows = |plan: &&Proved<Plan>| plan.template.gallops;
    let gallops = gallops && find.plans().any(|plan| grows(&plan));
    let mut best: Option<((bool, f64), &Proved<Plan>)> = None;
    for plan in find.plans().filter(|plan| !gallops || grows(plan)) {
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
        refuse_above_limit(plan, find, rank, sizes)?;
    }
    Ok(plan)
}

/// Refuses a plan of `find` whose state takes more bytes than was asked for.
///
/// # Errors
/// [`Code::Find`], with the remedy.
pub fn refuse_above_limit(plan: &Plan, find: &Find, memory: f64, sizes: &Sizes) -> Result<()> {
    let what = format!("`{}` for {}", plan.template.name, find.problem.describe());
    sizes.refuse_above_limit(&what, memory)
}

/// What plans may cost where tensors have nothing to do with each other, times what the cheapest ones do, if they cost
/// less where the tensors have entries at the same places.
const INSURANCE: f64 = 1.03;

/// So many choices of plans are compared.
const MOST_COMBINED: usize = 4096;

/// The plans of all finds of `nest` that are expected to be cheapest together. How often a find within another is asked
/// depends on how much tensors have in common, of which sizes say nothing: of plans that cost about as much where they
/// are independent of each other, those are taken that are cheapest where they have entries at the same places.
///
/// # Errors
/// Those of [`cheapest`].
pub fn cheapest_together(
    finds: &[Find],
    nest: &Nest,
    sizes: &Sizes,
    gallops: &dyn Fn(&Find) -> bool,
) -> Result<Vec<Proved<Plan>>> {
    let own = |find| Ok(cheapest(find, nest, sizes, gallops(find))?.clone());
    let first = finds.iter().map(own).collect::<Result<Vec<_>>>()?;
    let searched = |find: &&Find| find.plans().any(|plan| !plan.template.closed_form);
    let outer: Vec<&Name> = finds.iter().filter(searched).map(|f| &f.problem.position).collect();
    let within = |find: &Find| find.problem.loops.iter().any(|position| outer.contains(&position));
    if !sizes.are_known() || !finds.iter().filter(searched).any(within) {
        return Ok(first);
    }
    // Of each find, the plans that may be taken.
    let mut options: Vec<Vec<Proved<Plan>>> = Vec::new();
    for (find, first) in finds.iter().zip(&first) {
        let gallops = gallops(find) && first.template.gallops;
        let fits = |plan: &Plan| estimate(plan, find, nest, sizes).memory <= sizes.most_memory();
        let plans = find.plans().filter(|plan| !gallops || plan.template.gallops);
        let mut own = vec![first.clone()];
        own.extend(plans.filter(|p| p.template.name != first.template.name && fits(p)).cloned());
        options.push(own);
    }
    let count = options.iter().try_fold(1, |n: usize, own| n.checked_mul(own.len()));
    if count.is_none_or(|count| count > MOST_COMBINED) {
        return Ok(first);
    }
    let overlapping = Sizes { overlap: true, ..sizes.clone() };
    let prices = |sizes: &Sizes| -> Result<(f64, Vec<Vec<f64>>)> {
        let own = |(find, plans): (&Find, &Vec<Proved<Plan>>)| {
            plans.iter().map(|plan| cost(plan, find, nest, sizes)).collect()
        };
        let loops =
            loops_price([sizes.iterations(nest), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], &sizes.machine)?;
        Ok((loops, finds.iter().zip(&options).map(own).collect()))
    };
    let (independent, overlapping) = (prices(sizes)?, prices(&overlapping)?);
    let total = |(loops, prices): &(f64, Vec<Vec<f64>>), choice: &[usize]| -> f64 {
        loops + prices.iter().zip(choice).map(|(own, k)| own[*k]).sum::<f64>()
    };
    let mut choice = vec![0; options.len()];
    let most = INSURANCE * total(&independent, &choice);
    let mut best = (total(&overlapping, &choice), first);
    while following(&mut choice, &options) {
        let price = total(&overlapping, &choice);
        if price >= best.0 || total(&independent, &choice) > most {
            continue;
        }
        best = (price, options.iter().zip(&choice).map(|(own, k)| own[*k].clone()).collect());
    }
    Ok(best.1)
}

/// The next choice of one of each; none after the last.
fn following<T>(choice: &mut [usize], options: &[Vec<T>]) -> bool {
    for (k, own) in choice.iter_mut().zip(options) {
        *k += 1;
        if *k < own.len() {
            return true;
        }
        *k = 0;
    }
    false
}
