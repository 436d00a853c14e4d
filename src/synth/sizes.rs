//! What is known of data for the cost model, and what is assumed where nothing is.

use std::borrow::Cow;

use indexmap::IndexMap;

use super::cost_formula::CostFormula;
use super::machine::Machine;
use super::statistics::Statistic;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;
use crate::layout::Piecewise;
use crate::scan::{Bind, Nest};

/// Known or assumed sizes.
#[derive(Clone, Debug, Default)]
pub struct Sizes {
    /// Values of extents and size parameters.
    pub params: IndexMap<Name, f64>,
    /// The parameters that are the extents of indices.
    pub indices: IndexMap<Name, Name>,
    /// Mean difference of consecutive elements of an index array: the length of a segment.
    pub steps: IndexMap<Name, f64>,
    /// Mean of the elements of an index array.
    pub means: IndexMap<Name, f64>,
    /// The same as `steps` where a few segments are long, as [`Statistic::TypicalStep`] has it.
    pub typical_steps: IndexMap<Name, f64>,
    /// Mean number of consecutive elements of an index array that are equal: how long a state that belongs to its
    /// value lasts.
    pub run_lengths: IndexMap<Name, f64>,
    /// The share of the consecutive differences of an index array that are not as large as the one before.
    pub uneven: IndexMap<Name, f64>,
    /// The share of the elements of an index array that say that something is there: of the slots of a hash table,
    /// those that hold a natural number; of a map of zeros and ones, the ones.
    pub filled: IndexMap<Name, f64>,
    /// What tensors have in common.
    pub common: Vec<Common>,
    /// Functions of positions that no array stores.
    pub functions: Vec<Piecewise>,
    /// The bytes that the state of a search, or a workspace, may take, if that is asked for.
    pub workspace_limit: Option<f64>,
    /// Tensors of which nothing else is known have entries at the same places, as far as they have as many: what is
    /// searched for is there. Else where one has entries says nothing of where another has them.
    pub overlap: bool,
    /// The threads that share the outermost loop, if it is shared: what is priced is what one of them does.
    pub threads: Option<usize>,
    /// The constants of the machine.
    pub machine: Machine,
}

/// What one tensor has in common with another that is searched where it is walked.
#[derive(Clone, Debug, PartialEq)]
pub struct Common {
    /// The innermost position of the tensor that is walked.
    pub walked: Name,
    /// The positions of the other.
    pub searched: Vec<Name>,
    /// The share of the entries of the first where the other stores something.
    pub share: f64,
    /// How often that turns from an entry to the next one, by how often it would if it were random; at most 1.
    pub turns: f64,
    /// The share that is apart from the entry before it in the same row by something that the other stores.
    pub apart: Option<f64>,
    /// The share whose key is beside one that was looked for a little before.
    pub beside: f64,
}

/// Without data: square-ish matrices with ten entries a row.
pub(super) const ASSUMED_EXTENT: f64 = 10_000.0;
const ASSUMED_SEGMENT: f64 = 10.0;
const ASSUMED_UNEVEN: f64 = 0.9;
/// What takes more bytes is the last choice, if nothing is asked.
const MOST_MEMORY: f64 = 2e9;

impl Sizes {
    /// What takes more bytes is the last choice.
    pub fn most_memory(&self) -> f64 {
        self.workspace_limit.unwrap_or(MOST_MEMORY)
    }

