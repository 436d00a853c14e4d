//! Every point of a space has a place in the output.
//!
//! A layout that stores a part of all coordinates (a triangle) would drop what is computed outside it.
//! Where an output has index arrays of its own, or those of an input, it says by them which elements
//! are wanted; where it has none, its relation must hold every point.

use super::Space;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Formula, conjunction};
use crate::prover::Prover;
use crate::theory::Known;

impl Space {
    /// Refuses points that the output has no place for.
    ///
    /// # Errors
    /// `S0302` unless it is proved that there are none.
    pub fn refuse_points_without_place(&self, prover: &mut dyn Prover) -> Result<()> {
        let output = self.output();
        if !output.is_direct() || output.shares.is_some() {
            return Ok(());
        }
        let demanded = self.demanded.iter().cloned().map(Formula::Constraint);
        let points: Vec<Formula> = demanded.chain(self.guards.iter().cloned()).collect();
        let mut known = Known::new(&self.theory, prover);
        let own = output.pieces[self.pieces[self.target]].iter();
        for c in own.filter(|c| !self.demanded.contains(c)) {
            let mut outside = points.clone();
            outside.push(Formula::Constraint(c.clone()).not());
            if !known.excludes(&outside) {
                let layout = &output.layout.name;
                return Err(Diagnostic::new(
                    Code::Space,
                    format!(
                        "`{}` in layout `{layout}` has no place for some elements",
                        output.tensor
                    ),
                )
                .note(format!("it stores those with {}", conjunction(std::slice::from_ref(c))))
                .help(format!(
                    "restrict the statement (`if {c}`), or give the output a dense layout"
                )));
            }
        }
        Ok(())
    }
}
