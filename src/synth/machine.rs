//! Constants of the machine, by name: formulas of cost use them wherever a number has a physical meaning.
//!
//! `templates/machine.toml` says what each is, in which unit, and what is assumed of it; `siskin calibrate`
//! measures them.

use std::sync::OnceLock;

use indexmap::IndexMap;
use serde::Deserialize;

use super::cost_formula::CostFormula;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::embedded;

/// Where they are declared.
const FILE: &str = "templates/machine.toml";

/// A constant of the machine, as declared.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    pub name: String,
    /// `ns` or `bytes`.
    pub unit: String,
    pub meaning: String,
    /// What is assumed where it was not measured.
    pub default: f64,
}

impl Constant {
    /// What is measured is within these bounds: a factor of this from what is assumed.
    pub const MOST_FACTOR: f64 = 100.0;

    /// Whether a value can be one of this constant.
    pub fn admits(&self, value: f64) -> bool {
        let factor = value / self.default;
        (1.0 / Self::MOST_FACTOR..=Self::MOST_FACTOR).contains(&factor)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    loops: LoopsFile,
    constant: Vec<Constant>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoopsFile {
    cost: String,
    searches: String,
}

struct Declared {
    constants: Vec<Constant>,
    loops: CostFormula,
    searches: CostFormula,
}

/// What loops are priced by.
pub const LOOPS: [&str; 7] =
    ["iterations", "updates", "regions", "uneven", "begun", "private", "unforeseen"];
/// What is known of searches before they are planned.
const QUERIES: &str = "queries";

fn declared() -> Result<&'static Declared> {
    static SHIPPED: OnceLock<Result<Declared>> = OnceLock::new();
    SHIPPED.get_or_init(read).as_ref().map_err(Clone::clone)
}

fn read() -> Result<Declared> {
    let text = embedded::text(FILE)
        .ok_or_else(|| Diagnostic::defect(format!("`{FILE}` is not shipped")))?;
    let file: File = toml::from_str(text).map_err(|e| {
        let d = Diagnostic::new(Code::Find, format!("constants: {}", e.message()));
        let d = d.within(FILE, text);
        match e.span() {
            Some(span) => d.at(span, "here"),
            None => d,
        }
    })?;
    let constants = || file.constant.iter().map(|c| c.name.as_str());
    let parsed = |text: &str, names: Vec<&str>| {
        CostFormula::parse(text, &names).map_err(|e| e.within(FILE, text))
    };
    let loops = parsed(&file.loops.cost, constants().chain(LOOPS).collect())?;
    let searches = parsed(&file.loops.searches, constants().chain([QUERIES]).collect())?;
    Ok(Declared { loops, searches, constants: file.constant })
}

/// The constants that formulas may use, in the order of the file.
///
/// # Errors
/// [`Code::Find`] if the shipped file is malformed.
pub fn constants() -> Result<&'static [Constant]> {
    Ok(&declared()?.constants)
}

/// What loops cost: a formula over [`LOOPS`], in nanoseconds.
///
/// # Errors
/// [`Code::Find`] if the shipped file is malformed.
pub fn loops_cost() -> Result<&'static CostFormula> {
    Ok(&declared()?.loops)
}

/// What loops cost that do so much of each of [`LOOPS`], in nanoseconds.
///
/// # Errors
/// Those of [`loops_cost`].
pub fn loops_price(amounts: [f64; LOOPS.len()], machine: &Machine) -> Result<f64> {
    let quantities: Vec<_> = LOOPS.into_iter().zip(amounts).collect();
    Ok(price(loops_cost()?, &quantities, machine))
}

/// What so many searches cost at least, in nanoseconds.
///
/// # Errors
/// Those of [`loops_cost`].
pub fn searches_price(queries: f64, machine: &Machine) -> Result<f64> {
    Ok(price(&declared()?.searches, &[(QUERIES, queries)], machine))
}

/// What is known of a machine: nothing, unless its constants were measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    measured: IndexMap<String, f64>,
}

impl Machine {
    /// The same with a constant that was measured.
    #[must_use]
    pub fn with(mut self, constant: &str, value: f64) -> Machine {
        self.measured.insert(constant.to_string(), value);
        self
    }

    /// What was measured, in the order in which it was stated.
    pub fn measured(&self) -> impl Iterator<Item = (&str, f64)> {
        self.measured.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// True if something was measured.
    pub fn is_measured(&self) -> bool {
        !self.measured.is_empty()
    }

    /// The value of a constant: as measured, or as assumed. `None` if there is no such constant.
    pub fn value(&self, name: &str) -> Option<f64> {
        let assumed = || {
            let declared = constants().ok()?.iter().find(|c| c.name == name)?;
            Some(declared.default)
        };
        self.measured.get(name).copied().or_else(assumed)
    }
}

/// Reads a formula over `quantities` and the constants of machines; `place` names it.
///
/// # Errors
/// Those of [`CostFormula::parse`].
pub(super) fn parse(place: String, text: &str, quantities: &[&str]) -> Result<CostFormula> {
    let constants = constants()?.iter().map(|c| c.name.as_str());
    let known: Vec<&str> = quantities.iter().copied().chain(constants).collect();
    CostFormula::parse(text, &known).map_err(|e| e.within(place, text))
}

/// The value of a formula for some quantities on a machine. What is no number, or below 0, is no price, and infinite:
/// nothing is chosen because its formula divides by 0.
pub fn price(formula: &CostFormula, quantities: &[(&str, f64)], machine: &Machine) -> f64 {
    let value = formula.value(&|name| {
        let quantity = quantities.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        // Parsing refuses names that are neither.
        quantity.or_else(|| machine.value(name)).unwrap_or(f64::INFINITY)
    });
    if value >= 0.0 { value } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_comes_before_what_is_assumed() {
        let constant = &constants().unwrap()[0];
        let assumed = Machine::default();
        assert_eq!(assumed.value(&constant.name), Some(constant.default));
        let measured = assumed.with(&constant.name, 7.25);
        assert_eq!(measured.value(&constant.name), Some(7.25));
        assert_eq!(measured.value("no such constant"), None);
    }

    #[test]
    fn what_is_no_number_is_no_price() {
        let at = |text: &str, queries: f64| {
            let formula = parse("a test".to_string(), text, &["queries"]).unwrap();
            price(&formula, &[("queries", queries)], &Machine::default())
        };
        assert_eq!(at("4.0 * queries", 2.0), 8.0);
        for text in ["queries / queries", "1.0 / queries - 2.0 / queries", "queries - 1.0"] {
            assert_eq!(at(text, 0.0), f64::INFINITY, "{text}");
        }
    }

    #[test]
    fn shipped_constants_are_used_and_said_to_be_something() {
        let templates = crate::synth::templates().unwrap();
        let workspaces = crate::synth::workspaces().unwrap();
        let formulas = templates.iter().flat_map(|t| [Some(&t.cost), t.memory.as_ref()]);
        let formulas =
            formulas.flatten().chain(workspaces.iter().flat_map(|w| [&w.cost, &w.memory]));
        let used: Vec<&str> =
            formulas.chain([loops_cost().unwrap()]).flat_map(|f| f.names()).collect();
        for constant in constants().unwrap() {
            assert!(used.contains(&constant.name.as_str()), "no formula uses `{}`", constant.name);
            assert!(constant.default > 0.0 && !constant.meaning.is_empty(), "{}", constant.name);
            assert!(
                ["ns", "bytes", "branches"].contains(&constant.unit.as_str()),
                "{}",
                constant.name
            );
        }
    }
}
