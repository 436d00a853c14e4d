//! The structs of a module, their validation, and what a refusal says.

use super::scope::Scope;
use super::signature::{Signature, TensorSignature};
use super::validate;
use crate::code::{IndexWidth, Lines};

/// One struct for each layout and role, and the error type; and what their validation calls.
pub(super) fn items(
    signature: &Signature,
    width: IndexWidth,
    scope: Scope,
) -> (String, validate::Used) {
    let mut out = Lines::default();
    let mut used = validate::Used::default();
    let mut done: Vec<String> = Vec::new();
    for t in &signature.tensors {
        let name = t.struct_name();
        if done.contains(&name) {
            continue;
        }
        definition(t, &mut out);
        out.blank();
        if t.grown || scope == Scope::Loaded {
            done.push(name);
            continue;
        }
        out.open(&format!("impl {name}<'_>"));
        out.line("/// Checks lengths and every declared property of the index arrays.");
        out.open("pub fn validate(&self) -> Result<(), Error>");
        let calls = validate::print(&t.layout, &t.fields, (width, t.values.element), &mut out);
        used.element |= calls.element;
        used.misplaced |= calls.misplaced;
        out.close("");
        if !t.written {
            out.blank();
            out.line("/// [`Self::validate`], once for any number of calls.");
            out.open("pub fn validated(self) -> Result<Validated<Self>, Error>");
            out.line("self.validate()?;");
            out.line("Ok(Validated(self))");
            out.close("");
        }
        out.close("");
        out.blank();
        done.push(name);
    }
    if scope == Scope::Loaded {
        return (out.into_text(), used);
    }
    out.raw(ERROR);
    let inputs = signature.tensors.iter().any(|t| !t.written);
    if inputs {
        out.raw(VALIDATED);
    }
    (out.into_text(), used)
}

fn definition(t: &TensorSignature, out: &mut Lines) {
    for line in t.layout.summary.lines() {
        out.line(format!("/// {}", line.trim()).trim_end());
    }
    let mutable = t.written;
    let derived = if mutable { "Debug" } else { "Clone, Copy, Debug" };
    let fields = t.arrays.iter().chain([&t.values]).map(|a| &a.field);
    if fields.into_iter().any(|f| !is_snake_case(f)) {
        out.line("#[allow(non_snake_case)]");
    }
    out.line(&format!("#[derive({derived})]"));
    out.open(&format!("pub struct {}<'a>", t.struct_name()));
    out.line(&format!("pub dims: [usize; {}],", t.layout.rank()));
    for (_, field, _) in &t.counts {
        out.line(&format!("pub {field}: usize,"));
    }
    if t.grown {
        for a in t.arrays.iter().chain([&t.values]) {
            out.line(&format!("pub {}: &'a mut Grown<{}>,", a.field, a.element.rust_name()));
        }
        out.close("");
        return;
    }
    for a in &t.arrays {
        out.line(&format!("pub {}: &'a [{}],", a.field, a.element.rust_name()));
    }
    let reference = if mutable { "&'a mut" } else { "&'a" };
    let element = t.values.element.rust_name();
    out.line(&format!("pub {}: {reference} [{element}],", t.values.field));
    out.close("");
}

/// As Rust's lint has it.
fn is_snake_case(name: &str) -> bool {
    !name.trim_matches('_').contains("__") && !name.contains(char::is_uppercase)
}

pub(super) const ERROR: &str = "\
/// Why a tensor was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// The property that does not hold, in words or as a formula.
    pub what: &'static str,
    /// The first index at which it does not: into the array that the property is about, or the value
    /// of the formula's first variable.
    pub at: usize,
}

impl Error {
    fn new(what: &'static str, at: usize) -> Self {
        Error { what, at }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Error { what, at } = self;
        write!(f, \"this does not hold: {what} (index {at})\")
    }
}

impl std::error::Error for Error {}
";

const VALIDATED: &str = "
/// A tensor that passed its `validate`. It borrows its arrays, so they stay as they are.
#[derive(Clone, Copy, Debug)]
pub struct Validated<T>(T);
";
