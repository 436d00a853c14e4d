//! The validation that generated modules carry: [`Validation`], printed.
//!
//! Out: the body of `fn validate(&self) -> Result<(), Error>`, which looks at every array once and
//! needs `std` only. Whatever the arrays hold, it neither panics nor overflows: sizes are computed in
//! checked `i64`, and elements outside an array are a failure.
//!
//! ```text
//! pos(0) = 0, crd is strictly increasing within each segment of pos
//! ```
//! becomes
//! ```text
//! let holds = || Some(element(self.pos, 0)? == 0);
//! if holds() != Some(true) {
//!     return Err(Error::new("pos(0) = 0", 0));
//! }
//! for u in 1..self.pos.len() { … }
//! ```

mod expression;
mod points;
#[cfg(test)]
mod tests;

use indexmap::IndexMap;

pub use self::expression::error;
use self::expression::{Checked, Printer, closure};
use super::signature::Fields;
use crate::check::validation::{Pass, Side, Size, Span, Test, Validation, Wrong};
use crate::code::{Doc, Element, IndexWidth, Lines};
use crate::formula::{Arith, Formula, Name};
use crate::layout::checks::admits_negative;
use crate::layout::{Layout, SizeSource};
use crate::operators::{Value, rust_literal};

/// What the printed body calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// `element`
    pub element: bool,
    /// `misplaced`, and what that calls.
    pub misplaced: bool,
}

/// Prints the body, which ends with `Ok(())`, at the depth of a method.
pub fn print(
    layout: &Layout,
    fields: &Fields,
    (width, values): (IndexWidth, Element),
    out: &mut Lines,
) -> Used {
    let validation = Validation::of(layout);
    let mut printer = Printer {
        layout,
        fields,
        width,
        values,
        names: IndexMap::new(),
        out,
        reads: false,
        probes: false,
    };
    for size in &validation.sizes {
        let prefix = match size.source {
            SizeSource::Dimension(_) => "extent",
            _ => "size",
        };
        printer.name(&size.name, prefix);
    }
    for size in &validation.sizes {
        printer.size(size);
    }
    for test in &validation.tests {
        printer.test(test);
    }
    printer.out.line("Ok(())");
    Used { element: printer.reads, misplaced: printer.probes }
}

