//! Memory safety: no safe call reaches undefined behaviour, whatever the index arrays hold.
//!
//! For every shipped layout a small tensor is packed and then corrupted: single elements, whole
//! arrays, lengths, extents and counted sizes. What is derived from the declaration alone decides
//! what is still valid: each property is evaluated on all small values of its variables. Whatever
//! breaks one must be refused by [`Tensor::validate`] and by the generated module's own safe
//! function, by the same property and at the same index; that runs in a library with debug assertions,
//! so that an unchecked access outside an array would be seen. What breaks none must run.

#[path = "corpus_support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use libtest_mimic::{Arguments, Failed, Trial};
use siskin::formula::{Arith, Formula, Name};
use siskin::layout::{Layout, PropertyKind, shipped};
use siskin::module::{counted_fields, index_type};
use siskin::packing::{IndexWidth, PackOptions, pack};
use siskin::prover::Model;
use siskin::tensor::{Entries, IndexData, IndexType, Tensor, ValueType, Values};
use support::variants::{Entry, VARIANTS};
use support::{Case, Face, Library, Made, RawArray, kernels, layout_of, some_of};

/// A statement, and the layouts of its tensors besides `A`.
type Statement = (&'static str, &'static [(&'static str, &'static str)]);

/// Kernels of each rank: the corrupted `A` is walked by the first and searched by the others.
const KERNELS: [&[Statement]; 3] = [
    &[("a[] += A[i] * x[i]", &[("x", "dense")]), ("a[] += x[i] * A[i]", &[("x", "sparse")])],
    &[
        ("y[i] += A[i,j] * x[j]", &[("x", "dense")]),
        ("y[i] += A[i,j] * x[j]", &[("x", "sparse")]),
        ("C[i,j] = B[i,j] * A[i,j]", &[("B", "csr")]),
    ],
    &[
        ("Y[i,j] += A[i,j,k] * x[k]", &[("x", "dense")]),
        ("C[i,j,k] = B[i,j,k] * A[i,j,k]", &[("B", "csf")]),
    ],
];

/// Extents of each rank: small, and no multiple of the default blocks.
const SIDE: [usize; 3] = [6, 5, 3];

/// Elements of an array that are changed one by one.
const MOST_ELEMENTS: usize = 30;

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for (name, _) in shipped() {
        for rank in 1..=3 {
            if Layout::named_for_rank(&name, rank).is_ok() {
                let title = format!("{}_of_rank_{rank}", name.replace('-', "_"));
                let name = name.clone();
                trials.push(Trial::test(title, move || corrupt_all(&name, rank)));
            }
        }
    }
    assert!(trials.len() > 20, "the shipped layouts are gone");
    libtest_mimic::run(&arguments, trials).exit();
}

fn corrupt_all(name: &str, rank: usize) -> Result<(), Failed> {
    let layout = Arc::new(Layout::named_for_rank(name, rank).map_err(shown)?);
    let mut broken = vec![0; layout.properties.len()];
    // Everything to call with: a description, a tensor, and whether its kernels must run.
    let mut tensors: Vec<(String, Tensor, bool)> = Vec::new();
    for sample in samples(&layout)? {
        for (what, tensor) in corruptions(&sample) {
            let validated = tensor.clone().validate();
            let mut valid = is_valid(&tensor, &mut broken);
            // What a hash function decides has a formula that cannot be evaluated here.
            if let Some(k) = layout.properties.iter().position(|p| p.kind == PropertyKind::Probing)
                && valid
                && validated.is_err()
            {
                broken[k] += 1;
                valid = false;
            }
            if validated.is_ok() != valid || tensor.entries().is_ok() != valid {
                let arrays = tensor.arrays();
                let e = format!("{what}: valid: {valid}, but not so: {validated:?}\n{arrays:?}");
                return Err(e.into());
            }
            // The other tensors of a kernel keep their extents.
            let runs = valid && tensor.dims() == sample.dims();
            tensors.push((what, tensor, runs));
        }
        tensors.push(("nothing changed".to_string(), sample, true));
    }
    for (property, broken) in layout.properties.iter().zip(&broken) {
        if *broken == 0 {
            return Err(format!("no corruption breaks `{}`", property.formula).into());
        }
    }
    let (mut refused, mut accepted, mut agreed) = (0, 0, 0);
    for (expression, others) in KERNELS[rank - 1] {
        let mut layouts = BTreeMap::from([("A".to_string(), vec![name.to_string()])]);
        for (tensor, layout) in *others {
            layouts.insert((*tensor).to_string(), vec![(*layout).to_string()]);
        }
        let made = kernels(&Case::of(expression, layouts))?;
        // All check the tensor by the same properties.
        let library = Library::of_some(&made, some_of(made.len()), Face::Safe)?;
        for (k, made) in made.iter().enumerate().filter(|(k, _)| library.has(*k)) {
            let others = others_of(made, SIDE[rank - 1])?;
            for (what, tensor, runs) in &tensors {
                let about = |e: String| format!("{}, {what}: {e}", made.label);
                let called = call(made, k, &library, tensor, &others).map_err(about)?;
                let Some(ran) = called else { continue };
                if ran != *runs {
                    let arrays = tensor.arrays();
                    return Err(about(format!("it should run: {runs}\n{arrays:?}")).into());
                }
                if let Some(violation) = tensor.violation().map_err(shown)? {
                    let said = library.refusal().map_err(about)?;
                    let expected = (violation.property, violation.at);
                    if said != expected {
                        let arrays = tensor.arrays();
                        let e = format!("the module says {said:?}, not {expected:?}\n{arrays:?}");
                        return Err(about(e).into());
                    }
                    agreed += 1;
                }
                refused += usize::from(!ran);
                accepted += usize::from(ran);
            }
        }
    }
    println!("{name}, rank {rank}: {refused} calls refused, {accepted} harmless");
    if refused == 0 || accepted == 0 || agreed == 0 {
        Err("all calls ended alike".into())
    } else {
        Ok(())
    }
}

