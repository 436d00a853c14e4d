//! What is done at a point.

use super::tree::{Block, Lookup, Node, Place, Term, Update};
use crate::formula::Name;
use crate::iterspace::{Elsewhere, Operand, Source, Space};
use crate::operators::{Operators, Region, Tree, Value};

/// The updates at a point of a space, if what is looked up says that it counts. `at` is where operands are stored.
pub(super) fn leaf(space: &Space, at: &dyn Fn(usize) -> Place) -> Block {
    let term = |source: &Source| match source {
        Source::Operand(k) if space.stored.contains(k) => Term::Element(at(*k)),
        Source::Operand(k) => Term::Found(lookup_name(space, *k)),
        Source::Index(index) => Term::Index(index.clone()),
    };
    let op = match space.elsewhere {
        Some(Elsewhere::Begun) => None,
        Some(Elsewhere::Counted(_)) | None => Some(space.op.clone()),
    };
    let target = stored_at(space.output());
    let value = space.value.map(&term);
    let mut out = vec![Node::Update(Box::new(Update { target, op, value }))];
    if let (Some(counter), Ok(sum)) = (space.counter(), Operators::sum()) {
        let target = stored_at(&space.operands[counter]);
        let one = Tree::Number(Value::I64(1));
        out.push(Node::Update(Box::new(Update { target, op: Some(sum), value: one })));
    }
    match space.rest {
        Region::All => out,
        _ => {
            let region = space.rest.map(&|&k| lookup_name(space, k));
            vec![Node::When { region, body: out }]
        }
    }
}

/// Where an operand is stored at a point of its space.
pub(super) fn stored_at(o: &Operand) -> Place {
    Place { array: o.value_array.clone(), index: o.value_index.clone() }
}

/// The lookup of an operand.
pub(super) fn looked_up(space: &Space, operand: usize, body: Block) -> Lookup {
    let (read, asked) = (space.reads(operand), space.asks(operand));
    let (name, fill) = (lookup_name(space, operand), space.operands[operand].fill);
    Lookup { name, fill, read, asked, body }
}

/// A name that no index has, which may have any.
pub(super) fn lookup_name(space: &Space, operand: usize) -> Name {
    space.names.clone().fresh(&format!("found_{}", space.operands[operand].label))
}
