//! Every kernel against the dense interpreter.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;
use siskin::code::Body;
use siskin::diagnostic::Code;
use siskin::formula::Name;
use siskin::layout::Layout;
use siskin::operators::Value;
use siskin::packing::{self, PackOptions};
use siskin::program::{Dense, Extents, Program, Types, interpret_typed, resolve};
use siskin::tensor::{self, Tensor, ValueType, Values};

use super::bound::Bound;
use super::variants::{Entry, VARIANTS, Variant};
use super::{Case, Data, Entries, Library, Made, layout_of};

/// One set of data, with what is known of it.
struct Prepared<'a> {
    program: &'a Program,
    case: &'a Case,
    data: &'a Data,
    extents: Extents,
    /// The entries of every input in each variant.
    entries: IndexMap<Name, Vec<(Variant, Vec<Entry>)>>,
    /// Expected results, by the type of the kernel and the variant of each input.
    expected: HashMap<(ValueType, Vec<Variant>), Vec<f64>>,
    /// Packed inputs by tensor and layout; `None` if the layout holds no variant.
    packed: HashMap<(Name, String), Option<(Variant, Tensor)>>,
}

/// Runs every kernel on all data; the number of runs.
pub fn compare(case: &Case, kernels: &[Made], library: &Library) -> Result<usize, String> {
    kernels.iter().try_for_each(reads_back)?;
    let program = Program::parse(&case.expression).map_err(|e| format!("{e:#?}"))?;
    let mut runs = 0;
    let mut nonzero = 0;
    // For each shape, the kernels that ran on data of it.
    let mut shapes: IndexMap<&str, Vec<bool>> = IndexMap::new();
    for data in &case.data {
        let mut prepared = Prepared::new(&program, case, data)?;
        let mut ran =
            data.shape.as_deref().map(|s| shapes.entry(s).or_insert(vec![false; kernels.len()]));
        for (k, made) in kernels.iter().enumerate() {
            let about = |e: String| {
                let nests = made.planned.statements().iter().map(|s| s.nest().to_string());
                let nests: Vec<String> = nests.collect();
                format!("{}, data `{}`: {e}\n{}", made.label, data.name, nests.join("\n"))
            };
            let Some((variants, inputs)) = prepared.inputs(made).map_err(&about)? else {
                continue;
            };
            let expected = prepared.expected(made.planned.types().general, variants)?;
            nonzero += expected.iter().filter(|v| **v != 0.0).count();
            let bound = Bound::new(made, &inputs, &prepared.extents).map_err(&about)?;
            // Threads that are no divisors of small extents make uneven parts.
            let threads: &[usize] = if made.signature.threads { &[1, 2, 3, 7] } else { &[1] };
            for &threads in threads {
                let about = |e: String| about(format!("{threads} thread(s): {e}"));
                let interpreted = bound.interpreted(threads).map_err(about)?;
                if interpreted != expected {
                    let got = format!("the interpreter of code gives {interpreted:?}");
                    return Err(about(format!("expected {expected:?}\n{got}")));
                }
                if !library.has(k) {
                    continue;
                }
                // The tensors are valid.
                let got = unsafe { bound.compiled(k, library, threads) }.map_err(about)?;
                if got != expected {
                    return Err(about(format!("expected {expected:?}\n     got {got:?}")));
                }
            }
            runs += 1;
            if let Some(ran) = &mut ran {
                ran[k] = true;
            }
        }
    }
    if nonzero == 0 {
        return Err("all results are zero".into());
    }
    for (shape, ran) in shapes {
        if let Some(k) = ran.iter().position(|ran| !ran) {
            return Err(format!("{} ran on no data of shape `{shape}`", kernels[k].label));
        }
    }
    Ok(runs)
}

/// The core's notation, parsed and printed again, is the same.
pub fn reads_back(made: &Made) -> Result<(), String> {
    let text = made.body.to_string();
    let again = Body::parse(&text).map_err(|e| format!("{}: {e:#?}\n{text}", made.label))?;
    match again.to_string() {
        same if same == text => Ok(()),
        other => Err(format!("{}: printed\n{text}\nread as\n{other}", made.label)),
    }
}

