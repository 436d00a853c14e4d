//! What operators claim, tested and proved.
//!
//! Every claim is an equation between uses of the operator. It is *tested*: the Rust expressions are
//! evaluated on the edges of each type. And where the operator has a definition, it is *proved* over
//! all integers, reals or truth values, of which machine numbers are an image: wrapping keeps
//! equations, rounding is what the tests are for.
//!
//! `commutative = true` of `-` is the equation `a - b = b - a`, refuted by `a = 0, b = 1`.

use std::ops::Range;

use super::choosing::verify_by;
use super::equation::{Claim, Side, variable};
use super::operator::{Case, Gives, Morphism, Operator, Property};
use super::proofs::prove;
use super::value::Value;
use crate::diagnostic::{Diagnostic, Result};
use crate::prover::arithmetic::{Sort, Verdict};
use crate::tensor::ValueType;

/// What is known of a claim that holds on all samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The claim: `commutative`, `identity 0 as b`.
    pub claim: String,
    /// How many times it was evaluated.
    pub samples: usize,
    /// Over which numbers it is proved.
    pub proved: Vec<Sort>,
    /// Over which it is not, and why.
    pub unproved: Vec<(Sort, String)>,
}

/// Tests and proves all that an operator claims. `find` gives other operators by name, `sum` is what
/// is written `+`.
///
/// # Errors
/// [`Code::Operator`](crate::diagnostic::Code::Operator) with the claim's place and the values that
/// refute it; also if an expression does not end on some sample.
pub fn verify<'a>(
    op: &Operator,
    find: &dyn Fn(&str) -> Option<&'a Operator>,
    sum: &Operator,
) -> Result<Vec<Evidence>> {
    ends(op)?;
    let inverse = match &op.inverse {
        None => None,
        Some((name, place)) => Some(inverse(op, name, place, find)?),
    };
    let mut claims = claims(op, inverse, sum);
    for morphism in &op.morphisms {
        claims.push(of_morphism(op, morphism, find)?);
    }
    let mut out = Vec::new();
    for claim in claims {
        let samples = test(op, &claim)?;
        let mut evidence =
            Evidence { claim: claim.text.clone(), samples, proved: vec![], unproved: vec![] };
        for sort in [Sort::Real, Sort::Integer, Sort::Truth] {
            match prove(op, &claim, sort)? {
                None => {}
                Some(Verdict::Proved) => evidence.proved.push(sort),
                Some(Verdict::Unknown(why)) => evidence.unproved.push((sort, why)),
                Some(Verdict::Refuted { values, left, right }) => {
                    let values: Vec<(String, String)> =
                        values.into_iter().map(|(n, v)| (n.to_string(), v)).collect();
                    return Err(refuted(op, &claim, &values, &left, &right)
                        .note(format!("over the {}, by `definition`", said(sort))));
                }
            }
        }
        out.push(evidence);
    }
    if let Some(samples) = verify_by(op, find, &samples)? {
        let claim = format!("by {}", op.by().unwrap_or_default());
        out.push(Evidence { claim, samples, proved: vec![], unproved: vec![] });
    }
    if let Some(samples) = iteration(op)? {
        let claim = format!("iteration {}", op.iteration.as_ref().map_or("", |i| &i.text));
        out.push(Evidence { claim, samples, proved: vec![], unproved: vec![] });
    }
    Ok(out)
}

/// What numbers of a sort are called.
pub fn said(sort: Sort) -> &'static str {
    match sort {
        Sort::Real => "reals",
        Sort::Integer => "integers",
        Sort::Truth => "truth values",
    }
}

fn inverse<'a>(
    op: &Operator,
    name: &str,
    place: &Range<usize>,
    find: &dyn Fn(&str) -> Option<&'a Operator>,
) -> Result<&'a Operator> {
    let Some(other) = find(name) else {
        return Err(op.source.error(format!("there is no operator `{name}`"), place.clone()).help(
            "name an operator that is shipped or in the same folder; `siskin operators` lists them",
        ));
    };
    match other.arity() == op.arity() && op.arity() <= 2 {
        true => Ok(other),
        false => Err(op
            .source
            .error(format!("`{name}` does not have as many arguments"), place.clone())
            .help("an inverse undoes one argument with the other: (a + b) - b = a")),
    }
}

