//! How often what searches keep, and where they search, changes in a nest.

use indexmap::{IndexMap, IndexSet};

use super::cost_formula::CostFormula;
use super::sizes::Sizes;
use super::statistics::Statistic;
use super::{Placement, Plan};
use crate::formula::{Affine, Atom, Constraint, Name, Relop};
use crate::scan::{Bind, Nest, Range};

impl Sizes {
    /// How often what is kept between queries begins anew. What an array keeps for each value of an index stays.
    pub(super) fn states(
        &self,
        plan: &Plan,
        level: usize,
        nest: &Nest,
        visits: &IndexMap<Name, CostFormula>,
    ) -> CostFormula {
        let all = changes(&plan.state, &[], nest, visits);
        let Some(Placement::Array { indices, .. }) = &plan.placement else { return all };
        let kept = |name: &Name| indices.iter().any(|index| index.name == *name);
        let others: Vec<Name> = plan.state.iter().filter(|name| !kept(name)).cloned().collect();
        let values = indices.iter().map(|index| {
            let all = self.middle(&index.extent, &IndexMap::new());
            all.min(self.found_values(&index.name, level, nest, visits))
        });
        all.min(changes(&others, &[], nest, visits) * CostFormula::product(values))
    }

    /// How many values an index has at most where finds before level number `before` have found it: as many as positions
    /// are searched.
    fn found_values(
        &self,
        index: &Name,
        before: usize,
        nest: &Nest,
        visits: &IndexMap<Name, CostFormula>,
    ) -> CostFormula {
        let finds = nest.levels[..before].iter().enumerate().filter(|(_, level)| level.is_find());
        finds.fold(f64::INFINITY.into(), |least: CostFormula, (at, level)| {
            let finds = |c: &Constraint| {
                c.relop == Relop::Eq
                    && c.affine.terms().iter().all(|(atom, _)| match atom {
                        Atom::Var(name) => name == index,
                        Atom::Call(call) => call.args.iter().any(|arg| arg.mentions(&level.var)),
                        Atom::Floor(..) => false,
                    })
            };
            match &level.bind {
                Bind::Loop(range) if level.conditions.iter().any(finds) => {
                    let ranges = self.ranges(range, at, nest, visits);
                    least.min(self.trips_of(nest)[&level.var].clone() * ranges)
                }
                _ => least,
            }
        })
    }

    /// How many ranges a level has: one for each choice of the loops on which it depends.
    pub(super) fn ranges(
        &self,
        range: &Range,
        level: usize,
        nest: &Nest,
        visits: &IndexMap<Name, CostFormula>,
    ) -> CostFormula {
        let deciding = nest.deciding(level, |name| range.mentions(name), |_| true);
        let loops = deciding.into_iter().filter(|level| level.is_loop());
        let all = CostFormula::product(loops.map(|level| visits[&level.var].clone()));
        let own = nest.levels[..level].iter().filter(|level| range.mentions(&level.var));
        all.min(CostFormula::product(
            own.map(|level| self.most_values(&Affine::var(level.var.clone()), nest)),
        ))
    }

    /// How often the range of a level is another than before, and not as long.
    pub(super) fn uneven_ranges(
        &self,
        range: &Range,
        level: usize,
        nest: &Nest,
        visits: &IndexMap<Name, CostFormula>,
    ) -> CostFormula {
        // Those that it mentions, and in place of those that are computed, what they are computed from.
        let mut own: Vec<Name> = Vec::new();
        for level in nest.levels[..level].iter().rev() {
            if !range.mentions(&level.var) && !own.contains(&level.var) {
                continue;
            }
            own.retain(|name| *name != level.var);
            match &level.bind {
                Bind::Let(value) if !value.has_calls() => {
                    value.visit_vars(&mut |name| own.push(name.clone()));
                }
                _ => own.push(level.var.clone()),
            }
        }
        own.retain(|name| nest.level_of(name).is_some());
        match own.is_empty() {
            true => 0.0.into(),
            false => self.unevenness(range) * changes(&own, &[], nest, visits),
        }
    }
}

/// How often indices change in the iterations of all loops that decide them, but for those `around`: of what is read from
/// an index array, its runs count.
pub(super) fn changes(
    indices: &[Name],
    around: &[Name],
    nest: &Nest,
    visits: &IndexMap<Name, CostFormula>,
) -> CostFormula {
    let (mut walked, mut read) = (IndexSet::new(), IndexSet::new());
    let mut run = CostFormula::from(f64::INFINITY);
    for at in indices.iter().filter_map(|index| nest.level_of(index)) {
        let level = &nest.levels[at];
        let deciding = nest.deciding(at, |name| level.reads(name), |_| true);
        let loops = deciding.into_iter().filter(|l| l.is_loop() && !around.contains(&l.var));
        let loops = loops.map(|l| &l.var);
        match &level.bind {
            Bind::Loop(_) => walked.extend(std::iter::once(&level.var).chain(loops)),
            Bind::Let(value) => {
                read.extend(loops);
                run = run.min(longest_run(value));
            }
        }
    }
    let visits = |n: &Name| visits.get(n).cloned().unwrap_or(1.0.into()).max(1.0.into());
    let rounds = CostFormula::product(walked.iter().map(|n| visits(n)));
    let mut others = read.difference(&walked).peekable();
    match others.peek().is_some() {
        true => rounds * (CostFormula::product(others.map(|n| visits(n))) / run).max(1.0.into()),
        false => rounds,
    }
}

/// How many equal elements follow each other in the arrays that are read; 1 if there is none.
pub(super) fn longest_run(value: &Affine) -> CostFormula {
    let mut out = CostFormula::from(1.0);
    value.visit_calls(&mut |call| {
        out = out.clone().max(Statistic::RunLength(call.array.clone()).into());
    });
    out
}
