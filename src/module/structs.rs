//! The structs of a module, their validation, and what a refusal says.

use super::indent::indent;
use super::signature::{Signature, TensorSignature};
use super::validate::validate_body;
use crate::code::IndexWidth;
use crate::iterspace::Role;

/// One struct for each layout and role, and the error type.
pub(super) fn items(signature: &Signature, width: IndexWidth) -> String {
    let mut out = String::new();
    let mut done: Vec<String> = Vec::new();
    for t in &signature.tensors {
        let name = t.struct_name();
        if done.contains(&name) {
            continue;
        }
        out.push_str(&definition(t));
        out.push_str(&format!(
            "\nimpl{} {name}<'{}> {{\n\
             /// Checks lengths and every declared property of the index arrays.\n\
             pub fn validate(&self) -> Result<(), Error> {{\n{}}}\n",
            if t.role == Role::Input { "<'a>" } else { "" },
            if t.role == Role::Input { "a" } else { "_" },
            validate_body(&t.layout, &t.fields, width)
        ));
        if t.role == Role::Input {
            out.push_str(
                "\n/// [`Self::validate`], once for any number of calls.\n\
                 pub fn validated(self) -> Result<Validated<Self>, Error> {\n\
                 self.validate()?;\nOk(Validated(self))\n}\n",
            );
        }
        out.push_str("}\n\n");
        done.push(name);
    }
    out.push_str(SHARED);
    indent(&out)
}

fn definition(t: &TensorSignature) -> String {
    let mut out = String::new();
    for line in t.layout.summary.lines() {
        out.push_str(format!("/// {}", line.trim()).trim_end());
        out.push('\n');
    }
    let mutable = t.role == Role::Output;
    let derived = if mutable { "Debug" } else { "Clone, Copy, Debug" };
    let fields = t.arrays.iter().chain([&t.values]).map(|a| &a.field);
    if fields.into_iter().any(|f| !is_snake_case(f)) {
        out.push_str("#[allow(non_snake_case)]\n");
    }
    out.push_str(&format!("#[derive({derived})]\npub struct {}<'a> {{\n", t.struct_name()));
    out.push_str(&format!("pub dims: [usize; {}],\n", t.layout.rank()));
    for (_, field, _) in &t.counts {
        out.push_str(&format!("pub {field}: usize,\n"));
    }
    for a in &t.arrays {
        out.push_str(&format!("pub {}: &'a [{}],\n", a.field, a.element.rust_name()));
    }
    let reference = if mutable { "&'a mut" } else { "&'a" };
    let element = t.values.element.rust_name();
    out.push_str(&format!("pub {}: {reference} [{element}],\n}}\n", t.values.field));
    out
}

/// As Rust's lint has it.
fn is_snake_case(name: &str) -> bool {
    !name.trim_matches('_').contains("__") && !name.contains(char::is_uppercase)
}

const SHARED: &str = "\
/// Why a tensor was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
/// The property that does not hold.
pub what: &'static str,
/// The first index at which it does not.
pub at: usize,
}

impl std::fmt::Display for Error {
fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
write!(f, \"{}: this does not hold at index {}\", self.what, self.at)
}
}

impl std::error::Error for Error {}

/// A tensor that passed its `validate`. It borrows its arrays, so they stay as they are.
#[derive(Clone, Copy, Debug)]
pub struct Validated<T>(T);

";
