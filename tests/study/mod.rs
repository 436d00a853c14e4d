//! From an expression to its nests and finds, with both provers asked about everything.
#![allow(dead_code)] // every binary of tests uses its own part

pub mod execute;
pub mod instance;
pub mod random;
pub mod tensors;

use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;
use siskin::formula::{Name, conjunction};
use siskin::iterspace::{Space, Wanted, compose_by};
use siskin::layout::Layout;
use siskin::loops::Statement;
use siskin::program::{Program, Types};
use siskin::prover::{AgreeingProver, Prover, Z3Prover};
use siskin::scan::{Nest, scan};
use siskin::schedule::{Schedule, schedule};
use siskin::synth::{
    Attempt, Find, Plan, Proved, Refutation, Sizes, Template, Verdict, refutations, templates,
};
use siskin::tensor::ValueType;

/// One space of a statement, scanned and with all verdicts.
pub struct Study {
    pub space: Space,
    pub schedule: Schedule,
    pub nest: Nest,
    pub finds: Vec<Find>,
    /// Of all that, unless only the scan was asked for.
    pub statement: Option<Statement>,
    /// Queries that both provers decided.
    pub compared: usize,
}

/// `sparse` is a shipped layout; `run-length` is the test-local one of that name.
pub fn layout(text: &str, rank: usize) -> Layout {
    let text = match text.strip_prefix('@') {
        Some(name) => format!("tests/layouts/{name}.toml"),
        None => text.to_string(),
    };
    Layout::named_for_rank(&text, rank).unwrap_or_else(|e| panic!("{text}: {e:#?}"))
}

/// `layouts` is `A=csr x=sparse`, separated by blanks; other tensors are dense.
pub fn program(expression: &str, layouts: &str) -> (Program, IndexMap<Name, Arc<Layout>>) {
    let program = Program::parse(expression).unwrap_or_else(|e| panic!("{e:#?}"));
    let given: IndexMap<&str, &str> =
        layouts.split_whitespace().map(|l| l.split_once('=').expect("TENSOR=LAYOUT")).collect();
    let tensors = program.tensors();
    assert!(given.keys().all(|t| tensors.contains_key(*t)), "a layout for no tensor: {layouts}");
    let layouts = tensors
        .into_iter()
        .map(|(t, rank)| {
            let text = given.get(&*t).copied().unwrap_or("dense");
            let layout = Arc::new(layout(text, rank));
            (t, layout)
        })
        .collect();
    (program, layouts)
}

/// Indices or positions, outermost first, separated by commas; in front of them and a space, positions that are one loop.
pub fn names(order: &str) -> Vec<Name> {
    order.split(',').filter(|n| !n.is_empty()).map(Name::from).collect()
}

/// Composes, scans (which verifies exactness in debug builds) and synthesizes.
pub fn study(expression: &str, layouts: &str, order: &str) -> Study {
    let mut prover = AgreeingProver::new();
    let mut study = study_by(expression, layouts, order, &mut prover);
    study.compared = prover.compared();
    study
}

/// [`study`] by one prover, which is faster.
pub fn quick_study(expression: &str, layouts: &str, order: &str) -> Study {
    study_by(expression, layouts, order, &mut Z3Prover::new().with_any_model())
}

/// [`quick_study`] with templates that nobody shipped.
pub fn study_with(expression: &str, layouts: &str, templates: &[Rc<Template>]) -> Study {
    let mut prover = Z3Prover::new().with_any_model();
    let mut study = scanned_by(expression, layouts, "", &mut prover);
    study.find_with(templates, &mut prover);
    study
}

fn study_by(expression: &str, layouts: &str, order: &str, prover: &mut dyn Prover) -> Study {
    let mut study = scanned_by(expression, layouts, order, prover);
    study.find_with(&templates().unwrap(), prover);
    study
}

/// [`study`] without the synthesis.
pub fn scanned(expression: &str, layouts: &str, order: &str) -> Study {
    scanned_by(expression, layouts, order, &mut Z3Prover::new().with_any_model())
}

fn scanned_by(expression: &str, layouts: &str, order: &str, prover: &mut dyn Prover) -> Study {
    let (program, layouts) = program(expression, layouts);
    // The weights of elements are whole.
    let wanted = Wanted { types: Types::all(ValueType::I64), ..Wanted::default() };
    let mut spaces = compose_by(&program, &layouts, &wanted).unwrap_or_else(|e| panic!("{e:#?}"));
    assert_eq!(spaces.len(), 1, "one conjunctive space");
    let mut space = spaces.remove(0);
    let (fused, order) = order.split_once(' ').unwrap_or(("", order));
    if !fused.is_empty() {
        space.fuse(&names(fused)).unwrap_or_else(|e| panic!("{e:#?}"));
    }
    let schedule = schedule(&space, &names(order)).unwrap_or_else(|e| panic!("{e:#?}"));
    let nest = scan(&space, &schedule, prover).unwrap_or_else(|e| panic!("{e:#?}"));
    Study { space, schedule, nest, finds: Vec::new(), statement: None, compared: 0 }
}

