//! How operands are brought together: the finds, their proofs and prices, and the choice among them.

#[path = "../study/mod.rs"]
mod study;

mod costs;
mod early_exits;
mod finds;
mod finds_chosen;
mod finds_fuzz;
mod finds_of_vectors;
mod groups;
mod merges;
mod run_time_choice;
mod spread_values;
mod templates;
mod unions;
