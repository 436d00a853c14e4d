//! Formulas as checked Rust expressions over the fields of a generated struct, and refusals.
//!
//! In: integer expressions and formulas over sizes, variables and index arrays. Out: `i64` text that
//! uses `?` on options where it could overflow or read outside an array.

use indexmap::IndexMap;

use crate::check::validation::Test;
use crate::code::naming::Naming;
use crate::code::{Doc, Element, IndexWidth, Lines};
use crate::formula::{Affine, Arith, Constraint, Formula, Name, Relop};
use crate::layout::Layout;
use crate::module::signature::Fields;

/// An expression, and whether it uses `?`.
#[derive(Clone)]
pub struct Checked {
    pub doc: Doc,
    pub tries: bool,
}

fn sure(doc: Doc) -> Checked {
    Checked { doc, tries: false }
}

/// A layout, the names in scope, and what is printed so far.
pub struct Printer<'a> {
    pub layout: &'a Layout,
    pub fields: &'a Fields,
    pub width: IndexWidth,
    /// The type of the values.
    pub values: Element,
    /// Sizes and variables in scope, with their Rust names.
    pub names: IndexMap<Name, String>,
    pub out: &'a mut Lines,
    /// Elements are read one by one.
    pub reads: bool,
    pub probes: bool,
}

