//! What kernels are made from: a program as statements of index notation.
//!
//! Before → after:
//!
//! ```text
//! declare y 0                                     y[i] = A[i,j] * x[j];
//! forall j in 4 {                                 y[j] += A[i,j] * x[i] if i < j
//!   forall i in 4 {                          ⟼
//!     let a = A[i,j] { y[i] += x[j] * a }
//!     if i < j { y[j] += A[i,j] * x[i] }
//!   }
//! }
//! ```
//! Nests are taken apart (`nest.rs`) into updates, each of which becomes statements (`update.rs`) over new
//! tensors, if need be. Those that lead to one result are a segment: one kernel can run them. Segments that run through
//! the same loops may be one kernel together (`united.rs`).

use std::ops::Range;

use indexmap::IndexMap;

use super::locate::Locate;
use super::lower::{Tree, located};
use super::refusal::not_compiled;
use super::statements::{Maker, Part, State, Statement, Step};
use super::united;
use crate::diagnostic::Result;
use crate::formula::{Affine, Name};
use crate::program::ir::{Access, Expr, Program};
use crate::program::{Extents, resolve};
use crate::tensor::ValueType;

/// What kernels are made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statements {
    /// One after the other.
    pub segments: Vec<Segment>,
    /// Segments that may be one kernel, which then has several results: which ones, and what it is.
    pub united: Vec<(Range<usize>, Segment)>,
    /// Of all tensors.
    pub types: IndexMap<Name, ValueType>,
    /// The tensors that hold the parts of each that the program returns.
    pub returned: Vec<Vec<Name>>,
}

/// Statements of which others need what is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Index notation, with `;` between statements.
    pub text: String,
    /// How far its indices run, if the tensors that are given do not say it.
    pub extents: IndexMap<Name, usize>,
    /// The tensors that it leaves behind.
    pub kept: Vec<Name>,
    /// What is then made of them.
    pub locates: Vec<Locate>,
}

impl Tree {
    /// The statements of index notation that compute what the program does.
    ///
    /// # Errors
    /// [`Code::Program`](crate::diagnostic::Code::Program), with the place: what kernels are not made from yet.
    pub fn statements(&self) -> Result<Statements> {
        self.made().map_err(|e| located(e, &self.name, &self.program.text))
    }

    fn made(&self) -> Result<Statements> {
        let mut maker = Maker::new(self);
        maker.made()?;
        maker.reduce_once()?;
        let mut returned = Vec::new();
        for own in &self.returned {
            let mut parts = Vec::new();
            for part in &own.parts {
                parts.push(match maker.states.get(part) {
                    Some(State::Own(name)) => name.clone(),
                    _ => maker.stored(part)?,
                });
            }
            returned.push(parts);
        }
        let finals: Vec<Name> = returned.iter().flatten().cloned().collect();
        let steps = needed(&maker.steps, &finals);
        let steps = without_copies(steps, &finals, &maker);
        let mut known: IndexMap<Name, Vec<usize>> = IndexMap::new();
        for name in self.given.keys() {
            known.insert(name.clone(), self.extents.tensors[name].clone());
        }
        let parts = parted(&steps, &finals);
        let mut united = Vec::new();
        for (range, steps, kept) in united::united(&parts) {
            // What comes to be too long stays apart.
            let known = known_before(&parts[..range.start], &known, &maker);
            united.extend(self.segment(&steps, kept, &maker, &known).map(|whole| (range, whole)));
        }
        let mut segments = Vec::new();
        for (steps, kept) in parts {
            let segment = self.segment(steps, kept, &maker, &known)?;
            known.extend(left(&segment.kept, &segment.locates, &maker));
            segments.push(segment);
        }
        Ok(Statements { segments, united, types: maker.types, returned })
    }

