//! Formulas, times and sizes as `explain` prints them.

use indexmap::IndexMap;
use siskin::synth::{CostFormula, Machine};

/// Constants of the machine that some formula uses, by name.
pub type Used = IndexMap<String, f64>;

/// A formula, and the same with the values of what it names, and what comes out.
pub fn priced(
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
pub fn nanoseconds(time: f64) -> String {
    match time {
        t if !t.is_finite() => "more than can be told".to_string(),
        t if t < 1e3 => format!("{} ns", number(t)),
        t if t < 1e6 => format!("{} us", number(t / 1e3)),
        t if t < 1e9 => format!("{} ms", number(t / 1e6)),
        t => format!("{} s", number(t / 1e9)),
    }
}

/// `1.5 MB` of a number of bytes.
pub fn bytes(bytes: f64) -> String {
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
