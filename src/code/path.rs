//! What is known on the way to a place in the code, and what follows from it.

use rustc_hash::FxHashMap;

use crate::formula::{Affine, Arith, Atom, Call, Constraint, Formula, Products, Relop};
use crate::prover::Prover;
use crate::theory::{Known, Theory};

/// A stack of facts. Most of them are left before anything is asked: they are told only when a
/// question comes.
pub struct Path<'p> {
    known: Known<'p>,
    /// The first has no facts, and is never left.
    frames: Vec<Frame>,
}

#[derive(Default)]
struct Frame {
    facts: Vec<Formula>,
    told: bool,
    answers: FxHashMap<Formula, bool>,
}

impl<'p> Path<'p> {
    /// Nothing is known yet but what the theory says.
    pub fn new(theory: &'p Theory, prover: &'p mut dyn Prover) -> Path<'p> {
        Path { known: Known::new(theory, prover), frames: vec![Frame::told()] }
    }

    pub fn depth(&self) -> usize {
        self.frames.len()
    }

    pub fn leave_to(&mut self, depth: usize) {
        while self.frames.len() > depth {
            self.leave();
        }
    }

    /// Adds facts until the matching [`Path::leave`].
    pub fn enter(&mut self, facts: &[Formula]) {
        let facts: Vec<Formula> = facts.iter().filter(|f| !f.is_true()).cloned().collect();
        self.frames.push(Frame { facts, ..Frame::default() });
    }

    /// What was entered since there were so many frames.
    pub fn facts_from(&self, depth: usize) -> Vec<Formula> {
        self.frames[depth..].iter().flat_map(|frame| frame.facts.iter().cloned()).collect()
    }

    pub fn leave(&mut self) {
        if self.frames.len() > 1
            && let Some(frame) = self.frames.pop()
            && frame.told
        {
            self.known.leave();
        }
    }

    /// Tells the first frames, as many as are said.
    fn tell(&mut self, depth: usize) {
        for frame in self.frames[..depth].iter_mut().filter(|f| !f.told) {
            frame.told = true;
            self.known.enter_formulas(&frame.facts, &[]);
        }
    }

    pub fn proves(&mut self, claim: &Formula) -> bool {
        if claim.is_true() {
            return true;
        }
        let depth = self.frames.len();
        if let Some(answer) = self.answered(depth, claim) {
            return answer;
        }
        let answer = self.follows(claim) || self.imply(&[], claim);
        self.frames[depth - 1].answers.insert(claim.clone(), answer);
        answer
    }

    /// What was answered in the scope of the first frames: a positive answer stays true in deeper scopes.
    fn answered(&self, depth: usize, claim: &Formula) -> Option<bool> {
        if self.frames.iter().any(|f| f.answers.get(claim) == Some(&true)) {
            return Some(true);
        }
        self.frames[depth - 1].answers.get(claim).copied()
    }

    /// Whether each part of a conjunction follows from one fact, and from what was known before it, which is asked once
    /// for many claims: with `p + 8 <= hi`, all of `p < n` to `p + 7 < n` from `hi <= n`.
    fn follows(&mut self, claim: &Formula) -> bool {
        let Some(parts) = claim.as_conjunction() else { return false };
        parts.iter().all(|part| {
            if part.as_bool() == Some(true) {
                return true;
            }
            let Some((rest, depth)) = self.rest(part) else { return false };
            if rest.is_true() {
                return true;
            }
            if let Some(answer) = self.answered(depth, &rest) {
                return answer;
            }
            // What is told cannot be taken back: the answer would be one of the deeper scope.
            if self.frames[depth..].iter().any(|frame| frame.told) {
                return false;
            }
            self.tell(depth);
            let answer = self.known.imply(&[], &rest);
            self.frames[depth - 1].answers.insert(rest, answer);
            answer
        })
    }

    /// What is left to show of `part` once the latest fact is used that bounds what it says is small, or large; and how
    /// many frames there are before that fact (at least the first, which has none).
    fn rest(&self, part: &Constraint) -> Option<(Formula, usize)> {
        if part.relop != Relop::Ge {
            return None;
        }
        let terms = part.affine.terms();
        let upper = terms.iter().any(|(_, by)| *by < 0);
        // Of `p < n`, the fact bounds `p`; of `0 <= p`, too.
        let bounded = || terms.iter().filter(|(_, by)| (*by < 0) == upper);
        for (depth, frame) in self.frames.iter().enumerate().rev() {
            for fact in frame.facts.iter().rev().filter_map(Formula::as_conjunction).flatten() {
                let takes = |(atom, by): &(Atom, i64)| fact.affine.coefficient(atom) == *by;
                if fact.relop == Relop::Ge && bounded().all(takes) {
                    let rest = part.affine.clone() - fact.affine.clone();
                    let spare = rest.offset();
                    if spare >= 0 {
                        let rest = Formula::le(Affine::constant(spare), rest);
                        return Some((rest.folded(), depth));
                    }
                }
            }
        }
        None
    }

    /// The calls that the facts mention.
    pub fn calls(&self) -> Vec<Call> {
        let mut out: Vec<Call> = Vec::new();
        for fact in self.frames.iter().flat_map(|frame| &frame.facts) {
            fact.visit_calls(&mut |call| {
                if !out.contains(call) {
                    out.push(call.clone());
                }
            });
        }
        out
    }

    /// Whether what is known and `lemmas` imply the claim.
    pub fn imply(&mut self, lemmas: &[Formula], claim: &Formula) -> bool {
        self.tell(self.frames.len());
        self.known.imply(lemmas, claim)
    }

    /// Whether a subscript lies in `0..extent`.
    pub fn is_inside(&mut self, subscript: &Arith, extent: &Arith) -> bool {
        match (subscript.to_affine(), extent.to_affine()) {
            (Ok(s), Ok(extent)) => self.proves(&Formula::and([
                Formula::le(Affine::zero(), s.clone()),
                Formula::lt(s, extent),
            ])),
            _ => self.is_below(subscript, extent),
        }
    }

    /// Whether a subscript with products of unknowns lies in `0..extent`, no part of it being
    /// negative, and no product larger than one in the extent, which was computed without overflow.
    fn is_below(&mut self, subscript: &Arith, extent: &Arith) -> bool {
        let mut products = Products::with_extremes();
        let mut linear = |e: &Arith| products.linear(e);
        let (Some(index), Some(length)) = (linear(subscript), linear(extent)) else {
            return false;
        };
        let parts: Option<Vec<Affine>> = subscript.parts().into_iter().map(&mut linear).collect();
        let mut factors = |e: &Arith| -> Option<Vec<Affine>> {
            let products = e.parts().into_iter().filter(|part| matches!(part, Arith::Mul(..)));
            products.map(&mut linear).collect()
        };
        let (Some(parts), Some(small), Some(large)) = (parts, factors(subscript), factors(extent))
        else {
            return false;
        };
        let mut claims = vec![Formula::lt(index, length)];
        claims.extend(parts.into_iter().map(|part| Formula::le(Affine::zero(), part)));
        claims.extend(small.into_iter().map(|product| {
            Formula::or(large.iter().map(|bound| Formula::le(product.clone(), bound.clone())))
        }));
        self.imply_of(&products, &Formula::and(claims))
    }

    /// Whether what is known of products implies a claim.
    fn imply_of(&mut self, products: &Products, claim: &Formula) -> bool {
        let mut lemmas = products.lemmas();
        if self.imply(&lemmas, claim) {
            return true;
        }
        let squares = products.squares();
        lemmas.extend(squares.iter().cloned());
        !squares.is_empty() && self.imply(&lemmas, claim)
    }

    /// Whether an integer with products is not negative.
    pub fn is_natural(&mut self, e: &Arith) -> bool {
        let mut products = Products::with_extremes();
        let Some(whole) = products.linear(e) else { return false };
        self.imply_of(&products, &Formula::le(Affine::zero(), whole))
    }
}

