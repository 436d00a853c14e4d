//! The static check of a declaration (design §3).
//!
//! In: a [`Layout`]. Out: a [`Report`], one [`Finding`] for each question, with a verdict:
//!
//! - a *proof* holds for every size. Z3 refutes the negation, the declared properties being
//!   instantiated on the index-array calls at hand ([`crate::theory`]);
//! - a *refutation* is a whole tensor: sizes, complete index arrays that keep every property, and
//!   the positions where the claim fails (`small`);
//! - otherwise the verdict is *unknown*.
//!
//! Before → after, for a sparse vector that declares no property of `crd`:
//!
//! ```text
//! injective      no, a coordinate may be stored twice
//!                e.g. I = 1, NNZ = 2, crd = [0, 0]: positions (0) and (1) both hold (0)
//! ```
//!
//! [`refuse_unsound`] is the part that every user of a layout asks first.

mod access;
mod clash;
mod contradiction;
mod coordinates;
mod declared;
mod extents;
mod follows;
mod neighbours;
mod regions;
mod report;
mod room;
mod shared_prover;
mod small;
mod sound;
#[cfg(test)]
mod tests;
mod unique;
pub mod validation;
mod value;
mod whole;
mod width;

pub use self::contradiction::refuse_contradiction;
pub use self::follows::{follow, property_follows};
pub use self::neighbours::data_checks;
pub use self::regions::{Region, RegionKind};
pub use self::report::{Counterexample, Entry, Finding, Question, Report, SmallArray, Verdict};
pub use self::sound::{is_proved_sound, refuse_unsound};
pub use self::unique::{ValuesApart, has_one_coordinate, stores_coordinates_once, values_apart};
pub use self::whole::{joined, stores_every_coordinate};

use self::declared::Declared;
use self::small::SmallTensors;
use crate::diagnostic::Result;
use crate::layout::Layout;
use crate::prover::{Prover, Z3Prover};

/// Answers every question about `layout`.
///
/// # Errors
/// None at present: what is wrong with a declaration is part of the report.
pub fn check(layout: &Layout) -> Result<Report> {
    check_with(layout, &mut Z3Prover::new().with_any_model())
}

/// [`check`] with a prover of the caller's choice for the proofs.
///
/// # Errors
/// As [`check`].
pub fn check_with(layout: &Layout, prover: &mut dyn Prover) -> Result<Report> {
    let declared = Declared::new(layout);
    let mut small = SmallTensors::new(&declared);
    let consistent = contradiction::finding(&declared, &mut small, prover);
    let vacuous = matches!(consistent.verdict, Verdict::Vacuous(_));
    let mut report = Report {
        layout: layout.name.clone(),
        summary: layout.summary.clone(),
        findings: vec![consistent],
        regions: Vec::new(),
        index_width: width::condition(layout),
    };
    if vacuous {
        // Anything follows from a contradiction, so there is nothing more to learn.
        return Ok(report);
    }
    report.findings.extend(access::findings(&declared, &mut small, prover));
    report.findings.extend(room::findings(&declared, &mut small, prover));
    if !report.is_sound() {
        // What is read out of bounds may be anything, and so would be the other answers.
        report.findings[0].example = None;
        return Ok(report);
    }
    report.findings.extend(coordinates::findings(&declared, &mut small, prover));
    report.findings.push(extents::finding(&declared, &mut small, prover));
    report.findings.extend(value::findings(&declared, &mut small, prover));
    report.regions = regions::regions(layout);
    Ok(report)
}
