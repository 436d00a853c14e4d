//! What is compared: the ways to compute a statement that are proved for it.

use siskin::diagnostic::Result;
use siskin::kernel::{Coiterate, Kernel, Planned};
use siskin::synth::{Find, cost};

/// A choice of templates to time.
pub struct Strategy {
    pub name: String,
    /// How operands are brought together, unless the options say it.
    scheme: Option<Coiterate>,
    /// Position and template; empty for the choice of a scheme.
    forced: Vec<(String, String)>,
    /// Estimated seconds of its finds.
    pub estimate: f64,
}

impl Strategy {
    /// The kernel that follows it.
    pub fn apply(&self, kernel: &Kernel) -> Kernel {
        let mut kernel = kernel.clone();
        for (position, template) in &self.forced {
            kernel = kernel.find(Some(position), template);
        }
        match self.scheme {
            Some(scheme) => kernel.coiterate(scheme),
            None => kernel,
        }
    }
}

/// The name of the automatic choice.
pub fn automatic() -> &'static str {
    Coiterate::Auto.word()
}

/// The name of the baseline: the two-finger merge.
pub fn baseline() -> &'static str {
    Coiterate::Merge.word()
}

/// The automatic choice, every scheme of co-iteration that makes something else of the statement, and every proved
/// template of every find, one at a time.
pub fn strategies(planned: &Planned, kernel: &Kernel) -> Result<Vec<Strategy>> {
    let of = |name: &str, scheme| {
        let (name, forced) = (name.to_string(), Vec::new());
        Strategy { name, scheme, forced, estimate: 0.0 }
    };
    let mut out = vec![of(automatic(), None)];
    let mut known = vec![planned.render()?.text().to_string()];
    for scheme in [Coiterate::Find, Coiterate::Merge, Coiterate::Looplets] {
        // What a scheme cannot do is no strategy; what the options ask for stays as it is.
        let own = kernel.clone().coiterate(scheme);
        let made = own.plan().and_then(|planned| planned.render());
        let Ok(module) = made else { continue };
        let text = module.text().to_string();
        if !known.contains(&text) && !kernel.states_coiteration() {
            out.push(of(scheme.word(), Some(scheme)));
            known.push(text);
        }
    }
    let searched = |s: &&Find| s.plans().count() > 1;
    let finds = planned
        .statements()
        .iter()
        .flat_map(|s| s.finds().iter().enumerate().map(move |(k, f)| (s.nest_of(k), f)));
    let finds: Vec<_> = finds.filter(|(_, f)| searched(f)).collect();
    for (nest, find) in &finds {
        let position = find.problem.position.to_string();
        for plan in find.plans() {
            let template = plan.template.name.clone();
            let name = match finds.len() {
                1 => template.clone(),
                _ => format!("{position}={template}"),
            };
            if out.iter().any(|s| s.name == name) {
                continue;
            }
            let nanoseconds = cost(plan, find, nest, kernel.known_sizes())?;
            let forced = vec![(position.clone(), template)];
            let estimate = nanoseconds * 1e-9;
            out.push(Strategy { name, scheme: None, forced, estimate });
        }
    }
    Ok(out)
}
