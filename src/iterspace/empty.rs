//! Spaces without a point.

use super::Space;
use crate::formula::Formula;
use crate::prover::Prover;
use crate::theory::Known;

/// A larger conjunction is only asked whether it contradicts itself: products of very many factors
/// are hardly ever empty because of a law, and its instances are many.
const MOST_WITH_LAWS: usize = 100;

impl Space {
    /// Whether it is proved that the space has no point, whatever the data: `C[i,i]` of the piece of
    /// a symmetric matrix above its diagonal, or `L[i,j] if i < j` of a lower triangle.
    pub fn is_empty(&self, prover: &mut dyn Prover) -> bool {
        let constraints = self.constraints.iter().cloned().map(Formula::Constraint);
        let facts: Vec<Formula> = constraints.chain(self.guards.iter().cloned()).collect();
        if facts.len() <= MOST_WITH_LAWS {
            return Known::new(&self.theory, prover).excludes(&facts);
        }
        prover.push(&self.theory.base);
        let empty = prover.is_unsat(&facts);
        prover.pop();
        empty
    }
}
