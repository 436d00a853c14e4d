//! Properties of all pairs that need only be looked at between neighbours.
//!
//! In: the checks of a layout. Out: the same, those of a transitive relation narrowed:
//!
//! ```text
//! 0 <= p and p < q and q < NNZ => (row(p), col(p)) is before (row(q), col(q))
//! ```
//! is a pass over `p` with `q = p + 1`. That it suffices is proved by induction: with any `m` between
//! `p` and `q`, the premise holds of `(p, m)` and of `(m, q)` (of one of them perhaps as the conclusion holds of the
//! other), and the conclusions there imply that of `(p, q)`. What is not about pairs is checked before. The declared kinds (`monotonic`, …) need no such proof: `layout::checks` knows them.

use super::declared::Declared;
use crate::formula::{Affine, Constraint, Formula, Name};
use crate::layout::Layout;
use crate::layout::checks::{Check, checks};
use crate::layout::memory::Memory;
use crate::layout::visit;
use crate::prover::{Prover, Z3Prover};
use crate::theory::BOUND;

static KNOWN: Memory<Vec<Check>> = Memory::new();

/// What has to be checked on the data of a tensor, with as few points as suffice. Remembered.
pub fn data_checks(layout: &Layout) -> Vec<Check> {
    let all = checks(layout);
    let pairs = |c: &Check| matches!(c, Check::ForAll { formula, .. } if !candidates(layout, formula).is_empty());
    if !all.iter().any(pairs) {
        return all;
    }
    KNOWN.answer(layout, || {
        let declared = Declared::new(layout);
        let mut prover = Z3Prover::new();
        let (about_pairs, others): (Vec<_>, Vec<_>) = all.into_iter().partition(pairs);
        let about_pairs = about_pairs.into_iter().map(|c| narrowed(&declared, c, &mut prover));
        others.into_iter().chain(about_pairs).collect()
    })
}

fn narrowed(declared: &Declared<'_>, check: Check, prover: &mut dyn Prover) -> Check {
    let Check::ForAll { formula, steps, conclusion } = check else { return check };
    let Some(number) = property_of(declared.layout, &formula) else {
        return Check::ForAll { formula, steps, conclusion };
    };
    for (p, q) in candidates(declared.layout, &formula) {
        if !is_transitive(declared, &formula, number, (&p, &q), prover) {
            continue;
        }
        let Formula::Implies(premise, _) = &formula else { continue };
        let Some(mut premise) = premise.as_conjunction() else { continue };
        let next = Affine::var(p) + Affine::constant(1);
        premise.push(Constraint::eq(Affine::var(q), next));
        let variables = bound_variables(declared.layout, &formula);
        if let Ok(steps) = visit::steps(&variables, &premise) {
            return Check::ForAll { formula, steps, conclusion };
        }
    }
    Check::ForAll { formula, steps, conclusion }
}

/// The property that a formula is, or is a part of.
fn property_of(layout: &Layout, formula: &Formula) -> Option<usize> {
    layout.properties.iter().position(|p| match &p.formula {
        Formula::And(parts) => parts.contains(formula),
        whole => whole == formula,
    })
}

/// Pairs of variables `p < q` of the premise.
fn candidates(layout: &Layout, formula: &Formula) -> Vec<(Name, Name)> {
    let Formula::Implies(premise, _) = formula else { return Vec::new() };
    let Some(premise) = premise.as_conjunction() else { return Vec::new() };
    let variables = bound_variables(layout, formula);
    let mut out = Vec::new();
    for p in &variables {
        for q in variables.iter().filter(|q| *q != p) {
            if premise.contains(&Constraint::lt(Affine::var(p.clone()), Affine::var(q.clone()))) {
                out.push((p.clone(), q.clone()));
            }
        }
    }
    out
}

/// The variables that a formula is about: all but sizes.
fn bound_variables(layout: &Layout, formula: &Formula) -> Vec<Name> {
    let extents = layout.extents();
    let mut variables = formula.free_vars();
    variables.retain(|n| !extents.contains(n) && !layout.params.contains_key(n));
    variables
}

fn is_transitive(
    declared: &Declared<'_>,
    formula: &Formula,
    number: usize,
    (p, q): (&Name, &Name),
    prover: &mut dyn Prover,
) -> bool {
    let Formula::Implies(premise, conclusion) = formula else { return false };
    let between = Name::from(format!("{q}'"));
    let to_between = |name: &Name, f: &Formula| {
        f.map_affine(&|a| a.substitute(&|n| (n == name).then(|| Affine::var(between.clone()))))
    };
    let var = |n: &Name| Affine::var(n.clone());
    let facts = vec![
        (**premise).clone(),
        Formula::lt(var(p), var(&between)),
        Formula::lt(var(&between), var(q)),
    ];
    // Those about pairs are checked in order, behind all others, so that only what comes before may be relied on.
    let keep = |property: Option<usize>| {
        property.is_none_or(|k| k < number || !is_about_pairs(declared.layout, k))
    };
    let mut proves = |facts: &[Formula], claim: &Formula| {
        declared.proves_by(&|law| keep(law.property), facts, claim, prover)
    };
    debug_assert!(!p.starts_with(BOUND) && !q.starts_with(BOUND));
    [(q, p), (p, q)].into_iter().any(|(first, second)| {
        let mut facts = facts.clone();
        for half in [first, second] {
            if !proves(&facts, &to_between(half, premise)) {
                return false;
            }
            facts.push(to_between(half, conclusion));
        }
        proves(&facts, conclusion)
    })
}

