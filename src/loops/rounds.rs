//! How often loops go round, where operands are walked at once.
//!
//! A nest says of such a statement what is stored at a point, and would visit every pair of what two operands store;
//! walked at once, each comes to what it stores once. What two have in common is what a sample says; of others, it is
//! taken to be independent where they have entries.

use indexmap::IndexMap;

use super::tree::{Block, Node, Regions, Step};
use crate::formula::Name;
use crate::operators::Region;
use crate::scan::Nest;
use crate::synth::{CostFormula, LOOPS, Sizes, Statistic};

/// What the loops of a statement do, as formulas over statistics.
#[derive(Clone, Debug)]
pub struct Rounds {
    /// Iterations of loops over what one operand stores, or over an index.
    pub iterations: CostFormula,
    /// Regions that walks at once come to; a point that all hold is half of one: the next one does not wait for it.
    pub regions: CostFormula,
    /// Updates of the output.
    pub updates: CostFormula,
    /// Loops that are begun and do not go round as often as the time before.
    pub uneven: CostFormula,
    /// Loops that are begun.
    pub begun: CostFormula,
    /// Elements of the results in which threads sum by themselves.
    pub private: CostFormula,
    /// Points of walks at once of which it is not foreseen whether all hold them.
    pub unforeseen: CostFormula,
}

/// How many times the share of the rarer of two cases is guessed wrongly, and how much of all at most.
const UNFORESEEN: f64 = 1.4;
const MOST_UNFORESEEN: f64 = 0.35;

impl Rounds {
    /// Those of a tree without searches.
    pub(super) fn of(block: &Block, sizes: &Sizes) -> Rounds {
        let none = || CostFormula::from(0.0);
        let mut out = Rounds {
            iterations: none(),
            regions: none(),
            updates: none(),
            uneven: none(),
            begun: none(),
            private: none(),
            unforeseen: none(),
        };
        let mut walk = Walk { sizes, trips: IndexMap::new(), met: Vec::new(), out: &mut out };
        walk.block(block, &1.0.into());
        out
    }

    /// Those of the loops of a nest.
    pub(super) fn of_nest(nest: &Nest, updates: CostFormula, sizes: &Sizes) -> Rounds {
        Rounds {
            iterations: sizes.iterations_of(nest),
            regions: 0.0.into(),
            updates,
            uneven: sizes.uneven_of(nest),
            begun: sizes.begun_of(nest),
            private: 0.0.into(),
            unforeseen: sizes.unforeseen_of(nest),
        }
    }

    /// In the order of [`LOOPS`](crate::synth::LOOPS).
    pub fn amounts(self) -> [CostFormula; LOOPS.len()] {
        let Rounds { iterations, updates, regions, uneven, begun, private, unforeseen } = self;
        [iterations, updates, regions, uneven, begun, private, unforeseen]
    }
}

struct Walk<'a> {
    sizes: &'a Sizes,
    /// Iterations of each loop around, each time that it is begun.
    trips: IndexMap<Name, CostFormula>,
    /// Of the walks at once around, the share of what each comes to that all hold.
    met: Vec<Vec<(Name, CostFormula)>>,
    out: &'a mut Rounds,
}

