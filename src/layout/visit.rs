//! The order in which the variables of a conjunction are found.
//!
//! In: constraints over variables, sizes and index arrays. Out: [`Step`]s, each of which uses only
//! what earlier ones have found. They are followed on concrete arrays and in generated code.
//!
//! ```text
//! 0 <= p0 < I and i = p0 and pos(p0) <= p1 < pos(p0 + 1) and j = crd(p1)
//! ```
//! becomes: loop `p0`, solve `i`, loop `p1`, solve `j`.

use crate::formula::{Affine, Constraint, Name, Relop};

/// How the next variable is found, or a condition that all its variables allow to check.
#[derive(Clone, Debug, PartialEq)]
#[doc(hidden)]
pub enum Step {
    /// `variable = value`
    Solve {
        variable: Name,
        value: Affine,
    },
    /// Every integer that satisfies all bounds.
    Loop {
        variable: Name,
        lower: Vec<Bound>,
        upper: Vec<Bound>,
    },
    Check(Constraint),
}

impl Step {
    /// Calls `f` on every form that is evaluated.
    pub fn visit_affine(&self, f: &mut dyn FnMut(&Affine)) {
        match self {
            Step::Solve { value, .. } => f(value),
            Step::Loop { lower, upper, .. } => lower.iter().chain(upper).for_each(|b| f(&b.rest)),
            Step::Check(c) => f(&c.affine),
        }
    }
}

/// `coefficient * variable + rest >= 0`; the coefficient is positive in a lower bound and negative
/// in an upper one.
#[derive(Clone, Debug, PartialEq)]
#[doc(hidden)]
pub struct Bound {
    pub coefficient: i64,
    pub rest: Affine,
}

/// Steps that visit every point of a conjunction once, in the lexicographic order of `variables`
/// as far as the bounds allow. Sizes are the names that are not variables.
///
/// # Errors
/// The name of a variable that nothing bounds.
pub fn steps(variables: &[Name], constraints: &[Constraint]) -> Result<Vec<Step>, Name> {
    let mut known: Vec<Name> = Vec::new();
    let mut pending: Vec<Constraint> = constraints.to_vec();
    let mut combined = false;
    let mut steps = Vec::new();
    // What the sizes alone forbid: a loop around one that is empty would find nothing, slowly.
    let mut empty: Vec<Step> = Vec::new();
    loop {
        let open = |a: &Affine, known: &[Name]| open_variables(a, variables, known);
        let (ready, rest): (Vec<_>, Vec<_>) =
            pending.into_iter().partition(|c| open(&c.affine, &known).is_empty());
        pending = rest;
        steps.extend(ready.into_iter().map(Step::Check));
        let Some(first_open) = variables.iter().find(|x| !known.contains(x)) else {
            empty.extend(steps);
            return Ok(empty);
        };
        // The one variable that a constraint leaves open, with its coefficient and the rest.
        let single = |c: &Constraint| -> Option<(Name, i64, Affine)> {
            let open = open(&c.affine, &known);
            let [x] = open.as_slice() else { return None };
            let k = c.affine.coefficient_of_var(x);
            let rest = c.affine.clone() - Affine::var(x.clone()) * k;
            (k != 0 && !rest.mentions(x)).then(|| (x.clone(), k, rest))
        };
        let solved = pending.iter().enumerate().find_map(|(at, c)| {
            let (variable, k, rest) = single(c).filter(|_| c.relop == Relop::Eq)?;
            (k.abs() == 1).then(|| (at, variable, rest * -k))
        });
        if let Some((at, variable, value)) = solved {
            pending.remove(at);
            known.push(variable.clone());
            steps.push(Step::Solve { variable, value });
            continue;
        }
        let bounds = |x: &Name| -> Option<(Vec<Bound>, Vec<Bound>)> {
            let (mut lower, mut upper) = (Vec::new(), Vec::new());
            for c in &pending {
                let Some((_, k, rest)) = single(c).filter(|(y, ..)| y == x) else { continue };
                let bound = |sign: i64| Bound { coefficient: k * sign, rest: rest.clone() * sign };
                match c.relop {
                    Relop::Ge if k > 0 => lower.push(bound(1)),
                    Relop::Ge => upper.push(bound(1)),
                    Relop::Eq => {
                        lower.push(bound(k.signum()));
                        upper.push(bound(-k.signum()));
                    }
                    Relop::Ne => {}
                }
            }
            (!lower.is_empty() && !upper.is_empty()).then_some((lower, upper))
        };
        let chosen = variables
            .iter()
            .filter(|x| !known.contains(x))
            .find_map(|x| Some((x.clone(), bounds(x)?)));
        let Some((variable, (lower, upper))) = chosen else {
            // `p < q and q < N` bounds `p` by `N - 1`.
            if combined {
                return Err(first_open.clone());
            }
            combined = true;
            let more = combinations(variables, &pending);
            pending.extend(more);
            continue;
        };
        // Inequalities are used up as bounds; an equation must still be checked.
        pending.retain(|c| c.relop != Relop::Ge || single(c).is_none_or(|(y, ..)| y != variable));
        known.push(variable.clone());
        if steps.iter().any(|step| matches!(step, Step::Loop { .. })) {
            let has_room =
                lower.iter().flat_map(|l| upper.iter().filter_map(|u| room(l, u, variables)));
            empty.extend(has_room.map(Step::Check));
        }
        steps.push(Step::Loop { variable, lower, upper });
    }
}

