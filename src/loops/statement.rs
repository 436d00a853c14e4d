//! What the tree is made from: one scanned space with its plans.

use std::ops::Range;
use std::rc::Rc;

use indexmap::IndexMap;

use super::groups::{grouped, may_be_grouped};
use super::lookups::{Finder, Looked};
use super::merged::{Merged, Walk, merged};
use super::outermost::{Outermost, outermost_kind};
use super::regions::{ByRegions, How};
use super::rounds::Rounds;
use super::tree::{Node, Threads};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Formula, Name};
use crate::iterspace::{LoopKind, Space, loop_kind};
use crate::prover::{Prover, Z3Prover};
use crate::scan::{Nest, scan};
use crate::schedule::Schedule;
use crate::synth::tile_guards;
use crate::synth::{self, CostFormula, Plan, Proved, Sizes, Statistic, Template, TileGuard};

/// A scanned space with a proved plan for each of its finds.
///
/// What is proved of it is proved of all its parts together: outside the compiler they are only read.
#[derive(Clone, Debug)]
pub struct Statement {
    pub(crate) space: Space,
    pub(crate) schedule: Schedule,
    pub(crate) nest: Nest,
    /// Of the nest, then of the lookups.
    pub(crate) finds: Vec<synth::Find>,
    /// The plan for each find, in the order of `finds`.
    pub(crate) chosen: Vec<Proved<Plan>>,
    /// What is looked up, in the order of depth.
    pub(crate) lookups: Vec<Looked>,
    /// The operands that are walked at once.
    pub(crate) merged: Option<Merged>,
    /// What is done instead of visiting the nest, made from looplets.
    pub(super) regions: Option<ByRegions>,
    /// Guards that skip tiles without a match.
    pub(super) tile_guards: Vec<TileGuard>,
    pub(crate) parallel: Option<Parallelism>,
}

/// How a statement runs on several threads: chunks of one loop, handed out dynamically.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parallelism {
    /// What the loop counts.
    pub var: Name,
    /// Chunks may write the same output elements: each thread sums into its own copy.
    pub private: bool,
}

impl Parallelism {
    pub(super) fn threads(&self) -> Threads {
        match self.private {
            true => Threads::Sums,
            false => Threads::Apart,
        }
    }
}

impl Statement {
    /// Scans `space`, tries `templates` on its finds, and takes the cheapest for each.
    ///
    /// # Errors
    /// If the space has no scan in this order, nothing finds one of its positions, or its operands cannot be
    /// walked at once, though they should be.
    pub fn new(
        space: Space,
        schedule: Schedule,
        templates: &[Rc<Template>],
        sizes: &Sizes,
        prover: &mut dyn Prover,
    ) -> Result<Statement> {
        let mut nest = scan(&space, &schedule, prover)?;
        nest.grouped = grouped(&space, &nest, sizes);
        let mut finder = Finder::new(templates, sizes);
        finder.own(&space, &nest, prover)?;
        if !may_be_grouped(&nest, &finder.finds) {
            nest.grouped = None;
            finder = Finder::new(templates, sizes);
            finder.own(&space, &nest, prover)?;
        }
        let tile_guards = tile_guards(&space, &nest, &finder.finds);
        let merged = match space.merges && !nest.is_nothing() {
            true => Some(merged(&space, &nest, prover)?),
            false => None,
        };
        let walks = |operand: usize| merged.as_ref().is_some_and(|m| m.walks(operand));
        let mut lookups = Vec::new();
        for &operand in space.lookups.iter().filter(|&&k| !nest.is_nothing() && !walks(k)) {
            lookups.push(finder.looked_up(&space, operand, (&nest, &nest), prover)?);
        }
        let Finder { finds, chosen, .. } = finder;
        let parallel = None;
        Ok(Statement {
            space,
            schedule,
            nest,
            finds,
            chosen,
            lookups,
            merged,
            regions: None,
            tile_guards,
            parallel,
        })
    }

    /// Visits the points of `space` by the regions of its operands.
    ///
    /// # Errors
    /// If it has no scan in this order, or its operands no looplets that are walked so.
    pub fn by_regions(
        space: Space,
        schedule: Schedule,
        how: How,
        prover: &mut dyn Prover,
    ) -> Result<Statement> {
        let nest = scan(&space, &schedule, prover)?;
        let regions = Some(ByRegions::of_all(&space, &schedule.indices(&space), how, prover)?);
        Ok(Statement { nest, regions, ..Statement::nothing(space, schedule) })
    }

