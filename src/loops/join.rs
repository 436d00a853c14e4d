//! Pieces that run over the same positions become one nest.
//!
//! Two blocks join where both end in the same loop: what they bind before it comes first, their
//! bodies join inside. Names that both bind stay apart: the later piece's get a number.

use rustc_hash::FxHashSet;

use super::statement::Statement;
use super::tree::{
    Among, Assemble, Block, Groups, Lookup, Loop, Loops, Merge, Node, Place, Regions, Search, Skip,
    Step, Take, Term, Threads, Update, binds, updates,
};
use crate::formula::{Affine, Arith, Constraint, Formula, Name};
use crate::scan::Range;

/// Makes the tree of `pieces`, one for each statement. Loops over one range are `alike` whatever they are
/// called, if that is of use: then entries of several pieces come together.
pub(super) fn join(loops: &mut Loops, pieces: Vec<Block>, statements: &[Statement], alike: bool) {
    chain(loops, pieces, statements, |_| Sharing { alike, depth: usize::MAX });
}

/// Makes the tree of statements that run one after the other, each but the first sharing so many outer loops
/// with the one before.
pub(super) fn follow(
    loops: &mut Loops,
    blocks: Vec<Block>,
    statements: &[Statement],
    shared: &[Vec<Name>],
) {
    let depth = |k: usize| shared.get(k - 1).map_or(0, Vec::len);
    chain(loops, blocks, statements, |k| Sharing { alike: true, depth: depth(k) });
}

/// Makes the tree of `blocks`; `sharing` says what number `k`, not the first, shares with those before.
fn chain(
    loops: &mut Loops,
    blocks: Vec<Block>,
    statements: &[Statement],
    sharing: impl Fn(usize) -> Sharing,
) {
    let several = blocks.len() > 1;
    let mut taken = taken(statements);
    blocks.iter().for_each(|block| taken.extend(binds(block)));
    let mut out: Vec<Block> = Vec::new();
    for (k, block) in blocks.into_iter().enumerate() {
        let finds = loops.finds.clone();
        let before = out.last().cloned().map(|before| (before, sharing(k)));
        let both = before.filter(|(_, sharing)| sharing.depth > 0).and_then(|(before, sharing)| {
            let apart = told_apart(loops, &before, &block, k + 1, &mut taken);
            joint(loops, &before, &apart, (Vec::new(), Vec::new()), sharing)
        });
        match (both, out.last_mut()) {
            (Some(both), Some(last)) => *last = both,
            _ => {
                // The block keeps its names.
                loops.finds = finds;
                out.push(block);
            }
        }
    }
    loops.body = match out.len() {
        1 => out.remove(0),
        _ if several => out.into_iter().map(Node::Piece).collect(),
        _ => Vec::new(),
    };
}

/// The outermost loops of a tree, `depth` of them, if all that is done is inside.
pub(super) fn nested_loops(loops: &Loops, depth: usize) -> Option<Vec<(Name, Range)>> {
    let mut out = Vec::new();
    let mut block = as_loop(loops, &loops.body);
    while out.len() < depth {
        block = match ending(loops, &block)? {
            (_, Ending::Loop(l)) => {
                out.push((l.var.clone(), l.range.clone()));
                as_loop(loops, &l.body)
            }
            (_, Ending::Known(s)) => as_loop(loops, &s.found),
        };
    }
    Some(out)
}

/// Names that statements have.
fn taken(statements: &[Statement]) -> FxHashSet<Name> {
    let mut taken: FxHashSet<Name> = FxHashSet::default();
    for s in statements {
        taken.extend(s.space.dimensions());
        taken.extend(s.space.params());
        for o in &s.space.operands {
            taken.extend(o.arrays.keys().chain([&o.value_array]).cloned());
        }
    }
    taken
}

/// Which loops become one.
#[derive(Clone, Copy)]
struct Sharing {
    /// Those over one range, whatever they are called.
    alike: bool,
    /// At most so many.
    depth: usize,
}

/// The last node of a block, in which all is that it does.
#[derive(Clone, Copy)]
enum Ending<'a> {
    Loop(&'a Loop),
    /// A position that is known in closed form, and what is done if there is one.
    Known(&'a Search),
}

impl Ending<'_> {
    /// Whether another block may end in the same.
    fn is_like(self, other: Ending<'_>) -> bool {
        match (self, other) {
            (Ending::Loop(a), Ending::Loop(b)) => a.var == b.var,
            (Ending::Known(a), Ending::Known(b)) => {
                a.var == b.var && a.among == b.among && a.conditions == b.conditions
            }
            _ => false,
        }
    }

    fn var(&self) -> &Name {
        match self {
            Ending::Loop(l) => &l.var,
            Ending::Known(s) => &s.var,
        }
    }

    fn body(&self) -> &Block {
        match self {
            Ending::Loop(l) => &l.body,
            Ending::Known(s) => &s.found,
        }
    }
}

