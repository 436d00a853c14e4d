//! Filling the index arrays of numbered levels, and those that are functions of coordinates.
//!
//! In: numbered positions and the columns of arguments and keys. Out: each array, as soon as its
//! length is known.

use std::borrow::Cow;

use indexmap::IndexMap;

use super::columns::{Column, Columns, function_name};
use super::linear::slots;
use super::number::Numbering;
use super::packer::Packer;
use super::part::{Count, Role};
use super::probing;
use super::refusal::without_value;
use super::store::{self, Scatter, Target};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Arith, Name};
use crate::layout::PropertyKind;
use crate::layout::checks::{self, Check};
use crate::tensor::{IndexData, shape};

impl<'a> Packer<'a> {
    /// Gives the parameters that count this level their values, and checks that its numbers fit.
    pub(super) fn count(&mut self, level: usize, numbering: &Numbering<'_>) -> Result<()> {
        for (name, count) in &self.plan.counts {
            let value = match *count {
                Count::Positions { level: of, offset } if of == level => {
                    numbering.total as i64 + offset
                }
                Count::LargestGroup { level: of, offset } if of == level => {
                    numbering.largest as i64 + offset
                }
                Count::Slots { level: of } if of == level => probing::slots(numbering.largest),
                _ => continue,
            };
            self.counts.insert(name.clone(), value.max(0));
        }
        let this = &self.plan.levels[level];
        let Some(size) = &this.size else { return Ok(()) };
        let scope = self.scope()?;
        let Some(bound) = scope.value(&Arith::from_affine(size)) else { return Ok(()) };
        let needed = this.first + numbering.largest.min(numbering.total) as i64;
        if numbering.total > 0 && needed > bound {
            return Err(Diagnostic::new(
                Code::NotPackable,
                format!(
                    "position `{}` would reach {}, but layout `{}` bounds it by {size} = {bound}",
                    this.position,
                    needed - 1,
                    self.layout.name
                ),
            )
            .help("choose a larger size, or a layout that counts it"));
        }
        Ok(())
    }

    /// Fills the arrays of a level, each as soon as its length is known.
    pub(super) fn fill_arrays(
        &mut self,
        level: usize,
        numbering: &Numbering<'a>,
        columns: &Columns<'a>,
        keys: &IndexMap<(usize, usize), Cow<'_, Column<'a>>>,
    ) -> Result<()> {
        // Arrays that bound the level first: the number of its positions is read from them.
        for bounding in [true, false] {
            for (name, role) in self.plan.roles() {
                let filled = match role {
                    Role::Key { level: of, key, args } if *of == level && !bounding => {
                        let (target, shape) = self.target(name)?;
                        let values = &keys[&(level, *key)];
                        let this = &self.plan.levels[level];
                        let direct = args.len() == 1
                            && args[0].as_var() == Some(&this.position)
                            && this.probed.is_none()
                            && (!this.restarts || this.group.is_empty() && this.first == 0);
                        if let Some(keys) = &numbering.completed {
                            store::all(&target, keys.iter().copied())?
                        } else if direct && target.len == numbering.total {
                            store::in_order(&target, values, numbering, columns.len)?
                        } else {
                            let slots = slots(columns, args, &shape)?;
                            let writes = |k: usize| numbering.opens(k);
                            match self.scatter(&target, &slots, values, &writes)? {
                                Some(filled) => filled,
                                None => continue,
                            }
                        }
                    }
                    Role::Segments { level: of, args } if *of == level && bounding => {
                        let (target, shape) = self.target(name)?;
                        let slots = slots(columns, args, &shape)?;
                        let groups = target.len.saturating_sub(1);
                        let counts =
                            store::prefix_counts(&target, &slots, numbering, columns.len, groups)?;
                        store::all(&target, counts.into_iter().take(target.len).map(|x| x as i64))?
                    }
                    Role::Starts { level: of, args } | Role::Ends { level: of, args }
                        if *of == level && bounding =>
                    {
                        let (target, shape) = self.target(name)?;
                        let slots = slots(columns, args, &shape)?;
                        let counts = store::prefix_counts(
                            &target,
                            &slots,
                            numbering,
                            columns.len,
                            target.len,
                        )?;
                        let skip = usize::from(matches!(role, Role::Ends { .. }));
                        let counts = counts.into_iter().skip(skip).take(target.len);
                        store::all(&target, counts.map(|x| x as i64))?
                    }
                    Role::Counts { level: of, args, offset } if *of == level && bounding => {
                        let (target, shape) = self.target(name)?;
                        let slots = slots(columns, args, &shape)?;
                        let counts = store::group_counts(
                            &target,
                            &slots,
                            numbering,
                            columns.len,
                            target.len,
                        )?;
                        let base = self.plan.levels[level].first - offset;
                        store::all(&target, counts.into_iter().map(|x| x as i64 + base))?
                    }
                    _ => continue,
                };
                self.arrays.insert(name.clone(), filled);
            }
        }
        Ok(())
    }

