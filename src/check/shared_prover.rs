//! The prover of short questions, one for each thread: making a solver takes longer than most of them.

use std::cell::RefCell;

use crate::prover::Z3Prover;

thread_local! {
    static PROVER: RefCell<Z3Prover> = RefCell::new(Z3Prover::new().with_any_model());
}

/// Asks the prover of this thread. `questions` must not come back here.
pub(super) fn with_prover<T>(questions: impl FnOnce(&mut Z3Prover) -> T) -> T {
    PROVER.with_borrow_mut(questions)
}
