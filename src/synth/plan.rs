//! A proved way to find: a template with its arguments.

use std::fmt;
use std::rc::Rc;

use super::Template;
use crate::formula::{Affine, Formula, Name};
use crate::scan::{Grouped, Nest};

/// Which way a sequential walk moves over the positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Up,
    Down,
}

/// One component of a find key: the index-array value `inner` (a function of the position) that a
/// match must have, and its value `outer` in terms of the outer indices.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyPart {
    pub inner: Affine,
    pub outer: Affine,
}

/// Where state lives, decided from the state indices (SPF Appendix A.3).
#[derive(Clone, Debug, PartialEq)]
pub enum Placement {
    /// One state, initialised right before level `before`.
    Prefix { before: usize },
    /// One state declared before level `before`, initialised again whenever `indices` change: equal
    /// values of them are consecutive. With no index it is initialised by the first query.
    Reset { before: usize, indices: Vec<Name> },
    /// An array of states over `indices`, declared before level `before`.
    Array { before: usize, indices: Vec<StateIndex> },
}

/// An index of an array of states, and its extent: it is proved to lie in `0..extent` wherever the find
/// is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct StateIndex {
    pub name: Name,
    /// A number, or a size of the space.
    pub extent: Affine,
}

/// A template with proved arguments.
#[derive(Clone, Debug)]
pub struct Plan {
    pub template: Rc<Template>,
    pub direction: Option<Direction>,
    /// A position that satisfies it is skipped by this query.
    pub continues: Option<Formula>,
    /// The state moves past a match.
    pub resume: bool,
    /// Several positions may match; all are visited.
    pub many: bool,
    pub key: Vec<KeyPart>,
    /// State indices, outermost first.
    pub state: Vec<Name>,
    pub placement: Option<Placement>,
}

impl Plan {
    /// Whether no query changes its state: then threads may share it.
    pub fn is_shared(&self) -> bool {
        self.template.shared && matches!(self.placement, Some(Placement::Prefix { .. }))
    }

    /// Whether the innermost loop around a find, which is a level of a nest, does nothing but ask it, and all its queries
    /// share one state: when that has no position left, the rest of the loop finds nothing.
    pub fn may_leave(&self, find: usize, nest: &Nest) -> bool {
        let around = (0..find).rev().find(|&d| nest.levels[d].is_loop());
        // The body of another find is no loop of its own.
        let Some(around) = around.filter(|&d| !nest.levels[d].is_find()) else { return false };
        let outside = |n: &Name| nest.level_of(n).is_some_and(|level| level < around);
        match &self.placement {
            None => false,
            Some(Placement::Prefix { before }) => *before <= around,
            Some(Placement::Reset { before, indices }) => {
                *before <= around && indices.iter().all(outside)
            }
            Some(Placement::Array { before, indices }) => {
                *before <= around && indices.iter().all(|index| outside(&index.name))
            }
        }
    }

    /// Whether a state that begins with each group of a nest is as good: it belongs to what a group has in common, and
    /// can be set up there.
    pub fn begins_with(&self, grouped: &Grouped, find: usize, nest: &Nest) -> bool {
        let of_group =
            |n: &Name| nest.level_of(n).is_some_and(|level| nest.is_of_group(level, grouped));
        match &self.placement {
            Some(Placement::Reset { indices, .. }) => {
                !indices.is_empty()
                    && self.state.iter().all(of_group)
                    && nest.is_range_of_group(find, grouped)
            }
            _ => false,
        }
    }

    /// The arguments in words: `up, while crd_x(px) < j, resume after a match, state {pA0}`.
    pub fn arguments(&self) -> String {
        let mut out = Vec::new();
        match self.direction {
            Some(Direction::Up) => out.push("up".to_string()),
            Some(Direction::Down) => out.push("down".to_string()),
            None => {}
        }
        if let Some(c) = &self.continues {
            out.push(format!("while {c}"));
        }
        if !self.key.is_empty() {
            let parts: Vec<String> =
                self.key.iter().map(|k| format!("{} = {}", k.inner, k.outer)).collect();
            out.push(format!("key {}", parts.join(", ")));
        }
        if self.resume {
            out.push("resume after a match".to_string());
        }
        if self.many {
            out.push("all matches".to_string());
        }
        if self.template.state {
            let names: Vec<&str> = self.state.iter().map(|n| &**n).collect();
            out.push(format!("state {{{}}}", names.join(", ")));
        }
        out.join(", ")
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.template.name)?;
        let arguments = self.arguments();
        if arguments.is_empty() { Ok(()) } else { write!(f, " ({arguments})") }
    }
}
