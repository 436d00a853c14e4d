//! Entries that follow each other and have coordinates in common are visited together.
//!
//! Before → after, for a list of entries that is sorted by rows, times a matrix of which rows are searched:
//!
//! ```text
//! for pA in 0..P                                 group pA_first to pA_end in 0..P by i = crd0_A(pA_first)
//!   let i = crd0_A(pA)                             search pB0 in 0..Q where i = crd0_B(pB0)
//!   let j = crd1_A(pA)                               state pB1
//!   search pB0 in 0..Q where i = crd0_B(pB0)         for pA in pA_first..pA_end
//!     search pB1 in … where j = crd1_B(pB1)            let j = crd1_A(pA)
//!       S                                              search pB1 in … where j = crd1_B(pB1)
//!                                                        S
//! ```
//! What all of a group have in common is read, searched for and set up once. All points are visited, in the same order.
//! Queries that a search is no longer asked repeat the one before; a state that belongs to what a group has in common
//! begins with the group.

use super::tree::{Block, Find, Groups, Loop, Loops, Node, Search, SearchId, Threads, updates};
use crate::formula::{Affine, Atom, Name};
use crate::iterspace::Space;
use crate::layout::PropertyKind;
use crate::scan::{Bind, Grouped, Level, Nest, Range};
use crate::synth::{self, Sizes};

/// So many entries of a group pay for looking where it ends.
const ENTRIES: f64 = 3.0;

/// Which entries of the outermost loop of `nest` are taken together, if that spares searches or states: those that agree
/// in the first of the arrays by which all are sorted.
pub(super) fn grouped(space: &Space, nest: &Nest, sizes: &Sizes) -> Option<Grouped> {
    if !space.is_alone || space.merges || !space.lookups.is_empty() {
        return None;
    }
    let level = nest.levels.iter().position(|level| level.is_loop())?;
    // Loops would be gone through in another order, and results of several be appended.
    let goes_round = |level: &Level| level.is_loop() && !level.is_find();
    if nest.levels[level + 1..].iter().any(goes_round) {
        return None;
    }
    match &nest.levels[level].bind {
        Bind::Loop(range) if range.lower == [Affine::zero()] => {}
        _ => return None,
    }
    let position = &nest.levels[level].var;
    let operand = space.operands.iter().find(|o| o.positions.contains(position))?;
    let read = |array: &Name| {
        nest.levels[level + 1..].iter().find_map(|inner| match &inner.bind {
            Bind::Let(value) => match value.as_atom() {
                Some(Atom::Call(call)) => (call.array == *array
                    && call.args == [Affine::var(position.clone())])
                .then(|| inner.var.clone()),
                _ => None,
            },
            Bind::Loop(_) => None,
        })
    };
    let orders = operand.properties.iter().filter(|p| p.kind == PropertyKind::Lexicographic);
    orders.flat_map(|order| (1..order.arrays.len()).map(|k| &order.arrays[..k])).find_map(
        |arrays| {
            let by = arrays.iter().map(read).collect::<Option<Vec<_>>>()?;
            // What is tested before all of these are read is not tested of groups.
            let last = by.iter().filter_map(|name| nest.level_of(name)).max()?;
            let plain = |l: &Level| {
                !l.is_find()
                    && l.guards.is_empty()
                    && l.conditions.is_empty()
                    && l.restrictions.is_empty()
            };
            if !nest.levels[level..=last].iter().all(plain) {
                return None;
            }
            let grouped = nest.grouped(level, by, |name| space.owner(name).is_some());
            let entries = sizes.value(&sizes.entries_of(&grouped, nest));
            (entries >= ENTRIES && spares(nest, &grouped)).then_some(grouped)
        },
    )
}

/// Whether points are visited in the same order if the entries of a group are taken together: finds have one match at
/// most.
pub(super) fn may_be_grouped(nest: &Nest, finds: &[synth::Find]) -> bool {
    nest.grouped.is_none() || finds.iter().all(|find| find.unique)
}

