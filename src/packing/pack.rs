//! Carrying out a packing plan.
//!
//! In: a [`Plan`] and entries. Out: a [`Tensor`]. Entries are sorted once for each independent
//! chain of levels (nearly always one); everything else is a pass over columns.

use std::borrow::Cow;
use std::sync::Arc;

use super::accumulate;
use super::agree;
use super::columns::{Column, Columns, Data};
use super::linear::linear;
use super::number;
use super::options::PackOptions;
use super::packer::Packer;
use super::plan::Plan;
use super::refusal::refused;
use super::run::Run;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::layout::Layout;
use crate::tensor::{Entries, Tensor, Values, known_sizes, rank_differs};

/// Packs entries into a layout. Duplicates are summed where equal coordinates share a position,
/// and kept where the layout declares no order that forbids them; explicit zeros are stored.
///
/// ```
/// use std::sync::Arc;
/// use siskin::layout::Layout;
/// use siskin::packing::{PackOptions, pack};
/// use siskin::tensor::{Entries, IndexData};
/// let layout = Arc::new(Layout::named("csr").unwrap());
/// let a = Entries::from_points(&[2, 3], &[(&[1, 2], 5.0), (&[1, 0], 7.5)]).unwrap();
/// let packed = pack(&layout, &a, &PackOptions::default()).unwrap();
/// assert_eq!(packed.arrays()["pos"], IndexData::U32(vec![0, 0, 2]));
/// assert_eq!(packed.arrays()["crd"], IndexData::U32(vec![0, 2]));
/// ```
///
/// # Errors
/// [`Code::Shape`](crate::diagnostic::Code::Shape) if the ranks differ,
/// [`Code::NotPackable`](crate::diagnostic::Code::NotPackable) if the declaration does not say how
/// to pack, or an entry has no place in the layout.
pub fn pack(layout: &Arc<Layout>, entries: &Entries, options: &PackOptions) -> Result<Tensor> {
    Plan::of(layout)?.pack(layout, entries, options)
}

impl Plan {
    /// Packs entries by this plan, which must be that of `layout`.
    ///
    /// # Errors
    /// As [`pack`].
    pub fn pack(
        &self,
        layout: &Arc<Layout>,
        entries: &Entries,
        options: &PackOptions,
    ) -> Result<Tensor> {
        if entries.rank() != layout.rank() {
            return Err(rank_differs(layout, entries.rank()));
        }
        if u32::try_from(entries.len()).is_err() {
            return Err(Diagnostic::new(
                Code::Shape,
                format!("{} entries are more than packing handles", entries.len()),
            )
            .help("at most 4294967295 entries can be packed at once"));
        }
        let summed = self.has_equal_values().then(|| number::summed(entries));
        let summed = summed.transpose()?;
        let packed = summed.as_ref().unwrap_or(entries);
        let mut packer = Packer::new(self, layout, packed, options)?;
        let mut positions = None;
        let runs = self.runs();
        for (k, run) in runs.iter().enumerate() {
            positions = Some(packer.run(run, k + 1 == runs.len())?);
        }
        let (mut columns, order) = match positions {
            Some(sorted) => sorted,
            None => packer.unsorted()?,
        };
        packer.measure(&mut columns)?;
        packer.finish_arrays(&columns)?;
        let values = packer.values(&columns, order.as_deref())?;
        let tensor = Tensor::new(
            layout.clone(),
            entries.dims().to_vec(),
            &packer.counts,
            packer.arrays,
            values,
        )?;
        agree::sizes(&tensor)?;
        if self.verify {
            agree::check(&tensor, entries)?;
        }
        Ok(tensor)
    }

    /// Levels that one sorting serves, with its keys.
    fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for level in 0..self.levels.len() {
            let (keys, _) = self.sort_keys(level);
            let fits = |run: &&mut Run| keys.starts_with(&run.keys) || run.keys.starts_with(&keys);
            match runs.iter_mut().find(fits) {
                Some(run) => {
                    run.levels.push(level);
                    if keys.len() > run.keys.len() {
                        run.keys = keys;
                    }
                }
                None => runs.push(Run { keys, levels: vec![level] }),
            }
        }
        runs
    }
}

impl<'a> Packer<'a> {
    /// The values at their offsets.
    fn values(&self, columns: &Columns<'a>, order: Option<&[u32]>) -> Result<Values> {
        let layout = self.layout;
        let (scope, _) = known_sizes(layout, self.entries.dims(), &self.counts, &self.arrays)?;
        let sizes = || {
            refused(layout, "the size of the value array is not known after packing")
                .help("give `value_shape`")
        };
        let len = scope.value(&layout.value.len).and_then(|n| usize::try_from(n).ok());
        let shape: Option<Vec<i64>> = layout.value.shape.iter().map(|e| scope.value(e)).collect();
        let (Some(len), Some(shape)) = (len, shape) else { return Err(sizes()) };
        let affine: Vec<_> = layout.value.index.iter().map(|e| e.to_affine()).collect();
        let subscripts: Result<Vec<Cow<'_, Column<'a>>>> = layout
            .value
            .index
            .iter()
            .zip(&affine)
            .map(|(e, affine)| match affine {
                Ok(e) if !e.has_calls() => columns.eval(e),
                _ => {
                    let numbers: Option<Vec<i64>> = (0..columns.len)
                        .map(|k| {
                            let column = |n: &str| columns.named.get(n).map(|c| c.get(k));
                            scope.value_with(e, &column)
                        })
                        .collect();
                    let mut column = Column::of_i64(numbers.ok_or_else(sizes)?, 0, 0);
                    column.tighten(columns.len);
                    Ok(Cow::Owned(column))
                }
            })
            .collect();
        let offsets = linear(subscripts?, &shape, columns.len, "the value array")?;
        let given = self.entries.values();

        if matches!(offsets.data, Data::Counting) && len == columns.len && self.pieces.is_none() {
            return Ok(match order {
                None => given.clone(),
                Some(order) => given.gather(order),
            });
        }
        let is_outside = |offset: i64| usize::try_from(offset).map_or(true, |at| at >= len);
        let outside = match is_outside(offsets.least) || is_outside(offsets.most) {
            true => (0..columns.len).map(|k| offsets.get(k)).find(|&offset| is_outside(offset)),
            // The interval of all offsets says enough.
            false => None,
        };
        if let Some(offset) = outside {
            return Err(refused(
                layout,
                format!("value {offset} is needed, but it stores {len} values"),
            )
            .help("correct `value_shape`"));
        }
        let Some(mut values) = Values::try_zeros(given.value_type(), len) else {
            return Err(Diagnostic::new(
                Code::Shape,
                format!("{len} values of layout `{}` do not fit in memory", layout.name),
            )
            .help("choose a sparser layout"));
        };
        match &self.pieces {
            None if self.plan.has_equal_values() => {
                accumulate::equal(&mut values, &offsets, given, order);
            }
            None => accumulate::all(&mut values, &offsets, given, order)?,
            Some(pieces) => accumulate::by_piece(&mut values, &offsets, given, order, pieces)?,
        }
        Ok(values)
    }
}
