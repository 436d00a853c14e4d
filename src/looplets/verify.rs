//! Checks of looplets.

use super::tree::{Looplet, Stop};
use crate::diagnostic::{Diagnostic, Result};
use crate::formula::{Affine, Formula, Name};
use crate::scan::Range;

impl Looplet {
    /// Checks that every variable is bound before it is used, and every index where it is looked up.
    ///
    /// # Errors
    /// An internal diagnostic; nothing a user writes can cause it.
    pub fn verify(&self, parameters: &[Name]) -> Result<()> {
        let mut bound = parameters.to_vec();
        check(self, None, &mut bound).map_err(|what| {
            Diagnostic::defect(format!("the looplets are not well-formed: {what}"))
                .note(format!("they are\n{self}"))
        })
    }
}

type Checked = std::result::Result<(), String>;

/// `along` is the index whose regions these are.
fn check(looplet: &Looplet, along: Option<&Name>, bound: &mut Vec<Name>) -> Checked {
    let outer = bound.len();
    let checked = check_within(looplet, along, bound);
    bound.truncate(outer);
    checked
}

fn check_within(looplet: &Looplet, along: Option<&Name>, bound: &mut Vec<Name>) -> Checked {
    let region = |what: &str| match along {
        Some(_) => Ok(()),
        None => Err(format!("a {what} is not along an index")),
    };
    match looplet {
        Looplet::Fill => Ok(()),
        Looplet::Element { index, .. } => {
            let mut unknown = None;
            for e in index {
                e.visit_vars(&mut |n| {
                    if !bound.contains(n) {
                        unknown = Some(n.clone());
                    }
                });
            }
            unknown.map_or(Ok(()), |n| Err(format!("`{n}` is used before it is bound")))
        }
        Looplet::Along(a) => {
            range_known(&a.range, bound)?;
            check(&a.body, Some(&a.index), bound)
        }
        Looplet::Lookup { index, body } => {
            if along != Some(index) {
                return Err(format!("`{index}` is looked up in regions of another index"));
            }
            bound.push(index.clone());
            check(body, None, bound)
        }
        Looplet::Run(body) => {
            region("run")?;
            check(body, None, bound)
        }
        Looplet::Spike { body, tail } => {
            region("spike")?;
            check(body, None, bound)?;
            check(tail, None, bound)
        }
        Looplet::Sequence(phases) => {
            region("sequence")?;
            phases.iter().try_for_each(|phase| {
                stop_known(&phase.stop, bound)?;
                check(&phase.body, along, bound)
            })
        }
        Looplet::Thunk { var, value, body } => {
            known(value, bound)?;
            bound.push(var.clone());
            check(body, along, bound)
        }
        Looplet::Switch { tests, then, otherwise } => {
            tests_known(tests, bound)?;
            check(then, along, bound)?;
            check(otherwise, along, bound)
        }
        Looplet::Stepper(s) => {
            region("stepper")?;
            range_known(&s.range, bound)?;
            bound.extend([&s.var].into_iter().chain(&s.end).cloned());
            tests_known(&s.tests, bound)?;
            s.begin.iter().chain(&s.stop).try_for_each(|stop| stop_known(stop, bound))?;
            check(&s.body, along, bound)
        }
        Looplet::Search(s) => {
            range_known(&s.range, bound)?;
            bound.push(s.var.clone());
            tests_known(&s.tests, bound)?;
            check(&s.found, along, bound)
        }
    }
}

fn known(e: &Affine, bound: &[Name]) -> Checked {
    let mut unknown = None;
    e.visit_vars(&mut |n| {
        if !bound.contains(n) {
            unknown = Some(n.clone());
        }
    });
    unknown.map_or(Ok(()), |n| Err(format!("`{n}` is used before it is bound")))
}

fn range_known(range: &Range, bound: &[Name]) -> Checked {
    range.lower.iter().chain(&range.upper).try_for_each(|e| known(e, bound))
}

fn tests_known(tests: &[Formula], bound: &[Name]) -> Checked {
    let unknown = tests.iter().flat_map(Formula::free_vars).find(|n| !bound.contains(n));
    unknown.map_or(Ok(()), |n| Err(format!("`{n}` is tested before it is bound")))
}

fn stop_known(stop: &Stop, bound: &[Name]) -> Checked {
    match stop {
        Stop::Least(ends) | Stop::Greatest(ends) => ends.iter().try_for_each(|e| known(e, bound)),
        Stop::Last { var, range, stop } => {
            range_known(range, bound)?;
            let inner: Vec<Name> = bound.iter().chain([var]).cloned().collect();
            stop_known(stop, &inner)
        }
    }
}
