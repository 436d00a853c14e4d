//! A parallel loop on threads that take turns.

use std::ops::ControlFlow;

use super::fault::Fault;
use super::machine::{Machine, ill_formed};
use super::storage::Storage;
use super::value::{Number, Value, arithmetic};
use crate::code::ir::{BinaryOp, Origin, Parallel};
use crate::tensor::Values;

/// What a thread has of its own.
struct Thread<'a> {
    variables: Vec<Option<Value>>,
    /// States of finds, and the copy of the output that is summed into.
    arrays: Vec<Storage<'a>>,
}

impl<'b, 'a> Machine<'b, 'a> {
    /// Chunks as the helper of modules hands them out; thread 0 is the caller's, which writes into the
    /// output itself.
    pub(super) fn parallel(&mut self, p: &'b Parallel) -> Result<(), Fault> {
        let (lo, hi) = (self.unsigned(&p.lo)?, self.unsigned(&p.hi)?);
        let threads = self.threads.max(1);
        let step = (hi.saturating_sub(lo) / (16 * threads)).max(1);
        let output = p.output.index();
        let mut own = Vec::new();
        for t in 0..threads {
            let mut thread = Thread { variables: self.variables.clone(), arrays: Vec::new() };
            for (k, (_, array)) in self.body.arrays().enumerate() {
                thread.arrays.push(match (&self.arrays[k], array.origin) {
                    (Storage::Written(values), _) if k == output && p.private && t > 0 => {
                        Storage::Written(Values::zeros(values.value_type(), values.len()))
                    }
                    // The one output goes from thread to thread.
                    (Storage::Written(_), _) => Storage::Absent,
                    // What was allocated outside is not for threads to change.
                    (Storage::Positions(list), Origin::Local) => Storage::Positions(list.clone()),
                    (other, _) => other.clone(),
                });
            }
            own.push(thread);
        }
        if !p.private {
            let len = self.arrays[output].len().unwrap_or(0);
            self.touched = Some((p.output, 0, vec![usize::MAX; len]));
        }
        for (t, thread) in own.iter_mut().enumerate() {
            self.switch(thread, p.private && t > 0, output);
            let flow = self.statements(&p.setup)?;
            self.switch(thread, p.private && t > 0, output);
            if let ControlFlow::Break(_) = flow {
                return Err(ill_formed("a jump leaves a setup").into());
            }
        }
        let (mut start, mut chunk) = (lo, 0);
        while start < hi {
            let end = start.saturating_add(step).min(hi);
            let t = chunk % threads;
            if let Some((_, at, _)) = &mut self.touched {
                *at = chunk;
            }
            let thread = &mut own[t];
            self.switch(thread, p.private && t > 0, output);
            self.variables[p.start.index()] = Some(Value::Unsigned(start));
            self.variables[p.end.index()] = Some(Value::Unsigned(end));
            self.step()?;
            let flow = self.block(&p.body)?;
            self.switch(thread, p.private && t > 0, output);
            if let ControlFlow::Break(_) = flow {
                return Err(ill_formed("a jump leaves a chunk").into());
            }
            (start, chunk) = (end, chunk + 1);
        }
        self.touched = None;
        for thread in own.into_iter().skip(1) {
            let Some(Storage::Written(part)) = thread.arrays.into_iter().nth(output) else {
                continue;
            };
            if p.private {
                self.add_part(output, &part)?;
            }
        }
        Ok(())
    }

    /// Exchanges what a thread has of its own with what is there; the shared output stays.
    fn switch(&mut self, thread: &mut Thread<'a>, own_output: bool, output: usize) {
        std::mem::swap(&mut self.variables, &mut thread.variables);
        std::mem::swap(&mut self.arrays, &mut thread.arrays);
        if !own_output {
            std::mem::swap(&mut self.arrays[output], &mut thread.arrays[output]);
        }
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
}