    /// The arrays whose elements are functions of the coordinates; the columns are in the order
    /// `order`.
    pub(super) fn finish_arrays(
        &mut self,
        columns: &Columns<'a>,
        order: Option<&[u32]>,
    ) -> Result<()> {
        for (name, role) in self.plan.roles() {
            if let Role::Borders(k) = role {
                let (target, _) = self.target(name)?;
                let filled = store::all(&target, self.borders[*k].iter().copied())?;
                self.arrays.insert(name.clone(), filled);
            }
            let Role::Function { args } = role else { continue };
            let (target, shape) = self.target(name)?;
            // Functions are in the order of the entries; determined positions have columns in both
            // orders.
            let function = &self.functions[&function_name(name, args)];
            let (here, values) = match args.iter().all(|a| self.columns.eval(a).is_ok()) {
                true => (&self.columns, function.clone()),
                false => (columns, order.map_or_else(|| function.clone(), |o| function.gather(o))),
            };
            let slots = slots(here, args, &shape)?.into_owned();
            if let Some(filled) = self.scatter(&target, &slots, &values, &|_| true)? {
                self.arrays.insert(name.clone(), filled);
            }
        }
        Ok(())
    }

    /// Writes the elements of one role; the array when every role of it is written.
    fn scatter(
        &mut self,
        target: &Target<'_>,
        slots: &Column<'_>,
        values: &Column<'_>,
        writes: &dyn Fn(usize) -> bool,
    ) -> Result<Option<IndexData>> {
        let roles = self.plan.arrays[target.name].len();
        let mut scatter =
            self.partial.swap_remove(target.name).unwrap_or_else(|| Scatter::new(target));
        scatter.write(target, slots, values, writes, self.entries.len())?;
        if scatter.roles() == roles {
            let (filled, ranged) = scatter.finish(target)?;
            if let (None, Some(at)) = (&self.ranged, ranged) {
                self.ranged = Some((target.name.clone(), target.element_name(at)));
            }
            return Ok(Some(filled));
        }
        self.partial.insert(target.name.clone(), scatter);
        Ok(None)
    }

    /// Type, length and extents of an array.
    pub(super) fn target(&self, name: &'a Name) -> Result<(Target<'a>, Vec<i64>)> {
        let array = &self.layout.arrays[name];
        let scope = self.scope()?;
        let len = scope.value(&array.len).and_then(|len| usize::try_from(len).ok());
        let (Some(len), Some(shape)) = (len, shape(&scope, array)) else {
            let what = format!("the length of index array `{name}`");
            let remedy = "let it depend on extents and outer positions only";
            return Err(without_value(self.layout, &scope, &what, remedy));
        };
        self.room(&scope, len)?;
        let trial: std::result::Result<(), _> = Vec::<u64>::new().try_reserve_exact(len);
        if trial.is_err() {
            return Err(Diagnostic::new(
                Code::Shape,
                format!("index array `{name}` of {len} elements does not fit in memory"),
            )
            .help("choose a layout that does not store empty rows"));
        }
        let signed = checks::admits_negative(array);
        let index_type = self.width.index_type(signed);
        let permutation = self
            .layout
            .properties
            .iter()
            .any(|p| p.kind == PropertyKind::Permutation && p.arrays.contains(name));
        let least = checks::checks(self.layout).into_iter().find_map(|check| match check {
            Check::Range { array: of, lower: Some(lower), .. } if of == *name => {
                scope.value(&Arith::from_affine(&lower))
            }
            _ => None,
        });
        let fill = array.fill;
        let target =
            Target { name, index_type, len, shape: shape.clone(), fill, least, permutation };
        Ok((target, shape))
    }
}
