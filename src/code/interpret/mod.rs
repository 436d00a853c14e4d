//! An interpreter of [`Body`] that trusts nothing: what the compiled kernel does,
//! with a test of every access, whether or not it is proved to be in bounds.
//!
//! ```text
//! for p in 0..N { val_y[p] += val_x[p] }     with N = 3 and two elements in val_x:
//! → `val_x[2]` is outside the array, which has 2 elements, in `val_y[p] += val_x[p]`
//! ```
//! It also refuses what proofs say cannot happen: overflow of `usize` and `isize`, a difference below
//! zero, a negative number as `usize`, a variable that is read before it is set, facts and invariants
//! that do not hold, one element written by two chunks of a parallel loop. Values have the kernel's own
//! arithmetic in its own order, so that results are equal to the last bit.
//!
//! Tables are what their templates promise: multimaps in order of entry, whose keys are numbers of the
//! width of the index arrays. Threads take turns, a chunk each.

mod evaluate;
mod facts;
mod fault;
mod machine;
mod parallel;
mod storage;
mod symbols;
#[cfg(test)]
mod tests;
mod value;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use super::ir::{Body, Element, Origin};
use crate::formula::Name;
use crate::tensor::{IndexData, Values};

pub use fault::{Fault, Reason};

use machine::Machine;
use storage::Storage;
use symbols::Symbols;

/// What a body is given, by name.
#[derive(Clone, Debug, Default)]
pub struct Arguments<'a> {
    pub sizes: FxHashMap<Name, usize>,
    pub indices: FxHashMap<Name, &'a IndexData>,
    /// Values of inputs, and what the outputs hold at first.
    pub values: FxHashMap<Name, &'a Values>,
    /// For parallel loops; at least one.
    pub threads: usize,
}

/// A body with its names resolved, to be run any number of times.
pub struct Interpreter<'b> {
    body: &'b Body,
    symbols: Symbols,
}

impl<'b> Interpreter<'b> {
    pub fn new(body: &'b Body) -> Interpreter<'b> {
        Interpreter { body, symbols: Symbols::of(body) }
    }

    /// Runs the body for at most `fuel` steps. What comes back are the outputs; index arrays that grew as
    /// `i64`.
    ///
    /// # Errors
    /// The first thing that goes wrong.
    pub fn run(&self, given: &Arguments, fuel: u64) -> Result<IndexMap<Name, Values>, Fault> {
        let mut arrays = Vec::new();
        for (_, array) in self.body.arrays() {
            arrays.push(match (array.element, array.origin) {
                (Element::Index { .. }, Origin::Input) => {
                    given.indices.get(&array.name).map_or(Storage::Absent, |a| Storage::Index(a))
                }
                (Element::Value(_), Origin::Input) => {
                    given.values.get(&array.name).map_or(Storage::Absent, |v| Storage::Values(v))
                }
                (Element::Value(_), Origin::Output) => match given.values.get(&array.name) {
                    Some(values) => Storage::Written((*values).clone()),
                    None => Storage::Absent,
                },
                (Element::Value(ty), Origin::Grown) => Storage::Written(Values::empty(ty)),
                (_, Origin::Grown) => Storage::Positions(Vec::new()),
                _ => Storage::Absent,
            });
        }
        let mut machine = Machine::new(self.body, &self.symbols, arrays, given.threads, fuel);
        for v in &self.body.sizes {
            if let Some(n) = given.sizes.get(&self.body.var(*v).name) {
                machine.set_size(*v, *n);
            }
        }
        machine.run()?;
        let mut out = IndexMap::new();
        for ((_, array), storage) in self.body.arrays().zip(machine.into_arrays()) {
            match storage {
                Storage::Written(values) if array.origin.is_written() => {
                    out.insert(array.name.clone(), values);
                }
                Storage::Positions(list) if array.origin == Origin::Grown => {
                    let numbers = list.into_iter().map(|n| n as i64).collect();
                    out.insert(array.name.clone(), Values::I64(numbers));
                }
                _ => {}
            }
        }
        Ok(out)
    }
}
