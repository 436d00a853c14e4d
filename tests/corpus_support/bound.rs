//! A kernel's arguments, for every way to run it.

use std::collections::HashMap;

use indexmap::IndexMap;
use siskin::code::interpret::{Arguments, Interpreter};
use siskin::exec::GrownArray;
use siskin::formula::{Arith, Name};
use siskin::kernel::{Planned, fill_initially};
use siskin::layout::Layout;
use siskin::module::index_type;
use siskin::program::Extents;
use siskin::tensor::{IndexData, Tensor, Values};

use super::Made;
use super::library::{Library, RawArray};

/// More than any kernel of a test needs.
const FUEL: u64 = 50_000_000;

/// The tensors of a run: their arrays have the types of the kernel, the results what their
/// operators begin with.
pub struct Bound<'a> {
    made: &'a Made,
    extents: &'a Extents,
    /// But for one that the kernel makes.
    outputs: IndexMap<Name, Tensor>,
    inputs: HashMap<&'a Name, Input<'a>>,
}

struct Input<'a> {
    tensor: &'a Tensor,
    arrays: IndexMap<Name, IndexData>,
    values: Values,
}

impl<'a> Bound<'a> {
    pub fn new(
        made: &'a Made,
        tensors: &'a IndexMap<Name, Tensor>,
        extents: &'a Extents,
    ) -> Result<Bound<'a>, String> {
        let mut inputs = HashMap::new();
        for t in made.signature.tensors.iter().filter(|t| !t.written) {
            let tensor = tensors.get(&t.tensor).ok_or_else(|| format!("no tensor {}", t.tensor))?;
            let arrays = converted(&made.planned, tensor)?;
            let values = tensor.values().convert(made.planned.types().of(&t.tensor));
            let values = values.map_err(|e| format!("{e:#?}"))?;
            inputs.insert(&t.tensor, Input { tensor, arrays, values });
        }
        let mut outputs = IndexMap::new();
        for name in made.planned.program().results() {
            if made.planned.assembled().is_none_or(|made| made.tensor != name) {
                outputs.insert(name.clone(), blank(made, &name, tensors, extents)?);
            }
        }
        Ok(Bound { made, extents, outputs, inputs })
    }

    /// With what the result of the last statement holds before the run.
    pub fn beginning(mut self, values: &Values) -> Result<Bound<'a>, String> {
        let out = self.outputs.get_mut(self.made.planned.output());
        let out = out.ok_or("what is assembled begins with nothing")?;
        if out.values().len() != values.len() {
            return Err(format!("{} values, not {}", values.len(), out.values().len()));
        }
        (0..values.len()).for_each(|k| out.values_mut().set_from(k, values, k));
        Ok(self)
    }

    /// The dense results of the compiled kernel, one behind the other.
    ///
    /// # Safety
    /// If the library is one of unchecked entries, the tensors are valid.
    pub unsafe fn compiled(
        &self,
        kernel: usize,
        library: &Library,
        threads: usize,
    ) -> Result<Vec<f64>, String> {
        // What is asked for is promised here.
        self.numbers(&unsafe { self.results(kernel, library, threads) }?)
    }

    /// The result of the last statement of the compiled kernel.
    ///
    /// # Safety
    /// If the library is one of unchecked entries, the tensors are valid.
    pub unsafe fn result(
        &self,
        kernel: usize,
        library: &Library,
        threads: usize,
    ) -> Result<Tensor, String> {
        self.last(unsafe { self.results(kernel, library, threads) }?)
    }

    /// The results of the compiled kernel.
    ///
    /// # Safety
    /// If the library is one of unchecked entries, the tensors are valid.
    pub unsafe fn results(
        &self,
        kernel: usize,
        library: &Library,
        threads: usize,
    ) -> Result<IndexMap<Name, Tensor>, String> {
        let mut outputs = self.outputs.clone();
        let mut grown = self.grown()?;
        let dims = &self.extents.tensors[self.made.planned.output()];
        let mut out_arrays = HashMap::new();
        for (name, out) in &outputs {
            out_arrays.insert(name.clone(), converted(&self.made.planned, out)?);
        }
        let (mut sizes, mut arrays) = (Vec::new(), Vec::new());
        let add = |data: &IndexData| {
            let (data, len) = data.raw();
            RawArray { data: data.cast_mut(), len }
        };
        for t in &self.made.signature.tensors {
            match self.inputs.get(&t.tensor) {
                Some(input) => {
                    sizes.extend(input.tensor.dims());
                    let count = |n: &Name| input.tensor.params()[n] as usize;
                    sizes.extend(t.counts.iter().map(|(n, ..)| count(n)));
                    arrays.extend(t.arrays.iter().map(|a| add(&input.arrays[&a.name])));
                    let (data, len) = input.values.raw();
                    arrays.push(RawArray { data: data.cast_mut(), len });
                }
                None => match outputs.get_mut(&t.tensor) {
                    Some(out) => {
                        sizes.extend(out.dims());
                        let count = |n: &Name| out.params()[n] as usize;
                        sizes.extend(t.counts.iter().map(|(n, ..)| count(n)));
                        let own = &out_arrays[&t.tensor];
                        arrays.extend(t.arrays.iter().map(|a| add(&own[&a.name])));
                        let (data, len) = out.values_mut().raw_mut();
                        arrays.push(RawArray { data, len });
                    }
                    None => {
                        sizes.extend(dims);
                        for array in &mut grown {
                            let raw = array.argument();
                            arrays.push(RawArray { data: raw.data, len: raw.len });
                        }
                    }
                },
            }
        }
        let extents = &self.extents.indices;
        sizes.extend(self.made.signature.extents.iter().map(|e| extents[&e.index]));
        if self.made.signature.threads {
            sizes.push(threads);
        }
        // The arrays have the types and the order of the module's entry.
        unsafe { library.run(kernel, &sizes, &arrays)? };
        if self.made.planned.assembled().is_some() {
            let values = grown.pop().and_then(|mut v| v.take_values()).ok_or("no values")?;
            let indices = grown.iter_mut().map(|a| a.take_indices().ok_or("no indices"));
            let made = self.assembled(indices.collect::<Result<_, _>>()?, values)?;
            outputs.insert(self.made.planned.output().clone(), made);
        }
        Ok(outputs)
    }

    /// The dense results of the interpreter of code, which tests every access, one behind the other.
    pub fn interpreted(&self, threads: usize) -> Result<Vec<f64>, String> {
        self.numbers(&self.results_of_code(threads)?)
    }

    /// The result of the last statement of the interpreter of code, which tests every access.
    pub fn result_of_code(&self, threads: usize) -> Result<Tensor, String> {
        self.last(self.results_of_code(threads)?)
    }

    fn last(&self, mut results: IndexMap<Name, Tensor>) -> Result<Tensor, String> {
        let last = results.swap_remove(self.made.planned.output());
        last.ok_or_else(|| "no result".to_string())
    }

    /// The results of the interpreter of code, which tests every access.
    pub fn results_of_code(&self, threads: usize) -> Result<IndexMap<Name, Tensor>, String> {
        let mut given = Arguments { threads, ..Arguments::default() };
        let mut out_arrays = HashMap::new();
        for (name, out) in &self.outputs {
            out_arrays.insert(name, converted(&self.made.planned, out)?);
        }
        for statement in self.made.planned.statements() {
            let space = statement.space();
            for (index, extent) in &space.extents {
                given.sizes.insert(extent.clone(), self.extents.indices[index]);
            }
        }
        for o in &self.made.planned.statements()[0].space().operands {
            let (tensor, arrays, values) = match self.inputs.get(&o.tensor) {
                Some(input) => (input.tensor, &input.arrays, &input.values),
                None => match self.outputs.get(&o.tensor).filter(|_| o.is_given()) {
                    Some(out) => (out, &out_arrays[&o.tensor], out.values()),
                    None => {
                        let extents = o.extents_in(self.extents);
                        given.sizes.extend(extents.map(|(name, n)| (name.clone(), n)));
                        continue;
                    }
                },
            };
            given.sizes.extend(o.extents.iter().cloned().zip(tensor.dims().iter().copied()));
            for (renamed, size) in o.params.keys().zip(tensor.params().values()) {
                let size = usize::try_from(*size).map_err(|_| format!("{renamed} = {size}"))?;
                given.sizes.insert(renamed.clone(), size);
            }
            given.indices.extend(o.arrays.keys().cloned().zip(arrays.values()));
            given.values.insert(o.value_array.clone(), values);
        }
        let run = Interpreter::new(&self.made.body).run(&given, FUEL);
        let mut outputs =
            run.map_err(|fault| format!("interpreter: {fault}\n{}", self.made.body))?;
        let mut results = IndexMap::new();
        for (name, out) in &self.outputs {
            let operands = &self.made.planned.statements()[0].space().operands;
            let operand = operands.iter().find(|o| o.tensor == *name).ok_or("no operand")?;
            let mut out = out.clone();
            *out.values_mut() =
                outputs.swap_remove(&operand.value_array).ok_or_else(|| format!("no {name}"))?;
            results.insert(name.clone(), out);
        }
        if let Some(assembled) = self.made.planned.assembled() {
            let width = self.made.planned.index_width();
            let values = outputs.swap_remove(&assembled.values).ok_or("no values")?;
            let mut indices = Vec::new();
            for (array, renamed) in &assembled.arrays {
                let Some(Values::I64(list)) = outputs.swap_remove(renamed) else {
                    return Err(format!("no array {renamed}"));
                };
                let wanted = index_type(&assembled.layout, array, width);
                let wanted = wanted.parse().map_err(|e| format!("{e:?}"))?;
                let data = IndexData::from_i64(wanted, list).map_err(|e| format!("{e:#?}"))?;
                indices.push(data);
            }
            results.insert(assembled.tensor.clone(), self.assembled(indices, values)?);
        }
        Ok(results)
    }

    /// All elements of the result of the last statement: where nothing is stored, they are what nothing was combined
    /// into.
    pub fn elements(&self, result: &Tensor) -> Result<Values, String> {
        self.elements_of(self.made.planned.output(), result)
    }

    /// The same of any result.
    pub fn elements_of(&self, name: &Name, result: &Tensor) -> Result<Values, String> {
        let dense = result.dense_else(self.made.planned.fill_of_result(name));
        dense.map(|dense| dense.values().clone()).map_err(|e| format!("{e:#?}"))
    }

    /// The elements of all results, that of the last statement first.
    fn numbers(&self, results: &IndexMap<Name, Tensor>) -> Result<Vec<f64>, String> {
        let mut out = Vec::new();
        for name in self.made.planned.program().results() {
            let result = results.get(&name).ok_or_else(|| format!("no {name}"))?;
            let values = self.elements_of(&name, result)?;
            out.extend((0..values.len()).map(|k| values.get_f64(k)));
        }
        Ok(out)
    }

    /// Empty arrays for a result that the kernel makes, its values last.
    fn grown(&self) -> Result<Vec<GrownArray>, String> {
        let planned = &self.made.planned;
        let Some(assembled) = planned.assembled() else { return Ok(Vec::new()) };
        let mut out = Vec::new();
        for array in assembled.layout.arrays.keys() {
            let ty = index_type(&assembled.layout, array, planned.index_width());
            let ty = ty.parse().map_err(|e| format!("{e:?}"))?;
            out.push(GrownArray::indices(ty));
        }
        out.push(GrownArray::values(planned.types().of(planned.output())));
        Ok(out)
    }

    /// A result that the kernel made: it is valid, and what it does not store is of the same type.
    fn assembled(&self, indices: Vec<IndexData>, values: Values) -> Result<Tensor, String> {
        let planned = &self.made.planned;
        let assembled = planned.assembled().ok_or("nothing is assembled")?;
        let shown = |e: Box<siskin::diagnostic::Diagnostic>| format!("{e:#?}");
        let arrays = assembled.layout.arrays.keys().cloned().zip(indices).collect();
        let (layout, dims) = (assembled.layout.clone(), &self.extents.tensors[planned.output()]);
        let begin = planned.result_fill();
        assert_eq!(begin.value_type(), values.value_type(), "the fill is of the result's type");
        let made = Tensor::new(layout, dims.clone(), &IndexMap::new(), arrays, values);
        let mut made = made.map_err(shown)?;
        made.validate().map_err(shown)?;
        Ok(made)
    }

    /// Which elements an output with index arrays stores; `None` if it has none of them.
    pub fn stored(&self) -> Option<Vec<bool>> {
        let out = self.outputs.get(self.made.planned.output())?;
        let mut ones = Some(out.clone()).filter(|out| !out.arrays().is_empty())?;
        *ones.values_mut() = Values::F64(vec![1.0; ones.values().len()]);
        let dense = ones.dense().ok()?;
        Some((0..dense.values().len()).map(|k| dense.values().get_f64(k) != 0.0).collect())
    }
}

