//! Whether index arrays have an element wherever their domains say that they may be read.
//!
//! ```text
//! domain 0 <= p0 < I and 0 <= p1 < 8, shape [I, 2]     at p1 = 2 there is none
//! ```

use super::declared::Declared;
use super::report::{Finding, Question, Verdict, tuple};
use super::small::SmallTensors;
use super::value::arithmetic;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Constraint, Formula, Products, conjunction};
use crate::layout::IndexArray;
use crate::prover::Prover;
use crate::theory::rows_overlap;

/// One finding for each array of which it is not proved.
pub(super) fn findings(
    declared: &Declared<'_>,
    small: &mut SmallTensors<'_>,
    prover: &mut dyn Prover,
) -> Vec<Finding> {
    let arrays = declared.layout.arrays.values().filter(|array| !plainly(array));
    arrays.filter_map(|array| finding(declared, array, small, prover)).collect()
}

/// Refuses arrays of which it is not known.
///
/// # Errors
/// [`Code::OutOfDomain`].
pub(super) fn refuse_unknown(findings: &[Finding], layout: &str) -> Result<()> {
    let unknown = |finding: &&Finding| matches!(finding.verdict, Verdict::Unknown { .. });
    match findings.iter().find(unknown) {
        Some(finding) => {
            let message = format!("layout `{layout}`: {}", finding.says);
            let places = finding.places.iter();
            let refused = Diagnostic::new(Code::OutOfDomain, message)
                .help("narrow the domain, or leave the shape out: it follows from the domain");
            Err(places.fold(refused, |d, line| d.note(format!("declared in {line}"))))
        }
        None => Ok(()),
    }
}

/// Whether the domain bounds each argument by zero and by the extent of its dimension.
fn plainly(array: &IndexArray) -> bool {
    let last = array.args.len().saturating_sub(1);
    array.args.iter().zip(&array.shape).enumerate().all(|(k, (arg, extent))| {
        let arg = || Affine::var(arg.clone());
        let Ok(extent) = extent.to_affine() else { return false };
        let end = match k == last && rows_overlap(array) {
            true => Constraint::le(arg(), extent),
            false => Constraint::lt(arg(), extent),
        };
        array.domain.contains(&Constraint::le(Affine::zero(), arg())) && array.domain.contains(&end)
    })
}

/// Nothing if there is an element at all arguments.
fn finding(
    declared: &Declared<'_>,
    array: &IndexArray,
    small: &mut SmallTensors<'_>,
    prover: &mut dyn Prover,
) -> Option<Finding> {
    let places = declared.layout.places.arrays.get(&array.name);
    let finding =
        |verdict, says: String| Some(Finding::new(Question::Access, verdict, says).at(places));
    let domain = conjunction(&array.domain);
    let asked = format!("has {} an element wherever {domain}?", array.name);
    let mut products = Products::default();
    let shape: Option<Vec<Affine>> = array.shape.iter().map(|e| products.linear(e)).collect();
    let Some(shape) = shape else {
        let reason = "an extent divides by an unknown, uses `min` or `max`, or has huge numbers";
        return finding(Verdict::Unknown { reason: reason.into() }, asked);
    };
    let args: Vec<Affine> = array.args.iter().map(|arg| Affine::var(arg.clone())).collect();
    let (last, overlap) = (args.len().saturating_sub(1), rows_overlap(array));
    let inside = |k: usize, arg: &Affine, extent: &Affine| {
        let end = match k == last && overlap {
            true => Formula::le(arg.clone(), extent.clone()),
            false => Formula::lt(arg.clone(), extent.clone()),
        };
        [Formula::le(Affine::zero(), arg.clone()), end]
    };
    let each = args.iter().zip(&shape).enumerate();
    let claim = Formula::and(each.flat_map(|(k, (arg, extent))| inside(k, arg, extent)));
    let (lemmas, table) = arithmetic(&shape.iter().collect::<Vec<_>>(), small);
    let domain_holds = || array.domain.iter().cloned().map(Formula::Constraint);
    let facts: Vec<Formula> = domain_holds().chain(lemmas).collect();
    if declared.proves(&facts, &claim, prover) {
        return None;
    }
    let mut facts: Vec<Formula> = domain_holds().chain(table).collect();
    facts.push(claim.not());
    let Some(found) = small.find(&facts) else {
        return finding(Verdict::Unknown { reason: small.describe() }, asked);
    };
    let values = |terms: &[Affine]| -> Vec<i64> {
        terms.iter().map(|term| found.value(term).unwrap_or_default()).collect()
    };
    let shows = format!(
        "{}{} is in the domain, the shape is {}",
        array.name,
        tuple(&values(&args)),
        tuple(&values(&shape))
    );
    let counterexample = found.showing(Vec::new(), shows);
    let says = format!("{} has no element at some arguments of its domain, {domain}", array.name);
    finding(Verdict::Refuted { counterexample }, says)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::super::tests::{about, declared};
    use super::super::{check, refuse_unsound};
    use super::*;
    use crate::layout::Layout;

    /// Columns by two numbers of which the domain and the shape are given.
    fn table(domain: &str, shape: &str) -> Layout {
        declared(&format!(
            r#"
            name = "table"
            dims = ["i", "j"]
            relation = """{{ [p0, p1] -> [i, j] : 0 <= p0 < I and i = p0 and 0 <= p1 < K
                            and j = crd(p0, p1) and 0 <= j < J }}"""
            value = "val(p0, p1)"
            [index.crd]
            args = ["p0", "p1"]
            domain = "{domain}"
            shape = [{shape}]
            [params]
            K = "count"
            "#
        ))
    }

    #[test]
    fn an_array_has_room_for_its_domain() {
        for (domain, shape) in [
            ("0 <= p0 < I and 0 <= p1 < K", r#""I", "K""#),
            ("0 <= p0 < I and 0 <= p1 < K", r#""I + 1", "2*K""#),
            // The end of a row is the start of the next.
            ("0 <= p0 < I and 0 <= p1 <= K", r#""I", "K""#),
        ] {
            let report = check(&table(domain, shape)).unwrap();
            assert!(report.proves(Question::Access), "{report}");
            assert!(refuse_unsound(&table(domain, shape)).is_ok());
        }
        let short = table("0 <= p0 < I and 0 <= p1 < K", r#""I", "2""#);
        assert_snapshot!(about(&short, Question::Access), @r"
        crd(p0, p1) is read inside its domain
        crd has no element at some arguments of its domain, 0 <= p0 < I and 0 <= p1 < K
        I = 1, J = 0, K = 3, crd = [[0, 0]]: crd(0, 2) is in the domain, the shape is (1, 2)
        ");
        for (domain, shape) in [
            ("0 <= p0 < I and 0 <= p1 < K", r#""1", "K""#),
            ("0 <= p0 <= I and 0 <= p1 < K", r#""I", "K""#),
            ("0 <= p0 < I and 0 <= p1 <= K + 1", r#""I", "K""#),
            ("0 - 1 <= p0 < I and 0 <= p1 < K", r#""I + 1", "K""#),
            ("0 <= p0 < I and 0 - K < p1 < K", r#""I", "2*K""#),
            // Nobody knows.
            ("0 <= p0 < I and 0 <= p1 < K", r#""I*I*I", "min(K, I)""#),
        ] {
            let refused = refuse_unsound(&table(domain, shape)).unwrap_err();
            assert_eq!(refused.code, Code::OutOfDomain, "{domain} {shape}");
            assert!(refused.message.contains("crd"), "{refused}");
        }
    }
}
