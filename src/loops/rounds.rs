//! How often loops go round, where operands are walked at once.
//!
//! A nest says of such a statement what is stored at a point, and would visit every pair of what two operands store;
//! walked at once, each comes to what it stores once. Of where operands have entries nothing is known: they are taken
//! to be independent.

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
    /// Regions that walks at once come to.
    pub regions: CostFormula,
    /// Updates of the output.
    pub updates: CostFormula,
    /// Loops that are begun and do not go round as often as the time before.
    pub uneven: CostFormula,
    /// Loops that are begun.
    pub begun: CostFormula,
    /// Elements of the results in which threads sum by themselves.
    pub private: CostFormula,
}

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
        };
        let mut walk = Walk { sizes, trips: IndexMap::new(), out: &mut out };
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
        }
    }

    /// In the order of [`LOOPS`](crate::synth::LOOPS).
    pub fn amounts(self) -> [CostFormula; LOOPS.len()] {
        [self.iterations, self.updates, self.regions, self.uneven, self.begun, self.private]
    }
}

struct Walk<'a> {
    sizes: &'a Sizes,
    /// Iterations of each loop around, each time that it is begun.
    trips: IndexMap<Name, CostFormula>,
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
        for walk in &step.walks {
            let len = self.positions(walk);
            add(&mut regions, len.clone());
            let width = self.sizes.span(&walk.region, &self.trips).max(1.0.into());
            let own = match walk.point() {
                Some(_) => len,
                None => (len * width).min(extent.clone()),
            };
            common = match (common, step.needs(walk)) {
                (None, true) => Some(own),
                (Some(common), true) => Some(common * own / extent.clone()),
                (common, false) => {
                    add(&mut others, own);
                    common
                }
            };
        }
        let visits = match (common, &step.counts) {
            (Some(common), _) => common,
            (None, Region::All) => extent,
            (None, _) => others.min(extent),
        };
        add(&mut self.out.regions, times.clone() * regions);
        self.trips.insert(step.index.clone(), visits.clone());
        self.block(&step.body, &(times.clone() * visits));
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
