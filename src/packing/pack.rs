//! Carrying out a packing plan.
//!
//! In: a [`Plan`] and entries. Out: a [`Tensor`]. Entries are sorted once for each independent
//! chain of levels (nearly always one); everything else is a pass over columns.

use std::borrow::Cow;
use std::sync::Arc;

use indexmap::IndexMap;

use super::accumulate;
use super::agree;
use super::columns::{Column, Columns, Data};
use super::linear::linear;
use super::number;
use super::options::PackOptions;
use super::packer::{Packer, Width, coordinates};
use super::part::Part;
use super::pieces;
use super::plan::Plan;
use super::refusal::{refused, without_value};
use super::room;
use super::run::Run;
use super::stated;
use super::store;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;
use crate::layout::{Layout, checks};
use crate::tensor::{
    Entries, IndexData, Scope, Tensor, Value, ValueType, Values, known_sizes, rank_differs,
};

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

/// With more entries, finding the one that cannot be stored would take too long.
const MOST_BISECTED: u32 = 1 << 20;

impl Plan {
    /// Packs entries by this plan, which must be that of `layout`.
    ///
    /// # Errors
    /// As [`pack`]; the message or a note names an entry.
    pub fn pack(
        &self,
        layout: &Arc<Layout>,
        entries: &Entries,
        options: &PackOptions,
    ) -> Result<Tensor> {
        let packed = self.pack_all(layout, entries, options);
        match packed {
            Err(e) if e.code == Code::NotPackable && !e.message.starts_with("entry (") => {
                let first = self.first_refused(layout, entries, options);
                Err(first.into_iter().fold(e, Diagnostic::note))
            }
            packed => packed,
        }
    }

    /// The entry with which packing fails, by bisection; `None` if it fails without entries, or if there
    /// are too many to try.
    fn first_refused(
        &self,
        layout: &Arc<Layout>,
        entries: &Entries,
        options: &PackOptions,
    ) -> Option<String> {
        let n = u32::try_from(entries.len()).ok().filter(|&n| n < MOST_BISECTED)?;
        let holds = |n: u32| {
            let some = entries.gather(&(0..n).collect::<Vec<u32>>());
            self.pack_all(layout, &some, options).is_ok()
        };
        if n == 0 || !holds(0) {
            return None;
        }
        let (mut held, mut refused) = (0, n);
        while refused - held > 1 {
            let middle = held + (refused - held) / 2;
            match holds(middle) {
                true => held = middle,
                false => refused = middle,
            }
        }
        let point: Vec<String> =
            entries.point(held as usize).iter().map(usize::to_string).collect();
        Some(format!(
            "of the entries in their order, ({}) is the first without a place",
            point.join(", ")
        ))
    }

    fn pack_all(
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
        let options = &stated::options(layout, entries.values().value_type(), options)?;
        let kept = stated::kept(layout, entries, options.fill);
        let entries = kept.as_ref().unwrap_or(entries);
        let summed =
            (self.has_equal_values() || self.staged.is_some()).then(|| number::summed(entries));
        let summed = summed.transpose()?;
        if let Some(staged) = &self.staged {
            let summed = summed.as_ref().unwrap_or(entries);
            let tensor = staged.pack(layout, summed, options)?;
            agree::sizes(&tensor)?;
            let tensor = stated::constant(tensor)?;
            agree::check(&tensor, entries, options.fill)?;
            return Ok(tensor);
        }
        let covered = self.parts.iter().find_map(|part| part.covered.as_ref());
        let covered =
            covered.map(|covered| covered.entries(summed.as_ref().unwrap_or(entries), options));
        let summed = covered.transpose()?.or(summed);
        let shares = self.shares(layout, summed.as_ref().unwrap_or(entries), options)?;
        let mut given: IndexMap<Name, i64> = IndexMap::new();
        let (mut counts, mut arrays) = (IndexMap::new(), IndexMap::new());
        let mut ranged = None;
        let mut places = Vec::new();
        for (part, share) in self.parts.iter().zip(&shares) {
            let mut packer = Packer::new(part, share, given, options)?;
            let (mut columns, order) = packer.number()?;
            packer.measure(&mut columns)?;
            packer.finish_arrays(&columns, order.as_deref())?;
            ranged = ranged.or(packer.ranged.take());
            let width = packer.width;
            counts.extend(packer.counts);
            arrays.extend(packer.arrays);
            chosen(layout, part, entries.dims(), width, &mut counts, &mut arrays)?;
            given = known_sizes(layout, entries.dims(), &counts, &arrays)?.0.sizes;
            places.push(Places { part, entries: share, pieces: packer.pieces, columns, order });
        }
        let (scope, _) = known_sizes(layout, entries.dims(), &counts, &arrays)?;
        for place in &places {
            place.confirm(layout, &scope)?;
        }
        let value_type = entries.values().value_type();
        let values = self.values(layout, &scope, &places, value_type, options.fill)?;
        drop(places);
        let tensor = Tensor::new(layout.clone(), entries.dims().to_vec(), &counts, arrays, values)?;
        agree::sizes(&tensor)?;
        let tensor = stated::constant(tensor)?;
        if let Some((array, element)) = &ranged
            && let Err(broken) = tensor.check_properties()
        {
            return Err(store::undefined(array, element).note(broken.message));
        }
        if self.verify {
            agree::check(&tensor, entries, options.fill)?;
        }
        Ok(tensor)
    }

