//! `siskin explain`: what every stage makes of a statement.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use siskin::code::AccessProof;
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::formula::Name;
use siskin::kernel::{Kernel, Planned};
use siskin::loops::{Assembled, Gather, Statement};
use siskin::module::Module;
use siskin::operators::Region;
use siskin::prover::Z3Prover;
use siskin::synth::{Find, Plan, Verdict};

use super::kernels::{self, One};
use super::leaves::with_leaves;
use super::options::KernelOptions;
use super::output::Output;
use super::smt::Recorder;
use super::tensors::{OutputWish, TensorOptions};
use super::{costs, finds, fused, looplets, loops, stories};

/// Print what the stages of the compiler make of a statement
#[derive(Args)]
#[command(after_help = include_str!("examples/explain.txt"))]
pub struct Explain {
    /// A statement of index notation, e.g. 'y[i] += A[i,j] * x[j]', or several with `;` between them; or the
    /// code of a diagnostic, e.g. S0103
    #[arg(required_unless_present = "program")]
    expression: Option<String>,
    /// A program in the language of Finch, instead of a statement
    #[arg(long, value_name = "FILE", conflicts_with = "expression")]
    program: Option<PathBuf>,
    #[command(flatten)]
    tensors: TensorOptions,
    /// Give the result the sparsity of an input
    #[arg(short, long, value_name = "NAME=shares(INPUT)")]
    output: Vec<String>,
    /// summary, layout, space, schedule, nest, looplets, proofs, cost, loops, rust or all
    #[arg(long, value_name = "STAGE", default_value = "all")]
    stage: String,
    /// Write every query of the prover as SMT-LIB into a folder
    #[arg(long, value_name = "DIR")]
    smt: Option<PathBuf>,
    #[command(flatten)]
    options: KernelOptions,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Summary,
    Layout,
    Space,
    Schedule,
    Nest,
    Looplets,
    Proofs,
    Cost,
    Loops,
    Rust,
}

const STAGES: [(&str, Stage); 10] = [
    ("summary", Stage::Summary),
    ("layout", Stage::Layout),
    ("space", Stage::Space),
    ("schedule", Stage::Schedule),
    ("nest", Stage::Nest),
    ("looplets", Stage::Looplets),
    ("proofs", Stage::Proofs),
    ("cost", Stage::Cost),
    ("loops", Stage::Loops),
    ("rust", Stage::Rust),
];

impl Explain {
    pub fn execute(&self) -> Output {
        let expression = self.expression.as_deref();
        let options = with_leaves(expression, &self.tensors, &self.output, &self.options)?;
        if let Some(expression) = &self.expression
            && let Some(code) = stories::code(expression)?
        {
            return Ok(match options.json {
                true => stories::json(code).to_string(),
                false => stories::story(code),
            });
        }
        let stages = self.stages()?;
        let mut prover = Recorder::new(Z3Prover::new());
        let mut plan = |kernel: &Kernel| match &self.smt {
            None => kernel.plan(),
            Some(_) => kernel.plan_with(&mut prover),
        };
        let kernels = match &self.expression {
            Some(expression) => {
                let kernel = options.kernel(expression)?;
                let program = kernel.program()?;
                let wish = OutputWish::parse(&self.output, &program)?;
                wish.without_file("explain")?;
                let kernel =
                    kernels::with_tensors(kernel, &options, &program, &self.tensors, &wish)?;
                let given = self.tensors.files(&program)?;
                let is_given = |name: &Name| given.contains_key(name);
                let kernel = kernels::with_result_of_run(kernel, &program, is_given)?;
                let one = One::new(plan(&kernel)?, &options)?;
                options.save(one.module.text())?;
                vec![one]
            }
            None => {
                let path = self.program.as_deref().unwrap_or(Path::new(""));
                let made = super::program::translated(path, &self.tensors, &options, &self.output)?;
                OutputWish { file: made.file(), shared: None }.without_file("explain")?;
                let (returned, measured) = (made.returned.clone(), made.measured.clone());
                let kernels = kernels::kernels(made, &mut plan)?;
                options.save(&kernels::text(path, &returned, &measured, &kernels)?)?;
                kernels
            }
        };
        if let Some(folder) = &self.smt {
            std::fs::create_dir_all(folder).map_err(|e| {
                Diagnostic::new(Code::Io, format!("cannot create `{}`: {e}", folder.display()))
                    .help("give a folder that can be written to")
            })?;
            let written = prover.write(folder)?;
            tracing::info!("{} queries in {}", written.len(), folder.display());
        }
        if options.json {
            let all =
                kernels.iter().map(|one| as_json(one, &stages)).collect::<Result<Vec<_>>>()?;
            return Ok(match all.as_slice() {
                [only] => only.to_string(),
                all => json!({ "kernels": all }).to_string(),
            });
        }
        let mut out = String::new();
        for (k, one) in kernels.iter().enumerate() {
            if kernels.len() > 1 {
                let (name, program) = (kernels::name(k), one.planned.program());
                out.push_str(&format!("=== {name}: {program} ===\n"));
            }
            for (name, stage) in &stages {
                if stages.len() > 1 {
                    out.push_str(&format!("== {name} ==\n"));
                }
                let said = text(&one.planned, &one.module, *stage, &one.options.order())?;
                out.push_str(said.trim_end());
                out.push_str("\n\n");
            }
            for locate in &one.locates {
                out.push_str(&format!("then {}\n\n", kernels::located(locate)));
            }
        }
        Ok(format!("{}\n", out.trim_end()))
    }

