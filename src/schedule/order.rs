//! The order in which the indices are wanted: what the user asked for, then what the storage of most
//! operands prefers.
//!
//! Every sparse operand wants its positions in storage order: `pA1` runs from `pos_A(pA0)`. A
//! precedence graph over the logical indices collects these wishes; a topological order of it is the
//! default.

use petgraph::algo::has_path_connecting;
use petgraph::graphmap::DiGraphMap;

use super::sought::sought;
use super::ties::{connected_where, prerequisites};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Constraint, Name, Relop};
use crate::iterspace::{Operand, Space};

/// What is wanted, outermost first: all indices, tiles of indices, and any positions.
pub(super) struct Wanted {
    pub dims: Vec<Name>,
    /// How many of them were asked for; the others are the default.
    pub requested: usize,
}

/// What `requested` asks for, and the default for what it leaves out.
pub(super) fn wanted(space: &Space, requested: &[Name]) -> Result<Wanted> {
    let all = space.dimensions();
    for name in requested {
        if !all.contains(name) {
            let known: Vec<&str> = all.iter().map(|n| &**n).collect();
            return Err(Diagnostic::new(
                Code::LoopOrder,
                format!("`{name}` in the loop order is neither an index nor a position"),
            )
            .help(format!("the dimensions of this computation are {}", known.join(", "))));
        }
    }
    if let Some((_, twice)) =
        requested.iter().enumerate().find(|(k, name)| requested[..*k].contains(name))
    {
        return Err(Diagnostic::new(
            Code::LoopOrder,
            format!("`{twice}` is in the loop order twice"),
        )
        .help("name each index or position once"));
    }
    refuse_cycles(space, requested)?;
    let default = default_indices(space);
    // Tiles of indices go outermost; other tiles are placed with what they are tiles of.
    let index_tiles = space.tiles.iter().filter(|t| space.indices.contains(&t.of));
    let index_tiles = index_tiles.map(|t| t.tile.clone()).filter(|t| !requested.contains(t));
    let mut wanted: Vec<Name> = index_tiles.collect();
    wanted.extend(requested.iter().cloned());
    let asked = wanted.len();
    wanted.extend(default.into_iter().filter(|n| !requested.contains(n)));
    Ok(Wanted { dims: wanted, requested: asked })
}

/// Logical indices in an order that agrees with the storage order of as many operands as possible,
/// earlier operands first.
fn default_indices(space: &Space) -> Vec<Name> {
    let mut graph: DiGraphMap<usize, ()> = DiGraphMap::new();
    for k in 0..space.indices.len() {
        graph.add_node(k);
    }
    let number = |n: &Name| space.indices.iter().position(|i| i == n);
    let mut indifferent: Vec<usize> = Vec::new();
    for o in space.present() {
        for pair in determined_at(space, o).windows(2) {
            let (Some(a), Some(b)) = (number(&pair[0].0), number(&pair[1].0)) else { continue };
            if go_together(space, &pair[0], &pair[1]) {
                indifferent.extend([a, b]);
            } else if a != b && !has_path_connecting(&graph, b, a, None) {
                graph.add_edge(a, b, ());
            }
        }
    }
    for (a, b) in along_memory(space) {
        let (Some(a), Some(b)) = (number(&a), number(&b)) else { continue };
        if a != b && !has_path_connecting(&graph, b, a, None) {
            graph.add_edge(a, b, ());
        }
    }
    // What values decide is known when all others are.
    let decided = sought(space);
    let decided: Vec<usize> = decided.iter().filter_map(number).collect();
    for &b in &decided {
        for a in (0..space.indices.len()).filter(|a| !decided.contains(a)) {
            if !has_path_connecting(&graph, b, a, None) {
                graph.add_edge(a, b, ());
            }
        }
    }
    // Kahn's algorithm, always taking the index that occurs first in the statement; indices of which
    // no storage wants an order go inside the others, and those that only run along rows of dense
    // operands inside everything else.
    let touched = |k: usize| graph.all_edges().any(|(a, b, ())| a == k || b == k);
    let unordered = |k: usize| indifferent.contains(&k) && !touched(k);
    let mut left: Vec<usize> = (0..space.indices.len()).collect();
    left.sort_by_key(|&k| (runs_along_dense_rows(space, &space.indices[k]), unordered(k)));
    let mut out = Vec::new();
    while let Some(at) = left
        .iter()
        .position(|&k| left.iter().all(|&other| other == k || !graph.contains_edge(other, k)))
    {
        out.push(space.indices[left.remove(at)].clone());
    }
    out
}

/// Where no operand has positions, pairs of indices of which the second moves through memory in smaller steps.
fn along_memory(space: &Space) -> Vec<(Name, Name)> {
    let mut out = Vec::new();
    if space.present().any(|o| !o.is_direct()) {
        return out;
    }
    for o in space.present() {
        let mut indices: Vec<Name> = Vec::new();
        for subscript in &o.value_index {
            subscript.visit_vars(&mut |i| {
                if space.indices.contains(i) && !indices.contains(i) {
                    indices.push(i.clone());
                }
            });
        }
        let steps: Option<Vec<(Name, u64)>> =
            indices.into_iter().map(|i| Some((i.clone(), step_along(space, o, &i)?))).collect();
        for (a, step) in steps.iter().flatten() {
            let smaller = steps.iter().flatten().filter(|(_, other)| other < step);
            out.extend(smaller.map(|(b, _)| (a.clone(), b.clone())));
        }
    }
    out
}