fn claims<'a>(op: &Operator, inverse: Option<&'a Operator>, sum: &'a Operator) -> Vec<Claim<'a>> {
    let v = Side::Variable;
    let fixed = op.parameters();
    // Of two operands; parameters are the variables from `first` on.
    let call = |a: Side<'a>, b: Side<'a>, first: usize| {
        let parameters = (0..fixed).map(|k| v(first + k));
        Side::Call([a, b].into_iter().chain(parameters).collect())
    };
    let mut out = Vec::new();
    for (property, place) in &op.properties {
        let (variables, left, right) = match property {
            Property::Commutative => (2 + fixed, call(v(0), v(1), 2), call(v(1), v(0), 2)),
            Property::Associative => {
                (3 + fixed, call(call(v(0), v(1), 3), v(2), 3), call(v(0), call(v(1), v(2), 3), 3))
            }
            Property::Idempotent => {
                let mut all = vec![v(0); op.arity() - fixed];
                all.extend((0..fixed).map(|k| v(k + 1)));
                (1 + fixed, Side::Call(all), v(0))
            }
            Property::Additive(k) => {
                let (left, right) = through(op, *k, sum, sum);
                (op.arity() + 1, left, right)
            }
        };
        let exact = matches!(property, Property::Associative | Property::Additive(_));
        let text = match property {
            Property::Additive(k) => format!("additive in {}", op.arguments[*k].name),
            other => other.as_str().to_string(),
        };
        let place = place.clone();
        out.push(Claim { text, place, variables, left, right, exact, ieee: !exact });
    }
    for case in &op.cases {
        out.push(of_case(op, case));
    }
    if let (Some(other), Some((_, place))) = (inverse, &op.inverse) {
        let arguments: Vec<Side> = (0..op.arity()).map(v).collect();
        let mut outer = vec![Side::Call(arguments)];
        outer.extend((1..op.arity()).map(v));
        out.push(Claim {
            text: format!("inverse {}", other.name()),
            place: place.clone(),
            variables: op.arity(),
            left: Side::Other(other, outer),
            right: v(0),
            exact: true,
            ieee: false,
        });
    }
    out
}

/// `f(g(a, c), b) = h(f(a, b), f(c, b))`, for argument number `k`.
fn through<'a>(
    op: &Operator,
    k: usize,
    of: &'a Operator,
    to: &'a Operator,
) -> (Side<'a>, Side<'a>) {
    let used = |at: Side<'a>| {
        let own = |m: usize| if m == k { at.clone() } else { Side::Variable(m) };
        Side::Call((0..op.arity()).map(own).collect())
    };
    let (one, more) = (Side::Variable(k), Side::Variable(op.arity()));
    let both = Side::Other(of, vec![one.clone(), more.clone()]);
    (used(both), Side::Other(to, vec![used(one), used(more)]))
}

fn of_morphism<'a>(
    op: &Operator,
    morphism: &Morphism,
    find: &dyn Fn(&str) -> Option<&'a Operator>,
) -> Result<Claim<'a>> {
    let named = |(name, place): &(String, Range<usize>)| {
        let found = find(name).filter(|other| other.is_reduction());
        found.ok_or_else(|| {
            let message = match find(name) {
                None => format!("there is no operator `{name}`"),
                Some(_) => format!("`{name}` does not combine two values in any order"),
            };
            op.source.error(message, place.clone()).help(
                "name commutative and associative operators that are shipped or in the same folder",
            )
        })
    };
    let (of, to) = (named(&morphism.of)?, named(&morphism.to)?);
    let (left, right) = through(op, morphism.argument, of, to);
    let argument = &op.arguments[morphism.argument].name;
    Ok(Claim {
        text: format!("morphism of {} to {} in {argument}", of.name(), to.name()),
        place: morphism.place.clone(),
        variables: op.arity() + 1,
        left,
        right,
        exact: false,
        ieee: true,
    })
}

fn of_case(op: &Operator, case: &Case) -> Claim<'static> {
    use super::operator::CaseKind;
    let constant = Side::Value(case.value.clone(), Some(case.argument));
    let mut parts: Vec<Side> = (0..op.arity()).map(Side::Variable).collect();
    parts[case.argument] = constant;
    let kind = match case.kind {
        CaseKind::Identity => "identity",
        CaseKind::Annihilator => "annihilator",
        CaseKind::Fill => "fill",
    };
    Claim {
        text: format!("{kind} as {}", op.arguments[case.argument].name),
        place: case.place.clone(),
        variables: op.arity(),
        left: Side::Call(parts),
        right: match &case.gives {
            Gives::Argument(m) => match *m == case.argument {
                true => Side::Value(case.value.clone(), Some(*m)),
                false => Side::Variable(*m),
            },
            Gives::Value(number) => Side::Value(number.clone(), None),
        },
        exact: false,
        ieee: case.ieee,
    }
}

