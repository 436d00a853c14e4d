//! Groups of a fixed number of positions, all of them stored: where a group has fewer entries, the
//! remaining positions get keys that it does not use, and zeros as values.
//!
//! ```text
//! 0 <= p2 < N and j = M*p1 + idx(p0, p1, p2),  idx strictly increasing in p2,  0 <= idx < M
//! ```
//! In: a numbered level. Out: the elements of its key array, and numbers that leave room for the
//! keys that were added.

use std::borrow::Cow;

use indexmap::IndexMap;

use super::columns::{Column, Columns};
use super::linear::{beyond_row, slots};
use super::number::Numbering;
use super::packer::Packer;
use super::part::{Count, Order, Part, Role};
use super::refusal::refused;
use crate::diagnostic::Result;
use crate::formula::{Affine, Arith, Name};
use crate::layout::Layout;
use crate::layout::checks::{Check, checks};

impl Part {
    /// Finds the levels whose groups have to be completed: their size is fixed, and nothing says
    /// what an unused element of the key array holds.
    pub(super) fn complete(&mut self, layout: &Layout) {
        for level in 0..self.levels.len() {
            let counted = self.counts.values().any(|count| match count {
                Count::Positions { level: of, .. }
                | Count::LargestGroup { level: of, .. }
                | Count::Slots { level: of } => *of == level,
                Count::Measured(_) | Count::Intervals(_) => false,
            });
            let this = &self.levels[level];
            let [key] = this.keys.as_slice() else { continue };
            let numbers = numbering_argument(&key.args, &this.position).is_some();
            let unfilled = layout.arrays.get(&key.array).is_some_and(|a| a.fill.is_none());
            let complete = this.size.is_some()
                && this.restarts
                && !this.each_entry
                && this.first == 0
                && this.probed.is_none()
                && key.args.len() > 1;
            self.levels[level].complete = complete && numbers && unfilled && !counted;
        }
    }
}

impl<'a> Packer<'a> {
    pub(super) fn complete(
        &mut self,
        level: usize,
        numbering: &mut Numbering<'a>,
        columns: &Columns<'a>,
        keys: &IndexMap<(usize, usize), Cow<'_, Column<'a>>>,
    ) -> Result<()> {
        let this = &self.plan.levels[level];
        let array = &this.keys[0].array;
        let (target, shape) = self.target(array)?;
        let Some((_, Role::Key { args, .. })) = self
            .plan
            .roles()
            .find(|(name, role)| *name == array && matches!(role, Role::Key { .. }))
        else {
            return Ok(());
        };
        let Some(at) = numbering_argument(args, &this.position) else { return Ok(()) };
        let (Some(&size), Some((lower, upper))) = (shape.get(at), self.key_range(level)?) else {
            return Err(refused(self.layout, format!("nothing bounds `{array}`"))
                .help(format!("give its `range` in [index.{array}]")));
        };
        let width = usize::try_from(size).unwrap_or(0);
        if width == 0 || target.len == 0 {
            return Ok(());
        }
        if upper - lower + 1 < size {
            return Err(refused(
                self.layout,
                format!("{size} positions cannot hold different numbers in {lower} ..= {upper}"),
            )
            .help(format!("widen the range of `{array}`, or shorten its groups")));
        }
        let groups = slots(columns, &without(args, at), &without(&shape, at))?;
        let group_count = target.len / width;
        let mut used: Vec<Vec<i64>> = vec![Vec::new(); group_count];
        let values = &keys[&(level, 0)];
        let group_of = |k: usize| super::store::element(&target, groups.get(k));
        // Groups are numbered by the other subscripts; those behind the position's vary while it stands.
        let behind: i64 = shape[at + 1..].iter().product();
        let behind = usize::try_from(behind).unwrap_or(0).max(1);
        let place = |group: usize, k: usize| (group / behind * width + k) * behind + group % behind;
        for k in (0..columns.len).filter(|&k| numbering.opens(k)) {
            used[group_of(k)?].push(values.get(k));
        }
        if let Some(group) = used.iter().find(|group| group.len() > width) {
            return Err(beyond_row("an index array", size, group.len() as i64 - 1));
        }
        let decreasing = this.order == Order::Decreasing;
        let mut all = vec![0; target.len];
        for (number, group) in used.iter_mut().enumerate() {
            let missing = width.saturating_sub(group.len());
            let unused: Vec<i64> =
                (lower..=upper).filter(|x| !group.contains(x)).take(missing).collect();
            group.extend(unused);
            group.sort_unstable();
            if decreasing {
                group.reverse();
            }
            group.iter().enumerate().for_each(|(k, key)| all[place(number, k)] = *key);
        }
        let rank = |k: usize| -> Result<i64> {
            let group = &used[group_of(k)?];
            let at = group.iter().position(|&x| x == values.get(k));
            Ok(at.unwrap_or(0) as i64)
        };
        let numbers: Result<Vec<i64>> = (0..columns.len).map(rank).collect();
        numbering.position = Column::of_i64(numbers?, 0, (size - 1).max(0));
        numbering.completed = Some(all);
        Ok(())
    }

    /// The least and the greatest number that the key array of a level may hold.
    fn key_range(&self, level: usize) -> Result<Option<(i64, i64)>> {
        let array = &self.plan.levels[level].keys[0].array;
        let scope = self.scope()?;
        let range = checks(self.layout).into_iter().find_map(|check| match check {
            Check::Range { array: of, lower: Some(lower), upper: Some(upper) } if of == *array => {
                Some((lower, upper))
            }
            _ => None,
        });
        let value = |e: &Affine| scope.value(&Arith::from_affine(e));
        Ok(range.and_then(|(lower, upper)| Some((value(&lower)?, value(&upper)?))))
    }
}

/// Which argument of an array is the position that numbers the entries of a group, if all others are those of the group.
fn numbering_argument(args: &[Affine], position: &Name) -> Option<usize> {
    let at = args.iter().position(|arg| arg.as_var() == Some(position))?;
    without(args, at).iter().all(|arg| !arg.mentions(position)).then_some(at)
}

fn without<T: Clone>(list: &[T], at: usize) -> Vec<T> {
    [&list[..at], &list[at + 1..]].concat()
}
