//! The façade: from an expression and layouts to a kernel.
//!
//! ```
//! use siskin::Kernel;
//!
//! # fn main() -> Result<(), Box<siskin::diagnostic::Diagnostic>> {
//! let kernel = Kernel::new("y[i] += A[i,j] * x[j]").layout("A", "csr").layout("x", "sparse").plan()?;
//! let find = &kernel.statements()[0].finds().last().unwrap();
//! assert!(find.plans().count() > 1, "several ways to find x[j] are proved");
//! # Ok(()) }
//! ```
//!
//! On data (the user's `rustc` compiles the kernel, or it comes from the cache):
//!
//! ```
//! use siskin::{Kernel, Layout, Tensor};
//!
//! # fn main() -> Result<(), Box<siskin::diagnostic::Diagnostic>> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let file = |name: &str, text: &str| {
//! #     let path = folder.path().join(name);
//! #     std::fs::write(&path, format!("%%MatrixMarket matrix coordinate real general\n{text}")).unwrap();
//! #     path
//! # };
//! # let a_mtx = file("a.mtx", "2 3 3\n1 1 1.0\n1 3 2.0\n2 2 3.0\n");
//! # let x_mtx = file("x.mtx", "3 1 2\n1 1 10.0\n3 1 1.0\n");
//! let a = Tensor::read(a_mtx)?.pack(&Layout::named("csr")?)?;
//! let x = Tensor::read(x_mtx)?.pack(&Layout::named("sparse")?)?;
//! let kernel =
//!     Kernel::new("y[i] += A[i,j] * x[j]").layout("A", "csr").layout("x", "sparse").compile()?;
//! let y = kernel.run([("A", &a), ("x", &x)])?;
//! assert_eq!(y.values().as_slice(), Some(&[12.0, 0.0][..]));
//! # Ok(()) }
//! ```

mod assemble;
mod calibration;
mod coiterate;
mod compile;
mod copies;
mod drivers;
mod fitting;
mod grounds;
mod layouts;
mod leaves;
mod measure;
mod places;
mod plan;
mod planned;
mod reorder;
mod repacked;
mod request;
mod room;
mod run;
mod selection;
mod sequence;
mod templates;
mod terms;
mod wishes;

pub use crate::synth::Term;
pub use assemble::is_written_in_place;
pub use calibration::{CALIBRATION_VARIABLE, calibrated, calibration_place, with_calibration};
pub use coiterate::Coiterate;
pub use compile::{CompiledKernel, Compiling};
pub use copies::in_one_layout;
pub use grounds::{Copies, Grounds, PricedCopies, PricedOrder};
pub use measure::index_width;
pub use places::{places, places_code, places_layout};
pub use planned::Planned;
pub use reorder::GAIN;
pub use request::Request;
pub use run::{Call, SPARSER, fill_initially};
pub use templates::templates_of;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use crate::code::IndexWidth;
use crate::diagnostic::{Diagnostic, Result};
use crate::iterspace::Union;
use crate::layout::Layout;
use crate::loops::Statement;
use crate::operators::{Operators, Value};
use crate::program::{Program, Types};
use crate::prover::Prover;
use crate::synth::{Machine, Sizes, Template};
use crate::tensor::ValueType;

/// A kernel to be: an expression, a layout for each tensor, and wishes.
#[derive(Clone, Debug)]
pub struct Kernel {
    request: Request,
}

impl Kernel {
    /// A kernel for one statement of index notation.
    pub fn new(expression: &str) -> Kernel {
        Kernel { request: Request::new(expression) }
    }

    /// The layout of a tensor: a shipped name, a path, or a level list.
    #[must_use]
    pub fn layout(mut self, tensor: &str, layout: &str) -> Kernel {
        self.request.copies.retain(|copies| !copies.layouts.contains_key(tensor));
        self.request.declared.shift_remove(tensor);
        self.request.layouts.insert(tensor.into(), layout.to_string());
        self
    }

