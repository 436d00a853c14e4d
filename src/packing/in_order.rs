//! Packing a dense array by appending: one pass over its elements, in the order in which the layout stores them.
//!
//! In: how entries are appended, and the elements of a row-major array. Out: the tensor that sorting its entries
//! would give, without a list of them.
//!
//! ```text
//! csr, by rows:      an element that is no fill: crd.push(j), val.push(x); behind the row: pos[i + 1] = val.len()
//! runs, by columns:  a stretch of equal elements: left.push(first), right.push(last + 1), val.push(x)
//! ```

use std::ops::Range;
use std::sync::Arc;

use indexmap::IndexMap;

use super::append::{Appending, Group, Numbered};
use super::options::PackOptions;
use crate::diagnostic::Result;
use crate::formula::{Arith, Name};
use crate::layout::Layout;
use crate::layout::checks::admits_negative;
use crate::tensor::{Element, IndexData, Tensor, Value, Values, known_sizes, with_values};

impl Appending {
    /// The tensor of `elements` in row-major order, if all numbers fit 32 bits and the arrays of `layout`, which it was
    /// made of, have no more elements than are appended.
    ///
    /// # Errors
    /// Those of [`Tensor::new`].
    pub(super) fn pack_elements(
        &self,
        layout: &Arc<Layout>,
        dims: &[usize],
        elements: &Values,
        options: &PackOptions,
    ) -> Result<Option<Tensor>> {
        let fits = |n: usize| i32::try_from(n).is_ok();
        if !fits(elements.len()) || !dims.iter().all(|&n| fits(n)) {
            return Ok(None);
        }
        let fill = options.fill.unwrap_or(Value::zero(elements.value_type()));
        let fill = fill.cast(elements.value_type()).repeated(1);
        let (mut arrays, counts, values) = with_values!(elements, v => {
            let mut out = Appended::new(self, dims, fill.as_slice().map_or_else(Default::default, |f| f[0]));
            out.append(v);
            let counts = out.counts();
            (out.arrays, counts, Element::wrap(out.values))
        });
        let mut of_layout = IndexMap::new();
        for (name, array) in &layout.arrays {
            let ty = options.index_width.index_type(admits_negative(array), true);
            let narrow = IndexData::from(arrays.swap_remove(name).unwrap_or_default());
            let numbers = if narrow.index_type() == ty { narrow } else { narrow.convert(ty)? };
            of_layout.insert(name.clone(), numbers);
        }
        let (scope, _) = known_sizes(layout, dims, &counts, &of_layout)?;
        let is_long = |len: &Arith, n: usize| scope.value(len) == i64::try_from(n).ok();
        let fit =
            layout.arrays.iter().all(|(name, array)| is_long(&array.len, of_layout[name].len()));
        if !fit || !is_long(&layout.value.len, values.len()) {
            // Something is stored behind what is appended.
            return Ok(None);
        }
        Tensor::new(layout.clone(), dims.to_vec(), &counts, of_layout, values).map(Some)
    }
}

/// What has been appended so far.
struct Appended<'a, T> {
    how: &'a Appending,
    dims: &'a [usize],
    fill: T,
    arrays: IndexMap<Name, Vec<u32>>,
    /// Numbers of the arrays that each element of the last level is pushed to, with the coordinate.
    columns: Vec<(usize, usize)>,
    /// Those of where its runs begin, if that is stored, and end.
    runs: Option<(Option<usize>, usize)>,
    /// How many positions each level has.
    lengths: Vec<usize>,
    values: Vec<T>,
}

impl<'a, T: Element> Appended<'a, T> {
    fn new(how: &'a Appending, dims: &'a [usize], fill: T) -> Self {
        let mut arrays = IndexMap::new();
        for (name, group) in how.levels.iter().flat_map(|level| &level.segments) {
            let groups = match group {
                Group::Coordinates(around) => around.iter().map(|d| dims[*d]).product(),
                Group::Whole | Group::Outer => 0,
            };
            // Of those that are within positions, each begins when its position comes.
            let begun = usize::from(*group != Group::Outer);
            arrays.insert(name.clone(), vec![0; groups + begun]);
        }
        for (name, _) in how.levels.iter().flat_map(|level| &level.coordinates) {
            arrays.insert(name.clone(), Vec::new());
        }
        let mut number = |name: &Name| arrays.insert_full(name.clone(), Vec::new()).0;
        let run = how.run();
        let runs = run.map(|run| (run.begin.as_ref().map(&mut number), number(&run.end)));
        let last = how.levels.last().into_iter().flat_map(|level| &level.coordinates);
        let columns = last.map(|(name, d)| (number(name), *d)).collect();
        let lengths = vec![0; how.levels.len()];
        Appended { how, dims, fill, arrays, columns, runs, lengths, values: Vec::new() }
    }

