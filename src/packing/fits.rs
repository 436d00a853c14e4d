//! Whether the numbers of a level are where the relation lets positions be.
//!
//! A position may have several bounds (`p1 < W and p1 < 2 and p1 <= p0`). By one of them it is numbered;
//! the others, unless they follow, are tested here: once the level is numbered, and before anything is
//! stored at its numbers. Conditions that read arrays are left to [`confirm`](super::confirm).

use super::columns::Columns;
use super::confirm::no_place;
use super::number::Numbering;
use super::packer::Packer;
use crate::diagnostic::Result;
use crate::formula::{Affine, Constraint, Relop};

impl<'a> Packer<'a> {
    /// Takes the numbers of `level` into the columns, which are in the order `order`; whether all have
    /// room: entries without are marked, where another part may take them. Numbers that are not
    /// `settled` are ranks, and may become other numbers of their group.
    ///
    /// # Errors
    /// [`Code::NotPackable`](crate::diagnostic::Code::NotPackable) if an entry has no room, and no other
    /// part may take it.
    pub(super) fn admit(
        &mut self,
        level: usize,
        settled: bool,
        numbering: &mut Numbering<'a>,
        columns: &mut Columns<'a>,
        order: Option<&[u32]>,
    ) -> Result<bool> {
        let position = self.plan.levels[level].position.clone();
        columns.named.insert(position, numbering.take_position());
        if self.spills {
            let mut spilled = vec![false; columns.len];
            let mut mark = |k: usize, _: &Constraint| spilled[entry(order, k)] = true;
            self.misfits(level, settled, columns, order, &mut mark)?;
            if spilled.contains(&true) {
                self.spilled = Some(spilled);
                return Ok(false);
            }
        }
        self.count(level, numbering)?;
        let mut first: Option<(usize, &Constraint)> = None;
        self.misfits(level, settled, columns, order, &mut |k, condition| {
            if first.is_none_or(|(before, _)| k < before) {
                first = Some((k, condition));
            }
        })?;
        first.map_or(Ok(true), |(k, broken)| {
            Err(no_place(self.layout, broken, &self.entries.point(entry(order, k))))
        })
    }

    /// Calls `misfit` for each entry and each condition on its number at `level` that does not hold, as
    /// far as what the condition mentions is known.
    fn misfits(
        &self,
        level: usize,
        settled: bool,
        columns: &Columns<'a>,
        order: Option<&[u32]>,
        misfit: &mut dyn FnMut(usize, &'a Constraint),
    ) -> Result<()> {
        let plan = self.plan;
        let position = &plan.levels[level].position;
        let about = |c: &Constraint| c.mentions(position) && !c.affine.has_calls();
        if !plan.open_conditions().any(about) {
            return Ok(());
        }
        let sizes = self.scope()?.sizes;
        // A group of more positions than a size has no room for them, whatever their numbers.
        let is_size = |c: &Constraint| {
            let k = c.affine.coefficient_of_var(position);
            let mut sized = c.relop == Relop::Ge && k < 0;
            let rest = c.affine.clone() - Affine::var(position.clone()) * k;
            rest.visit_vars(&mut |n| sized &= sizes.contains_key(n));
            sized
        };
        for (piece, conditions) in plan.open.iter().enumerate() {
            let own = |k: usize| match &self.pieces {
                Some(pieces) => usize::from(pieces[entry(order, k)]) == piece,
                None => piece == 0,
            };
            let open =
                |c: &&Constraint| about(c) && (settled || is_size(c)) && !columns.shows(c, &sizes);
            for c in conditions.iter().filter(open) {
                let Ok(numbers) = columns.eval_with(&c.affine, &sizes) else { continue };
                (0..columns.len)
                    .filter(|&k| !c.relop.holds(numbers.get(k)) && own(k))
                    .for_each(|k| misfit(k, c));
            }
        }
        Ok(())
    }
}

/// The number of the entry that is number `k` in the order.
fn entry(order: Option<&[u32]>, k: usize) -> usize {
    order.map_or(k, |order| order[k] as usize)
}
