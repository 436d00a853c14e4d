//! What the choices of a kernel were expected to cost, as `explain` shows it: what is known of sizes, every proved
//! plan with its formula, the workspaces and the orders of loops that were priced likewise, and the decision in
//! words.

mod choice;
pub mod copies;
pub mod figures;
mod sizes;

use serde_json::{Value, json};
use siskin::diagnostic::Result;
use siskin::kernel::{GAIN, Planned};
use siskin::loops::Statement;
use siskin::synth::{Gathered, LOOPS, Machine, constants, loops_cost, workspaces};

use choice::Choice;
use figures::{Used, bytes, nanoseconds, number, priced};

pub fn text(planned: &Planned) -> Result<String> {
    let grounds = planned.grounds();
    let machine = &grounds.sizes.machine;
    let (mut out, mut used) = (String::new(), Used::new());
    for statement in planned.statements() {
        out.push_str(&format!("sizes\n{}", sizes::text(statement, grounds)));
        out.push_str(&loops(statement, planned, &mut used)?);
        for choice in choice::choices(statement, planned) {
            out.push_str(&choice.text(machine, &mut used));
        }
        out.push('\n');
    }
    let copies = copies::text(planned);
    if !copies.is_empty() {
        out.push_str(&format!("{copies}  * is taken: the cheapest\n\n"));
    }
    out.push_str(&orders(planned));
    out.push_str(&ways(planned)?);
    out.push_str(&workspace(planned, &mut used)?);
    if !used.is_empty() {
        out.push_str("constants of the machine\n");
        let width = used.keys().map(String::len).max().unwrap_or(0);
        for constant in constants()?.iter().filter(|c| used.contains_key(&c.name)) {
            let value = format!("{} {}", number(used[&constant.name]), constant.unit);
            let (name, meaning) = (&constant.name, &constant.meaning);
            let source = source(machine, name);
            out.push_str(&format!("  {name:width$}  {value:>13}  {source:8}  {meaning}\n"));
        }
    }
    Ok(out)
}

/// Where the value of a constant comes from.
fn source(machine: &Machine, constant: &str) -> &'static str {
    match machine.measured().any(|(name, _)| name == constant) {
        true => "measured",
        false => "assumed",
    }
}

/// What is expected of the loops of a statement themselves.
fn loops(statement: &Statement, planned: &Planned, used: &mut Used) -> Result<String> {
    if statement.nest().is_nothing() {
        return Ok("it visits nothing\n".to_string());
    }
    let sizes = &planned.sizes_of(statement);
    let values = statement.amounts(sizes);
    let named: Vec<(&str, f64)> = LOOPS.into_iter().zip(values).collect();
    let formula = loops_cost()?;
    let time = statement.loops_price(sizes)?;
    let [iterations, updates, regions, uneven, begun, private, unforeseen] = values;
    let others = [
        (regions, "regions"),
        (uneven, "uneven"),
        (unforeseen, "unforeseen"),
        (private, "elements of private sums"),
    ];
    let others = others.into_iter().filter(|(amount, _)| *amount != 0.0);
    let others: String = others.map(|(n, what)| format!(", {} {what}", number(n))).collect();
    let shared = match sizes.threads {
        None => String::new(),
        Some(threads) => format!("of one of {threads} threads that share the outermost loop:\n"),
    };
    Ok(format!(
        "{shared}loops: {} iterations, {} begun, {} updates{others}\n{}",
        number(iterations),
        number(begun),
        number(updates),
        priced(formula, &named, &sizes.machine, &nanoseconds(time), used)
    ))
}

/// The orders of loops that were priced.
fn orders(planned: &Planned) -> String {
    let orders = &planned.grounds().orders;
    if orders.is_empty() {
        return String::new();
    }
    let own = planned.statements().first().map(|s| s.schedule().dims());
    // Below what an order would be taken for: another one than the first gains enough.
    let planned = orders.iter().enumerate().filter(|(_, order)| !order.at_least);
    let least =
        planned.filter_map(|(k, order)| Some(if k == 0 { GAIN } else { 1.0 } * order.time?));
    let least = least.fold(f64::INFINITY, f64::min);
    let mut out = String::from("orders of the loops, with what is searched and gathered in them\n");
    for (k, order) in orders.iter().enumerate() {
        let names: Vec<&str> = order.dims.iter().map(|n| &**n).collect();
        let time = match order.time {
            Some(time) if order.at_least && time < least => {
                format!("at least {}, not looked into: enough others were", nanoseconds(time))
            }
            Some(time) if order.at_least => {
                format!("at least {}, more than another order", nanoseconds(time))
            }
            Some(time) => nanoseconds(time),
            None => "has no plan".to_string(),
        };
        let mark = if own.as_ref() == Some(&order.dims) { "*" } else { " " };
        let default = if k == 0 { ", the order in which operands are stored" } else { "" };
        out.push_str(&format!("{mark} {}: {time}{default}\n", names.join(", ")));
    }
    let percent = 100.0 * (1.0 - GAIN);
    out.push_str(&format!(
        "  * is taken: another order than the first must be cheaper by {percent:.0} %\n\n"
    ));
    out
}