/// Index arrays of the types that the kernel has.
fn converted(planned: &Planned, tensor: &Tensor) -> Result<IndexMap<Name, IndexData>, String> {
    let layout = tensor.layout();
    let arrays = tensor.arrays().iter().map(|(name, array)| {
        let wanted = index_type(layout, name, planned.index_width());
        let wanted = wanted.parse().map_err(|e| format!("{e:?}"))?;
        let array = array.convert(wanted).map_err(|e| format!("{e:#?}"))?;
        Ok((name.clone(), array))
    });
    arrays.collect()
}

/// What a result begins with; with the index arrays of the input that it shares.
fn blank(
    made: &Made,
    name: &Name,
    tensors: &IndexMap<Name, Tensor>,
    extents: &Extents,
) -> Result<Tensor, String> {
    let planned = &made.planned;
    let layout = &planned.layouts()[name];
    let dims = &extents.tensors[name];
    let own = made.signature.tensors.iter().find(|t| t.tensor == *name);
    let shared = own.and_then(|t| t.shares.as_ref()).and_then(|s| tensors.get(s));
    let arrays: IndexMap<Name, IndexData> = match shared {
        None => IndexMap::new(),
        Some(input) => {
            let ours = input.arrays().iter().filter(|(n, _)| layout.arrays.contains_key(*n));
            ours.map(|(n, a)| (n.clone(), a.clone())).collect()
        }
    };
    let counted = shared.map(|input| input.params().clone()).unwrap_or_default();
    let sizes = Sizes { layout, dims, counted: &counted, arrays: &arrays };
    let len = sizes.value(&layout.value.len).ok_or("the output has no size")?;
    let mut values = Values::zeros(planned.types().of(name), len as usize);
    let assignments = planned.program().assignments().map_err(|e| format!("{e:#?}"))?;
    let first =
        assignments.iter().find(|a| a.output.tensor == *name).ok_or("nothing is written")?;
    let op = first.op.combines().map_err(|e| format!("{e:#?}"))?;
    let operands = &planned.statements()[0].space().operands;
    match operands.iter().find(|o| o.tensor == *name).and_then(|o| o.begins) {
        Some(begin) => begin.fill(&mut values),
        None => fill_initially(&mut values, &op).map_err(|e| format!("{e:#?}"))?,
    }
    Tensor::new(layout.clone(), dims.clone(), &counted, arrays, values)
        .map_err(|e| format!("{e:#?}"))
}

struct Sizes<'a> {
    layout: &'a Layout,
    dims: &'a [usize],
    counted: &'a IndexMap<Name, i64>,
    arrays: &'a IndexMap<Name, IndexData>,
}

impl Sizes<'_> {
    fn value(&self, e: &Arith) -> Option<i64> {
        let size = |n: &str| match self.layout.extents().iter().position(|x| **x == *n) {
            Some(d) => Some(self.dims[d] as i64),
            None => match self.layout.params.get(n)? {
                Some(definition) => self.value(definition),
                None => self.counted.get(n).copied(),
            },
        };
        let element = |array: &str, at: &[i64]| match at {
            [k] => self.arrays.get(array).map(|a| a.get(*k as usize)),
            _ => None,
        };
        e.value(&(&size, &element))
    }
}
