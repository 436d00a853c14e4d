//! The parser of what [`Schedule`] prints.

use super::tree::{Access, Assign, How, Protocol, Read, Schedule};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Name, parse};
use crate::operators::{Operators, Tree};
use crate::program::split_update;

impl Schedule {
    /// Reads a schedule back, a line for each dimension and one for the assignment.
    ///
    /// # Errors
    /// `S0101` with the line that is not understood.
    pub fn parse(text: &str) -> Result<Schedule> {
        let mut lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
        let wrong = |line: &str, why: &str| {
            Diagnostic::new(Code::Syntax, format!("not a schedule: {why}"))
                .at(0..line.len(), "")
                .within("<schedule>", line)
                .help("a schedule is `forall DIM HOW` on each line and an assignment on the last")
        };
        let last = lines.next_back().ok_or_else(|| wrong("", "it is empty"))?;
        let leaf = assign(last).ok_or_else(|| wrong(last, "no assignment"))?;
        let mut out = Schedule::Assign(leaf);
        while let Some(line) = lines.next_back() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ["forall", dim, how] = words[..] else {
                return Err(wrong(line, "expected `forall DIM HOW`"));
            };
            let how = How::ALL.into_iter().find(|h| h.word() == how);
            let how = how.ok_or_else(|| wrong(line, "the last word says how to visit"))?;
            out = Schedule::Forall { dim: Name::from(dim), how, body: Box::new(out) };
        }
        Ok(out)
    }
}

fn assign(line: &str) -> Option<Assign> {
    let (target, op, value) = split_update(line)?;
    let read = |text: &str| {
        let is_index = text.chars().all(|c| c.is_alphanumeric() || c == '_');
        access(text).map(Read::Access).or(is_index.then(|| Read::Index(Name::from(text))))
    };
    let value = Tree::parse(value, Operators::shipped().ok()?, &read)?;
    Some(Assign { target: access(target)?, op: op.clone(), value })
}

fn access(text: &str) -> Option<Access> {
    let (tensor, subscripts) = text.strip_suffix(']')?.split_once('[')?;
    let parts = subscripts.split(',').map(str::trim).filter(|s| !s.is_empty());
    let parts = parts.map(|part| {
        let (subscript, word) = part.rsplit_once(' ')?;
        let protocol = Protocol::ALL.into_iter().find(|p| p.word() == word)?;
        Some((parse::affine(subscript).ok()?, protocol))
    });
    Some(Access { tensor: Name::from(tensor), subscripts: parts.collect::<Option<_>>()? })
}
