//! Positions that cut the coordinates into intervals: blocks of varying size on a diagonal.
//!
//! In: the relation's constraints. Out: [`Cut`]s, each with the forms that lie in one interval.
//!
//! ```text
//! start(p0) <= i and i < start(p0 + 1) and start(p0) <= j and j < start(p0 + 1)
//! ```
//! says that `i` and `j` of an entry are in one interval. The finest intervals of which that is true
//! are those of entries that overlap: entries in the order of `min(i, j)` share a position as long as
//! the next begins at or before the greatest coordinate so far.
//!
//! Where nothing else is said of a coordinate, and no value depends on it, an interval is a run:
//! ```text
//! start(p) <= i < start(p + 1) and val(p)
//! ```
//! Neighbours with equal values share one, and fill has runs of its own ([`Covered`](super::part::Covered)), since
//! there are no gaps.

use indexmap::IndexMap;

use super::bounds::Bounds;
use super::columns::{Column, Columns};
use super::part::Cut;
use crate::diagnostic::Result;
use crate::formula::{Affine, Atom, Call, Constraint, Name, Relop};
use crate::layout::Layout;
use crate::tensor::Entries;

/// The intervals of a cut, from the entries.
pub(super) struct Intervals<'a> {
    /// The interval of each entry, its start and its end.
    pub position: Column<'a>,
    pub start: Column<'a>,
    pub end: Column<'a>,
    /// All starts, and the end of the last.
    pub borders: Vec<i64>,
}

/// The cuts among positions with these bounds; `is_known` tells the names that an entry determines.
pub(super) fn cuts(
    layout: &Layout,
    pieces: &[Vec<Constraint>],
    open: &IndexMap<Name, Bounds>,
    is_counted: &dyn Fn(&Name) -> bool,
    is_known: &dyn Fn(&Name) -> bool,
) -> Vec<Cut> {
    let [piece] = pieces else { return Vec::new() };
    let cut = |(position, bounds): (&Name, &Bounds)| -> Option<Cut> {
        let Bounds::Sized { first: 0, size } = bounds else { return None };
        let count = size.as_var().filter(|name| is_counted(name))?.clone();
        let here = Affine::var(position.clone());
        let next = here.clone() + Affine::constant(1);
        let is_at = |call: &Call, at: &Affine| call.args.len() == 1 && call.args[0] == *at;
        let mut starts: Vec<Call> = Vec::new();
        piece.iter().for_each(|c| {
            c.visit_calls(&mut |call| {
                if is_at(call, &here) && !starts.contains(call) {
                    starts.push(call.clone());
                }
            });
        });
        starts.into_iter().find_map(|start| {
            let end = Call { array: start.array.clone(), args: vec![next.clone()] };
            let forms = |call: &Call, sign: i64| -> Vec<Affine> {
                let form = |c: &Constraint| {
                    let atom = Atom::Call(call.clone());
                    let rest = c.affine.clone() - Affine::atom(atom.clone()) * sign;
                    let mut plain = c.relop == Relop::Ge
                        && c.affine.coefficient(&atom) == sign
                        && !rest.has_calls();
                    rest.visit_vars(&mut |n| plain &= is_known(n));
                    // `e - start >= 0` and `end - 1 - e >= 0`
                    plain.then(|| if sign < 0 { rest } else { -rest - Affine::constant(1) })
                };
                piece.iter().filter_map(form).collect()
            };
            let ends = forms(&end, 1);
            let mut along = forms(&start, -1);
            along.retain(|e| ends.contains(e));
            let run = run(layout, piece, &along, [&start, &end]);
            let (position, count) = (position.clone(), count.clone());
            (!along.is_empty()).then_some(Cut { position, count, start, end, along, run })
        })
    };
    open.iter().filter_map(cut).collect()
}

