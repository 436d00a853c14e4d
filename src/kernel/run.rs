//! Running a compiled kernel on tensors.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use indexmap::IndexMap;

use super::CompiledKernel;
use super::copies::fitting;
use crate::code::IndexWidth;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::exec::{Arguments, GrownArray};
use crate::formula::{Arith, Name};
use crate::iterspace::Role;
use crate::layout::Layout;
use crate::loops::Assembled;
use crate::module::{TensorSignature, index_type};
use crate::operators::{Operator, Value};
use crate::packing::{PackOptions, convert};
use crate::program::{Extents, resolve};
use crate::tensor::{IndexData, IndexType, Tensor, Values, room};

/// The remedy for an output that fits no memory.
pub const SPARSER: &str = "use smaller extents, or an output that shares the sparsity of an input";

/// A kernel with validated arguments, ready to run any number of times.
pub struct Call<'a> {
    kernel: &'a CompiledKernel,
    /// The results, that of the last statement first.
    outputs: IndexMap<Name, Output>,
    arguments: Arguments,
    // What `arguments` points to besides `outputs`.
    _inputs: Vec<Input<'a>>,
}

/// What the kernel writes.
enum Output {
    /// Elements of a tensor that is there; `initial` is what it holds before the first run, if that is given.
    Elements { tensor: Tensor, initial: Option<Values> },
    /// Arrays that it makes, index arrays first, for a tensor of these extents.
    Arrays { dims: Vec<usize>, indices: Vec<GrownArray>, values: GrownArray },
}

/// The arrays of one input, of the types that the kernel has; converted ones are owned.
struct Input<'a> {
    tensor: &'a Tensor,
    arrays: IndexMap<Name, Cow<'a, IndexData>>,
    values: Cow<'a, Values>,
}

impl Input<'_> {
    /// Copies of the arrays that `layout` has too.
    fn some_arrays(&self, layout: &Layout) -> IndexMap<Name, IndexData> {
        let common = self.arrays.iter().filter(|(name, _)| layout.arrays.contains_key(*name));
        common.map(|(name, data)| (name.clone(), data.clone().into_owned())).collect()
    }
}

/// Sizes of an output that shares the index arrays of an input.
struct SizeLookup<'a> {
    layout: &'a Layout,
    dims: &'a [usize],
    known: &'a IndexMap<Name, i64>,
    arrays: &'a IndexMap<Name, IndexData>,
}

impl SizeLookup<'_> {
    fn value(&self, e: &Arith) -> Option<i64> {
        let size = |n: &str| -> Option<i64> {
            if let Some(d) = self.layout.extents().iter().position(|x| **x == *n) {
                return i64::try_from(self.dims[d]).ok();
            }
            match self.layout.params.get(n)? {
                Some(definition) => self.value(definition),
                None => self.known.get(n).copied(),
            }
        };
        let element = |array: &str, at: &[i64]| -> Option<i64> {
            let (data, declared) = (self.arrays.get(array)?, self.layout.arrays.get(array)?);
            let mut offset = 0i64;
            for (k, (&a, extent)) in at.iter().zip(&declared.shape).enumerate() {
                let row = if k == 0 { 0 } else { offset.checked_mul(self.value(extent)?)? };
                offset = row.checked_add(a)?;
            }
            let offset = usize::try_from(offset).ok().filter(|&k| k < data.len())?;
            Some(data.get(offset))
        };
        e.value(&(size, element))
    }
}

/// Fills an output with what its operator begins with: 0 for sums, infinity for the least float.
///
/// # Errors
/// If the operator has no identity of that type.
pub fn fill_initially(values: &mut Values, op: &Operator) -> Result<()> {
    let ty = values.value_type();
    let remedy = "give the output an initial value (`-t NAME=FILE`)";
    let identity = op.beginning(ty).map_err(|e| e.help(remedy))?;
    if !identity.same(Value::zero(ty)) {
        // They are zeros.
        identity.fill(values);
    }
    Ok(())
}

