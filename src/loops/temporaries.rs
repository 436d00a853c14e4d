//! Where a temporary begins: in the innermost block that holds all that is done with it, with the dimensions
//! that still differ there.

use rustc_hash::FxHashMap;

use super::sequence::Temporary;
use super::tree::{Begin, Block, Node, Place, Term};
use crate::formula::{Affine, Arith, Name};

/// Puts the beginning of a temporary into the tree. Loops that hold all that is done with it are shared by
/// what writes it and what reads it: it is proved that each iteration has elements of its own.
pub(super) fn begin(body: &mut Block, temporary: &Temporary) {
    let mentions: Vec<usize> =
        (0..body.len()).filter(|&k| mentions(&body[k], &temporary.array)).collect();
    match mentions.as_slice() {
        [] => {}
        [only] if enters(&body[*only]) => {
            if let Some(inner) = body[*only].blocks_mut().into_iter().next_back() {
                begin(inner, temporary);
            }
        }
        [first, ..] => {
            let first = *first;
            let mut found = Vec::new();
            forms(&body[first..], &temporary.array, &FxHashMap::default(), &mut found);
            let inside = super::tree::binds(&body[first..].to_vec());
            let same = |d: usize| {
                let form = found[0].get(d).and_then(Option::as_ref);
                let outside = form.filter(|form| {
                    let mut known = true;
                    form.visit_vars(&mut |n| known &= !inside.contains(n));
                    known
                });
                outside.is_some_and(|a| found.iter().all(|f| f.get(d) == Some(&Some(a.clone()))))
            };
            let kept: Vec<usize> = (0..temporary.shape.len()).filter(|&d| !same(d)).collect();
            keep(&mut body[first..], &temporary.array, &kept);
            let begin = Begin {
                array: temporary.array.clone(),
                shape: kept.iter().map(|&d| temporary.shape[d].clone()).collect(),
                value: temporary.value,
            };
            body.insert(first, Node::Begin(Box::new(begin)));
        }
    }
}

/// An array of `temporaries` that is touched where it has not begun, or not with these dimensions.
pub fn unbegun<'t>(block: &[Node], temporaries: &[&'t Name]) -> Option<&'t Name> {
    unbegun_in(block, temporaries, &mut Vec::new())
}

fn unbegun_in<'b, 't>(
    block: &'b [Node],
    temporaries: &[&'t Name],
    begun: &mut Vec<(&'b Name, usize)>,
) -> Option<&'t Name> {
    let outside = begun.len();
    for node in block {
        if let Node::Begin(begin) = node {
            begun.push((&begin.array, begin.shape.len()));
        }
        let touched = places(node).into_iter().find_map(|place| {
            let own = temporaries.iter().find(|t| ***t == place.array)?;
            (!begun.contains(&(&place.array, place.index.len()))).then_some(*own)
        });
        let inner = || node.blocks().into_iter().find_map(|b| unbegun_in(b, temporaries, begun));
        if let Some(found) = touched.or_else(inner) {
            return Some(found);
        }
    }
    begun.truncate(outside);
    None
}

/// Whether a temporary may begin inside a node.
fn enters(node: &Node) -> bool {
    match node {
        Node::For(l) => l.parallel.is_none() && l.setup.is_empty() && l.skip.is_none(),
        Node::If { .. } | Node::Piece(_) => true,
        _ => false,
    }
}

/// The elements that a node itself reads or writes.
fn places(node: &Node) -> Vec<&Place> {
    match node {
        Node::Update(u) => u.elements().chain([&u.target]).collect(),
        Node::Take(take) => vec![&take.place],
        _ => Vec::new(),
    }
}

fn mentions(node: &Node, array: &Name) -> bool {
    places(node).into_iter().any(|place| place.array == *array)
        || node.blocks().into_iter().flatten().any(|inner| mentions(inner, array))
}

/// The subscripts of every access to an array, in terms of what is bound around the block, as far as they are
/// linear forms.
fn forms(
    block: &[Node],
    array: &Name,
    around: &FxHashMap<Name, Affine>,
    out: &mut Vec<Vec<Option<Affine>>>,
) {
    let mut known = around.clone();
    let solved =
        |a: &Affine, known: &FxHashMap<Name, Affine>| a.substitute(&|n| known.get(n).cloned());
    for node in block {
        if let Node::Let { var, value } = node {
            let value = solved(value, &known);
            known.insert(var.clone(), value);
        }
        for place in places(node).into_iter().filter(|place| place.array == *array) {
            let form = |a: &Arith| a.to_affine().ok().map(|a| solved(&a, &known));
            out.push(place.index.iter().map(form).collect());
        }
        for inner in node.blocks() {
            forms(inner, array, &known, out);
        }
    }
}

/// Drops the other subscripts of an array.
fn keep(block: &mut [Node], array: &Name, kept: &[usize]) {
    let of = |place: &mut Place| {
        if place.array == *array {
            place.index = kept.iter().filter_map(|&d| place.index.get(d).cloned()).collect();
        }
    };
    for node in block {
        match node {
            Node::Update(u) => {
                of(&mut u.target);
                u.value = u.value.map(&|term| match term {
                    Term::Element(place) => {
                        let mut place = place.clone();
                        of(&mut place);
                        Term::Element(place)
                    }
                    other => other.clone(),
                });
            }
            Node::Take(take) => of(&mut take.place),
            _ => {}
        }
        node.blocks_mut().into_iter().for_each(|inner| keep(inner, array, kept));
    }
}
