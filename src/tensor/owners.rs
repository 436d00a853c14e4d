//! The entries that elements of index arrays belong to.
//!
//! A property is about arrays, but people know their entries: where one is broken, those are named whose
//! positions read the elements at fault.

use std::ops::ControlFlow;

use super::points::{Points, Scope};
use super::tensor::Tensor;
use super::unpack::variables;
use crate::diagnostic::Result;
use crate::formula::{Call, Linear, Name};
use crate::layout::visit;

/// Arrays that break a property may have segments without end.
const MOST_ROUNDS: u64 = 1 << 22;

/// For each of the elements that an entry reads, one line: `crd(2) belongs to entry (0, 5)`.
pub(super) fn of(tensor: &Tensor, scope: &Scope<'_>, elements: &[(Name, usize)]) -> Vec<String> {
    // What is at fault may be the very thing that reading needs: then nothing is said.
    let owners = find(tensor, scope, elements).unwrap_or_default();
    let named = elements.iter().zip(owners).filter_map(|((array, at), owner)| {
        let point: Vec<String> = owner?.iter().map(i64::to_string).collect();
        let at = tensor.arguments(array, *at);
        Some(format!("{array}({at}) belongs to entry ({})", point.join(", ")))
    });
    let mut out: Vec<String> = named.collect();
    out.dedup();
    out
}

/// A read of one of the arrays, its arguments compiled.
struct Read {
    array: Name,
    args: Vec<Linear>,
}

/// For each element the coordinates of the first entry that reads it.
fn find(
    tensor: &Tensor,
    scope: &Scope<'_>,
    elements: &[(Name, usize)],
) -> Result<Vec<Option<Vec<i64>>>> {
    let layout = tensor.layout();
    let variables = variables(layout);
    let coordinates = layout.relation.positions.len();
    let mut owners: Vec<Option<Vec<i64>>> = vec![None; elements.len()];
    for piece in &layout.relation.pieces {
        let mut constraints = piece.clone();
        constraints.extend(layout.within_extents());
        let Ok(steps) = visit::steps(&variables, &constraints) else { continue };
        let points = Points::new(scope, &variables, &steps)?;
        let mut calls: Vec<Call> = Vec::new();
        let mut add = |call: &Call| {
            if elements.iter().any(|(array, _)| *array == call.array) && !calls.contains(call) {
                calls.push(call.clone());
            }
        };
        piece.iter().for_each(|c| c.visit_calls(&mut add));
        let mut reads = Vec::new();
        for call in calls {
            let args: Result<Vec<Linear>> =
                call.args.iter().map(|arg| scope.compile(arg, &variables)).collect();
            reads.push(Read { array: call.array, args: args? });
        }
        let mut look = |point: &[i64]| {
            for read in &reads {
                let args = read.args.iter().map(|arg| scope.eval(arg, point).ok());
                let at = args.collect::<Option<Vec<i64>>>();
                let at = at.and_then(|args| scope.offset(&read.array, &args));
                for ((array, element), owner) in elements.iter().zip(&mut owners) {
                    if owner.is_none() && *array == read.array && at == i64::try_from(*element).ok()
                    {
                        *owner = Some(point[coordinates..].to_vec());
                    }
                }
            }
            match owners.iter().all(Option::is_some) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        // An entry may have been found before a fault.
        let _ended = points.visit_some(scope, MOST_ROUNDS, &mut look);
    }
    Ok(owners)
}
