//! What is compared: the ways to compute a statement that are proved for it.

use std::num::NonZero;
use std::thread::available_parallelism;

use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::formula::Name;
use siskin::iterspace::Union;
use siskin::kernel::{Coiterate, Kernel, Planned};
use siskin::scan::Nest;
use siskin::schedule::Alternative;
use siskin::synth::{Find, cost};

use super::super::options::KernelOptions;

/// A way to compute the statement.
pub struct Strategy {
    pub name: String,
    choice: Choice,
    /// Estimated seconds of its finds.
    pub estimate: f64,
}

/// What a strategy asks for.
#[derive(Clone)]
enum Choice {
    /// How operands are brought together.
    Scheme(Coiterate),
    /// A position, and the template that finds it.
    Find(String, String),
    /// The same in the order that follows how operands are stored.
    DefaultFind(String, String),
    Order(Alternative),
    Union(Union),
    Threads(usize),
    /// With the copies of tensors of one choice.
    Copies(usize, Box<Choice>),
}

impl Choice {
    fn apply(&self, kernel: &Kernel) -> Kernel {
        let kernel = kernel.clone();
        match self {
            // What cannot be read is no strategy.
            Choice::Copies(k, choice) => choice.apply(&kernel.with_copies(*k).unwrap_or(kernel)),
            Choice::Scheme(Coiterate::Auto) => kernel,
            Choice::Scheme(scheme) => kernel.coiterate(*scheme),
            Choice::Find(position, template) => kernel.find(Some(position), template),
            Choice::DefaultFind(position, template) => {
                kernel.in_default_order().find(Some(position), template)
            }
            Choice::Order(Alternative { order, fused }) => {
                let kernel = fused.iter().fold(kernel, |kernel, group| kernel.fuse(&words(group)));
                kernel.order(&words(order))
            }
            Choice::Union(union) => kernel.union(*union),
            Choice::Threads(threads) => kernel.threads(*threads),
        }
    }
}

fn words(names: &[Name]) -> Vec<&str> {
    names.iter().map(|name| &**name).collect()
}

impl Strategy {
    /// The kernel that follows it.
    pub fn apply(&self, kernel: &Kernel) -> Kernel {
        self.choice.apply(kernel)
    }
}

/// What else than schemes and finds is varied.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Varied {
    orders: bool,
    unions: bool,
    threads: bool,
}

impl Varied {
    /// The words of `--vary`; what an option states stays as it is.
    ///
    /// # Errors
    /// [`Code::Usage`] for another word, or one whose option is given.
    pub fn parse(words: &[String], options: &KernelOptions) -> Result<Varied> {
        let mut out = Varied::default();
        for word in words {
            let (wish, stated) = match word.trim() {
                "orders" => (&mut out.orders, !options.order.is_empty()),
                "unions" => (&mut out.unions, options.union.is_some()),
                "threads" => (&mut out.threads, options.threads.is_some()),
                other => {
                    let what = format!("`--vary {other}`: there is no such thing to vary");
                    return Err(Diagnostic::new(Code::Usage, what)
                        .help("`orders`, `unions` and `threads` can be varied"));
                }
            };
            if stated {
                let option = word.trim().trim_start_matches("--");
                let option = if option == "threads" { option } else { &option[..option.len() - 1] };
                return Err(Diagnostic::new(
                    Code::Usage,
                    format!("`--vary {}` and `--{option}` contradict each other", word.trim()),
                )
                .help("leave one of them out"));
            }
            *wish = true;
        }
        Ok(out)
    }

    /// What is varied of a plan; the other drivers of its loops are those of the plan in the default order.
    fn choices(self, planned: &Planned, default: Option<&Planned>) -> Vec<(String, Choice)> {
        let mut out = Vec::new();
        if self.orders {
            let all = orders(&planned.program().indices());
            let all = all.into_iter().map(Alternative::from);
            for order in all.chain(default.map(Planned::other_orders).unwrap_or_default()) {
                let name = format!("order={}", words(&order.order).join(">"));
                out.push((name, Choice::Order(order)));
            }
        }
        if self.unions {
            let of = |u: Union| (format!("union={}", u.word()), Choice::Union(u));
            out.extend(Union::ALL.map(of));
        }
        let threads = available_parallelism().map_or(1, NonZero::get);
        if self.threads && threads > 1 {
            out.push((format!("threads={threads}"), Choice::Threads(threads)));
        }
        out
    }
}

/// More indices have too many orders to try.
const MOST_ORDERED: usize = 4;