    fn stages(&self) -> Result<Vec<(&'static str, Stage)>> {
        if self.stage == "all" {
            return Ok(STAGES.to_vec());
        }
        if let Some(found) = STAGES.iter().find(|(name, _)| *name == self.stage) {
            return Ok(vec![*found]);
        }
        let names: Vec<&str> = STAGES.iter().map(|(name, _)| *name).collect();
        let near = siskin::layout::nearest(&self.stage, names.iter().copied());
        let near = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
        let known = format!("{near}the stages are {} and all", names.join(", "));
        Err(Diagnostic::new(Code::Usage, format!("there is no stage `{}`", self.stage))
            .at(0..self.stage.len(), "")
            .within("--stage", &self.stage)
            .help(known))
    }
}

fn text(planned: &Planned, module: &Module, stage: Stage, order: &[Name]) -> Result<String> {
    Ok(match stage {
        Stage::Summary => summary(planned, module),
        Stage::Layout => {
            let layouts = planned.layouts().iter();
            layouts.map(|(name, l)| format!("{name} is {}\n", super::layouts::text(l))).collect()
        }
        Stage::Space => {
            let spaces = planned.statements().iter();
            spaces.map(|s| format!("{}\n", s.space().points(&s.schedule().dims()))).collect()
        }
        Stage::Schedule => lines(planned, |s| s.schedule().to_string()),
        Stage::Nest => lines(planned, |s| s.nests()),
        Stage::Looplets => looplets::text(planned, order),
        Stage::Proofs => {
            let mut out: String =
                finds::chosen(planned).map(|(_, find, plan)| proofs(find, plan)).collect();
            out.push_str(&loops::text(planned));
            out.push_str(&access_text(module.accesses()));
            out
        }
        Stage::Cost => costs::text(planned)?,
        Stage::Loops => planned.loops().to_string(),
        Stage::Rust => module.text().to_string(),
    })
}

