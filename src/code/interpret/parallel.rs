//! A parallel loop on threads that take turns.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::fault::Fault;
use super::machine::{Machine, Workspaces, ill_formed};
use super::storage::Storage;
use super::value::{Number, Value, arithmetic};
use crate::code::ir::{ArrayId, BinaryOp, Element, Origin, Parallel, Parts, Writes};
use crate::tensor::Values;

/// What a thread has of its own.
struct Thread<'a> {
    variables: Vec<Option<Value>>,
    /// States of finds, and the copy of the output that is summed into.
    arrays: Vec<Storage<'a>>,
    workspaces: Workspaces,
}

/// What a chunk made.
struct Made<'a> {
    arrays: HashMap<ArrayId, Storage<'a>>,
    first: Vec<usize>,
    last: Vec<usize>,
}

/// An element that a chunk has not written.
const UNWRITTEN: usize = usize::MAX;

impl<'b, 'a> Machine<'b, 'a> {
    /// Chunks as the helper of modules hands them out; thread 0 is the caller's, which writes into the
    /// output itself, unless chunks make parts of it.
    pub(super) fn parallel(&mut self, p: &'b Parallel) -> Result<(), Fault> {
        let (lo, hi) = (self.unsigned(&p.lo)?, self.unsigned(&p.hi)?);
        let threads = self.threads.max(1);
        let step = (hi.saturating_sub(lo) / (16 * threads)).max(1);
        let output = p.writes.output().map(ArrayId::index);
        let private = matches!(p.writes, Writes::Copies(_));
        // What threads share goes from one to the next.
        let shared = |t: usize| output.filter(|_| !private || t == 0);
        let mut own: Vec<Thread<'a>> = (0..threads).map(|t| self.thread(p, t)).collect();
        if let Writes::Shared(output) = p.writes {
            let len = self.arrays[output.index()].len().unwrap_or(0);
            self.touched = Some((output, 0, vec![usize::MAX; len]));
        }
        for (t, thread) in own.iter_mut().enumerate() {
            self.switch(thread, shared(t));
            let flow = self.statements(&p.setup)?;
            self.switch(thread, shared(t));
            if let ControlFlow::Break(_) = flow {
                return Err(ill_formed("a jump leaves a setup").into());
            }
        }
        let mut made = Vec::new();
        let (mut start, mut chunk) = (lo, 0);
        while start < hi {
            let end = start.saturating_add(step).min(hi);
            let t = chunk % threads;
            if let Some((_, at, _)) = &mut self.touched {
                *at = chunk;
            }
            let lengths = self.lengths(p);
            let thread = &mut own[t];
            self.switch(thread, shared(t));
            self.variables[p.start.index()] = Some(Value::Unsigned(start));
            self.variables[p.end.index()] = Some(Value::Unsigned(end));
            self.begin_part(p, lengths);
            self.step()?;
            let flow = self.block(&p.body)?;
            if let Writes::Parts(parts) = &p.writes {
                made.push(self.made(parts)?);
            }
            self.switch(thread, shared(t));
            if let ControlFlow::Break(_) = flow {
                return Err(ill_formed("a jump leaves a chunk").into());
            }
            (start, chunk) = (end, chunk + 1);
        }
        self.touched = None;
        match &p.writes {
            Writes::Shared(_) => Ok(()),
            Writes::Copies(output) => self.add_copies(*output, own),
            Writes::Parts(parts) => self.join(parts, made),
        }
    }

