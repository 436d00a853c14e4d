//! Makes the kernel of a case, and compares its result with the oracle's.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};

use indexmap::IndexMap;
use siskin::Kernel;
use siskin::diagnostic::{Code, Diagnostic};
use siskin::formula::Name;
use siskin::iterspace::{Union, Wanted, compose_by};
use siskin::kernel::{Coiterate, Planned};
use siskin::layout::Layout;
use siskin::operators::Value;
use siskin::packing::PackOptions;
use siskin::program::{Dense, Extents, Program, Types, interpret_typed, resolve};
use siskin::schedule::schedule;
use siskin::tensor::{Tensor, ValueType, Values};

use super::case::{Case, Entry};
use super::random::Random;
use super::remembering::{Memory, Remembering};
use crate::support::variants::{VARIANTS, Variant};
use crate::support::{Bound, Made, pack_with, reads_back};

/// A kernel that gave the right result in the interpreter, ready to be compiled.
pub struct Ready {
    pub made: Made,
    pub tensors: IndexMap<Name, Tensor>,
    pub extents: Extents,
    pub expected: Expected,
    pub threads: usize,
}

/// What the oracle computes.
#[derive(Debug)]
pub struct Expected {
    pub values: Vec<f64>,
    /// How far results may be from it, relatively: sums depend on their order where they are rounded.
    tolerance: f64,
}

impl Expected {
    pub fn agrees(&self, got: &[f64]) -> bool {
        let near = |a: &f64, b: &f64| {
            let close = (a - b).abs() <= self.tolerance * (1.0 + b.abs());
            a == b || (a.is_nan() && b.is_nan()) || close
        };
        got.len() == self.values.len() && got.iter().zip(&self.values).all(|(a, b)| near(a, b))
    }
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
pub fn judge(case: &Case, memory: &mut Memory, dropped: &mut BTreeMap<String, usize>) -> Verdict {
    let judged = caught(|| go(case, memory, dropped));
    match judged {
        Ok(Ok(ready)) => Verdict::Ready(Box::new(ready)),
        Ok(Err(Stop::Refused(e))) => Verdict::Refused(e.code, e.message.clone()),
        Ok(Err(Stop::Unpackable)) => Verdict::Unpackable,
        Ok(Err(Stop::Failed(e))) => Verdict::Failed(format!("{}\n{e}", case.shown(&[], &[], 1))),
        Err(panic) => Verdict::Failed(format!("{}\npanic: {panic}", case.shown(&[], &[], 1))),
    }
}

/// Wishes that the compiler may refuse.
#[derive(Clone, Default)]
struct Wishes {
    tile: Option<(String, i64)>,
    order: Vec<String>,
    threads: Option<usize>,
}

impl Wishes {
    /// They need the names of the dimensions.
    fn new(case: &Case, random: &mut Random, dims: &[Name], indices: &[Name]) -> Wishes {
        let mut wishes = Wishes::default();
        if let Some(size) = case.tile
            && !dims.is_empty()
        {
            wishes.tile = Some((random.pick(dims).to_string(), size));
        }
        if case.reordered && dims.len() > 1 {
            wishes.order = some_order(random, dims, indices);
        }
        wishes.threads = (case.threads > 1).then_some(case.threads);
        wishes
    }

    fn of(&self, mut kernel: Kernel) -> Kernel {
        if let Some((of, size)) = &self.tile {
            kernel = kernel.tile(of, *size);
        }
        let names: Vec<&str> = self.order.iter().map(String::as_str).collect();
        kernel.order(&names).threads(self.threads.unwrap_or(1))
    }

