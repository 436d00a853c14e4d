//! Makes the kernel of a case, and compares its result with the oracle's.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use indexmap::IndexMap;
use siskin::Kernel;
use siskin::diagnostic::{Code, Diagnostic};
use siskin::formula::Name;
use siskin::kernel::Planned;
use siskin::program::{Extents, OracleTensor, Program, Scalar, interpret, resolve};
use siskin::tensor::{Tensor, ValueType};

use super::case::{Case, Entry};
use super::random::Random;
use crate::support::variants::{VARIANTS, Variant};
use crate::support::{Bound, Made, pack};

/// A kernel that gave the right result in the interpreter, ready to be compiled.
pub struct Ready {
    pub made: Made,
    pub tensors: IndexMap<Name, Tensor>,
    pub extents: Extents,
    pub expected: Vec<f64>,
    pub threads: usize,
}

pub enum Verdict {
    Ready(Box<Ready>),
    /// Siskin said no.
    Refused(Code, String),
    /// No layout holds these entries.
    Unpackable,
    /// A defect.
    Failed(String),
}

enum Stop {
    Refused(Box<Diagnostic>),
    Unpackable,
    Failed(String),
}

impl From<Box<Diagnostic>> for Stop {
    fn from(e: Box<Diagnostic>) -> Stop {
        match e.code {
            Code::Internal | Code::Rustc => Stop::Failed(format!("{e:#?}")),
            _ => Stop::Refused(e),
        }
    }
}

thread_local! {
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs `f`; the message of a panic is an error.
pub fn caught<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        std::panic::set_hook(Box::new(|info| PANIC.with(|p| *p.borrow_mut() = info.to_string())));
    });
    catch_unwind(AssertUnwindSafe(f)).map_err(|_| PANIC.with(|p| p.borrow().clone()))
}

/// What becomes of a case. Options that are refused are noted in `dropped` and left out.
pub fn judge(case: &Case, dropped: &mut BTreeMap<String, usize>) -> Verdict {
    let judged = caught(|| go(case, dropped));
    match judged {
        Ok(Ok(ready)) => Verdict::Ready(Box::new(ready)),
        Ok(Err(Stop::Refused(e))) => Verdict::Refused(e.code, e.message.clone()),
        Ok(Err(Stop::Unpackable)) => Verdict::Unpackable,
        Ok(Err(Stop::Failed(e))) => Verdict::Failed(format!("{}\n{e}", case.shown(&[], &[], 1))),
        Err(panic) => Verdict::Failed(format!("{}\npanic: {panic}", case.shown(&[], &[], 1))),
    }
}

fn go(case: &Case, dropped: &mut BTreeMap<String, usize>) -> Result<Ready, Stop> {
    let mut random = case.random.clone();
    let mut kernel = Kernel::new(&case.source.expression).values(case.value_type).index(case.width);
    for (tensor, layout) in &case.layouts {
        kernel = kernel.layout(tensor, layout);
    }
    let mut planned = kernel.plan()?;
    let dims: Vec<Name> = planned.statements()[0].order.dims.clone();
    let mut wish =
        |changed: Kernel, what: &str, kernel: &mut Kernel, planned: &mut Planned| match changed
            .plan()
        {
            Ok(new) => {
                (*kernel, *planned) = (changed, new);
                Ok(true)
            }
            Err(e) if e.code == Code::Internal => Err(Stop::from(e)),
            Err(e) => {
                *dropped.entry(format!("{what}: {}", e.code.as_str())).or_insert(0) += 1;
                Ok(false)
            }
        };
    let (mut tiles, mut order, mut threads) = (Vec::new(), Vec::new(), 1);
    if let Some(size) = case.tile
        && !dims.is_empty()
    {
        let of = random.pick(&dims).to_string();
        if wish(kernel.clone().tile(&of, size), "tile", &mut kernel, &mut planned)? {
            tiles.push((of, size));
        }
    }
    if case.reordered && dims.len() > 1 {
        let wanted = some_order(&mut random, &dims, &planned);
        let names: Vec<&str> = wanted.iter().map(String::as_str).collect();
        if wish(kernel.clone().order(&names), "order", &mut kernel, &mut planned)? {
            order = wanted;
        }
    }
    if case.threads > 1 {
        let parallel = kernel.clone().threads(case.threads);
        if wish(parallel, "threads", &mut kernel, &mut planned)? {
            threads = case.threads;
        }
    }
    let mut label = case.shown(&order, &tiles, threads);
    if case.forced {
        let counts: Vec<usize> = planned.statements().iter().map(|s| s.finds.len()).collect();
        for (s, finds) in counts.into_iter().enumerate() {
            for f in 0..finds {
                let find = &planned.statements()[s].finds[f];
                let names: Vec<String> = find.plans().map(|p| p.template.name.clone()).collect();
                if !names.is_empty() && random.chance(70) {
                    let name = random.pick(&names).clone();
                    label.push_str(&format!("\n  --find {}={name}", find.problem.position));
                    planned = planned.clone().with_template(s, f, &name).expect("a proved plan");
                }
            }
        }
    }
    let module = planned.render().map_err(|e| match e.code {
        Code::Internal => Stop::Failed(format!("{label}\n{e:#?}")),
        _ => Stop::from(e),
    })?;
    let made = Made {
        label,
        text: module.text().to_string(),
        entry: module.entry().to_string(),
        signature: module.signature().clone(),
        body: module.body().clone(),
        planned,
    };
    on_data(case, made, threads, dropped)
}

