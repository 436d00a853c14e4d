//! Find templates: folders of data.
//!
//! `templates/find/NAME/template.toml` says what the algorithm assumes; `kernel.rs.j2` is its code.
//! Adding a template is adding a folder.

use std::rc::Rc;

use serde::Deserialize;

use super::cost_formula::CostFormula;
use super::machine;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::embedded;
use crate::formula::{Formula, parse};
use crate::layout::PropertyKind;

/// What formulas of find templates are over, beside constants of the machine.
pub const QUANTITIES: [&str; 17] = [
    "queries",
    "length",
    "repeats",
    "states",
    "extent",
    "guards",
    "uneven",
    "hits",
    "total",
    "typical",
    "compared",
    "checks",
    "scattered",
    "unforeseen",
    "reach",
    "others",
    "alike",
];

/// A find algorithm as declared by its folder.
#[derive(Clone, Debug)]
pub struct Template {
    pub name: String,
    pub summary: String,
    pub source: String,
    /// Directions to try, in order. Empty: the template has no direction.
    pub directions: Vec<String>,
    /// Needs a *continue* condition: an ordering of the find condition.
    pub ordering: bool,
    /// Needs a find key: the searched index-array values are a function of the outer indices.
    pub key: bool,
    /// The position itself must be a function of the outer indices.
    pub closed_form: bool,
    /// The searched index array must have properties of these kinds.
    pub properties: Vec<PropertyKind>,
    /// Only where several positions may match one query.
    pub several: bool,
    /// Only where nothing but its value is read of a match.
    pub values: bool,
    /// Only where a match whose value is zero changes nothing, but for what is infinite or NaN.
    pub vanishes: bool,
    /// Keeps state between queries, per value of its state indices.
    pub state: bool,
    /// Queries only read the state, so threads may share it.
    pub shared: bool,
    /// Its steps grow: taken where the program says that a tensor is galloped through.
    pub gallops: bool,
    /// Its obligations order the range: positions to skip come first, then all matches.
    pub ordered: bool,
    /// The type that its items declare: a multimap from keys to positions.
    pub table: Option<String>,
    /// That is an array of positions by coordinate, wherever all accesses of one are proved.
    pub places: bool,
    /// It is made for the extent of its keys, and needs no test of one that is below (`first_within`).
    pub bounded: bool,
    /// It knows whether many keys have a position (`is_dense`), and answers without a branch then (`has`, `near`).
    pub branchless: bool,
    /// Where that state may live: `prefix`, `reset`, `array`.
    pub placements: Vec<String>,
    pub obligations: Vec<Obligation>,
    /// Over [`QUANTITIES`] and constants of the machine; in nanoseconds.
    pub cost: CostFormula,
    /// What its state takes, in bytes, over the same; `None`: next to nothing.
    pub memory: Option<CostFormula>,
    /// The minijinja source of its code.
    pub code: Rc<str>,
    /// Where that is, for diagnostics.
    pub code_place: String,
}

