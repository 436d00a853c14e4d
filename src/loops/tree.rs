//! The tree. Its grammar is in the module's documentation.

use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::formula::{Affine, Arith, Constraint, Formula, Name};
use crate::operators::{Operator, Region, Tree, Value};
use crate::scan::Range;
use crate::synth::{self, Plan, Proved};

/// A search of the tree; unique among all pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SearchId(pub(super) u32);

pub type Block = Vec<Node>;

/// All loops of a statement.
#[derive(Clone, Debug)]
pub struct Loops {
    pub body: Block,
    /// What each search is: the find that was proved, and the plan that was chosen.
    pub finds: Vec<Find>,
    /// What annihilates finite floats annihilates all: loops may end for it.
    pub fast_math: bool,
    /// Sums of floats keep the order of their terms.
    pub strict_fp: bool,
    /// Loops end as soon as nothing can change what they update, even if asking costs more than going on.
    pub short_circuit: bool,
    /// Arrays that count what is visited, for what is combined later where that is not all.
    pub counters: Vec<Name>,
}

/// A find with the plan that implements it.
#[derive(Clone, Debug)]
pub struct Find {
    pub find: Rc<synth::Find>,
    pub plan: Proved<Plan>,
    /// Sizes that may bound a key.
    pub params: Rc<Vec<Name>>,
    /// The loop around the find may be left once its state has no position left.
    pub leave: bool,
    /// Dimensions of the space that have another name in the tree.
    pub renamed: Vec<(Name, Name)>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// Of the nodes that follow in the block.
    Let {
        var: Name,
        value: Affine,
    },
    For(Box<Loop>),
    /// Positions that have something in common are taken together.
    Groups(Box<Groups>),
    If {
        tests: Vec<Constraint>,
        restrictions: Vec<Formula>,
        body: Block,
    },
    /// The state of a search is set up here.
    State(SearchId),
    Search(Box<Search>),
    /// What an operand stores at this point, if anything.
    Lookup(Box<Lookup>),
    /// Found by the lookup or walk of that name.
    Take(Box<Take>),
    /// Operands are walked at once.
    Merge(Box<Merge>),
    /// What happens along an index that regions of operands divide.
    Step(Box<Step>),
    /// Where the regions at the positions of these walks around it hold the indices.
    Held {
        walks: Vec<Name>,
        body: Block,
    },
    /// Where these lookups have found something.
    When {
        region: Region<Name>,
        body: Block,
    },
    Update(Box<Update>),
    /// One of several pieces; what it binds stays inside.
    Piece(Block),
    /// Elements of the result come in the order of their coordinates.
    Assemble(Box<Assemble>),
    /// A temporary is there from here to the end of the block.
    Begin(Box<Begin>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    pub var: Name,
    pub range: Range,
    /// It runs on several threads.
    pub parallel: Option<Threads>,
    /// What each thread sets up once.
    pub setup: Block,
    /// The loop runs over tiles of which some can be told to hold no match.
    pub skip: Option<Skip>,
    pub body: Block,
}

/// A range in parts of which all positions read the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    /// The first position of a group, and the one behind its last.
    pub first: Name,
    pub end: Name,
    pub range: Range,
    /// What its positions have in common, as it is read at the first.
    pub by: Vec<(Name, Affine)>,
    /// Several threads take parts of the range.
    pub parallel: Option<Threads>,
    /// What each thread sets up once.
    pub setup: Block,
    pub body: Block,
}

/// How threads that share a loop write what they compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// No two write one element.
    Apart,
    /// They may meet at one element: each sums privately.
    Sums,
    /// Each assembles parts of the result, which are joined in the order of the iterations.
    Parts,
}

/// A guard on tiles (SPF Fig. 8): the positions of a tile are ordered, first those to skip.
#[derive(Clone, Debug, PartialEq)]
pub struct Skip {
    /// The position that is searched in the tile.
    pub var: Name,
    pub range: Range,
    pub conditions: Vec<Constraint>,
    pub continues: Formula,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    pub id: SearchId,
    pub var: Name,
    /// The positions that are searched, or the only one there is.
    pub among: Among,
    /// What a match satisfies.
    pub conditions: Vec<Constraint>,
    pub found: Block,
}