    /// The statement of a space without points: it visits nothing.
    pub fn nothing(space: Space, schedule: Schedule) -> Statement {
        Statement {
            nest: Nest::nothing(&schedule.dims()),
            space,
            schedule,
            finds: Vec::new(),
            chosen: Vec::new(),
            lookups: Vec::new(),
            merged: None,
            regions: None,
            tile_guards: Vec::new(),
            parallel: None,
        }
    }

    /// How often each level is expected to be visited, each time that the levels around it are. Walks at once
    /// are one level, of the first index that they come to.
    pub fn trips(&self, sizes: &Sizes) -> IndexMap<Name, f64> {
        let trips = self.trips_of(sizes).into_iter();
        trips.map(|(name, trip)| (name, sizes.value(&trip))).collect()
    }

    fn trips_of(&self, sizes: &Sizes) -> IndexMap<Name, CostFormula> {
        let mut trips = sizes.visits_of(&self.nest);
        if let Some(merged) = &self.merged {
            trips.truncate(merged.depth);
            let own = |walk: &Walk| {
                let inside = sizes.visits_of(&walk.nest).into_iter().skip(merged.depth);
                CostFormula::product(inside.map(|(_, trip)| trip))
            };
            let first = self.nest.levels[merged.depth].var.clone();
            trips.insert(first, CostFormula::sum(merged.walks.iter().map(own)));
        }
        trips
    }

    /// How often the output is expected to be updated.
    pub fn updates(&self, sizes: &Sizes) -> f64 {
        sizes.value(&self.updates_of(sizes))
    }

    /// The same as a formula over statistics.
    pub fn updates_of(&self, sizes: &Sizes) -> CostFormula {
        self.rounds_of(sizes).updates
    }

    /// How often its loops are expected to go round.
    pub fn rounds_of(&self, sizes: &Sizes) -> Rounds {
        if let Some(regions) = &self.regions {
            let private = self.private_elements();
            return Rounds { private, ..Rounds::of(&regions.nodes(&self.space, &[]), sizes) };
        }
        let updates = CostFormula::product(self.trips_of(sizes).into_values());
        match &self.merged {
            // Updates are what the walks come to.
            Some(merged) => {
                let levels = self.nest.levels[..merged.depth].to_vec();
                let outer = Nest { levels, ..self.nest.clone() };
                Rounds { regions: updates.clone(), ..Rounds::of_nest(&outer, updates, sizes) }
            }
            None => {
                let private = self.private_elements();
                Rounds { private, ..Rounds::of_nest(&self.nest, updates, sizes) }
            }
        }
    }

    /// How many elements the results have in which threads sum by themselves: all but one of them clear theirs, which
    /// is then added.
    fn private_elements(&self) -> CostFormula {
        if !self.parallel.as_ref().is_some_and(|parallel| parallel.private) {
            return 0.0.into();
        }
        let extents = self.space.output().extents.iter();
        let elements = CostFormula::product(extents.map(|e| Statistic::Size(e.clone()).into()));
        elements * (CostFormula::from(Statistic::Threads) - 1.0.into())
    }

    /// How much there is of each of [`LOOPS`](synth::LOOPS).
    pub fn amounts(&self, sizes: &Sizes) -> [f64; synth::LOOPS.len()] {
        self.rounds_of(sizes).amounts().map(|amount| sizes.value(&amount))
    }

    /// What the loops and the updates are expected to cost, in nanoseconds.
    ///
    /// # Errors
    /// If the shipped formula for loops is none.
    pub fn loops_price(&self, sizes: &Sizes) -> Result<f64> {
        synth::loops_price(self.amounts(sizes), &sizes.machine)
    }

    /// The nest that a find is a level of: that of the statement, or of a lookup with the levels around it.
    pub fn nest_of(&self, find: usize) -> &Nest {
        let pieces = self.lookups.iter().flat_map(|l| &l.pieces);
        let mut own = pieces.filter(|piece| piece.finds.contains(&find));
        own.next().map_or(&self.nest, |piece| &piece.nest)
    }

