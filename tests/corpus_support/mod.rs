//! Reading a case, making its kernels, compiling them together, and comparing their results.

// Each test is its own crate and uses a part of this.
#![allow(dead_code)]

mod bound;
mod compare;
mod library;
pub mod variants;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use siskin::Kernel;
use siskin::code::{Body, IndexWidth};
use siskin::diagnostic::{Code, Diagnostic};
use siskin::formula::Name;
use siskin::iterspace::Union;
use siskin::kernel::{Coiterate, Planned};
use siskin::layout::{Layout, shipped};
use siskin::module::{Module, Signature};
use siskin::operators::Value;
use siskin::program::{Program, Types};
use siskin::prover::Z3Prover;
use siskin::tensor::ValueType;

#[allow(unused_imports)]
pub use bound::Bound;
#[allow(unused_imports)]
pub use compare::{compare, pack, pack_with, reads_back};
#[allow(unused_imports)]
pub use library::{Face, Library, RawArray};

/// What a corpus file says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub expression: String,
    /// Layouts to try for each tensor; all combinations are. `@even` is `tests/layouts/even.toml`;
    /// `shipped` stands for every shipped layout of the tensor's rank, `shipped with 2,3` for the same
    /// with these values for as many parameters as each has.
    #[serde(default)]
    pub layouts: BTreeMap<String, Vec<String>>,
    /// Loop orders to try, besides the default one; every layout must allow them.
    #[serde(default)]
    pub orders: Vec<String>,
    /// Templates to force together, each on its position, besides all of them alone.
    #[serde(default)]
    pub finds: Vec<BTreeMap<String, String>>,
    /// Sums are computed in one pass for each tensor.
    #[serde(default)]
    pub passes: bool,
    /// How the result is gathered, besides the choice of the cost model: `dense`, `sort`, `merge`.
    #[serde(default)]
    pub gathered: Vec<String>,
    /// The type of all tensors; without it and `types`, kernels take turns with types.
    #[serde(rename = "type")]
    pub value_type: Option<String>,
    /// Of tensors with a type of their own.
    #[serde(default)]
    pub types: BTreeMap<String, String>,
    /// What tensors hold where they store nothing.
    #[serde(default)]
    pub fills: BTreeMap<String, f64>,
    /// Which templates are tried.
    #[serde(default)]
    pub templates: Tried,
    /// Tests that share the combinations, so that many are judged at once.
    #[serde(default = "one")]
    pub parts: usize,
    #[serde(default)]
    pub data: Vec<Data>,
}

