//! How far linear forms and indices reach, given the extents of indices.
//!
//! Computed in 128 bits; what does not fit them is refused or bounded by infinity, never wrapped.

use indexmap::IndexMap;

use crate::formula::{Affine, Atom, Constraint, Formula, Name, Relop};

/// Least and greatest value over all index values; `None` if one of its indices has no values.
///
/// Exact for linear forms. A form with floor divisions (which a restriction may have, but no
/// subscript) is bounded by infinity, and so is what exceeds 128 bits: a safe answer for
/// [`implied`].
pub fn range(affine: &Affine, indices: &IndexMap<Name, usize>) -> Option<(i128, i128)> {
    let mut least = i128::from(affine.offset());
    let mut greatest = least;
    for (atom, coefficient) in affine.terms() {
        let extent = match atom {
            Atom::Var(index) => *indices.get(index)?,
            Atom::Call(_) | Atom::Floor(..) => return Some((i128::MIN, i128::MAX)),
        };
        let last = extent.checked_sub(1)? as i128;
        let reach = last.saturating_mul(i128::from(*coefficient));
        least = least.saturating_add(reach.min(0));
        greatest = greatest.saturating_add(reach.max(0));
    }
    Some((least, greatest))
}

/// How many values of `index`, from 0, can have `subscript` in `0..extent`, while the other indices
/// are anywhere below their extents. `Ok(None)`: the subscript does not tell, as it does not
/// mention the index, or one of the others has no known extent and may make up for any value.
///
/// # Errors
/// That a number does not fit 128 bits.
pub fn values_inside(
    subscript: &Affine,
    extent: usize,
    index: &Name,
    indices: &IndexMap<Name, usize>,
) -> Result<Option<i128>, TooLarge> {
    let own = i128::from(subscript.coefficient_of_var(index));
    if own == 0 {
        return Ok(None);
    }
    // own*index <= slack: from `subscript <= extent - 1` if it grows with the index, from
    // `subscript >= 0` if it falls.
    let sign = own.signum();
    let offset = i128::from(subscript.offset());
    let mut slack = if sign > 0 { extent as i128 - 1 - offset } else { offset };
    for (atom, coefficient) in subscript.terms() {
        let Atom::Var(other) = atom else { return Ok(None) };
        // What the other index adds with the same sign takes slack away: at least none.
        let helps = -sign * i128::from(*coefficient);
        if other == index || helps <= 0 {
            continue;
        }
        let Some(&extent) = indices.get(other) else { return Ok(None) };
        let most = helps.checked_mul(extent.saturating_sub(1) as i128).ok_or(TooLarge)?;
        slack = slack.checked_add(most).ok_or(TooLarge)?;
    }
    Ok(Some((slack.div_euclid(own.abs()) + 1).max(0)))
}

/// A number does not fit.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLarge;

/// Whether `formula` implies the goal, given whether a single fact `affine >= 0` does. Sound but
/// not complete: facts are not combined.
pub fn implied(formula: &Formula, follows: &impl Fn(&Affine) -> bool) -> bool {
    match formula {
        Formula::Constraint(c) => match c.relop {
            Relop::Ge => follows(&c.affine),
            Relop::Eq => follows(&c.affine) || follows(&-c.affine.clone()),
            Relop::Ne => false,
        },
        Formula::And(parts) => parts.iter().any(|p| implied(p, follows)),
        Formula::Or(parts) => parts.iter().all(|p| implied(p, follows)),
        Formula::Not(_) | Formula::Implies(..) | Formula::Predicate(..) => false,
    }
}

/// `0 <= affine`, as it is printed.
pub fn not_negative(affine: &Affine) -> Constraint {
    Constraint::le(Affine::zero(), affine.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::parse::affine;

    fn inside(subscript: &str, extent: usize, known: &[(&str, usize)]) -> Option<i128> {
        let known = known.iter().map(|(n, e)| (Name::from(*n), *e)).collect();
        values_inside(&affine(subscript).unwrap(), extent, &Name::from("i"), &known).unwrap()
    }

    #[test]
    fn the_values_that_stay_inside_are_counted() {
        assert_eq!(inside("i + 1", 4, &[]), Some(3));
        assert_eq!(inside("i - 1", 4, &[]), Some(5));
        assert_eq!(inside("i + 9", 4, &[]), Some(0));
        assert_eq!(inside("2*i", 5, &[]), Some(3));
        assert_eq!(inside("2*i + 1", 5, &[]), Some(2));
        assert_eq!(inside("2 - i", 9, &[]), Some(3));
        assert_eq!(inside("i", 0, &[]), Some(0));
        assert_eq!(inside("i + j", 5, &[]), Some(5), "j may be 0");
        assert_eq!(inside("i - j", 5, &[]), None, "j may be anything");
        assert_eq!(inside("i - j", 5, &[("j", 3)]), Some(7));
        assert_eq!(inside("3 + 2*j - i", 5, &[("j", 3)]), Some(8));
        assert_eq!(inside("j", 5, &[("j", 3)]), None);
    }

    #[test]
    fn huge_numbers_neither_wrap_nor_panic() {
        let large = 9_000_000_000_000_000_000;
        assert_eq!(inside("4*i", large, &[]), Some(2_250_000_000_000_000_000));
        assert_eq!(inside("i - 4*j", large, &[("j", large)]), Some(45_000_000_000_000_000_000 - 4));
        let sum: Vec<String> = (0..40).map(|k| format!("1152921504606846975*j{k}")).collect();
        let wide = Affine::var("i")
            - sum.iter().fold(Affine::zero(), |sum, text| sum + affine(text).unwrap());
        let known = (0..40).map(|k| (Name::from(format!("j{k}")), usize::MAX)).collect();
        assert_eq!(values_inside(&wide, 1, &Name::from("i"), &known), Err(TooLarge));
    }
}