impl Printer<'_> {
    fn size(&mut self, size: &Size) {
        let name = self.names[&size.name].clone();
        let property = match &size.source {
            SizeSource::Value(value) => format!("the size {} = {value} can be computed", size.name),
            _ => format!("the size {} is less than 2^63", size.name),
        };
        let number = |e: Doc| {
            let ignored = Doc::Closure {
                parameters: "_".to_string(),
                lets: Vec::new(),
                result: Box::new(error(&property, Doc::text("0"))),
            };
            Doc::call("i64::try_from", vec![e]).method("map_err", vec![ignored]).tried()
        };
        let value = match &size.source {
            SizeSource::Dimension(k) => {
                number(Doc::text("self").field("dims").index(Doc::text(k.to_string())))
            }
            SizeSource::Counted => number(self.field(&size.name)),
            SizeSource::Length(array) => number(self.field(array).method("len", Vec::new())),
            SizeSource::Value(value) => {
                self.bind(&name, value, &property);
                return;
            }
        };
        self.out.assignment(&format!("let {name} ="), &value);
    }

    fn test(&mut self, test: &Test) {
        match &test.pass {
            Pass::Length { array, len } => self.length(test, array, len),
            Pass::Holds(formula) => self.holds(test, formula),
            Pass::None { span, wrong } => self.none(test, span, wrong),
            Pass::ForAll { steps, conclusion, .. } => self.for_all(test, steps, conclusion),
            Pass::Constant { values, constant } => {
                let element = self.values.rust_name();
                let (x, other) = match Value::from(*constant) {
                    // No value of another type is this one.
                    other if other.value_type().rust_name() != element => ("_", Doc::text("true")),
                    Value::Bool(true) => ("x", Doc::text("!x")),
                    Value::Bool(false) => ("x", Doc::text("x")),
                    number if number.is_nan() => ("x", Doc::text("!x.is_nan()")),
                    number => ("x", Doc::text("x").binary("!=", Doc::text(rust_literal(number)))),
                };
                self.out.line("{");
                self.out.deeper();
                self.first_outside(test, values, &closure(&format!("{x}: {element}"), other));
                self.out.close("");
            }
            // Nothing says where to look.
            Pass::Never { .. } => self.refuse_if(&Doc::text("true"), test, Doc::text("0")),
        }
    }

    fn length(&mut self, test: &Test, array: &Name, len: &Arith) {
        let found = self.field(array).method("len", Vec::new());
        let number = Doc::call("i64::try_from", vec![found.clone()]);
        let option = match self.option(len) {
            Some(option) => Some(option),
            None => {
                let value = self.integer(len);
                let some = || Doc::call("Some", vec![value.doc.clone()]);
                value.tries.then(|| Checked { doc: some(), tries: true })
            }
        };
        let condition = match option {
            None => number.binary("!=", Doc::call("Ok", vec![self.integer(len).doc])),
            Some(wanted) if wanted.tries => {
                self.out.assignment("let wanted =", &closure("", wanted.doc));
                Doc::text("wanted()").binary("!=", number.method("ok", Vec::new()))
            }
            Some(wanted) => wanted.doc.binary("!=", number.method("ok", Vec::new())),
        };
        self.refuse_if(&condition, test, found);
    }

    fn holds(&mut self, test: &Test, formula: &Formula) {
        let wrong = self.condition(formula, false);
        if !wrong.tries {
            return self.refuse_if(&wrong.doc, test, Doc::text("0"));
        }
        let value = Doc::call("Some", vec![self.condition(formula, true).doc]);
        self.out.assignment("let holds =", &closure("", value));
        let wrong = Doc::text("holds()").binary("!=", Doc::text("Some(true)"));
        self.refuse_if(&wrong, test, Doc::text("0"));
    }

    fn element(&self, array: &Name) -> Element {
        let signed = self.layout.arrays.get(array).is_some_and(admits_negative);
        Element::Index { signed, width: self.width }
    }

    fn none(&mut self, test: &Test, span: &Span, wrong: &Wrong) {
        match wrong {
            Wrong::Outside { least, most } => {
                self.outside(test, &span.array, least.as_ref(), most.as_ref());
            }
            Wrong::NoPosition => {
                let field = self.field(&span.array).flat();
                let element = self.element(&span.array).rust_name();
                self.out.line("{");
                self.out.deeper();
                let inside = closure("x", Doc::text(format!("x < {field}.len()")));
                let is_position = Doc::call("usize::try_from", vec![Doc::text("x")])
                    .method("is_ok_and", vec![inside]);
                let outside = closure(&format!("x: {element}"), Doc::prefix("!", is_position));
                self.first_outside(test, &span.array, &outside);
                self.out.close("");
            }
            Wrong::Compared { left, relation, right } => {
                // Signed and unsigned numbers are compared as numbers that hold both.
                let arrays = || left.arrays.iter().chain(&right.arrays);
                let mut types: Vec<&str> = arrays().map(|a| self.element(a).rust_name()).collect();
                types.dedup();
                let mixed = types.len() > 1;
                let wrong =
                    self.side(left, mixed).binary(relation.symbol(), self.side(right, mixed));
                let ahead = left.ahead || right.ahead;
                let len = self.field(&span.array).method("len", Vec::new());
                let in_segments = span.segments.is_some();
                let hi = match (in_segments, ahead) {
                    (true, true) => Doc::text("end - 1"),
                    (true, false) => Doc::text("end"),
                    (false, true) => len.method("saturating_sub", vec![Doc::text("1")]),
                    (false, false) => len,
                };
                let lo = if in_segments { "start" } else { "0" };
                self.open_segments(span);
                self.out.open_with("for ", "at in", &Doc::range(Doc::text(lo), hi));
                self.refuse_if(&wrong, test, Doc::text("at"));
                self.out.close("");
                self.close_segments(span);
            }
            Wrong::Beyond { array } => {
                let bounds = self.field(&span.array);
                let len = self.field(array).method("len", Vec::new()).flat();
                let pairs =
                    bounds.method("windows", vec![Doc::text("2")]).method("enumerate", vec![]);
                self.out.open_with("for ", "(u, ends) in", &pairs);
                let inside = closure("x", Doc::text(format!("x <= {len}")));
                let inside = Doc::call("usize::try_from", vec![Doc::text("x")])
                    .method("is_ok_and", vec![inside]);
                self.out.assignment("let inside =", &closure("x", inside));
                let within =
                    Doc::text("inside(ends[0])").binary("&&", Doc::text("inside(ends[1])"));
                let beyond = Doc::text("ends[0] < ends[1]")
                    .binary("&&", Doc::prefix("!", within.parentheses()));
                self.refuse_if(&beyond, test, Doc::text("u"));
                self.out.close("");
            }
            Wrong::Repeated => self.repeated(test, span),
            Wrong::Misplaced { slots } => self.misplaced(test, &span.array, slots),
        }
    }

    /// `self.crd[at + 1]`, `(self.row[at], self.col[at])`
    fn side(&self, side: &Side, mixed: bool) -> Doc {
        let at = Doc::text(if side.ahead { "at + 1" } else { "at" });
        let elements = side.arrays.iter().map(|a| {
            let element = self.field(a).index(at.clone());
            match self.element(a).rust_name() {
                "i64" => element,
                "u64" if mixed => element.cast("i64").parentheses(),
                _ if mixed => Doc::call("i64::from", vec![element]),
                _ => element,
            }
        });
        let elements: Vec<Doc> = elements.collect();
        match <[Doc; 1]>::try_from(elements) {
            Ok([one]) => one,
            Err(several) => Doc::call("", several),
        }
    }

    fn outside(&mut self, test: &Test, array: &Name, least: Option<&Arith>, most: Option<&Arith>) {
        let element = self.element(array).rust_name();
        // What is unsigned is not negative.
        let natural = element.starts_with('u');
        let least = least.filter(|e| !natural || !matches!(e, Arith::Int(n) if *n <= 0));
        if least.is_none() && most.is_none() && element != "u64" {
            return;
        }
        self.out.line("{");
        self.out.deeper();
        for (e, name) in [(least, "least"), (most, "most")] {
            if let Some(e) = e {
                self.bind(name, e, &test.property);
            }
        }
        let inside = |x: &str| match (least, most) {
            (Some(_), Some(_)) => {
                Doc::text("(least..=most)").method("contains", vec![Doc::prefix("&", Doc::text(x))])
            }
            (Some(_), None) => Doc::text(x).binary(">=", Doc::text("least")),
            _ => Doc::text(x).binary("<=", Doc::text("most")),
        };
        let outside = |x: &str| match (least, most) {
            (Some(_), Some(_)) => Doc::prefix("!", inside(x)),
            (Some(_), None) => Doc::text(x).binary("<", Doc::text("least")),
            _ => Doc::text(x).binary(">", Doc::text("most")),
        };
        let body = match element {
            "i64" => outside("x"),
            "u64" => {
                let number = Doc::call("i64::try_from", vec![Doc::text("x")]);
                match (least, most) {
                    (None, None) => number.method("is_err", Vec::new()),
                    _ => Doc::prefix(
                        "!",
                        number.method("is_ok_and", vec![closure("x", inside("x"))]),
                    ),
                }
            }
            _ => outside("i64::from(x)"),
        };
        self.first_outside(test, array, &closure(&format!("x: {element}"), body));
        self.out.close("");
    }

    /// Refuses the first element for which the closure is true.
    fn first_outside(&mut self, test: &Test, array: &Name, outside: &Doc) {
        let elements = || self.field(array).method("iter", Vec::new());
        let any = elements().method(
            "fold",
            vec![
                Doc::text("false"),
                closure("any, &x", Doc::text("any").binary("|", Doc::text("outside(x)"))),
            ],
        );
        let at = elements()
            .method("position", vec![closure("&x", Doc::text("outside(x)"))])
            .method("unwrap_or", vec![Doc::text("0")]);
        self.out.assignment("let outside =", outside);
        self.out.line("// Without an early exit the search is vectorized.");
        self.out.open_if("if ", &any);
        self.out.assignment("let at =", &at);
        self.refuse(test, Doc::text("at"));
        self.out.close("");
    }

    /// Opens a loop over the segments of the span, if it has some: `start..end`, not empty.
    fn open_segments(&mut self, span: &Span) {
        let Some(segments) = &span.segments else { return };
        let pairs = self.field(segments).method("windows", vec![Doc::text("2")]);
        self.out.open_with("for ", "ends in", &pairs);
        self.out.open("if ends[0] >= ends[1]");
        self.out.line("continue;");
        self.out.close("");
        self.out.line("let (start, end) = (ends[0] as usize, ends[1] as usize);");
    }

    fn close_segments(&mut self, span: &Span) {
        if span.segments.is_some() {
            self.out.close("");
        }
    }

    fn repeated(&mut self, test: &Test, span: &Span) {
        let field = self.field(&span.array);
        let in_segments = span.segments.is_some();
        if in_segments {
            self.open_segments(span);
        } else {
            self.out.line("{");
            self.out.deeper();
        }
        let slice = match in_segments {
            true => field.index(Doc::text("start..end")),
            false => field,
        };
        self.out.assignment("let mut sorted =", &slice.clone().method("to_vec", Vec::new()));
        self.out.line("sorted.sort_unstable();");
        let twins = Doc::text("sorted").method("windows", vec![Doc::text("2")]).method(
            "position",
            vec![closure("w", Doc::text("w[0]").binary("==", Doc::text("w[1]")))],
        );
        self.out.open_with("if ", "let Some(k) =", &twins);
        let at = slice
            .method("iter", Vec::new())
            .method(
                "position",
                vec![closure("&x", Doc::text("x").binary("==", Doc::text("sorted[k]")))],
            )
            .method("unwrap_or", vec![Doc::text("0")]);
        self.out.assignment("let at =", &at);
        self.refuse(test, Doc::text(if in_segments { "start + at" } else { "at" }));
        self.out.close("");
        self.out.close("");
    }

    /// The tables one by one, by the function that [`probing::items`](super::probing) repeats.
    fn misplaced(&mut self, test: &Test, array: &Name, slots: &Arith) {
        self.probes = true;
        self.out.line("{");
        self.out.deeper();
        self.bind("slots", slots, &test.property);
        self.out.line("let slots = usize::try_from(slots).unwrap_or(0).max(1);");
        let tables = self
            .field(array)
            .method("chunks", vec![Doc::text("slots")])
            .method("enumerate", Vec::new());
        self.out.open_with("for ", "(k, table) in", &tables);
        let coordinate = match self.element(array).rust_name() {
            "i64" => Doc::text("table[slot]"),
            _ => Doc::text("table[slot]").cast("i64"),
        };
        let found =
            Doc::call("misplaced", vec![Doc::text("table.len()"), closure("slot", coordinate)]);
        self.out.open_with("if ", "let Some(slot) =", &found);
        self.refuse(test, Doc::text("k * slots + slot"));
        self.out.close("");
        self.out.close("");
        self.out.close("");
    }
}