/// What comes before the last node, and that node if it is one in which all is done.
fn ending<'b>(loops: &Loops, block: &'b Block) -> Option<(&'b [Node], Ending<'b>)> {
    let (last, before) = block.split_last()?;
    let last = match last {
        Node::For(l) => Ending::Loop(l),
        Node::Search(s) if loops.find(s.id).plan.template.closed_form => Ending::Known(s),
        _ => return None,
    };
    let plain = |n: &Node| matches!(n, Node::Let { .. } | Node::State(_));
    before.iter().all(plain).then_some((before, last))
}

/// A block whose last node is a search of every position, as the loop that this is.
///
/// A template without obligations tests each position of its range: there is nothing to prove of it.
fn as_loop(loops: &Loops, block: &Block) -> Block {
    let mut out = block.clone();
    if let Some(Node::Search(s)) = block.last()
        && let Among::Range(range) = &s.among
        && loops.find(s.id).plan.template.obligations.is_empty()
    {
        let body = vec![Node::If {
            tests: s.conditions.clone(),
            restrictions: Vec::new(),
            body: s.found.clone(),
        }];
        out.pop();
        out.push(Node::For(Box::new(Loop {
            var: s.var.clone(),
            range: range.clone(),
            parallel: None,
            setup: Vec::new(),
            skip: None,
            body,
        })));
    }
    out
}

/// Whether `wide` provably holds `narrow`.
pub(super) fn is_part(narrow: &Range, wide: &Range) -> bool {
    let below = |a: &Affine, b: &Affine| {
        (b.clone() - a.clone()).as_constant().is_some_and(|difference| difference >= 0)
    };
    let lower = wide.lower.iter().all(|w| narrow.lower.iter().any(|n| below(w, n)));
    let upper = wide.upper.iter().all(|w| narrow.upper.iter().any(|n| below(n, w)));
    lower && upper
}

/// The constraints that tell `narrow` from `wide`, if the latter provably holds the former.
fn within(narrow: &Range, wide: &Range, v: &Name) -> Option<Vec<Constraint>> {
    let own = Range {
        lower: narrow.lower.iter().filter(|l| !wide.lower.contains(l)).cloned().collect(),
        upper: narrow.upper.iter().filter(|u| !wide.upper.contains(u)).cloned().collect(),
    };
    is_part(narrow, wide).then(|| own.of(&Affine::var(v.clone())))
}

/// The body of one piece, run only where the piece has points.
fn piece(tests: Vec<Constraint>, body: Block) -> Node {
    match tests.is_empty() {
        true => Node::Piece(body),
        false => Node::Piece(vec![Node::If { tests, restrictions: Vec::new(), body }]),
    }
}

/// `b` with new names for all that both blocks bind, but for the loops that they may share, and what is
/// the same before these.
fn told_apart(
    loops: &mut Loops,
    a: &Block,
    b: &Block,
    number: usize,
    taken: &mut FxHashSet<Name>,
) -> Block {
    let (mut inside_a, mut inside_b) = (as_loop(loops, a), as_loop(loops, b));
    let ours = binds(a);
    let mut shared = Vec::new();
    while let (Some((before_a, x)), Some((before_b, y))) =
        (ending(loops, &inside_a), ending(loops, &inside_b))
        && x.is_like(y)
    {
        for node in before_a.iter().filter(|node| before_b.contains(node)) {
            let Node::Let { var, value } = node else { continue };
            let mut alike = true;
            value.visit_vars(&mut |n| alike &= shared.contains(n) || !ours.contains(n));
            if alike {
                shared.push(var.clone());
            }
        }
        shared.push(x.var().clone());
        (inside_a, inside_b) = (as_loop(loops, x.body()), as_loop(loops, y.body()));
    }
    let mut both: Vec<Name> = binds(b).into_iter().filter(|n| ours.contains(n)).collect();
    both.retain(|n| !shared.contains(n));
    both.sort();
    let mut renaming: Vec<(Name, Name)> = Vec::new();
    for n in both {
        let mut k = number;
        while taken.contains(format!("{n}_{k}").as_str()) {
            k += 1;
        }
        let new = Name::from(format!("{n}_{k}"));
        taken.insert(new.clone());
        renaming.push((n, new));
    }
    renamed_block(loops, b, &renaming)
}

