//! Every point of a space has a place in the output.
//!
//! A layout that stores a part of all coordinates (a triangle) would drop what is computed outside it.
//! Where an output has index arrays of its own, or those of an input, it says by them which elements
//! are wanted; where it has none, its relation must hold every point.

use std::rc::Rc;

use super::{Operand, Space};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Atom, Constraint, Formula, Name, conjunction};
use crate::isl::{Frame, Set};
use crate::prover::Prover;
use crate::theory::Known;

impl Space {
    /// Refuses points that the output has no place for.
    ///
    /// # Errors
    /// `S0302` unless it is proved that there are none.
    pub fn refuse_points_without_place(&self, prover: &mut dyn Prover) -> Result<()> {
        let output = self.output();
        let is_told = !output.is_direct() && !output.arrays.is_empty();
        if is_told || output.shares.is_some() {
            return Ok(());
        }
        let demanded = self.demanded.iter().cloned().map(Formula::Constraint);
        let points: Vec<Formula> = demanded.chain(self.guards.iter().cloned()).collect();
        let mut known = Known::new(&self.theory, prover);
        let mut is_among = |stored: Formula| {
            let outside: Vec<Formula> = points.iter().cloned().chain([stored.not()]).collect();
            known.excludes(&outside)
        };
        if !output.is_direct() {
            let stored = output.coordinates();
            let or = |all: &[Vec<Constraint>]| {
                Formula::or(
                    all.iter()
                        .map(|piece| Formula::and(piece.iter().cloned().map(Formula::Constraint))),
                )
            };
            if stored.as_ref().is_some_and(|stored| is_among(or(stored))) {
                return Ok(());
            }
            let refused = self.without_place();
            return Err(match stored.as_deref() {
                Some([piece]) => {
                    refused.note(format!("it stores those with {}", conjunction(piece)))
                }
                _ => refused,
            }
            .help("restrict the statement to what it stores, or give the output a dense layout"));
        }
        let own = output.pieces[self.pieces[self.target]].iter();
        for c in own.filter(|c| !self.demanded.contains(c)) {
            if !is_among(Formula::Constraint(c.clone())) {
                return Err(self
                    .without_place()
                    .note(format!("it stores those with {}", conjunction(std::slice::from_ref(c))))
                    .help(format!(
                        "restrict the statement (`if {c}`), or give the output a dense layout"
                    )));
            }
        }
        Ok(())
    }

    fn without_place(&self) -> Box<Diagnostic> {
        let (output, layout) = (self.output(), &self.output().layout.name);
        Diagnostic::new(
            Code::Space,
            format!("`{}` in layout `{layout}` has no place for some elements", output.tensor),
        )
    }
}

impl Operand {
    /// The coordinates, in terms of its subscripts and sizes, for which there is a position: conjunctions, one of which
    /// holds. `None` if its relation calls functions.
    fn coordinates(&self) -> Option<Vec<Vec<Constraint>>> {
        let mut others: Vec<Name> = Vec::new();
        for c in self.pieces.iter().flatten() {
            c.affine.visit_vars(&mut |name| {
                if !self.positions.contains(name) && !others.contains(name) {
                    others.push(name.clone());
                }
            });
        }
        let atoms = |names: &[Name]| names.iter().cloned().map(Atom::Var).collect::<Vec<_>>();
        let frame = Rc::new(Frame::new(atoms(&others), atoms(&self.positions)));
        let all = Set::from_dnf(&frame, &self.pieces).ok()?;
        Some(all.keep_first_dims(0).coalesce().constraints())
    }
}