impl Walk<'_> {
    /// A block that is entered so many times.
    fn block(&mut self, block: &Block, times: &CostFormula) {
        let before = self.trips.len();
        for node in block {
            match node {
                // Half of its trips is where a variable is expected to be.
                Node::Let { var, value } => {
                    let there = self.sizes.middle(value, &self.trips);
                    self.trips.insert(var.clone(), there * 2.0.into());
                }
                Node::For(l) => {
                    let trips = self.sizes.span(&l.range, &self.trips).max(1.0.into());
                    let rounds = times.clone() * trips.clone();
                    self.trips.insert(l.var.clone(), trips);
                    add(&mut self.out.iterations, rounds.clone());
                    add(&mut self.out.uneven, times.clone() * self.sizes.unevenness(&l.range));
                    add(&mut self.out.begun, times.clone());
                    self.block(&l.body, &rounds);
                }
                Node::Step(step) => self.step(step, times),
                Node::Update(_) => add(&mut self.out.updates, times.clone()),
                other => {
                    other.blocks().into_iter().for_each(|inner| self.block(inner, times));
                }
            }
        }
        self.trips.truncate(before);
    }

    /// How many regions a walk comes to.
    fn positions(&mut self, walk: &Regions) -> CostFormula {
        let len = self.sizes.span(&walk.range, &self.trips).max(0.0.into());
        let Some(end) = &walk.end else {
            self.trips.insert(walk.var.clone(), len.clone());
            return len;
        };
        let run = run_of(walk);
        self.trips.insert(walk.var.clone(), 0.0.into());
        self.trips.insert(end.clone(), run.clone() * 2.0.into());
        len / run
    }

    fn step(&mut self, step: &Step, times: &CostFormula) {
        let extent = self.sizes.span(&step.range, &self.trips).max(1.0.into());
        let mut regions = CostFormula::from(0.0);
        // Indices at which all the walks that are needed hold something, and those of the others.
        let (mut common, mut others) = (None, CostFormula::from(0.0));
        let mut held: Vec<(Name, CostFormula)> = Vec::new();
        for walk in &step.walks {
            let len = self.positions(walk);
            add(&mut regions, len.clone());
            let width = self.sizes.span(&walk.region, &self.trips).max(1.0.into());
            let own = match walk.point() {
                Some(_) => len,
                None => (len * width).min(extent.clone()),
            };
            held.push((walk.var.clone(), own.clone()));
            common = match (common, step.needs(walk)) {
                (None, true) => Some(own),
                (Some(common), true) => Some(common * own / extent.clone()),
                (common, false) => {
                    add(&mut others, own);
                    common
                }
            };
        }
        let common = common.map(|common| self.in_common(&held).unwrap_or(common));
        if let (Some(common), true) = (&common, step.is_overlap())
            && step.walks.iter().all(|walk| walk.point().is_some())
        {
            let again = CostFormula::from(held.len() as f64 - 1.0);
            let rounds = (regions - again * common.clone()).max(common.clone());
            let share = common.clone() / rounds.clone().max(1e-9.into());
            let either = share.clone().min(CostFormula::from(1.0) - share);
            let wrong = (CostFormula::from(UNFORESEEN) * either).min(MOST_UNFORESEEN.into());
            add(&mut self.out.unforeseen, times.clone() * rounds.clone() * wrong);
            regions = rounds - CostFormula::from(0.5) * common.clone();
            let ends = step.walks.iter().map(|walk| self.sizes.unevenness(&walk.range));
            let uneven = ends.fold(CostFormula::from(0.0), CostFormula::max);
            add(&mut self.out.uneven, times.clone() * uneven);
        }
        let visits = match (common, &step.counts) {
            (Some(common), _) => common,
            (None, Region::All) => extent,
            (None, _) => others.min(extent),
        };
        add(&mut self.out.regions, times.clone() * regions);
        self.trips.insert(step.index.clone(), visits.clone());
        let share = |own: CostFormula| visits.clone() / own.max(visits.clone()).max(1e-9.into());
        self.met.push(held.into_iter().map(|(walk, own)| (walk, share(own))).collect());
        self.block(&step.body, &(times.clone() * visits));
        self.met.pop();
    }

    /// How many of the indices that walks hold they have in common, if a sample says so.
    fn in_common(&self, held: &[(Name, CostFormula)]) -> Option<CostFormula> {
        let there = |name: &Name| held.iter().any(|(walk, _)| walk == name);
        let mut known = self.sizes.common.iter();
        let common = known.find(|c| there(&c.walked) && c.searched.iter().any(there))?;
        // The sample is of all entries, and only those are met here of which the indices around are.
        let mut share = CostFormula::from(common.share);
        for around in &self.met {
            let is_own = |(walk, _): &&(Name, CostFormula)| !common.searched.contains(walk);
            if let Some((_, met)) = around.iter().find(is_own) {
                share = share / met.clone().max(common.share.max(1e-9).into());
            }
        }
        let own = held.iter().find(|(walk, _)| *walk == common.walked).map(|(_, own)| own.clone());
        let least = held.iter().map(|(_, own)| own.clone()).reduce(CostFormula::min)?;
        Some((share * own?).min(least))
    }
}

/// How many positions have one region.
fn run_of(walk: &Regions) -> CostFormula {
    let mut run = CostFormula::from(1.0);
    for end in &walk.region.lower {
        end.visit_calls(&mut |call| run = Statistic::RunLength(call.array.clone()).into());
    }
    run.max(1.0.into())
}

fn add(total: &mut CostFormula, more: CostFormula) {
    *total = std::mem::replace(total, 0.0.into()) + more;
}