/// A formula that must have no solution, or (`satisfiable`) must have one.
#[derive(Clone, Debug)]
pub struct Obligation {
    pub name: String,
    pub reason: String,
    pub formula: Formula,
    pub satisfiable: bool,
    /// Argument that the obligation permits; without it the argument is off, not the template.
    pub permits: Option<String>,
    /// Checked only when several positions may match one query.
    pub many: bool,
    /// Its formula mentions the state indices.
    pub state: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TemplateFile {
    name: String,
    summary: String,
    #[serde(default)]
    source: String,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    directions: Vec<String>,
    #[serde(default)]
    placements: Vec<String>,
    #[serde(default)]
    shared: bool,
    #[serde(default)]
    gallops: bool,
    #[serde(default)]
    ordered: bool,
    table: Option<String>,
    #[serde(default)]
    places: bool,
    #[serde(default)]
    bounded: bool,
    #[serde(default)]
    branchless: bool,
    cost: String,
    memory: Option<String>,
    #[serde(default)]
    obligation: Vec<ObligationFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ObligationFile {
    name: String,
    reason: String,
    refute: Option<String>,
    satisfiable: Option<String>,
    permits: Option<String>,
    #[serde(default)]
    many: bool,
}

impl Template {
    /// Reads a template from its two files; `place` names it in diagnostics.
    pub fn parse(place: &str, declaration: &str, code: &str) -> Result<Template> {
        let schema =
            |message: String| Diagnostic::new(Code::Find, message).within(place, declaration);
        let file: TemplateFile = toml::from_str(declaration).map_err(|e| {
            let d = schema(format!("template declaration: {}", e.message()))
                .help("the shipped templates, in templates/find, show every key");
            match e.span() {
                Some(span) => d.at(span, "here"),
                None => d,
            }
        })?;
        // It stands in comments of modules, in lists, and beside positions.
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if file.name.is_empty() || !file.name.chars().all(is_part) {
            return Err(schema(format!(
                "a template cannot be called `{}`",
                file.name.escape_debug()
            ))
            .help("names have letters, digits, `_` and `-`, as `bsearch`"));
        }
        let mut obligations = Vec::new();
        for o in file.obligation {
            let (text, satisfiable) = match (&o.refute, &o.satisfiable) {
                (Some(text), None) => (text, false),
                (None, Some(text)) => (text, true),
                _ => {
                    return Err(schema(format!(
                        "obligation `{}` needs exactly one of `refute` and `satisfiable`",
                        o.name
                    ))
                    .help("a formula that must have no solution, or one that must have some"));
                }
            };
            let formula = parse::formula(text)
                .map_err(|e| e.within(format!("{place}: obligation `{}`", o.name), text))?;
            let mut state = false;
            visit_predicates(&formula, &mut |name| state |= name == "same_state");
            obligations.push(Obligation {
                name: o.name,
                reason: o.reason,
                formula,
                satisfiable,
                permits: o.permits,
                many: o.many,
                state,
            });
        }
        const NEEDS: [&str; 7] =
            ["ordering", "key", "closed-form", "several", "state", "values", "vanishes"];
        let properties: Vec<PropertyKind> =
            file.needs.iter().filter_map(|n| PropertyKind::named(n)).collect();
        let known = |n: &str| NEEDS.contains(&n) || PropertyKind::named(n).is_some();
        if let Some(unknown) = file.needs.iter().find(|n| !known(n)) {
            let kinds = PropertyKind::ALL.map(PropertyKind::as_str);
            return Err(schema(format!("unknown need `{unknown}`")).help(format!(
                "a template may need {}, or a property of the searched array: {}",
                NEEDS.join(", "),
                kinds.join(", ")
            )));
        }
        let needs = |what: &str| file.needs.iter().any(|n| n == what);
        let priced =
            |key: &str, text: &str| machine::parse(format!("{place}: `{key}`"), text, &QUANTITIES);
        let cost = priced("cost", &file.cost)?;
        let memory = file.memory.map(|text| priced("memory", &text)).transpose()?;
        let template = Template {
            properties,
            ordering: needs("ordering"),
            key: needs("key"),
            closed_form: needs("closed-form"),
            several: needs("several"),
            values: needs("values"),
            vanishes: needs("vanishes"),
            state: needs("state"),
            name: file.name,
            summary: file.summary,
            source: file.source,
            directions: file.directions,
            placements: file.placements,
            shared: file.shared,
            gallops: file.gallops,
            ordered: file.ordered,
            table: file.table,
            places: file.places,
            bounded: file.bounded,
            branchless: file.branchless,
            obligations,
            cost,
            memory,
            code: Rc::from(code),
            code_place: format!("{}/kernel.rs.j2", place.trim_end_matches("/template.toml")),
        };
        if template.state && !template.state_has_one_range() {
            return Err(schema(
                "a template with state does not oblige its queries to search one range".into(),
            )
            .help(
                "add an obligation with refute = \"same_state(I, J) and not same_range(I, J)\"",
            ));
        }
        let said = [
            ("places", template.places),
            ("bounded", template.bounded),
            ("branchless", template.branchless),
        ];
        if let Some((key, _)) = said.iter().find(|(_, said)| *said && template.table.is_none()) {
            return Err(schema(format!("`{key}` is said of a `table`, and there is none"))
                .help("leave it out"));
        }
        if template.ordered && !template.orders_its_range() {
            return Err(schema("an `ordered` template does not oblige its range to be so".into())
                .note("positions to skip come first, then all matches: tiles without one are skipped")
                .help("add the obligations `self`, `partition` and `stop` of a shipped one, or leave it out"));
        }
        Ok(template)
    }
}

impl Template {
    /// True if it is an obligation that every position with the key of a query matches it: what a
    /// table returns is then a match.
    pub fn key_implies_match(&self) -> bool {
        self.refutes("in_range(q, I) and key(q, I) and not match(q, I)")
    }

    /// True if it is an obligation that two queries of one state search one range.
    fn state_has_one_range(&self) -> bool {
        self.refutes("same_state(I, J) and not same_range(I, J)")
    }

    /// True if its obligations say that the positions to skip come first, that none of them matches, and that
    /// the first one behind them does if any does.
    fn orders_its_range(&self) -> bool {
        let orders = |less: &str| {
            let pair = format!(
                "in_range(q, I) and in_range(r, I) and {less}(q, r) and not continue(q, I)"
            );
            self.refutes(&format!("{pair} and continue(r, I)"))
                && self.refutes(&format!("{pair} and not match(q, I) and match(r, I)"))
        };
        // Of a walk that only moves up, `before` is `less`.
        let up = self.directions.iter().all(|direction| direction == "up");
        self.refutes("in_range(q, I) and continue(q, I) and match(q, I)")
            && (orders("less") || up && orders("before"))
    }

    fn refutes(&self, formula: &str) -> bool {
        let wanted = parse::formula(formula).ok();
        self.obligations.iter().any(|o| {
            !o.satisfiable && !o.many && o.permits.is_none() && Some(&o.formula) == wanted.as_ref()
        })
    }
}

fn visit_predicates(f: &Formula, visit: &mut impl FnMut(&str)) {
    match f {
        Formula::Predicate(name, _) => visit(name),
        Formula::And(v) | Formula::Or(v) => v.iter().for_each(|x| visit_predicates(x, visit)),
        Formula::Not(x) => visit_predicates(x, visit),
        Formula::Implies(a, b) => {
            visit_predicates(a, visit);
            visit_predicates(b, visit);
        }
        Formula::Constraint(_) => {}
    }
}

/// The shipped templates, by folder name.
pub fn templates() -> Result<Vec<Rc<Template>>> {
    thread_local! {
        static SHIPPED: std::cell::OnceCell<Vec<Rc<Template>>> = const { std::cell::OnceCell::new() };
    }
    if let Some(found) = SHIPPED.with(|s| s.get().cloned()) {
        return Ok(found);
    }
    let mut out = Vec::new();
    for (path, text) in embedded::files("templates/find") {
        let Some(folder) = path.strip_suffix("/template.toml") else { continue };
        let code_path = format!("{folder}/kernel.rs.j2");
        let code = embedded::text(&code_path).ok_or_else(|| {
            Diagnostic::new(Code::Find, format!("template folder `{folder}` has no kernel.rs.j2"))
        })?;
        out.push(Rc::new(Template::parse(path, text, code)?));
    }
    SHIPPED.with(|s| s.set(out.clone())).ok();
    Ok(out)
}
