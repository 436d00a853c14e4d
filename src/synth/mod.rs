//! Stage 5, *synthesize*: which algorithm may implement each find, and which should.
//!
//! In: a [`Nest`](crate::scan::Nest) whose finds are loops with conditions. Out: for each find the
//! templates that are proved correct, with their arguments and state indices, and the reasons why
//! the others are not (SPF §6.2, Appendix A). Templates are data (`templates/find/NAME/`): what a
//! template assumes is written there as formulas over the vocabulary of `vocabulary.rs`.
//!
//! Before → after, for the find of SpMSpV:
//!
//! ```text
//! find px in 0..NNZ_x where j = crd_x(px)
//!
//! px: seq (up, while crd_x(px) < j, resume after a match, state {pA0})  proved
//!     bsearch (while crd_x(px) < j)                                     proved
//!     hash (key crd_x(px) = j, state {})                                proved
//! ```

mod amounts;
mod changes;
mod choose;
mod conditions;
mod cost_formula;
mod fold;
mod machine;
mod plan;
mod problem;
mod prove;
mod session;
mod sizes;
mod skip;
mod state_indices;
mod statistics;
mod template;
mod term;
mod verdict;
mod vocabulary;
mod workspace;

pub use choose::{Estimate, cheapest, cheapest_together, cost, estimate, refuse_above_limit};
pub use cost_formula::{CostFormula, Function, MISSED, Operation};
pub use machine::{
    Constant, LOOPS, Machine, constants, loops_cost, loops_price, price, searches_price,
};
pub use plan::{Direction, KeyPart, Placement, Plan, StateIndex};
pub use problem::FindProblem;
pub use prove::{Attempt, Find, Proved, refutations, synthesize};
pub use sizes::{Common, Sizes};
pub use skip::{TileGuard, tile_guards};
pub use statistics::Statistic;
pub use template::{Obligation, QUANTITIES, Template, templates};
pub use term::Term;
pub use verdict::{Refutation, Verdict};
pub use workspace::{Gathered, WorkspaceTemplate, cheapest_workspace, workspace_named, workspaces};