/// Every order of the indices.
fn orders(indices: &[Name]) -> Vec<Vec<Name>> {
    match indices {
        [] => vec![Vec::new()],
        _ if indices.len() > MOST_ORDERED => Vec::new(),
        _ => {
            let first = |k: usize| {
                let mut rest = indices.to_vec();
                let first = rest.remove(k);
                orders(&rest).into_iter().map(move |mut order| {
                    order.insert(0, first.clone());
                    order
                })
            };
            (0..indices.len()).flat_map(first).collect()
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

/// Whether a strategy is the baseline, with whatever copies.
pub fn is_baseline(strategy: &str) -> bool {
    strategy.rsplit(' ').next() == Some(baseline())
}

/// The automatic choice and, where tensors are given in several layouts, `A=csr auto`: the strategies with each choice
/// of copies.
pub fn strategies(planned: &Planned, kernel: &Kernel, varied: Varied) -> Result<Vec<Strategy>> {
    if kernel.copies().is_empty() {
        return strategies_of(planned, kernel, varied);
    }
    let choice = Choice::Scheme(Coiterate::Auto);
    let mut out = vec![Strategy { name: automatic().to_string(), choice, estimate: 0.0 }];
    for (k, copies) in kernel.copies().iter().enumerate() {
        // What cannot be done is no strategy.
        let Ok(own) = kernel.with_copies(k) else { continue };
        let Ok(planned) = own.plan() else { continue };
        out.extend(strategies_of(&planned, &own, varied)?.into_iter().map(|strategy| Strategy {
            name: format!("{copies} {}", strategy.name),
            choice: Choice::Copies(k, Box::new(strategy.choice)),
            estimate: strategy.estimate,
        }));
    }
    Ok(out)
}

/// The automatic choice, the schemes of co-iteration if one makes something else of the statement, every proved
/// template of every find, one at a time, and what else is varied where that is valid and makes something else.
fn strategies_of(planned: &Planned, kernel: &Kernel, varied: Varied) -> Result<Vec<Strategy>> {
    let auto = Choice::Scheme(Coiterate::Auto);
    let mut out = vec![Strategy { name: automatic().to_string(), choice: auto, estimate: 0.0 }];
    let mut known = vec![planned.render()?.text().to_string()];
    if !kernel.states_coiteration() {
        let schemes = [Coiterate::Find, Coiterate::Merge, Coiterate::Looplets];
        let made = schemes.into_iter().filter_map(|scheme| {
            let choice = Choice::Scheme(scheme);
            let (_, text) = made(&choice, kernel)?;
            Some((Strategy { name: scheme.word().to_string(), choice, estimate: 0.0 }, text))
        });
        let made: Vec<(Strategy, String)> = made.collect();
        // Those that come to the same are told as well, so that they stand side by side, unless all do.
        if made.iter().any(|(_, text)| !known.contains(text)) {
            for (strategy, text) in made {
                out.push(strategy);
                known.push(text);
            }
        }
    }
    // The automatic choice may be of another order, in which other positions are searched for.
    let default = kernel.clone().in_default_order().plan().ok();
    for (name, choice) in varied.choices(planned, default.as_ref()) {
        // What the options ask for stays as it is.
        let Some((own, text)) = made(&choice, kernel) else { continue };
        if !known.contains(&text) {
            out.push(Strategy { name, choice, estimate: estimate(&own, kernel) });
            known.push(text);
        }
    }
    let default = default.as_ref().filter(|p| positions(p) != positions(planned));
    let own = finds(planned).into_iter().map(|found| (found, false));
    let others = default.map(finds).unwrap_or_default().into_iter().map(|found| (found, true));
    let finds: Vec<_> = own.chain(others).collect();
    for ((nest, find), is_default) in &finds {
        let position = find.problem.position.to_string();
        for plan in find.plans() {
            let template = plan.template.name.clone();
            let name = match finds.len() {
                1 => template.clone(),
                _ => format!("{position}={template}"),
            };
            // The same position may be searched for in both orders.
            let is_there = |name: &str| out.iter().any(|s| s.name == name);
            let name = match is_there(&name) {
                true if *is_default => format!("default {name}"),
                true => continue,
                false => name,
            };
            let estimate = cost(plan, find, nest, kernel.known_sizes()) * 1e-9;
            let choice = match is_default {
                false => Choice::Find(position.clone(), template),
                true => Choice::DefaultFind(position.clone(), template),
            };
            // Another plan may come first if it is forced, or several nests may search for this position.
            if choice.apply(kernel).plan().is_err() {
                continue;
            }
            out.push(Strategy { name, choice, estimate });
        }
    }
    Ok(out)
}

/// The plan of a choice, and the text of its kernel: what cannot be done is no strategy.
fn made(choice: &Choice, kernel: &Kernel) -> Option<(Planned, String)> {
    let planned = choice.apply(kernel).plan().ok()?;
    let text = planned.render().ok()?.text().to_string();
    Some((planned, text))
}

/// The finds of a plan for which there is a choice, each with its nest.
fn finds(planned: &Planned) -> Vec<(&Nest, &Find)> {
    let statements = planned.statements().iter();
    let all = statements.flat_map(|s| s.finds().iter().enumerate().map(|(k, f)| (s.nest_of(k), f)));
    all.filter(|(_, find)| find.plans().count() > 1).collect()
}

fn positions(planned: &Planned) -> Vec<&Name> {
    finds(planned).into_iter().map(|(_, find)| &find.problem.position).collect()
}

/// Seconds that the finds of a plan are expected to take.
fn estimate(planned: &Planned, kernel: &Kernel) -> f64 {
    let mut out = 0.0;
    for statement in planned.statements() {
        for (k, (find, plan)) in statement.finds().iter().zip(statement.chosen()).enumerate() {
            out += cost(plan, find, statement.nest_of(k), kernel.known_sizes()) * 1e-9;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_tried_once() {
        let names = ["i", "j", "k"].map(Name::from);
        let all = orders(&names);
        assert_eq!((all.len(), all[0].as_slice()), (6, &names[..]));
        assert!(all.iter().enumerate().all(|(k, order)| !all[..k].contains(order)));
        assert!(orders(&["a", "b", "c", "d", "e"].map(Name::from)).is_empty());
    }
}
