//! From a plan to machine code.

use std::time::{Duration, Instant};

use super::{Kernel, Planned};
use crate::diagnostic::Result;
use crate::exec::{Built, Jit};
use crate::loops::Statement;
use crate::module::Module;

/// A kernel that is compiled and loaded. It runs on any tensors of its layouts, value type and index
/// width, whatever their extents: see [`CompiledKernel::run`].
#[derive(Debug)]
pub struct CompiledKernel {
    pub(super) planned: Planned,
    pub(super) module: Module,
    generated: Duration,
    pub(super) built: Built,
    /// Threads of a parallel kernel.
    pub(super) threads: usize,
}

impl CompiledKernel {
    /// What every stage decided.
    pub fn planned(&self) -> &Planned {
        &self.planned
    }

    /// The generated module.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Time of all stages up to the text of the module.
    pub fn generated(&self) -> Duration {
        self.generated
    }

    /// Time of the compiler, or of reading the cache; and whether it was the cache.
    pub fn built(&self) -> (Duration, bool) {
        (self.built.time, self.built.cached)
    }
}

impl Kernel {
    /// Plans, renders, compiles with the user's `rustc` and loads.
    ///
    /// # Errors
    /// Those of [`Kernel::plan`], and [`Code::Rustc`](crate::diagnostic::Code::Rustc) if there is
    /// no working compiler.
    pub fn compile(&self) -> Result<CompiledKernel> {
        self.compile_with(&Jit::new()?)
    }

    /// [`Kernel::compile`] with a compiler and a cache of the caller's choice.
    ///
    /// # Errors
    /// Those of [`Kernel::compile`].
    pub fn compile_with(&self, jit: &Jit) -> Result<CompiledKernel> {
        let start = Instant::now();
        let planned = self.plan()?;
        tracing::info!("planned {} nest(s) in {:.1?}", planned.statements().len(), start.elapsed());
        for find in planned.statements().iter().flat_map(Statement::finds) {
            for attempt in &find.attempts {
                let (name, word) = (&attempt.template.name, attempt.verdict.word());
                tracing::debug!("find {}: {name} is {word}", find.problem.position);
            }
        }
        compiled(planned, start, jit)
    }
}

impl Planned {
    /// Renders, compiles and loads a plan.
    ///
    /// # Errors
    /// Those of [`Kernel::compile`].
    pub fn compile_with(self, jit: &Jit) -> Result<CompiledKernel> {
        compiled(self, Instant::now(), jit)
    }
}

fn compiled(planned: Planned, start: Instant, jit: &Jit) -> Result<CompiledKernel> {
    let rendering = Instant::now();
    let module = planned.render()?;
    let generated = start.elapsed();
    tracing::info!(
        "generated {} lines of Rust in {:.1?}, {} array accesses",
        module.text().lines().count(),
        rendering.elapsed(),
        module.accesses().len()
    );
    let built = jit.load(module.source())?;
    let how = if built.cached { "loaded the kernel from the cache" } else { "compiled the kernel" };
    tracing::info!("{how} in {:.1?}", built.time);
    let threads = planned.grounds().sizes.threads.unwrap_or(1);
    Ok(CompiledKernel { planned, module, generated, built, threads })
}
