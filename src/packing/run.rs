//! One sorting of the entries, and the levels that it numbers.
//!
//! In: the keys of a chain of levels. Out: positions and index arrays of those levels, and the
//! columns that later steps need, in sorted order.

use std::borrow::Cow;

use indexmap::IndexMap;

use super::columns::{Column, Columns};
use super::number::Separation;
use super::packer::Packer;
use super::part::{Interval, Order, Position, Role, SortKey};
use super::probing;
use super::refusal::refused;
use super::sort::{self, Key, Sorted};
use crate::diagnostic::Result;
use crate::formula::{Affine, Name};

/// Levels that one sorting serves, with its keys.
pub(super) struct Run {
    pub keys: Vec<SortKey>,
    pub levels: Vec<usize>,
}

impl<'a> Packer<'a> {
    /// All columns, without sorting.
    pub(super) fn unsorted(&mut self) -> Result<(Columns<'a>, Option<Vec<u32>>)> {
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
    pub(super) fn run(&mut self, run: &Run, last: bool) -> Result<(Columns<'a>, Option<Vec<u32>>)> {
        let n = self.entries.len();
        let keys = self.sort_columns(&run.keys)?;
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
            let order = sorted.order.as_deref();
            let settled = !this.complete && this.probed.is_none();
            let mut fits = self.admit(level, settled, &mut numbering, &mut columns, order)?;
            if fits && !settled {
                if this.complete {
                    self.complete(level, &mut numbering, &columns, &key_columns)?;
                }
                if let Some(key) = this.probed {
                    let starts = |k: usize| separation.splits_group(&sorted.first_difference, k);
                    let sizes = self.scope()?;
                    let table = probing::Tables::new(self.layout, this, &sizes)?;
                    table.place(&mut numbering, &key_columns[&(level, key)], &starts, n)?;
                }
                fits = self.admit(level, true, &mut numbering, &mut columns, order)?;
            }
            if !fits {
                return Ok((columns, sorted.order));
            }
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

    /// The columns to sort by.
    fn sort_columns(&self, keys: &[SortKey]) -> Result<Vec<Key<'a>>> {
        let column = |key: &SortKey| {
            Ok(match key {
                SortKey::Key { level, key } => Key {
                    column: self.keys[*level][*key].clone(),
                    decreasing: self.plan.levels[*level].order == Order::Decreasing,
                },
                SortKey::Expression(e) => {
                    Key { column: self.columns.eval(e)?.into_owned(), decreasing: false }
                }
                SortKey::Count { level } => Key { column: self.lengths(*level)?, decreasing: true },
            })
        };
        keys.iter().map(column).collect()
    }

    /// For each entry, the number of positions of `level` in its group.
    fn lengths(&self, level: usize) -> Result<Column<'a>> {
        let n = self.entries.len();
        let (keys, group) = self.plan.keys_of(level, false);
        let position = (!self.plan.is_entry_level(level)).then_some(keys.len());
        let sorted = sort::sort(self.sort_columns(&keys)?, n);
        let separation = Separation { position, group: Some(group), restart: None };
        let numbering = separation.number(&sorted.first_difference, None);
        let entry = |k: usize| sorted.order.as_ref().map_or(k, |order| order[k] as usize);
        let mut lengths = vec![0u32; n];
        let mut start = 0;
        while start < n {
            let in_group =
                |k: &usize| *k == start || !separation.splits_group(&sorted.first_difference, *k);
            let end = start + (start..n).take_while(in_group).count();
            let length = (start..end).filter(|&k| numbering.opens(k)).count() as u32;
            (start..end).for_each(|k| lengths[entry(k)] = length);
            start = end;
        }
        let most = lengths.iter().max().map_or(0, |&m| i64::from(m));
        Ok(Column::of_u32(lengths, 0, most))
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
        let values = self.entries.values();
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
        self.plan.tested().iter().for_each(&mut add);
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
            self.layout.value.index.iter().for_each(|e| e.visit_vars(&mut add));
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
}
