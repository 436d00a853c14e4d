//! Who gives each index its values, and where the positions of the others are placed.
//!
//! For each index that is wanted, outermost first, one operand *drives* it: its positions are walked,
//! and they decide the index. The positions of the other operands are placed as soon as the indices
//! that decide them are known, to be located there.

use super::order::{Wanted, found_later, wanted};
use super::ties::{connected, is_decided, is_dense_like, is_strided, prerequisites};
use super::tree::{Access, Assign, How, Protocol, Read, Schedule};
use crate::diagnostic::Result;
use crate::formula::Name;
use crate::iterspace::{Operand, Source, Space};

/// The schedule of a space. `requested` names indices or positions, outermost first; what it leaves
/// out follows in the default order.
///
/// # Errors
/// `S0301` if a name is unknown or there twice, or if no loop can be made in this order.
pub fn schedule(space: &Space, requested: &[Name]) -> Result<Schedule> {
    let wanted = wanted(space, requested)?;
    let placed = Placement { space, wanted: &wanted, placed: Vec::new() }.run();
    let drivers = drivers(space, &placed);
    let access = |o: &Operand| access(o, &drivers);
    let leaf = Schedule::Assign(Assign {
        target: access(space.output()),
        op: space.op.clone(),
        value: space.value.map(&|source| match source {
            Source::Operand(k) => Read::Access(access(&space.operands[*k])),
            Source::Index(index) => Read::Index(index.clone()),
        }),
    });
    let schedule = placed.into_iter().rev().fold(leaf, |body, (dim, how)| Schedule::Forall {
        dim,
        how,
        body: Box::new(body),
    });
    schedule.verify(space)?;
    Ok(schedule)
}

/// The indices that are decided, each with the label of the operand whose positions decide it.
fn drivers<'a>(space: &'a Space, placed: &[(Name, How)]) -> Vec<(Name, &'a str)> {
    let mut out = Vec::new();
    for (k, (dim, how)) in placed.iter().enumerate() {
        let last = placed[..k].iter().rev().find(|(p, _)| space.owner(p).is_some());
        if let (How::Let, Some((p, _))) = (how, last)
            && let Some(o) = space.owner(p)
            && connected(space, p).contains(dim)
        {
            out.push((dim.clone(), o.label.as_str()));
        }
    }
    out
}

/// How each subscript of an operand takes part.
fn access(o: &Operand, drivers: &[(Name, &str)]) -> Access {
    let subscripts = o.subscripts.iter().map(|s| {
        let mut walks = false;
        s.visit_vars(&mut |i| walks |= drivers.iter().any(|(d, by)| d == i && *by == o.label));
        (s.clone(), if walks { Protocol::Walk } else { Protocol::Locate })
    });
    Access { tensor: o.tensor.clone(), subscripts: subscripts.collect() }
}

struct Placement<'a> {
    space: &'a Space,
    wanted: &'a Wanted,
    placed: Vec<(Name, How)>,
}