/// Values at the edges of a type.
pub fn samples(t: ValueType) -> Vec<Value> {
    const FLOATS: [f64; 14] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        0.5,
        -3.0,
        7.25,
        1e30,
        -1e30,
        f64::MIN_POSITIVE,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let whole = |all: &[i64]| all.iter().filter_map(|x| Value::integer(*x, t)).collect();
    match t {
        ValueType::F64 | ValueType::F32 => FLOATS.map(|x| Value::F64(x).cast(t)).to_vec(),
        ValueType::I64 => {
            whole(&[0, 1, -1, 2, -3, 5, 12, 63, 64, 1 << 33, i64::MAX, i64::MIN, i64::MIN + 1])
        }
        ValueType::I32 => {
            let (least, greatest) = (i64::from(i32::MIN), i64::from(i32::MAX));
            whole(&[0, 1, -1, 2, -3, 5, 12, 31, 32, greatest, least, least + 1])
        }
        ValueType::U8 => whole(&[0, 1, 2, 3, 5, 7, 8, 12, 127, 128, 254, 255]),
        ValueType::Bool => whole(&[0, 1]),
    }
}

/// Small numbers, of which sums, products and quotients are exact.
fn small(t: ValueType) -> Vec<Value> {
    match t.is_float() {
        true => [0, 1, -1, 2, -2, 4].iter().filter_map(|x| Value::integer(*x, t)).collect(),
        false => samples(t),
    }
}

/// Every choice of one value for each list.
fn each_choice(lists: &[Vec<Value>], visit: &mut dyn FnMut(&[Value]) -> Result<()>) -> Result<()> {
    let total: usize = lists.iter().map(Vec::len).product();
    let mut chosen = Vec::with_capacity(lists.len());
    for number in 0..total {
        chosen.clear();
        let mut rest = number;
        for list in lists {
            chosen.push(list[rest % list.len()]);
            rest /= list.len();
        }
        visit(&chosen)?;
    }
    Ok(())
}

/// Every expression has a value on every sample.
fn ends(op: &Operator) -> Result<()> {
    for generic in op.types() {
        let lists: Vec<Vec<Value>> =
            op.arguments.iter().map(|a| samples(a.exact.unwrap_or(generic))).collect();
        each_choice(&lists, &mut |values| match op.eval(values) {
            Some(_) => Ok(()),
            None => {
                let text = op.rust_text(generic).unwrap_or_default();
                let at = op.source.text.find(text).map_or(0..0, |at| at..at + text.len());
                Err(op
                    .source
                    .error(format!("the expression does not end for {}", listed(op, values)), at)
                    .note(format!(
                        "for T = {generic}; it was given up after {} turns",
                        super::eval::STEPS
                    ))
                    .help("give its loops a condition that becomes false for all arguments"))
            }
        })?;
    }
    Ok(())
}

fn listed(op: &Operator, values: &[Value]) -> String {
    let pairs = op.arguments.iter().zip(values).map(|(a, v)| format!("{} = {v}", a.name));
    pairs.collect::<Vec<_>>().join(", ")
}

fn evaluated(
    op: &Operator,
    side: &Side<'_>,
    generic: ValueType,
    values: &[Value],
) -> Option<Value> {
    let all = |parts: &[Side<'_>]| -> Option<Vec<Value>> {
        parts.iter().map(|p| evaluated(op, p, generic, values)).collect()
    };
    match side {
        Side::Variable(k) => values.get(*k).copied(),
        Side::Value(number, Some(k)) => {
            number.said(generic)?;
            number.value(op.arguments[*k].exact.unwrap_or(generic))
        }
        Side::Value(number, None) => {
            let types: Vec<ValueType> =
                op.arguments.iter().map(|a| a.exact.unwrap_or(generic)).collect();
            number.value(op.signature(&types).ok()?.result)
        }
        Side::Call(parts) => op.eval(&all(parts)?),
        Side::Other(other, parts) => other.eval(&all(parts)?),
    }
}