impl Study {
    fn find_with(&mut self, templates: &[Rc<Template>], prover: &mut dyn Prover) {
        let (space, schedule) = (self.space.clone(), self.schedule.clone());
        let statement = Statement::new(space, schedule, templates, &Sizes::default(), prover);
        let statement = statement.unwrap_or_else(|e| panic!("{e:#?}"));
        self.finds = statement.finds().to_vec();
        self.statement = Some(statement);
    }

    /// The nest as text.
    pub fn nest(&self) -> String {
        if !cfg!(debug_assertions) {
            panic!("the scan verifies exactness in debug builds only");
        }
        self.nest.to_string()
    }

    /// The space and the nest as text.
    pub fn space_and_nest(&self) -> String {
        format!("{}\n{}", self.space.points(&self.schedule.dims()), self.nest())
    }

    /// What the properties contributed.
    pub fn assumptions(&self) -> String {
        conjunction(&self.nest.assumptions)
    }

    /// The find of a position.
    pub fn find(&self, position: &str) -> &Find {
        let found = self.finds.iter().find(|f| &*f.problem.position == position);
        found.unwrap_or_else(|| panic!("no find of {position}:\n{}", self.nest))
    }

    pub fn attempt(&self, position: &str, template: &str) -> &Attempt {
        let attempts = &self.find(position).attempts;
        attempts.iter().find(|a| a.template.name == template).expect("a shipped template")
    }

    /// The proved plan of a template.
    pub fn plan(&self, position: &str, template: &str) -> &Proved<Plan> {
        match &self.attempt(position, template).verdict {
            Verdict::Proved(plan) => plan,
            other => panic!("{template} for {position}: {other}"),
        }
    }

    /// Why a template is refuted.
    pub fn refutation(&self, position: &str, template: &str) -> &Refutation {
        match &self.attempt(position, template).verdict {
            Verdict::Refuted(refutation) => refutation,
            other => panic!("{template} for {position}: {other}"),
        }
    }

    /// What goes wrong with other arguments of `template`: for each obligation, the first choice of
    /// arguments that breaks it, with a counterexample that really does.
    pub fn counterexamples(&self, position: &str, template: &str) -> String {
        let find = self.find(position);
        let template = &self.attempt(position, template).template;
        let mut prover = AgreeingProver::new();
        let refuted = refutations(&self.nest, find, template, &mut prover).unwrap();
        assert!(prover.compared() > 0);
        let mut seen: Vec<&str> = Vec::new();
        let mut out = Vec::new();
        for r in &refuted {
            if let Some(model) = r.counterexample() {
                assert_eq!(model.satisfies(&r.query), Some(true), "{r}");
                if !seen.contains(&&*r.obligation) {
                    seen.push(&r.obligation);
                    out.push(format!("{} ({}): {model}", r.obligation, r.arguments));
                }
            }
        }
        assert!(!out.is_empty(), "nothing is refuted");
        out.join("\n")
    }

    /// Every search: its find in one line, then one line for each template that could apply.
    pub fn verdicts(&self) -> String {
        assert!(self.compared > 0, "nothing was asked of both provers");
        let mut out = String::new();
        for find in self.finds.iter().filter(|f| !f.problem.upper.is_empty()) {
            let several = if find.unique { "" } else { " (several)" };
            out.push_str(&format!("find {}{several}\n", find.problem.describe()));
            for a in &find.attempts {
                let shown = match &a.verdict {
                    Verdict::Inapplicable(_) if a.template.closed_form => continue,
                    // For layouts that declare a property of a kind of their own.
                    Verdict::Inapplicable(_) | Verdict::Vacuous
                        if !a.template.properties.is_empty() =>
                    {
                        continue;
                    }
                    verdict => verdict.to_string(),
                };
                let shown = shown.strip_prefix("proved: ").unwrap_or(&shown);
                match shown.starts_with(&a.template.name) {
                    true => out.push_str(&format!("  {shown}\n")),
                    false => out.push_str(&format!("  {} {shown}\n", a.template.name)),
                }
            }
        }
        out.trim_end().to_string()
    }
}
