//! Packs, reads, converts and multiplies with a declaration, and compares.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};

use indexmap::IndexMap;
use siskin::Kernel;
use siskin::check::check;
use siskin::diagnostic::{Code, Diagnostic};
use siskin::formula::Name;
use siskin::layout::Layout;
use siskin::packing::{PackOptions, convert, pack, pack_array};
use siskin::program::resolve;
use siskin::tensor::{DenseArray, Entries, Tensor};

use super::data::{Data, sums};
use super::random::Random;
use crate::support::{Bound, Made};

/// What became of a declaration.
#[derive(Debug, Default)]
pub struct Verdict {
    /// The declaration itself is refused, for this reason.
    pub refused: Option<String>,
    /// Packing refuses every tensor, for the same reason.
    pub unpackable: Option<String>,
    /// `check` finds nothing wrong with a declaration that cannot be packed.
    pub looked_fine: bool,
    pub packed: usize,
    /// Packed tensors with a stored entry.
    pub nonempty: usize,
    /// Data that the layout does not hold, by reason.
    pub refusals: BTreeMap<String, usize>,
    pub multiplied: usize,
    /// Kernels in which each entry is looked for before it is known where it is.
    pub entries_first: usize,
    /// Kernels that are refused, by reason.
    pub kernels: BTreeMap<String, usize>,
    pub failure: Option<String>,
}

thread_local! {
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f`; the message of a panic is an error.
pub fn caught<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| match CAUGHT.get() {
            true => PANIC.with(|p| *p.borrow_mut() = info.to_string()),
            false => loud(info),
        }));
    });
    CAUGHT.set(true);
    let result = catch_unwind(AssertUnwindSafe(f));
    CAUGHT.set(false);
    result.map_err(|_| PANIC.with(|p| p.borrow().clone()))
}

/// A refusal without the names that differ from declaration to declaration.
pub fn reason(e: &Diagnostic) -> String {
    let mut out = String::new();
    let mut quoted = false;
    for c in e.message.chars() {
        match c {
            '`' => {
                if !quoted {
                    out.push('…');
                }
                quoted = !quoted;
            }
            _ if quoted => {}
            c if c.is_ascii_digit() => {
                if !out.ends_with('0') {
                    out.push('0');
                }
            }
            c => out.push(c),
        }
    }
    format!("{} {}", e.code.as_str(), out.chars().take(90).collect::<String>())
}

/// Judges the declaration at `path` on some data.
pub fn judge(path: &str, rank: usize, data: &[Data], random: &mut Random) -> Verdict {
    let mut verdict = Verdict::default();
    let judged = caught(|| go(path, rank, data, random, &mut verdict));
    let failure = match judged {
        Ok(Ok(())) => None,
        Ok(Err(failure)) => Some(failure),
        Err(panic) => Some(format!("panic: {panic}")),
    };
    verdict.failure = failure;
    verdict
}

fn is_defect(e: &Diagnostic) -> bool {
    matches!(e.code, Code::Internal | Code::Rustc)
}

fn go(
    path: &str,
    rank: usize,
    data: &[Data],
    random: &mut Random,
    verdict: &mut Verdict,
) -> Result<(), String> {
    let layout = match Layout::named_for_rank(path, rank) {
        Ok(layout) => Arc::new(layout),
        Err(e) if is_defect(&e) => return Err(format!("{e:#?}")),
        Err(e) => {
            verdict.refused = Some(reason(&e));
            return Ok(());
        }
    };
    if let Err(e) = siskin::packing::Plan::of(&layout) {
        if is_defect(&e) {
            return Err(format!("{e:#?}"));
        }
        verdict.unpackable = Some(reason(&e));
        // Costly, so only for some.
        if random.chance(10) {
            verdict.looked_fine = check(&layout).is_ok_and(|report| report.is_sound());
        }
        return Ok(());
    }
    let mut tensors: Vec<(&Data, Tensor)> = Vec::new();
    for data in data {
        let points: Vec<(&[usize], f64)> =
            data.entries.iter().map(|(at, v)| (at.as_slice(), *v)).collect();
        let entries = Entries::from_points(&data.dims, &points).map_err(|e| format!("{e:#?}"))?;
        as_an_array(&layout, &entries).map_err(|e| format!("{data:?}\n{e}"))?;
        let mut refuse = |e: Box<Diagnostic>| match is_defect(&e) {
            true => Err(format!("{data:?}\n{e:#?}")),
            false => {
                *verdict.refusals.entry(reason(&e)).or_insert(0) += 1;
                Ok(())
            }
        };
        let mut tensor = match pack(&layout, &entries, &PackOptions::default()) {
            Ok(tensor) => tensor,
            Err(e) => {
                refuse(e)?;
                continue;
            }
        };
        let read = match tensor.entries() {
            Ok(read) => read,
            // A promise of the declaration is broken: no kernel takes such a tensor.
            Err(e) => {
                refuse(e)?;
                continue;
            }
        };
        same(data, &read, "read back")?;
        if let Err(e) = tensor.validate() {
            refuse(e)?;
            continue;
        }
        let list = Arc::new(Layout::named_for_rank("coo", rank).map_err(|e| format!("{e:#?}"))?);
        let options = PackOptions::default();
        match convert(&tensor, &list, &options) {
            Ok(list) => {
                let there = list.entries().map_err(|e| format!("{e:#?}"))?;
                same(data, &there, "converted to coo")?;
                match convert(&list, &layout, &options) {
                    Ok(back) => {
                        let back = back.entries().map_err(|e| format!("{data:?}\n{e:#?}"))?;
                        same(data, &back, "converted from coo")?;
                    }
                    // Zeros that fill the layout are entries of the list.
                    Err(e) => refuse(e)?,
                }
            }
            Err(e) if rank == 1 => refuse(e)?,
            Err(e) => return Err(format!("{data:?}\nto coo: {e:#?}")),
        }
        verdict.packed += 1;
        verdict.nonempty += usize::from(!data.entries.is_empty());
        tensors.push((data, tensor));
    }
    if tensors.is_empty() || !random.chance(60) {
        return Ok(());
    }
    multiply(path, rank, &tensors, random, verdict)
}