/// Tests a claim on samples of every type; how many there were.
fn test(op: &Operator, claim: &Claim<'_>) -> Result<usize> {
    let mut count = 0;
    for generic in op.types() {
        let argument = |k: usize| {
            let exact = op.arguments.get(k.min(op.arity() - 1)).and_then(|a| a.exact);
            exact.unwrap_or(generic)
        };
        let lists: Vec<Vec<Value>> = (0..claim.variables)
            .map(|k| if claim.exact { small(argument(k)) } else { samples(argument(k)) })
            .collect();
        each_choice(&lists, &mut |values| {
            let finite = values.iter().all(|v| v.is_finite());
            let left = evaluated(op, &claim.left, generic, values);
            let right = evaluated(op, &claim.right, generic, values);
            let (Some(left), Some(right)) = (left, right) else { return Ok(()) };
            let is_endless = !left.is_finite() && (claim.exact || right.is_finite());
            if !claim.ieee && (!finite || is_endless) {
                return Ok(());
            }
            count += 1;
            if left.cast(right.value_type()).same(right) && left.value_type() == right.value_type()
            {
                return Ok(());
            }
            let values: Vec<(String, String)> =
                (0..claim.variables).map(|k| (variable(op, k), values[k].to_string())).collect();
            let (left, right) = (left.to_string(), right.to_string());
            let error = refuted(op, claim, &values, &left, &right)
                .note(format!("by its Rust expression for {generic}"));
            Err(match claim.ieee && !finite && generic.is_float() {
                true => error.help("add `ieee = false` if it holds for finite numbers only"),
                false => error,
            })
        })?;
    }
    Ok(count)
}

fn shown(op: &Operator, side: &Side<'_>) -> String {
    let inside = |parts: &[Side<'_>]| -> Vec<String> {
        let part = |p: &Side<'_>| {
            let text = shown(op, p);
            let is_infix = match p {
                Side::Call(_) => op.symbol().is_some(),
                Side::Other(other, _) => other.symbol().is_some(),
                Side::Variable(_) | Side::Value(..) => false,
            };
            if is_infix && text.contains(' ') { format!("({text})") } else { text }
        };
        parts.iter().map(part).collect()
    };
    match side {
        Side::Variable(k) => variable(op, *k),
        Side::Value(number, k) => {
            let types = op.types().find_map(|t| {
                let t = k.and_then(|k| op.arguments[k].exact).unwrap_or(t);
                number.value(t)
            });
            types.map_or("…".to_string(), |v| v.to_string())
        }
        Side::Call(parts) => op.applied(&inside(parts)),
        Side::Other(other, parts) => other.applied(&inside(parts)),
    }
}

fn refuted(
    op: &Operator,
    claim: &Claim<'_>,
    values: &[(String, String)],
    left: &str,
    right: &str,
) -> Box<Diagnostic> {
    let pairs: Vec<String> = values
        .iter()
        .filter(|(n, _)| n != "greatest" && n != "least")
        .map(|(n, v)| format!("{n} = {v}"))
        .collect();
    let (l, r) = (shown(op, &claim.left), shown(op, &claim.right));
    op.source
        .error(
            format!(
                "`{}` is not {}: {}: {l} = {left}, {r} = {right}",
                op.name,
                match claim.text.split_once(' ') {
                    None => claim.text.clone(),
                    Some(_) => format!("as claimed ({})", claim.text),
                },
                pairs.join(", ")
            ),
            claim.place.clone(),
        )
        .help("remove the claim, or correct the expression or the definition")
}

/// Tests a declared iteration algebra: wherever it leaves a point out, the result is that of the
/// fills. `None` if none is declared.
fn iteration(op: &Operator) -> Result<Option<usize>> {
    let Some(iteration) = &op.iteration else { return Ok(None) };
    let mut count = 0;
    for generic in op.types() {
        let fills: Option<Vec<Value>> = iteration
            .fills
            .iter()
            .zip(&op.arguments)
            .map(|(n, a)| n.value(a.exact.unwrap_or(generic)))
            .collect();
        let Some(fills) = fills else { continue };
        let Some(expected) = op.eval(&fills) else { continue };
        let lists: Vec<Vec<Value>> =
            op.arguments.iter().map(|a| samples(a.exact.unwrap_or(generic))).collect();
        each_choice(&lists, &mut |values| {
            let differs: Vec<bool> = values.iter().zip(&fills).map(|(v, f)| !v.same(*f)).collect();
            if iteration.region.contains(&differs) {
                return Ok(());
            }
            count += 1;
            match op.eval(values) {
                Some(found) if found.same(expected) => Ok(()),
                found => Err(op
                    .source
                    .error(
                        format!(
                            "the iteration algebra of `{}` leaves out a point that matters: {}: {} = {}, \
                             not {expected} as for the fills",
                            op.name,
                            listed(op, values),
                            op.call_form(),
                            found.map_or("…".to_string(), |v| v.to_string())
                        ),
                        iteration.place.clone(),
                    )
                    .note(format!("by its Rust expression for {generic}"))
                    .help("add the argument to `region`, or remove `[iteration]`")),
            }
        })?;
    }
    Ok(Some(count))
}