/// Both blocks as one; `None` if they do not run over the same. The first piece has points only where
/// `tests.0` holds, the second where `tests.1` does.
fn joint(
    loops: &mut Loops,
    a: &Block,
    b: &Block,
    tests: (Vec<Constraint>, Vec<Constraint>),
    sharing: Sharing,
) -> Option<Block> {
    let depth = sharing.depth.checked_sub(1)?;
    let (a, mut b) = (as_loop(loops, a), as_loop(loops, b));
    let (before_a, loop_a) = match (ending(loops, &a)?, ending(loops, &b)?) {
        ((before_a, Ending::Loop(a)), (_, Ending::Loop(other))) => {
            if sharing.alike && a.var != other.var && a.range == other.range {
                b = renamed_block(loops, &b, &[(other.var.clone(), a.var.clone())]);
            }
            (before_a, a)
        }
        ((before_a, x @ Ending::Known(known)), (before_b, y @ Ending::Known(other)))
            if x.is_like(y) =>
        {
            let found = joint(loops, &known.found, &other.found, tests, sharing)?;
            let mut out = bound_by_both(before_a, before_b);
            out.push(Node::Search(Box::new(Search { found, ..known.clone() })));
            return Some(out);
        }
        _ => return None,
    };
    let (before_b, Ending::Loop(loop_b)) = ending(loops, &b)? else { return None };
    let alike = loop_a.var == loop_b.var
        && loop_a.skip.is_none()
        && loop_b.skip.is_none()
        && loop_a.parallel.is_some() == loop_b.parallel.is_some()
        && (loop_a.parallel.is_none() || (sums(loop_a) && sums(loop_b)));
    if !alike {
        return None;
    }
    let (mut tests_a, mut tests_b) = tests;
    let range = if let Some(more) = within(&loop_b.range, &loop_a.range, &loop_a.var) {
        tests_b.extend(more);
        loop_a.range.clone()
    } else {
        tests_a.extend(within(&loop_a.range, &loop_b.range, &loop_a.var)?);
        loop_b.range.clone()
    };
    let tests = (tests_a.clone(), tests_b.clone());
    let finds = loops.finds.clone();
    let inner = joint(loops, &loop_a.body, &loop_b.body, tests, Sharing { depth, ..sharing });
    if inner.is_none() {
        // Their bodies keep their names.
        loops.finds = finds;
    }
    let mut body = match inner {
        Some(both) => both,
        None => vec![piece(tests_a, loop_a.body.clone()), piece(tests_b, loop_b.body.clone())],
    };
    // A piece that has nothing left to find must not end the loop of the others.
    stay(loops, &mut body);
    let mut out = bound_by_both(before_a, before_b);
    let mut setup = loop_a.setup.clone();
    setup.extend(loop_b.setup.iter().cloned());
    out.push(Node::For(Box::new(Loop {
        var: loop_a.var.clone(),
        range,
        // Two pieces may meet at an element that each of them writes once.
        parallel: loop_a.parallel.map(|_| Threads::Sums),
        setup,
        skip: None,
        body,
    })));
    Some(out)
}

/// What two blocks bind before their loops; what both bind alike, they share.
fn bound_by_both(a: &[Node], b: &[Node]) -> Block {
    let own = b.iter().filter(|node| !a.contains(node));
    a.iter().chain(own).cloned().collect()
}

/// Whether all that a loop does is to add: only that can threads do privately.
fn sums(l: &Loop) -> bool {
    updates(&l.body).iter().all(|u| u.is_sum())
}

fn stay(loops: &mut Loops, block: &mut Block) {
    for node in block {
        if let Node::Search(s) = node {
            loops.finds[s.id.index()].leave = false;
        }
        node.blocks_mut().into_iter().for_each(|b| stay(loops, b));
    }
}