impl CompiledKernel {
    /// Runs the kernel once. The output is allocated here; a tensor given under the output's name is
    /// its initial value, for statements that add to it. Of a tensor that is given in several layouts, it reads that
    /// in the layout it was planned for.
    ///
    /// # Errors
    /// [`Code::Shape`] if a tensor is missing, or its layout or extents do not fit;
    /// [`Code::Property`] if its arrays break a property that its layout declares;
    /// [`Code::Data`] if its values or indices do not fit the types of the kernel.
    pub fn run<'a>(
        &'a self,
        tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
    ) -> Result<Tensor> {
        let mut call = self.call(tensors, &IndexMap::new())?;
        call.run();
        call.into_output()
    }

    /// Checks everything that a run relies on. `index_extents` are the extents that no tensor
    /// fixes.
    ///
    /// # Errors
    /// Those of [`CompiledKernel::run`].
    pub fn call<'a>(
        &'a self,
        tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
        index_extents: &IndexMap<Name, usize>,
    ) -> Result<Call<'a>> {
        let tensors = fitting(&self.planned, tensors);
        let program = self.planned.program();
        let temporaries = program.temporaries();
        let known = |n: &&Name| !temporaries.contains(*n);
        let known: Vec<&Name> = self.planned.layouts().keys().filter(known).collect();
        if let Some(name) = tensors.keys().find(|n| !known.contains(n)) {
            let known: Vec<&str> = known.iter().map(|n| &***n).collect();
            return Err(Diagnostic::new(
                Code::Shape,
                format!("a tensor is given for `{name}`, which the expression does not use"),
            )
            .help(format!("the tensors of the expression are {}", known.join(", "))));
        }
        let dims = tensors.iter().map(|(n, t)| (n.clone(), t.dims().to_vec())).collect();
        let mut index_extents = index_extents.clone();
        index_extents.extend(self.planned.place().map(|place| (place.clone(), 1)));
        let extents = resolve(program, &dims, &index_extents)?;
        let mut inputs: IndexMap<&Name, Input<'a>> = IndexMap::new();
        // The order of the entry's parameters: operands, each tensor once, the output first.
        let operands = &self.planned.statements()[0].space.operands;
        for operand in operands.iter().filter(|o| o.role == Role::Input) {
            let name = &operand.tensor;
            let Some(tensor) = tensors.get(name) else {
                return Err(Diagnostic::new(Code::Shape, format!("tensor `{name}` is not given"))
                    .help("give every tensor of the expression"));
            };
            if !inputs.contains_key(name) {
                inputs.insert(name, self.input(name, &operand.layout, tensor)?);
            }
        }
        self.room_for_temporaries(&extents)?;
        self.room_for_states()?;
        let shared = operands[0].shares.as_ref().and_then(|name| inputs.get(name));
        let mut outputs: IndexMap<Name, Output> = IndexMap::new();
        let fresh = self.planned.fresh();
        for name in program.results() {
            let initial = tensors.get(&name).copied();
            if let (Some(begin), Some(_)) = (fresh.get(&name), initial) {
                let what = format!("`{name}` is given, but the kernel relies on its being {begin}");
                return Err(Diagnostic::new(Code::Shape, what)
                    .help("make a kernel that is not told that it is fresh"));
            }
            let is_last = name == *self.planned.output();
            let output = match self.planned.assembled().filter(|_| is_last) {
                Some(assembled) => self.grown(assembled, &extents, initial)?,
                None => {
                    let shared = shared.filter(|_| is_last);
                    let tensor = self.output(&name, &extents, shared, initial)?;
                    let initial = initial.map(|_| tensor.values().clone());
                    Output::Elements { tensor, initial }
                }
            };
            outputs.insert(name, output);
        }
        let mut arguments = Arguments::default();
        let signature = self.module.signature();
        for t in &signature.tensors {
            match inputs.get(&t.tensor) {
                Some(input) => {
                    sizes(&mut arguments, t, input.tensor);
                    t.arrays.iter().for_each(|a| arguments.index(&input.arrays[&a.name]));
                    arguments.values(&input.values);
                }
                None => match outputs.get_mut(&t.tensor) {
                    Some(Output::Elements { tensor, .. }) => {
                        sizes(&mut arguments, t, tensor);
                        t.arrays.iter().for_each(|a| arguments.index(&tensor.arrays()[&a.name]));
                        arguments.values_mut(tensor.values_mut());
                    }
                    Some(Output::Arrays { dims, indices, values }) => {
                        dims.iter().for_each(|&n| arguments.size(n));
                        for array in indices.iter_mut().chain([values]) {
                            arguments.array(array.argument());
                        }
                    }
                    None => {
                        let what = format!("nobody gives or takes `{}`", t.tensor);
                        return Err(Diagnostic::defect(what));
                    }
                },
            }
        }
        for e in &signature.extents {
            arguments.size(extents.indices[&e.index]);
        }
        if signature.threads {
            arguments.size(self.threads);
        }
        let written = outputs.values().filter_map(Output::tensor);
        let tensors = inputs.values().map(|i| i.tensor).chain(written);
        let derived = tensors.flat_map(|t| t.params().values()).copied().max().unwrap_or(0);
        self.check_limit(arguments.largest().max(derived as usize))?;
        // Anything else would be read as garbage on the other side.
        assert_eq!(arguments.arity(), signature.arity(), "the entry takes other arguments");
        let inputs = inputs.into_values().collect();
        Ok(Call { kernel: self, outputs, arguments, _inputs: inputs })
    }

    /// Empty arrays for a result that the kernel assembles.
    fn grown(
        &self,
        assembled: &Assembled,
        extents: &Extents,
        initial: Option<&Tensor>,
    ) -> Result<Output> {
        let name = self.planned.output();
        if initial.is_some() {
            return Err(Diagnostic::new(
                Code::Shape,
                format!("`{name}` is assembled, and cannot begin with an initial value"),
            )
            .help(format!("give it another name, and add it: `{name}[…] = Before[…] + …`")));
        }
        let dims = extents.tensors[name].clone();
        self.check_width(name, &dims, &IndexMap::new())?;
        let width = self.planned.index_width();
        self.room_for(assembled, &dims)?;
        let mut indices = Vec::new();
        for array in assembled.layout.arrays.keys() {
            let ty: IndexType = index_type(&assembled.layout, array, width).parse()?;
            indices.push(GrownArray::indices(ty));
        }
        let values = GrownArray::values(self.planned.types().of(name));
        Ok(Output::Arrays { dims, indices, values })
    }

    /// What the operator leaves as it is, or a copy of the initial value; the index arrays are those of `shared`.
    fn output(
        &self,
        name: &Name,
        extents: &Extents,
        shared: Option<&Input<'_>>,
        initial: Option<&Tensor>,
    ) -> Result<Tensor> {
        let layout = &self.planned.layouts()[name];
        let dims = &extents.tensors[name];
        let value_type = self.planned.types().of(name);
        if let Some(initial) = initial {
            same_layout(name, layout, initial)?;
            if let Some(shared) = shared
                && shared.arrays.iter().any(|(n, a)| {
                    initial.arrays().get(n).is_some_and(|b| !b.iter_i64().eq(a.iter_i64()))
                })
            {
                return Err(Diagnostic::new(
                    Code::Shape,
                    format!("the initial value of `{name}` has another sparsity than it shares"),
                )
                .help("leave the initial value out, or add it afterwards"));
            }
            let mut output = Tensor::new(
                layout.clone(),
                dims.clone(),
                initial.params(),
                shared.map_or_else(|| initial.arrays().clone(), |s| s.some_arrays(layout)),
                initial.values().convert(value_type)?,
            )?;
            output.validate().map_err(|e| e.note(format!("in tensor `{name}`")))?;
            self.check_width(name, output.dims(), output.params())?;
            return Ok(output);
        }
        let (counted, arrays) = match shared {
            Some(shared) => (shared.tensor.params().clone(), shared.some_arrays(layout)),
            None => (IndexMap::new(), IndexMap::new()),
        };
        if arrays.len() < layout.arrays.len() {
            return Err(Diagnostic::new(
                Code::Shape,
                format!("the output `{name}` has index arrays in its layout `{}`", layout.name),
            )
            .help("write into a layout without index arrays, and convert the result"));
        }
        let lookup = SizeLookup { layout, dims, known: &counted, arrays: &arrays };
        let length = lookup.value(&layout.value.len).and_then(|n| usize::try_from(n).ok());
        if let Some(n) = length {
            let bytes = (n as u64).saturating_mul(value_type.size_bytes() as u64);
            let what = || format!("the output `{name}` in layout `{}`", layout.name);
            room(bytes, &what, SPARSER)?;
        }
        let mut values =
            length.and_then(|n| Values::try_zeros(value_type, n)).ok_or_else(|| {
                Diagnostic::new(Code::Shape, format!("the output `{name}` does not fit in memory"))
                    .help("use smaller extents, or a sparser output")
            })?;
        let assignments = self.planned.program().assignments()?;
        if let Some(first) = assignments.iter().find(|a| a.output.tensor == *name) {
            fill_initially(&mut values, &*first.op.combines()?)?;
            if cfg!(debug_assertions) && self.planned.program().begins_anew(name) {
                // What is left of this was not written.
                Value::I64(77).cast(value_type).fill(&mut values);
            }
        }
        let output = Tensor::new(layout.clone(), dims.clone(), &counted, arrays, values)?;
        self.check_width(name, output.dims(), output.params())?;
        Ok(output)
    }

    fn input<'a>(&self, name: &Name, layout: &Layout, tensor: &'a Tensor) -> Result<Input<'a>> {
        same_layout(name, layout, tensor)?;
        if !tensor.is_validated() {
            let about = |e: Box<Diagnostic>| e.note(format!("in tensor `{name}`"));
            tensor.check_properties().map_err(about)?;
        }
        self.check_width(name, tensor.dims(), tensor.params())?;
        let width = self.planned.index_width();
        let mut arrays = IndexMap::new();
        for (array, data) in tensor.arrays() {
            let wanted = index_type(layout, array, width);
            let data = if data.index_type().rust_name() == wanted {
                Cow::Borrowed(data)
            } else {
                let wanted: IndexType = wanted.parse()?;
                let about = |e: Box<Diagnostic>| e.note(format!("`{array}` of tensor `{name}`"));
                Cow::Owned(data.convert(wanted).map_err(about)?)
            };
            arrays.insert(array.clone(), data);
        }
        let value_type = self.planned.types().of(name);
        let values = match tensor.value_type() == value_type {
            true => Cow::Borrowed(tensor.values()),
            false => Cow::Owned(
                tensor
                    .values()
                    .convert(value_type)
                    .map_err(|e| e.note(format!("in tensor `{name}`")))?,
            ),
        };
        Ok(Input { tensor, arrays, values })
    }

    /// No index arithmetic of the kernel overflows.
    fn check_limit(&self, largest: usize) -> Result<()> {
        let limit = self.module.size_limit();
        match largest {
            most if most as u64 > limit => Err(Diagnostic::new(
                Code::Shape,
                format!("a size of {most} is too large for the index arithmetic of this kernel"),
            )
            .note(format!("subscripts and positions fit 64 bits for sizes of at most {limit}"))
            .help("use smaller extents, or smaller factors in the subscripts")),
            _ => Ok(()),
        }
    }

    /// Every size fits the kernel's index type, which its proofs take for granted.
    fn check_width(&self, name: &Name, dims: &[usize], params: &IndexMap<Name, i64>) -> Result<()> {
        if self.planned.index_width() == IndexWidth::U64 {
            return Ok(());
        }
        let sizes = dims.iter().map(|&n| n as u64).chain(params.values().map(|&n| n as u64));
        match sizes.max() {
            Some(most) if most > u64::from(u32::MAX) => Err(Diagnostic::new(
                Code::Shape,
                format!("tensor `{name}` has a size of {most}, too large for 32-bit indices"),
            )
            .help("use 64-bit indices: `--index u64`, or `Kernel::index(IndexWidth::U64)`")),
            _ => Ok(()),
        }
    }
}

