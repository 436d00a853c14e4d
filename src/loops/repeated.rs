//! Loops of which all iterations do the same, as inside of runs.
//!
//! ```text
//! for x in left(p)..right(p)                 nothing of it depends on x:
//!   lookup found_A else 0.0                    what it finds before the update is found once,
//!     …                                        and the update is made for all of left(p)..right(p)
//!   val_y[x] += val_B[p] * found_A
//! ```

use super::tree::{Gather, Node, Place, Term, Update};
use crate::formula::Name;
use crate::operators::Region;

/// The body of such a loop.
#[derive(Clone, Copy)]
pub struct Repeated<'l> {
    /// What each iteration finds before the update.
    pub before: &'l [Node],
    /// What must have been found.
    pub region: Option<&'l Region<Name>>,
    /// The only update.
    pub update: &'l Update,
    /// It makes an entry of the result, of which there is nothing to gather.
    pub is_entry: bool,
}

/// The body of a loop over an index, if every iteration computes the same and nothing is computed but one update.
/// Where that writes may depend on the index.
pub fn repeated<'l>(index: &Name, body: &'l [Node]) -> Option<Repeated<'l>> {
    let fixed = body.iter().take_while(|node| node.is_fixed(index)).count();
    let (before, rest) = body.split_at(fixed);
    let (region, inner) = match rest {
        [Node::When { region, body }] => (Some(region), body.as_slice()),
        rest => (None, rest),
    };
    let (update, is_entry) = match inner {
        [Node::Update(update)] => (update, false),
        [Node::Assemble(a)] if a.gather == Gather::Nothing => match a.body.as_slice() {
            [Node::Update(update)] => (update, true),
            _ => return None,
        },
        _ => return None,
    };
    let depends = |place: &Place| place.depends_on(&|name| name == index);
    let is_index = |term: &&Term| matches!(term, Term::Index(own) if own == index);
    let same = !update.elements().any(depends) && !update.value.leaves().iter().any(is_index);
    same.then_some(Repeated { before, region, update, is_entry })
}

/// Whether entries of the result are made by such loops.
pub fn makes_runs(block: &[Node]) -> bool {
    block.iter().any(|node| {
        let own = match node {
            Node::For(l) => repeated(&l.var, &l.body),
            Node::Step(step) => repeated(&step.index, &step.body),
            _ => None,
        };
        own.is_some_and(|own| own.is_entry) || node.blocks().into_iter().any(|b| makes_runs(b))
    })
}