/// Whether something is searched for, or what is searched begins anew, only from group to group.
fn spares(nest: &Nest, grouped: &Grouped) -> bool {
    let depends = |range: &Range| nest.levels.iter().any(|level| range.mentions(&level.var));
    (grouped.level + 1..nest.levels.len()).filter(|&at| nest.levels[at].is_find()).any(|at| {
        let range = match &nest.levels[at].bind {
            Bind::Loop(range) => range,
            Bind::Let(_) => return false,
        };
        nest.is_of_group(at, grouped) || depends(range) && nest.is_range_of_group(at, grouped)
    })
}

/// Takes the entries of the outermost loop together, as `nest` says; `params` are names of its sizes.
pub(super) fn group(loops: &mut Loops, nest: &Nest, params: &[Name]) {
    let Some(grouped) = &nest.grouped else { return };
    let position = &nest.levels[grouped.level].var;
    let mut body = std::mem::take(&mut loops.body);
    if let Some(node) = loop_over(&mut body, position)
        && let Node::For(entries) = &*node
        && (entries.parallel != Some(Threads::Apart) || own_targets(&entries.body, nest, grouped))
        && entries.skip.is_none()
        && grouped.by.iter().all(|name| binds_at_top(&entries.body, name))
    {
        let entries = (**entries).clone();
        let mut grouping =
            Grouping { nest, params, grouped, finds: &mut loops.finds, moved: Vec::new() };
        *node = grouping.groups(entries);
        let moved = grouping.moved;
        begun_inside(&mut body, &moved);
    }
    loops.body = body;
}

/// Whether each entry writes elements of its own. Sums of a group are written behind it: a thread that has a part of a group
/// would write what another has written.
fn own_targets(body: &Block, nest: &Nest, grouped: &Grouped) -> bool {
    let own = |n: &Name| nest.level_of(n).is_some_and(|level| !nest.is_of_group(level, grouped));
    updates(body).into_iter().all(|update| update.target.depends_on(&own))
}

fn binds_at_top(block: &Block, name: &Name) -> bool {
    block.iter().any(|node| matches!(node, Node::Let { var, .. } if var == name))
}

/// The loop over a position.
fn loop_over<'a>(block: &'a mut Block, position: &Name) -> Option<&'a mut Node> {
    block.iter_mut().find_map(|node| match node {
        Node::For(l) if l.var == *position => Some(node),
        node => node.blocks_mut().into_iter().find_map(|inner| loop_over(inner, position)),
    })
}

/// States that begin with each group do not begin before all of them.
fn begun_inside(block: &mut Block, moved: &[SearchId]) {
    block.retain(|node| !matches!(node, Node::State(id) if moved.contains(id)));
    for node in block {
        match node {
            Node::Groups(groups) => {
                groups.setup.retain(|node| !matches!(node, Node::State(id) if moved.contains(id)));
            }
            node => {
                let inner = node.blocks_mut().into_iter();
                inner.for_each(|inner| begun_inside(inner, moved));
            }
        }
    }
}

struct Grouping<'a> {
    nest: &'a Nest,
    params: &'a [Name],
    grouped: &'a Grouped,
    finds: &'a mut Vec<Find>,
    /// States that begin with each group.
    moved: Vec<SearchId>,
}

