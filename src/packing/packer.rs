//! Carrying out a packing plan.
//!
//! In: a [`Plan`] and entries. Out: a [`Tensor`]. Entries are sorted once for each independent
//! chain of levels (nearly always one); everything else is a pass over columns.

use std::borrow::Cow;
use std::sync::Arc;

use indexmap::IndexMap;

use super::PackOptions;
use super::accumulate;
use super::agree;
use super::columns::{Column, Columns, Data};
use super::derive::{function_name, refused};
use super::linear::linear;
use super::number::{self, Separation};
use super::pieces::pieces;
use super::plan::{Interval, Order, Plan, Position, Role, SortKey};
use super::probing;
use super::sort::{self, Key, Sorted};
use super::store::Scatter;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Arith, Name};
use crate::layout::{Layout, checks};
use crate::tensor::{
    Entries, IndexData, IndexType, Tensor, Values, extents, known_sizes, rank_differs,
};

impl Plan {
    /// Packs entries by this plan, which must be that of `layout`.
    ///
    /// # Errors
    /// As [`pack`](super::pack).
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
            entries.dims.clone(),
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

struct Run {
    keys: Vec<SortKey>,
    levels: Vec<usize>,
}

pub(super) struct Packer<'a> {
    pub plan: &'a Plan,
    pub layout: &'a Layout,
    pub entries: &'a Entries,
    /// Coordinates and determined positions, in the order of the entries.
    pub columns: Columns<'a>,
    /// For each level, each key, in the order of the entries.
    keys: Vec<Vec<Column<'a>>>,
    pub functions: IndexMap<Name, Column<'a>>,
    /// The piece of the relation that each entry belongs to; `None`: the first.
    pieces: Option<Vec<u8>>,
    pub counts: IndexMap<Name, i64>,
    pub arrays: IndexMap<Name, IndexData>,
    /// Arrays of which only some roles are filled so far.
    pub partial: IndexMap<Name, Scatter>,
    pub width: Width,
}

#[derive(Clone, Copy)]
pub(super) struct Width {
    options: PackOptions,
    fits_32_bits: bool,
}