fn shown(e: Box<siskin::diagnostic::Diagnostic>) -> String {
    format!("{e:#?}")
}

/// Small tensors of a layout, with the first variant of the data that it holds.
fn samples(layout: &Arc<Layout>) -> Result<Vec<Tensor>, String> {
    let (dims, points) = grid(layout.rank(), SIDE[layout.rank() - 1]);
    // Rows with several entries and one without; then everything at the end.
    let (total, side) = (points.len(), dims[0]);
    let sparse: Vec<usize> = (0..total).filter(|n| n % 3 != 1 && n / side % 3 != 1).collect();
    let late: Vec<usize> = (total - 2..total).collect();
    let mut out: Vec<Tensor> = Vec::new();
    for numbers in [sparse, late] {
        let list: Vec<Entry> =
            numbers.iter().map(|&n| (points[n].clone(), n as f64 + 1.0)).collect();
        let packed = VARIANTS.iter().find_map(|v| {
            let list = v.of(&dims, &list)?;
            let points: Vec<(&[usize], f64)> = list.iter().map(|(at, v)| (&at[..], *v)).collect();
            let entries = Entries::from_points(&dims, &points).ok()?;
            let options = PackOptions { index_width: IndexWidth::U64, fill: None };
            let mut tensor = pack(layout, &entries, &options).ok()?;
            tensor.validate().ok()?;
            Some(tensor)
        });
        out.push(packed.ok_or("nothing can be packed")?);
    }
    Ok(out)
}

/// A tensor of the same layout with something changed; not validated.
fn changed(
    t: &Tensor,
    dims: Vec<usize>,
    counted: &IndexMap<Name, i64>,
    arrays: IndexMap<Name, IndexData>,
    values: Values,
) -> Option<Tensor> {
    Tensor::new(t.layout().clone(), dims, counted, arrays, values).ok()
}

/// The sizes that no array's length and no expression gives.
fn counts(t: &Tensor) -> IndexMap<Name, i64> {
    let fields = counted_fields(t.layout());
    fields.into_iter().map(|n| (n.clone(), t.params()[&n])).collect()
}

fn corruptions(t: &Tensor) -> Vec<(String, Tensor)> {
    let mut out: Vec<(String, Tensor)> = Vec::new();
    let mut add = |what: String, tensor: Option<Tensor>| {
        out.extend(tensor.map(|tensor| (what, tensor)));
    };
    for (name, data) in t.arrays() {
        let old: Vec<i64> = data.iter_i64().collect();
        for (what, new) in changed_arrays(&old) {
            let kind = data.index_type();
            let Ok(new) = IndexData::from_i64(kind, new) else { continue };
            let mut arrays = t.arrays().clone();
            arrays.insert(name.clone(), new);
            let tensor = changed(t, t.dims().to_vec(), &counts(t), arrays, t.values().clone());
            add(format!("{name} {what}"), tensor);
        }
    }
    for n in [0, t.stored().saturating_sub(1), t.stored() + 1] {
        let values = Values::zeros(t.value_type(), n);
        let tensor = changed(t, t.dims().to_vec(), &counts(t), t.arrays().clone(), values);
        add(format!("{n} values"), tensor);
    }
    for (name, old) in counts(t) {
        for new in [-1, 0, old - 1, old + 1, 1 << 31, i64::MAX] {
            let mut counted = counts(t);
            counted.insert(name.clone(), new);
            let values = t.values().clone();
            let tensor = changed(t, t.dims().to_vec(), &counted, t.arrays().clone(), values);
            add(format!("{name} = {new}"), tensor);
        }
    }
    for d in 0..t.dims().len() {
        for new in [0, t.dims()[d] - 1, t.dims()[d] + 1, 1 << 40] {
            let mut dims = t.dims().to_vec();
            dims[d] = new;
            let tensor = changed(t, dims, &counts(t), t.arrays().clone(), t.values().clone());
            add(format!("extent {d} = {new}"), tensor);
        }
    }
    out
}