/// The answer in a few lines: what is stored how, what is searched for by which algorithm, what is proved.
fn summary(planned: &Planned, module: &Module) -> String {
    let mut out = format!("{}\n", planned.program());
    for (name, layout) in planned.layouts() {
        let about = match layout.summary.is_empty() {
            true => String::new(),
            false => format!(", {}", layout.summary),
        };
        out.push_str(&format!("  {name}: {}{about}\n", layout.name));
    }
    for statement in planned.statements() {
        let mut dims: Vec<String> =
            statement.schedule().dims().iter().map(ToString::to_string).collect();
        let space = statement.space();
        let label = |k: &usize| space.operands[*k].label.clone();
        let merged = match (statement.merged(), statement.regions()) {
            (Some(m), _) => {
                let walked: Vec<String> = m.walks.iter().map(|walk| label(&walk.operand)).collect();
                let key = dims.split_off(m.depth);
                format!("merging {} by {}", walked.join(", "), key.join(", "))
            }
            (None, Some(regions)) => {
                let what = if regions.are_merged() { "merging" } else { "walking regions of" };
                let walked: Vec<String> = regions.walked().map(|k| label(&k)).collect();
                let indices = std::mem::take(&mut dims);
                format!("{what} {} by each of {}", walked.join(", "), indices.join(", "))
            }
            (None, None) => String::new(),
        };
        let looked = space.lookups.iter().filter(|&&k| statement.looks_up(k));
        let looked: Vec<String> = looked.map(label).collect();
        let looked = match looked.is_empty() {
            true => String::new(),
            false => format!(", looking up {}", looked.join(", ")),
        };
        let only = match &space.rest {
            Region::All => String::new(),
            rest => format!(", only where {}", rest.map(&label)),
        };
        let loops = match dims.is_empty() && !merged.is_empty() {
            true => String::new(),
            false => format!("loops over {}", dims.join(", ")),
        };
        let comma = if loops.is_empty() || merged.is_empty() { "" } else { ", " };
        out.push_str(&format!("{loops}{comma}{merged}{looked}{only}\n"));
    }
    out.push_str(&fused::text(planned));
    out.extend(planned.assembled().map(|a| format!("{}\n", assembled(a))));
    let mut searches = 0;
    for (_, find, plan) in finds::chosen(planned) {
        searches += 1;
        let others = finds::alternatives(find, plan);
        let also = match others.is_empty() {
            true => String::new(),
            false => format!("; {} would do, too", others.join(", ")),
        };
        out.push_str(&format!("{} is found by {plan}{also}\n", find.problem.position));
    }
    if searches == 0 {
        out.push_str("nothing is searched for\n");
    }
    let ways = planned.way_names();
    if ways.len() > 1 {
        out.push_str(&format!(
            "{} ways are kept, of which the kernel chooses one for each call: {}\n",
            ways.len(),
            ways.join(", ")
        ));
    }
    out.push_str(&threads(planned));
    let accesses = module.accesses();
    let proved = accesses.iter().filter(|a| a.proved).count();
    out.push_str(&format!(
        "{proved} of {} array accesses are proved to be in bounds, {} are checked\n",
        accesses.len(),
        accesses.len() - proved
    ));
    out
}

/// On how many threads the kernel runs, and how they assemble a result.
fn threads(planned: &Planned) -> String {
    match planned.assembled().and_then(|a| a.assembling.threads.as_ref()) {
        Some(Ok(var)) => format!(
            "runs on several threads: chunks of {var} make parts, which are joined in order\n"
        ),
        Some(Err(why)) => format!("runs on one thread: {why}\n"),
        None if planned.runs_on_threads() => "runs on several threads\n".to_string(),
        None => "runs on one thread\n".to_string(),
    }
}

/// Where the entries of the result come in order, and how they are gathered.
fn assembled(a: &Assembled) -> String {
    let how = &a.assembling;
    let by = match how.around.as_slice() {
        [] => "all at once".to_string(),
        around => {
            format!("for each {}", around.iter().map(|n| &**n).collect::<Vec<_>>().join(", "))
        }
    };
    let gathered = match &how.gather {
        Gather::Nothing => "entry by entry".to_string(),
        Gather::Element => "in one element".to_string(),
        Gather::Merge => "by merging".to_string(),
        Gather::Counts => "each behind those of its group, which are counted first".to_string(),
        Gather::Workspace { template, .. } => format!("in a workspace ({template})"),
    };
    let made = &a.layout.name;
    format!("{} is assembled as {made} {by}, {gathered}: proved to come in order", a.tensor)
}

