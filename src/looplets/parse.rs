//! The parser of printed looplets: a line for each, what is inside indented.

use std::iter::Peekable;

use super::tree::{Along, Looplet, Phase, Search, Stepper, Stop};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::split::split;
use crate::formula::{Formula, Name, parse};
use crate::scan::Range;

impl Looplet {
    /// Reads back what is printed.
    ///
    /// # Errors
    /// `S0101` with the line that is not understood.
    pub fn parse(text: &str) -> Result<Looplet> {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
        let looplet = looplet(&mut lines, 0)?;
        match lines.next() {
            None => Ok(looplet),
            Some(line) => Err(wrong(line, "it stands behind the end")),
        }
    }
}

fn wrong(line: &str, why: &str) -> Box<Diagnostic> {
    Diagnostic::new(Code::Syntax, format!("no looplet: {why}"))
        .at(0..line.len(), "")
        .within("<looplets>", line)
        .help("the grammar is in the documentation of the module `looplets`")
}

/// The line at a depth, if the next one is there.
fn line_at<'t, I: Iterator<Item = &'t str>>(
    lines: &mut Peekable<I>,
    depth: usize,
) -> Option<&'t str> {
    let line = lines.next_if(|line| line.len() - line.trim_start().len() == 2 * depth)?;
    Some(line.trim())
}

fn looplet<'t, I: Iterator<Item = &'t str>>(
    lines: &mut Peekable<I>,
    depth: usize,
) -> Result<Looplet> {
    let Some(line) = line_at(lines, depth) else {
        let found = lines.peek().copied().unwrap_or_default();
        return Err(wrong(found, "something is missing or indented wrongly"));
    };
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let strange = || wrong(line, "it is not understood");
    let mut inner = || looplet(lines, depth + 1).map(Box::new);
    Ok(match word {
        "fill" => Looplet::Fill,
        "element" => {
            let (array, index) =
                rest.strip_suffix(']').and_then(|e| e.split_once('[')).ok_or_else(strange)?;
            let index = split(index, ", ").into_iter().map(parse::arith).collect::<Result<_>>()?;
            Looplet::Element { array: array.into(), index }
        }
        "along" => {
            let (index, range) = ranged(rest).ok_or_else(strange)?;
            Looplet::Along(Box::new(Along { index, range: range?, body: *inner()? }))
        }
        "lookup" => Looplet::Lookup { index: rest.into(), body: inner()? },
        "run" => Looplet::Run(inner()?),
        "spike" => Looplet::Spike { body: inner()?, tail: inner()? },
        "sequence" => {
            let mut phases = Vec::new();
            while let Some(line) = line_at(lines, depth + 1) {
                let until = line.strip_prefix("phase until ");
                let stop = stop(until.ok_or_else(|| wrong(line, "a sequence has phases"))?)?;
                phases.push(Phase { stop, body: looplet(lines, depth + 2)? });
            }
            Looplet::Sequence(phases)
        }
        "thunk" => {
            let (var, value) = rest.split_once(" = ").ok_or_else(strange)?;
            Looplet::Thunk { var: var.into(), value: parse::affine(value)?, body: inner()? }
        }
        "switch" => {
            let tests = tests(rest.strip_prefix("if ").ok_or_else(strange)?)?;
            Looplet::Switch { tests, then: inner()?, otherwise: inner()? }
        }
        "stepper" => {
            let (rest, rises) = match rest.strip_suffix(" rising") {
                Some(rest) => (rest, true),
                None => (rest, false),
            };
            let (rest, stop) = match rest.split_once(" until ") {
                Some((rest, until)) => (rest, Some(self::stop(until)?)),
                None => (rest, None),
            };
            let (rest, begin) = match rest.split_once(" from ") {
                Some((rest, begin)) => (rest, Some(self::stop(begin)?)),
                None => (rest, None),
            };
            let (position, tests) = match rest.split_once(" where ") {
                Some((position, passes)) => (position, tests(passes)?),
                None => (rest, Vec::new()),
            };
            let (var, range) = ranged(position).ok_or_else(strange)?;
            let (var, end) = match var.split_once(" to ") {
                Some((var, end)) => (Name::from(var), Some(Name::from(end))),
                None => (var, None),
            };
            let (range, body) = (range?, *inner()?);
            Looplet::Stepper(Box::new(Stepper { var, end, range, tests, begin, stop, rises, body }))
        }
        "search" => {
            let (each, rest) = match rest.strip_prefix("each ") {
                Some(rest) => (true, rest),
                None => (false, rest),
            };
            let (position, tests) = match rest.split_once(" where ") {
                Some((position, passes)) => (position, tests(passes)?),
                None => (rest, Vec::new()),
            };
            let (var, range) = ranged(position).ok_or_else(strange)?;
            let (range, found) = (range?, *inner()?);
            Looplet::Search(Box::new(Search { var, range, tests, each, found }))
        }
        _ => return Err(strange()),
    })
}

/// `v in range`
fn ranged(text: &str) -> Option<(Name, Result<Range>)> {
    let (var, range) = text.split_once(" in ")?;
    let range = match Range::parse(range) {
        Ok(None) => return None,
        Ok(Some(range)) => Ok(range),
        Err(e) => Err(e),
    };
    Some((var.into(), range))
}

fn tests(text: &str) -> Result<Vec<Formula>> {
    Ok(match parse::formula(text)? {
        Formula::And(tests) => tests,
        one => vec![one],
    })
}

fn stop(text: &str) -> Result<Stop> {
    if let Some(rest) = text.strip_prefix("last ") {
        let parts = rest.rsplit_once(" of ").and_then(|(inner, of)| Some((inner, ranged(of)?)));
        let (inner, (var, range)) = parts.ok_or_else(|| wrong(text, "no range is named"))?;
        return Ok(Stop::Last { var, range: range?, stop: Box::new(stop(inner)?) });
    }
    let several = |word: &str| text.strip_prefix(word).and_then(|inner| inner.strip_suffix(')'));
    let all =
        |inner: &str| split(inner, ", ").into_iter().map(parse::affine).collect::<Result<_>>();
    match (several("min("), several("max(")) {
        (Some(inner), _) => Ok(Stop::Least(all(inner)?)),
        (_, Some(inner)) => Ok(Stop::Greatest(all(inner)?)),
        _ => Ok(Stop::Least(vec![parse::affine(text)?])),
    }
}