    /// The nest, and those of its walks and lookups, each with the levels around it.
    pub fn nests(&self) -> String {
        let mut out = self.nest.to_string();
        if let Some(merged) = &self.merged {
            let key = self.nest.levels[merged.depth..].iter().map(|level| level.var.to_string());
            let key: Vec<String> = key.collect();
            out.push_str(&format!("\nwalks in place of {}:", key.join(", ")));
        }
        for walk in self.merged.iter().flat_map(|m| &m.walks) {
            let label = &self.space.operands[walk.operand].label;
            out.push_str(&format!("\nwalk of {label}:\n{}", walk.nest));
        }
        for looked in &self.lookups {
            let label = &self.space.operands[looked.operand].label;
            for piece in &looked.pieces {
                out.push_str(&format!("\nlookup of {label}:\n{}", piece.nest));
            }
        }
        out
    }

    /// The finds of the statement's own nest.
    pub(super) fn own_finds(&self) -> Range<usize> {
        let pieces = self.lookups.iter().flat_map(|l| &l.pieces);
        0..pieces.map(|piece| piece.finds.start).min().unwrap_or(self.finds.len())
    }

    /// Whether regions are walked of several pieces of an operand without which nothing counts.
    pub fn walks_pieces_at_once(&self) -> bool {
        let needed = |k: &usize| self.space.rest.needs(k);
        let pieces = |k: &usize| self.space.operands[*k].pieces.len();
        self.regions.is_some() && self.space.lookups.iter().any(|k| needed(k) && pieces(k) > 1)
    }

    /// How its points are visited, if that is by looplets.
    pub fn regions(&self) -> Option<&ByRegions> {
        self.regions.as_ref()
    }

    /// The operands that are looked up beside others that are walked by looplets, though they are stored at every point.
    pub fn sought(&self) -> &[usize] {
        self.regions.as_ref().map_or(&[], |regions| &regions.sought)
    }

    /// The operands that are walked at once, if that is how its points are visited.
    pub fn merged(&self) -> Option<&Merged> {
        self.merged.as_ref()
    }

    /// Whether several operands are walked at once anywhere.
    pub fn walks_at_once(&self) -> bool {
        fn steps(block: &[Node]) -> bool {
            let is_step = |node: &Node| matches!(node, Node::Step(_));
            block.iter().any(|node| is_step(node) || node.blocks().into_iter().any(|b| steps(b)))
        }
        let regions = self.regions.as_ref();
        self.merged.is_some() || regions.is_some_and(|r| steps(&r.nodes(&self.space, &[])))
    }

    /// Whether an operand is looked up, and not walked.
    pub fn looks_up(&self, operand: usize) -> bool {
        match (&self.regions, &self.merged) {
            (Some(regions), _) => regions.sought.contains(&operand),
            (None, Some(merged)) if merged.walks(operand) => false,
            _ => self.space.lookups.contains(&operand),
        }
    }

    /// Whether something is looked up of which the value does not matter.
    pub fn only_asks(&self) -> bool {
        self.lookups.iter().any(|looked| !self.space.reads(looked.operand))
    }

    /// What is looked up, in the order of depth.
    pub fn lookups(&self) -> &[Looked] {
        &self.lookups
    }

    /// Takes another template for find number `find`; false if it is not proved there.
    #[must_use]
    pub fn choose(&mut self, find: usize, template: &str) -> bool {
        let Some(f) = self.finds.get(find) else { return false };
        let Some(plan) = f.plans().find(|p| p.template.name == template) else { return false };
        self.chosen[find] = plan.clone();
        true
    }

    /// Refuses the chosen plan of find number `find` if it takes more memory than was asked for.
    ///
    /// # Errors
    /// [`Code::Find`], with the remedy.
    pub fn refuse_above_limit(&self, find: usize, sizes: &Sizes) -> Result<()> {
        let (own, plan) = (&self.finds[find], &self.chosen[find]);
        let memory = synth::estimate(plan, own, self.nest_of(find), sizes).memory;
        synth::refuse_above_limit(plan, own, memory, sizes)
    }