    /// The layout of a tensor, at hand: that of a tensor which was read with its declaration, say.
    #[must_use]
    pub fn declared(mut self, tensor: &str, layout: &Arc<Layout>) -> Kernel {
        self.request.copies.retain(|copies| !copies.layouts.contains_key(tensor));
        self.request.layouts.insert(tensor.into(), layout.name.clone());
        self.request.declared.insert(tensor.into(), layout.clone());
        self
    }

    /// The loop order, outermost first: indices or positions.
    #[must_use]
    pub fn order(mut self, order: &[&str]) -> Kernel {
        self.request.order = order.iter().map(|n| (*n).into()).collect();
        self
    }

    /// Where no order is asked for, loops follow how operands are stored, whatever that is expected to cost.
    #[must_use]
    pub fn in_default_order(mut self) -> Kernel {
        self.request.default_order = true;
        self
    }

    /// A kernel that computes its result in one way, chosen now: where nothing is known of data, it would hold
    /// several, of which it chooses one when it runs.
    #[must_use]
    pub fn only_way(mut self) -> Kernel {
        self.request.only_way = true;
        self
    }

    /// Forces a find template for every find, or for one position.
    #[must_use]
    pub fn find(mut self, position: Option<&str>, template: &str) -> Kernel {
        self.request.forced.push((position.map(str::to_string), template.to_string()));
        self
    }

    /// Offers more find templates to every find, beside those that ship.
    #[must_use]
    pub fn templates(mut self, templates: &[Rc<Template>]) -> Kernel {
        self.request.templates.extend_from_slice(templates);
        self
    }

    /// The type of the values of all tensors that have none of their own; `f64` unless told.
    #[must_use]
    pub fn values(mut self, value_type: ValueType) -> Kernel {
        self.request.types.general = value_type;
        self
    }

    /// The type of the values of one tensor.
    #[must_use]
    pub fn typed(mut self, tensor: &str, value_type: ValueType) -> Kernel {
        self.request.types.own.insert(tensor.into(), value_type);
        self
    }

    /// What a tensor holds where it stores nothing; zero unless told.
    #[must_use]
    pub fn fill(mut self, tensor: &str, fill: Value) -> Kernel {
        self.request.fills.insert(tensor.into(), fill);
        self
    }

    /// The operators of the expression: those that are shipped unless told.
    #[must_use]
    pub fn operators(mut self, operators: &Arc<Operators>) -> Kernel {
        self.request.operators = Some(operators.clone());
        self
    }

    /// A number that the expression names.
    #[must_use]
    pub fn parameter(mut self, name: &str, number: i64) -> Kernel {
        self.request.parameters.insert(name.into(), number);
        self
    }

    /// The expression, parsed.
    ///
    /// # Errors
    /// [`Code::Program`](crate::diagnostic::Code::Program), with the place.
    pub fn program(&self) -> Result<Program> {
        self.request.program()
    }

    /// The types of the tensors.
    pub fn types(&self) -> &Types {
        &self.request.types
    }

    /// The width of the index arrays; 32 bits unless told.
    #[must_use]
    pub fn index(mut self, width: IndexWidth) -> Kernel {
        self.request.index_width = width;
        self
    }

    /// Sizes for the cost model.
    #[must_use]
    pub fn sizes(mut self, sizes: Sizes) -> Kernel {
        self.request.sizes = sizes;
        self
    }

    /// The constants of the machine for the cost model; those that are assumed unless told.
    #[must_use]
    pub fn machine(mut self, machine: &Machine) -> Kernel {
        self.request.sizes.machine = machine.clone();
        self
    }

    /// Tiles an index or a position.
    #[must_use]
    pub fn tile(mut self, of: &str, size: i64) -> Kernel {
        self.request.tiles.push((of.into(), size));
        self
    }

    /// Visits consecutive positions of one tensor as one loop.
    #[must_use]
    pub fn fuse(mut self, positions: &[&str]) -> Kernel {
        self.request.fused.push(positions.iter().map(|p| (*p).into()).collect());
        self
    }

