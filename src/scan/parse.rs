//! The parser of what a nest prints.

use super::{Bind, Level, Nest, Range};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::split::{in_parentheses, split};
use crate::formula::{Constraint, Formula, parse};

impl Nest {
    /// Reads back what is printed. What is not printed is left out: the calls of index arrays, and
    /// what is assumed of them. Tests of a loop are guards until the first that is no constraint.
    ///
    /// # Errors
    /// `S0101` with the line that is not understood.
    pub fn parse(text: &str) -> Result<Nest> {
        let mut nest = Nest {
            guards: Vec::new(),
            calls: Vec::new(),
            levels: Vec::new(),
            assumptions: Vec::new(),
            grouped: None,
        };
        let mut lines = text.lines().map(str::trim).filter(|l| !l.is_empty()).peekable();
        while let Some(line) = lines.next() {
            if line == "S" && lines.peek().is_none() {
                return Ok(nest);
            }
            match (line.strip_prefix("if "), nest.levels.last_mut()) {
                (Some(tests), None) => nest.guards.extend(constraints(tests)?),
                (Some(tests), Some(level)) => read_tests(tests, level)?,
                (None, _) => {
                    let level = level(line)?;
                    nest.levels.push(level.ok_or_else(|| wrong(line, "no level looks like this"))?);
                }
            }
        }
        Err(wrong(text.lines().last().unwrap_or_default(), "it does not end in `S`"))
    }
}

fn wrong(line: &str, why: &str) -> Box<Diagnostic> {
    Diagnostic::new(Code::Syntax, format!("not a nest: {why}"))
        .at(0..line.len(), "")
        .within("<nest>", line)
        .help("the grammar is in the documentation of the module `scan::nest`")
}

/// `None` if the line is no level.
fn level(line: &str) -> Result<Option<Level>> {
    let Some((word, rest)) = line.split_once(' ') else { return Ok(None) };
    let (rest, conditions) = match (word, rest.split_once(" where ")) {
        ("find", Some((rest, conditions))) => (rest, constraints(conditions)?),
        _ => (rest, Vec::new()),
    };
    let bound = match word {
        "let" => match rest.split_once(" = ") {
            Some((var, value)) => Some((var, Bind::Let(parse::affine(value)?))),
            None => None,
        },
        "for" | "find" => match rest.split_once(" in ") {
            Some((var, range)) => Range::parse(range)?.map(|range| (var, Bind::Loop(range))),
            None => None,
        },
        _ => None,
    };
    Ok(bound.map(|(var, bind)| Level {
        var: var.into(),
        bind,
        guards: Vec::new(),
        restrictions: Vec::new(),
        calls: Vec::new(),
        conditions,
    }))
}

/// Guards, restrictions in parentheses, conditions.
fn read_tests(text: &str, level: &mut Level) -> Result<()> {
    for part in split(text, " and ") {
        if let Some(inner) = in_parentheses(part) {
            level.restrictions.push(parse::formula(inner)?);
        } else if level.restrictions.is_empty() {
            level.guards.extend(constraints(part)?);
        } else {
            level.conditions.extend(constraints(part)?);
        }
    }
    Ok(())
}

fn constraints(text: &str) -> Result<Vec<Constraint>> {
    let formula: Formula = parse::formula(text)?;
    formula.as_conjunction().ok_or_else(|| wrong(text, "no conjunction of constraints"))
}