impl<'a> Placement<'a> {
    fn run(mut self) -> Vec<(Name, How)> {
        let wanted = &self.wanted.dims;
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
                    Some(position) => self.place(position, How::Walk),
                    None => self.place(name.clone(), How::Count),
                }
                self.settle(&explicit);
            }
        }
        // Positions that no index decides (e.g. an unused padding dimension) come last.
        for name in self.space.dimensions() {
            self.place(name, How::Walk);
        }
        self.placed
    }

    fn is_placed(&self, name: &Name) -> bool {
        self.placed.iter().any(|(placed, _)| placed == name)
    }

    fn place(&mut self, name: Name, mut how: How) {
        if self.is_placed(&name) {
            return;
        }
        // Right around it, unless it was given a place of its own.
        if let Some(t) = self.space.tiles.iter().find(|t| t.of == name)
            && !self.wanted.dims.contains(&t.tile)
        {
            self.place(t.tile.clone(), How::Tile);
        }
        if let Some(group) = self.space.fused.iter().find(|g| g.first() == Some(&name)) {
            // The innermost position first; the outer ones are found from it.
            for (k, p) in group.iter().enumerate().skip(1).rev() {
                self.place(p.clone(), if k + 1 == group.len() { how } else { How::Locate });
            }
            how = How::Locate;
        }
        // One that has a place of its own behind the innermost.
        if self
            .space
            .fused
            .iter()
            .any(|g| g.contains(&name) && g.last().is_some_and(|p| self.is_placed(p)))
        {
            how = How::Locate;
        }
        if self.space.tiles.iter().any(|t| t.tile == name) {
            how = How::Tile;
        }
        self.placed.push((name, how));
    }

    fn place_with_prerequisites(&mut self, p: &Name) {
        self.place_before(p, &[]);
    }

    /// Places `p` before the positions `inner`, which need it. Of positions that bound each other, one comes first.
    fn place_before(&mut self, p: &Name, inner: &[&Name]) {
        let waiting: Vec<&Name> = inner.iter().copied().chain([p]).collect();
        for need in prerequisites(self.space, p) {
            let later = found_later(self.space, &self.wanted.dims, &need, p);
            if !self.is_placed(&need) && !waiting.contains(&&need) && !later {
                self.place_before(&need, &waiting);
            }
        }
        self.place(p.clone(), How::Walk);
        self.bind_indices();
    }

    /// The next position of the operand that should drive index `i`, if any: one with an index
    /// array of its own before one that merely repeats the index. One that would also decide an
    /// index wanted later, and that one first, does not: the order asked for would not be kept.
    fn driver(&self, i: &Name, explicit: &[&Name]) -> Option<Name> {
        let mut dense_like = None;
        for o in self.space.present() {
            let Some(next) = o.positions.iter().find(|p| !self.is_placed(p)) else { continue };
            if explicit.contains(&next) {
                continue;
            }
            let ready = prerequisites(self.space, next).iter().all(|q| self.is_placed(q));
            let reaches = |p: &Name| connected(self.space, p).contains(i);
            let started = o.positions.iter().any(|p| self.is_placed(p) && reaches(p));
            let later = o.positions.iter().any(|p| !self.is_placed(p) && reaches(p));
            // What is known already takes no loop.
            let known = || is_decided(self.space, next, |n| self.is_placed(n));
            if !ready || !(reaches(next) || later && (started || known())) {
                continue;
            }
            let rank = |n: &Name| self.wanted.dims.iter().position(|w| w == n);
            let decides: Vec<_> = connected(self.space, next)
                .iter()
                .filter(|n| !self.is_placed(n))
                .filter_map(rank)
                .collect();
            let asked = decides.iter().copied().filter(|&r| r < self.wanted.requested).max();
            let between = self.wanted.dims[..asked.map_or(0, |r| r + 1)].iter().enumerate();
            let skips = between
                .filter(|(_, n)| self.space.owner(n).is_none() && !self.is_placed(n))
                .any(|(r, _)| !decides.contains(&r));
            if !decides.is_sorted() || skips {
                continue;
            }
            if !is_dense_like(self.space, next) {
                return Some(next.clone());
            }
            // Most of its numbers would be of no index.
            if !is_strided(self.space, next, i) {
                dense_like = dense_like.or_else(|| Some(next.clone()));
            }
        }
        dense_like.or_else(|| self.first_on_the_way(i, explicit))
    }

    /// Where nothing drives index `i`: a position that comes before one that reaches `i` in storage
    /// order, so that the operand is walked as it is stored (diagonal after diagonal). Not if `i`
    /// was asked for: it would not be outermost.
    fn first_on_the_way(&self, i: &Name, explicit: &[&Name]) -> Option<Name> {
        if self.wanted.dims[..self.wanted.requested].contains(i) {
            return None;
        }
        self.space.present().find_map(|o| {
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
            for o in self.space.present() {
                let Some(next) = o.positions.iter().find(|p| !self.is_placed(p)) else {
                    continue;
                };
                if explicit.contains(&next) {
                    continue;
                }
                let ties = connected(self.space, next);
                let ready = prerequisites(self.space, next).iter().all(|q| self.is_placed(q));
                if ready && !ties.is_empty() && ties.iter().all(|i| self.is_placed(i)) {
                    self.place(next.clone(), How::Locate);
                }
            }
            if self.placed.len() == before {
                return;
            }
        }
    }

    /// `i = e` with everything in `e` placed.
    fn bind_indices(&mut self) {
        while let Some(i) = self.wanted.dims.iter().find(|i| {
            self.space.indices.contains(i)
                && !self.is_placed(i)
                && is_decided(self.space, i, |n| self.is_placed(n))
        }) {
            self.place(i.clone(), How::Let);
        }
    }
}