    fn segment(
        &self,
        steps: &[Step],
        kept: Vec<Name>,
        maker: &Maker<'_>,
        known: &IndexMap<Name, Vec<usize>>,
    ) -> Result<Segment> {
        let own: Vec<&Statement> = steps.iter().filter_map(Step::statement).collect();
        let locates = steps.iter().filter_map(Step::locate).cloned().collect();
        let texts: Vec<String> = own.iter().map(|s| s.text()).collect();
        let program = Program::parse(&texts.join("; "))?;
        let (mut extents, mut all) = (IndexMap::new(), IndexMap::new());
        let mut before = known.clone();
        let extent = |name: &Name| maker.indices.get(name).copied();
        for ((statement, text), joined) in own.iter().zip(&texts).zip(program.assignments()?) {
            let alone = Program::parse(text)?;
            let names = alone.assignment()?.indices();
            let needed: IndexMap<Name, usize> =
                names.iter().filter_map(|n| Some((n.clone(), extent(n)?))).collect();
            let mut dims: IndexMap<Name, Vec<usize>> = IndexMap::new();
            for name in alone.tensors().into_keys() {
                if let Some(own) = before.get(&name) {
                    dims.insert(name, own.clone());
                }
            }
            let renamed = || names.iter().zip(joined.indices());
            let own = renamed().filter_map(|(n, new)| Some((new, extent(n)?)));
            all.extend(own);
            let says_all = |e: Extents| e.indices == needed;
            if !resolve(&alone, &dims, &IndexMap::new()).is_ok_and(says_all) {
                extents.extend(renamed().filter_map(|(n, new)| Some((new, extent(n)?))));
            }
            let output = &statement.output.tensor;
            before.insert(output.clone(), maker.tensors[output].clone());
        }
        let dims = known.iter().filter(|(name, _)| program.tensors().contains_key(*name));
        let dims: IndexMap<_, _> = dims.map(|(n, dims)| (n.clone(), dims.clone())).collect();
        let found = match resolve(&program, &dims, &extents) {
            Ok(found) => found,
            // Together they may say less than each does of what the others compute.
            Err(_) => resolve(&program, &dims, &all).inspect(|_| extents = all)?,
        };
        for (name, dims) in &found.tensors {
            if maker.tensors.get(name) != Some(dims) {
                return Err(not_compiled("a size that no loop decides", self.place(name)));
            }
        }
        let text = program.to_string();
        // It may be too long by now.
        Program::parse(&text)?;
        Ok(Segment { text, extents, kept, locates })
    }

    fn place(&self, tensor: &str) -> std::ops::Range<usize> {
        let accesses = self.program.all_accesses();
        accesses.iter().find(|a| *a.tensor == *tensor).map_or(0..0, |a| a.span.clone())
    }
}

/// What a segment leaves behind, each with its dimensions.
fn left(kept: &[Name], locates: &[Locate], maker: &Maker<'_>) -> IndexMap<Name, Vec<usize>> {
    let names = kept.iter().chain(locates.iter().map(|locate| &locate.tensor));
    names.map(|name| (name.clone(), maker.tensors[name].clone())).collect()
}