/// What the updates inside write is appended to the result when the block has run.
#[derive(Clone, Debug, PartialEq)]
pub struct Assemble {
    pub array: Name,
    /// The coordinates that are known here; the others differ between the updates inside.
    pub key: Vec<Option<Arith>>,
    pub gather: Gather,
    /// Threads merge parts, between numbers of the first coordinate.
    pub in_parts: bool,
    pub body: Block,
}

/// All elements of a temporary are set.
#[derive(Clone, Debug, PartialEq)]
pub struct Begin {
    pub array: Name,
    /// The extents of its subscripts; one element has none.
    pub shape: Vec<Arith>,
    pub value: Value,
}

/// Where updates are combined before they are appended.
#[derive(Clone, Debug, PartialEq)]
pub enum Gather {
    /// There is one update, which happens once.
    Nothing,
    /// In one element.
    Element,
    /// In a workspace, by the name of its template, which is emptied in order if entries are to rise.
    Workspace { template: Name, sorted: bool },
    /// Nowhere: the pieces inside are walked at once, each in the order of its coordinates.
    Merge,
    /// Nowhere: the entries of each group are counted, and then each is put behind those of its group before it.
    Counts,
}

/// A value that starts at the fill of a tensor, and that what is found replaces.
#[derive(Clone, Debug, PartialEq)]
pub struct Lookup {
    pub name: Name,
    /// What the tensor holds where it stores nothing.
    pub fill: Value,
    /// Something reads the value.
    pub read: bool,
    /// Something asks whether anything was found.
    pub asked: bool,
    pub body: Block,
}

/// What happens for every choice of some indices that one of several walks comes to, in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// The indices, most significant first.
    pub key: Vec<Name>,
    /// Each a loop over what an operand stores, after what it computes before that. The indices rise in it.
    pub walks: Vec<Lookup>,
    pub body: Block,
}

/// Regions of operands along an index, walked at once. The body is of each index that counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub index: Name,
    /// What there is of it.
    pub range: Range,
    /// Several threads take parts of the range.
    pub parallel: Option<Threads>,
    /// What each thread sets up once.
    pub setup: Block,
    pub walks: Vec<Regions>,
    /// Where it counts, by the walks whose regions hold the index.
    pub counts: Region<Name>,
    pub body: Block,
}

/// A region for each of some positions, one behind the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Regions {
    pub var: Name,
    /// Several positions have one region: the next that has another.
    pub end: Option<Name>,
    pub range: Range,
    /// Positions that do not pass have no region.
    pub tests: Vec<Constraint>,
    /// Walks around it: there is no position unless their regions hold the indices there.
    pub within: Vec<Name>,
    /// That of a position.
    pub region: Range,
    /// Stops do not fall from one position to the next.
    pub rises: bool,
    /// They rise, and the first behind an index is sought by halving.
    pub is_sought: bool,
}

/// `name` becomes an element, or more by it.
#[derive(Clone, Debug, PartialEq)]
pub struct Take {
    pub name: Name,
    pub place: Place,
    /// Several may be found: they are summed.
    pub sums: bool,
}

/// A leaf of what is computed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Term {
    Element(Place),
    /// What the lookup of that name has found.
    Found(Name),
    /// The value of an index.
    Index(Name),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Among {
    Range(Range),
    One(Affine),
}

/// An element of a value array.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub array: Name,
    pub index: Vec<Arith>,
}

/// `target += value`, or `target := value`.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    pub target: Place,
    /// Elements are combined by it; without one, they become the value.
    pub op: Option<Arc<Operator>>,
    pub value: Tree<Term>,
}

impl Update {
    /// Whether it adds.
    pub fn is_sum(&self) -> bool {
        self.op.as_ref().is_some_and(|op| op.is_sum())
    }

    /// The elements that it reads.
    pub fn elements(&self) -> impl Iterator<Item = &Place> {
        self.value.leaves().into_iter().filter_map(|term| match term {
            Term::Element(place) => Some(place),
            Term::Found(_) | Term::Index(_) => None,
        })
    }
}

impl Term {
    /// The lookup that may find nothing.
    pub fn lookup(&self) -> Option<&Name> {
        match self {
            Term::Found(name) => Some(name),
            Term::Element(_) | Term::Index(_) => None,
        }
    }
}

impl Find {
    /// Names of the tree become others, whatever they were called in the space.
    pub(super) fn rename(&mut self, renaming: &[(Name, Name)]) {
        for (_, new) in &mut self.renamed {
            if let Some((_, newer)) = renaming.iter().find(|(old, _)| old == new) {
                *new = newer.clone();
            }
        }
        self.renamed.extend(renaming.iter().cloned());
    }