/// Some of the indices or of all dimensions, in another order.
fn some_order(random: &mut Random, dims: &[Name], planned: &Planned) -> Vec<String> {
    let mut names: Vec<String> = match random.chance(50) {
        true => planned.statements()[0].space.indices.iter().map(ToString::to_string).collect(),
        false => dims.iter().map(ToString::to_string).collect(),
    };
    random.shuffle(&mut names);
    let most = 1 + random.below(names.len().max(1));
    names.truncate(most);
    names
}

fn on_data(
    case: &Case,
    made: Made,
    threads: usize,
    dropped: &mut BTreeMap<String, usize>,
) -> Result<Ready, Stop> {
    let failed = |made: &Made, e: String| Stop::Failed(format!("{}\n{e}", made.label));
    let program: &Program = made.planned.program();
    let dims: IndexMap<Name, Vec<usize>> =
        case.source.dims.iter().map(|(t, d)| (Name::from(t.as_str()), d.clone())).collect();
    let stated: IndexMap<Name, usize> =
        case.source.extents.iter().map(|(i, n)| (Name::from(i.as_str()), *n)).collect();
    let extents = resolve(program, &dims, &stated)?;
    let mut tensors: IndexMap<Name, Tensor> = IndexMap::new();
    let mut dense: IndexMap<Name, Vec<f64>> = IndexMap::new();
    for (tensor, list) in &case.entries {
        let name = Name::from(tensor.as_str());
        let layout = made.planned.layouts()[&name].clone();
        let dims = &case.source.dims[tensor];
        let variants: Vec<(Variant, Vec<Entry>)> = VARIANTS
            .into_iter()
            .filter(|_| !dims.is_empty())
            .filter_map(|v| Some((v, v.of(dims, list)?)))
            .chain(dims.is_empty().then(|| (Variant::General, list.clone())))
            .collect();
        let packed = pack(&layout, dims, &variants);
        // A declaration may promise what these entries break: packing them is refused later.
        let broken = |e: &String| e.contains("code: Property");
        let packed = match packed {
            Err(e) if broken(&e) => {
                *dropped.entry("packed, but not valid".to_string()).or_insert(0) += 1;
                return Err(Stop::Unpackable);
            }
            packed => packed.map_err(|e| failed(&made, format!("{tensor}: {e}")))?,
        };
        let Some((variant, packed)) = packed else { return Err(Stop::Unpackable) };
        let kept = &variants.iter().find(|(v, _)| *v == variant).expect("a known variant").1;
        let mut values = vec![0.0; dims.iter().product()];
        for (at, value) in kept {
            values[at.iter().zip(dims).fold(0, |place, (c, extent)| place * extent + c)] += value;
        }
        dense.insert(name.clone(), values);
        tensors.insert(name, packed);
    }
    let expected = match case.value_type {
        ValueType::Bool => oracle(program, &dims, &dense, &extents, |v| v != 0.0)?
            .into_iter()
            .map(|b| f64::from(u8::from(b)))
            .collect(),
        _ => oracle(program, &dims, &dense, &extents, |v| v)?,
    };
    let bound = Bound::new(&made, &tensors, &extents).map_err(|e| failed(&made, e))?;
    let got = bound.interpreted(threads).map_err(|e| failed(&made, e))?;
    let expected = match same_sparsity(&bound, &expected) {
        Some(kept) => kept,
        None => expected,
    };
    if got != expected {
        let what = format!("expected {expected:?}\n     got {got:?}\n{}", made.body);
        return Err(failed(&made, what));
    }
    drop(bound);
    Ok(Ready { made, tensors, extents, expected, threads })
}

/// An output that stores only some elements has only those.
fn same_sparsity(bound: &Bound, expected: &[f64]) -> Option<Vec<f64>> {
    let stored = bound.stored()?;
    Some(expected.iter().zip(stored).map(|(v, kept)| if kept { *v } else { 0.0 }).collect())
}

fn oracle<T: Scalar>(
    program: &Program,
    dims: &IndexMap<Name, Vec<usize>>,
    dense: &IndexMap<Name, Vec<f64>>,
    extents: &Extents,
    convert: impl Fn(f64) -> T,
) -> Result<Vec<T>, Stop> {
    let tensors = dense.iter().map(|(name, values)| {
        let values = values.iter().map(|v| convert(*v)).collect();
        (name.clone(), OracleTensor { dims: dims[name].clone(), values })
    });
    Ok(interpret(program, &tensors.collect(), extents)?)
}
