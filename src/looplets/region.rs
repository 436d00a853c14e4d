//! What is known of the region of coordinates that a looplet is about.

use super::tree::{Looplet, Stop};
use crate::formula::{Affine, Name};
use crate::scan::Range;

/// A looplet along an index, and where it is not fill.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// One coordinate.
    Point { at: Affine, here: Looplet },
    /// Something that says of every coordinate what is there.
    Everywhere(Looplet),
    /// Something at all coordinates of a range.
    Within { range: Range, inside: Looplet },
    /// Regions up to a stop, gaps included; behind it, and without one behind the last region, fill.
    Upto { stop: Option<Stop>, regions: Looplet },
}

impl Shape {
    /// The same around what is there.
    pub fn map(self, f: impl FnOnce(Looplet) -> Looplet) -> Shape {
        match self {
            Shape::Point { at, here } => Shape::Point { at, here: f(here) },
            Shape::Everywhere(inside) => Shape::Everywhere(f(inside)),
            Shape::Within { range, inside } => Shape::Within { range, inside: f(inside) },
            Shape::Upto { stop, regions } => Shape::Upto { stop, regions: f(regions) },
        }
    }

    /// A variable of its ends has a value; what is there computes it for itself.
    pub fn with_ends_at(self, var: &Name, value: &Affine) -> Shape {
        let at = |e: &Affine| e.substitute(&|n| (n == var).then(|| value.clone()));
        match self {
            Shape::Point { at: e, here } => Shape::Point { at: at(&e), here },
            Shape::Everywhere(inside) => Shape::Everywhere(inside),
            Shape::Within { range, inside } => {
                Shape::Within { range: range_by(&range, &at), inside }
            }
            Shape::Upto { stop, regions } => {
                Shape::Upto { stop: stop.map(|stop| stop_by(&stop, &at)), regions }
            }
        }
    }
}

fn range_by(range: &Range, f: &dyn Fn(&Affine) -> Affine) -> Range {
    Range { lower: range.lower.iter().map(f).collect(), upper: range.upper.iter().map(f).collect() }
}

fn stop_by(stop: &Stop, f: &dyn Fn(&Affine) -> Affine) -> Stop {
    match stop {
        Stop::Least(ends) => Stop::Least(ends.iter().map(f).collect()),
        Stop::Greatest(ends) => Stop::Greatest(ends.iter().map(f).collect()),
        Stop::Last { var, range, stop } => Stop::Last {
            var: var.clone(),
            range: range_by(range, f),
            stop: Box::new(stop_by(stop, f)),
        },
    }
}