    /// Each alone.
    fn each(&self) -> [(&'static str, Wishes); 3] {
        let none = Wishes::default();
        [
            ("tile", Wishes { tile: self.tile.clone(), ..none.clone() }),
            ("order", Wishes { order: self.order.clone(), ..none.clone() }),
            ("threads", Wishes { threads: self.threads, ..none }),
        ]
    }

    fn with(&self, other: &Wishes) -> Wishes {
        let order = if other.order.is_empty() { &self.order } else { &other.order };
        Wishes {
            tile: other.tile.clone().or(self.tile.clone()),
            order: order.clone(),
            threads: other.threads.or(self.threads),
        }
    }

    fn is_empty(&self) -> bool {
        self.tile.is_none() && self.order.is_empty() && self.threads.is_none()
    }
}

/// The dimensions of the loops and the indices, known without proofs; `None` if something is wrong.
fn dimensions(case: &Case) -> Option<(Vec<Name>, Vec<Name>)> {
    let program = Program::parse(&case.source.expression).ok()?;
    let mut layouts = IndexMap::new();
    let given: BTreeMap<&str, &str> =
        case.layouts.iter().map(|(t, l)| (t.as_str(), l.as_str())).collect();
    for (tensor, rank) in program.tensors() {
        // What shares the sparsity of an input reads it at the same positions.
        let text = given.get(&*tensor).copied().filter(|l| !l.starts_with("shares("));
        let layout = Layout::named_for_rank(text.unwrap_or("dense"), rank).ok()?;
        layouts.insert(tensor, Arc::new(layout));
    }
    let spaces = compose_by(&program, &layouts, &wanted(case)).ok()?;
    let space = spaces.first()?;
    Some((schedule(space, &[]).ok()?.dims(), space.indices.clone()))
}

fn types(case: &Case) -> Types {
    let own = case.types.iter().map(|(tensor, ty)| (Name::from(tensor.as_str()), *ty)).collect();
    Types { own, general: case.value_type }
}

fn wanted(case: &Case) -> Wanted {
    let fills = case.fills.iter().map(|(t, f)| (Name::from(t.as_str()), Value::F64(*f))).collect();
    Wanted { union: case.union, types: types(case), fills, ..Wanted::default() }
}

fn go(
    case: &Case,
    memory: &mut Memory,
    dropped: &mut BTreeMap<String, usize>,
) -> Result<Ready, Stop> {
    let mut random = case.random.clone();
    let mut kernel = Kernel::new(&case.source.expression)
        .values(case.value_type)
        .index(case.width)
        .union(case.union);
    // Kernels of several ways take their time to compile.
    if random.chance(75) {
        kernel = kernel.only_way();
    }
    for (tensor, layout) in &case.layouts {
        kernel = kernel.layout(tensor, layout);
    }
    if let Some(workspace) = &case.workspace {
        kernel = kernel.workspace(workspace);
    }
    for (tensor, ty) in &case.types {
        kernel = kernel.typed(tensor, *ty);
    }
    for (tensor, fill) in &case.fills {
        kernel = kernel.fill(tensor, Value::F64(*fill));
    }
    let mut plan = |wishes: &Wishes| {
        let by_looplets = case.looplets.then(|| {
            let mut kernel = kernel.clone().union(Union::Merge).coiterate(Coiterate::Looplets);
            for (tensor, _) in case.layouts.iter().step_by(2) {
                kernel = kernel.gallop(tensor);
            }
            wishes.of(kernel).plan_with(&mut Remembering::new(memory))
        });
        let planned = match by_looplets {
            Some(Err(e)) if e.code != Code::Internal => None,
            tried => tried,
        };
        let planned = planned
            .unwrap_or_else(|| wishes.of(kernel.clone()).plan_with(&mut Remembering::new(memory)));
        let planned = match planned {
            // Few sums can be merged.
            Err(e) if e.message.contains("cannot be merged") => {
                let kernel = kernel.clone().union(Union::Distribute);
                wishes.of(kernel).plan_with(&mut Remembering::new(memory))
            }
            planned => planned,
        };
        match planned {
            Err(e) if e.code == Code::Internal => {
                let tiles: Vec<_> = wishes.tile.iter().cloned().collect();
                let shown = case.shown(&wishes.order, &tiles, wishes.threads.unwrap_or(1));
                Err(Stop::Failed(format!("{shown}\n{e:#?}")))
            }
            planned => Ok(planned),
        }
    };
    let all = match dimensions(case) {
        Some((dims, indices)) => Wishes::new(case, &mut random, &dims, &indices),
        None => Wishes::default(),
    };
    let (mut planned, mut wishes) = (plan(&all)?, all.clone());
    if planned.is_err() && !all.is_empty() {
        // One after the other, without those that are refused.
        wishes = Wishes::default();
        planned = plan(&wishes)?;
        for (what, one) in all.each() {
            if one.is_empty() || planned.is_err() {
                continue;
            }
            let more = wishes.with(&one);
            match plan(&more)? {
                Ok(new) => (planned, wishes) = (Ok(new), more),
                Err(e) => {
                    *dropped.entry(format!("{what}: {}", e.code.as_str())).or_insert(0) += 1;
                }
            }
        }
    }
    let mut planned: Planned = planned?;
    let Wishes { tile, order, threads } = wishes;
    let (tiles, threads): (Vec<_>, usize) = (tile.into_iter().collect(), threads.unwrap_or(1));
    let mut label = case.shown(&order, &tiles, threads);
    if case.forced {
        let counts: Vec<usize> = planned.statements().iter().map(|s| s.finds().len()).collect();
        for (s, finds) in counts.into_iter().enumerate() {
            for f in 0..finds {
                let find = &planned.statements()[s].finds()[f];
                let names: Vec<String> = find.plans().map(|p| p.template.name.clone()).collect();
                if !names.is_empty() && random.chance(70) {
                    let name = random.pick(&names).clone();
                    label.push_str(&format!("\n  --find {}={name}", find.problem.position));
                    planned = planned.clone().with_template(s, f, &name).expect("a proved plan");
                }
            }
        }
    }
    let module = planned.render_with(&mut Remembering::new(memory)).map_err(|e| match e.code {
        Code::Internal => Stop::Failed(format!("{label}\n{e:#?}")),
        _ => Stop::from(e),
    })?;
    let made = Made::of(label, &module, planned);
    reads_back(&made).map_err(Stop::Failed)?;
    on_data(case, made, threads, dropped)
}

/// Some of the indices or of all dimensions, in another order.
fn some_order(random: &mut Random, dims: &[Name], indices: &[Name]) -> Vec<String> {
    let names = if random.chance(50) { indices } else { dims };
    let mut names: Vec<String> = names.iter().map(ToString::to_string).collect();
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
        let fill = case.fills.get(tensor).copied();
        let options = PackOptions { fill: fill.map(Value::F64), ..PackOptions::default() };
        let packed = pack_with(&layout, dims, &variants, &options);
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
        let mut values = vec![None; dims.iter().product()];
        for (at, value) in kept {
            let place = at.iter().zip(dims).fold(0, |place, (c, extent)| place * extent + c);
            *values[place].get_or_insert(0.0) += value;
        }
        let values = values.into_iter().map(|v: Option<f64>| v.unwrap_or(fill.unwrap_or(0.0)));
        let values = values.collect();
        dense.insert(name.clone(), values);
        tensors.insert(name, packed);
    }
    let (expected, finite) = oracle(program, &types(case), &dims, &dense, &extents)?;
    let bound = Bound::new(&made, &tensors, &extents).map_err(|e| failed(&made, e))?;
    let got = bound.interpreted(threads).map_err(|e| failed(&made, e))?;
    let expected = match same_sparsity(&bound, &made, &expected) {
        Some(kept) => kept,
        None => expected,
    };
    // Sums of what is no whole number, or too large a one, depend on their order.
    let single = types(case).own.values().any(|ty| *ty == ValueType::F32);
    let single = single || case.value_type == ValueType::F32;
    let exact = if single { 2_f64.powi(24) } else { 2_f64.powi(53) };
    let rounds = ["sin(", "sqrt(", "0.25", "0.5", "/ 2"].iter().any(|f| program.text.contains(f))
        || expected.iter().any(|x| x.abs() > exact);
    let tolerance = match (rounds, single) {
        (false, _) => 0.0,
        (true, false) => 1e-9,
        (true, true) => 1e-3,
    };
    let expected = Expected { values: expected, tolerance };
    if !expected.agrees(&got) {
        // What is missing annihilates an infinite temporary, and padding multiplies it by zero.
        if !finite {
            *dropped.entry("infinity times nothing".to_string()).or_insert(0) += 1;
            return Err(Stop::Unpackable);
        }
        let what = format!("expected {:?}\n     got {got:?}\n{}", expected.values, made.body);
        return Err(failed(&made, what));
    }
    drop(bound);
    Ok(Ready { made, tensors, extents, expected, threads })
}

/// An output that stores only some elements has only those; the others are as it begins.
fn same_sparsity(bound: &Bound, made: &Made, expected: &[f64]) -> Option<Vec<f64>> {
    let stored = bound.stored()?;
    let mut begin = Values::zeros(made.planned.types().of(made.planned.output()), 1);
    made.planned.result_fill().fill(&mut begin);
    let begin = begin.get_f64(0);
    let rest = &expected[stored.len()..];
    let last = expected.iter().zip(stored).map(|(v, kept)| if kept { *v } else { begin });
    Some(last.chain(rest.iter().copied()).collect())
}

/// What the dense interpreter computes, and whether all temporaries are finite.
fn oracle(
    program: &Program,
    types: &Types,
    dims: &IndexMap<Name, Vec<usize>>,
    dense: &IndexMap<Name, Vec<f64>>,
    extents: &Extents,
) -> Result<(Vec<f64>, bool), Stop> {
    let tensors = dense.iter().map(|(name, list)| {
        let mut values = Value::zero(types.of(name)).repeated(list.len());
        list.iter().enumerate().for_each(|(k, v)| Value::F64(*v).store(&mut values, k));
        (name.clone(), Dense { dims: dims[name].clone(), values })
    });
    let all = interpret_typed(program, &tensors.collect(), types, extents)?;
    let values = |name: &Name| -> Vec<f64> {
        let values = &all[name].values;
        (0..values.len()).map(|k| values.get_f64(k)).collect()
    };
    let finite = |name: &Name| values(name).iter().all(|value| value.is_finite());
    let finite = program.temporaries().iter().all(finite);
    Ok((program.results().iter().flat_map(values).collect(), finite))
}