fn one() -> usize {
    1
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tried {
    /// The automatic choice, and every proved template for each find.
    #[default]
    All,
    /// The automatic choice alone: for files with many combinations.
    Automatic,
}

/// One set of tensors.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    pub name: String,
    /// Sets of the same shape: every kernel must run on at least one of them.
    pub shape: Option<String>,
    pub dims: BTreeMap<String, Vec<usize>>,
    /// Extents that no tensor gives.
    #[serde(default)]
    pub extents: BTreeMap<String, usize>,
    /// Entries of each tensor: coordinates, then the value. A tensor that is left out has none.
    #[serde(default)]
    pub entries: BTreeMap<String, Entries>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub enum Entries {
    Listed(Vec<Vec<i64>>),
    /// `"full"` of small numbers, or `"random N SEED"`: N entries, duplicates included, in no order.
    Made(String),
}

/// A kernel of a case.
pub struct Made {
    /// What tells it from the others.
    pub label: String,
    pub text: String,
    /// The name of its unchecked entry.
    pub entry: String,
    pub signature: Signature,
    /// The core.
    pub body: Body,
    pub planned: Planned,
}

impl Made {
    pub fn of(label: String, module: &Module, planned: Planned) -> Made {
        Made {
            label,
            text: module.text().to_string(),
            entry: module.entry().to_string(),
            signature: module.signature().clone(),
            body: module.body().clone(),
            planned,
        }
    }
}

impl Case {
    /// A case without data.
    pub fn of(expression: &str, layouts: BTreeMap<String, Vec<String>>) -> Case {
        let expression = expression.to_string();
        Case {
            expression,
            layouts,
            orders: Vec::new(),
            finds: Vec::new(),
            passes: false,
            gathered: Vec::new(),
            value_type: None,
            types: BTreeMap::new(),
            fills: BTreeMap::new(),
            templates: Tried::All,
            parts: 1,
            data: Vec::new(),
        }
    }

    /// The types of the tensors.
    pub fn types(&self) -> Result<Types, String> {
        let parse = |ty: &String| ty.parse::<ValueType>().map_err(|e| e.message.clone());
        let general = self.value_type.as_ref().map_or(Ok(ValueType::F64), parse)?;
        let mut types = Types::all(general);
        for (tensor, ty) in &self.types {
            types.own.insert(Name::from(tensor.as_str()), parse(ty)?);
        }
        Ok(types)
    }

    pub fn read(path: &Path) -> Result<Case, String> {
        let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
        toml::from_str(&text).map_err(|e| e.to_string())
    }

    /// All choices of one layout for each tensor.
    fn combinations(&self) -> Result<Vec<Vec<(String, String)>>, String> {
        let program = Program::parse(&self.expression).map_err(|e| format!("{e:#?}"))?;
        let ranks = program.tensors();
        let mut out = vec![Vec::new()];
        for (tensor, layouts) in &self.layouts {
            let rank = *ranks.get(tensor.as_str()).ok_or_else(|| format!("no tensor {tensor}"))?;
            let expanded = |l: &String| match l.strip_prefix(SHIPPED) {
                Some(with) => shipped_of_rank(rank, with),
                None => Ok(vec![l.clone()]),
            };
            let layouts: Result<Vec<_>, String> = layouts.iter().map(expanded).collect();
            let layouts = layouts?.concat();
            out = layouts
                .iter()
                .flat_map(|l| {
                    out.iter().map(move |before| {
                        let mut c: Vec<(String, String)> = before.clone();
                        c.push((tensor.clone(), l.clone()));
                        c
                    })
                })
                .collect();
        }
        Ok(out)
    }
}

/// More combinations of layouts take turns.
const MANY: usize = 8;

/// Whether nothing is left out for the sake of time: `SISKIN_CORPUS=all`.
fn all_kernels() -> bool {
    std::env::var("SISKIN_CORPUS").is_ok_and(|how| how == "all")
}

/// Which of so many kernels are compiled where they are many: every third, for types take turns by four.
pub fn some_of(kernels: usize) -> Vec<bool> {
    (0..kernels).map(|k| k.is_multiple_of(3) || all_kernels()).collect()
}

/// Stands for every shipped layout.
const SHIPPED: &str = "shipped";

/// The shipped layouts that a tensor of this rank may have; `with` is empty, or ` with 2,3`.
fn shipped_of_rank(rank: usize, with: &str) -> Result<Vec<String>, String> {
    let values: Vec<&str> = match with.strip_prefix(" with ") {
        Some(values) => values.split(',').collect(),
        None if with.is_empty() => Vec::new(),
        None => return Err(format!("`{SHIPPED}{with}`")),
    };
    let fits = |text: &String| Layout::named_for_rank(text, rank).is_ok();
    // A layout takes no more arguments than it has parameters.
    let most = |name: String| {
        let text = |n: usize| format!("{name}({})", values[..n].join(","));
        (1..=values.len()).rev().map(text).find(fits).unwrap_or(name)
    };
    let names: Vec<String> =
        shipped().into_iter().map(|(name, _)| name).filter(fits).map(most).collect();
    assert!(names.len() > 3, "rank {rank}: {names:?}");
    Ok(names)
}

/// The text of a layout as the library takes it.
pub fn layout_text(text: &str) -> String {
    match text.strip_prefix('@') {
        Some(name) => format!("tests/layouts/{name}.toml"),
        None => text.to_string(),
    }
}

/// The kernels of all combinations, orders and plans, each once.
pub fn kernels(case: &Case) -> Result<Vec<Made>, String> {
    kernels_of_part(case, 0)
}

/// Whether operands have no looplets, or none that are walked.
fn is_not_lowered(e: &Diagnostic) -> bool {
    ["by looplets", "no looplets"].iter().any(|part| e.message.contains(part))
}

/// [`kernels`] of one of the parts of a case.
pub fn kernels_of_part(case: &Case, part: usize) -> Result<Vec<Made>, String> {
    let mut out: Vec<Made> = Vec::new();
    // Kernels of a case have most of their questions in common.
    let mut prover = Z3Prover::new().with_any_model();
    let mut variants = [
        (ValueType::F64, IndexWidth::U32),
        (ValueType::F32, IndexWidth::U64),
        (ValueType::I64, IndexWidth::U32),
        (ValueType::I32, IndexWidth::U64),
    ]
    .into_iter()
    .cycle();
    let combinations = case.combinations()?;
    // Of many combinations of layouts, each tries every other template, of very many every third, and every other way
    // of gathering and of bringing operands together: no layout always the same ones.
    let many = combinations.len() > MANY && !all_kernels();
    let each = match combinations.len() {
        ..4 => 1,
        _ if many => 3,
        _ => 2,
    };
    for (turn, combination) in combinations.into_iter().enumerate().skip(part).step_by(case.parts) {
        let shown: Vec<String> = combination.iter().map(|(t, l)| format!("{t}={l}")).collect();
        let orders = std::iter::once("").chain(case.orders.iter().map(String::as_str));
        let gathered = case.gathered.iter().map(|how| ("", how.as_str()));
        let merged = (!case.passes).then_some(("", "merge if possible"));
        let regions = (!case.passes).then_some(("", "looplets if possible"));
        let others = gathered.chain(merged).chain(regions).enumerate();
        let others = others.filter(|(k, _)| !many || (k + turn).is_multiple_of(2)).map(|(_, o)| o);
        for (order, how) in orders.map(|order| (order, "")).chain(others) {
            let order: Vec<&str> = order.split(',').filter(|n| !n.is_empty()).collect();
            let label = format!("{} order {} {how}", shown.join(" "), order.join(","));
            let mut kernel = Kernel::new(&case.expression).order(&order);
            // Kernels of several ways take their time to compile.
            if turn % 4 != 0 {
                kernel = kernel.only_way();
            }
            for (tensor, layout) in &combination {
                kernel = kernel.layout(tensor, &layout_text(layout));
            }
            match how {
                "" => {}
                "merge" | "merge if possible" => kernel = kernel.union(Union::Merge),
                "looplets if possible" => {
                    kernel = kernel.coiterate(Coiterate::Looplets);
                    for tensor in case.layouts.keys().step_by(2) {
                        kernel = kernel.gallop(tensor);
                    }
                }
                workspace => kernel = kernel.workspace(workspace),
            }
            if case.passes {
                kernel = kernel.union(Union::Passes);
            }
            let types = case.types()?;
            kernel = kernel.values(types.general);
            for (tensor, ty) in &types.own {
                kernel = kernel.typed(tensor, *ty);
            }
            for (tensor, fill) in &case.fills {
                kernel = kernel.fill(tensor, Value::F64(*fill));
            }
            let planned = match kernel.plan_with(&mut prover) {
                Err(e) if how == "merge if possible" && e.message.contains("cannot be merged") => {
                    continue;
                }
                Err(e) if how == "looplets if possible" && is_not_lowered(&e) => continue,
                planned => planned.map_err(|e| format!("{label}: {e:#?}"))?,
            };
            let mut add =
                |what: &str, planned: Planned, prover: &mut Z3Prover| -> Result<(), String> {
                    let (value_type, index_width) = variants.next().expect("endless");
                    // Where another type has something else to visit, or does not exist, it stays `f64`.
                    let typed = planned.clone().with_types(value_type, index_width);
                    let planned = match typed {
                        _ if case.value_type.is_some() || !case.types.is_empty() => planned,
                        Ok(Some(typed)) => typed,
                        _ => planned
                            .with_types(ValueType::F64, index_width)
                            .map_err(|e| format!("{label} {what}: {e:#?}"))?
                            .expect("the same type visits the same"),
                    };
                    let module = planned
                        .render_with(prover)
                        .map_err(|e| format!("{label} {what}: {e:#?}"))?;
                    let ty = planned.types().general;
                    let variant = format!("{ty:?} {:?}", planned.index_width());
                    let label = format!("{label} {what} {variant}");
                    if out.iter().all(|m| m.text != module.text()) {
                        out.push(Made::of(label, &module, planned));
                    }
                    Ok(())
                };
            for finds in &case.finds {
                let mut kernel = kernel.clone();
                for (position, template) in finds {
                    kernel = kernel.find(Some(position), template);
                }
                let planned = kernel.plan_with(&mut prover);
                let planned = planned.map_err(|e| format!("{label} {finds:?}: {e:#?}"))?;
                add(&format!("{finds:?}"), planned, &mut prover)?;
            }
            // Every template with all others left as they are, and the automatic choice.
            add("automatic", planned.clone(), &mut prover)?;
            for (k, way) in planned.ways().enumerate().skip(1) {
                add(&format!("way {k}"), way.alone(), &mut prover)?;
            }
            // Several statements are run by one thread.
            let several = !planned.sequence().shared.is_empty();
            let by_looplets = how == "looplets if possible";
            if (planned.assembled().is_some() || by_looplets) && !several {
                match kernel.threads(2).plan_with(&mut prover) {
                    // Threads cannot share whatever looplets step by.
                    Err(e) if by_looplets && e.code == Code::Dependence => {}
                    Err(e) => return Err(format!("{label}: {e:#?}")),
                    Ok(shared) if shared.runs_on_threads() => {
                        add("on threads", shared, &mut prover)?;
                    }
                    Ok(_) => {}
                }
            }
            let statements = match case.templates {
                Tried::All => planned.statements().len(),
                Tried::Automatic => 0,
            };
            for s in 0..statements {
                for f in 0..planned.statements()[s].finds().len() {
                    let find = &planned.statements()[s].finds()[f];
                    let plans = find.plans().filter(|p| !p.template.closed_form);
                    let in_turn =
                        |k: usize| (k + f + turn.count_ones() as usize).is_multiple_of(each);
                    for (_, plan) in plans.enumerate().filter(|(k, _)| in_turn(*k)) {
                        let forced = planned.clone().with_template(s, f, &plan.template.name);
                        let forced = forced.expect("the plans of a find are proved");
                        let what = format!("{} by {plan}", find.problem.position);
                        add(&what, forced, &mut prover)?;
                    }
                }
            }
        }
    }
    Ok(out)
}

/// The layout of a tensor of a kernel.
pub fn layout_of(made: &Made, tensor: &Name) -> Arc<Layout> {
    made.planned.layouts()[tensor].clone()
}
