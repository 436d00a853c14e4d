//! The ways to compute a result of which a kernel chooses when it runs: where nothing is known of data, other templates
//! for the finds, and orders of the loops in which other tensors drive, may be better than what is assumed to be.
//!
//! ```text
//! y[i] += A[i,j] * x[j]       pA0, pA1, find px by hash | by expand | by bsearch
//!                             pA0, px, find pA1 by bsearch
//! ```
//!
//! All ways are proved. They are priced at many points of the space of sizes; those are kept without which some of it
//! would cost clearly more. The module then has a function that prices them at the sizes of a call.

use std::f64::consts::LN_10;

use indexmap::IndexSet;

use super::drivers::other_drivers;
use super::planned::Planned;
use super::reorder::{is_open, only_nest};
use super::request::Request;
use crate::diagnostic::Result;
use crate::formula::Name;
use crate::prover::Prover;
use crate::synth::{CostFormula, Sizes, Statistic, Term};

/// A kernel holds no more ways than these.
const MOST_WAYS: usize = 4;
/// Ways that differ in several finds are too many to try, if more than these: then they differ in one.
const MOST_COMBINED: usize = 32;
/// So many points of the space of sizes are tried.
const POINTS: usize = 128;
/// Another way is worth its code if it lowers the logarithm of the mean regret by this.
const WORTH: f64 = 0.03;

/// The plan, with others that are better for some data, if nothing is known or said that decides.
pub(super) fn with_others(
    request: &Request,
    first: Result<Planned>,
    plan: impl Fn(&Request, &mut dyn Prover) -> Result<Planned>,
    prover: &mut dyn Prover,
) -> Result<Planned> {
    let mut first = first?;
    if !is_undecided(request) || !are_measurable(&first)? {
        return Ok(first);
    }
    let mut all = combined(&first);
    if let Some(order) = order(request, &first)
        && let Ok(other) = plan(&Request { order, ..request.clone() }, prover)
        && are_measurable(&other)?
        && are_shared(&other) == are_shared(&first)
    {
        all.extend(combined(&other));
    }
    first.others = worthwhile(all)?;
    Ok(first)
}

/// Nothing is said or known that decides between ways.
fn is_undecided(request: &Request) -> bool {
    let free = request.forced.is_empty() && request.gallops.is_empty();
    free && !request.only_way && !request.sizes.are_known()
}

/// The order of the loops in which another tensor drives: of a dense result that one nest computes. Proofs take time, so
/// that of several searches only the innermost, which is asked most often, is turned around.
fn order(request: &Request, planned: &Planned) -> Option<Vec<Name>> {
    let statement = only_nest(planned)?;
    let open = is_open(request) && planned.assembled().is_none();
    open.then(|| other_drivers(statement.nest(), statement.space()).pop())?
}

/// Which statements threads share: ways are given the same.
fn are_shared(planned: &Planned) -> Vec<bool> {
    planned.statements().iter().map(|s| s.parallel().is_some()).collect()
}

/// Whether what the costs depend on can be told from what the kernel is given.
fn are_measurable(planned: &Planned) -> Result<bool> {
    let operands = || {
        let spaces = planned.statements().iter().map(|s| s.space());
        spaces.flat_map(|space| &space.operands).filter(|o| o.is_given())
    };
    let sized = |name| {
        operands().any(|o| o.extents.contains(name) || o.params.contains_key(name))
            || planned.statements().iter().any(|s| s.space().extents.values().any(|e| e == name))
    };
    // The first operand is written: an assembled one has no arrays before.
    let stored = |name| {
        let mut read = operands().filter(|o| o.tensor != *planned.output());
        read.any(|o| o.arrays.contains_key(name))
    };
    let terms = planned.open_terms()?;
    Ok(statistics(&terms).iter().all(|statistic| match statistic {
        Statistic::Size(name) | Statistic::Bound(name) => sized(name),
        Statistic::Step(array)
        | Statistic::Mean(array)
        | Statistic::TypicalStep(array)
        | Statistic::RunLength(array)
        | Statistic::Uneven(array) => stored(array),
        Statistic::Threads => true,
    }))
}

/// What terms depend on.
fn statistics(terms: &[Term<CostFormula>]) -> IndexSet<Statistic> {
    let used = terms.iter().flat_map(Term::used);
    used.flat_map(|(_, formula)| formula.names()).filter_map(Statistic::named).collect()
}

/// The plan with all choices of templates for its finds, itself first.
fn combined(planned: &Planned) -> Vec<Planned> {
    let mut choices: Vec<(usize, usize, Vec<String>)> = Vec::new();
    for (s, statement) in planned.statements().iter().enumerate() {
        for (f, (find, chosen)) in statement.finds().iter().zip(statement.chosen()).enumerate() {
            let others = find.plans().filter(|p| p.template.name != chosen.template.name);
            // What is known without a search needs none.
            let others = others.filter(|_| !chosen.template.closed_form);
            let names: Vec<String> = others.map(|p| p.template.name.clone()).collect();
            if !names.is_empty() {
                choices.push((s, f, names));
            }
        }
    }
    let count = choices.iter().try_fold(1, |n: usize, (.., names)| n.checked_mul(names.len() + 1));
    let together = count.is_some_and(|count| count <= MOST_COMBINED);
    let mut all = vec![planned.clone()];
    for (s, f, names) in choices {
        let bases = if together { all.len() } else { 1 };
        for base in 0..bases {
            let other = |name: &String| all[base].clone().with_template(s, f, name);
            let more: Vec<Planned> = names.iter().filter_map(other).collect();
            all.extend(more);
        }
    }
    all
}

