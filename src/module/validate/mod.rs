//! The validation that generated modules carry: a layout's declaration as Rust code.
//!
//! In: a layout. Out: the body of `fn validate(&self) -> Result<(), Error>`, which looks at
//! every array once and needs `std` only. Whatever the arrays hold, it neither panics nor
//! overflows: sizes are computed in checked `i64`, and elements outside an array are a failure.
//!
//! ```text
//! pos(0) = 0, crd strictly increasing within segments of pos
//! ```
//! becomes
//! ```text
//! if (|| Some(i64::try_from(*self.pos.get(0)?).ok()? == 0))() != Some(true) {
//!     return Err(Error { what: "pos(0) = 0", at: 0 });
//! }
//! for u in 1..self.pos.len() { … }
//! ```

mod expression;
#[cfg(test)]
mod tests;

use indexmap::IndexMap;

use super::signature::{Fields, counted_fields, index_type, length_source};
use crate::check::data_checks;
use crate::code::IndexWidth;
use crate::code::naming::Naming;
use crate::formula::{Affine, Arith, Constraint, Formula, Name, Relop};
use crate::layout::Layout;
use crate::layout::checks::Check;
use crate::layout::visit::{Bound, Step};

/// Statements of the body, ending with `Ok(())`. Lines are not indented.
pub fn validate_body(layout: &Layout, fields: &Fields, width: IndexWidth) -> String {
    let mut code = Code { layout, fields, width, names: IndexMap::new() };
    for (name, prefix) in layout
        .extents()
        .iter()
        .map(|n| (n, "extent"))
        .chain(layout.params.keys().map(|n| (n, "size")))
    {
        code.name(name, prefix);
    }
    let mut body = String::new();
    for check in data_checks(layout) {
        body.push_str(&code.check(&check));
    }
    let mut out = code.sizes(&body);
    out.push_str(&body);
    out.push_str("Ok(())\n");
    out
}

/// A layout and the names in scope.
struct Code<'a> {
    layout: &'a Layout,
    fields: &'a Fields,
    width: IndexWidth,
    /// Sizes and variables in scope, with their Rust names.
    names: IndexMap<Name, String>,
}

