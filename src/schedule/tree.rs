//! The tree. Its grammar is in the module's documentation.

use std::fmt;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Result};
use crate::formula::{Affine, Name};
use crate::iterspace::Space;
use crate::operators::{Operator, Tree};
use crate::program::update_prefix;

/// In which order the dimensions of a space are visited.
#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    Forall { dim: Name, how: How, body: Box<Schedule> },
    Assign(Assign),
}

/// What gives a dimension its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// A position: all that the outer dimensions leave, as they are stored.
    Walk,
    /// A position, where all that it stands for is known.
    Locate,
    /// An index that nothing drives: from 0 to its extent.
    Count,
    /// An index that an equation decides.
    Let,
    Tile,
}

/// What is computed at each point.
#[derive(Clone, Debug, PartialEq)]
pub struct Assign {
    pub target: Access,
    /// Not `=`: elements are combined.
    pub op: Arc<Operator>,
    pub value: Tree<Read>,
}

/// A leaf of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Read {
    Access(Access),
    Index(Name),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    pub tensor: Name,
    pub subscripts: Vec<(Affine, Protocol)>,
}

/// How a subscript takes part in the loops around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// The stored positions give it its values.
    Walk,
    /// Its value is given; the position is found or computed from it.
    Locate,
}

impl How {
    pub(super) const ALL: [How; 5] = [How::Walk, How::Locate, How::Count, How::Let, How::Tile];

    pub(super) fn word(self) -> &'static str {
        match self {
            How::Walk => "walk",
            How::Locate => "locate",
            How::Count => "count",
            How::Let => "let",
            How::Tile => "tile",
        }
    }
}

impl Protocol {
    pub(super) const ALL: [Protocol; 2] = [Protocol::Walk, Protocol::Locate];

    pub(super) fn word(self) -> &'static str {
        match self {
            Protocol::Walk => "walk",
            Protocol::Locate => "locate",
        }
    }
}

impl Schedule {
    /// All dimensions, outermost first.
    pub fn dims(&self) -> Vec<Name> {
        self.loops().map(|(dim, _)| dim.clone()).collect()
    }

    /// The indices of its space, outermost first.
    pub fn indices(&self, space: &Space) -> Vec<Name> {
        let dims = self.loops().map(|(dim, _)| dim);
        dims.filter(|dim| space.indices.contains(dim)).cloned().collect()
    }

    /// All dimensions, outermost first, with what gives them their values.
    pub fn loops(&self) -> impl Iterator<Item = (&Name, How)> {
        let mut rest = self;
        std::iter::from_fn(move || match rest {
            Schedule::Forall { dim, how, body } => {
                rest = body;
                Some((dim, *how))
            }
            Schedule::Assign(_) => None,
        })
    }

    pub fn assign(&self) -> &Assign {
        match self {
            Schedule::Forall { body, .. } => body.assign(),
            Schedule::Assign(assign) => assign,
        }
    }

    /// Checks that every dimension of the space is there once, in a role that it can have: positions
    /// are walked or located, indices counted or decided.
    ///
    /// # Errors
    /// An internal diagnostic; nothing a user writes can cause it.
    pub fn verify(&self, space: &Space) -> Result<()> {
        self.check(space).map_err(|what| {
            Diagnostic::defect(format!("the schedule is not well-formed: {what}"))
                .note(format!("the schedule is\n{self}"))
        })
    }

    fn check(&self, space: &Space) -> std::result::Result<(), String> {
        let mut seen: Vec<&Name> = Vec::new();
        for (dim, how) in self.loops() {
            if seen.contains(&dim) {
                return Err(format!("`{dim}` is visited twice"));
            }
            let fits = match how {
                How::Walk | How::Locate => space.owner(dim).is_some(),
                How::Count | How::Let => space.indices.contains(dim),
                How::Tile => space.tiles.iter().any(|t| t.tile == *dim),
            };
            if !fits {
                return Err(format!("`{dim}` cannot be visited by `{}`", how.word()));
            }
            seen.push(dim);
        }
        if let Some(missing) = space.dimensions().iter().find(|d| !seen.contains(d)) {
            return Err(format!("`{missing}` is not visited"));
        }
        let assign = self.assign();
        if assign.value.leaves().len() != space.value.leaves().len() {
            return Err("its value reads other tensors than the space".into());
        }
        Ok(())
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut depth = 0;
        for (dim, how) in self.loops() {
            writeln!(f, "{}forall {dim} {}", "  ".repeat(depth), how.word())?;
            depth += 1;
        }
        write!(f, "{}{}", "  ".repeat(depth), self.assign())
    }
}

impl fmt::Display for Assign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}= {}", self.target, update_prefix(&self.op), self.value)
    }
}

impl fmt::Display for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Read::Access(access) => access.fmt(f),
            Read::Index(index) => f.write_str(index),
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.subscripts.iter().map(|(s, protocol)| format!("{s} {}", protocol.word()));
        write!(f, "{}[{}]", self.tensor, parts.collect::<Vec<_>>().join(", "))
    }
}