impl Printer<'_> {
    /// A snake-case Rust name that no other name has.
    pub fn name(&mut self, name: &Name, prefix: &str) -> String {
        let base = match prefix {
            "" => Naming::new().fresh(&name.to_lowercase()),
            _ => format!(
                "{prefix}_{}",
                name.trim_start_matches('_').to_lowercase().replace('\'', "_prime")
            ),
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

    /// `let name = e;`, refused if it has no value.
    pub fn bind(&mut self, name: &str, e: &Arith, property: &str) {
        let refusal = vec![error(property, Doc::text("0"))];
        let before = format!("let {name} =");
        let (option, tries) = match self.option(e) {
            Some(option) => (option.doc, option.tries),
            None => match self.integer(e) {
                value if !value.tries => return self.out.assignment(&before, &value.doc),
                value => (Doc::call("Some", vec![value.doc]), true),
            },
        };
        let option = if tries {
            self.out.assignment(&before, &closure("", option));
            Doc::call(name, Vec::new())
        } else {
            option
        };
        self.out.assignment(&before, &option.method("ok_or", refusal).tried());
    }

    /// `return Err(Error::new(property, at));`
    pub fn refuse(&mut self, test: &Test, at: Doc) {
        self.out.give_back(&Doc::call("Err", vec![error(&test.property, at)]));
    }

    /// `if condition { return Err(…); }`
    pub fn refuse_if(&mut self, condition: &Doc, test: &Test, at: Doc) {
        self.out.open_if("if ", condition);
        self.refuse(test, at);
        self.out.close("");
    }

    /// The slice of an index array, or of the values.
    pub fn field(&self, array: &Name) -> Doc {
        Doc::text("self").field(self.fields.get(array))
    }

    /// A condition that says that the formula holds, or that it does not.
    pub fn condition(&mut self, formula: &Formula, holds: bool) -> Checked {
        match formula {
            Formula::Constraint(c) => self.constraint(c, holds),
            Formula::And(parts) => self.joined(parts.iter().map(|p| (p, holds)), holds),
            Formula::Or(parts) => self.joined(parts.iter().map(|p| (p, holds)), !holds),
            Formula::Not(inner) => self.condition(inner, !holds),
            Formula::Implies(premise, conclusion) => {
                let parts = [(&**premise, !holds), (&**conclusion, holds)];
                self.joined(parts.into_iter(), !holds)
            }
            // Layouts have no predicates.
            Formula::Predicate(..) => sure(Doc::text((!holds).to_string())),
        }
    }

    /// All of the parts, or one of them.
    fn joined<'f>(
        &mut self,
        parts: impl Iterator<Item = (&'f Formula, bool)>,
        all: bool,
    ) -> Checked {
        let operator = if all { "&&" } else { "||" };
        let mut out: Option<Checked> = None;
        for (part, holds) in parts {
            let Checked { doc, tries } = self.condition(part, holds);
            let doc = match &doc {
                Doc::Chain { operator: o, .. } if (o == "&&" || o == "||") && o != operator => {
                    doc.parentheses()
                }
                _ => doc,
            };
            out = Some(match out {
                None => Checked { doc, tries },
                Some(before) => {
                    let doc = before.doc.binary(operator, doc);
                    Checked { doc, tries: before.tries || tries }
                }
            });
        }
        out.unwrap_or_else(|| sure(Doc::text(all.to_string())))
    }

    /// A comparison with the negative terms on the other side.
    pub fn constraint(&mut self, c: &Constraint, holds: bool) -> Checked {
        // `a >= b + 1` is `a > b`.
        let (offset, strict) = match (c.relop, c.affine.offset()) {
            (Relop::Ge, -1) => (0, true),
            (_, offset) => (offset, false),
        };
        let side = |positive: bool| {
            let terms = c.affine.terms().iter().filter(|(_, k)| (*k > 0) == positive);
            let terms: Vec<_> = terms.map(|(a, k)| (a.clone(), k.abs())).collect();
            let offset = if (offset > 0) == positive { offset.saturating_abs() } else { 0 };
            Arith::from_affine(&Affine::from_terms(terms, offset))
        };
        let relation = match (c.relop, holds) {
            (Relop::Eq, true) | (Relop::Ne, false) => "==",
            (Relop::Ne, true) | (Relop::Eq, false) => "!=",
            (Relop::Ge, true) if strict => ">",
            (Relop::Ge, false) if strict => "<=",
            (Relop::Ge, true) => ">=",
            (Relop::Ge, false) => "<",
        };
        let (left, right) = (self.integer(&side(true)), self.integer(&side(false)));
        Checked { doc: left.doc.binary(relation, right.doc), tries: left.tries || right.tries }
    }

    /// The expression as an `Option<i64>`, if it ends in what gives one; its parts may use `?`.
    pub fn option(&mut self, e: &Arith) -> Option<Checked> {
        if let Arith::Call(array, args) = e {
            return self.element_of(array, args);
        }
        let (a, method, b) = checked_operation(e)?;
        let (a, b) = (self.receiver(a), self.integer(b));
        let doc = a.doc.method(method, vec![b.doc]);
        Some(Checked { doc, tries: a.tries || b.tries })
    }

    /// A checked `i64`.
    pub fn integer(&mut self, e: &Arith) -> Checked {
        if let Some(option) = self.option(e) {
            return Checked { doc: option.doc.tried(), tries: true };
        }
        match e {
            Arith::Int(n) => sure(Doc::text(n.to_string())),
            Arith::Var(n) => self.name_of(n),
            Arith::Min(a, b) => self.extreme("min", a, b),
            Arith::Max(a, b) => self.extreme("max", a, b),
            // Nothing is read that is not declared; the others are checked operations.
            _ => Checked { doc: Doc::text("None?"), tries: true },
        }
    }

    fn extreme(&mut self, method: &str, a: &Arith, b: &Arith) -> Checked {
        let (a, b) = (self.receiver(a), self.integer(b));
        Checked { doc: a.doc.method(method, vec![b.doc]), tries: a.tries || b.tries }
    }

    fn name_of(&self, name: &Name) -> Checked {
        match self.names.get(name) {
            Some(name) => sure(Doc::text(name.clone())),
            // Nothing has a name that is not declared.
            None => Checked { doc: Doc::text("None?"), tries: true },
        }
    }

    /// [`Printer::integer`] to call a method on: a literal needs a type first.
    pub fn receiver(&mut self, e: &Arith) -> Checked {
        match e {
            Arith::Int(n) => sure(literal(*n)),
            _ => self.integer(e),
        }
    }

    /// An element; it has no value outside the array.
    fn element_of(&mut self, array: &Name, args: &[Arith]) -> Option<Checked> {
        let declared = self.layout.arrays.get(array)?;
        let mut linear: Option<Arith> = None;
        for (arg, extent) in args.iter().zip(&declared.shape) {
            linear = Some(match linear {
                None => arg.clone(),
                Some(outer) => {
                    let row = Arith::Mul(Box::new(outer), Box::new(extent.clone()));
                    match arg {
                        Arith::Int(0) => row,
                        arg => Arith::Add(Box::new(row), Box::new(arg.clone())),
                    }
                }
            });
        }
        let at = self.integer(&linear.unwrap_or(Arith::Int(0)));
        self.reads = true;
        let doc = Doc::call("element", vec![self.field(array), at.doc]);
        Some(Checked { doc, tries: at.tries })
    }
}

/// A number that a method is called on.
pub fn literal(n: i64) -> Doc {
    let text = Doc::text(format!("{n}_i64"));
    if n < 0 { text.parentheses() } else { text }
}

/// `a.method(b)`, which gives an option.
fn checked_operation(e: &Arith) -> Option<(&Arith, &'static str, &Arith)> {
    Some(match e {
        Arith::Add(a, b) => (a, "checked_add", b),
        Arith::Sub(a, b) => (a, "checked_sub", b),
        Arith::Mul(a, b) => (a, "checked_mul", b),
        Arith::Div(a, b) => (a, "checked_div_euclid", b),
        Arith::Mod(a, b) => (a, "checked_rem_euclid", b),
        _ => return None,
    })
}

/// `Error::new("the property", at)`
pub fn error(property: &str, at: Doc) -> Doc {
    Doc::call("Error::new", vec![Doc::text(format!("{property:?}")), at])
}

pub fn closure(parameters: &str, result: Doc) -> Doc {
    Doc::Closure { parameters: parameters.to_string(), lets: Vec::new(), result: Box::new(result) }
}
