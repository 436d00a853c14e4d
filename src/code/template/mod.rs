//! Find templates as code: rendered by minijinja, parsed, and proved before any kernel uses them.
//!
//! A template's `kernel.rs.j2` defines three macros. `items(index_type)` gives helper items, which
//! stay plain Rust. `setup(find)` declares what is kept between queries; `search(find)` is one query.
//! minijinja decides their structure only, by the fields of [`Variant`]; what belongs to a find are
//! the holes of [`Hole`](super::Hole).
//!
//! Before → after, for the first lines of a walk:
//!
//! ```text
//! while p < hi!() && continues!(p) {        while px < NNZ_x && at(crd_x, px) as usize < j {
//!     invariant!(lo!() <= p);                   px += 1;
//!     p += 1;                               }
//! }
//! ```

mod find_code;
mod instantiate;
mod obligations;
mod render;
#[cfg(test)]
mod tests;
mod variant;

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::diagnostic::Result;
use crate::prover::Prover;
use crate::synth::Template;

pub use find_code::FindCode;
pub use instantiate::{Declare, Filling, KeyPartCode, instantiate};
pub use render::{items, workspace_items};
pub use variant::Variant;

/// A template by name and text, in one variant.
type Key = (String, Rc<str>, Variant);

thread_local! {
    static PROVED: RefCell<FxHashMap<Key, Rc<FindCode>>> = RefCell::new(FxHashMap::default());
}

/// The code of `template` in a variant, with its obligations proved. Each is proved once.
///
/// # Errors
/// [`Code::Find`](crate::diagnostic::Code::Find) with the place, if the code is not in the language, or might step outside the range
/// that it is given; then with a counterexample.
pub fn load(
    template: &Template,
    variant: Variant,
    prover: &mut dyn Prover,
) -> Result<Rc<FindCode>> {
    let key = (template.name.clone(), template.code.clone(), variant);
    if let Some(known) = PROVED.with(|p| p.borrow().get(&key).cloned()) {
        return Ok(known);
    }
    let code = FindCode::read(template, variant)?;
    obligations::prove(&code, template, prover)?;
    let code = Rc::new(code);
    PROVED.with(|p| p.borrow_mut().insert(key, code.clone()));
    Ok(code)
}

/// Proves a template in all its variants: what loading a folder of templates does.
///
/// # Errors
/// Those of [`load`], for the first variant that fails.
pub fn check(template: &Template, prover: &mut dyn Prover) -> Result<usize> {
    let ups: &[bool] = match template.directions.len() {
        0 | 1 => &[true],
        _ => &[true, false],
    };
    let flags: &[bool] = if template.state { &[false, true] } else { &[false] };
    let mut proved = 0;
    for &up in ups {
        for many in [false, true] {
            for &resume in flags {
                for &leave in flags {
                    load(template, Variant { up, many, resume, leave }, prover)?;
                    proved += 1;
                }
            }
        }
    }
    Ok(proved)
}
