//! Formulas as checked Rust expressions over the fields of a generated struct.
//!
//! In: integer expressions and formulas over sizes, variables and index arrays. Out: `i64` text that
//! uses `?` on options where it could overflow or read outside an array.

use super::Code;
use crate::formula::{Affine, Arith, Constraint, Formula, Name, Relop};

impl Code<'_> {
    /// The slice of an index array, or of the values.
    pub fn field(&self, array: &Name) -> String {
        format!("self.{}", self.fields.get(array))
    }

    /// A Boolean expression that may use `?` on options.
    pub fn formula(&self, formula: &Formula) -> String {
        let join = |parts: &[Formula], operator: &str, empty: &str| {
            let texts: Vec<String> = parts
                .iter()
                .map(|f| match f {
                    Formula::Constraint(_) => self.formula(f),
                    _ => format!("({})", self.formula(f)),
                })
                .collect();
            if texts.is_empty() { empty.to_string() } else { texts.join(operator) }
        };
        match formula {
            Formula::Constraint(c) => self.constraint(c),
            Formula::And(parts) => join(parts, " && ", "true"),
            Formula::Or(parts) => join(parts, " || ", "false"),
            Formula::Not(inner) => format!("!({})", self.formula(inner)),
            Formula::Implies(premise, conclusion) => {
                format!("!({}) || ({})", self.formula(premise), self.formula(conclusion))
            }
            // Layouts have no predicates.
            Formula::Predicate(..) => "false".to_string(),
        }
    }

    /// A comparison with the negative terms on the other side.
    pub fn constraint(&self, c: &Constraint) -> String {
        let side = |positive: bool| {
            let terms = c.affine.terms().iter().filter(|(_, k)| (*k > 0) == positive);
            let terms: Vec<_> = terms.map(|(a, k)| (a.clone(), k.abs())).collect();
            let offset = c.affine.offset();
            let offset = if (offset > 0) == positive { offset.saturating_abs() } else { 0 };
            self.integer(&Arith::from_affine(&Affine::from_terms(terms, offset)))
        };
        let relation = match c.relop {
            Relop::Eq => "==",
            Relop::Ge => ">=",
            Relop::Ne => "!=",
        };
        format!("{} {relation} {}", side(true), side(false))
    }

    /// `Option<i64>` text.
    pub fn optional(&self, e: &Arith) -> String {
        let text = self.integer(e);
        if text.contains('?') { format!("(|| Some({text}))()") } else { format!("Some({text})") }
    }

    /// Checked `i64` text, with `?` on options.
    pub fn integer(&self, e: &Arith) -> String {
        let binary = |a: &Arith, method: &str, b: &Arith| {
            format!("{}.{method}({})", self.receiver(a), self.integer(b))
        };
        match e {
            Arith::Int(n) => n.to_string(),
            Arith::Var(n) => self.names.get(n).cloned().unwrap_or_else(|| "None?".to_string()),
            Arith::Call(array, args) => self.read(array, args),
            Arith::Add(a, b) => format!("{}?", binary(a, "checked_add", b)),
            Arith::Sub(a, b) => format!("{}?", binary(a, "checked_sub", b)),
            Arith::Mul(a, b) => format!("{}?", binary(a, "checked_mul", b)),
            Arith::Div(a, b) => format!("{}?", binary(a, "checked_div_euclid", b)),
            Arith::Mod(a, b) => format!("{}?", binary(a, "checked_rem_euclid", b)),
            Arith::Min(a, b) => binary(a, "min", b),
            Arith::Max(a, b) => binary(a, "max", b),
        }
    }

    /// [`Code::integer`] to call a method on: a literal needs a type first.
    pub fn receiver(&self, e: &Arith) -> String {
        match e {
            Arith::Int(n) if *n < 0 => format!("({n}_i64)"),
            Arith::Int(n) => format!("{n}_i64"),
            _ => self.integer(e),
        }
    }

    /// An element, `None` outside the array.
    pub fn read(&self, array: &Name, args: &[Arith]) -> String {
        let Some(declared) = self.layout.arrays.get(array) else { return "None?".to_string() };
        let mut linear: Option<Arith> = None;
        for (arg, extent) in args.iter().zip(&declared.shape) {
            linear = Some(match linear {
                None => arg.clone(),
                Some(outer) => Arith::Add(
                    Box::new(Arith::Mul(Box::new(outer), Box::new(extent.clone()))),
                    Box::new(arg.clone()),
                ),
            });
        }
        let at = match linear {
            None => "0".to_string(),
            Some(Arith::Int(n)) if n >= 0 => n.to_string(),
            Some(e) => format!("usize::try_from({}).ok()?", self.integer(&e)),
        };
        format!("i64::try_from(*{}.get({at})?).ok()?", self.field(array))
    }
}
