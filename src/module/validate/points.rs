//! A formula that holds at all points that some steps visit: loops around a test.

use super::expression::{Checked, Printer, literal};
use crate::check::validation::Test;
use crate::code::Doc;
use crate::formula::{Affine, Arith, Formula, Name};
use crate::layout::visit::{Bound, Step};

impl Printer<'_> {
    pub(super) fn for_all(&mut self, test: &Test, steps: &[Step], conclusion: &Formula) {
        let outer = self.names.clone();
        let variables = steps.iter().filter_map(|step| match step {
            Step::Solve { variable, .. } | Step::Loop { variable, .. } => Some(variable),
            Step::Check(_) => None,
        });
        let variables: Vec<&Name> = variables.collect();
        for variable in &variables {
            self.name(variable, "");
        }
        self.out.line("let mut at = 0;");
        self.out.open("let mut holds = || -> Option<bool>");
        let mut opened = 0;
        // Tests in a row are one test.
        let mut open: Option<Doc> = None;
        let and = |before: Option<Doc>, condition: Checked| match before {
            None => condition.doc,
            Some(before) => before.binary("&&", grouped(condition.doc)),
        };
        for (k, step) in steps.iter().enumerate() {
            let rest = &steps[k + 1..];
            match step {
                Step::Check(c) => {
                    let condition = self.constraint(c, true);
                    open = Some(and(open.take(), condition));
                }
                Step::Solve { variable, value } => {
                    opened += self.open_test(open.take());
                    let name = self.bound_name(variable, rest, conclusion, k == first(steps));
                    let value = match Arith::from_affine(value) {
                        Arith::Int(n) => literal(n),
                        value => self.integer(&value).doc,
                    };
                    self.out.assignment(&format!("let {name} ="), &value);
                    self.note(&name, k == first(steps));
                }
                Step::Loop { variable, lower, upper } => {
                    opened += self.open_test(open.take());
                    let name = self.bound_name(variable, rest, conclusion, k == first(steps));
                    let range = self.range(lower, upper);
                    self.out.open_with("for ", &format!("{name} in"), &range);
                    self.note(&name, k == first(steps));
                    opened += 1;
                }
            }
        }
        let wrong = self.condition(conclusion, false);
        let wrong = match open {
            None => wrong.doc,
            Some(open) => grouped(open).binary("&&", grouped(wrong.doc)),
        };
        self.out.open_if("if ", &wrong);
        self.out.line("return Some(false);");
        for _ in 0..=opened {
            self.out.close("");
        }
        self.out.line("Some(true)");
        self.out.close(";");
        self.names = outer;
        self.out.line(
            "// `None`: an access outside an array, or an overflow; both break the property.",
        );
        self.out.open("if holds() != Some(true)");
        let at = Doc::call("usize::try_from", vec![Doc::text("at")]);
        self.refuse(test, at.method("unwrap_or", vec![Doc::text("0")]));
        self.out.close("");
    }

    /// Keeps the value of the first variable, which a refusal names. No variable is called `at`.
    fn note(&mut self, name: &str, is_first: bool) {
        if is_first {
            self.out.line(&format!("at = {name};"));
        }
    }

    fn open_test(&mut self, condition: Option<Doc>) -> usize {
        let Some(condition) = condition else { return 0 };
        self.out.open_if("if ", &condition);
        1
    }

    /// The name of a variable where it is bound: nothing, if nothing uses it.
    fn bound_name(&self, name: &Name, rest: &[Step], conclusion: &Formula, shown: bool) -> String {
        let mut used = shown;
        let mut look = |e: &Affine| used |= e.mentions(name);
        rest.iter().for_each(|step| step.visit_affine(&mut look));
        conclusion.visit_affine(&mut look);
        if used { self.names[name].clone() } else { "_".to_string() }
    }

    /// All integers between the greatest lower bound and the least upper one.
    fn range(&mut self, lower: &[Bound], upper: &[Bound]) -> Doc {
        // k*x + rest >= 0 is x >= -floor(rest/k), or x <= floor(rest/-k) if k < 0.
        let lower: Vec<Arith> = lower
            .iter()
            .map(|b| {
                let rest = Arith::from_affine(&b.rest);
                match divided(rest, b.coefficient) {
                    Arith::Int(n) => Arith::Int(n.saturating_neg()),
                    e => Arith::Sub(Box::new(Arith::Int(0)), Box::new(e)),
                }
            })
            .collect();
        let upper: Vec<Arith> = upper
            .iter()
            .map(|b| divided(Arith::from_affine(&b.rest), b.coefficient.saturating_neg()))
            .collect();
        let (first, last) = (extreme(lower, Arith::Max), extreme(upper, Arith::Min));
        // Between two literals nothing else says what type the variable has.
        let last = match (&first, &last) {
            (Arith::Int(_), Arith::Int(n)) => literal(*n),
            (_, last) => self.integer(last).doc,
        };
        Doc::inclusive_range(self.integer(&first).doc, last)
    }
}

/// The first step that finds a variable.
fn first(steps: &[Step]) -> usize {
    steps.iter().position(|s| !matches!(s, Step::Check(_))).unwrap_or(0)
}

fn divided(e: Arith, by: i64) -> Arith {
    match (e, by) {
        (e, 1) => e,
        (Arith::Int(n), by) => Arith::Int(n.div_euclid(by)),
        (e, by) => Arith::Div(Box::new(e), Box::new(Arith::Int(by))),
    }
}

fn extreme(bounds: Vec<Arith>, choose: fn(Box<Arith>, Box<Arith>) -> Arith) -> Arith {
    let all = bounds.into_iter().reduce(|a, b| choose(Box::new(a), Box::new(b)));
    all.unwrap_or(Arith::Int(0))
}

/// In parentheses, if it is one of several conditions.
fn grouped(condition: Doc) -> Doc {
    match &condition {
        Doc::Chain { operator, .. } if operator == "||" => condition.parentheses(),
        _ => condition,
    }
}