impl Code<'_> {
    /// A snake-case Rust name that no other name has.
    fn name(&mut self, name: &Name, prefix: &str) -> String {
        let base = match prefix {
            "" => Naming::new().fresh(&name.to_lowercase()),
            _ => format!("{prefix}_{}", name.to_lowercase().replace('\'', "_prime")),
        };
        let mut unique = base.clone();
        let mut k = 2;
        while self.names.values().any(|other| *other == unique) {
            unique = format!("{base}_{k}");
            k += 1;
        }
        self.names.insert(name.clone(), unique.clone());
        unique
    }

    /// Definitions of the sizes that `body` mentions, directly or through each other.
    fn sizes(&self, body: &str) -> String {
        let mut definitions: Vec<(String, String)> = Vec::new();
        for (d, extent) in self.layout.extents().iter().enumerate() {
            definitions
                .push(self.definition(extent, &format!("i64::try_from(self.dims[{d}]).ok()")));
        }
        let counted = counted_fields(self.layout);
        for (name, value) in &self.layout.params {
            let text = match (value, length_source(self.layout, name)) {
                (Some(value), _) => self.optional(value),
                (None, _) if counted.contains(name) => {
                    format!("i64::try_from(self.{}).ok()", self.fields.get(name))
                }
                (None, Some(array)) => format!("i64::try_from({}.len()).ok()", self.field(&array)),
                (None, None) => "None".to_string(),
            };
            definitions.push(self.definition(name, &text));
        }
        // A definition comes after those it mentions; the layout's order need not be that.
        let mut ordered: Vec<(String, String)> = Vec::new();
        while !definitions.is_empty() {
            let ready = definitions.iter().position(|(_, text)| {
                let right = text.split_once('=').map_or("", |(_, right)| right);
                definitions.iter().all(|(name, _)| !mentions(right, name))
            });
            ordered.push(definitions.remove(ready.unwrap_or(0)));
        }
        let mut out = String::new();
        for (name, text) in ordered.iter().rev() {
            if mentions(body, name) || mentions(&out, name) {
                out.insert_str(0, text);
            }
        }
        out
    }

    fn definition(&self, name: &Name, value: &str) -> (String, String) {
        let rust = self.names[name].clone();
        let failure = failed(&format!("the size {name}"), "0");
        (rust.clone(), format!("let {rust} = {value}.ok_or({failure})?;\n"))
    }

    fn check(&mut self, check: &Check) -> String {
        match check {
            Check::Length { array, len } => self.length(array, len),
            Check::Range { array, lower, upper } => {
                self.range(array, lower.as_ref(), upper.as_ref())
            }
            Check::Ordered { arrays, segments, strict, decreasing } => {
                let wrong = match (strict, decreasing) {
                    (true, false) => ">=",
                    (false, false) => ">",
                    (true, true) => "<=",
                    (false, true) => "<",
                };
                let strictly = if *strict { "strictly " } else { "" };
                let way = if *decreasing { "decreasing" } else { "increasing" };
                let subject = arrays.join(", ");
                let what = format!("{subject} {strictly}{way}{}", within(segments.as_ref()));
                let tuple = |at: &str| {
                    let elements: Vec<String> =
                        arrays.iter().map(|a| format!("{}[{at}]", self.field(a))).collect();
                    match elements.as_slice() {
                        [one] => one.clone(),
                        several => format!("({})", several.join(", ")),
                    }
                };
                let wrong = format!("{} {wrong} {}", tuple("at"), tuple("at + 1"));
                self.neighbours(&arrays[0], segments.as_ref(), &wrong, &what)
            }
            Check::Injective { array, segments } => self.injective(array, segments.as_ref()),
            Check::Permutation { array } => {
                let what = format!("{array} is a permutation");
                let field = self.field(array);
                format!(
                    "let outside = |x| !usize::try_from(x).is_ok_and(|x| x < {field}.len());\n\
                     if let Some(at) = {field}.iter().position(|&x| outside(x)) {{\n\
                     return Err({});\n}}\n{}",
                    failed(&what, "at"),
                    self.injective(array, None)
                )
            }
            Check::Disjoint { left, right, segments, strict, decreasing } => {
                let (l, r) = (self.field(left), self.field(right));
                let reversed = if *strict { ">=" } else { ">" };
                let what = format!("the intervals {left} .. {right} are well-formed");
                let mut out = format!(
                    "if let Some(at) = {l}.iter().zip({r}).position(|(l, r)| l {reversed} r) {{\n\
                     return Err({});\n}}\n",
                    failed(&what, "at")
                );
                let wrong = match decreasing {
                    false => format!("{r}[at] > {l}[at + 1]"),
                    true => format!("{r}[at + 1] > {l}[at]"),
                };
                let what = format!("{left} .. {right} do not overlap{}", within(segments.as_ref()));
                out.push_str(&self.neighbours(left, segments.as_ref(), &wrong, &what));
                out
            }
            Check::Probing { array, slots } => self.probing(array, slots),
            Check::Ground { formula } => self.ground(formula),
            Check::ForAll { formula, steps, conclusion } => {
                self.for_all(formula, steps, conclusion)
            }
            // Never valid: nothing says where to look.
            Check::Unbounded { formula, .. } => {
                format!("if true {{\nreturn Err({});\n}}\n", failed(&formula.to_string(), "0"))
            }
        }
    }

    fn length(&self, array: &Name, len: &Arith) -> String {
        let field = self.field(array);
        format!(
            "if {} != i64::try_from({field}.len()).ok() {{\nreturn Err({});\n}}\n",
            self.optional(len),
            failed(&format!("{array} has {len} elements"), &format!("{field}.len()"))
        )
    }

    fn range(&self, array: &Name, lower: Option<&Affine>, upper: Option<&Affine>) -> String {
        let shown = |e: Option<&Affine>, relation: &str| {
            e.map_or_else(String::new, |e| format!(" {relation} {e}"))
        };
        let and = if lower.is_some() && upper.is_some() { " and" } else { "" };
        let what = format!("{array}{}{and}{}", shown(lower, ">="), shown(upper, "<="));
        let element = index_type(self.layout, array, self.width);
        let unsigned = element.starts_with('u');
        let mut definitions = String::new();
        let mut conditions = Vec::new();
        for (e, name, relation) in [(lower, "least", ">="), (upper, "most", "<=")] {
            let Some(e) = e else { continue };
            if unsigned && name == "least" && e.as_constant().is_some_and(|c| c <= 0) {
                continue;
            }
            let value = self.integer(&Arith::from_affine(e));
            definitions.push_str(&match value.contains('?') {
                false => format!("let {name} = {value};\n"),
                true => {
                    let failure = failed(&what, "0");
                    format!("let {name} = (|| Some({value}))().ok_or({failure})?;\n")
                }
            });
            conditions.push(format!("x {relation} {name}"));
        }
        if conditions.is_empty() && element != "u64" {
            return String::new();
        }
        let inside = match conditions.is_empty() {
            true => "is_ok()".to_string(),
            false => format!("is_ok_and(|x| {})", conditions.join(" && ")),
        };
        let field = self.field(array);
        format!(
            "{{\n{definitions}\
             let outside = |x: {element}| !i64::try_from(x).{inside};\n\
             // Without an early exit the search is vectorized.\n\
             if {field}.iter().fold(false, |any, &x| any | outside(x)) {{\n\
             let at = {field}.iter().position(|&x| outside(x)).unwrap_or(0);\n\
             return Err({});\n}}\n}}\n",
            failed(&what, "at")
        )
    }

    /// Neighbours `at`, `at + 1` for which `wrong` holds are refused.
    fn neighbours(&self, array: &Name, segments: Option<&Name>, wrong: &str, what: &str) -> String {
        let field = self.field(array);
        let failure = failed(what, "at");
        match segments {
            None => format!(
                "for at in 0..{field}.len().saturating_sub(1) {{\n\
                 if {wrong} {{\nreturn Err({failure});\n}}\n}}\n"
            ),
            Some(segments) => self.segments(
                segments,
                &field,
                &format!(
                    "for at in start..end - 1 {{\nif {wrong} {{\nreturn Err({failure});\n}}\n}}\n"
                ),
            ),
        }
    }

    /// `inner` for each segment `start..end` that is not empty, all within the array `field`.
    fn segments(&self, segments: &Name, field: &str, inner: &str) -> String {
        let bounds = self.field(segments);
        let what = format!("segments of {segments} lie within their array");
        format!(
            "for u in 1..{bounds}.len() {{\n\
             if {bounds}[u - 1] >= {bounds}[u] {{\ncontinue;\n}}\n\
             let (start, end) = ({bounds}[u - 1] as usize, {bounds}[u] as usize);\n\
             if start >= end || end > {field}.len() {{\nreturn Err({});\n}}\n{inner}}}\n",
            failed(&what, "u - 1")
        )
    }

    fn injective(&self, array: &Name, segments: Option<&Name>) -> String {
        let field = self.field(array);
        let what = format!("{array} holds no number twice{}", within(segments));
        let search = |slice: &str, offset: &str| {
            format!(
                "let mut sorted = {slice}.to_vec();\nsorted.sort_unstable();\n\
                 if let Some(k) = sorted.windows(2).position(|w| w[0] == w[1]) {{\n\
                 let at = {slice}.iter().position(|&x| x == sorted[k]).unwrap_or(0);\n\
                 return Err({});\n}}\n",
                failed(&what, offset)
            )
        };
        match segments {
            None => format!("{{\n{}}}\n", search(&field, "at")),
            Some(segments) => {
                let slice = format!("{field}[start..end]");
                self.segments(segments, &field, &search(&slice, "start + at"))
            }
        }
    }

    /// The tables one by one, by the function that [`probing::items`](super::probing) repeats.
    fn probing(&self, array: &Name, slots: &Arith) -> String {
        let field = self.field(array);
        let what =
            format!("{array} holds every coordinate once, with no empty slot from its home on");
        format!(
            "{{\nlet slots = {}.and_then(|n: i64| usize::try_from(n).ok()).unwrap_or(0);\n\
             for (k, table) in {field}.chunks(slots.max(1)).enumerate() {{\n\
             if let Some(slot) = misplaced(table.len(), |slot| table[slot] as i64) {{\n\
             return Err({});\n}}\n}}\n}}\n",
            self.optional(slots),
            failed(&what, "k * slots + slot")
        )
    }

    fn ground(&self, formula: &Formula) -> String {
        if self.is_evident(formula) {
            return String::new();
        }
        format!(
            "if (|| Some({}))() != Some(true) {{\nreturn Err({});\n}}\n",
            self.formula(formula),
            failed(&formula.to_string(), "0")
        )
    }

    /// `size >= 0` for sizes that are read from unsigned numbers.
    fn is_evident(&self, formula: &Formula) -> bool {
        let Formula::Constraint(Constraint { affine, relop: Relop::Ge }) = formula else {
            return false;
        };
        let counted = |n: &Name| matches!(self.layout.params.get(n), Some(None));
        affine.as_var().is_some_and(|n| self.layout.extents().contains(n) || counted(n))
    }

    fn for_all(&mut self, formula: &Formula, steps: &[Step], conclusion: &Formula) -> String {
        let outer = self.names.clone();
        let variables: Vec<&Name> = steps
            .iter()
            .filter_map(|step| match step {
                Step::Solve { variable, .. } | Step::Loop { variable, .. } => Some(variable),
                Step::Check(_) => None,
            })
            .collect();
        for variable in &variables {
            self.name(variable, "");
        }
        let at = variables.first().map_or_else(|| "0".to_string(), |v| self.names[*v].clone());
        let mut inner =
            format!("if !({}) {{\nreturn Some(Some({at}));\n}}\n", self.formula(conclusion));
        for step in steps.iter().rev() {
            inner = self.step(step, &inner);
        }
        self.names = outer;
        // `None`: an access outside an array, or an overflow; both break the property.
        format!(
            "let violated = || -> Option<Option<i64>> {{\n{inner}Some(None)\n}};\n\
             let violated = violated();\n\
             if violated != Some(None) {{\n\
             let at = violated.flatten().and_then(|at| usize::try_from(at).ok()).unwrap_or(0);\n\
             return Err({});\n}}\n",
            failed(&formula.to_string(), "at")
        )
    }

    fn step(&self, step: &Step, inner: &str) -> String {
        match step {
            Step::Check(c) => format!("if {} {{\n{inner}}}\n", self.constraint(c)),
            Step::Solve { variable, value } => {
                let name = &self.names[variable];
                let value = match Arith::from_affine(value) {
                    Arith::Int(n) => format!("{n}_i64"),
                    value => self.integer(&value),
                };
                let used = if mentions(inner, name) { name.as_str() } else { "_" };
                format!("let {used} = {value};\n{inner}")
            }
            Step::Loop { variable, lower, upper } => {
                let name = &self.names[variable];
                // k*x + rest >= 0 is x >= -floor(rest/k), or x <= floor(rest/-k) if k < 0.
                let first = extreme(lower, "max", |b| match Arith::from_affine(&b.rest) {
                    Arith::Int(n) => n.div_euclid(b.coefficient).saturating_neg().to_string(),
                    rest if b.coefficient == 1 => {
                        format!("{}.checked_neg()?", self.receiver(&rest))
                    }
                    rest => format!(
                        "{}.div_euclid({}).checked_neg()?",
                        self.receiver(&rest),
                        b.coefficient
                    ),
                });
                let last = extreme(upper, "min", |b| match Arith::from_affine(&b.rest) {
                    Arith::Int(n) => n.div_euclid(b.coefficient.saturating_neg()).to_string(),
                    rest if b.coefficient == -1 => self.integer(&rest),
                    rest => format!(
                        "{}.div_euclid({})",
                        self.receiver(&rest),
                        b.coefficient.saturating_neg()
                    ),
                });
                // Between two literals nothing else says what type the variable has.
                let typed = last.parse::<i64>().is_ok() && first.parse::<i64>().is_ok();
                let last = if typed { format!("{last}_i64") } else { last };
                let used = if mentions(inner, name) { name.as_str() } else { "_" };
                format!("for {used} in {first}..={last} {{\n{inner}}}\n")
            }
        }
    }
}

/// The largest of the lower bounds, or the smallest of the upper ones.
fn extreme(bounds: &[Bound], choose: &str, one: impl Fn(&Bound) -> String) -> String {
    let mut parts = bounds.iter().map(one);
    let first = parts.next().unwrap_or_else(|| "0".to_string());
    parts.fold(first, |a, b| match a.parse::<i64>() {
        Ok(n) if n < 0 => format!("({n}_i64).{choose}({b})"),
        Ok(n) => format!("{n}_i64.{choose}({b})"),
        Err(_) => format!("{a}.{choose}({b})"),
    })
}

fn within(segments: Option<&Name>) -> String {
    segments.map_or_else(String::new, |s| format!(" within segments of {s}"))
}

fn failed(what: &str, at: &str) -> String {
    match at {
        "at" => format!("Error {{ what: {what:?}, at }}"),
        _ => format!("Error {{ what: {what:?}, at: {at} }}"),
    }
}

/// True if `name` occurs in `code` as a whole word.
fn mentions(code: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].chars().next_back().is_some_and(is_word);
        let after = code[at + name.len()..].chars().next().is_some_and(is_word);
        !before && !after
    })
}
