//! Indices that values decide: where a value is nothing unless an index equals what is read, `select(k == p[i], x, 0)`,
//! the loop over it is one iteration if what is read is known.

use crate::formula::Name;
use crate::iterspace::{Source, Space};
use crate::operators::Tree;

/// The indices that are compared with what other operands hold.
pub(super) fn sought(space: &Space) -> Vec<Name> {
    let mut out = Vec::new();
    collect(&space.value, &mut out);
    out
}

fn collect(tree: &Tree<Source>, out: &mut Vec<Name>) {
    match tree {
        Tree::Leaf(_) | Tree::Number(_) => {}
        Tree::Cast(_, inner) => collect(inner, out),
        Tree::If(choice) => collect(&choice.then, out),
        Tree::Apply(apply) => {
            if let (Some("=="), [a, b]) = (apply.op.symbol(), apply.args.as_slice()) {
                for (index, number) in [(a, b), (b, a)] {
                    let read = |s: &&Source| matches!(s, Source::Operand(_));
                    match index_of(index) {
                        Some(index)
                            if !number.leaves().contains(&&Source::Index(index.clone()))
                                && number.leaves().iter().any(read) =>
                        {
                            out.push(index.clone());
                        }
                        _ => {}
                    }
                }
            }
            apply.args.iter().for_each(|arg| collect(arg, out));
        }
    }
}

/// The index that a tree is, but for a number that is added or subtracted.
fn index_of(tree: &Tree<Source>) -> Option<&Name> {
    match tree {
        Tree::Leaf(Source::Index(index)) => Some(index),
        Tree::Apply(apply) => match (apply.op.symbol(), apply.args.as_slice()) {
            (Some("+" | "-"), [Tree::Leaf(Source::Index(index)), Tree::Number(_)]) => Some(index),
            _ => None,
        },
        _ => None,
    }
}
