//! Provers that are used again, by thread: making a solver takes longer than most questions, and many questions of
//! one kernel were asked for the one before.

use std::cell::RefCell;

use super::Z3Prover;

thread_local! {
    static IDLE: RefCell<Vec<Z3Prover>> = const { RefCell::new(Vec::new()) };
}

/// Asks a prover that takes the first model that comes, and that knows the answers of earlier users. `questions` may
/// come back here: then another one is asked.
pub fn with_prover<T>(questions: impl FnOnce(&mut Z3Prover) -> T) -> T {
    let idle = IDLE.with_borrow_mut(Vec::pop);
    let mut prover = idle.unwrap_or_else(|| Z3Prover::new().with_any_model());
    let answer = questions(&mut prover);
    // One that was left in the middle of something believes too much.
    if prover.is_idle() {
        IDLE.with_borrow_mut(|idle| idle.push(prover));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::parse;
    use crate::prover::Prover;

    #[test]
    fn nobody_gets_the_facts_of_another() {
        let facts = |text: &str| vec![parse::formula(text).unwrap()];
        with_prover(|prover| {
            prover.push(&facts("x < y"));
            // Nobody pops them: the question failed.
            with_prover(|other| assert!(!other.is_unsat(&facts("y < x"))));
            assert!(prover.is_unsat(&facts("y < x")));
        });
        with_prover(|prover| assert!(!prover.is_unsat(&facts("y < x"))));
    }
}
