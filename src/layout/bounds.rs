//! Extents: how many values a variable takes, as its bounds tell.
//!
//! In: a conjunction such as `0 <= p1 <= ceil(I/4)`. Out: the exclusive upper bound over sizes
//! alone, here `floor((I + 3)/4) + 1`.

use crate::formula::{Affine, Arith, Constraint, Name, Relop};

/// The exclusive upper bound of `var`, when one is given in sizes only (names for which `is_size`
/// holds) and without index-array calls.
pub(super) fn extent_of(
    var: &str,
    constraints: &[Constraint],
    is_size: &dyn Fn(&Name) -> bool,
) -> Option<Affine> {
    constraints.iter().find_map(|c| {
        let k = c.affine.coefficient_of_var(var);
        // -k*var + rest >= 0, or var = rest.
        let rest = match c.relop {
            Relop::Ge if k < 0 => c.affine.clone() + Affine::var(var) * -k,
            Relop::Eq if k == -1 => c.affine.clone() + Affine::var(var),
            Relop::Eq if k == 1 => Affine::var(var) - c.affine.clone(),
            _ => return None,
        };
        let mut closed = !rest.has_calls();
        rest.visit_vars(&mut |n| closed &= is_size(n) && &**n != var);
        closed.then(|| rest.floor_div(k.abs().max(1)) + Affine::constant(1))
    })
}

/// `e1 * e2 * …`, with the integer factors multiplied out; 1 for none.
pub(super) fn product(extents: &[Arith]) -> Arith {
    let mut constant: i64 = 1;
    let mut out: Option<Arith> = None;
    for e in extents {
        out = match (e, out) {
            (Arith::Int(n), out) if constant.checked_mul(*n).is_some() => {
                constant *= n;
                out
            }
            (e, None) => Some(e.clone()),
            (e, Some(f)) => Some(Arith::Mul(Box::new(f), Box::new(e.clone()))),
        };
    }
    match out {
        None => Arith::Int(constant),
        Some(f) if constant == 1 => f,
        Some(f) => Arith::Mul(Box::new(f), Box::new(Arith::Int(constant))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::parse;

    fn extent(var: &str, text: &str) -> Option<String> {
        let c = parse::formula(text).unwrap().as_conjunction().unwrap();
        let is_size = |n: &Name| n.starts_with(|c: char| c.is_uppercase());
        extent_of(var, &c, &is_size).map(|e| e.to_string())
    }

    #[test]
    fn the_first_bound_in_sizes_alone_is_the_extent() {
        assert_eq!(extent("p", "0 <= p < N"), Some("N".into()));
        assert_eq!(extent("p", "0 <= p <= N"), Some("N + 1".into()));
        assert_eq!(extent("p", "0 <= p and 4*p < N"), Some("floor((N + 3)/4)".into()));
        assert_eq!(extent("p", "p < pos(q) and p < 4"), Some("4".into()));
        assert_eq!(extent("p", "p <= q and q < N"), None);
    }

    #[test]
    fn products_fold_their_integers() {
        let of = |text: &[&str]| {
            let e: Vec<Arith> = text.iter().map(|t| parse::arith(t).unwrap()).collect();
            product(&e).to_string()
        };
        assert_eq!(of(&["N", "4", "4"]), "N*16");
        assert_eq!(of(&["I", "J + 1"]), "I*(J + 1)");
        assert_eq!(of(&[]), "1");
    }
}
