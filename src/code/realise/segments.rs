//! Segments that follow each other are walked as one.
//!
//! Before → after, for the greatest value of every matrix of a tensor in csf:
//!
//! ```text
//! for p1 in pos1(p0)..pos1(p0 + 1)                    for p2 in pos2(pos1(p0))..pos2(pos1(p0 + 1))
//!   let j = crd1(p1)                                    s[i] max= val[p2]
//!   for p2 in pos2(p1)..pos2(p1 + 1)             →
//!     let k = crd2(p2)
//!     s[i] max= val[p2]
//! ```
//! A segment begins where the one before ends, and none ends before it begins: that is proved. The order of what is
//! done stays the same. Nothing inside may depend on the number of the segment, nor may a loop end early for truth
//! values: it would have to ask for every element.

use super::super::ir::Expr;
use super::Realiser;
use crate::formula::{Affine, Formula, Name};
use crate::loops::{Block, Loop, Node, Term, Update, updates};
use crate::scan::Range;
use crate::tensor::ValueType;

impl Realiser<'_, '_> {
    /// The loop over all elements of the segments that `outer` goes through, if that is all it does.
    pub(super) fn joined_segments(&mut self, outer: &Loop) -> Option<Loop> {
        if self.loops.short_circuit || !outer.is_plain() {
            return None;
        }
        let (Node::For(segment), lets) = outer.body.split_last()? else { return None };
        if !segment.is_plain() {
            return None;
        }
        // What is bound for a segment.
        let mut of_segment = vec![outer.var.clone()];
        for node in lets {
            let Node::Let { var, .. } = node else { return None };
            of_segment.push(var.clone());
        }
        let ends_early = |u: &&Update| self.element_type(&u.target) == ValueType::Bool;
        if !segment.body.iter().all(|node| is_free(node, &of_segment))
            || updates(&segment.body).iter().any(ends_early)
        {
            return None;
        }
        let (first, last) = (only_end(&outer.range.lower)?, only_end(&outer.range.upper)?);
        let (begin, end) = (only_end(&segment.range.lower)?, only_end(&segment.range.upper)?);
        if of_segment[1..].iter().any(|name| begin.mentions(name) || end.mentions(name)) {
            return None;
        }
        let begin_of = |p: &Affine| begin.substitute(&|n| (*n == outer.var).then(|| p.clone()));
        let next = begin_of(&(Affine::var(outer.var.clone()) + Affine::constant(1)));
        let (lower, upper) = (begin_of(first), begin_of(last));
        if !begin.has_calls() || next != *end || !self.never_falls(outer, begin, end) {
            return None;
        }
        // No segment is asked where it begins if there is none.
        if !self.is_there(&lower) || !self.is_there(&upper) {
            return None;
        }
        let range = Range { lower: vec![lower], upper: vec![upper] };
        Some(Loop { range, ..(**segment).clone() })
    }

    /// Whether no segment of a loop ends before it begins, nor do all of them together.
    fn never_falls(&mut self, outer: &Loop, begin: &Affine, end: &Affine) -> bool {
        let [first, last] = [&outer.range.lower[0], &outer.range.upper[0]].map(|e| self.here(e));
        if !self.path.proves(&Formula::le(first, last)) {
            return false;
        }
        let number = Affine::var("the number of a segment");
        let of_any = |a: &Affine| a.substitute(&|n| (*n == outer.var).then(|| number.clone()));
        let facts = outer.range.of(&number);
        let facts = self.here_all(&facts);
        let [begin, end] = [begin, end].map(|e| self.here(&of_any(e)));
        self.enter(&facts);
        let never = self.path.proves(&Formula::le(begin, end));
        self.path.leave();
        never
    }

    /// Whether all elements of index arrays that a number needs are there.
    fn is_there(&mut self, number: &Affine) -> bool {
        let here = self.here(number);
        let mut loads = Vec::new();
        self.value(&here).visit(&mut |e| {
            if let Expr::Load(load) = e {
                loads.push(load.clone());
            }
        });
        loads.iter().all(|load| self.is_inside(load))
    }
}

fn only_end(ends: &[Affine]) -> Option<&Affine> {
    match ends {
        [end] => Some(end),
        _ => None,
    }
}

/// Whether a node is one that mentions none of the names.
fn is_free(node: &Node, names: &[Name]) -> bool {
    let free = |a: &Affine| !names.iter().any(|n| a.mentions(n));
    let all = |body: &Block| body.iter().all(|node| is_free(node, names));
    match node {
        Node::Let { value, .. } => free(value),
        Node::For(l) => {
            l.is_plain() && l.range.lower.iter().chain(&l.range.upper).all(free) && all(&l.body)
        }
        Node::If { tests, restrictions, body } => {
            tests.iter().all(|test| free(&test.affine)) && restrictions.is_empty() && all(body)
        }
        Node::Update(update) => {
            let depends = |n: &Name| names.contains(n);
            let reads = |term: &&Term| match term {
                Term::Element(place) => place.depends_on(&depends),
                Term::Found(_) => true,
                Term::Index(name) => depends(name),
            };
            !update.target.depends_on(&depends) && !update.value.leaves().iter().any(reads)
        }
        _ => false,
    }
}