/// The coordinate that `along` is, if no other constraint and no value depends on it.
fn run(
    layout: &Layout,
    piece: &[Constraint],
    along: &[Affine],
    borders: [&Call; 2],
) -> Option<usize> {
    let [form] = along else { return None };
    let coordinate = form.as_var()?;
    let number = layout.relation.coordinates.iter().position(|c| c == coordinate)?;
    let [here, extent] = [coordinate, &layout.extents()[number]].map(|n| Affine::var(n.clone()));
    let within = [Constraint::le(Affine::zero(), here.clone()), Constraint::lt(here, extent)];
    let is_border = |(atom, _): &(Atom, i64)| match atom {
        Atom::Var(name) => name == coordinate,
        Atom::Call(call) => borders.contains(&call),
        Atom::Floor(..) => false,
    };
    let tells_more = |c: &Constraint| {
        let bounds = c.relop == Relop::Ge && c.affine.has_calls();
        c.mentions(coordinate)
            && !within.contains(c)
            && !(bounds && c.affine.terms().iter().all(is_border))
    };
    let mut tells = piece.iter().any(tells_more);
    layout.value.index.iter().for_each(|e| e.visit_vars(&mut |name| tells |= name == coordinate));
    (!tells).then_some(number)
}

impl Cut {
    /// The finest intervals that hold the forms of every entry together, or the longest runs.
    pub fn intervals<'a>(&self, columns: &Columns<'_>, entries: &Entries) -> Result<Intervals<'a>> {
        let (borders, numbers) = match self.run {
            None => self.blocks(columns)?,
            Some(along) => runs(entries, along),
        };
        let count = borders.len() as i64 - 1;
        let at = |offset: usize| {
            let border = |&interval: &u32| borders[interval as usize + offset];
            Column::of_numbers(numbers.iter().map(border).collect())
        };
        let (start, end) = (at(0), at(1));
        let position = Column::of_u32(numbers, 0, (count - 1).max(0));
        Ok(Intervals { position, start, end, borders })
    }

    /// The borders of blocks, and the block of each entry.
    fn blocks(&self, columns: &Columns<'_>) -> Result<(Vec<i64>, Vec<u32>)> {
        let n = columns.len;
        let mut reach: Vec<(i64, i64)> = vec![(i64::MAX, i64::MIN); n];
        for form in &self.along {
            let column = columns.eval(form)?;
            for (k, (least, most)) in reach.iter_mut().enumerate() {
                (*least, *most) = ((*least).min(column.get(k)), (*most).max(column.get(k)));
            }
        }
        // At most as many as there are entries, which are counted in 32 bits.
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_unstable_by_key(|&k| reach[k as usize]);
        let mut borders: Vec<i64> = Vec::new();
        let mut last = -1;
        let mut numbers = vec![0u32; n];
        for &k in &order {
            let (least, most) = reach[k as usize];
            if borders.is_empty() || least > last {
                borders.push(least);
            }
            last = last.max(most);
            numbers[k as usize] = borders.len() as u32 - 1;
        }
        borders.push(last + 1);
        Ok((borders, numbers))
    }
}

/// The borders of the longest runs of equal slices along a coordinate, and the run of each entry. The runs cover every
/// coordinate; slices without entries are equal, too.
fn runs(entries: &Entries, along: usize) -> (Vec<i64>, Vec<u32>) {
    let (n, rank) = (entries.len(), entries.rank());
    let of = |d: usize, k: u32| entries.coords()[d].get(k as usize);
    let others = || (0..rank).filter(|&d| d != along);
    let mut order: Vec<u32> = (0..n as u32).collect();
    // What is given is in order, and so is what fills the gaps: that is seen.
    order.sort_by(|&a, &b| {
        let tie = || others().map(|d| of(d, a)).cmp(others().map(|d| of(d, b)));
        of(along, a).cmp(&of(along, b)).then_with(tie)
    });
    let is_equal = |a: &[u32], b: &[u32]| {
        let same = |(&a, &b): (&u32, &u32)| {
            others().all(|d| of(d, a) == of(d, b)) && entries.values().equal(a as usize, b as usize)
        };
        a.len() == b.len() && a.iter().zip(b).all(same)
    };
    let mut borders: Vec<i64> = Vec::new();
    let mut numbers = vec![0u32; n];
    let mut before: &[u32] = &[];
    // Where the slice before ends.
    let mut reached = 0;
    for slice in order.chunk_by(|&a, &b| of(along, a) == of(along, b)) {
        let here = of(along, slice[0]);
        if reached < here {
            borders.push(reached);
        }
        if reached < here || !is_equal(before, slice) {
            borders.push(here);
        }
        slice.iter().for_each(|&k| numbers[k as usize] = borders.len() as u32 - 1);
        (before, reached) = (slice, here + 1);
    }
    let extent = entries.dims()[along] as i64;
    if reached < extent {
        borders.push(reached);
    }
    borders.push(extent);
    (borders, numbers)
}