impl Call<'_> {
    /// Runs the kernel and returns its time. Running again adds again, unless the statement assigns.
    pub fn run(&mut self) -> Duration {
        let start = Instant::now();
        // SAFETY: `CompiledKernel::call` checked what the entry relies on.
        unsafe { self.kernel.built.library.run(&self.arguments) };
        start.elapsed()
    }

    /// Gives the results the values that they had before the first run.
    pub fn reset(&mut self) {
        let planned = &self.kernel.planned;
        for (name, output) in &mut self.outputs {
            let Output::Elements { tensor, initial } = output else { continue };
            match initial {
                Some(initial) => {
                    (0..initial.len()).for_each(|k| tensor.values_mut().set_from(k, initial, k));
                }
                None => {
                    let begin = planned.beginning(name);
                    begin.unwrap_or(Value::zero(tensor.value_type())).fill(tensor.values_mut());
                }
            }
        }
    }

    /// The result of the last statement, if the kernel writes into a tensor that is there.
    pub fn output(&self) -> Option<&Tensor> {
        self.outputs.first().and_then(|(_, output)| output.tensor())
    }

    /// The result of the last statement, in the layout that was asked for.
    ///
    /// # Errors
    /// Those of [`Call::into_results`].
    pub fn into_output(self) -> Result<Tensor> {
        let mut all = self.into_results()?;
        match all.swap_remove_index(0) {
            Some((_, tensor)) => Ok(tensor),
            None => Err(Diagnostic::defect("a kernel has no result")),
        }
    }

    /// All results by name, that of the last statement first, in the layouts that were asked for.
    ///
    /// # Errors
    /// [`Code::Shape`] if there are more entries than its index arrays can number; those of packing, if
    /// the kernel assembles another layout than the one that was asked for.
    pub fn into_results(self) -> Result<IndexMap<Name, Tensor>> {
        let planned = &self.kernel.planned;
        let mut results = IndexMap::new();
        for (name, output) in self.outputs {
            let mut made = self.kernel.made(output)?;
            if let Some(repacked) = planned.repacked.as_ref().filter(|_| name == *planned.output())
            {
                made = repacked.packed(&made, planned.result_fill())?;
            }
            results.insert(name, made);
        }
        Ok(results)
    }
}