    fn thread(&self, p: &Parallel, t: usize) -> Thread<'a> {
        let mut arrays = Vec::new();
        for (k, (_, array)) in self.body.arrays().enumerate() {
            let copied = matches!(p.writes, Writes::Copies(output) if output.index() == k);
            arrays.push(match (&self.arrays[k], array.origin) {
                (Storage::Written(values), _) if copied && t > 0 => {
                    Storage::Written(Values::zeros(values.value_type(), values.len()))
                }
                // What was allocated outside is not for threads to change.
                (local, Origin::Local) => local.clone(),
                // The one output goes from thread to thread; parts are each chunk's own.
                (Storage::Written(_), _) | (_, Origin::Grown) => Storage::Absent,
                (other, _) => other.clone(),
            });
        }
        let workspaces = self.workspaces.clone();
        Thread { variables: self.variables.clone(), arrays, workspaces }
    }

    /// Exchanges what a thread has of its own with what is there; what is shared stays.
    fn switch(&mut self, thread: &mut Thread<'a>, shared: Option<usize>) {
        std::mem::swap(&mut self.variables, &mut thread.variables);
        std::mem::swap(&mut self.arrays, &mut thread.arrays);
        std::mem::swap(&mut self.workspaces, &mut thread.workspaces);
        if let Some(output) = shared {
            std::mem::swap(&mut self.arrays[output], &mut thread.arrays[output]);
        }
    }

    /// How long the arrays are that parts are joined to.
    fn lengths(&self, p: &Parallel) -> HashMap<ArrayId, usize> {
        let written = p.writes.arrays().into_iter();
        written.map(|a| (a, self.arrays[a.index()].len().unwrap_or(0))).collect()
    }

    /// The arrays of a chunk that makes a part: empty, or with room for all ends.
    fn begin_part(&mut self, p: &Parallel, lengths: HashMap<ArrayId, usize>) {
        let Writes::Parts(parts) = &p.writes else { return };
        for (array, len) in lengths {
            self.arrays[array.index()] = match self.body.arr(array).element {
                _ if parts.has_ends(array) => Storage::Positions(vec![UNWRITTEN; len]),
                Element::Value(ty) => Storage::Written(Values::empty(ty)),
                Element::Index { .. } | Element::Position => Storage::Positions(Vec::new()),
            };
        }
        for var in p.writes.variables() {
            self.variables[var.index()] = Some(Value::Unsigned(usize::MAX));
        }
    }

    /// What a chunk made, taken from its arrays and variables.
    fn made(&mut self, parts: &Parts) -> Result<Made<'a>, Fault> {
        let mut keys = Vec::new();
        for var in parts.first.iter().chain(&parts.last) {
            match self.variables[var.index()].take() {
                Some(Value::Unsigned(n)) => keys.push(n),
                _ => return Err(ill_formed("a part is told apart by no position").into()),
            }
        }
        let last = keys.split_off(parts.first.len());
        let taken =
            |a: ArrayId| (a, std::mem::replace(&mut self.arrays[a.index()], Storage::Absent));
        Ok(Made { arrays: parts.arrays().map(taken).collect(), first: keys, last })
    }

    fn add_copies(&mut self, output: ArrayId, own: Vec<Thread<'a>>) -> Result<(), Fault> {
        for mut thread in own.into_iter().skip(1) {
            let copy = std::mem::replace(&mut thread.arrays[output.index()], Storage::Absent);
            if let Storage::Written(copy) = copy {
                self.add_part(output.index(), &copy)?;
            }
        }
        Ok(())
    }

    fn add_part(&mut self, output: usize, part: &Values) -> Result<(), Fault> {
        let Storage::Written(total) = &mut self.arrays[output] else {
            return Err(ill_formed("threads write into an input").into());
        };
        for k in 0..part.len() {
            let (a, b) = (Number::element(total, k), Number::element(part, k));
            let put = arithmetic(BinaryOp::Add, a, b).map(|sum| sum.store(total, k));
            put.ok_or_else(|| ill_formed("a copy of another type"))?;
        }
        Ok(())
    }

    /// Parts become one, in their order: a position that goes on from the part before is there already, and
    /// what says where positions begin and end is moved behind theirs.
    fn join(&mut self, parts: &Parts, made: Vec<Made<'a>>) -> Result<(), Fault> {
        let wrong = || Fault::from(ill_formed("a part does not fit the array"));
        let Some(inner) = parts.levels.len().checked_sub(1) else { return Err(wrong()) };
        let column = |k: usize| parts.levels[k].columns.first().copied();
        let mut previous = vec![usize::MAX; parts.first.len()];
        let mut before = vec![0; parts.levels.len()];
        for made in made {
            let length = |a: Option<ArrayId>| a.and_then(|a| made.arrays[&a].len()).unwrap_or(0);
            let empty = length(column(inner)) == 0;
            let mut goes_on = vec![false; parts.levels.len()];
            for (k, level) in parts.levels.iter().enumerate().take(inner) {
                let n = level.prefix;
                goes_on[k] = !empty && made.first[..n] == previous[..n];
            }
            for (k, level) in parts.levels.iter().enumerate() {
                for array in &level.columns {
                    let shift = None;
                    self.append(*array, &made.arrays[array], goes_on[k], shift)
                        .ok_or_else(wrong)?;
                }
                for array in &level.begins {
                    let outer = k.checked_sub(1).is_some_and(|k| goes_on[k]);
                    let shift = Some(before[k] - usize::from(goes_on[k]));
                    self.append(*array, &made.arrays[array], outer, shift).ok_or_else(wrong)?;
                }
                for array in &level.ends {
                    let (Storage::Positions(total), Storage::Positions(ends)) =
                        (&mut self.arrays[array.index()], &made.arrays[array])
                    else {
                        return Err(wrong());
                    };
                    for (place, end) in total.iter_mut().zip(ends) {
                        if *end != UNWRITTEN {
                            *place = before[k] - usize::from(goes_on[k]) + end;
                        }
                    }
                }
            }
            for k in 0..=inner {
                before[k] = before[k] + length(column(k)) - usize::from(goes_on[k]);
            }
            if !empty {
                previous = made.last;
            }
        }
        Ok(())
    }

    /// Appends a part of an array, without its first element if that is there already.
    fn append(
        &mut self,
        array: ArrayId,
        part: &Storage<'a>,
        skip: bool,
        shift: Option<usize>,
    ) -> Option<()> {
        let total = &mut self.arrays[array.index()];
        match (total, part) {
            (Storage::Written(total), Storage::Written(part)) => {
                (usize::from(skip)..part.len()).for_each(|k| total.push_from(part, k));
            }
            (Storage::Positions(total), Storage::Positions(part)) => {
                let moved = part.iter().skip(usize::from(skip));
                total.extend(moved.map(|n| n + shift.unwrap_or(0)));
            }
            _ => return None,
        }
        Some(())
    }
}