    fn append(&mut self, elements: &[T]) {
        let how = self.how;
        let mut strides = vec![1; self.dims.len()];
        for d in (1..self.dims.len()).rev() {
            strides[d - 1] = strides[d] * self.dims[d];
        }
        // Positions of outer levels, and groups, are told apart by the coordinates around the last.
        if let (Some((&last, around)), false) = (how.order.split_last(), elements.is_empty()) {
            let mut point = vec![0; self.dims.len()];
            let mut before: Option<Vec<usize>> = None;
            loop {
                let start = around.iter().map(|d| point[*d] * strides[*d]).sum();
                let fibre = Fibre { elements, start, stride: strides[last], len: self.dims[last] };
                self.append_fibre(&fibre, &mut point, around, &mut before);
                if !advance(&mut point, around, self.dims) {
                    break;
                }
            }
        }
        for (k, level) in how.levels.iter().enumerate() {
            let length = self.lengths[k] as u32;
            for (name, group) in &level.segments {
                match group {
                    Group::Whole | Group::Outer => self.arrays[name].push(length),
                    // Each has ended with the last of its fibres.
                    Group::Coordinates(_) => {}
                }
            }
        }
    }

    /// The elements along the last coordinate.
    fn append_fibre(
        &mut self,
        fibre: &Fibre<'_, T>,
        point: &mut [usize],
        around: &[usize],
        before: &mut Option<Vec<usize>>,
    ) {
        let Some((last, outer)) = self.how.levels.split_last() else { return };
        let is_within = matches!(last.segments.first(), Some((_, Group::Outer)));
        let mut opened = false;
        let mut open = |this: &mut Self, point: &[usize]| {
            if !std::mem::replace(&mut opened, true) {
                this.open_outer(outer, point, around, before);
            }
        };
        match self.runs {
            None => {
                let along = *self.how.order.last().unwrap_or(&0);
                for c in 0..fibre.len {
                    let x = fibre.at(c);
                    if same(x, self.fill) {
                        continue;
                    }
                    point[along] = c;
                    open(self, point);
                    for &(array, d) in &self.columns {
                        self.arrays[array].push(point[d] as u32);
                    }
                    self.push(x);
                }
            }
            Some((begins, ends)) => {
                let covers = begins.is_none();
                // Where the group is one of those that are there, fill has runs as well.
                let is_there = !is_within || (0..fibre.len).any(|c| !same(fibre.at(c), self.fill));
                let mut c = 0;
                while c < fibre.len && is_there {
                    let Range { start, end } = fibre.stretch(c, self.fill);
                    c = end;
                    let x = fibre.at(start);
                    let is_fill = same(x, self.fill);
                    if is_fill && !covers {
                        continue;
                    }
                    open(self, point);
                    if let Some(begins) = begins {
                        self.arrays[begins].push(start as u32);
                    }
                    self.arrays[ends].push(end as u32);
                    self.push(if is_fill { self.fill } else { x });
                }
            }
        }
        self.end_groups(point);
    }

    fn push(&mut self, value: T) {
        self.values.push(value);
        if let Some(length) = self.lengths.last_mut() {
            *length += 1;
        }
    }

    /// Positions of outer levels that the entries before do not have.
    fn open_outer(
        &mut self,
        outer: &[Numbered],
        point: &[usize],
        around: &[usize],
        before: &mut Option<Vec<usize>>,
    ) {
        let now: Vec<usize> = around.iter().map(|d| point[*d]).collect();
        for (k, level) in outer.iter().enumerate() {
            let is_known =
                before.as_ref().is_some_and(|b| b[..level.prefix] == now[..level.prefix]);
            if is_known {
                continue;
            }
            for (name, d) in &level.coordinates {
                self.arrays[name].push(point[*d] as u32);
            }
            self.lengths[k] += 1;
            let length = self.lengths[k + 1] as u32;
            for (name, group) in &self.how.levels[k + 1].segments {
                if *group == Group::Outer {
                    self.arrays[name].push(length);
                }
            }
        }
        *before = Some(now);
    }

    /// Groups of these coordinates end here, so far.
    fn end_groups(&mut self, point: &[usize]) {
        for (k, level) in self.how.levels.iter().enumerate() {
            for (name, group) in &level.segments {
                if let Group::Coordinates(around) = group {
                    let number = around.iter().fold(0, |at, d| at * self.dims[*d] + point[*d]);
                    self.arrays[name][number + 1] = self.lengths[k] as u32;
                }
            }
        }
    }

    fn counts(&self) -> IndexMap<Name, i64> {
        let count = |(name, level): &(Name, usize)| (name.clone(), self.lengths[*level] as i64);
        self.how.counts.iter().map(count).collect()
    }
}

/// The elements of an array along one dimension.
struct Fibre<'e, T> {
    elements: &'e [T],
    start: usize,
    stride: usize,
    len: usize,
}

impl<T: Element> Fibre<'_, T> {
    fn at(&self, c: usize) -> T {
        self.elements[self.start + c * self.stride]
    }

    /// The equal elements from `c` on, or those that are fill.
    fn stretch(&self, c: usize, fill: T) -> Range<usize> {
        let first = self.at(c);
        let goes_on = |x: T| match same(first, fill) {
            true => same(x, fill),
            false => x == first && !same(x, fill),
        };
        let more = (c + 1..self.len).take_while(|&next| goes_on(self.at(next))).count();
        c..c + 1 + more
    }
}

/// Whether an element is fill: NaN is, where fill is.
#[allow(clippy::eq_op)]
fn same<T: Element>(x: T, fill: T) -> bool {
    x == fill || x != x && fill != fill
}

/// The next combination of the coordinates `around`, the last of them fastest; none behind the last.
fn advance(point: &mut [usize], around: &[usize], dims: &[usize]) -> bool {
    for &d in around.iter().rev() {
        point[d] += 1;
        if point[d] < dims[d] {
            return true;
        }
        point[d] = 0;
    }
    false
}