impl<'a> Packer<'a> {
    fn new(
        plan: &'a Plan,
        layout: &'a Layout,
        entries: &'a Entries,
        options: &PackOptions,
    ) -> Result<Packer<'a>> {
        let mut columns = Columns {
            len: entries.len(),
            named: IndexMap::new(),
            sizes: extents(layout, &entries.dims)?,
        };
        for ((name, data), &extent) in
            plan.coordinates.iter().zip(&entries.coords).zip(&entries.dims)
        {
            columns.named.insert(name.clone(), Column::coordinates(data, extent));
        }
        let pieces = pieces(plan, layout, entries, &columns)?;
        let select = |form_of: &dyn Fn(usize) -> Result<Column<'a>>| -> Result<Column<'a>> {
            let Some(piece) = &pieces else { return form_of(0) };
            let all: Result<Vec<Column<'a>>> = (0..plan.pieces.len()).map(form_of).collect();
            let all = all?;
            let least = all.iter().map(|c| c.least).min().unwrap_or(0);
            let most = all.iter().map(|c| c.most).max().unwrap_or(0);
            let chosen = (0..entries.len()).map(|k| all[piece[k] as usize].get(k)).collect();
            Ok(Column::of_i64(chosen, least, most))
        };
        let mut positions = Vec::new();
        for (k, (name, position)) in plan.positions.iter().enumerate() {
            if *position == Position::Determined {
                let column = select(&|piece| {
                    let form = plan.pieces[piece].positions[k].as_ref();
                    form.map_or(Ok(Column::constant(0)), |form| columns.form(form))
                })?;
                positions.push((name.clone(), column));
            }
        }
        let mut keys = Vec::new();
        for (level, this) in plan.levels.iter().enumerate() {
            let of_level: Result<Vec<Column<'a>>> = (0..this.keys.len())
                .map(|key| select(&|piece| columns.form(&plan.pieces[piece].keys[level][key])))
                .collect();
            keys.push(of_level?);
        }
        let mut functions = IndexMap::new();
        for name in plan.pieces[0].functions.keys() {
            let column = select(&|piece| columns.form(&plan.pieces[piece].functions[name]))?;
            functions.insert(name.clone(), column);
        }
        columns.named.extend(positions);
        let mut out = Packer {
            plan,
            layout,
            entries,
            columns,
            keys,
            functions,
            pieces,
            counts: IndexMap::new(),
            arrays: IndexMap::new(),
            partial: IndexMap::new(),
            width: Width { options: *options, fits_32_bits: true },
        };
        out.width.fits_32_bits = out.fits_32_bits();
        Ok(out)
    }

    /// Whether every extent and every number of an index array fits 32 bits.
    fn fits_32_bits(&self) -> bool {
        let fits = |name: &Name, column: &Column<'_>| {
            let signed = checks::admits_negative(&self.layout.arrays[name]);
            let most = if signed { i64::from(i32::MAX) } else { i64::from(u32::MAX) };
            let least = if signed { i64::from(i32::MIN) } else { 0 };
            let within = |c: &Column<'_>| c.least >= least && c.most <= most;
            // The interval of an expression such as `j - 4*floor(j/4)` is wider than its values.
            within(column) || {
                let mut tight = column.clone();
                tight.tighten(self.entries.len());
                within(&tight)
            }
        };
        let keys = self.plan.roles().all(|(name, role)| match role {
            Role::Key { level, key, .. } => fits(name, &self.keys[*level][*key]),
            Role::Function { args } => fits(name, &self.functions[&function_name(name, args)]),
            _ => {
                i32::try_from(self.entries.len()).is_ok()
                    || !checks::admits_negative(&self.layout.arrays[name])
            }
        });
        keys && self.entries.dims.iter().all(|&n| u32::try_from(n).is_ok())
    }

    /// All columns, without sorting.
    fn unsorted(&mut self) -> Result<(Columns<'a>, Option<Vec<u32>>)> {
        let mut columns = Columns {
            len: self.columns.len,
            named: self.columns.named.clone(),
            sizes: self.columns.sizes.clone(),
        };
        self.tie(&mut columns)?;
        Ok((columns, None))
    }

    /// Sorts for a run, numbers its levels and fills their arrays. The result are the columns
    /// that the values need, in sorted order.
    fn run(&mut self, run: &Run, last: bool) -> Result<(Columns<'a>, Option<Vec<u32>>)> {
        let n = self.entries.len();
        let mut keys = Vec::new();
        for key in &run.keys {
            keys.push(match key {
                SortKey::Key { level, key } => Key {
                    column: self.keys[*level][*key].clone(),
                    decreasing: self.plan.levels[*level].order == Order::Decreasing,
                },
                SortKey::Expression(e) => {
                    Key { column: self.columns.eval(e)?.into_owned(), decreasing: false }
                }
            });
        }
        if keys.len() > 250 {
            return Err(refused(self.layout, "it has too many levels"));
        }
        let mut sorted = sort::sort(keys, n);

        let needed = self.needed(run, last);
        let has_intervals = run.levels.iter().any(|&k| self.plan.levels[k].interval.is_some());
        let mut columns =
            Columns { len: n, named: IndexMap::new(), sizes: self.columns.sizes.clone() };
        for (name, column) in &self.columns.named {
            if !needed.contains(name) {
                continue;
            }
            let this = Affine::var(name.clone());
            let at = run.keys.iter().position(|k| *k == SortKey::Expression(this.clone()));
            let column = match (&sorted.order, at) {
                (None, _) => column.clone(),
                // A run of intervals looks at its columns again.
                (Some(_), Some(at)) if has_intervals => sorted.columns[at].clone(),
                (Some(_), Some(at)) => {
                    std::mem::replace(&mut sorted.columns[at], Column::constant(0))
                }
                (Some(order), None) => column.gather(order),
            };
            columns.named.insert(name.clone(), column);
        }
        let mut key_columns: IndexMap<(usize, usize), Cow<'_, Column<'a>>> = IndexMap::new();
        for &level in &run.levels {
            for key in 0..self.plan.levels[level].keys.len() {
                let at = run.keys.iter().position(|k| *k == SortKey::Key { level, key });
                let column = match (&sorted.order, at) {
                    (_, Some(at)) => Cow::Borrowed(&sorted.columns[at]),
                    (None, None) => Cow::Owned(self.keys[level][key].clone()),
                    (Some(order), None) => Cow::Owned(self.keys[level][key].gather(order)),
                };
                key_columns.insert((level, key), column);
            }
        }
        for &level in &run.levels {
            let (all_keys, group_keys) = self.plan.sort_keys(level);
            let this = &self.plan.levels[level];
            let group_of_entries = this.group.iter().any(|arg| {
                self.plan.numbered_in(arg).is_some_and(|outer| self.plan.is_entry_level(outer))
            });
            let separation = Separation {
                position: (!self.plan.is_entry_level(level)).then_some(all_keys.len()),
                group: (!group_of_entries).then_some(group_keys),
                // One group only: numbers never start again.
                restart: (this.restarts && (group_keys > 0 || group_of_entries || this.first != 0))
                    .then_some(this.first),
            };
            let breaks = this.interval.as_ref().map(|interval| {
                let along = SortKey::Expression(interval.along.clone());
                let at = run.keys.iter().position(|k| *k == along);
                self.breaks(interval, all_keys.len(), &sorted, at)
            });
            let mut numbering = separation.number(&sorted.first_difference, breaks.as_deref());
            if this.complete {
                self.complete(level, &mut numbering, &columns, &key_columns)?;
            }
            self.count(level, &numbering)?;
            if let Some(key) = this.probed {
                let starts = |k: usize| separation.splits_group(&sorted.first_difference, k);
                let sizes =
                    known_sizes(self.layout, &self.entries.dims, &self.counts, &self.arrays)?;
                let table = probing::Tables::new(self.layout, this, &sizes.0)?;
                table.place(&mut numbering, &key_columns[&(level, key)], &starts, n)?;
            }
            let position = std::mem::replace(&mut numbering.position, Column::constant(0));
            columns.named.insert(this.position.clone(), position);
            self.fill_arrays(level, &numbering, &columns, &key_columns)?;
        }
        if !last {
            // The next run sorts anew: bring the positions back into the order of the entries.
            for &level in &run.levels {
                let name = &self.plan.levels[level].position;
                let column = &columns.named[name];
                let restored = match &sorted.order {
                    None => column.clone(),
                    Some(order) => {
                        let mut numbers = vec![0i64; n];
                        for (k, &entry) in order.iter().enumerate() {
                            numbers[entry as usize] = column.get(k);
                        }
                        Column::of_i64(numbers, column.least, column.most)
                    }
                };
                self.columns.named.insert(name.clone(), restored);
            }
        }
        self.tie(&mut columns)?;
        Ok((columns, sorted.order))
    }

    /// Which sorted entries open an interval; the last of `keys` columns is what it goes along.
    fn breaks(
        &self,
        interval: &Interval,
        keys: usize,
        sorted: &Sorted<'a>,
        along: Option<usize>,
    ) -> Vec<bool> {
        let along = along.map(|at| &sorted.columns[at]);
        let entry = |k: usize| sorted.order.as_ref().map_or(k, |order| order[k] as usize);
        let values = &self.entries.values;
        (0..self.entries.len())
            .map(|k| {
                let apart = sorted.first_difference[k] as usize;
                let gap = || along.is_some_and(|a| a.get(k).abs_diff(a.get(k - 1)) > 1);
                let differs = || !values.equal(entry(k - 1), entry(k));
                k == 0
                    || apart + 1 < keys
                    || apart < keys && (gap() || interval.equal_values && differs())
            })
            .collect()
    }

    /// Positions that are functions of others.
    fn tie(&self, columns: &mut Columns<'a>) -> Result<()> {
        for (name, position) in &self.plan.positions {
            let Position::Tied(e) = position else { continue };
            let mut known = true;
            e.visit_vars(&mut |n| {
                known &= columns.named.contains_key(n) || columns.sizes.contains_key(n);
            });
            if known {
                let column = columns.eval(e)?.into_owned();
                columns.named.insert(name.clone(), column);
            }
        }
        Ok(())
    }

    /// Names whose columns a run uses: in its arrays' arguments, and for the values.
    fn needed(&self, run: &Run, last: bool) -> Vec<Name> {
        let mut out: Vec<Name> = Vec::new();
        let mut add = |n: &Name| {
            if !out.contains(n) {
                out.push(n.clone());
            }
        };
        for (_, role) in self.plan.roles() {
            match role {
                Role::Segments { level, args }
                | Role::Starts { level, args }
                | Role::Ends { level, args }
                | Role::Counts { level, args, .. }
                | Role::Key { level, args, .. }
                    if run.levels.contains(level) =>
                {
                    args.iter().for_each(|a| a.visit_vars(&mut add));
                }
                Role::Function { args } if last => {
                    args.iter().for_each(|a| a.visit_vars(&mut add));
                }
                _ => {}
            }
        }
        if last {
            if let Arith::Call(_, index) = &self.plan.value {
                index.iter().for_each(|e| e.visit_vars(&mut add));
            }
            for (_, position) in &self.plan.positions {
                if let Position::Tied(e) | Position::Aligned(e) = position {
                    e.visit_vars(&mut add);
                }
            }
            for measure in &self.plan.measures {
                measure.of.iter().for_each(|e| e.visit_vars(&mut add));
                measure.args().iter().for_each(|e| e.visit_vars(&mut add));
            }
        }
        out
    }

    /// The values at their offsets.
    fn values(&self, columns: &Columns<'a>, order: Option<&[u32]>) -> Result<Values> {
        let layout = self.layout;
        let (scope, _) = known_sizes(layout, &self.entries.dims, &self.counts, &self.arrays)?;
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
        let given = &self.entries.values;

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

impl Width {
    pub fn index_type(&self, signed: bool) -> IndexType {
        self.options.index_width.index_type(signed, self.fits_32_bits)
    }
}
