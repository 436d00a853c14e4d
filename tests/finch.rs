//! The programs of `examples/finch/`, and small ones for every rule of the language, run by the dense
//! interpreter and compared with what is computed here.

#[path = "corpus_support/mod.rs"]
mod support;

#[path = "formats_support/mod.rs"]
#[allow(dead_code)]
mod grown;

#[path = "fuzz_support"]
mod fuzz {
    #[allow(dead_code)] // the fuzzer uses all of it
    pub mod layouts;
    pub mod names;
    pub use crate::grown::random;
}

#[path = "finch/compiled.rs"]
mod compiled;
#[path = "finch/computed.rs"]
mod computed;
#[path = "finch/edge_shapes.rs"]
mod edge_shapes;
#[path = "finch/examples.rs"]
mod examples;
#[path = "finch/formats.rs"]
mod formats;
#[path = "finch/kernels.rs"]
mod kernels;
#[path = "finch/language.rs"]
mod language;
#[path = "finch/levels.rs"]
mod levels;
#[path = "finch/missing.rs"]
mod missing;
#[path = "finch/promotion.rs"]
mod promotion;
#[path = "finch/random.rs"]
mod random;
#[path = "finch/random_nests.rs"]
mod random_nests;
#[path = "finch/reductions.rs"]
mod reductions;
#[path = "finch/refusals.rs"]
mod refusals;
#[path = "finch/stored.rs"]
mod stored;
#[path = "finch/strategies.rs"]
mod strategies;
#[path = "finch/tally.rs"]
mod tally;
#[path = "finch/together.rs"]
mod together;
#[path = "finch/walks.rs"]
mod walks;

use indexmap::IndexMap;
use siskin::diagnostic::Result;
use siskin::formula::Name;
use siskin::operators::{Operators, Value};
use siskin::program::Dense;
use siskin::program::finch::{Finch, Given, Host, Tree};
use siskin::tensor::Values;

/// What a program is given.
#[derive(Default)]
struct Inputs {
    tensors: IndexMap<Name, Dense>,
    sizes: IndexMap<Name, Vec<usize>>,
    scalars: IndexMap<Name, Value>,
}

impl Inputs {
    fn tensor(mut self, name: &str, dims: &[usize], values: Values) -> Self {
        assert_eq!(dims.iter().product::<usize>(), values.len(), "{name}");
        self.tensors.insert(Name::from(name), Dense { dims: dims.to_vec(), values });
        self
    }

    fn floats(self, name: &str, dims: &[usize], values: &[f64]) -> Self {
        self.tensor(name, dims, Values::F64(values.to_vec()))
    }

    fn integers(self, name: &str, dims: &[usize], values: &[i64]) -> Self {
        self.tensor(name, dims, Values::I64(values.to_vec()))
    }

    fn bools(self, name: &str, dims: &[usize], values: &[bool]) -> Self {
        self.tensor(name, dims, Values::Bool(values.to_vec()))
    }

    fn size(mut self, name: &str, dims: &[usize]) -> Self {
        self.sizes.insert(Name::from(name), dims.to_vec());
        self
    }

    fn scalar(mut self, name: &str, value: Value) -> Self {
        self.scalars.insert(Name::from(name), value);
        self
    }

    fn host(&self) -> Host<'static> {
        let mut host = Host::new(Operators::shipped().expect("the operators that ship"));
        host.tensors = self
            .tensors
            .iter()
            .map(|(name, t)| {
                let (dims, ty) = (t.dims.clone(), t.values.value_type());
                (name.clone(), Given { dims: Some(dims), ty })
            })
            .collect();
        host.sizes = self.sizes.clone();
        host.scalars = self.scalars.clone();
        host
    }

    fn lower(&self, text: &str) -> Result<Tree> {
        Finch::parse(text, "test.finch")?.lower(&self.host())
    }

    fn try_run(&self, text: &str) -> Result<IndexMap<Name, Vec<Dense>>> {
        self.lower(text)?.interpret(&self.tensors)
    }

    /// The values that a program returns, in order; of tuples, each part by itself.
    #[track_caller]
    fn run(&self, text: &str) -> Vec<Values> {
        let results = self.try_run(text).unwrap_or_else(|e| panic!("{text}\n{e}"));
        results.into_values().flatten().map(|t| t.values).collect()
    }

    /// A tree that is made can be printed and read.
    #[track_caller]
    fn reads_back(&self, text: &str) {
        let tree = self.lower(text).unwrap_or_else(|e| panic!("{text}\n{e}"));
        let printed = tree.program.to_string();
        let again = siskin::program::Program::parse(&printed);
        let again = again.unwrap_or_else(|e| panic!("{printed}\n{e}"));
        assert_eq!(again, tree.program, "{printed}");
    }
}
