//! Large spaces, a part at a time.
//!
//! isl's operations on a conjunction take time that grows with a high power of its size, and a
//! product of many factors makes a large one, of which hardly anything matters to one dimension.
//! From some size on, only the constraints next to a question are given to isl: those that share
//! atoms with it, then those that share atoms with these. What is left out can cost a simplification
//! (a test that is implied from far away stays), never exactness.

use std::cell::OnceCell;
use std::rc::Rc;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashSet};

use super::differences::Differences;
use crate::formula::{Atom, Constraint};
use crate::isl::{Frame, Set};

/// So many constraints are looked at together, all of them.
const MOST_TOGETHER: usize = 100;

/// Of more than that, so many.
const NEAREST: usize = 40;

/// Whether so many constraints are looked at in parts.
pub(super) fn is_large(constraints: usize) -> bool {
    constraints > MOST_TOGETHER
}

/// Constraints that hold, and what they imply.
pub(super) struct Context {
    frame: Rc<Frame>,
    known: Vec<Constraint>,
    /// The differences among them.
    differences: Option<Differences>,
    /// Whether all of them may be given to isl.
    together: bool,
    set: OnceCell<Set>,
}

impl Context {
    /// For some questions about what holds at one place.
    pub fn new(frame: &Rc<Frame>, known: Vec<Constraint>, is_large: bool) -> Context {
        // Of a large space, that would take longer than asking about its parts.
        let differences = (!is_large).then(|| Differences::of(&known));
        let set = OnceCell::new();
        Context { frame: frame.clone(), known, differences, together: !is_large, set }
    }

    /// For many questions about a whole space.
    pub fn of_everything(frame: &Rc<Frame>, known: Vec<Constraint>, is_large: bool) -> Context {
        let differences = Some(Differences::of(&known));
        let set = OnceCell::new();
        Context { frame: frame.clone(), known, differences, together: !is_large, set }
    }

    /// Of a large space, "no" may mean that it follows from far away.
    pub fn implies(&self, claim: &Constraint) -> bool {
        if let Some(answer) = self.differences.as_ref().and_then(|d| d.decide(claim)) {
            return answer;
        }
        if self.together {
            return self.set.get_or_init(|| self.set_of_all()).implies(claim);
        }
        implied_nearby(&self.known.iter().collect::<Vec<_>>(), claim)
    }

    fn set_of_all(&self) -> Set {
        framed(&self.frame, &self.known)
    }

    pub fn push(&mut self, constraint: Constraint) {
        if let Some(set) = self.set.get_mut() {
            *set = set.intersect(&framed(&self.frame, std::slice::from_ref(&constraint)));
        }
        if let Some(differences) = &mut self.differences {
            differences.extend([&constraint]);
        }
        self.known.push(constraint);
    }
}

/// All atoms of a scan are in its frames by construction.
pub(super) fn framed(frame: &Rc<Frame>, constraints: &[Constraint]) -> Set {
    Set::new(frame, constraints).expect("every atom of the space is in its frame")
}

/// The constraints nearest to those atoms, in their order.
pub(super) fn nearest<'c>(
    seed: impl IntoIterator<Item = Atom>,
    constraints: &[&'c Constraint],
) -> Vec<&'c Constraint> {
    let mut reached: FxHashSet<Atom> = seed.into_iter().collect();
    let mut taken = vec![false; constraints.len()];
    let mut count = 0;
    loop {
        let before = count;
        let mut found: Vec<Atom> = Vec::new();
        // What is only about atoms that were reached comes first: it adds none.
        for inside in [true, false] {
            for (k, c) in constraints.iter().enumerate() {
                if taken[k] || count == NEAREST {
                    continue;
                }
                let (mut any, mut all) = (false, true);
                c.affine.visit_atoms(&mut |atom| {
                    let touches = reached.contains(atom);
                    any |= touches;
                    all &= touches;
                });
                if any && (all || !inside) {
                    taken[k] = true;
                    count += 1;
                    c.affine.visit_atoms(&mut |atom| found.push(atom.clone()));
                }
            }
        }
        reached.extend(found);
        if count == before || count == NEAREST {
            break;
        }
    }
    constraints.iter().zip(taken).filter(|(_, taken)| *taken).map(|(c, _)| *c).collect()
}

/// Whether the constraints nearest to `claim` imply it.
fn implied_nearby(constraints: &[&Constraint], claim: &Constraint) -> bool {
    let mut seed = Vec::new();
    claim.affine.visit_atoms(&mut |atom| seed.push(atom.clone()));
    let near: Vec<Constraint> = nearest(seed.clone(), constraints).into_iter().cloned().collect();
    if let Some(answer) = Differences::of(&near).decide(claim) {
        return answer;
    }
    let mut atoms: IndexSet<Atom, FxBuildHasher> = seed.into_iter().collect();
    near.iter().for_each(|c| {
        c.affine.visit_atoms(&mut |atom| {
            atoms.insert(atom.clone());
        });
    });
    let frame = Rc::new(Frame::new(Vec::new(), atoms.into_iter().collect()));
    Set::new(&frame, &near).is_ok_and(|set| set.implies(claim))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::parse;

    fn constraints(text: &str) -> Vec<Constraint> {
        parse::formula(text).unwrap().as_conjunction().unwrap()
    }

    #[test]
    fn neighbours_come_before_what_is_further_away() {
        let far: Vec<String> = (0..100).map(|k| format!("x{k} < x{}", k + 1)).collect();
        let all = constraints(&far.join(" and "));
        let all: Vec<&Constraint> = all.iter().collect();
        let near = nearest([Atom::Var("x70".into())], &all);
        assert_eq!(near.len(), NEAREST);
        assert!(near.contains(&all[69]) && near.contains(&all[70]) && !near.contains(&all[0]));
        assert!(implied_nearby(&all, &constraints("x70 < x75")[0]));
        assert!(!implied_nearby(&all, &constraints("x75 < x70")[0]));
    }

    #[test]
    fn atoms_in_floors_count_and_those_in_calls_do_not() {
        let all = constraints("floor(i/4) = p and crd(i) = j and 0 <= k");
        let all: Vec<&Constraint> = all.iter().collect();
        let near = nearest([Atom::Var("i".into())], &all);
        assert_eq!(near, [all[0]]);
    }
}
