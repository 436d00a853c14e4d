//! Where values are stored: inside the value array, and each position in a slot of its own.

use super::coordinates::{Decision, decide};
use super::declared::{Declared, Which};
use super::report::{Entry, Finding, Question, Verdict, tuple};
use super::small::SmallTensors;
use crate::formula::{Affine, Arith, Formula, Products};
use crate::prover::Prover;

/// The finding about [`Question::ValueInBounds`].
pub(super) fn inside(
    declared: &Declared<'_>,
    small: &mut SmallTensors<'_>,
    prover: &mut dyn Prover,
) -> Finding {
    match linear(declared) {
        Some((index, shape)) => in_bounds(declared, &index, &shape, small, prover),
        None => not_linear(declared, Question::ValueInBounds, INSIDE),
    }
}

const APART: &str = "does every position have a value of its own?";
const INSIDE: &str = "are values inside the value array?";

fn not_linear(declared: &Declared<'_>, question: Question, says: &str) -> Finding {
    let reason =
        "a subscript divides by an unknown, uses `min` or `max`, or has huge numbers".into();
    let finding = Finding::new(question, Verdict::Unknown { reason }, says);
    finding.at(&declared.layout.places.value)
}

/// Subscripts and extents of the value array, products being unknowns.
fn linear(declared: &Declared<'_>) -> Option<(Vec<Affine>, Vec<Affine>)> {
    let value = &declared.layout.value;
    let mut products = Products::default();
    let mut linear =
        |all: &[Arith]| -> Option<Vec<Affine>> { all.iter().map(|a| products.linear(a)).collect() };
    Some((linear(&value.index)?, linear(&value.shape)?))
}

pub(super) fn findings(
    declared: &Declared<'_>,
    small: &mut SmallTensors<'_>,
    prover: &mut dyn Prover,
) -> Vec<Finding> {
    let Some((index, shape)) = linear(declared) else {
        return vec![
            not_linear(declared, Question::ValueInBounds, INSIDE),
            not_linear(declared, Question::ValueDistinct, APART),
        ];
    };
    vec![
        in_bounds(declared, &index, &shape, small, prover),
        distinct(declared, &index, &shape, small, prover),
    ]
}

/// Lemmas on the products of all terms, and their values in the box.
pub(super) fn arithmetic(
    terms: &[&Affine],
    small: &SmallTensors<'_>,
) -> (Vec<Formula>, Vec<Formula>) {
    let products = products(terms);
    (products.lemmas(), products.table(small.extent() + 1))
}

fn products(terms: &[&Affine]) -> Products {
    let mut products = Products::default();
    terms.iter().for_each(|t| products.note(t));
    products
}

/// `val(p0, p1)`
fn shown(declared: &Declared<'_>) -> String {
    let value = &declared.layout.value;
    Arith::Call(value.name.clone(), value.index.clone()).to_string()
}

fn in_bounds(
    declared: &Declared<'_>,
    index: &[Affine],
    shape: &[Affine],
    small: &mut SmallTensors<'_>,
    prover: &mut dyn Prover,
) -> Finding {
    let question = Question::ValueInBounds;
    let claim = Formula::and(index.iter().zip(shape).flat_map(|(i, extent)| {
        [Formula::le(Affine::zero(), i.clone()), Formula::lt(i.clone(), extent.clone())]
    }));
    let shown = shown(declared);
    let terms: Vec<&Affine> = index.iter().chain(shape).collect();
    let (lemmas, table) = arithmetic(&terms, small);
    let finding =
        |verdict, says| Finding::new(question, verdict, says).at(&declared.layout.places.value);
    let mut open = false;
    for piece in 0..declared.layout.relation.pieces.len() {
        let entry = declared.entry(piece, Which::First);
        let mut facts = entry.clone();
        facts.extend(lemmas.iter().cloned());
        if claim.is_true() || declared.proves(&facts, &claim, prover) {
            continue;
        }
        let squares = products(&terms).squares();
        facts.extend(squares.iter().cloned());
        if !squares.is_empty() && declared.proves(&facts, &claim, prover) {
            continue;
        }
        open = true;
        let mut facts = entry;
        facts.extend(table.iter().cloned());
        facts.push(claim.clone().not());
        let Some(found) = small.find(&facts) else { continue };
        let entry = found.entry(Which::First);
        let values = |terms: &[Affine]| {
            let values: Vec<i64> =
                terms.iter().map(|t| found.value(t).unwrap_or_default()).collect();
            tuple(&values)
        };
        let shows = format!(
            "position {} has its value at {} of {}",
            tuple(entry.position.values()),
            values(index),
            values(shape)
        );
        let counterexample = found.showing(vec![entry], shows);
        let says = format!("{shown} is outside the value array");
        return finding(Verdict::Refuted { counterexample }, says);
    }
    match open {
        false => finding(Verdict::Proved, format!("{shown} is inside the value array")),
        true => finding(
            Verdict::Unknown { reason: small.describe() },
            format!("is {shown} inside the value array?"),
        ),
    }
}

fn distinct(
    declared: &Declared<'_>,
    index: &[Affine],
    shape: &[Affine],
    small: &mut SmallTensors<'_>,
    prover: &mut dyn Prover,
) -> Finding {
    let question = Question::ValueDistinct;
    let finding = |verdict, says: &str| {
        Finding::new(question, verdict, says).at(&declared.layout.places.value)
    };
    let of = |which| index.iter().map(|a| declared.of(which, a)).collect::<Vec<Affine>>();
    let (first, second) = (of(Which::First), of(Which::Second));
    let equal = |a: &[Affine], b: &[Affine]| {
        Formula::and(a.iter().zip(b).map(|(x, y)| Formula::eq(x.clone(), y.clone())))
    };
    let claim = equal(&declared.positions(Which::First), &declared.positions(Which::Second));
    let terms: Vec<&Affine> = first.iter().chain(&second).chain(shape).collect();
    let (lemmas, table) = arithmetic(&terms, small);
    let shows = |a: &Entry, b: &Entry| {
        let (p, q) = (tuple(a.position.values()), tuple(b.position.values()));
        format!("positions {p} and {q} have the same value slot")
    };
    // Lemmas for the proof, the table for the search; each is true, so both may be given to both.
    let mut given = vec![equal(&first, &second)];
    given.extend(lemmas);
    let mut decision = decide(declared, &given, &claim, &table, &shows, small, prover);
    let squares = products(&terms).squares();
    if matches!(decision, Decision::Unknown { .. }) && !squares.is_empty() {
        given.extend(squares);
        decision = decide(declared, &given, &claim, &table, &shows, small, prover);
    }
    match decision {
        Decision::Proved => finding(Verdict::Proved, "every position has a value of its own"),
        Decision::Refuted { counterexample, .. } => finding(
            Verdict::Refuted { counterexample },
            "several positions may share a value: it cannot be an output",
        ),
        Decision::Unknown { reason } => finding(Verdict::Unknown { reason }, APART),
    }
}