/// What `show` says of each statement, an empty line between two.
fn lines(planned: &Planned, show: impl Fn(&Statement) -> String) -> String {
    let shown = planned.statements().iter().map(|s| format!("{}\n", show(s)));
    shown.collect::<Vec<_>>().join("\n")
}

/// A find, and every template with its verdict.
fn proofs(find: &Find, chosen: &Plan) -> String {
    let mut out = format!("find {}\n", find.problem.describe());
    out.push_str(match find.unique {
        true => "  at most one position matches\n",
        false => "  several positions may match\n",
    });
    let width = find.attempts.iter().map(|a| a.template.name.len()).max().unwrap_or(0);
    for attempt in &find.attempts {
        let name = &attempt.template.name;
        let mark = if *name == chosen.template.name { "*" } else { " " };
        let mut line = format!("{mark} {name:width$}  {}", attempt.verdict.word());
        match &attempt.verdict {
            Verdict::Proved(plan) => {
                let arguments = plan.arguments();
                if !arguments.is_empty() {
                    line.push_str(&format!(": {arguments}"));
                }
            }
            Verdict::Refuted(r) => {
                line.push_str(&format!(": `{}`", r.obligation));
                if !r.arguments.is_empty() {
                    line.push_str(&format!(" ({})", r.arguments));
                }
                line.push_str(&format!(", {}", r.reason));
                if let Some(model) = r.counterexample() {
                    line.push_str(&format!("\n    {:width$}  e.g. {model}", ""));
                }
            }
            Verdict::Unknown(why) | Verdict::Inapplicable(why) => {
                line.push_str(&format!(": {why}"));
            }
            Verdict::Vacuous => line.push_str(": nothing can match under the properties"),
        }
        out.push_str(&format!("  {line}\n"));
    }
    out.push_str("  * is emitted\n\n");
    out
}

fn access_text(accesses: &[AccessProof]) -> String {
    let mut out = String::new();
    for (proved, title) in [
        (true, "array accesses proved to be in bounds"),
        (false, "array accesses checked at run time"),
    ] {
        let these: Vec<&AccessProof> = accesses.iter().filter(|a| a.proved == proved).collect();
        if !these.is_empty() {
            out.push_str(&format!("{title}\n"));
            these.iter().for_each(|a| out.push_str(&format!("  {}\n", a.access)));
        }
    }
    out
}

fn as_json(one: &One, stages: &[(&str, Stage)]) -> Result<Value> {
    let (planned, module, order) = (&one.planned, &one.module, &one.options.order());
    let mut out = serde_json::Map::new();
    if !one.locates.is_empty() {
        let then = one.locates.iter().map(kernels::located);
        out.insert("then".into(), then.collect::<Vec<_>>().into());
    }
    for (name, stage) in stages {
        let value = match stage {
            Stage::Summary => json!(summary(planned, module)),
            Stage::Layout => planned
                .layouts()
                .iter()
                .map(|(n, l)| (n.to_string(), super::layouts::json(l)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Stage::Space => planned
                .statements()
                .iter()
                .map(|s| json!(s.space().points(&s.schedule().dims()).to_string()))
                .collect(),
            Stage::Schedule => {
                planned.statements().iter().map(|s| json!(s.schedule().to_string())).collect()
            }
            Stage::Nest => planned.statements().iter().map(|s| json!(s.nests())).collect(),
            Stage::Looplets => looplets::json(planned, order),
            Stage::Proofs => json!({
                "finds": finds::chosen(planned)
                    .map(|(_, find, plan)| finds::detailed(find, plan))
                    .collect::<Vec<_>>(),
                "loops": loops::json(planned),
                "accesses": module.accesses().iter()
                    .map(|a| json!({ "access": a.access, "proved": a.proved }))
                    .collect::<Vec<_>>(),
            }),
            Stage::Cost => costs::json(planned)?,
            Stage::Loops => json!(planned.loops().to_string()),
            Stage::Rust => json!(module.text()),
        };
        out.insert((*name).to_string(), value);
    }
    Ok(Value::Object(out))
}
