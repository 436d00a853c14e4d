//! The plans of a find with their costs, and why one of them is taken.

use serde_json::{Value, json};
use siskin::kernel::{Grounds, Planned};
use siskin::loops::Statement;
use siskin::synth::{Estimate, Find, Machine, Plan, QUANTITIES, estimate};

use super::figures::{Used, bytes, nanoseconds, number, priced};

/// A find, what its plans are expected to take, and which is taken.
pub struct Choice<'a> {
    find: &'a Find,
    chosen: &'a Plan,
    rows: Vec<(&'a Plan, Estimate)>,
    why: String,
}

/// The finds of a statement; what is known without a search is no choice.
pub fn choices<'a>(statement: &'a Statement, planned: &Planned) -> Vec<Choice<'a>> {
    let sizes = planned.sizes_of(statement);
    let finds = statement.finds().iter().zip(statement.chosen()).enumerate();
    let searched = finds.filter(|(_, (_, chosen))| !chosen.template.closed_form);
    let choice = |k: usize, find: &'a Find, chosen: &'a Plan| {
        let nest = statement.nest_of(k);
        let plans = find.plans().map(|plan| &**plan);
        let rows: Vec<(&Plan, Estimate)> =
            plans.map(|plan| (plan, estimate(plan, find, nest, &sizes))).collect();
        let why = why(find, chosen, &rows, statement, planned.grounds());
        Choice { find, chosen, rows, why }
    };
    searched.map(|(k, (find, chosen))| choice(k, find, chosen)).collect()
}

/// Why a plan is taken, in words.
fn why(
    find: &Find,
    chosen: &Plan,
    rows: &[(&Plan, Estimate)],
    statement: &Statement,
    grounds: &Grounds,
) -> String {
    let name = |plan: &Plan| format!("`{}`", plan.template.name);
    let is_chosen = |plan: &Plan| plan.template.name == chosen.template.name;
    let others: Vec<_> = rows.iter().filter(|(plan, _)| !is_chosen(plan)).collect();
    let Some((_, own)) = rows.iter().find(|(plan, _)| is_chosen(plan)) else {
        return "nothing else is proved".to_string();
    };
    if others.is_empty() {
        return "no other template is proved".to_string();
    }
    let most = grounds.sizes.most_memory();
    let fits = |estimate: &Estimate| estimate.memory <= most;
    let mut cheaper: Vec<_> = others.iter().filter(|(_, e)| e.time < own.time).collect();
    cheaper.sort_by(|a, b| a.1.time.total_cmp(&b.1.time));
    let instead = match cheaper.iter().find(|(_, e)| fits(e)) {
        Some((plan, e)) => {
            format!("; by cost it would be {} ({})", name(plan), nanoseconds(e.time))
        }
        None => String::new(),
    };
    let position = &find.problem.position;
    if grounds.is_forced(position) {
        return format!("it is asked for{instead}");
    }
    let operands = &statement.space().operands;
    let owner = operands.iter().find(|o| o.positions.contains(position));
    if let Some(owner) = owner.filter(|o| o.gallops && chosen.template.gallops) {
        return format!("{} is to be galloped through{instead}", owner.tensor);
    }
    if !fits(own) {
        return format!("of all that exceed {}, it takes the least memory", bytes(most));
    }
    let next = others.iter().filter(|(_, e)| fits(e));
    let next = next.min_by(|a, b| a.1.time.total_cmp(&b.1.time));
    let mut out = match next {
        Some((plan, e)) if e.time < own.time => format!(
            "the best with the other finds, however much tensors have in common; alone it would be {} ({})",
            name(plan),
            nanoseconds(e.time)
        ),
        Some((plan, e)) if e.time.is_finite() && own.time > 0.0 => {
            let ratio = number((e.time / own.time * 100.0).round() / 100.0);
            format!(
                "the cheapest; {}, the next, is expected to take {ratio} times as long",
                name(plan)
            )
        }
        _ => "the cheapest".to_string(),
    };
    for (plan, e) in cheaper.iter().filter(|(_, e)| !fits(e)) {
        let limit = match grounds.sizes.workspace_limit {
            Some(_) => "--workspace-limit allows",
            None => "is kept where there is a choice",
        };
        out.push_str(&format!(
            "; {} would be cheaper, but keeps {}, more than {} that {limit}",
            name(plan),
            bytes(e.memory),
            bytes(most)
        ));
    }
    out
}