/// Everything that is done to one array.
fn changed_arrays(old: &[i64]) -> Vec<(String, Vec<i64>)> {
    let mut out: Vec<(String, Vec<i64>)> = Vec::new();
    // Of long arrays, such as hash tables with many empty slots, only some elements.
    let step = old.len().div_ceil(MOST_ELEMENTS).max(1);
    for k in (0..old.len()).step_by(step) {
        let (v, n) = (old[k], old.len() as i64);
        let mut news = vec![-1, 0, v - 1, v + 1, v - 4, v + 4, n, n + 1, i64::MIN, i64::MAX];
        news.extend([i64::from(i32::MAX), i64::from(u32::MAX), 1 << 32]);
        news.extend(k.checked_sub(1).map(|before| old[before]));
        news.extend(old.get(k + 1));
        news.sort_unstable();
        news.dedup();
        for new in news.into_iter().filter(|new| *new != v) {
            let mut array = old.to_vec();
            array[k] = new;
            out.push((format!("with {new} for {v} at {k}"), array));
        }
        if k + 1 < old.len() && old[k] != old[k + 1] {
            let mut array = old.to_vec();
            array.swap(k, k + 1);
            out.push((format!("with {k} and its neighbour swapped"), array));
        }
    }
    let mut whole = |what: &str, array: Vec<i64>| {
        if array != old {
            out.push((what.to_string(), array));
        }
    };
    whole("reversed", old.iter().rev().copied().collect());
    whole("all zero", vec![0; old.len()]);
    whole("without its last", old[..old.len().saturating_sub(1)].to_vec());
    whole("without its first", old.iter().skip(1).copied().collect());
    whole("with its last twice", old.iter().chain(old.last()).copied().collect());
    whole("with one more", old.iter().copied().chain([1]).collect());
    whole("shifted up", old.iter().map(|v| v + 1).collect());
    whole("shifted down", old.iter().map(|v| v - 1).collect());
    out
}

/// Whether lengths, assumptions and every property hold; counts those that do not.
fn is_valid(t: &Tensor, broken: &mut [usize]) -> bool {
    let layout = t.layout();
    let size = |n: &str| -> Option<i64> {
        match layout.extents().iter().position(|e| **e == *n) {
            Some(d) => i64::try_from(t.dims()[d]).ok(),
            None => t.params().get(n).copied(),
        }
    };
    // Shapes and lengths are over sizes, which the tensor has worked out.
    let value = |e: &Arith| e.value(&(&size, |_: &str, _: &[i64]| None));
    let fits =
        |len: &Arith, found: usize| value(len).and_then(|n| usize::try_from(n).ok()) == Some(found);
    let lengths = layout.arrays.iter().all(|(n, a)| fits(&a.len, t.arrays()[n].len()))
        && fits(&layout.value.len, t.stored());
    let mut model = Model::default();
    for name in layout.extents().iter().chain(layout.params.keys()) {
        let Some(value) = size(name) else { return false };
        model.vars.insert(name.clone(), value);
    }
    let mut most = 0;
    for (name, array) in &layout.arrays {
        let shape: Option<Vec<i64>> = array.shape.iter().map(&value).collect();
        let Some(shape) = shape else { return false };
        let data = &t.arrays()[name];
        for (args, linear) in places(&shape, data.len()) {
            most = args.iter().fold(most, |most, a| most.max(*a));
            model.calls.push(((name.clone(), args), data.get(linear)));
        }
    }
    model.calls.sort();
    let holds = |f: &Formula| for_all(&mut model.clone(), f, most + 1);
    let mut valid = lengths;
    for assumption in &layout.assumptions {
        valid &= holds(&Formula::Constraint(assumption.clone()));
    }
    if !lengths {
        // What the formulas say of places that do not exist is not asked.
        return false;
    }
    for (property, broken) in layout.properties.iter().zip(broken) {
        if !holds(&property.formula) {
            *broken += 1;
            valid = false;
        }
    }
    valid
}