    /// A dimension of the space, as the tree calls it.
    pub fn name_in_tree(&self, n: &Name) -> Name {
        let new = self.renamed.iter().find(|(old, _)| old == n);
        new.map_or_else(|| n.clone(), |(_, new)| new.clone())
    }

    /// A linear form of the plan, as the tree calls its dimensions.
    pub fn in_tree(&self, a: &Affine) -> Affine {
        a.rename(&|n| self.renamed.iter().find(|(old, _)| old == n).map(|(_, new)| new.clone()))
    }
}

impl Step {
    /// Whether an index counts only where the region of every walk holds it, whatever its position.
    pub fn is_overlap(&self) -> bool {
        let plain = |w: &Regions| w.tests.is_empty() && w.within.is_empty();
        self.counts == Step::all(&self.walks) && self.walks.iter().all(plain)
    }

    /// Whether the first region behind an index can be sought.
    pub fn rises(&self) -> bool {
        self.walks.iter().all(|w| w.rises && w.tests.is_empty() && w.within.is_empty())
    }

    /// The number of the walk of a position.
    pub fn number(&self, position: &Name) -> usize {
        let own = self.walks.iter().position(|walk| walk.var == *position);
        own.expect("what counts is said by the walks of the step")
    }

    /// Whether an index counts only where the region of a walk holds it.
    pub fn needs(&self, walk: &Regions) -> bool {
        self.counts.needs(&walk.var)
    }

    /// Whether an index may come before all walks are at regions that end behind it: not if all is visited, or what
    /// comes next is the least of them all.
    pub fn may_lag(&self) -> bool {
        let any = Region::any_of(self.walks.iter().map(|w| Region::Stored(w.var.clone())));
        let by_least = self.counts == Region::All || self.counts == any;
        !by_least || self.range.lower != [Affine::zero()]
    }

    /// Where the regions of all walks hold the index.
    pub fn all(walks: &[Regions]) -> Region<Name> {
        Region::all_of(walks.iter().map(|w| Region::Stored(w.var.clone())))
    }
}

impl Regions {
    /// What each position has to pass, and what has to hold for there to be any: the tests that are the same for all.
    pub fn tests_of_each(&self) -> (Vec<&Constraint>, Vec<&Constraint>) {
        let names = || std::iter::once(&self.var).chain(&self.end);
        self.tests.iter().partition(|test| names().any(|name| test.affine.mentions(name)))
    }

    /// Whether there are positions only where other walks hold their indices, or the same tests pass for all.
    pub fn is_conditional(&self) -> bool {
        !self.within.is_empty() || !self.tests_of_each().1.is_empty()
    }

    /// The only index of each region, if they are points.
    pub fn point(&self) -> Option<&Affine> {
        match (self.region.lower.as_slice(), self.region.upper.as_slice()) {
            ([at], [stop]) if *stop == at.clone() + Affine::constant(1) => Some(at),
            _ => None,
        }
    }
}

impl Loop {
    /// Whether it is nothing but a loop over its range.
    pub fn is_plain(&self) -> bool {
        self.parallel.is_none() && self.setup.is_empty() && self.skip.is_none()
    }
}

impl SearchId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Place {
    /// The variables that the place depends on.
    pub fn depends_on(&self, bound: &dyn Fn(&Name) -> bool) -> bool {
        let mut depends = false;
        for a in &self.index {
            a.visit_vars(&mut |n| depends |= bound(n));
        }
        depends
    }
}

impl Node {
    /// Whether it does and finds the same for all values of an index, and changes nothing but what it binds.
    pub fn is_fixed(&self, index: &Name) -> bool {
        let all = |block: &Block| block.iter().all(|node| node.is_fixed(index));
        match self {
            Node::Let { value, .. } => !value.mentions(index),
            Node::If { tests, restrictions, body } => {
                let free = |names: Vec<Name>| !names.contains(index);
                !tests.iter().any(|test| test.affine.mentions(index))
                    && restrictions.iter().all(|r| free(r.free_vars().into_iter().collect()))
                    && all(body)
            }
            Node::Lookup(lookup) => all(&lookup.body),
            Node::Take(take) => !take.place.depends_on(&|name| name == index),
            Node::Held { body, .. } | Node::Piece(body) => all(body),
            _ => false,
        }
    }

