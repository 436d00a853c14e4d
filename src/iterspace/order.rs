//! The order in which the dimensions of a space are visited.
//!
//! Every sparse operand wants its positions in storage order: `pA1` runs from `pos_A(pA0)`. A
//! precedence graph over the logical indices collects these wishes; a topological order of it is the
//! default. Then one operand *drives* each index (its positions are looped over, the index becomes a
//! `let`), and the positions of the others are placed as soon as the indices that decide them are
//! known, to be found there.

use petgraph::algo::has_path_connecting;
use petgraph::graphmap::DiGraphMap;

use super::{Operand, Space};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Atom, Constraint, Name, Relop};

/// The dimensions of a space in the order of the loops.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopOrder {
    pub dims: Vec<Name>,
    /// The order of logical indices that it realises.
    pub indices: Vec<Name>,
}

/// Decides the order. `requested` names indices or positions, outermost first; what it leaves out
/// follows in the default order.
pub fn loop_order(space: &Space, requested: &[Name]) -> Result<LoopOrder> {
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
    Ok(Placement::new(space, &wanted, asked).run())
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
    for o in &space.operands {
        for pair in determined_at(space, o).windows(2) {
            let (Some(a), Some(b)) = (number(&pair[0].0), number(&pair[1].0)) else { continue };
            if go_together(space, &pair[0], &pair[1]) {
                indifferent.extend([a, b]);
            } else if a != b && !has_path_connecting(&graph, b, a, None) {
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

/// True if no stored position decides `i`, another index has positions, and `i` is the last subscript
/// wherever it occurs: an inner loop over it touches memory in order, and can be vectorised.
fn runs_along_dense_rows(space: &Space, i: &Name) -> bool {
    let decided = space.operands.iter().any(|o| determined_order(space, o).contains(i));
    let any_sparse = space.operands.iter().any(|o| !o.is_direct());
    let last_everywhere = space.operands.iter().all(|o| {
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
fn determined_at(space: &Space, o: &Operand) -> Vec<(Name, Name)> {
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

/// Logical indices tied to position `p` by an equation or, failing that, an inequality with an
/// index array: `j = crd(p)`, `left(p) <= i`.
fn connected(space: &Space, p: &Name) -> Vec<Name> {
    connected_where(space, p, |_| true)
}

fn connected_where(space: &Space, p: &Name, counts: impl Fn(&Constraint) -> bool) -> Vec<Name> {
    let mut out = Vec::new();
    let ties = |c: &Constraint| {
        let in_call = {
            let mut found = false;
            c.visit_calls(&mut |call| found |= call.args.iter().any(|a| a.mentions(p)));
            found
        };
        in_call || (c.relop == Relop::Eq && c.mentions(p))
    };
    for c in space.constraints.iter().filter(|c| ties(c) && counts(c)) {
        for i in &space.indices {
            if c.mentions(i) && !out.contains(i) {
                out.push(i.clone());
            }
        }
    }
    out
}

/// True if `p` is tied to its indices without any index array: `p = i`, `i = 4*p + r`.
fn is_dense_like(space: &Space, p: &Name) -> bool {
    space
        .constraints
        .iter()
        .filter(|c| c.relop == Relop::Eq && c.mentions(p))
        .any(|c| !c.affine.has_calls() && c.affine.coefficient_of_var(p) != 0)
}

/// Positions whose index-array calls bound `p`: they must be visited first.
fn prerequisites(space: &Space, p: &Name) -> Vec<Name> {
    let mut out: Vec<Name> = Vec::new();
    for c in space.constraints.iter().filter(|c| c.affine.coefficient_of_var(p) != 0) {
        if c.relop != Relop::Ge {
            continue;
        }
        c.visit_calls(&mut |call| {
            for a in &call.args {
                a.visit_vars(&mut |n| {
                    let is_position = space.owner(n).is_some();
                    if is_position && n != p && !out.contains(n) {
                        out.push(n.clone());
                    }
                });
            }
        });
    }
    out
}

/// A requested order that puts a position before the one its bounds depend on has no scan.
fn refuse_cycles(space: &Space, requested: &[Name]) -> Result<()> {
    for (k, later) in requested.iter().enumerate() {
        for need in prerequisites(space, later) {
            if requested.iter().skip(k + 1).any(|n| *n == need) {
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

struct Placement<'a> {
    space: &'a Space,
    placed: Vec<Name>,
    indices: Vec<Name>,
    /// All indices and any positions, outermost first.
    wanted: &'a [Name],
    /// How many of these names were asked for; the others are the default.
    requested: usize,
}

impl<'a> Placement<'a> {
    fn new(space: &'a Space, wanted: &'a [Name], requested: usize) -> Self {
        Placement { space, wanted, requested, placed: Vec::new(), indices: Vec::new() }
    }

    fn run(mut self) -> LoopOrder {
        let wanted = self.wanted;
        let explicit: Vec<&Name> =
            wanted.iter().filter(|n| self.space.owner(n).is_some()).collect();
        for name in wanted {
            if self.space.owner(name).is_some() {
                self.place_with_prerequisites(name);
                self.settle(&explicit);
                continue;
            }
            while !self.is_placed(name) {
                match self.driver(name, &explicit) {
                    Some(position) => self.place(position),
                    None => self.place(name.clone()),
                }
                self.settle(&explicit);
            }
        }
        // Positions that no index decides (e.g. an unused padding dimension) come last.
        for name in self.space.dimensions() {
            self.place(name);
        }
        LoopOrder { dims: self.placed, indices: self.indices }
    }

    fn is_placed(&self, name: &Name) -> bool {
        self.placed.contains(name)
    }

    fn place(&mut self, name: Name) {
        if self.is_placed(&name) {
            return;
        }
        // Right around it, unless it was given a place of its own.
        if let Some(t) = self.space.tiles.iter().find(|t| t.of == name)
            && !self.wanted.contains(&t.tile)
        {
            self.place(t.tile.clone());
        }
        if let Some(group) = self.space.fused.iter().find(|g| g.first() == Some(&name)) {
            // The innermost position first; the outer ones are found from it.
            for p in group.iter().skip(1).rev() {
                self.place(p.clone());
            }
        }
        if self.space.indices.contains(&name) {
            self.indices.push(name.clone());
        }
        self.placed.push(name);
    }

    fn place_with_prerequisites(&mut self, p: &Name) {
        for need in prerequisites(self.space, p) {
            if !self.is_placed(&need) {
                self.place_with_prerequisites(&need);
            }
        }
        self.place(p.clone());
        self.bind_indices();
    }

    /// The next position of the operand that should drive index `i`, if any: one with an index
    /// array of its own before one that merely repeats the index. One that would also decide an
    /// index wanted later, and that one first, does not: the order asked for would not be kept.
    fn driver(&self, i: &Name, explicit: &[&Name]) -> Option<Name> {
        let mut dense_like = None;
        for o in &self.space.operands {
            let Some(next) = o.positions.iter().find(|p| !self.is_placed(p)) else { continue };
            if explicit.contains(&next) {
                continue;
            }
            let ready = prerequisites(self.space, next).iter().all(|q| self.is_placed(q));
            let reaches = |p: &Name| connected(self.space, p).contains(i);
            let started = o.positions.iter().any(|p| self.is_placed(p) && reaches(p));
            let later = o.positions.iter().any(|p| !self.is_placed(p) && reaches(p));
            if !ready || !(reaches(next) || (started && later)) {
                continue;
            }
            let rank = |n: &Name| self.wanted.iter().position(|w| w == n);
            let decides: Vec<_> = connected(self.space, next)
                .iter()
                .filter(|n| !self.is_placed(n))
                .filter_map(rank)
                .collect();
            let asked = decides.iter().copied().filter(|&r| r < self.requested).max();
            let between = self.wanted[..asked.map_or(0, |r| r + 1)].iter().enumerate();
            let skips = between
                .filter(|(_, n)| self.space.owner(n).is_none() && !self.is_placed(n))
                .any(|(r, _)| !decides.contains(&r));
            if !decides.is_sorted() || skips {
                continue;
            }
            if !is_dense_like(self.space, next) {
                return Some(next.clone());
            }
            dense_like = dense_like.or_else(|| Some(next.clone()));
        }
        dense_like.or_else(|| self.first_on_the_way(i, explicit))
    }

    /// Where nothing drives index `i`: a position that comes before one that reaches `i` in storage
    /// order, so that the operand is walked as it is stored (diagonal after diagonal). Not if `i`
    /// was asked for: it would not be outermost.
    fn first_on_the_way(&self, i: &Name, explicit: &[&Name]) -> Option<Name> {
        if self.wanted[..self.requested].contains(i) {
            return None;
        }
        self.space.operands.iter().find_map(|o| {
            let mut open = o.positions.iter().filter(|p| !self.is_placed(p));
            let next = open.next()?;
            let ready = prerequisites(self.space, next).iter().all(|q| self.is_placed(q));
            let reaches = open.any(|p| connected(self.space, p).contains(i));
            (ready && reaches && !explicit.contains(&next)).then(|| next.clone())
        })
    }

    /// Binds what is now determined: indices by an equation, positions whose indices are all known.
    fn settle(&mut self, explicit: &[&Name]) {
        loop {
            let before = self.placed.len();
            self.bind_indices();
            for o in &self.space.operands {
                let Some(next) = o.positions.iter().find(|p| !self.placed.contains(p)) else {
                    continue;
                };
                if explicit.contains(&next) {
                    continue;
                }
                let ties = connected(self.space, next);
                let ready = prerequisites(self.space, next).iter().all(|q| self.is_placed(q));
                if ready && !ties.is_empty() && ties.iter().all(|i| self.is_placed(i)) {
                    self.place(next.clone());
                }
            }
            if self.placed.len() == before {
                return;
            }
        }
    }

    /// `i = e` with everything in `e` placed.
    fn bind_indices(&mut self) {
        while let Some(i) = self.wanted.iter().find(|i| {
            self.space.indices.contains(i)
                && !self.placed.contains(i)
                && self.space.constraints.iter().any(|c| {
                    c.relop == Relop::Eq
                        && c.affine.coefficient_of_var(i) != 0
                        && self.others_known(&c.affine, i)
                })
        }) {
            self.place(i.clone());
        }
    }

    fn others_known(&self, affine: &Affine, i: &Name) -> bool {
        let dims = self.space.dimensions();
        let mut known = true;
        let rest = Affine::from_terms(
            affine.terms().iter().filter(|(a, _)| *a != Atom::Var(i.clone())).cloned(),
            0,
        );
        rest.visit_vars(&mut |n| {
            known &= n != i && (!dims.contains(n) || self.placed.contains(n));
        });
        known
    }
}
