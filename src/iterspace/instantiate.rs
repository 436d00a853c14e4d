//! Instances of closed properties on the index-array calls at hand.
//!
//! Properties are never given to a solver under a quantifier: refutations, which the search for
//! finds needs all the time, would not terminate. Leaving instances out can lose a proof but never
//! accept a wrong one.

use indexmap::IndexMap;

use crate::formula::{Affine, Atom, Call, Formula, Name};

/// All instances of `property` in which each of its calls is one of `calls`, for each conjunct of it.
/// A call of another call's value, `home(W, crd(p))`, need not be: the inner one tells its arguments.
///
/// `is_param` tells parameters from the property's universally quantified variables.
pub fn instantiate(
    property: &Formula,
    calls: &[Call],
    is_param: &impl Fn(&str) -> bool,
) -> Vec<Formula> {
    if let Formula::And(parts) = property {
        let mut out: Vec<Formula> = Vec::new();
        for part in parts {
            for instance in instantiate(part, calls, is_param) {
                if !out.contains(&instance) {
                    out.push(instance);
                }
            }
        }
        return out;
    }
    let variables: Vec<Name> = property.free_vars().into_iter().filter(|v| !is_param(v)).collect();
    if variables.is_empty() {
        return vec![property.clone()];
    }
    let mut patterns: Vec<Call> = Vec::new();
    property.visit_calls(&mut |c| {
        let open = c.args.iter().any(|a| variables.iter().any(|v| a.mentions(v)));
        let plain = |a: &Affine| {
            let calls = a.terms().iter().any(|(atom, _)| matches!(atom, Atom::Call(_)));
            !calls || !variables.iter().any(|v| a.mentions(v))
        };
        if open && c.args.iter().all(plain) && !patterns.contains(c) {
            patterns.push(c.clone());
        }
    });
    let mut out = Vec::new();
    let mut bindings = IndexMap::new();
    match_patterns(&patterns, calls, &variables, &mut bindings, &mut |bindings| {
        if variables.iter().any(|v| !bindings.contains_key(v)) {
            return;
        }
        let instance = simplify(&property.substitute(&|n| bindings.get(n).cloned()));
        if !instance.is_true() && !out.contains(&instance) {
            out.push(instance);
        }
    });
    out
}

fn match_patterns(
    patterns: &[Call],
    calls: &[Call],
    variables: &[Name],
    bindings: &mut IndexMap<Name, Affine>,
    found: &mut impl FnMut(&IndexMap<Name, Affine>),
) {
    let Some((pattern, rest)) = patterns.split_first() else {
        found(bindings);
        return;
    };
    for call in calls.iter().filter(|c| c.array == pattern.array) {
        let before = bindings.len();
        let mut mismatch = false;
        let fits = pattern.args.len() == call.args.len()
            && pattern.args.iter().zip(&call.args).all(|(p, ground)| {
                unify(p, ground, variables, bindings).unwrap_or_else(|| {
                    mismatch = true;
                    true
                })
            });
        // `crd(r, q)` with `r` bound to `a` already, at the call `crd(b, c)`: an instance about
        // `crd(a, c)`, of use where `a = b` holds without being written.
        if fits && (!mismatch || bindings.len() > before) {
            match_patterns(rest, calls, variables, bindings, found);
        }
        bindings.truncate(before);
    }
}

/// Solves `pattern = ground` for the one unbound variable of the pattern, if it has coefficient 1.
/// `None`: everything is bound, to another term.
fn unify(
    pattern: &Affine,
    ground: &Affine,
    variables: &[Name],
    bindings: &mut IndexMap<Name, Affine>,
) -> Option<bool> {
    let bound = pattern.substitute(&|n| bindings.get(n).cloned());
    let unbound: Vec<&Name> =
        variables.iter().filter(|v| !bindings.contains_key(*v) && pattern.mentions(v)).collect();
    match unbound.as_slice() {
        [] => (bound == *ground).then_some(true),
        [v] => {
            let atom = Atom::Var((*v).clone());
            if bound.coefficient(&atom) != 1 {
                return Some(false);
            }
            let rest = bound - Affine::atom(atom);
            if rest.mentions(v) {
                return Some(false);
            }
            bindings.insert((*v).clone(), ground.clone() - rest);
            Some(true)
        }
        _ => Some(false),
    }
}

/// Folds constant comparisons.
fn simplify(f: &Formula) -> Formula {
    match f {
        Formula::Constraint(c) => match c.as_bool() {
            Some(value) => Formula::truth(value),
            None => f.clone(),
        },
        Formula::And(v) => Formula::and(v.iter().map(simplify)),
        Formula::Or(v) => Formula::or(v.iter().map(simplify)),
        Formula::Not(x) => simplify(x).not(),
        Formula::Implies(a, b) => {
            let (a, b) = (simplify(a), simplify(b));
            if a.is_false() || b.is_true() { Formula::truth(true) } else { a.implies(b) }
        }
        Formula::Predicate(..) => f.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::parse;

    fn calls(text: &str) -> Vec<Call> {
        let mut out = Vec::new();
        parse::formula(text).unwrap().visit_calls(&mut |c| out.push(c.clone()));
        out
    }

    fn instances(property: &str, at: &str) -> Vec<String> {
        let property = parse::formula(property).unwrap();
        let is_param = |n: &str| n.chars().all(char::is_uppercase);
        instantiate(&property, &calls(at), &is_param).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn monotonicity_is_instantiated_on_ordered_pairs_of_distinct_calls() {
        let got = instances("p < q => pos(p) <= pos(q)", "pos(a) = pos(a + 1)");
        // (a, a+1) survives; (a+1, a) has the false premise a + 1 < a; (a, a) likewise.
        assert_eq!(got, ["pos(a) <= pos(a + 1)"]);
    }

    #[test]
    fn a_segment_needs_both_of_its_ends() {
        let property = "pos(u) <= p and p < q and q < pos(u + 1) => crd(p) < crd(q)";
        let got = instances(property, "pos(a) <= pos(a + 1) and crd(x) = crd(y)");
        assert_eq!(got.len(), 2, "{got:?}");
        assert!(got[0].contains("pos(a) <= x"), "{got:?}");
        assert!(instances(property, "pos(a) = 0 and crd(x) = crd(y)").is_empty());
    }

    #[test]
    fn rows_that_are_equal_without_being_written_so_are_related() {
        let property = "p < q => crd(r, p) < crd(r, q)";
        let got = instances(property, "crd(a, x) = crd(b, y)");
        assert!(got.contains(&"x < y => crd(a, x) < crd(a, y)".to_string()), "{got:?}");
    }

    #[test]
    fn each_conjunct_is_instantiated_on_the_calls_it_mentions() {
        let property = "(p < q => crd(p) != crd(q)) and (crd(p) >= 0 => home(W, crd(p)) <= p)";
        let got = instances(property, "crd(a) = crd(b)");
        assert!(got.contains(&"a < b => crd(a) != crd(b)".to_string()), "{got:?}");
        // No call of `home` is in sight: the call inside it tells its arguments.
        assert!(got.contains(&"crd(b) >= 0 => home(W, crd(b)) <= b".to_string()), "{got:?}");
        assert_eq!(got.len(), 4, "{got:?}");
    }

    #[test]
    fn a_closed_formula_is_its_own_instance() {
        assert_eq!(instances("pos(0) = 0", "x = 1"), ["pos(0) = 0"]);
    }
}