impl Grouping<'_> {
    fn groups(&mut self, entries: Loop) -> Node {
        let (first, end) = (self.fresh(&entries.var, "first"), self.fresh(&entries.var, "end"));
        let at_first = |n: &Name| (*n == entries.var).then(|| first.clone());
        let (by, rest): (Block, Block) = entries.body.into_iter().partition(
            |node| matches!(node, Node::Let { var, .. } if self.grouped.by.contains(var)),
        );
        let by = by.into_iter().filter_map(|node| match node {
            Node::Let { var, value } => Some((var, value.rename(&at_first))),
            _ => None,
        });
        let by = by.collect();
        let range = Range {
            lower: vec![Affine::var(first.clone())],
            upper: vec![Affine::var(end.clone())],
        };
        let each = Loop {
            var: entries.var,
            range,
            parallel: None,
            setup: Vec::new(),
            skip: None,
            body: Vec::new(),
        };
        let body = self.block(rest, each);
        let (range, parallel, setup) = (entries.range, entries.parallel, entries.setup);
        Node::Groups(Box::new(Groups { first, end, range, by, parallel, setup, body }))
    }

    /// What is done once for a group, and inside it, what is done for `each` of its entries.
    fn block(&mut self, nodes: Block, mut each: Loop) -> Block {
        let mut out = Vec::new();
        let mut nodes = nodes.into_iter().peekable();
        while let Some(node) = nodes.next() {
            let is_last = nodes.peek().is_none();
            let is_of_group = each.body.iter().all(|node| matches!(node, Node::Let { .. }))
                && self.is_of_group(&node);
            match node {
                Node::Let { .. } | Node::State(_) if is_of_group => out.push(node),
                Node::Search(mut search) if is_of_group && is_last => {
                    let found = std::mem::take(&mut search.found);
                    search.found = self.block(found, each);
                    out.push(Node::Search(search));
                    return out;
                }
                Node::If { tests, restrictions, body } if is_of_group && is_last => {
                    let body = self.block(body, each);
                    out.push(Node::If { tests, restrictions, body });
                    return out;
                }
                node => each.body.push(node),
            }
        }
        let asked = matches!(each.body.as_slice(), [lets @ .., Node::Search(_)]
            if lets.iter().all(|node| matches!(node, Node::Let { .. })));
        self.begin(&each.body, asked, &mut out);
        out.push(Node::For(Box::new(each)));
        out
    }

    /// States that are for what the group has in common begin with it. What is `asked` is all that is done for an entry.
    fn begin(&mut self, block: &Block, asked: bool, out: &mut Block) {
        for node in block {
            if let Node::Search(search) = node
                && self.begins(search)
            {
                let find = &mut self.finds[search.id.index()];
                find.plan = find.plan.begun_before(self.grouped.level + 1);
                // All queries of the loop have one state: once that has no position left, the rest finds nothing.
                find.leave |= asked;
                self.moved.push(search.id);
                out.push(Node::State(search.id));
            }
            node.blocks().into_iter().for_each(|inner| self.begin(inner, false, out));
        }
    }

    /// Whether the state of a search belongs to what a group has in common, and can be set up there.
    fn begins(&self, search: &Search) -> bool {
        let nest = self.nest;
        let Some(at) = nest.level_of(&search.var) else { return false };
        self.finds[search.id.index()].plan.begins_with(self.grouped, at, nest)
    }

    /// Whether a node does the same for all of a group.
    fn is_of_group(&self, node: &Node) -> bool {
        let nest = self.nest;
        // What is no level is a size.
        let of_group =
            |n: &Name| nest.level_of(n).is_none_or(|level| nest.is_of_group(level, self.grouped));
        match node {
            Node::Let { var, .. } => of_group(var),
            Node::Search(search) => {
                let plan = &self.finds[search.id.index()].plan;
                of_group(&search.var) && !plan.many && plan.state.iter().all(of_group)
            }
            Node::State(id) => {
                let find = &self.finds[id.index()];
                let level = nest.level_of(&find.find.problem.position);
                level.is_some_and(|level| nest.is_range_of_group(level, self.grouped))
                    && find.plan.state.iter().all(of_group)
            }
            Node::If { tests, restrictions, .. } => {
                let mut all = restrictions.is_empty();
                tests.iter().for_each(|test| test.affine.visit_vars(&mut |n| all &= of_group(n)));
                all
            }
            _ => false,
        }
    }

    /// A name that the nest does not use.
    fn fresh(&self, position: &Name, what: &str) -> Name {
        let is_used =
            |name: &Name| self.nest.level_of(name).is_some() || self.params.contains(name);
        let first = Name::from(format!("{position}_{what}"));
        let others = (2..).map(|k| Name::from(format!("{position}_{what}_{k}")));
        std::iter::once(first).chain(others).find(|name| !is_used(name)).unwrap_or_default()
    }
}