    /// The workspace in which a result of unknown structure is gathered, by its name.
    #[must_use]
    pub fn workspace(mut self, name: &str) -> Kernel {
        self.request.workspace = Some(name.to_string());
        self
    }

    /// The bytes that the state of a search, or the workspace of a result, may take, as far as the sizes tell.
    #[must_use]
    pub fn workspace_limit(mut self, bytes: u64) -> Kernel {
        self.request.sizes.workspace_limit = Some(bytes as f64);
        self
    }

    /// Assembles a result that would be mostly fill, as far as the sizes tell, unless its layout is stated.
    #[must_use]
    pub fn sparse_result(mut self) -> Kernel {
        self.request.sparse_result = true;
        self
    }

    /// How the points of a sum are visited.
    #[must_use]
    pub fn union(mut self, union: Union) -> Kernel {
        self.request.union = Some(union);
        self
    }

    /// How operands that are stored sparsely are brought together.
    #[must_use]
    pub fn coiterate(mut self, scheme: Coiterate) -> Kernel {
        self.request.coiterate = scheme;
        self
    }

    /// Looplets seek the regions of a tensor, rather than step from one to the next, where they come in order.
    #[must_use]
    pub fn gallop(mut self, tensor: &str) -> Kernel {
        self.request.gallops.push(tensor.into());
        self
    }

    /// Whether it was said how operands are brought together.
    pub fn states_coiteration(&self) -> bool {
        self.request.coiterate != Coiterate::Auto || self.request.union.is_some()
    }

    /// Takes what annihilates finite floats to annihilate infinities and NaN, too: 0 * inf is 0, also where
    /// both are stored.
    #[must_use]
    pub fn fast_math(mut self) -> Kernel {
        self.request.fast_math = true;
        self
    }

    /// Sums of floats keep the order in which the loops visit their terms, each added to what was summed before it.
    /// Otherwise several sums are made at once, and added at their end.
    #[must_use]
    pub fn strict_fp(mut self) -> Kernel {
        self.request.strict_fp = true;
        self
    }

    /// Says that a result holds what its first operator begins with when the kernel runs, as infinity for the least
    /// float. It may not be given then.
    #[must_use]
    pub fn fresh(mut self, result: impl AsRef<str>) -> Kernel {
        self.request.fresh.push(result.as_ref().into());
        self
    }

    /// Runs the outermost loop on several threads.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Kernel {
        self.request.threads = threads;
        self
    }

    /// Composes, scans, synthesizes and chooses.
    pub fn plan(&self) -> Result<Planned> {
        let start = Instant::now();
        let planned = plan::plan(&self.request)?;
        tracing::info!("planned {} nest(s) in {:.1?}", planned.statements().len(), start.elapsed());
        for find in planned.statements().iter().flat_map(Statement::finds) {
            for attempt in &find.attempts {
                let (name, word) = (&attempt.template.name, attempt.verdict.word());
                tracing::debug!("find {}: {name} is {word}", find.problem.position);
            }
        }
        Ok(planned)
    }

    /// [`Kernel::plan`] with a prover of the caller's choice.
    pub fn plan_with(&self, prover: &mut dyn Prover) -> Result<Planned> {
        plan::plan_with(&self.request, prover)
    }

    /// The sizes that the cost model knows.
    pub fn known_sizes(&self) -> &Sizes {
        &self.request.sizes
    }

    /// The choices of copies, if [`Kernel::measured`] was given some tensors in several layouts.
    pub fn copies(&self) -> &[Copies] {
        &self.request.copies
    }

    /// The kernel that reads the copies of choice number `choice`.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn with_copies(&self, choice: usize) -> Result<Kernel> {
        match self.request.copies.get(choice) {
            Some(copies) => Ok(Kernel { request: copies.within(&self.request)? }),
            None => Err(Diagnostic::defect("there are fewer choices of copies")),
        }
    }
}
