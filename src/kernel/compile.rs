//! From a plan to machine code.

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::{Kernel, Planned};
use crate::diagnostic::{Diagnostic, Result};
use crate::exec::{Built, Jit};
use crate::module::{Module, Source};

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
        Compiling::begin(self.plan()?, start, jit)?.finish()
    }
}

impl Planned {
    /// Renders, compiles and loads a plan.
    ///
    /// # Errors
    /// Those of [`Kernel::compile`].
    pub fn compile_with(self, jit: &Jit) -> Result<CompiledKernel> {
        self.begin_compiling(jit)?.finish()
    }

    /// Renders a plan, and compiles and loads it in another thread.
    ///
    /// # Errors
    /// Those of rendering.
    pub fn begin_compiling(self, jit: &Jit) -> Result<Compiling> {
        Compiling::begin(self, Instant::now(), jit)
    }
}

/// A kernel that another thread compiles.
#[derive(Debug)]
pub struct Compiling {
    planned: Planned,
    module: Module,
    generated: Duration,
    building: Building,
}

impl Compiling {
    fn begin(planned: Planned, start: Instant, jit: &Jit) -> Result<Compiling> {
        let rendering = Instant::now();
        let module = planned.render()?;
        let generated = start.elapsed();
        tracing::info!(
            "generated {} lines of Rust in {:.1?}, {} array accesses",
            module.text().lines().count(),
            rendering.elapsed(),
            module.accesses().len()
        );
        let building = Building::begin(module.source(), jit);
        Ok(Compiling { planned, module, generated, building })
    }

    /// Returns when the compiler has.
    pub fn wait(&mut self) {
        self.building.wait();
    }

    /// The kernel, when it is compiled and loaded.
    ///
    /// # Errors
    /// Those of [`Jit::load`].
    pub fn finish(mut self) -> Result<CompiledKernel> {
        let built = self.building.wait().take().unwrap_or_else(|| Err(Diagnostic::defect(LOST)))?;
        let how =
            if built.cached { "loaded the kernel from the cache" } else { "compiled the kernel" };
        tracing::info!("{how} in {:.1?}", built.time);
        let Compiling { planned, module, generated, .. } = self;
        let threads = planned.grounds().sizes.threads.unwrap_or(1);
        Ok(CompiledKernel { planned, module, generated, built, threads })
    }
}

const LOST: &str = "the thread that compiles a kernel has panicked";

/// A thread that compiles a module. It is waited for even if nobody wants the kernel any more: its files would stay
/// behind.
#[derive(Debug)]
struct Building {
    thread: Option<JoinHandle<Result<Built>>>,
    built: Option<Result<Built>>,
}

impl Building {
    fn begin(source: Source<'_>, jit: &Jit) -> Building {
        let (text, entry) = (source.text.to_string(), source.entry.to_string());
        let (jit, aligned) = (jit.clone(), source.aligned);
        let load = move || jit.load(Source { text: &text, entry: &entry, aligned });
        Building { thread: Some(thread::spawn(load)), built: None }
    }

    fn wait(&mut self) -> &mut Option<Result<Built>> {
        if let Some(thread) = self.thread.take() {
            self.built = thread.join().ok();
        }
        &mut self.built
    }
}

impl Drop for Building {
    fn drop(&mut self) {
        self.wait();
    }
}
