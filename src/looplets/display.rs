//! How looplets are printed.

use std::fmt;

use super::tree::{Looplet, Stop};
use crate::formula::Formula;

impl fmt::Display for Looplet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(self, 0, f)
    }
}

fn print(looplet: &Looplet, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let pad = "  ".repeat(depth);
    match looplet {
        Looplet::Fill => writeln!(f, "{pad}fill"),
        Looplet::Element { array, index } => {
            let index: Vec<String> = index.iter().map(ToString::to_string).collect();
            writeln!(f, "{pad}element {array}[{}]", index.join(", "))
        }
        Looplet::Along(along) => {
            writeln!(f, "{pad}along {} in {}", along.index, along.range)?;
            print(&along.body, depth + 1, f)
        }
        Looplet::Lookup { index, body } => {
            writeln!(f, "{pad}lookup {index}")?;
            print(body, depth + 1, f)
        }
        Looplet::Run(body) => {
            writeln!(f, "{pad}run")?;
            print(body, depth + 1, f)
        }
        Looplet::Spike { body, tail } => {
            writeln!(f, "{pad}spike")?;
            print(body, depth + 1, f)?;
            print(tail, depth + 1, f)
        }
        Looplet::Sequence(phases) => {
            writeln!(f, "{pad}sequence")?;
            phases.iter().try_for_each(|phase| {
                writeln!(f, "{pad}  phase until {}", phase.stop)?;
                print(&phase.body, depth + 2, f)
            })
        }
        Looplet::Thunk { var, value, body } => {
            writeln!(f, "{pad}thunk {var} = {value}")?;
            print(body, depth + 1, f)
        }
        Looplet::Switch { tests, then, otherwise } => {
            writeln!(f, "{pad}switch if {}", all(tests))?;
            print(then, depth + 1, f)?;
            print(otherwise, depth + 1, f)
        }
        Looplet::Stepper(s) => {
            let end = s.end.as_ref().map_or(String::new(), |end| format!(" to {end}"));
            write!(f, "{pad}stepper {}{end} in {}", s.var, s.range)?;
            if !s.tests.is_empty() {
                write!(f, " where {}", all(&s.tests))?;
            }
            if let Some(begin) = &s.begin {
                write!(f, " from {begin}")?;
            }
            match &s.stop {
                Some(stop) => writeln!(f, " until {stop}{}", if s.rises { " rising" } else { "" })?,
                None => writeln!(f)?,
            }
            print(&s.body, depth + 1, f)
        }
        Looplet::Search(s) => {
            let each = if s.each { " each" } else { "" };
            write!(f, "{pad}search{each} {} in {}", s.var, s.range)?;
            match s.tests.is_empty() {
                true => writeln!(f)?,
                false => writeln!(f, " where {}", all(&s.tests))?,
            }
            print(&s.found, depth + 1, f)
        }
    }
}

fn all(tests: &[Formula]) -> String {
    Formula::and(tests.iter().cloned()).to_string()
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ends, word) = match self {
            Stop::Last { var, range, stop } => return write!(f, "last {stop} of {var} in {range}"),
            Stop::Least(ends) => (ends, "min"),
            Stop::Greatest(ends) => (ends, "max"),
        };
        match ends.as_slice() {
            [only] => write!(f, "{only}"),
            ends => {
                let ends: Vec<String> = ends.iter().map(ToString::to_string).collect();
                write!(f, "{word}({})", ends.join(", "))
            }
        }
    }
}
