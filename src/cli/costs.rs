//! What the choices of a kernel were expected to cost, as `explain` shows it: what is known of sizes, every proved
//! plan with its formula, the workspaces and the orders of loops that were priced likewise, and the decision in
//! words.

mod choice;
mod sizes;

use indexmap::IndexMap;
use serde_json::{Value, json};
use siskin::diagnostic::Result;
use siskin::kernel::Planned;
use siskin::loops::Statement;
use siskin::synth::{CostFormula, Gathered, Machine, constants, loops_cost, workspaces};

use choice::Choice;

/// Constants of the machine that some formula uses, by name.
type Used = IndexMap<String, f64>;

pub fn text(planned: &Planned) -> Result<String> {
    let grounds = planned.grounds();
    let machine = &grounds.sizes.machine;
    let (mut out, mut used) = (String::new(), Used::new());
    for statement in planned.statements() {
        out.push_str(&format!("sizes\n{}", sizes::text(statement, grounds)));
        out.push_str(&loops(statement, planned, &mut used)?);
        for choice in choice::choices(statement, grounds) {
            out.push_str(&choice.text(machine, &mut used));
        }
        out.push('\n');
    }
    out.push_str(&orders(planned));
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
    let sizes = &planned.grounds().sizes;
    let names = ["iterations", "updates"];
    let values = [sizes.iterations(statement.nest()), statement.updates(sizes)];
    let named: Vec<(&str, f64)> = names.into_iter().zip(values).collect();
    let formula = loops_cost()?;
    let time = statement.loops_price(sizes)?;
    Ok(format!(
        "loops: {} iterations, {} updates\n{}",
        number(values[0]),
        number(values[1]),
        priced(formula, &named, &sizes.machine, &nanoseconds(time), used)
    ))
}

/// A formula, and the same with the values of what it names, and what comes out.
fn priced(
    formula: &CostFormula,
    quantities: &[(&str, f64)],
    machine: &Machine,
    result: &str,
    used: &mut Used,
) -> String {
    let value = |name: &str| {
        let quantity = quantities.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        quantity.or_else(|| machine.value(name)).unwrap_or(f64::NAN)
    };
    for name in formula.names() {
        if !quantities.iter().any(|(known, _)| *known == name) {
            used.insert(name.to_string(), value(name));
        }
    }
    let with_values = formula.with_values(|name| number(value(name)));
    format!("      {formula}\n    = {with_values}\n    = {result}\n")
}

/// The orders of loops that were priced.
fn orders(planned: &Planned) -> String {
    let orders = &planned.grounds().orders;
    if orders.is_empty() {
        return String::new();
    }
    let own = planned.statements().first().map(|s| s.schedule().dims());
    let mut out = String::from("orders of the loops, with what is searched and gathered in them\n");
    for (k, order) in orders.iter().enumerate() {
        let names: Vec<&str> = order.dims.iter().map(|n| &**n).collect();
        let time = match order.time {
            Some(time) if order.loops_only => {
                format!("its loops alone {}, more than another order", nanoseconds(time))
            }
            Some(time) => nanoseconds(time),
            None => "has no plan".to_string(),
        };
        let mark = if own.as_ref() == Some(&order.dims) { "*" } else { " " };
        let default = if k == 0 { ", the order in which operands are stored" } else { "" };
        out.push_str(&format!("{mark} {}: {time}{default}\n", names.join(", ")));
    }
    out.push_str("  * is taken: another order than the first must be cheaper by 30 %\n\n");
    out
}

/// The workspaces that might gather the result.
fn workspace(planned: &Planned, used: &mut Used) -> Result<String> {
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

pub fn json(planned: &Planned) -> Result<Value> {
    let grounds = planned.grounds();
    let machine = &grounds.sizes.machine;
    let mut statements = Vec::new();
    for statement in planned.statements() {
        let finds = choice::choices(statement, grounds);
        statements.push(json!({
            "sizes": sizes::json(statement, grounds),
            "loops": {
                "cost": loops_cost()?.to_string(),
                "iterations": grounds.sizes.iterations(statement.nest()),
                "updates": statement.updates(&grounds.sizes),
                "nanoseconds": statement.loops_price(&grounds.sizes)?,
            },
            "finds": finds.iter().map(Choice::json).collect::<Vec<_>>(),
        }));
    }
    let own = planned.statements().first().map(|s| s.schedule().dims());
    let orders = grounds.orders.iter().map(|order| {
        json!({
            "order": order.dims.iter().map(|n| &**n).collect::<Vec<_>>(),
            "nanoseconds": order.time,
            "loops_only": order.loops_only,
            "taken": own.as_ref() == Some(&order.dims),
        })
    });
    let mut out = json!({
        "statements": statements,
        "orders": orders.collect::<Vec<_>>(),
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

/// A number in few digits; what is not known is `?`.
pub fn number(value: f64) -> String {
    match value {
        v if !v.is_finite() => "?".to_string(),
        v if v.fract() == 0.0 && v.abs() < 1e12 => format!("{v}"),
        v if v.abs() >= 1e9 || v.abs() < 1e-3 => format!("{v:.3e}"),
        v => {
            let decimals = (3.0 - v.abs().log10().floor()).clamp(0.0, 6.0) as usize;
            let text = format!("{v:.decimals$}");
            match text.contains('.') {
                true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
                false => text,
            }
        }
    }
}

/// `1.23 ms` of a number of nanoseconds.
fn nanoseconds(time: f64) -> String {
    match time {
        t if !t.is_finite() => "more than can be told".to_string(),
        t if t < 1e3 => format!("{} ns", number(t)),
        t if t < 1e6 => format!("{} us", number(t / 1e3)),
        t if t < 1e9 => format!("{} ms", number(t / 1e6)),
        t => format!("{} s", number(t / 1e9)),
    }
}

/// `1.5 MB` of a number of bytes.
fn bytes(bytes: f64) -> String {
    match bytes {
        b if !b.is_finite() => "as many bytes as an extent that is not known".to_string(),
        b if b < 1e3 => format!("{} bytes", number(b.ceil())),
        b if b < 1e6 => format!("{} kB", number(b / 1e3)),
        b if b < 1e9 => format!("{} MB", number(b / 1e6)),
        b => format!("{} GB", number(b / 1e9)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_few_digits() {
        let shown = [0.35, 1234.5678, 0.000_012_3, 5e5, f64::INFINITY, 2.0, 1e15].map(number);
        assert_eq!(shown, ["0.35", "1235", "1.230e-5", "500000", "?", "2", "1.000e15"]);
        assert_eq!(nanoseconds(12_345.0), "12.35 us");
        assert_eq!(bytes(4.125e4), "41.25 kB");
    }
}
