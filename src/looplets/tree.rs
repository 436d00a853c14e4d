//! The looplets. Their grammar is in the module's documentation.

use crate::formula::{Affine, Arith, Formula, Name};
use crate::scan::Range;

/// What a tensor holds in a region.
#[derive(Clone, Debug, PartialEq)]
pub enum Looplet {
    /// Nothing is stored.
    Fill,
    /// An element of the value array, of these subscripts.
    Element { array: Name, index: Vec<Arith> },
    /// All of the next index.
    Along(Box<Along>),
    /// At each coordinate of the region what this says of it.
    Lookup { index: Name, body: Box<Looplet> },
    /// The same at each coordinate of the region.
    Run(Box<Looplet>),
    /// The same at each coordinate but the last, and the tail there.
    Spike { body: Box<Looplet>, tail: Box<Looplet> },
    /// One region after the other.
    Sequence(Vec<Phase>),
    /// A value that is computed before.
    Thunk { var: Name, value: Affine, body: Box<Looplet> },
    /// One of two, by tests that do not need the coordinate.
    Switch { tests: Vec<Formula>, then: Box<Looplet>, otherwise: Box<Looplet> },
    /// Regions by positions, in the order of both.
    Stepper(Box<Stepper>),
    /// The position that passes tests, or the sum of all that do; fill if there is none.
    Search(Box<Search>),
}

/// What a tensor holds along an index, outer ones being known.
#[derive(Clone, Debug, PartialEq)]
pub struct Along {
    pub index: Name,
    pub range: Range,
    pub body: Looplet,
}

/// A part of a sequence, from where the last one ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    pub stop: Stop,
    pub body: Looplet,
}

/// Where a region ends, exclusively.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    Least(Vec<Affine>),
    Greatest(Vec<Affine>),
    /// That of the last position of a range; of none, where the region began.
    Last {
        var: Name,
        range: Range,
        stop: Box<Stop>,
    },
}

/// For each position a region that ends at its stop; behind the last one, fill.
#[derive(Clone, Debug, PartialEq)]
pub struct Stepper {
    pub var: Name,
    /// Several positions have one coordinate: the next position that has another.
    pub end: Option<Name>,
    pub range: Range,
    /// Positions that do not pass have no region.
    pub tests: Vec<Formula>,
    /// Where the region of a position begins, which is where the last one ended; not said if there are gaps.
    pub begin: Option<Stop>,
    /// Without one, a region ends where the last one inside of it does.
    pub stop: Option<Stop>,
    /// Stops are proved not to fall from any position to the next, so that the first one behind a coordinate may be
    /// sought by halving (a jumper of Finch).
    pub rises: bool,
    pub body: Looplet,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    pub var: Name,
    pub range: Range,
    /// What the position passes.
    pub tests: Vec<Formula>,
    /// Several may, and add up.
    pub each: bool,
    pub found: Looplet,
}

impl Looplet {
    /// The looplets right inside.
    pub fn parts(&self) -> Vec<&Looplet> {
        match self {
            Looplet::Fill | Looplet::Element { .. } => Vec::new(),
            Looplet::Along(along) => vec![&along.body],
            Looplet::Lookup { body, .. } | Looplet::Run(body) | Looplet::Thunk { body, .. } => {
                vec![body]
            }
            Looplet::Spike { body, tail } => vec![body, tail],
            Looplet::Sequence(phases) => phases.iter().map(|phase| &phase.body).collect(),
            Looplet::Switch { then, otherwise, .. } => vec![then, otherwise],
            Looplet::Stepper(stepper) => vec![&stepper.body],
            Looplet::Search(search) => vec![&search.found],
        }
    }

    /// Whether anything in it depends on a variable.
    pub fn mentions(&self, var: &Name) -> bool {
        let own = match self {
            Looplet::Element { index, .. } => index.iter().any(|e| {
                let mut found = false;
                e.visit_vars(&mut |n| found |= n == var);
                found
            }),
            Looplet::Along(along) => range_mentions(&along.range, var),
            Looplet::Thunk { value, .. } => value.mentions(var),
            Looplet::Sequence(phases) => phases.iter().any(|phase| phase.stop.mentions(var)),
            Looplet::Switch { tests, .. } => tests_mention(tests, var),
            Looplet::Stepper(s) => {
                let stops = s.begin.iter().chain(&s.stop).any(|stop| stop.mentions(var));
                range_mentions(&s.range, var) || tests_mention(&s.tests, var) || stops
            }
            Looplet::Search(s) => range_mentions(&s.range, var) || tests_mention(&s.tests, var),
            Looplet::Fill | Looplet::Lookup { .. } | Looplet::Run(_) | Looplet::Spike { .. } => {
                false
            }
        };
        own || self.parts().into_iter().any(|part| part.mentions(var))
    }
}

impl Stop {
    fn mentions(&self, var: &Name) -> bool {
        match self {
            Stop::Least(ends) | Stop::Greatest(ends) => ends.iter().any(|e| e.mentions(var)),
            Stop::Last { range, stop, .. } => range_mentions(range, var) || stop.mentions(var),
        }
    }
}

fn range_mentions(range: &Range, var: &Name) -> bool {
    range.lower.iter().chain(&range.upper).any(|e| e.mentions(var))
}

fn tests_mention(tests: &[Formula], var: &Name) -> bool {
    tests.iter().any(|test| test.free_vars().contains(var))
}