/// The ways of which the kernel chooses one when it runs.
fn ways(planned: &Planned) -> Result<String> {
    if planned.ways().count() < 2 {
        return Ok(String::new());
    }
    let mut out =
        String::from("ways to compute it, of which the kernel chooses one for each call\n");
    for (way, name) in planned.ways().zip(planned.way_names()) {
        let time = nanoseconds(way.price()?);
        let by: Vec<_> = super::finds::chosen(way).map(|(.., plan)| &*plan.template.name).collect();
        let by = match by.is_empty() {
            true => String::new(),
            false => format!(", finds {}", by.join(", ")),
        };
        out.push_str(&format!("  {name}: {time} at the sizes above, loops {}{by}\n", dims(way)));
    }
    out.push_str("  it prices them with these formulas at the sizes of the call\n\n");
    Ok(out)
}

/// The loops of a way, outermost first.
fn dims(way: &Planned) -> String {
    let of = |s: &Statement| {
        let dims = s.schedule().dims();
        dims.iter().map(|n| &**n).collect::<Vec<_>>().join(", ")
    };
    way.statements().iter().map(of).collect::<Vec<_>>().join("; ")
}

/// The workspaces that might gather the result, or what is done without one.
fn workspace(planned: &Planned, used: &mut Used) -> Result<String> {
    if planned.counts_entries() {
        let output = planned.output();
        return Ok(format!("the loops run twice: they count the entries of {output} first\n"));
    }
    let Some((taken, gathered)) = planned.gathered() else { return Ok(String::new()) };
    let grounds = planned.grounds();
    let (machine, most) = (&grounds.sizes.machine, grounds.sizes.most_memory());
    let named: Vec<(&str, f64)> = Gathered::NAMES.into_iter().zip(gathered.quantities()).collect();
    let mut out = format!("workspaces of {}\n", planned.output());
    let meaning =
        ["keys that there can be", "elements each time", "updates in all", "times emptied"];
    for ((name, value), meaning) in named.iter().zip(meaning) {
        out.push_str(&format!("  {name} = {}, {meaning}\n", number(*value)));
    }
    let mut larger = Vec::new();
    for template in workspaces()? {
        let mark = if *template.name == **taken { "*" } else { " " };
        let (time, memory) =
            (template.cost(&gathered, machine), template.memory(&gathered, machine));
        if memory > most {
            larger.push(template.name.as_str());
        }
        let title = format!("{} in {}", nanoseconds(time), bytes(memory));
        out.push_str(&format!("{mark} {}\n", template.name));
        out.push_str(&priced(&template.cost, &named, machine, &title, used));
    }
    let why = match (grounds.workspace.is_some(), larger.as_slice()) {
        (true, _) => "it is asked for".to_string(),
        (false, []) => "the cheapest".to_string(),
        (false, larger) => {
            let what = if larger.len() == 1 { "takes" } else { "take" };
            format!("the cheapest of those that fit: {} {what} too much memory", larger.join(", "))
        }
    };
    out.push_str(&format!("  * is taken: {why}\n\n"));
    Ok(out)
}

/// The same as JSON; none if there is one way.
pub fn ways_json(planned: &Planned) -> Result<Vec<Value>> {
    if planned.ways().count() < 2 {
        return Ok(Vec::new());
    }
    let row = |(way, name): (&Planned, String)| {
        let finds = super::finds::chosen(way).map(|(_, find, plan)| {
            json!({ "position": &*find.problem.position, "template": plan.template.name })
        });
        Ok(json!({
            "function": name,
            "loops": dims(way),
            "finds": finds.collect::<Vec<_>>(),
            "nanoseconds": way.price()?,
        }))
    };
    planned.ways().zip(planned.way_names()).map(row).collect()
}

pub fn json(planned: &Planned) -> Result<Value> {
    let grounds = planned.grounds();
    let machine = &grounds.sizes.machine;
    let mut statements = Vec::new();
    for statement in planned.statements() {
        let sizes = planned.sizes_of(statement);
        let finds = choice::choices(statement, planned);
        let [iterations, updates, regions, uneven, begun, private, unforeseen] =
            statement.amounts(&sizes);
        statements.push(json!({
            "sizes": sizes::json(statement, grounds),
            "loops": {
                "cost": loops_cost()?.to_string(),
                "iterations": iterations,
                "updates": updates,
                "regions": regions,
                "uneven": uneven,
                "begun": begun,
                "private": private,
                "unforeseen": unforeseen,
                "threads": sizes.threads.unwrap_or(1),
                "nanoseconds": statement.loops_price(&sizes)?,
            },
            "finds": finds.iter().map(Choice::json).collect::<Vec<_>>(),
        }));
    }
    let own = planned.statements().first().map(|s| s.schedule().dims());
    let orders = grounds.orders.iter().map(|order| {
        json!({
            "order": order.dims.iter().map(|n| &**n).collect::<Vec<_>>(),
            "nanoseconds": order.time,
            "at_least": order.at_least,
            "taken": own.as_ref() == Some(&order.dims),
        })
    });
    let mut out = json!({
        "statements": statements,
        "copies": copies::json(planned),
        "orders": orders.collect::<Vec<_>>(),
        "ways": ways_json(planned)?,
        "constants": constants()?.iter().map(|c| json!({
            "name": c.name,
            "unit": c.unit,
            "value": machine.value(&c.name),
            "source": source(machine, &c.name),
        })).collect::<Vec<_>>(),
    });
    if let Some((taken, gathered)) = planned.gathered() {
        let rows = workspaces()?.iter().map(|template| {
            json!({
                "workspace": template.name,
                "cost": template.cost.to_string(),
                "nanoseconds": template.cost(&gathered, machine),
                "bytes": template.memory(&gathered, machine),
                "taken": *template.name == **taken,
            })
        });
        out["workspaces"] = rows.collect();
    }
    Ok(out)
}