    /// The same where nothing is shared.
    pub fn on_one_thread(&self) -> Cow<'_, Sizes> {
        match self.threads {
            None => Cow::Borrowed(self),
            Some(_) => Cow::Owned(Sizes { threads: None, ..self.clone() }),
        }
    }

    /// Whether data say something.
    pub fn are_known(&self) -> bool {
        !self.params.is_empty()
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
    pub fn extent(&self, name: &str) -> f64 {
        self.params.get(name).copied().unwrap_or(ASSUMED_EXTENT)
    }

    /// The mean difference of consecutive elements of an index array, or what is assumed of it.
    pub fn segment(&self, array: &str) -> f64 {
        self.steps.get(array).copied().unwrap_or(ASSUMED_SEGMENT)
    }

    /// The mean of the elements of an index array, or what is assumed of it.
    pub fn mean(&self, array: &str) -> f64 {
        self.means.get(array).copied().unwrap_or(ASSUMED_SEGMENT)
    }

    /// The value of a statistic, or what is assumed of it.
    fn statistic(&self, statistic: &Statistic<&str>) -> f64 {
        let known = |values: &IndexMap<Name, f64>, name: &str| values.get(name).copied();
        match statistic {
            Statistic::Size(name) => self.extent(name),
            Statistic::Bound(name) => known(&self.params, name).unwrap_or(f64::INFINITY),
            Statistic::Step(array) => self.segment(array),
            Statistic::Mean(array) => self.mean(array),
            Statistic::TypicalStep(array) => {
                known(&self.typical_steps, array).unwrap_or_else(|| self.segment(array))
            }
            Statistic::RunLength(array) => {
                known(&self.run_lengths, array).unwrap_or(ASSUMED_SEGMENT)
            }
            Statistic::Uneven(array) => known(&self.uneven, array).unwrap_or(ASSUMED_UNEVEN),
            Statistic::Threads => self.threads.unwrap_or(1) as f64,
        }
    }

    /// The value of a formula over statistics.
    pub fn value(&self, formula: &CostFormula) -> f64 {
        formula.value(&|name| {
            Statistic::named(name).map_or(f64::INFINITY, |statistic| self.statistic(&statistic))
        })
    }

    fn values(&self, formulas: IndexMap<Name, CostFormula>) -> IndexMap<Name, f64> {
        formulas.into_iter().map(|(name, formula)| (name, self.value(&formula))).collect()
    }

    /// Estimated number of iterations of each loop variable of `nest`; of a find, the length of its range.
    pub fn trips(&self, nest: &Nest) -> IndexMap<Name, f64> {
        self.values(self.trips_of(nest))
    }

    /// How often each level of `nest` is expected to be visited, each time that the levels around it are: of a
    /// find, the number of its matches.
    pub fn visits(&self, nest: &Nest) -> IndexMap<Name, f64> {
        self.values(self.visits_of(nest))
    }

    /// How often a position is searched for in `nest`.
    pub fn queries(&self, nest: &Nest) -> f64 {
        self.value(&self.queries_of(nest))
    }

    /// How many iterations the loops of `nest` are expected to have, those of finds aside.
    pub fn iterations(&self, nest: &Nest) -> f64 {
        self.value(&self.iterations_of(nest))
    }

    /// Whether the innermost loop of `nest` is known to be short: so short that a branch that is not foreseen at its end
    /// takes longer than what is done in it.
    pub fn are_short_in(&self, nest: &Nest) -> bool {
        /// So many iterations of a loop that has the same number of them each time.
        const EVEN: f64 = 6.0;
        /// Of one that has another number each time.
        const UNEVEN: f64 = 10.5;
        if !self.are_known() {
            return false;
        }
        let innermost = nest.levels.iter().rev().find(|level| level.is_loop() && !level.is_find());
        let Some((level, Bind::Loop(range))) = innermost.map(|level| (level, &level.bind)) else {
            return false;
        };
        let uneven = self.value(&self.unevenness(range)) > 0.5;
        let most = if uneven { UNEVEN } else { EVEN };
        self.trips(nest)[&level.var] <= most
    }

    /// Whether what is searched for in each iteration of the outermost loop of `nest` is expected to be there so rarely that
    /// a branch for several iterations is better than one for each. Where nothing is known of sizes, it is if more is
    /// searched for behind it: such an order is taken where little is found.
    pub fn rarely_find_in(&self, nest: &Nest) -> bool {
        /// Measured: more than one of 30 is faster with a branch for each.
        const RARELY: f64 = 1.0 / 30.0;
        let mut levels = nest.levels.iter().filter(|level| level.is_loop());
        let (Some(outermost), Some(first)) = (levels.next(), levels.next()) else { return false };
        if outermost.is_find() || !first.is_find() {
            return false;
        }
        match self.are_known() {
            true => self.visits(nest)[&first.var] <= RARELY,
            false => levels.any(|level| level.is_find()),
        }
    }

    /// How many loops of `nest` are expected to be begun that do not go round as often as the time before.
    pub fn uneven_in(&self, nest: &Nest) -> f64 {
        self.value(&self.uneven_of(nest))
    }

    /// How often loops of `nest` are begun.
    pub fn begun_in(&self, nest: &Nest) -> f64 {
        self.value(&self.begun_of(nest))
    }
}