/// Of all ways, those beside the first without which some data would cost clearly more.
fn worthwhile(all: Vec<Planned>) -> Result<Vec<Planned>> {
    let sizes = all.first().map(|first| first.grounds().sizes.clone()).unwrap_or_default();
    // Ways have most of their terms in common.
    let mut terms: Vec<Term<CostFormula>> = Vec::new();
    let mut costs: Vec<Vec<usize>> = Vec::new();
    for way in &all {
        let mut own = Vec::new();
        for term in way.open_terms()? {
            own.push(terms.iter().position(|known| *known == term).unwrap_or(terms.len()));
            if own.last() == Some(&terms.len()) {
                terms.push(term);
            }
        }
        costs.push(own);
    }
    // Logarithms of times, point by point.
    let mut times: Vec<Vec<f64>> = Vec::new();
    let known = statistics(&terms);
    let used: Vec<Vec<_>> = terms.iter().map(|term| term.used().collect()).collect();
    for k in 0..POINTS {
        let sizes = point(&sizes, &known, k);
        let prices = terms.iter().zip(&used).map(|(term, used)| term.price(used, &sizes));
        let prices: Vec<f64> = prices.collect();
        // Infinite ones have a logarithm that means nothing; none is as large as this.
        let time =
            |own: &Vec<usize>| own.iter().map(|t| prices[*t]).sum::<f64>().clamp(1.0, 1e30).ln();
        times.push(costs.iter().map(time).collect());
    }
    // What the ways that are taken cost, where each point has the best of them.
    let mut least: Vec<f64> = times.iter().map(|times| times[0]).collect();
    let mut others = Vec::new();
    while others.len() + 1 < MOST_WAYS {
        let gain = |way: usize| -> f64 {
            least.iter().zip(&times).map(|(least, times)| (least - times[way]).max(0.0)).sum()
        };
        let gains = (1..all.len()).map(|way| (gain(way), way));
        // Of equal ones the first.
        let Some((gain, best)) = gains.rev().max_by(|a, b| a.0.total_cmp(&b.0)) else { break };
        if gain < WORTH * POINTS as f64 {
            break;
        }
        for (least, times) in least.iter_mut().zip(&times) {
            *least = least.min(times[best]);
        }
        others.push(all[best].clone());
    }
    Ok(others)
}

/// Point number `k` of the space of sizes: spread evenly over the orders of magnitude.
fn point(known: &Sizes, statistics: &IndexSet<Statistic>, k: usize) -> Sizes {
    let mut sizes = known.clone();
    let mut coordinates: IndexSet<&Name> = IndexSet::new();
    for statistic in statistics {
        let Some(name) = statistic.of() else { continue };
        let (dimension, _) = coordinates.insert_full(name);
        let between = |least: f64, most: f64| {
            (LN_10 * (least + (most - least) * halton(k + 1, prime(dimension)))).exp()
        };
        match statistic {
            Statistic::Size(_) | Statistic::Bound(_) => {
                sizes.params.insert(name.clone(), between(1.0, 7.0).round());
            }
            Statistic::Step(_) => {
                sizes.steps.insert(name.clone(), between(-1.0, 4.0));
            }
            Statistic::Mean(_) => {
                sizes.means.insert(name.clone(), between(-1.0, 4.0));
            }
            // As long as the mean, or there are a few long ones.
            Statistic::TypicalStep(_) => {
                let share = (2.0 * halton(k + 1, prime(dimension + 5))).min(1.0);
                let typical = between(-1.0, 4.0) * share;
                sizes.typical_steps.insert(name.clone(), typical);
            }
            Statistic::RunLength(_) => {
                sizes.run_lengths.insert(name.clone(), between(0.0, 3.0));
            }
            // Of that which is not as long as the one before, most is: segments are alike, or they are not.
            Statistic::Uneven(_) => {
                sizes.uneven.insert(name.clone(), halton(k + 1, prime(dimension)).sqrt());
            }
            Statistic::Threads => {}
        }
    }
    sizes
}

/// The prime number after `n` others.
fn prime(n: usize) -> usize {
    let is_prime = |k: &usize| (2..*k).all(|d| !k.is_multiple_of(d));
    (2..).filter(is_prime).nth(n).unwrap_or(2)
}

/// Element `k` of the van der Corput sequence of a base: its digits behind the point, reversed. (Halton, 1960.)
fn halton(mut k: usize, base: usize) -> f64 {
    let (mut out, mut digit) = (0.0, 1.0 / base as f64);
    while k > 0 {
        out += digit * (k % base) as f64;
        k /= base;
        digit /= base as f64;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_spread_evenly() {
        assert_eq!((1..5).map(|k| halton(k, 2)).collect::<Vec<_>>(), [0.5, 0.25, 0.75, 0.125]);
        assert_eq!((0..6).map(prime).collect::<Vec<_>>(), [2, 3, 5, 7, 11, 13]);
    }
}