fn renamed_block(loops: &mut Loops, block: &Block, renaming: &[(Name, Name)]) -> Block {
    if renaming.is_empty() {
        return block.clone();
    }
    let name = |n: &Name| {
        renaming.iter().find(|(old, _)| old == n).map_or_else(|| n.clone(), |(_, new)| new.clone())
    };
    let changed = |n: &Name| renaming.iter().find(|(old, _)| old == n).map(|(_, new)| new.clone());
    let affine = |a: &Affine| a.rename(&changed);
    let constraints = |list: &[Constraint]| -> Vec<Constraint> {
        list.iter().map(|c| c.rename(&changed)).collect()
    };
    let formula = |f: &Formula| f.rename(&changed);
    let range = |r: &Range| Range {
        lower: r.lower.iter().map(affine).collect(),
        upper: r.upper.iter().map(affine).collect(),
    };
    let place = |p: &Place| Place {
        array: p.array.clone(),
        index: p.index.iter().map(|a: &Arith| a.rename(&changed)).collect(),
    };
    block
        .iter()
        .map(|node| match node {
            Node::Let { var, value } => Node::Let { var: name(var), value: affine(value) },
            Node::For(l) => Node::For(Box::new(Loop {
                var: name(&l.var),
                range: range(&l.range),
                parallel: l.parallel,
                setup: renamed_block(loops, &l.setup, renaming),
                skip: l.skip.as_ref().map(|s| Skip {
                    var: name(&s.var),
                    range: range(&s.range),
                    conditions: constraints(&s.conditions),
                    continues: formula(&s.continues),
                }),
                body: renamed_block(loops, &l.body, renaming),
            })),
            Node::Groups(g) => Node::Groups(Box::new(Groups {
                first: name(&g.first),
                end: name(&g.end),
                range: range(&g.range),
                by: g.by.iter().map(|(var, value)| (name(var), affine(value))).collect(),
                parallel: g.parallel,
                setup: renamed_block(loops, &g.setup, renaming),
                body: renamed_block(loops, &g.body, renaming),
            })),
            Node::If { tests, restrictions, body } => Node::If {
                tests: constraints(tests),
                restrictions: restrictions.iter().map(formula).collect(),
                body: renamed_block(loops, body, renaming),
            },
            Node::State(id) => Node::State(*id),
            Node::Search(s) => {
                loops.finds[s.id.index()].rename(renaming);
                Node::Search(Box::new(Search {
                    id: s.id,
                    var: name(&s.var),
                    among: match &s.among {
                        Among::Range(r) => Among::Range(range(r)),
                        Among::One(e) => Among::One(affine(e)),
                    },
                    conditions: constraints(&s.conditions),
                    found: renamed_block(loops, &s.found, renaming),
                }))
            }
            Node::Update(u) => Node::Update(Box::new(Update {
                target: place(&u.target),
                op: u.op.clone(),
                value: u.value.map(&|term| match term {
                    Term::Element(p) => Term::Element(place(p)),
                    Term::Found(found) => Term::Found(name(found)),
                    Term::Index(index) => Term::Index(name(index)),
                }),
            })),
            Node::Lookup(l) => {
                let body = renamed_block(loops, &l.body, renaming);
                Node::Lookup(Box::new(Lookup { name: name(&l.name), body, ..(**l).clone() }))
            }
            Node::Merge(m) => {
                let mut walks = m.walks.clone();
                for walk in &mut walks {
                    walk.name = name(&walk.name);
                    walk.body = renamed_block(loops, &walk.body, renaming);
                }
                let key = m.key.iter().map(name).collect();
                let body = renamed_block(loops, &m.body, renaming);
                Node::Merge(Box::new(Merge { key, walks, body }))
            }
            Node::Step(s) => {
                let walk = |w: &Regions| Regions {
                    var: name(&w.var),
                    end: w.end.as_ref().map(name),
                    range: range(&w.range),
                    tests: constraints(&w.tests),
                    within: w.within.iter().map(&name).collect(),
                    region: range(&w.region),
                    rises: w.rises,
                    is_sought: w.is_sought,
                };
                Node::Step(Box::new(Step {
                    index: name(&s.index),
                    range: range(&s.range),
                    parallel: s.parallel,
                    setup: renamed_block(loops, &s.setup, renaming),
                    walks: s.walks.iter().map(walk).collect(),
                    counts: s.counts.map(&name),
                    body: renamed_block(loops, &s.body, renaming),
                }))
            }
            Node::Take(take) => Node::Take(Box::new(Take {
                name: name(&take.name),
                place: place(&take.place),
                sums: take.sums,
            })),
            Node::Held { walks, body } => Node::Held {
                walks: walks.iter().map(name).collect(),
                body: renamed_block(loops, body, renaming),
            },
            Node::When { region, body } => {
                Node::When { region: region.map(&name), body: renamed_block(loops, body, renaming) }
            }
            Node::Piece(body) => Node::Piece(renamed_block(loops, body, renaming)),
            Node::Assemble(a) => Node::Assemble(Box::new(Assemble {
                array: a.array.clone(),
                key: a.key.iter().map(|e| e.as_ref().map(|e| e.rename(&changed))).collect(),
                gather: a.gather.clone(),
                in_parts: a.in_parts,
                body: renamed_block(loops, &a.body, renaming),
            })),
            // Blocks are joined before anything begins.
            Node::Begin(_) => node.clone(),
        })
        .collect()
}