    /// The entries of each part: an entry belongs to the first that has a place for it, and where that
    /// has no room (rows of at most `W` entries), to the next.
    fn shares<'e>(
        &self,
        layout: &Layout,
        entries: &'e Entries,
        options: &PackOptions,
    ) -> Result<Vec<Cow<'e, Entries>>> {
        if self.parts.len() == 1 {
            return Ok(vec![Cow::Borrowed(entries)]);
        }
        let part_of = pieces::parts(&self.parts, layout, entries, &coordinates(layout, entries)?)?;
        let mut shares: Vec<Vec<u32>> = vec![Vec::new(); self.parts.len()];
        for (k, part) in part_of.into_iter().enumerate() {
            shares[usize::from(part)].push(k as u32);
        }
        for part in 0..self.parts.len() - 1 {
            loop {
                let share = entries.gather(&shares[part]);
                let Some(spilled) = self.spilled(part, &share, options)? else { break };
                let (mut stay, mut moved) = (Vec::new(), false);
                for (k, entry) in std::mem::take(&mut shares[part]).into_iter().enumerate() {
                    match spilled[k] {
                        Some(next) => {
                            shares[next].push(entry);
                            moved = true;
                        }
                        None => stay.push(entry),
                    }
                }
                shares[part] = stay;
                if !moved {
                    break;
                }
            }
        }
        for share in &mut shares {
            share.sort_unstable();
        }
        Ok(shares.iter().map(|share| Cow::Owned(entries.gather(share))).collect())
    }

    /// For each entry of a part that has no room for it, the next part that covers it.
    fn spilled(
        &self,
        part: usize,
        share: &Entries,
        options: &PackOptions,
    ) -> Result<Option<Vec<Option<usize>>>> {
        let mut packer = Packer::new(&self.parts[part], share, IndexMap::new(), options)?;
        packer.spills = true;
        packer.number()?;
        let Some(spilled) = packer.spilled.take() else { return Ok(None) };
        let mut next: Vec<Option<usize>> = vec![None; share.len()];
        for later in part + 1..self.parts.len() {
            let columns = coordinates(&self.parts[later].layout, share)?;
            let covered = pieces::is_covered(&self.parts[later], &columns)?;
            for (k, next) in next.iter_mut().enumerate() {
                if spilled[k] && covered[k] && next.is_none() {
                    *next = Some(later);
                }
            }
        }
        Ok(Some(next))
    }

    /// The values of all parts at their offsets.
    fn values(
        &self,
        layout: &Layout,
        scope: &Scope<'_>,
        places: &[Places<'_>],
        value_type: ValueType,
        fill: Option<Value>,
    ) -> Result<Values> {
        let len = scope.value(&layout.value.len).and_then(|n| usize::try_from(n).ok());
        let shape: Option<Vec<i64>> = layout.value.shape.iter().map(|e| scope.value(e)).collect();
        let (Some(len), Some(shape)) = (len, shape) else {
            return Err(unsized_values(layout, scope));
        };
        let offsets: Result<Vec<Column<'_>>> =
            places.iter().map(|place| place.offsets(layout, scope, &shape)).collect();
        let offsets = offsets?;
        if let ([place], [offsets]) = (places, offsets.as_slice()) {
            let whole = matches!(offsets.data, Data::Counting) && len == place.columns.len;
            if whole && place.pieces.is_none() {
                let given = place.entries.values();
                return Ok(match &place.order {
                    None => given.clone(),
                    Some(order) => given.gather(order),
                });
            }
        }
        room::of_values(layout, len, value_type)?;
        let Some(mut values) = Values::try_zeros(value_type, len) else {
            return Err(Diagnostic::new(
                Code::Shape,
                format!("{len} values of layout `{}` do not fit in memory", layout.name),
            )
            .help("choose a sparser layout"));
        };
        for (place, offsets) in places.iter().zip(&offsets) {
            place.store(layout, &mut values, offsets, self.has_equal_values())?;
        }
        if let Some(fill) = fill {
            let mut is_entry = vec![false; len];
            for (place, offsets) in places.iter().zip(&offsets) {
                (0..place.columns.len).for_each(|k| is_entry[offsets.get(k) as usize] = true);
            }
            let rest = (0..len).filter(|&at| !is_entry[at]);
            rest.for_each(|at| fill.store(&mut values, at));
        }
        Ok(values)
    }
}