/// A dense array is packed as its elements are that are not zero, however that is done.
fn as_an_array(layout: &Arc<Layout>, entries: &Entries) -> Result<(), String> {
    let options = PackOptions::default();
    let array = DenseArray::from_entries(entries).map_err(|e| format!("{e:#?}"))?;
    let listed = pack(layout, &array.to_entries(), &options);
    let stored = |packed: Result<Tensor, Box<Diagnostic>>| match packed {
        Ok(tensor) => {
            Ok(format!("{:?} {:?} {:?}", tensor.params(), tensor.arrays(), tensor.values()))
        }
        Err(e) if is_defect(&e) => Err(format!("{e:#?}")),
        Err(e) => Ok(format!("{:?}: {}", e.code, e.message)),
    };
    let (whole, listed) = (stored(pack_array(layout, array, &options))?, stored(listed)?);
    match whole == listed {
        true => Ok(()),
        false => Err(format!("as an array: {whole}\nas entries: {listed}")),
    }
}

fn same(data: &Data, found: &Entries, how: &str) -> Result<(), String> {
    let wanted = sums(data.entries.iter().cloned());
    let found = sums((0..found.len()).map(|k| (found.point(k), found.values().get_f64(k))));
    match wanted == found {
        true => Ok(()),
        false => Err(format!("{how}: {data:?}\n     got {found:?}")),
    }
}

/// Multiplies by vectors, in the interpreter of code, which tests every access.
fn multiply(
    path: &str,
    rank: usize,
    tensors: &[(&Data, Tensor)],
    random: &mut Random,
    verdict: &mut Verdict,
) -> Result<(), String> {
    let (expression, vectors): (&str, &[usize]) = match rank {
        1 => ("y[] += A[i] * x[i]", &[0]),
        2 => *random
            .pick(&[("y[i] += A[i,j] * x[j]", [1].as_slice()), ("y[j] += A[i,j] * x[i]", &[0])]),
        _ => ("y[i] += A[i,j,k] * x[j]", &[1]),
    };
    // A vector without some elements, in which each entry is looked for before it is known where it is.
    let entries_first = random.chance(40);
    let layout = if entries_first { "sparse" } else { "dense" };
    let element = |k: usize| if entries_first && k % 3 == 1 { 0.0 } else { (k + 1) as f64 };
    let kernel = Kernel::new(expression).layout("A", path).layout("x", layout);
    let mut planned = kernel.plan();
    let positions = planned.iter().flat_map(|p| p.statements()).flat_map(|s| s.space().present());
    let several = positions.map(|o| o.positions.clone()).find(|own| own.len() > 1);
    if let (true, Some(positions)) = (entries_first, several) {
        let fused: Vec<&str> = positions.iter().map(|p| &**p).collect();
        let order: Vec<&str> = fused.iter().rev().copied().collect();
        planned = kernel.clone().fuse(&fused).order(&order).plan().or(planned);
        verdict.entries_first += usize::from(planned.is_ok());
    }
    let module = planned.and_then(|planned| Ok((planned.render()?, planned)));
    let (module, planned) = match module {
        Ok(made) => made,
        Err(e) if is_defect(&e) => return Err(format!("{expression}\n{e:#?}")),
        Err(e) => {
            *verdict.kernels.entry(reason(&e)).or_insert(0) += 1;
            return Ok(());
        }
    };
    let made = Made::of(expression.to_string(), &module, planned);
    let layout = Arc::new(Layout::named_for_rank(layout, 1).map_err(|e| format!("{e:#?}"))?);
    for (data, tensor) in tensors {
        let extent = data.dims[vectors[0]];
        let all: Vec<([usize; 1], f64)> = (0..extent).map(|k| ([k], element(k))).collect();
        let points: Vec<(&[usize], f64)> =
            all.iter().filter(|(_, v)| *v != 0.0).map(|(at, v)| (at.as_slice(), *v)).collect();
        let x = Entries::from_points(&[extent], &points).map_err(|e| format!("{e:#?}"))?;
        let mut x = pack(&layout, &x, &PackOptions::default()).map_err(|e| format!("{e:#?}"))?;
        x.validate().map_err(|e| format!("{e:#?}"))?;
        let dims: IndexMap<Name, Vec<usize>> =
            [("A".into(), data.dims.clone()), ("x".into(), vec![extent])].into();
        let program = made.planned.program();
        let extents = resolve(program, &dims, &IndexMap::new()).map_err(|e| format!("{e:#?}"))?;
        let given: IndexMap<Name, Tensor> = [("A".into(), tensor.clone()), ("x".into(), x)].into();
        let bound = Bound::new(&made, &given, &extents)?;
        let got = bound.interpreted(1).map_err(|e| format!("{expression}\n{data:?}\n{e}"))?;
        let mut expected = vec![0.0; got.len()];
        for (at, value) in &data.entries {
            let place = match (rank, vectors[0]) {
                (1, _) => 0,
                (2, 0) => at[1],
                _ => at[0],
            };
            expected[place] += value * element(at[vectors[0]]);
        }
        if got != expected {
            return Err(format!("{expression}\n{data:?}\nexpected {expected:?}\n     got {got:?}"));
        }
        verdict.multiplied += 1;
    }
    Ok(())
}