    /// Runs the outermost loop on several threads, as the dependence test allows. A statement
    /// without such a loop stays as it is.
    ///
    /// # Errors
    /// `S0303` if the prover gives up, or operands are walked at once where the loop would be.
    pub fn parallelise(&mut self, prover: &mut dyn Prover) -> Result<()> {
        let Some((var, level)) = self.shared()? else { return Ok(()) };
        let kind = |prover: &mut dyn Prover| match &self.regions {
            Some(regions) => outermost_kind(&regions.order, &self.space, prover),
            None => self.loop_kind(level, prover),
        };
        let private = match kind(prover) {
            LoopKind::Parallel => false,
            LoopKind::Reduction(_) if self.space.op.is_sum() => true,
            LoopKind::Reduction(_) => {
                // The same example, whatever was asked before.
                let shown = kind(&mut Z3Prover::new());
                return Err(Diagnostic::new(
                    Code::Dependence,
                    format!(
                        "iterations of `{var}` combine into one element by `{}`",
                        self.space.op.name()
                    ),
                )
                .note(format!("threads sum privately, and do nothing else so: {shown}"))
                .help(
                    "run it on one thread, or choose a loop order with the output's indices first",
                ));
            }
            LoopKind::Unknown(why) => {
                return Err(Diagnostic::new(
                    Code::Dependence,
                    format!("no proof that `{var}` may run in parallel"),
                )
                .note(why)
                .help("run it on one thread, or choose another loop order"));
            }
        };
        self.parallel = Some(Parallelism { var, private });
        Ok(())
    }

    /// The loop that threads could share, and its level in the nest, if that is how points are visited.
    fn shared(&self) -> Result<Option<(Name, usize)>> {
        let at_once = |var: &Name, other: &str| {
            let message = format!(
                "`{var}` is what operands are walked at once by: threads cannot share that"
            );
            Diagnostic::new(Code::Dependence, message)
                .help(format!("run it on one thread, or {other}"))
        };
        if let Some(regions) = &self.regions {
            return match &regions.outermost {
                Outermost::Nothing => Ok(None),
                Outermost::Loop(var) | Outermost::Rising(var) => Ok(Some((var.clone(), 0))),
                Outermost::Steps(index) => Err(at_once(index, "choose another `--coiterate`")),
            };
        }
        let Some(level) = self.nest.shared() else { return Ok(None) };
        let var = &self.nest.levels[level].var;
        match self.merged.as_ref().is_some_and(|merged| level >= merged.depth) {
            true => Err(at_once(var, "leave `--union merge` or `--coiterate merge` out")),
            false => Ok(Some((var.clone(), level))),
        }
    }

    /// Whether the loop at `level` of the nest may run in parallel.
    ///
    /// An element that stays the same during an inner loop is summed in a variable and written behind
    /// that loop, whether or not anything was added: what holds there counts, not what holds at a
    /// point of the space.
    pub fn loop_kind(&self, level: usize, prover: &mut dyn Prover) -> LoopKind {
        let dims = self.schedule.dims();
        let place = self.space.output_place();
        let decided = |l: usize| {
            let before = |n: &Name| self.nest.level_of(n).is_none_or(|at| at < l);
            let mut all = true;
            place.iter().for_each(|a| a.visit_vars(&mut |n| all &= before(n)));
            all
        };
        let summed = (level..self.nest.levels.len()).find(|&l| {
            let here = &self.nest.levels[l];
            here.is_loop() && !here.is_find() && decided(l)
        });
        match summed {
            None => {
                let known = (&self.space.constraints[..], &self.space.guards[..]);
                loop_kind(&self.space, known, &dims, level, prover)
            }
            Some(l) => {
                let known = self.nest.known_before(l);
                let tested = self.nest.levels[..l].iter().flat_map(|l| l.restrictions.clone());
                let guards: Vec<Formula> = tested.collect();
                loop_kind(&self.space, (&known, &guards), &dims, level, prover)
            }
        }
    }

    pub fn space(&self) -> &Space {
        &self.space
    }

    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    pub fn nest(&self) -> &Nest {
        &self.nest
    }

    pub fn finds(&self) -> &[synth::Find] {
        &self.finds
    }

    /// The loop that runs on several threads, if the kernel is parallel.
    pub fn parallel(&self) -> Option<&Parallelism> {
        self.parallel.as_ref()
    }

    /// The level of the nest that runs on several threads.
    pub(super) fn parallel_level(&self) -> Option<usize> {
        let parallel = self.parallel.as_ref().filter(|_| self.regions.is_none())?;
        self.nest.level_of(&parallel.var)
    }

    /// The plan for each find, in their order.
    pub fn chosen(&self) -> &[Proved<Plan>] {
        &self.chosen
    }
}
