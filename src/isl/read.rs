//! isl to constraints: the coefficients of each row, floors as [`Atom::Floor`].

use isl_rs::{Aff, BasicSet, Constraint as RawConstraint, DimType, LibISLError, Val};

use super::done;
use super::frame::Frame;
use crate::formula::{Affine, Atom, Constraint, Relop};

/// An integer of isl; 64 bits are this crate's limit for coefficients.
fn integer(value: Result<Val, LibISLError>) -> i64 {
    let value = done(value, "read a coefficient");
    done(value.get_num_si(), "fit a coefficient into 64 bits")
}

/// The constraints of one disjunct whose divisions are known, outer dimensions first; within a
/// dimension equations, then lower, then upper bounds.
pub(super) fn conjunction(frame: &Frame, set: &BasicSet) -> Vec<Constraint> {
    let list = done(set.get_constraint_list(), "list constraints");
    let count = done(list.size(), "count constraints");
    let mut out: Vec<((usize, u8), Constraint)> = (0..count)
        .map(|k| {
            let row = done(list.get_at(k), "get a constraint");
            let constraint = read_row(frame, &row);
            (sort_key(frame, &constraint), constraint)
        })
        .collect();
    out.sort_by_key(|(key, _)| *key);
    out.into_iter().map(|(_, constraint)| constraint).collect()
}

fn sort_key(frame: &Frame, constraint: &Constraint) -> (usize, u8) {
    fn deepest(frame: &Frame, affine: &Affine) -> Option<(usize, i64)> {
        affine
            .terms()
            .iter()
            .filter_map(|(atom, c)| match atom {
                Atom::Floor(inner, _) => {
                    deepest(frame, inner).map(|(at, inner)| (at, inner.signum() * c))
                }
                _ => frame.position(atom).map(|at| (at, *c)),
            })
            .max_by_key(|&(at, _)| at)
    }
    let (at, coefficient) = deepest(frame, &constraint.affine).unwrap_or((0, 0));
    let kind = match constraint.relop {
        Relop::Eq => 0,
        _ if coefficient > 0 => 1,
        _ => 2,
    };
    (at, kind)
}

fn read_row(frame: &Frame, row: &RawConstraint) -> Constraint {
    let divisions = done(row.dim(DimType::Div), "count divisions") as usize;
    let mut terms = Vec::new();
    for (kind, atoms) in [(DimType::Param, &frame.params), (DimType::Set, &frame.dims)] {
        for (at, atom) in atoms.iter().enumerate() {
            let c = integer(row.get_coefficient_val(kind, at as i32));
            if c != 0 {
                terms.push((atom.clone(), c));
            }
        }
    }
    let mut affine = Affine::from_terms(terms, integer(row.get_constant_val()));
    for at in 0..divisions {
        let c = integer(row.get_coefficient_val(DimType::Div, at as i32));
        if c != 0 {
            let division = done(row.get_div(at as i32), "read a division");
            affine = affine + quotient(&frame.params, &frame.dims, &division) * c;
        }
    }
    let equality = done(row.is_equality(), "tell equations from bounds");
    Constraint { affine, relop: if equality { Relop::Eq } else { Relop::Ge } }
}

/// `floor` of an isl expression (a linear form with a denominator and nested divisions) over the
/// given parameters and inputs. For the integer-valued expressions of a piecewise function the
/// floor changes nothing.
pub(super) fn quotient(params: &[Atom], inputs: &[Atom], expression: &Aff) -> Affine {
    let denominator = integer(expression.get_denominator_val());
    // Coefficients are rationals over (a divisor of) the common denominator.
    let scaled = |value: Result<Val, LibISLError>| {
        let value = done(value, "read a coefficient");
        let numerator = done(value.get_num_si(), "fit a coefficient into 64 bits");
        let own = done(value.get_den_si(), "fit a denominator into 64 bits");
        numerator * (denominator / own)
    };
    let mut terms = Vec::new();
    // The variables of an expression are its inputs: isl counts them as `In`.
    for (kind, atoms) in [(DimType::Param, params), (DimType::In, inputs)] {
        for (at, atom) in atoms.iter().enumerate() {
            let c = scaled(expression.get_coefficient_val(kind, at as i32));
            if c != 0 {
                terms.push((atom.clone(), c));
            }
        }
    }
    let mut affine = Affine::from_terms(terms, scaled(expression.get_constant_val()));
    let divisions = done(expression.dim(DimType::Div), "count divisions");
    for at in 0..divisions {
        let c = scaled(expression.get_coefficient_val(DimType::Div, at));
        if c != 0 {
            let division = done(expression.get_div(at), "read a division");
            affine = affine + quotient(params, inputs, &division) * c;
        }
    }
    affine.floor_div(denominator)
}