/// Adds the arrays that hold their own positions.
fn chosen(
    layout: &Layout,
    part: &Part,
    dims: &[usize],
    width: Width,
    counts: &mut IndexMap<Name, i64>,
    arrays: &mut IndexMap<Name, IndexData>,
) -> Result<()> {
    for chosen in &part.chosen {
        let array = &layout.arrays[&chosen.array];
        let (scope, _) = known_sizes(layout, dims, counts, arrays)?;
        let len = scope.value(&array.len).filter(|len| *len >= 0).ok_or_else(|| {
            let what = format!("the length of index array `{}`", chosen.array);
            without_value(layout, &scope, &what, "give its domain by extents and counted sizes")
        })?;
        let numbers = IndexData::I64((0..len).collect());
        let index_type = width.index_type(checks::admits_negative(array));
        arrays.insert(chosen.array.clone(), numbers.convert(index_type)?);
        counts.insert(chosen.size.clone(), len);
    }
    Ok(())
}

impl Part {
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
    /// Numbers all levels: the columns of the entries, in the order of the last sorting.
    fn number(&mut self) -> Result<(Columns<'a>, Option<Vec<u32>>)> {
        let runs = self.plan.runs();
        let mut positions = None;
        for (k, run) in runs.iter().enumerate() {
            positions = Some(self.run(run, k + 1 == runs.len())?);
            if self.spilled.is_some() {
                break;
            }
        }
        match positions {
            Some(sorted) => Ok(sorted),
            None => self.unsorted(),
        }
    }
}

/// Where the entries of a part were put.
struct Places<'a> {
    part: &'a Part,
    entries: &'a Entries,
    /// The piece of each entry, in the order of the entries; `None`: the first.
    pieces: Option<Vec<u8>>,
    columns: Columns<'a>,
    order: Option<Vec<u32>>,
}

impl<'a> Places<'a> {
    /// That the relation holds where entries were put.
    fn confirm(&self, layout: &Layout, scope: &Scope<'_>) -> Result<()> {
        let entry = |k: usize| self.order.as_ref().map_or(k, |order| order[k] as usize);
        let piece_of = |k: usize| self.pieces.as_ref().map_or(0, |p| usize::from(p[entry(k)]));
        let point = |k: usize| self.entries.point(entry(k));
        self.part.confirm(layout, &self.columns, scope, &piece_of, &point)
    }

    /// For each entry, where its value is.
    fn offsets(&self, layout: &Layout, scope: &Scope<'_>, shape: &[i64]) -> Result<Column<'a>> {
        let columns = &self.columns;
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
                    let numbers = numbers.ok_or_else(|| unsized_values(layout, scope))?;
                    Ok(Cow::Owned(Column::of_numbers(numbers)))
                }
            })
            .collect();
        linear(subscripts?, shape, columns.len, "the value array").map(Cow::into_owned)
    }

    /// Writes the values at their offsets.
    fn store(
        &self,
        layout: &Layout,
        values: &mut Values,
        offsets: &Column<'_>,
        equal: bool,
    ) -> Result<()> {
        let len = values.len();
        // What follows takes for granted that there is none.
        let is_outside = |offset: i64| usize::try_from(offset).map_or(true, |at| at >= len);
        let outside = offsets.find(self.columns.len, is_outside);
        if let Some(offset) = outside {
            return Err(refused(
                layout,
                format!("value {offset} is needed, but it stores {len} values"),
            )
            .help("correct `value_shape`"));
        }
        let (given, order) = (self.entries.values(), self.order.as_deref());
        match &self.pieces {
            _ if equal => accumulate::equal(values, offsets, given, order),
            None => accumulate::all(values, offsets, given, order)?,
            Some(pieces) => accumulate::by_piece(values, offsets, given, order, pieces)?,
        }
        Ok(())
    }
}

fn unsized_values(layout: &Layout, scope: &Scope<'_>) -> Box<Diagnostic> {
    without_value(layout, scope, "the size of the value array", "give `value_shape`")
}