/// The arguments that lead to each element, also through the end of a row to the next one.
fn places(shape: &[i64], len: usize) -> Vec<(Vec<i64>, usize)> {
    let mut out = vec![(Vec::new(), 0_usize)];
    for (k, &extent) in shape.iter().enumerate() {
        let last = k + 1 == shape.len();
        let end = if last && k > 0 || k == 0 { extent.saturating_add(1) } else { extent };
        let mut next = Vec::new();
        for (args, linear) in out {
            for a in 0..end.min(len as i64) {
                let mut args: Vec<i64> = args.clone();
                args.push(a);
                next.push((
                    args,
                    linear.saturating_mul(extent.max(0) as usize).saturating_add(a as usize),
                ));
            }
        }
        out = next;
    }
    out.retain(|(_, linear)| *linear < len);
    out
}

/// Whether a formula holds of all values of its free variables in `0 - 1 ..= most`.
fn for_all(model: &mut Model, f: &Formula, most: i64) -> bool {
    let free: Vec<Name> =
        f.free_vars().into_iter().filter(|n| !model.vars.contains_key(n)).collect();
    fn go(model: &mut Model, f: &Formula, free: &[Name], most: i64) -> bool {
        let Some((first, rest)) = free.split_first() else {
            return model.satisfies(f) != Some(false);
        };
        (-1..=most).all(|value| {
            model.vars.insert(first.clone(), value);
            go(model, f, rest, most)
        })
    }
    go(model, f, &free, most)
}

/// Runs the safe function: whether it ran, `None` if an array does not fit the kernel's index type.
/// An error is a failed assertion.
fn call(
    made: &Made,
    kernel: usize,
    library: &Library,
    a: &Tensor,
    others: &IndexMap<Name, Tensor>,
) -> Result<Option<bool>, String> {
    let planned = &made.planned;
    let value_type: ValueType = planned.types().general;
    let mut indices: Vec<IndexData> = Vec::new();
    let mut values: Vec<Values> = Vec::new();
    let (mut sizes, mut order): (Vec<usize>, Vec<(bool, usize)>) = (Vec::new(), Vec::new());
    for operand in &planned.statements()[0].space().operands {
        let layout = layout_of(made, &operand.tensor);
        let tensor = others.get(&operand.tensor).unwrap_or(a);
        sizes.extend(tensor.dims());
        for n in counted_fields(&layout) {
            // A negative size cannot be passed.
            let Ok(n) = usize::try_from(tensor.params()[&n]) else { return Ok(None) };
            sizes.push(n);
        }
        for (name, array) in tensor.arrays() {
            let wanted: IndexType =
                index_type(&layout, name, planned.index_width()).parse().map_err(shown)?;
            let Ok(array) = array.convert(wanted) else { return Ok(None) };
            order.push((true, indices.len()));
            indices.push(array);
        }
        order.push((false, values.len()));
        values.push(tensor.values().convert(value_type).map_err(shown)?);
    }
    if made.signature.threads {
        sizes.push(2);
    }
    let arrays: Vec<RawArray> = order
        .into_iter()
        .map(|(is_index, k)| {
            let (data, len) = if is_index { indices[k].raw() } else { values[k].raw() };
            RawArray { data: data.cast_mut(), len }
        })
        .collect();
    // The arrays have the types of the entry's parameters; what they hold is checked there.
    unsafe { library.call(kernel, &sizes, &arrays) }.map(Some)
}

/// The tensors of a kernel besides `A`, everything stored.
fn others_of(made: &Made, side: usize) -> Result<IndexMap<Name, Tensor>, String> {
    let mut out = IndexMap::new();
    for (name, layout) in made.planned.layouts().iter().filter(|(n, _)| &***n != "A") {
        let (dims, points) = grid(layout.rank(), side);
        let points: Vec<(&[usize], f64)> = points.iter().map(|at| (&at[..], 1.0)).collect();
        let entries = Entries::from_points(&dims, &points).map_err(shown)?;
        out.insert(name.clone(), pack(layout, &entries, &PackOptions::default()).map_err(shown)?);
    }
    Ok(out)
}

/// Extents of `side` and all points.
fn grid(rank: usize, side: usize) -> (Vec<usize>, Vec<Vec<usize>>) {
    let digit = |n: usize, d: usize| n / side.pow(d as u32) % side;
    let point = |n: usize| (0..rank).rev().map(|d| digit(n, d)).collect();
    (vec![side; rank], (0..side.pow(rank as u32)).map(point).collect())
}
