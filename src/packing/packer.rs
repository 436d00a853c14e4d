//! What is known of the entries while they are packed.
//!
//! In: a [`Part`] and entries. Out: [`Packer`], with a column for each coordinate, determined
//! position, key and function; counts and arrays come as levels are numbered.

use indexmap::IndexMap;

use super::columns::{Column, Columns, call_name, function_name};
use super::options::PackOptions;
use super::part::{Part, Position, Role};
use super::pieces::pieces;
use super::store::Scatter;
use crate::diagnostic::Result;
use crate::formula::Name;
use crate::layout::{Layout, checks};
use crate::tensor::{Entries, IndexData, IndexType, Scope, extents, known_sizes};

/// The state of packing.
pub(super) struct Packer<'a> {
    pub plan: &'a Part,
    pub layout: &'a Layout,
    /// Sizes that earlier parts gave.
    pub given: IndexMap<Name, i64>,
    pub entries: &'a Entries,
    /// Coordinates and determined positions, in the order of the entries.
    pub columns: Columns<'a>,
    /// For each level, each key, in the order of the entries.
    pub keys: Vec<Vec<Column<'a>>>,
    pub functions: IndexMap<Name, Column<'a>>,
    /// The piece of the relation that each entry belongs to; `None`: the first.
    pub pieces: Option<Vec<u8>>,
    /// For each cut, where its intervals begin and the last ends.
    pub borders: Vec<Vec<i64>>,
    pub counts: IndexMap<Name, i64>,
    pub arrays: IndexMap<Name, IndexData>,
    /// Arrays of which only some roles are filled so far.
    pub partial: IndexMap<Name, Scatter>,
    /// The first array with padding that holds the least number of its range, and its first such
    /// element.
    pub ranged: Option<(Name, String)>,
    pub width: Width,
    /// Another part may take entries for which this one has no room; those are marked, in the order of
    /// the entries.
    pub spills: bool,
    pub spilled: Option<Vec<bool>>,
}

#[derive(Clone, Copy)]
pub(super) struct Width {
    options: PackOptions,
    fits_32_bits: bool,
}

impl<'a> Packer<'a> {
    pub fn new(
        plan: &'a Part,
        entries: &'a Entries,
        given: IndexMap<Name, i64>,
        options: &PackOptions,
    ) -> Result<Packer<'a>> {
        let layout = &plan.layout;
        let mut columns = coordinates(layout, entries)?;
        columns.sizes.extend(given.iter().map(|(name, size)| (name.clone(), *size)));
        let pieces = pieces(plan, entries, &columns)?;
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
        let (mut counts, mut borders) = (IndexMap::new(), Vec::new());
        for cut in &plan.cuts {
            let intervals = cut.intervals(&columns, entries)?;
            counts.insert(cut.count.clone(), intervals.borders.len() as i64 - 1);
            columns.named.insert(cut.position.clone(), intervals.position);
            columns.named.insert(call_name(&cut.start), intervals.start);
            columns.named.insert(call_name(&cut.end), intervals.end);
            borders.push(intervals.borders);
        }
        let mut out = Packer {
            plan,
            layout,
            given,
            entries,
            columns,
            keys,
            functions,
            pieces,
            borders,
            counts,
            arrays: IndexMap::new(),
            partial: IndexMap::new(),
            ranged: None,
            width: Width { options: *options, fits_32_bits: true },
            spills: false,
            spilled: None,
        };
        out.width.fits_32_bits = out.fits_32_bits();
        Ok(out)
    }

    /// The sizes that are known so far, and the arrays.
    pub fn scope(&self) -> Result<Scope<'_>> {
        let mut sizes = self.given.clone();
        sizes.extend(self.counts.iter().map(|(name, size)| (name.clone(), *size)));
        Ok(known_sizes(self.layout, self.entries.dims(), &sizes, &self.arrays)?.0)
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
        keys && self.entries.dims().iter().all(|&n| u32::try_from(n).is_ok())
    }
}

/// The coordinates of entries, and the extents.
pub(super) fn coordinates<'a>(layout: &Layout, entries: &'a Entries) -> Result<Columns<'a>> {
    let mut columns = Columns {
        len: entries.len(),
        named: IndexMap::new(),
        sizes: extents(layout, entries.dims())?,
    };
    let names = layout.relation.coordinates.iter();
    for ((name, data), &extent) in names.zip(entries.coords()).zip(entries.dims()) {
        columns.named.insert(name.clone(), Column::coordinates(data, extent));
    }
    Ok(columns)
}

impl Width {
    pub fn index_type(&self, signed: bool) -> IndexType {
        self.options.index_width.index_type(signed, self.fits_32_bits)
    }
}
