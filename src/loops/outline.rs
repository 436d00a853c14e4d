//! What of the tree is seen when it is printed: all but the proofs.
//!
//! A plan that was read from text was not proved, so that a tree which is read is an outline and
//! never [`Loops`].

use super::tree::{Block, Loops, Node, SearchId};
use crate::formula::Name;

/// The tree, its searches numbered in the order in which they are printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    pub body: Block,
    pub searches: Vec<Sought>,
}

/// What is said of a search: its position, and the plan in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Sought {
    pub position: Name,
    pub plan: String,
}

impl Outline {
    pub fn search(&self, id: SearchId) -> &Sought {
        &self.searches[id.index()]
    }
}

impl Loops {
    pub fn outline(&self) -> Outline {
        let mut ids = Vec::new();
        let body = seen(&self.body, &mut ids);
        let sought = |id: &SearchId| {
            let find = self.find(*id);
            Sought {
                position: find.name_in_tree(&find.find.problem.position),
                plan: find.plan.to_string(),
            }
        };
        Outline { body, searches: ids.iter().map(sought).collect() }
    }
}

/// The number of a search; `ids` are those met so far.
fn number(id: SearchId, ids: &mut Vec<SearchId>) -> SearchId {
    let known = ids.iter().position(|other| *other == id);
    let k = known.unwrap_or_else(|| {
        ids.push(id);
        ids.len() - 1
    });
    SearchId(k as u32)
}

fn seen(block: &Block, ids: &mut Vec<SearchId>) -> Block {
    block.iter().map(|node| seen_node(node, ids)).collect()
}

fn seen_node(node: &Node, ids: &mut Vec<SearchId>) -> Node {
    let mut node = node.clone();
    match &mut node {
        Node::State(id) => *id = number(*id, ids),
        Node::Search(s) => s.id = number(s.id, ids),
        _ => {}
    }
    for inner in node.blocks_mut() {
        *inner = seen(inner, ids);
    }
    node
}