impl Choice<'_> {
    /// What the quantities of a plan are, in words.
    fn meaning(&self, quantity: &str, plan: &Plan) -> String {
        let list = |names: &[siskin::formula::Name]| {
            names.iter().map(|n| &**n).collect::<Vec<_>>().join(", ")
        };
        match quantity {
            "queries" if self.find.problem.loops.is_empty() => "asked once".to_string(),
            "queries" => format!("visits of the loops around it: {}", list(&self.find.problem.loops)),
            "length" => "positions in its range".to_string(),
            "repeats" if plan.many => "1 and the matches expected of a query".to_string(),
            "repeats" => "at most one position matches".to_string(),
            "states" if plan.state.is_empty() => "one for all queries".to_string(),
            "states" => format!("values of {}", list(&plan.state)),
            "extent" => "values that its key may have (? without data)".to_string(),
            "guards" => "1 if what it finds decides whether more is searched, or is stored in a result that is assembled, else 0".to_string(),
            "uneven" => "how often its range is another, and not as long as the one before".to_string(),
            "hits" => "the share of its queries that are expected to find something".to_string(),
            "total" => "positions in all its ranges".to_string(),
            "typical" => "positions in its range where a few are long".to_string(),
            "compared" => "index arrays that say whether a position matches".to_string(),
            "checks" => "1 if each query asks whether its state is that of the one before, else 0"
                .to_string(),
            "scattered" => "how often something in the range is between a query and the one before, by how often if both were even"
                .to_string(),
            "unforeseen" => "the share of its queries of which it is not foreseen whether they find something".to_string(),
            "reach" => "values that its key may have, but for those beside one that was asked for a little before"
                .to_string(),
            "others" => "branches of the loops that are not foreseen".to_string(),
            "alike" => "1 if its range has what is asked for, and nothing else; 0 if none of it, or if a range is looked for"
                .to_string(),
            other => other.to_string(),
        }
    }

    pub fn text(&self, machine: &Machine, used: &mut Used) -> String {
        let mut out = format!("find {}\n", self.find.problem.describe());
        // All plans are asked as often, and search the same range.
        let shared = |k: usize| k < 2;
        if let Some((plan, estimate)) = self.rows.first() {
            for k in (0..QUANTITIES.len()).filter(|k| shared(*k)) {
                let (name, value) = (QUANTITIES[k], number(estimate.quantities[k]));
                out.push_str(&format!("  {name} = {value}, {}\n", self.meaning(name, plan)));
            }
        }
        for (plan, estimate) in &self.rows {
            let mark = if plan.template.name == self.chosen.template.name { "*" } else { " " };
            out.push_str(&format!("{mark} {plan}\n"));
            let formulas = [Some(&plan.template.cost), plan.template.memory.as_ref()];
            let names: Vec<&str> =
                formulas.into_iter().flatten().flat_map(|formula| formula.names()).collect();
            let own = |k: &usize| !shared(*k) && names.contains(&QUANTITIES[*k]);
            for k in (0..QUANTITIES.len()).filter(own) {
                let (name, value) = (QUANTITIES[k], number(estimate.quantities[k]));
                out.push_str(&format!("      {name} = {value}, {}\n", self.meaning(name, plan)));
            }
            let named: Vec<_> = QUANTITIES.into_iter().zip(estimate.quantities).collect();
            let time = nanoseconds(estimate.time);
            out.push_str(&priced(&plan.template.cost, &named, machine, &time, used));
            if let Some(memory) = &plan.template.memory {
                let kept = bytes(estimate.memory);
                out.push_str(&format!("      keeps {memory} bytes: {kept}\n"));
            }
        }
        out.push_str(&format!("  * is taken: {}\n", self.why));
        out
    }

    pub fn json(&self) -> Value {
        let rows = self.rows.iter().map(|(plan, estimate)| {
            let named = QUANTITIES.into_iter().zip(estimate.quantities);
            let named: serde_json::Map<String, Value> =
                named.map(|(name, value)| (name.to_string(), json!(value))).collect();
            json!({
                "template": plan.template.name,
                "arguments": plan.arguments(),
                "cost": plan.template.cost.to_string(),
                "memory": plan.template.memory.as_ref().map(ToString::to_string),
                "quantities": named,
                "nanoseconds": estimate.time,
                "bytes": estimate.memory,
                "taken": plan.template.name == self.chosen.template.name,
            })
        });
        json!({
            "position": &*self.find.problem.position,
            "where": self.find.problem.describe(),
            "plans": rows.collect::<Vec<_>>(),
            "why": self.why,
        })
    }
}