/// That bounds by sizes alone leave a number between them.
fn room(lower: &Bound, upper: &Bound, variables: &[Name]) -> Option<Constraint> {
    let by_sizes = |b: &Bound| !b.rest.has_calls() && !variables.iter().any(|x| b.rest.mentions(x));
    if !by_sizes(lower) || !by_sizes(upper) {
        return None;
    }
    let affine = lower.rest.clone() * -upper.coefficient + upper.rest.clone() * lower.coefficient;
    let room = Constraint { affine, relop: Relop::Ge };
    (room.as_bool() != Some(true)).then_some(room)
}

/// Sums of two inequalities in which a variable cancels.
fn combinations(variables: &[Name], constraints: &[Constraint]) -> Vec<Constraint> {
    let mut out: Vec<Constraint> = Vec::new();
    let bounds = |x: &Name, k: i64| {
        let x = x.clone();
        constraints
            .iter()
            .filter(move |c| c.relop == Relop::Ge && c.affine.coefficient_of_var(&x) == k)
    };
    for x in variables {
        for lower in bounds(x, 1) {
            for upper in bounds(x, -1) {
                let affine = lower.affine.clone() + upper.affine.clone();
                let sum = Constraint { affine, relop: Relop::Ge };
                if !sum.mentions(x) && !constraints.contains(&sum) && !out.contains(&sum) {
                    out.push(sum);
                }
            }
        }
    }
    out
}

fn open_variables(a: &Affine, variables: &[Name], known: &[Name]) -> Vec<Name> {
    let mut out: Vec<Name> = Vec::new();
    a.visit_vars(&mut |n| {
        if variables.contains(n) && !known.contains(n) && !out.contains(n) {
            out.push(n.clone());
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::parse;

    fn order(variables: &[&str], text: &str) -> Result<Vec<String>, Name> {
        let variables: Vec<Name> = variables.iter().map(|&v| Name::from(v)).collect();
        let constraints = parse::formula(text).unwrap().as_conjunction().unwrap();
        let show = |step: &Step| match step {
            Step::Solve { variable, value } => format!("{variable} = {value}"),
            Step::Loop { variable, .. } => format!("loop {variable}"),
            Step::Check(c) => format!("check {c}"),
        };
        Ok(steps(&variables, &constraints)?.iter().map(show).collect())
    }

    #[test]
    fn variables_are_solved_as_soon_as_an_equation_allows() {
        let text =
            "0 <= p0 < I and i = p0 and pos(p0) <= p1 < pos(p0 + 1) and j = crd(p1) and j <= i";
        assert_eq!(
            order(&["p0", "p1", "i", "j"], text).unwrap(),
            ["loop p0", "i = p0", "loop p1", "j = crd(p1)", "check j <= i"]
        );
    }

    #[test]
    fn sizes_that_leave_a_loop_empty_are_looked_at_first() {
        let text = "0 <= p and p < I and 0 <= q and M*q < J";
        let text = text.replace('M', "4");
        let found = order(&["p", "q"], &text).unwrap();
        assert_eq!(found, ["check J >= 1", "loop p", "loop q"]);
    }

    #[test]
    fn a_variable_without_bounds_waits_or_is_reported() {
        assert_eq!(order(&["x", "y"], "x = 2*y and 0 <= y < 3").unwrap(), ["loop y", "x = 2*y"]);
        assert_eq!(order(&["x", "y"], "0 <= x < 3 and y >= x").unwrap_err(), "y".into());
    }

    #[test]
    fn a_bound_may_come_through_another_variable() {
        let found = order(&["p", "q"], "0 <= p and p < q and q < N").unwrap();
        assert_eq!(found, ["check N >= 2", "loop p", "loop q"]);
    }
}