impl Output {
    /// The tensor, if it is there.
    fn tensor(&self) -> Option<&Tensor> {
        match self {
            Output::Elements { tensor, .. } => Some(tensor),
            Output::Arrays { .. } => None,
        }
    }
}

impl CompiledKernel {
    /// What the kernel has made.
    fn made(&self, output: Output) -> Result<Tensor> {
        let planned = &self.planned;
        let (dims, mut indices, mut values) = match output {
            Output::Elements { tensor, .. } => return Ok(tensor),
            Output::Arrays { dims, indices, values } => (dims, indices, values),
        };
        let name = planned.output();
        let most = match planned.index_width() {
            IndexWidth::U32 => u32::MAX as usize,
            IndexWidth::U64 => usize::MAX,
        };
        if values.len() > most {
            return Err(Diagnostic::new(
                Code::Shape,
                format!("`{name}` has {} entries, too many for 32-bit indices", values.len()),
            )
            .help("use 64-bit indices: `--index u64`, or `Kernel::index(IndexWidth::U64)`"));
        }
        let wrong = || Diagnostic::defect(format!("the kernel gave no arrays for `{name}`"));
        let assembled = planned.assembled().ok_or_else(wrong)?;
        let mut arrays = IndexMap::new();
        for (array, data) in assembled.layout.arrays.keys().zip(&mut indices) {
            arrays.insert(array.clone(), data.take_indices().ok_or_else(wrong)?);
        }
        let values = values.take_values().ok_or_else(wrong)?;
        let layout = assembled.layout.clone();
        let mut result = Tensor::new(layout, dims, &IndexMap::new(), arrays, values)?;
        // It follows from the order in which entries come; a pass over the arrays is cheap.
        result.validate().map_err(|e| e.note(format!("in `{name}`, which a kernel assembled")))?;
        let wanted = &planned.layouts()[name];
        match assembled.layout.same_as(wanted) {
            true => Ok(result),
            false => {
                let fill = Some(planned.result_fill());
                convert(&result, wanted, &PackOptions { fill, ..PackOptions::default() })
            }
        }
    }
}

/// Dimensions, then the sizes that are fields of the tensor's struct.
fn sizes(arguments: &mut Arguments, signature: &TensorSignature, tensor: &Tensor) {
    tensor.dims().iter().for_each(|&n| arguments.size(n));
    for (name, ..) in &signature.counts {
        // Sizes are not negative.
        arguments.size(tensor.params().get(name).map_or(0, |&n| n as usize));
    }
}

/// The same declaration; under which name it was found does not matter.
fn same_layout(name: &Name, layout: &Layout, tensor: &Tensor) -> Result<()> {
    let given = tensor.layout();
    if given.same_as(layout) {
        return Ok(());
    }
    Err(Diagnostic::new(
        Code::Shape,
        format!(
            "tensor `{name}` has the layout `{}`, the kernel is for `{}`",
            given.name, layout.name
        ),
    )
    .help("convert the tensor, or compile a kernel for its layout"))
}