/// How far the value of a dense operand is from that at the next value of an index, in a tensor of some size: packed
/// triangles have rows as arrays have, though their subscript is one polynomial.
fn step_along(space: &Space, o: &Operand, index: &Name) -> Option<u64> {
    /// Extents are all the same, and indices somewhere in the middle, none like another.
    const EXTENT: i64 = 64;
    let middle = |n: &Name| 24 + space.indices.iter().position(|i| i == n).unwrap_or(0) as i64;
    let place = |moved: i64| -> Option<i64> {
        let variable = |n: &str| {
            let is_index = space.indices.iter().find(|i| ***i == *n);
            Some(is_index.map_or(EXTENT, |i| middle(i) + if i == index { moved } else { 0 }))
        };
        let meaning = (variable, |_: &str, _: &[i64]| None);
        let mut each = o.value_index.iter().zip(&o.value_shape);
        each.try_fold(0_i64, |at, (subscript, extent)| {
            at.checked_mul(extent.value(&meaning)?)?.checked_add(subscript.value(&meaning)?)
        })
    };
    Some(place(1)?.abs_diff(place(0)?))
}

/// True if no stored position decides `i`, another index has positions, and `i` is the last subscript
/// wherever it occurs: an inner loop over it touches memory in order, and can be vectorised.
fn runs_along_dense_rows(space: &Space, i: &Name) -> bool {
    let decided = space.present().any(|o| determined_order(space, o).contains(i));
    let any_sparse = space.present().any(|o| !o.is_direct());
    let last_everywhere = space.present().all(|o| {
        let others = o.subscripts.len().saturating_sub(1);
        o.subscripts[..others].iter().all(|s| !s.mentions(i))
    });
    any_sparse && !decided && last_everywhere
}

/// The logical indices of an operand in the order its storage decides them: an index whose equation
/// has several positions (the column of a diagonal) is known with the last of them.
fn determined_order(space: &Space, o: &Operand) -> Vec<Name> {
    determined_at(space, o).into_iter().map(|(i, _)| i).collect()
}

/// [`determined_order`], each index with the position that decides it.
pub(super) fn determined_at(space: &Space, o: &Operand) -> Vec<(Name, Name)> {
    let mut out: Vec<(Name, Name)> = Vec::new();
    for (k, p) in o.positions.iter().enumerate() {
        let later = &o.positions[k + 1..];
        let open = |c: &Constraint| c.relop == Relop::Eq && later.iter().any(|q| c.mentions(q));
        for i in connected_where(space, p, |c| !open(c)) {
            if !out.iter().any(|(known, _)| *known == i) {
                out.push((i, p.clone()));
            }
        }
    }
    out
}

/// Whether `i` and `j` go up together with position `p`, as row and column do along a diagonal: the
/// storage prefers neither, since each decides the other.
fn go_together(space: &Space, (i, p): &(Name, Name), (j, q): &(Name, Name)) -> bool {
    let linear = |i: &Name| {
        space
            .constraints
            .iter()
            .any(|c| c.relop == Relop::Eq && c.affine.coefficient_of_var(p) != 0 && c.mentions(i))
    };
    p == q && linear(i) && linear(j)
}

/// Whether an order has `outer` behind `inner`, with which it is fused: it is found from it, and may wait until
/// something else is known.
pub(super) fn found_later(space: &Space, order: &[Name], outer: &Name, inner: &Name) -> bool {
    let rank = |list: &[Name], name: &Name| list.iter().position(|n| n == name);
    let behind = rank(order, inner).zip(rank(order, outer)).is_some_and(|(i, o)| i < o);
    let within =
        |group: &Vec<Name>| rank(group, outer).zip(rank(group, inner)).is_some_and(|(o, i)| o < i);
    behind && space.fused.iter().any(within)
}

/// A requested order that puts a position before the one its bounds depend on has no scan.
fn refuse_cycles(space: &Space, requested: &[Name]) -> Result<()> {
    for (k, later) in requested.iter().enumerate() {
        for need in prerequisites(space, later) {
            let follows = requested.iter().skip(k + 1).any(|n| *n == need);
            if follows && !found_later(space, requested, &need, later) {
                let reads: Vec<String> = space
                    .constraints
                    .iter()
                    .filter(|c| c.affine.coefficient_of_var(later) != 0 && c.mentions(&need))
                    .map(ToString::to_string)
                    .collect();
                return Err(Diagnostic::new(
                    Code::LoopOrder,
                    format!(
                        "impossible loop order: {later} before {need} before {later} is a cycle"
                    ),
                )
                .note(format!("the order asks for {later} before {need}"))
                .note(format!("{need} comes before {later} because {}", reads.join(" and ")))
                .help(format!("put `{need}` before `{later}`")));
            }
        }
    }
    Ok(())
}
