//! The correspondence between atoms and isl's positions.

use std::fmt;

use crate::formula::{Atom, Name};

/// Which atom is which isl parameter or set dimension. Atoms are variables or whole calls, never
/// floors; all are distinct.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    pub params: Vec<Atom>,
    pub dims: Vec<Atom>,
}

impl Frame {
    pub fn new(params: Vec<Atom>, dims: Vec<Atom>) -> Self {
        let frame = Frame { params, dims };
        debug_assert!(
            frame.atoms().enumerate().all(|(k, a)| {
                !matches!(a, Atom::Floor(..)) && frame.atoms().take(k).all(|b| b != a)
            }),
            "a frame lists distinct variables and calls"
        );
        frame
    }

    /// A frame of plain variables.
    pub fn of_vars<P, D>(params: P, dims: D) -> Self
    where
        P: IntoIterator,
        P::Item: Into<Name>,
        D: IntoIterator,
        D::Item: Into<Name>,
    {
        Frame::new(
            params.into_iter().map(|n| Atom::Var(n.into())).collect(),
            dims.into_iter().map(|n| Atom::Var(n.into())).collect(),
        )
    }

    /// Parameters, then dimensions.
    pub fn atoms(&self) -> impl Iterator<Item = &Atom> {
        self.params.iter().chain(&self.dims)
    }

    /// Number of parameters and dimensions.
    pub fn len(&self) -> usize {
        self.params.len() + self.dims.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Position among [`Frame::atoms`].
    pub fn position(&self, atom: &Atom) -> Option<usize> {
        self.atoms().position(|a| a == atom)
    }

    /// Position among the dimensions.
    pub fn dim(&self, atom: &Atom) -> Option<usize> {
        self.dims.iter().position(|a| a == atom)
    }
}

/// A constraint mentions an atom that the frame lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unframed {
    pub atom: Atom,
}

impl fmt::Display for Unframed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is neither a parameter nor a dimension of this set", self.atom)
    }
}

impl std::error::Error for Unframed {}
