//! Carrying out the measures of a plan: extremes over the entries that share an element.
//!
//! In: numbered positions. Out: the measured arrays and sizes, and the positions aligned with them.

use std::borrow::Cow;

use super::columns::{Column, Columns, call_name};
use super::linear::slots;
use super::packer::Packer;
use super::part::{Measure, Measured, Position};
use super::store;
use crate::diagnostic::Result;
use crate::formula::{Affine, Call};

impl Measure {
    /// The arguments of what is measured.
    pub(super) fn args(&self) -> &[Affine] {
        match &self.what {
            Measured::Element(call) | Measured::Length(call) => &call.args,
            Measured::Size(_) => &[],
        }
    }

    /// For each element the extreme of its entries; `otherwise` where there is none.
    fn extremes(
        &self,
        columns: &Columns<'_>,
        len: usize,
        slot: impl Fn(usize) -> Result<usize>,
        otherwise: i64,
    ) -> Result<Vec<i64>> {
        let mut extremes: Vec<Option<i64>> = vec![None; len];
        for form in &self.of {
            let form = columns.eval(form)?;
            for k in 0..columns.len {
                let extreme = &mut extremes[slot(k)?];
                let value = form.get(k);
                *extreme = Some(match *extreme {
                    Some(old) if self.greatest => old.max(value),
                    Some(old) => old.min(value),
                    None => value,
                });
            }
        }
        Ok(extremes.into_iter().map(|x| x.unwrap_or(otherwise)).collect())
    }
}

impl<'a> Packer<'a> {
    /// Measures arrays and sizes, and adds the columns of aligned positions.
    pub(super) fn measure(&mut self, columns: &mut Columns<'a>) -> Result<()> {
        let plan = self.plan;
        for measure in &plan.measures {
            match &measure.what {
                Measured::Element(call) => {
                    let (target, shape) = self.target(&call.array)?;
                    let at = slots(columns, &call.args, &shape)?.into_owned();
                    let slot = |k: usize| store::element(&target, at.get(k));
                    let otherwise = target.fill.unwrap_or(0);
                    let numbers = measure.extremes(columns, target.len, slot, otherwise)?;
                    let filled = store::all(&target, numbers.iter().copied())?;
                    let column = (0..columns.len).map(|k| numbers[at.get(k) as usize]).collect();
                    add(columns, call, column);
                    self.arrays.insert(call.array.clone(), filled);
                }
                Measured::Length(start) => {
                    let (target, shape) = self.target(&start.array)?;
                    let at = slots(columns, &start.args, &shape)?.into_owned();
                    let slot = |k: usize| {
                        let end = at.get(k).saturating_add(1);
                        store::element(&target, end)?;
                        store::element(&target, at.get(k))
                    };
                    let segments = target.len.saturating_sub(1);
                    let mut lengths = measure.extremes(columns, segments, slot, 0)?;
                    lengths.iter_mut().for_each(|length| *length = (*length).max(0));
                    let starts: Vec<i64> = store::prefix_sums(&lengths).take(target.len).collect();
                    let filled = store::all(&target, starts.iter().copied())?;
                    let mut end = start.clone();
                    if let Some(last) = end.args.last_mut() {
                        *last = last.clone() + Affine::constant(1);
                    }
                    for (call, next) in [(start, 0), (&end, 1)] {
                        let of_entry = |k: usize| starts[at.get(k) as usize + next];
                        let column = (0..columns.len).map(of_entry).collect();
                        add(columns, call, column);
                    }
                    self.arrays.insert(start.array.clone(), filled);
                }
                Measured::Size(name) => {
                    let extreme = measure.extremes(columns, 1, |_| Ok(0), 0)?[0].max(0);
                    columns.sizes.insert(name.clone(), extreme);
                    self.columns.sizes.insert(name.clone(), extreme);
                    self.counts.insert(name.clone(), extreme);
                }
            }
        }
        for (name, position) in &plan.positions {
            let Position::Aligned(e) = position else { continue };
            let column = columns.eval(e).map(Cow::into_owned)?;
            columns.named.insert(name.clone(), column);
        }
        Ok(())
    }
}

/// The values of a call become a column.
fn add<'a>(columns: &mut Columns<'a>, call: &Call, numbers: Vec<i64>) {
    columns.named.insert(call_name(call), Column::of_numbers(numbers));
}