/// Whether a property, or a part of it, says something of two elements in order.
fn is_about_pairs(layout: &Layout, property: usize) -> bool {
    let about_pairs = |formula: &Formula| !candidates(layout, formula).is_empty();
    match &layout.properties[property].formula {
        Formula::And(parts) => parts.iter().any(about_pairs),
        whole => about_pairs(whole),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::LayoutSpec;
    use crate::layout::visit::Step;

    /// How the variables of each general check are found.
    fn visits(layout: &Layout) -> Vec<Vec<String>> {
        let show = |step: &Step| match step {
            Step::Solve { variable, value } => Some(format!("{variable} = {value}")),
            Step::Loop { variable, .. } => Some(variable.to_string()),
            Step::Check(_) => None,
        };
        let of_check = |check: Check| match check {
            Check::ForAll { steps, .. } => Some(steps.iter().filter_map(show).collect()),
            _ => None,
        };
        data_checks(layout).into_iter().filter_map(of_check).collect()
    }

    fn declared(property: &str) -> Layout {
        let text = format!(
            "name = 't'\ndims = ['i']\nrelation = '{{ [p] -> [i] : 0 <= p < N and i = crd(p) }}'\n\
             value = 'val(p)'\n[index.crd]\ndomain = '0 <= p < N'\nrange = '0 <= crd(p) < I'\n\
             [params]\nN = 'count'\n[[property]]\nformula = '{property}'\n"
        );
        LayoutSpec::from_toml("t", &text).unwrap().instantiate(1).unwrap()
    }

    #[test]
    fn a_transitive_relation_is_checked_between_neighbours() {
        for relation in ["crd(p) < crd(q)", "crd(p) <= crd(q) - 2", "crd(p) + p >= crd(q) + q"] {
            let layout = declared(&format!("0 <= p and p < q and q < N => {relation}"));
            assert_eq!(visits(&layout), [["p", "q = p + 1"]], "{relation}");
        }
    }

    #[test]
    fn what_holds_of_a_half_may_tell_that_the_other_is_one() {
        // Padding behind the elements: what is before an element is one.
        let padded =
            "0 <= p and p < q and q < N and 3 <= crd(q) => 3 <= crd(p) and crd(p) < crd(q)";
        assert_eq!(visits(&declared(padded)), [["p", "q = p + 1"]]);
        let padded =
            "0 <= p and p < q and q < N and crd(p) <= 3 => crd(q) <= 3 and crd(p) < crd(q)";
        assert_eq!(visits(&declared(padded)), [["p", "q = p + 1"]]);
    }

    #[test]
    fn what_is_not_about_pairs_may_be_declared_later() {
        let runs = r#"
            name = "runs"
            dims = ["i"]
            relation = "{ [p] -> [i] : 0 <= p < N and left(p) <= i <= last(p) and 0 <= i < I }"
            value = "val(p)"
            [index.left]
            domain = "0 <= p < N"
            range = "0 <= left(p) < I"
            [index.last]
            domain = "0 <= p < N"
            range = "0 <= last(p) < I"
            [params]
            N = "count"
            [[property]]
            formula = "0 <= p and p < q and q < N => last(p) < left(q)"
            [[property]]
            formula = "0 <= p and p < N => left(p) <= last(p)"
        "#;
        let layout = LayoutSpec::from_toml("runs.toml", runs).unwrap().instantiate(1).unwrap();
        assert_eq!(visits(&layout), [vec!["p"], vec!["p", "q = p + 1"]]);
    }

    #[test]
    fn no_shipped_layout_is_checked_pair_by_pair() {
        let mut checked = 0;
        for (name, _) in crate::layout::shipped() {
            let layout = Layout::named(&name).or_else(|_| Layout::named_for_rank(&name, 3));
            let layout = layout.unwrap();
            for check in data_checks(&layout) {
                checked += 1;
                let Check::ForAll { formula, steps, .. } = &check else {
                    assert!(!matches!(check, Check::Unbounded { .. }), "{name}: {check:?}");
                    continue;
                };
                let solved = |q: &Name| {
                    steps.iter().any(|s| matches!(s, Step::Solve { variable, .. } if variable == q))
                };
                let pairs = candidates(&layout, formula);
                assert!(
                    pairs.is_empty() || pairs.iter().any(|(_, q)| solved(q)),
                    "{name}: {formula}"
                );
            }
        }
        assert!(checked > 0);
    }

    #[test]
    fn another_relation_is_checked_on_all_pairs() {
        // Not transitive; not of all pairs between; premises that do not reach the neighbours.
        for property in [
            "0 <= p and p < q and q < N => crd(p) != crd(q)",
            "0 <= p and p < q and q < N => crd(q) <= crd(p) + 5",
            "0 <= p and p < q and q < N and 2 <= q - p => crd(p) < crd(q)",
        ] {
            assert_eq!(visits(&declared(property)), [["p", "q"]], "{property}");
        }
    }
}