    /// The blocks inside, in the order in which they run.
    pub fn blocks(&self) -> Vec<&Block> {
        match self {
            Node::Let { .. }
            | Node::State(_)
            | Node::Update(_)
            | Node::Take(_)
            | Node::Begin(_) => Vec::new(),
            Node::For(l) => vec![&l.setup, &l.body],
            Node::Groups(g) => vec![&g.setup, &g.body],
            Node::If { body, .. }
            | Node::When { body, .. }
            | Node::Held { body, .. }
            | Node::Piece(body) => vec![body],
            Node::Search(s) => vec![&s.found],
            Node::Lookup(l) => vec![&l.body],
            Node::Step(s) => vec![&s.setup, &s.body],
            Node::Merge(m) => m.walks.iter().map(|walk| &walk.body).chain([&m.body]).collect(),
            Node::Assemble(a) => vec![&a.body],
        }
    }

    pub fn blocks_mut(&mut self) -> Vec<&mut Block> {
        match self {
            Node::Let { .. }
            | Node::State(_)
            | Node::Update(_)
            | Node::Take(_)
            | Node::Begin(_) => Vec::new(),
            Node::For(l) => vec![&mut l.setup, &mut l.body],
            Node::Groups(g) => vec![&mut g.setup, &mut g.body],
            Node::If { body, .. }
            | Node::When { body, .. }
            | Node::Held { body, .. }
            | Node::Piece(body) => vec![body],
            Node::Search(s) => vec![&mut s.found],
            Node::Lookup(l) => vec![&mut l.body],
            Node::Step(s) => vec![&mut s.setup, &mut s.body],
            Node::Merge(m) => {
                let walks = m.walks.iter_mut().map(|walk| &mut walk.body);
                walks.chain([&mut m.body]).collect()
            }
            Node::Assemble(a) => vec![&mut a.body],
        }
    }
}

impl Loops {
    /// Whether a loop is entered once and holds no other.
    pub fn are_flat(&self) -> bool {
        fn holds_loop(block: &Block) -> bool {
            block.iter().any(|node| match node {
                Node::For(_) | Node::Groups(_) | Node::Merge(_) | Node::Step(_) => true,
                node => node.blocks().into_iter().any(holds_loop),
            })
        }
        fn any_flat(block: &Block) -> bool {
            block.iter().any(|node| match node {
                Node::For(l) => !holds_loop(&l.body),
                Node::Groups(_) | Node::Merge(_) | Node::Step(_) => false,
                node => node.blocks().into_iter().any(any_flat),
            })
        }
        any_flat(&self.body)
    }
}

/// Every update inside a block.
pub fn updates(block: &Block) -> Vec<&Update> {
    let mut out = Vec::new();
    for node in block {
        if let Node::Update(u) = node {
            out.push(&**u);
        }
        node.blocks().into_iter().for_each(|b| out.extend(updates(b)));
    }
    out
}

/// Every temporary that begins inside a block.
pub fn begun(block: &Block) -> Vec<&Begin> {
    let mut out = Vec::new();
    for node in block {
        if let Node::Begin(begin) = node {
            out.push(&**begin);
        }
        node.blocks().into_iter().for_each(|b| out.extend(begun(b)));
    }
    out
}

/// Every dimension and lookup that something inside a block binds.
pub fn binds(block: &Block) -> FxHashSet<Name> {
    let mut out = FxHashSet::default();
    for node in block {
        match node {
            Node::Let { var, .. } => out.extend([var.clone()]),
            Node::For(l) => out.extend([l.var.clone()]),
            Node::Groups(g) => {
                out.extend(
                    [&g.first, &g.end].into_iter().chain(g.by.iter().map(|(v, _)| v)).cloned(),
                );
            }
            Node::Search(s) => out.extend([s.var.clone()]),
            Node::Lookup(l) => out.extend([l.name.clone()]),
            Node::Step(s) => {
                out.insert(s.index.clone());
                out.extend(
                    s.walks.iter().flat_map(|w| [&w.var].into_iter().chain(&w.end)).cloned(),
                );
            }
            Node::Merge(m) => {
                out.extend(m.key.iter().chain(m.walks.iter().map(|walk| &walk.name)).cloned());
            }
            _ => {}
        }
        node.blocks().into_iter().for_each(|b| out.extend(binds(b)));
    }
    out
}

impl Loops {
    pub fn find(&self, id: SearchId) -> &Find {
        &self.finds[id.index()]
    }
}
