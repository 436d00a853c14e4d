//! Other orders than the default one, for the cost model to choose from.
//!
//! A tensor that is stored in another order than the loops have is searched in each of their iterations. Its
//! positions may be fused instead: then it is one list, in which one search finds all entries of an index.
//!
//! ```text
//! C[i,j] += A[i,k] * B[k,j]      A by rows, B and C by columns
//!
//! j, i, k                        each column with each row: i * j searches
//! j, k, pA1 with pA0, pA1 fused  for each entry of a column of B, the entries of A that have its row as column
//! ```

use super::order::determined_at;
use crate::formula::Name;
use crate::iterspace::Space;

/// An order to ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// Outermost first: indices and positions.
    pub order: Vec<Name>,
    /// Positions to be visited as one loop.
    pub fused: Vec<Vec<Name>>,
}

/// That in which nothing is fused.
impl From<Vec<Name>> for Alternative {
    fn from(order: Vec<Name>) -> Alternative {
        Alternative { order, fused: Vec::new() }
    }
}

/// So many indices have few enough orders to try.
const MOST_INDICES: usize = 4;

/// The orders of all indices of `space` that begin with `first`, if there is one: each as it is, and with those tensors
/// fused that are stored in another.
pub fn alternatives(space: &Space, first: Option<&Name>) -> Vec<Alternative> {
    let mut out = Vec::new();
    if space.indices.len() > MOST_INDICES {
        return out;
    }
    let begins = |order: &Vec<Name>| first.is_none_or(|first| order.first() == Some(first));
    for order in permutations(&space.indices).into_iter().filter(begins) {
        let fused = fused(space, &order);
        if !fused.fused.is_empty() {
            out.push(fused);
        }
        out.push(order.into());
    }
    out
}

/// An order of indices in which tensors that are stored otherwise are one list, which is entered where the index
/// of its last position is known.
fn fused(space: &Space, order: &[Name]) -> Alternative {
    let mut out = Alternative::from(order.to_vec());
    let rank = |index: &Name| order.iter().position(|i| i == index);
    for o in space.present() {
        let (decided, Some(last)) = (determined_at(space, o), o.positions.last()) else { continue };
        let ranks: Vec<_> = decided.iter().map(|(index, _)| rank(index)).collect();
        let key = decided.iter().rfind(|(_, position)| position == last);
        let Some((key, _)) = key.filter(|_| o.positions.len() > 1 && !ranks.is_sorted()) else {
            continue;
        };
        let at = out.order.iter().position(|n| n == key).map_or(0, |at| at + 1);
        out.order.insert(at, last.clone());
        out.fused.push(o.positions.clone());
    }
    out
}

/// All orders of some names, that in which they are first.
fn permutations(names: &[Name]) -> Vec<Vec<Name>> {
    let Some((first, others)) = names.split_first() else { return vec![Vec::new()] };
    let mut out = Vec::new();
    let inner = permutations(others);
    for at in 0..names.len() {
        for order in &inner {
            let mut order = order.clone();
            order.insert(at, first.clone());
            out.push(order);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_orders_of_three_names_are_six_and_begin_with_their_own() {
        let names: Vec<Name> = ["i", "j", "k"].map(Name::from).to_vec();
        let mut all = permutations(&names);
        assert_eq!(all[0], names);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 6);
    }
}