impl<'a> Prepared<'a> {
    fn new(program: &'a Program, case: &'a Case, data: &'a Data) -> Result<Prepared<'a>, String> {
        let stated = data.extents.iter().map(|(i, n)| (Name::from(i.as_str()), *n)).collect();
        let extents = resolve(program, &dims_of(data), &stated).map_err(|e| format!("{e:#?}"))?;
        let mut variants = IndexMap::new();
        for (tensor, list) in entries(program, data)? {
            let dims = &data.dims[&*tensor];
            let of = |v: Variant| Some((v, v.of(dims, &list)?));
            variants.insert(tensor, VARIANTS.into_iter().filter_map(of).collect());
        }
        let (expected, packed) = (HashMap::new(), HashMap::new());
        Ok(Prepared { program, case, data, extents, entries: variants, expected, packed })
    }

    /// Every input in its layout, in the first variant that the layout holds.
    #[allow(clippy::type_complexity)]
    fn inputs(
        &mut self,
        made: &Made,
    ) -> Result<Option<(Vec<Variant>, IndexMap<Name, Tensor>)>, String> {
        let (mut variants, mut inputs) = (Vec::new(), IndexMap::new());
        for (name, entries) in &self.entries {
            let layout = layout_of(made, name);
            let key = (name.clone(), layout.name.clone());
            if !self.packed.contains_key(&key) {
                let fill = self.case.fills.get(&**name).copied().map(Value::F64);
                let options = PackOptions { fill, ..PackOptions::default() };
                let packed = pack_with(&layout, &self.data.dims[&**name], entries, &options);
                let packed = packed.map_err(|e| format!("{name}: {e}"))?;
                self.packed.insert(key.clone(), packed);
            }
            let Some((variant, tensor)) = &self.packed[&key] else { return Ok(None) };
            variants.push(*variant);
            inputs.insert(name.clone(), tensor.clone());
        }
        Ok(Some((variants, inputs)))
    }

    /// What the dense interpreter says of these variants of the inputs, in the types of a kernel: the greatest of
    /// nothing is another number in each.
    fn expected(&mut self, general: ValueType, variants: Vec<Variant>) -> Result<Vec<f64>, String> {
        let key = (general, variants);
        if let Some(known) = self.expected.get(&key) {
            return Ok(known.clone());
        }
        let (general, variants) = &key;
        let types = Types { general: *general, ..self.case.types()? };
        let mut tensors: IndexMap<Name, Dense> = IndexMap::new();
        for ((tensor, lists), variant) in self.entries.iter().zip(variants) {
            let (_, list) = lists.iter().find(|(v, _)| v == variant).expect("a known variant");
            let dims = self.data.dims[&**tensor].clone();
            let mut numbers: Vec<Option<f64>> = vec![None; dims.iter().product()];
            for (at, value) in list {
                let place = at.iter().zip(&dims).fold(0, |place, (c, extent)| place * extent + c);
                *numbers[place].get_or_insert(0.0) += value;
            }
            let fill = self.case.fills.get(&**tensor).copied().unwrap_or(0.0);
            let mut values = Values::zeros(types.of(tensor), numbers.len());
            for (k, number) in numbers.into_iter().enumerate() {
                Value::F64(number.unwrap_or(fill)).store(&mut values, k);
            }
            tensors.insert(tensor.clone(), Dense { dims, values });
        }
        let outputs = interpret_typed(self.program, &tensors, &types, &self.extents);
        let outputs = outputs.map_err(|e| format!("{e:#?}"))?;
        let mut result: Vec<f64> = Vec::new();
        for name in self.program.results() {
            let output = &outputs[&name].values;
            result.extend((0..output.len()).map(|k| output.get_f64(k)));
        }
        self.expected.insert(key, result.clone());
        Ok(result)
    }
}

fn dims_of(data: &Data) -> IndexMap<Name, Vec<usize>> {
    data.dims.iter().map(|(t, d)| (Name::from(t.as_str()), d.clone())).collect()
}

/// The first variant that the layout holds.
pub fn pack(
    layout: &Arc<Layout>,
    dims: &[usize],
    variants: &[(Variant, Vec<Entry>)],
) -> Result<Option<(Variant, Tensor)>, String> {
    pack_with(layout, dims, variants, &PackOptions::default())
}

/// [`pack`] with options.
pub fn pack_with(
    layout: &Arc<Layout>,
    dims: &[usize],
    variants: &[(Variant, Vec<Entry>)],
    options: &PackOptions,
) -> Result<Option<(Variant, Tensor)>, String> {
    for (variant, list) in variants {
        let points: Vec<(&[usize], f64)> = list.iter().map(|(at, v)| (&at[..], *v)).collect();
        let entries = tensor::Entries::from_points(dims, &points).map_err(|e| format!("{e:#?}"))?;
        match packing::pack(layout, &entries, options) {
            Ok(mut packed) => {
                packed.validate().map_err(|e| format!("{variant:?}: {e:#?}"))?;
                return Ok(Some((*variant, packed)));
            }
            Err(e) if e.code == Code::NotPackable => {}
            Err(e) => return Err(format!("{variant:?}: {e:#?}")),
        }
    }
    Ok(None)
}

/// The entries of every input, in the order in which they are given.
fn entries(program: &Program, data: &Data) -> Result<IndexMap<Name, Vec<Entry>>, String> {
    let mut out = IndexMap::new();
    let given = program.tensors().into_iter().filter(|(tensor, _)| !program.writes(tensor));
    for (tensor, rank) in given {
        let dims = data.dims.get(&*tensor).cloned().unwrap_or_default();
        if dims.len() != rank {
            return Err(format!("data `{}`: dims of {tensor}", data.name));
        }
        let total: usize = dims.iter().product();
        let point = |mut number: usize| {
            let mut at: Vec<usize> = Vec::new();
            for extent in dims.iter().rev() {
                at.insert(0, number % extent);
                number /= extent;
            }
            at
        };
        let list: Vec<Entry> = match data.entries.get(&*tensor) {
            None => Vec::new(),
            Some(Entries::Listed(rows)) => rows
                .iter()
                .map(|row| {
                    let (value, at) = row.split_last().expect("a value");
                    (at.iter().map(|&c| c as usize).collect(), *value as f64)
                })
                .collect(),
            Some(Entries::Made(how)) => match how.split(' ').collect::<Vec<_>>()[..] {
                ["full"] => (0..total).map(|n| (point(n), (n % 7) as f64 - 2.0)).collect(),
                ["random", count, seed] => {
                    let parse = |t: &str| t.parse::<usize>().map_err(|e| e.to_string());
                    let (count, mut state) = (parse(count)?, parse(seed)? as u64);
                    let mut next = || {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        (state >> 33) as usize
                    };
                    let count = if total == 0 { 0 } else { count };
                    (0..count).map(|_| (point(next() % total), (next() % 9) as f64 - 4.0)).collect()
                }
                _ => return Err(format!("unknown entries `{how}`")),
            },
        };
        out.insert(tensor, list);
    }
    Ok(out)
}