impl Frame {
    fn told() -> Frame {
        Frame { told: true, ..Frame::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prover::{Answer, Z3Prover};

    /// Counts what it is asked.
    struct Counting {
        prover: Z3Prover,
        asked: usize,
    }

    impl Prover for Counting {
        fn push(&mut self, facts: &[Formula]) {
            self.prover.push(facts);
        }

        fn pop(&mut self) {
            self.prover.pop();
        }

        fn check(&mut self) -> Answer {
            self.asked += 1;
            self.prover.check()
        }
    }

    #[test]
    fn of_places_beside_each_other_one_question_is_asked() {
        let [p, hi, n] = ["p", "hi", "n"].map(Affine::var);
        let place = |k| p.clone() + Affine::constant(k);
        let inside = |k| {
            Formula::and([Formula::le(Affine::zero(), place(k)), Formula::lt(place(k), n.clone())])
        };
        let theory = Theory::new(vec!["n".into()], vec![Formula::le(Affine::zero(), n.clone())]);
        let mut prover = Counting { prover: Z3Prover::new(), asked: 0 };
        let mut path = Path::new(&theory, &mut prover);
        path.enter(&[Formula::le(Affine::zero(), p.clone()), Formula::le(hi.clone(), n.clone())]);
        for _ in 0..2 {
            path.enter(&[Formula::le(place(8), hi.clone())]);
            assert!((0..8).all(|k| path.proves(&inside(k))));
            path.leave();
        }
        path.enter(&[Formula::le(place(8), hi.clone())]);
        assert!(!path.proves(&inside(8)), "it is n where hi = n and p = n - 8");
        assert!(!path.proves(&inside(-1)));
        path.leave();
        assert!(!path.proves(&inside(0)), "hi bounds p no longer");
        path.leave();
        path.enter(&[Formula::le(place(8), hi)]);
        assert!(!path.proves(&inside(0)), "n does not bound hi");
        drop(path);
        assert!(prover.asked <= 1 + 5, "{}", prover.asked);
    }
}