/// What is known when the parts `before` have run.
fn known_before(
    before: &[Part<'_>],
    given: &IndexMap<Name, Vec<usize>>,
    maker: &Maker<'_>,
) -> IndexMap<Name, Vec<usize>> {
    let mut known = given.clone();
    for (steps, kept) in before {
        let locates: Vec<Locate> = steps.iter().filter_map(Step::locate).cloned().collect();
        known.extend(left(kept, &locates, maker));
    }
    known
}

/// The steps that lead to results.
fn needed(steps: &[Step], finals: &[Name]) -> Vec<Step> {
    let mut out: Vec<Step> = Vec::new();
    for step in steps.iter().rev() {
        // That a place lies inside is asked even if nothing is read there.
        let is_needed = step.statement().is_none_or(|s| {
            finals.contains(&s.output.tensor) || out.iter().any(|o| o.needs(&s.output.tensor))
        });
        if is_needed {
            out.push(step.clone());
        }
    }
    out.reverse();
    out
}

/// Copies of tensors that nothing else reads, `w[j,i] = …; C[i,j] = w[j,i]`, are computed where the copy is.
fn without_copies(mut steps: Vec<Step>, finals: &[Name], maker: &Maker<'_>) -> Vec<Step> {
    let mut k = 0;
    while k < steps.len() {
        match copied(&steps, k, finals, maker) {
            None => k += 1,
            Some((from, to, places)) => {
                steps.remove(k);
                for step in &mut steps {
                    if let Step::Statement(s) = step
                        && s.output.tensor == from
                    {
                        let old = std::mem::take(&mut s.output.subscripts);
                        s.output.subscripts = places.iter().map(|d| old[*d].clone()).collect();
                        s.output.tensor = to.clone();
                    } else if let Step::Statement(s) = step
                        && s.output.tensor == to
                    {
                        s.is_first = false;
                    }
                }
            }
        }
    }
    steps
}

/// What a step copies, to what, and from which dimension each of its dimensions comes.
fn copied(
    steps: &[Step],
    k: usize,
    finals: &[Name],
    maker: &Maker<'_>,
) -> Option<(Name, Name, Vec<usize>)> {
    let copy = steps[k].statement()?;
    let Expr::Access(read) = &copy.value else { return None };
    let (from, to) = (&read.tensor, &copy.output.tensor);
    let others = || steps.iter().enumerate().filter(|(other, _)| *other != k).map(|(_, s)| s);
    let is_read = |s: &Step| match s {
        Step::Statement(s) => s.reads(from),
        Step::Locate(locate) => locate.from == *from || locate.tensor == *from,
    };
    let is_computed = steps[..k].iter().any(|s| s.writes(from));
    let stays = steps[k..].iter().any(|s| s.writes(from)) || others().any(is_read);
    let alone = copy.op.is_none() && copy.formulas.is_empty() && copy.is_first;
    let alike = maker.types.get(from) == maker.types.get(to);
    if stays || !is_computed || !alone || !alike || finals.contains(from) {
        return None;
    }
    let whole = maker.covers(read) && maker.covers(&copy.output);
    let place = |s: &Affine| read.subscripts.iter().position(|own| own == s);
    let places: Option<Vec<usize>> = copy.output.subscripts.iter().map(place).collect();
    let places = places.filter(|p| whole && p.len() == read.subscripts.len())?;
    Some((from.clone(), to.clone(), places))
}

/// Cuts the steps behind the last that writes what is kept: results, and what steps behind another cut need. What
/// one kernel computes for itself is read as a whole, by indices.
fn parted<'s>(steps: &'s [Step], finals: &[Name]) -> Vec<Part<'s>> {
    let mut kept = finals.to_vec();
    let plain = |a: &Access| (0..a.rank()).all(|d| a.plain(d).is_some());
    for step in steps {
        match step {
            Step::Locate(locate) => kept.push(locate.from.clone()),
            Step::Statement(s) => {
                let tensor = &s.output.tensor;
                let touched = steps.iter().filter_map(Step::statement);
                let mut shifted = false;
                for other in touched.filter(|s| s.reads(tensor) || s.output.tensor == *tensor) {
                    let all = other.value.accesses().into_iter().chain([&other.output]);
                    shifted |= all.filter(|a| a.tensor == *tensor).any(|a| !plain(a));
                }
                if shifted && steps.iter().any(|s| s.needs(tensor)) {
                    kept.push(tensor.clone());
                }
            }
        }
    }
    loop {
        let mut ends: Vec<usize> = Vec::new();
        for (k, step) in steps.iter().enumerate() {
            let is_last = |output: &Name| !steps[k + 1..].iter().any(|s| s.writes(output));
            match step {
                Step::Statement(s)
                    if kept.contains(&s.output.tensor) && is_last(&s.output.tensor) =>
                {
                    ends.push(k + 1);
                }
                // It belongs to the statements before it.
                Step::Locate(_) => match ends.last_mut() {
                    Some(end) if *end == k => *end = k + 1,
                    _ => ends.push(k + 1),
                },
                Step::Statement(_) => {}
            }
        }
        let mut out: Vec<Part<'_>> = Vec::new();
        let mut from = 0;
        let mut more = Vec::new();
        for end in ends {
            let (part, behind) = (&steps[from..end], &steps[end..]);
            let mut own: Vec<Name> = Vec::new();
            for statement in part.iter().filter_map(Step::statement) {
                let output = &statement.output.tensor;
                let later = behind.iter().any(|s| s.needs(output));
                if later && !kept.contains(output) && !more.contains(output) {
                    more.push(output.clone());
                }
                if (later || kept.contains(output)) && !own.contains(output) {
                    own.push(output.clone());
                }
            }
            out.push((part, own));
            from = end;
        }
        if more.is_empty() {
            return out;
        }
        kept.extend(more);
    }
}
