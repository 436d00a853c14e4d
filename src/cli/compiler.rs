//! The compiler of kernels: one for all kernels of a command, asked who it is while the first of them is planned.

use std::cell::LazyCell;
use std::thread;

use siskin::diagnostic::{Diagnostic, Result};
use siskin::exec::Jit;

/// A `rustc` that may not have answered yet.
pub struct Compiler(LazyCell<Result<Jit>, Box<dyn FnOnce() -> Result<Jit>>>);

impl Compiler {
    /// Asks the user's `rustc`, which takes about as long as a plan.
    pub fn asked() -> Compiler {
        let asked = thread::spawn(Jit::new);
        let lost = || Diagnostic::defect("the thread that asks `rustc` has panicked");
        Compiler(LazyCell::new(Box::new(move || asked.join().unwrap_or_else(|_| Err(lost())))))
    }

    /// The compiler with its cache, as soon as it has answered.
    ///
    /// # Errors
    /// Those of [`Jit::new`].
    pub fn jit(&self) -> Result<&Jit> {
        self.0.as_ref().map_err(Clone::clone)
    }
}
