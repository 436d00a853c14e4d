//! Every kernel against the dense interpreter.

use indexmap::IndexMap;
use siskin::emit::{counted_fields, index_type};
use siskin::formula::Name;
use siskin::program::{Extents, OracleTensor, Program, interpret, resolve};
use siskin::tensor::{self, IndexData, IndexType, PackOptions, Tensor, Values};

use super::library::RawArray;
use super::{Case, Data, Entries, Library, Made, layout_of};

/// Coordinates and a value.
type Entry = (Vec<usize>, f64);

/// Runs every kernel on all data; the number of runs.
pub fn compare(case: &Case, kernels: &[Made], library: &Library) -> Result<usize, String> {
    let program = Program::parse(&case.expression).map_err(|e| format!("{e:#?}"))?;
    let mut runs = 0;
    let mut nonzero = 0;
    for data in &case.data {
        let entries = entries(&program, data)?;
        let (extents, expected) = oracle(&program, data, &entries)?;
        nonzero += expected.iter().filter(|v| **v != 0.0).count();
        for (k, made) in kernels.iter().enumerate() {
            let about = |e: String| {
                let nests = made.planned.statements.iter().map(|s| s.nest.to_string());
                let nests: Vec<String> = nests.collect();
                format!("{}, data `{}`: {e}\n{}", made.label, data.name, nests.join("\n"))
            };
            let inputs = match pack(made, data, &entries) {
                Ok(inputs) => inputs,
                // A format for triangles, say, cannot hold everything.
                Err(e) if e.contains("NotPackable") => continue,
                Err(e) => return Err(about(e)),
            };
            let got = run(made, k, library, &inputs, &extents).map_err(about)?;
            if got != expected {
                return Err(about(format!("expected {expected:?}\n     got {got:?}")));
            }
            runs += 1;
        }
    }
    if nonzero == 0 {
        return Err("all results are zero".into());
    }
    Ok(runs)
}

/// The entries of every input, in the order in which they are given.
fn entries(program: &Program, data: &Data) -> Result<IndexMap<Name, Vec<Entry>>, String> {
    let mut out = IndexMap::new();
    for (tensor, rank) in program.tensors().into_iter().skip(1) {
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

fn oracle(
    program: &Program,
    data: &Data,
    entries: &IndexMap<Name, Vec<Entry>>,
) -> Result<(Extents, Vec<f64>), String> {
    let dims: IndexMap<Name, Vec<usize>> =
        data.dims.iter().map(|(t, d)| (Name::from(t.as_str()), d.clone())).collect();
    let stated = data.extents.iter().map(|(i, n)| (Name::from(i.as_str()), *n)).collect();
    let extents = resolve(program, &dims, &stated).map_err(|e| format!("{e:#?}"))?;
    let mut tensors: IndexMap<Name, OracleTensor> = IndexMap::new();
    for (tensor, list) in entries {
        let dims = dims.get(tensor).cloned().unwrap_or_default();
        let mut values = vec![0.0; dims.iter().product()];
        for (at, value) in list {
            let place = at.iter().zip(&dims).fold(0, |place, (c, extent)| place * extent + c);
            values[place] += value;
        }
        tensors.insert(tensor.clone(), OracleTensor { dims, values });
    }
    let expected = interpret(program, &tensors, &extents).map_err(|e| format!("{e:#?}"))?;
    Ok((extents, expected))
}

/// Every input in its layout, with the element types of the kernel.
fn pack(
    made: &Made,
    data: &Data,
    entries: &IndexMap<Name, Vec<Entry>>,
) -> Result<IndexMap<Name, Tensor>, String> {
    let mut out = IndexMap::new();
    for (name, list) in entries {
        let dims = data.dims.get(&**name).cloned().unwrap_or_default();
        let points: Vec<(&[usize], f64)> = list.iter().map(|(at, v)| (&at[..], *v)).collect();
        let entries =
            tensor::Entries::from_points(&dims, &points).map_err(|e| format!("{e:#?}"))?;
        let layout = layout_of(made, name);
        let mut packed = tensor::pack(&layout, &entries, &PackOptions::default())
            .map_err(|e| format!("{name}: {e:#?}"))?;
        packed.validate().map_err(|e| format!("{name}: {e:#?}"))?;
        out.insert(name.clone(), packed);
    }
    Ok(out)
}

fn run(
    made: &Made,
    kernel: usize,
    library: &Library,
    inputs: &IndexMap<Name, Tensor>,
    extents: &Extents,
) -> Result<Vec<f64>, String> {
    let planned = &made.planned;
    let output = &planned.program.output.tensor;
    let dims = &extents.tensors[output];
    let mut result = Values::zeros(planned.value_type, dims.iter().product());
    let mut sizes: Vec<usize> = dims.clone();
    let (data, len) = result.raw_mut();
    let mut arrays = vec![RawArray { data, len }];
    // Converted arrays live as long as the call.
    let mut indices: Vec<IndexData> = Vec::new();
    let mut values: Vec<Values> = Vec::new();
    let mut seen: Vec<&Name> = Vec::new();
    for operand in &planned.statements[0].space.operands[1..] {
        if seen.contains(&&operand.tensor) {
            continue;
        }
        seen.push(&operand.tensor);
        let tensor = &inputs[&operand.tensor];
        let layout = tensor.layout();
        sizes.extend(tensor.dims());
        sizes.extend(counted_fields(layout).iter().map(|n| tensor.params()[n] as usize));
        for (name, array) in tensor.arrays() {
            let wanted: IndexType = index_type(layout, name, planned.index_width)
                .parse()
                .map_err(|e| format!("{e:?}"))?;
            let array = array.convert(wanted).map_err(|e| format!("{e:#?}"))?;
            let (data, len) = array.raw();
            arrays.push(RawArray { data: data.cast_mut(), len });
            indices.push(array);
        }
        let converted =
            tensor.values().convert(planned.value_type).map_err(|e| format!("{e:#?}"))?;
        let (data, len) = converted.raw();
        arrays.push(RawArray { data: data.cast_mut(), len });
        values.push(converted);
    }
    // The arrays were validated, and have the types and the order of the module's entry.
    unsafe { library.run(kernel, &sizes, &arrays)? };
    Ok((0..result.len()).map(|k| result.get_f64(k)).collect())
}
