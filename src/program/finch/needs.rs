//! Why a number may not be there, and what must hold for it to be.

use crate::program::ir::{self, Access};

/// Why a number is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Why {
    Missing,
    Nothing,
}

impl Why {
    pub const ALL: [Why; 2] = [Why::Missing, Why::Nothing];

    pub fn other(self) -> Why {
        Why::ALL[1 - self as usize]
    }
}

/// What must hold for a number to be there.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Need {
    /// An access lies inside its tensor.
    Inside(Access),
    /// A truth value, which can be evaluated where the needs in front of it hold.
    Holds(ir::Expr),
}

/// All that must hold: else the number is missing, or nothing. At most one of them fails.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Needs([Vec<Need>; 2]);

impl Needs {
    pub fn of(why: Why, needs: Vec<Need>) -> Needs {
        let mut out = Needs::default();
        out.0[why as usize] = needs;
        out
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Vec::is_empty)
    }

    pub fn get(&self, why: Why) -> &[Need] {
        &self.0[why as usize]
    }

    /// What lies outside is asked first.
    pub fn all(&self) -> Vec<Need> {
        self.0.iter().flatten().cloned().collect()
    }

    pub fn add(&mut self, other: &Needs) {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            for need in other {
                if !own.contains(need) {
                    own.push(need.clone());
                }
            }
        }
    }
}
